"""The public function of a metric, made from its class."""

from __future__ import annotations

import re
from inspect import Parameter, Signature, cleandoc
from typing import Any, Protocol

from numpy.typing import ArrayLike

from gbrank.metrics._base import EmptySpec, Metric, Score
from gbrank.metrics._registry import register_metric
from gbrank.metrics.conventions import AVERAGE, SKIP, as_plain

# What all metrics share, with the place of a metric's own options after the cut-off.
_BEFORE = {"qid": None, "group": None, "k": None}
_AFTER = {
    "sample_weight": None,
    "empty": SKIP,
    "ties": AVERAGE,
    "per_query": False,
    "convention": None,
    "n_jobs": None,
}

_PARAMETERS = """\
Parameters
----------
labels : array-like of shape (n_rows,)
    Relevance labels, finite and >= 0.
scores : array-like of shape (n_rows,)
    Scores, finite; the larger, the better the rank.
qid : array-like of shape (n_rows,), default=None
    Query ids, in any order. Give either these or ``group``.
group : array-like of shape (n_queries,), default=None
    Number of rows of each query, in order.
k : int or float, default=None
    Cut-off: an integer of documents, or a fraction in (0, 1] of each list (a float: 1.0 is the
    whole list, 1 its first document). None looks at the whole list.
"""
_MORE_PARAMETERS = """\
sample_weight : array-like of shape (n_queries,) or (n_rows,), default=None
    One weight >= 0 per query, or one per row that is constant within each query. The result is
    the weighted mean over queries.
empty : "skip" or float, default="skip"
    What a blank query counts: "skip" leaves it out of the mean, a number stands for it.
ties : {"average", "stable", "reverse", "worst"}, default="average"
    Order of equal scores: "average" is the exact expectation over random order, "stable" keeps
    the order of rows, "reverse" puts later rows first, "worst" takes the order with the worst
    result.
per_query : bool, default=False
    Return one value per query instead of the mean.
convention : {"lightgbm", "sklearn", "letor", "trec"}, default=None
    Defaults of the options above as that system has them, see
    :mod:`gbrank.metrics.conventions`. Options given here win.
n_jobs : int, default=None
    Number of threads; None for ``OMP_NUM_THREADS`` or else all CPUs.

Returns
-------
float or ndarray of shape (n_queries,)
    The mean over queries; with ``per_query`` the value of each, in the order of their first
    rows, NaN for those that are left out.
"""


class MetricFunction(Protocol):
    """What type checkers know of a metric's function."""

    __name__: str
    __doc__: str | None

    def __call__(
        self,
        labels: ArrayLike,
        scores: ArrayLike,
        *,
        qid: Any = None,
        group: Any = None,
        k: int | float | None = None,
        sample_weight: ArrayLike | None = None,
        empty: EmptySpec = SKIP,
        ties: str = AVERAGE,
        per_query: bool = False,
        convention: str | None = None,
        n_jobs: int | None = None,
        **own: Any,
    ) -> Score: ...


def metric_function(name: str, metric: type[Metric]) -> MetricFunction:
    """Return a metric as a function of labels, scores and options; make it known by its name.

    Its signature and docstring are those that all metrics share and the metric's own: the options
    of ``own_options``, the docstring of the class with the section Parameters that explains them.
    """

    def function(
        labels: ArrayLike,
        scores: ArrayLike,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: ArrayLike | None = None,
        per_query: bool = False,
        **options: Any,
    ) -> Score:
        return metric(**options)(
            labels, scores, qid=qid, group=group, sample_weight=sample_weight, per_query=per_query
        )

    function.__name__ = function.__qualname__ = name
    function.__module__ = metric.__module__
    function.__doc__ = _docstring(metric)
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD) for each in ("labels", "scores")]
        + [
            Parameter(option, Parameter.KEYWORD_ONLY, default=as_plain(default))
            for option, default in {**_BEFORE, **metric.own_options, **_AFTER}.items()
        ]
    )
    register_metric(metric.name, metric)
    return function


def _docstring(metric: type[Metric]) -> str | None:
    """Return the docstring of the class with the shared parameters around its own."""
    if metric.__doc__ is None:  # python -OO
        return None
    about, *sections = re.split(r"^(?=[A-Z]\w+\n-+$)", cleandoc(metric.__doc__), flags=re.M)
    own = ""
    if sections[0].startswith("Parameters"):
        own = sections.pop(0).split("\n", 2)[2].strip() + "\n"
    return "".join([about, _PARAMETERS, own, _MORE_PARAMETERS, "\n", *sections])
