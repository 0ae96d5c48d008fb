"""Recall at a cut-off: the share of a query's relevant documents found among the first k.

``recall@k = (relevant documents among the first k) / (relevant documents of the query)``.
Reference: C. Manning, P. Raghavan and H. Schutze, "Introduction to information retrieval", 2008,
chapter 8.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import BoolArray, FloatArray, IntArray
from gbrank.metrics.base import (
    AVERAGE,
    SKIP,
    ZERO,
    EmptySpec,
    Metric,
    Score,
    check_threshold,
    documented,
    tabulate_relevance,
)
from gbrank.metrics.dcg import dcg_block
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ndcg import divide_block
from gbrank.metrics.ranks import Ranking


class Recall(Metric):
    """Recall at a cut-off: see :func:`recall_at_k`."""

    name = "recall"

    def __init__(
        self, k: int | float | None = None, *, threshold: float = ZERO, **common: Any
    ) -> None:
        super().__init__(k, own={"threshold": threshold}, **common)
        check_threshold(self.options["threshold"])

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        relevant = tabulate_relevance(judgments, self.options["threshold"])
        ones = np.ones(int(np.minimum(ranks, judgments.layout.sizes).max()))
        n_relevant = judgments.sum_in_query(relevant)
        return (relevant, ones, n_relevant), n_relevant == 0.0

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
        relevant, ones, n_relevant = data
        dcg_block(relevant, ranks, bounds, *ranking, ones, first, last, values)
        divide_block(values, n_relevant, first, last)


@documented
def recall_at_k(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | float | None = None,
    threshold: float = ZERO,
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    per_query: bool = False,
    convention: str | None = None,
    n_jobs: int | None = None,
) -> Score:
    """Return the mean share of a query's relevant documents found among its first k.

    A query is blank when it has no relevant document.

    Parameters
    ----------
    {common}
    threshold : documents whose label is greater are relevant.

    Examples
    --------
    >>> from gbrank.metrics import recall_at_k
    >>> recall_at_k([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4], k=2)
    0.5
    """
    metric = Recall(
        k, threshold=threshold, empty=empty, ties=ties, convention=convention, n_jobs=n_jobs
    )
    return metric(
        labels, scores, qid=qid, group=group, sample_weight=sample_weight, per_query=per_query
    )
