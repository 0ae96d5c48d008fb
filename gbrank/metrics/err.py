"""Expected reciprocal rank: the mean of 1/rank at which a user, reading downwards, is satisfied.

``ERR@k = sum_{i <= k} D(i) R_i prod_{j < i} (1 - R_j)``, where a document of label r satisfies with
probability ``R = (2^r - 1) / 2^max_grade`` and ``D(i) = 1/i``.

Over the random order of t tied documents, the chance to be satisfied exactly at place p of the
group is ``E_{p-1} - E_p``, where E_p is the mean of ``prod (1 - R)`` over all choices of p of the
documents (an elementary symmetric mean). Documents with R = 0 never satisfy: the means are taken
over the n others, and the places of those are drawn step by step. The cost is O(t J): J <= n is
where E_J falls below 1e-18, the number of useful documents that practically nobody reads beyond.

Reference: O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan, "Expected reciprocal rank for graded
relevance", 2009; as a family of losses: J. Duchi, L. Mackey and M. Jordan, "The asymptotics of
ranking algorithms", 2013, equation 16.
"""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    BoolArray,
    DiscountSpec,
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    compute_discounts,
    compute_gains,
    kernel,
)
from gbrank.metrics.base import AVERAGE, SKIP, EmptySpec, Metric, Score, documented
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ranks import Ranking

_NOBODY = 1e-18  # the share of users below which the rest of a tied group is left out


@kernel()
def _err_of_query(stops, ranked, tied, start, count, cutoff, discounts):
    total = 0.0
    reading = 1.0  # the share of users that read on
    low = 0
    while low < min(count, cutoff) and reading > 0.0:
        if not tied[start + low]:
            stop = stops[ranked[start + low]]
            total += reading * stop * discounts[low]
            reading *= 1.0 - stop
            low += 1
            continue
        high = low + 1
        while tied[start + high - 1]:
            high += 1
        here, left = _err_of_ties(stops, ranked, start, low, high, min(high, cutoff), discounts)
        total += reading * here
        reading *= left
        low = high
    return total


@kernel()
def _err_of_ties(stops, ranked, start, low, high, cutoff, discounts):
    """Return the expectation over one tied group, and the share of users that read beyond it."""
    reads_on = np.empty(high - low)  # 1 - R of the documents that can satisfy
    n = 0
    for i in range(low, high):
        stop = stops[ranked[start + i]]
        if stop > 0.0:
            reads_on[n] = 1.0 - stop
            n += 1
    if n == 0:
        return 0.0, 1.0
    beyond = 1.0
    for i in range(n):
        beyond *= reads_on[i]
    means = _symmetric_means(reads_on, n, min(n, cutoff - low))
    last = len(means) - 1
    # place by place: seen[j] is the chance that j useful documents came before
    seen = np.zeros(last + 1)
    seen[0] = 1.0
    total = 0.0
    for place in range(low, cutoff):
        for j in range(min(last - 1, place - low), -1, -1):
            useful = seen[j] * min(1.0, (n - j) / (high - place))
            total += useful * (means[j] - means[j + 1]) * discounts[place]
            seen[j] -= useful
            seen[j + 1] += useful
        seen[last] = 0.0
    return total, beyond


@kernel()
def _symmetric_means(x, n, depth):
    """Return E_0 to E_depth of ``x``, in [0, 1]; fewer where E falls below ``_NOBODY``.

    E_p of n numbers is (1 - p/n) E_p + p/n x_n E_{p-1} of the first n - 1: no cancellation.
    """
    average = 0.0
    for i in range(n):
        average += x[i] / n
    if average < 1.0:  # Maclaurin: E_p <= average^p
        enough = 1.0 + math.log(_NOBODY) / math.log(average) if average > 0.0 else 1.0
        if enough < depth:
            depth = math.ceil(enough)
    means = np.zeros(depth + 1)
    means[0] = 1.0
    for i in range(n):
        for p in range(min(depth, i + 1), 0, -1):
            share = p / (i + 1)
            means[p] = (1.0 - share) * means[p] + share * x[i] * means[p - 1]
    return means


@kernel()
def _err_block(stops, discounts, cutoffs, bounds, ranked, tied, counts, first, last, values):
    for q in range(first, last):
        values[q] = _err_of_query(stops, ranked, tied, bounds[q], counts[q], cutoffs[q], discounts)


