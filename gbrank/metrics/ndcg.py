"""Normalised discounted cumulative gain: DCG@k divided by the best DCG@k of the query.

``NDCG@k = sum_{rank <= k} G(label) D(rank) / max over all orders of the same sum``, by default with
``G(r) = 2^r - 1`` and ``D(rank) = 1 / log2(1 + rank)``.
"""

from typing import Any

import numpy as np

from gbrank.core import BoolArray, FloatArray, IntArray, kernel
from gbrank.metrics._base import Shortcut
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._ranks import rank_queries
from gbrank.metrics.conventions import SHORT_LISTS_COUNT_0
from gbrank.metrics.dcg import DCG, dcg_block


@kernel()
def share_of_best_block(
    gains, discounts, best, cutoffs, bounds, ranked, tied, counts, first, last, values
):
    """Write the DCG of queries ``first`` to ``last``, divided by the best one; 0 if that is 0."""
    dcg_block(gains, discounts, cutoffs, bounds, ranked, tied, counts, first, last, values)
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


def best_dcg(
    judgments: Judgments,
    gains: FloatArray,
    discounts: FloatArray,
    cutoffs: IntArray,
    *,
    gains_grow: bool,
) -> FloatArray:
    """Return for every query the largest DCG that any order of its documents reaches.

    ``gains`` are by code; ``gains_grow`` says that a larger label never has a smaller one.
    """
    layout, codes = judgments.layout, judgments.codes
    ideal = np.empty(layout.n_queries)
    if gains_grow and judgments.n_grades:
        _best_dcg_of_grades(judgments.grade_counts, gains, cutoffs, discounts, ideal)
    else:
        best = rank_queries(gains[codes], layout.bounds, cutoffs, "stable", codes, gains)
        dcg_block(gains, discounts, cutoffs, layout.bounds, *best, 0, layout.n_queries, ideal)
    return ideal


class NDCG(DCG):
    """Normalised discounted cumulative gain, ``DCG@k / max DCG@k``, mean over queries.

    A query is blank when its best DCG is 0.

    Parameters
    ----------
    gain : str, array-like or callable, default="exp"
        "exp" for ``2^label - 1``, "linear" for the label, a table indexed by label, or a function
        from an array of labels to their gains.
    discount : str or callable, default="log"
        "log" for ``1 / log2(1 + rank)``, "power" for ``rank^-1/2``, "zipf" for ``1 / rank``, "exp"
        for ``2^-rank``, or a function from the array of ranks 1, 2, ...;
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

    name = "ndcg"
    kernel = staticmethod(share_of_best_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        (gains, discounts), _ = super().prepare(judgments, cutoffs)
        grow = isinstance(self.options["gain"], str)  # those with a name do
        ideal = best_dcg(judgments, gains, discounts, cutoffs, gains_grow=grow)
        blank = ideal == 0.0
        if self.convention in SHORT_LISTS_COUNT_0 and isinstance(self.k, int):
            ideal[judgments.layout.sizes < self.k] = np.inf
        return (gains, discounts, ideal), blank

    def shortcut(self, judgments: Judgments, data: tuple[Any, ...]) -> Shortcut | None:
        return self.count_pairs(judgments, data, share_of_best_block, data[2])


ndcg_score = metric_function("ndcg_score", NDCG)
