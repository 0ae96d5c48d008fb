"""Normalised discounted cumulative gain: DCG@k divided by the best DCG@k of the query.

``NDCG@k = sum_{rank <= k} G(label) D(rank) / max over all orders of the same sum``, by default with
``G(r) = 2^r - 1`` and ``D(rank) = 1 / log2(1 + rank)``.
Reference: K. Jarvelin and J. Kekalainen, "Cumulated gain-based evaluation of IR techniques", 2002.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import BoolArray, DiscountSpec, FloatArray, GainSpec, IntArray, kernel
from gbrank.metrics.base import AVERAGE, EXP, LOG, SKIP, EmptySpec, Score, documented
from gbrank.metrics.conventions import SHORT_LISTS_COUNT_0
from gbrank.metrics.dcg import DCG, dcg_block
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ranks import Ranking, rank_queries


@kernel()
def divide_block(values, best, first, last):
    """Divide the values of queries ``first`` to ``last`` by the best ones, where that is not 0."""
    for q in range(first, last):
        values[q] = values[q] / best[q] if best[q] > 0.0 else 0.0


@kernel()
def _best_dcg_of_grades(counts, gains, cutoffs, discounts, best):
    """Write the best DCG of each query, from how often it has each grade."""
    for q in range(len(counts)):
        total = 0.0
        rank = 0
        for grade in range(len(gains) - 1, -1, -1):
            last = min(rank + np.int64(counts[q, grade]), cutoffs[q])
            discount = 0.0
            for i in range(rank, last):
                discount += discounts[i]
            total += gains[grade] * discount
            rank = last
        best[q] = total


class NDCG(DCG):
    """Normalised discounted cumulative gain: see :func:`ndcg_score`."""

    name = "ndcg"

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        gains, discounts = self._gains_and_discounts(judgments, ranks)
        grow = isinstance(self.options["gain"], str)  # those with a name do
        ideal = best_dcg(judgments, gains, discounts, ranks, gains_grow=grow)
        blank = ideal == 0.0
        if self.convention in SHORT_LISTS_COUNT_0 and isinstance(self.k, int):
            ideal[judgments.layout.sizes < self.k] = np.inf
        return (gains, discounts, ideal), blank

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
        gains, discounts, ideal = data
        dcg_block(gains, ranks, bounds, *ranking, discounts, first, last, values)
        divide_block(values, ideal, first, last)


def best_dcg(
    judgments: Judgments,
    gains: FloatArray,
    discounts: FloatArray,
    ranks: IntArray,
    *,
    gains_grow: bool,
) -> FloatArray:
    """Return for every query the largest DCG that any order of its documents reaches.

    ``gains`` are by code; ``gains_grow`` says that a larger label never has a smaller one.
    """
    layout, codes = judgments.layout, judgments.codes
    ideal = np.empty(layout.n_queries)
    if gains_grow and judgments.n_grades:
        _best_dcg_of_grades(judgments.grade_counts, gains, ranks, discounts, ideal)
    else:
        best = rank_queries(gains[codes], layout.bounds, ranks, "stable", codes, gains)
        dcg_block(gains, ranks, layout.bounds, *best, discounts, 0, layout.n_queries, ideal)
    return ideal


@documented
def ndcg_score(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | float | None = None,
    gain: GainSpec = EXP,
    discount: DiscountSpec = LOG,
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    per_query: bool = False,
    convention: str | None = None,
    n_jobs: int | None = None,
) -> Score:
    """Return the mean normalised discounted cumulative gain, ``DCG@k / max DCG@k``.

    A query is blank when its best DCG is 0.

    Parameters
    ----------
    {common}
    gain : "exp" for ``2^label - 1``, "linear" for the label, a table indexed by label, or a
        function from an array of labels to their gains.
    discount : "log" for ``1 / log2(1 + rank)``, "power" for ``rank^-1/2``, "zipf" for
        ``1 / rank``, "exp" for ``2^-rank``, or a function from the array of ranks 1, 2, ...;
        :class:`gbrank.gains.PowerDiscount` takes other exponents.

    References
    ----------
    K. Jarvelin and J. Kekalainen, "Cumulated gain-based evaluation of IR techniques", 2002.
    Y. Wang, L. Wang, Y. Li, D. He, W. Chen and T.-Y. Liu, "A theoretical analysis of NDCG ranking
    measures", 2013, for the choice of discount and of a cut-off that grows with the list.

    Examples
    --------
    >>> from gbrank.metrics import ndcg_score
    >>> labels, scores = [1, 0, 2, 0, 1], [0.3, 0.1, 0.2, 0.5, 0.4]
    >>> round(ndcg_score(labels, scores, qid=[7, 7, 7, 8, 8]), 4)
    0.7138
    >>> ndcg_score(labels, [0] * 5, qid=[7, 7, 7, 8, 8], k=1, per_query=True)  # (1 + 0 + 3) / 3 / 3
    array([0.44444444, 0.5       ])
    """
    metric = NDCG(
        k,
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
