"""Normalised discounted cumulative gain: DCG@k divided by the best DCG@k of the query."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank._compile import kernel
from gbrank.gains import DiscountSpec, GainSpec
from gbrank.layout import FloatArray, IntArray, QueryLayout
from gbrank.metrics.base import AVERAGE, EXP, LOG, SKIP, EmptySpec, Score, documented
from gbrank.metrics.dcg import DCG, dcg_block
from gbrank.metrics.ranks import Ranking, rank_queries


@kernel()
def _divide_block(values, ideal, first, last):
    for q in range(first, last):
        values[q] = values[q] / ideal[q] if ideal[q] > 0.0 else 0.0


class NDCG(DCG):
    """Normalised discounted cumulative gain: see :func:`ndcg_score`."""

    name = "ndcg"

    def _bind(
        self, labels: FloatArray, layout: QueryLayout, ranks: IntArray
    ) -> tuple[tuple[Any, ...], NDArray[np.bool_]]:
        (gains, discounts), _ = super()._bind(labels, layout, ranks)
        ideal = np.empty(layout.n_queries)
        best = rank_queries(gains, layout.bounds, ranks, "stable", gains)
        dcg_block(gains, ranks, layout.bounds, *best, discounts, 0, layout.n_queries, ideal)
        return (gains, discounts, ideal), ideal == 0.0

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
        _divide_block(values, ideal, first, last)


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
