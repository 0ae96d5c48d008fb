"""What other systems decide silently, by name.

A convention sets the options of a metric as that system has them, so that its number can be
reproduced; an option given explicitly wins over it.

============ ======== ===================== ============== ========================================
convention   gain     discount              blank queries  ties
============ ======== ===================== ============== ========================================
gbrank       2^r - 1  1/log2(1+rank)        left out       expectation over random order
"lightgbm"   2^r - 1  1/log2(1+rank)        count 1        in the order of rows
"sklearn"    r        1/log2(1+rank)        count 0        expectation over random order
"letor"      2^r - 1  1, 1, 1/log2(rank)    count 0        in the order of rows
"trec"       r        1/log2(1+rank)        count 0        later rows first
============ ======== ===================== ============== ========================================

Besides:

- LightGBM's ``map@k`` divides by min(k, relevant), not by all relevant documents, and takes labels
  above 1/2 as relevant. With weights and blank queries LightGBM's own ``ndcg`` is not a weighted
  mean (a blank query adds 1, whatever its weight): there gbrank's number differs.
- scikit-learn's ``ndcg_score`` and ``dcg_score`` are meant. It refuses lists of one document.
- The LETOR 4.0 script (``Eval-Score-4.0.pl``) counts NDCG@k as 0 for lists of fewer than k
  documents, which lowers its mean NDCG@10 on MQ2008, where most lists have 8; so does "letor".
- trec_eval sorts equal scores by document id, the greatest first. For arrays this stands for later
  rows first: the same as document ids that are row numbers written with leading zeros. It keeps
  scores in single precision, so scores that differ by less than that are tied; so does "trec".
"""

from typing import Any

import numpy as np

from gbrank.core import FloatArray


class Default(str):
    """A default that a convention may replace, told from the same text given by the user.

    >>> from gbrank.metrics.conventions import Default
    >>> Default("skip") == "skip"
    True
    """

    __slots__ = ()


class DefaultNumber(float):
    """The same for a number."""

    __slots__ = ()


SKIP = Default("skip")
AVERAGE = Default("average")
EXP = Default("exp")
LOG = Default("log")
RELEVANT = Default("relevant")
ZERO = DefaultNumber(0.0)


def as_plain(default: Any) -> Any:
    """Return a default as the text or number that a user would give.

    >>> from gbrank.metrics.conventions import SKIP, as_plain
    >>> type(as_plain(SKIP)).__name__, as_plain(None)
    ('str', None)
    """
    if isinstance(default, Default):
        return str(default)
    return float(default) if isinstance(default, DefaultNumber) else default


def letor_discount(ranks: FloatArray) -> FloatArray:
    """Return 1 for the first two ranks, then ``1 / log2(rank)``.

    >>> import numpy as np
    >>> from gbrank.metrics.conventions import letor_discount
    >>> letor_discount(np.array([1.0, 2.0, 4.0]))
    array([1. , 1. , 0.5])
    """
    discounts: FloatArray = 1.0 / np.log2(np.maximum(ranks, 2.0))
    return discounts


CONVENTIONS: dict[str, dict[str, Any]] = {
    "lightgbm": {
        "gain": "exp",
        "discount": "log",
        "empty": 1.0,
        "ties": "stable",
        "threshold": 0.5,
        "divide_by": "reachable",
    },
    "sklearn": {"gain": "linear", "discount": "log", "empty": 0.0, "ties": "average"},
    "letor": {"gain": "exp", "discount": letor_discount, "empty": 0.0, "ties": "stable"},
    "trec": {"gain": "linear", "discount": "log", "empty": 0.0, "ties": "reverse"},
}

#: The systems that round scores to single precision before they sort.
SINGLE_PRECISION = frozenset({"trec"})
#: The systems whose NDCG@k is 0 for lists of fewer than k documents.
SHORT_LISTS_COUNT_0 = frozenset({"letor"})


def apply_convention(convention: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return ``options`` with those left at their default set as ``convention`` has them.

    >>> from gbrank.metrics.conventions import Default, apply_convention
    >>> apply_convention("sklearn", {"empty": Default("skip"), "ties": "stable"})
    {'empty': 0.0, 'ties': 'stable'}
    """
    if convention is None:
        return options
    if convention not in CONVENTIONS:
        raise ValueError(
            f"convention must be None or one of {sorted(CONVENTIONS)}, got {convention!r}"
        )
    chosen = CONVENTIONS[convention]
    return {
        name: chosen.get(name, value) if isinstance(value, Default | DefaultNumber) else value
        for name, value in options.items()
    }


def as_read_by(convention: str | None, scores: FloatArray) -> FloatArray:
    """Return the scores as the system sees them.

    >>> import numpy as np
    >>> from gbrank.metrics.conventions import as_read_by
    >>> as_read_by("trec", np.array([1.0 + 1e-9, 1.0]))
    array([1., 1.])
    """
    if convention not in SINGLE_PRECISION:
        return scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)