class ERR(Metric):
    """Expected reciprocal rank: see :func:`err_score`."""

    name = "err"

    def __init__(
        self,
        k: int | float | None = None,
        *,
        max_grade: float | None = None,
        gain: GainSpec = "exp",
        discount: DiscountSpec = "zipf",
        **common: Any,
    ) -> None:
        own = {"max_grade": max_grade, "gain": gain, "discount": discount}
        super().__init__(k, own=own, **common)
        if max_grade is not None and not (
            isinstance(max_grade, numbers.Real) and 0 < max_grade < math.inf
        ):
            raise ValueError(f"max_grade must be None or a number > 0, got {max_grade!r}")
        if isinstance(gain, str) and gain != "exp":
            raise ValueError(
                f'gain must be "exp", or a table or function that gives probabilities, got {gain!r}'
            )

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        max_grade = self.options["max_grade"]
        if max_grade is None:
            max_grade = float(judgments.rows.max())
        stops = judgments.tabulate(
            lambda labels, layout: self._probabilities(labels, layout, max_grade)
        )
        deepest = int(np.minimum(ranks, judgments.layout.sizes).max())
        discounts = compute_discounts(deepest, self.options["discount"])
        return (stops, discounts), judgments.sum_in_query(stops) == 0.0

    def worst_by(self, judgments: Judgments, data: tuple[Any, ...]) -> FloatArray:
        stops: FloatArray = data[0]
        return judgments.labels_of_codes if isinstance(self.options["gain"], str) else stops

    def _probabilities(
        self, labels: FloatArray, layout: QueryLayout | None, max_grade: float
    ) -> FloatArray:
        """Return the chance that a document of each label satisfies."""
        gain = self.options["gain"]
        if isinstance(gain, str):
            wrong = labels > max_grade
            stops = np.exp2(np.minimum(labels, max_grade) - max_grade) - np.exp2(-max_grade)
            expected = f"labels must be at most max_grade = {max_grade:g}"
        else:
            stops = compute_gains(labels, gain, layout)
            wrong = stops > 1.0
            expected = "gain must give probabilities, at most 1"
        if wrong.any():
            row = int(np.argmax(wrong))
            where = f"row {row}" if layout is None else layout.describe_row(row)
            raise ValueError(f"{expected}, but {where} has label {labels[row]:g}")
        return np.asarray(stops)

    @staticmethod
    def _measure(
        data: tuple[Any, ...],
        ranks: IntArray,
        bounds: IntArray,
        ranking: Ranking,
        first: int,
        last: int,
        values: FloatArray,
    ) -> None:
        _err_block(*data, ranks, bounds, *ranking, first, last, values)


@documented
def err_score(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | float | None = None,
    max_grade: float | None = None,
    gain: GainSpec = "exp",
    discount: DiscountSpec = "zipf",
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    per_query: bool = False,
    convention: str | None = None,
    n_jobs: int | None = None,
) -> Score:
    """Return the mean expected reciprocal rank.

    ``ERR@k = sum_{i <= k} 1/i R_i prod_{j < i} (1 - R_j)``, where ``R = (2^label - 1) /
    2^max_grade`` is the chance that a document satisfies the user, who reads downwards and stops
    when satisfied. A query is blank when no document can satisfy.

    Parameters
    ----------
    {common}
    max_grade : the largest label that can be given. None takes the largest label of the whole call,
        so give it explicitly where results on several sets are compared.
    gain : "exp" for the probabilities above, or a table indexed by label or a function of the
        labels that gives probabilities itself.
    discount : what satisfaction at a rank is worth, as in :func:`ndcg_score`; "zipf" is ``1/rank``.

    References
    ----------
    O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan, "Expected reciprocal rank for graded
    relevance", 2009.

    Examples
    --------
    >>> from gbrank.metrics import err_score
    >>> err_score([0, 1, 2], [0.1, 0.2, 0.3], group=[3])  # 3/4 + 1/4 * 1/4 / 2
    0.78125
    """
    metric = ERR(
        k,
        max_grade=max_grade,
        gain=gain,
        discount=discount,
        empty=empty,
        ties=ties,
        convention=convention,
        n_jobs=n_jobs,
    )
    return metric(
        labels, scores, qid=qid, group=group, sample_weight=sample_weight, per_query=per_query
    )
