"""Precision at a cut-off: the share of relevant documents among the first k.

With ``normalized=True`` the sum of labels among the first k, divided by the largest such sum: the
NDCG of gain ``G(r) = r`` and discount 1 up to k, equation 14 of J. Duchi, L. Mackey and M. Jordan,
"The asymptotics of ranking algorithms", 2013. Both are linear in what each document adds, so tied
ones share their mean.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import BoolArray, FloatArray, IntArray, QueryLayout
from gbrank.metrics.base import (
    AVERAGE,
    SKIP,
    ZERO,
    EmptySpec,
    Metric,
    Score,
    check_threshold,
    documented,
)
from gbrank.metrics.dcg import dcg_block
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ndcg import best_dcg, divide_block
from gbrank.metrics.ranks import Ranking


class Precision(Metric):
    """Precision at a cut-off: see :func:`precision_at_k`."""

    name = "precision"

    def __init__(
        self,
        k: int | float | None = None,
        *,
        threshold: float = ZERO,
        normalized: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(k, own={"threshold": threshold, "normalized": normalized}, **common)
        check_threshold(self.options["threshold"])

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        sizes = judgments.layout.sizes
        worth = judgments.tabulate(self._worth)
        ones = np.ones(int(np.minimum(ranks, sizes).max()))
        if self.options["normalized"]:
            best = best_dcg(judgments, worth, ones, ranks, gains_grow=True)
        else:
            best = ranks.astype(np.float64)
        return (worth, ones, best), judgments.sum_in_query(worth) == 0.0

    def _worth(self, labels: FloatArray, layout: QueryLayout | None) -> FloatArray:
        """Return what a document of each label adds to the sum."""
        relevant = labels > self.options["threshold"]
        return np.where(relevant, labels if self.options["normalized"] else 1.0, 0.0)

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
        worth, ones, best = data
        dcg_block(worth, ranks, bounds, *ranking, ones, first, last, values)
        divide_block(values, best, first, last)


@documented
def precision_at_k(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | float | None = None,
    threshold: float = ZERO,
    normalized: bool = False,
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    per_query: bool = False,
    convention: str | None = None,
    n_jobs: int | None = None,
) -> Score:
    """Return the mean share of relevant documents among the first k.

    A list of fewer than ``k`` documents counts as filled up with documents that are not relevant.
    A query is blank when it has no relevant document.

    Parameters
    ----------
    {common}
    threshold : documents whose label is greater are relevant.
    normalized : divide by what the best order reaches instead of by ``k``, and let a relevant
        document count its label instead of 1.

    References
    ----------
    For ``normalized``: J. Duchi, L. Mackey and M. Jordan, "The asymptotics of ranking algorithms",
    2013, equation 14.

    Examples
    --------
    >>> from gbrank.metrics import precision_at_k
    >>> precision_at_k([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4], k=2)
    0.5
    >>> precision_at_k([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4], k=2, normalized=True)  # 1 / 3
    0.3333333333333333
    """
    metric = Precision(
        k,
        threshold=threshold,
        normalized=normalized,
        empty=empty,
        ties=ties,
        convention=convention,
        n_jobs=n_jobs,
    )
    return metric(
        labels, scores, qid=qid, group=group, sample_weight=sample_weight, per_query=per_query
    )
