"""Reciprocal rank: one over the rank of the first relevant document.

Where r of t tied documents are relevant and none before them is, the first of them is at place p of
the group (p = 0, 1, ...) with probability ``P(none before p) r / (t - p)``, which gives the exact
expectation over random order in one pass.

``RR = 1 / (rank of the first relevant document)``, 0 if there is none within the cut-off.
Reference: E. Voorhees, "The TREC-8 question answering track report", 1999.
"""

from typing import Any

from numpy.typing import ArrayLike

from gbrank.core import BoolArray, FloatArray, IntArray, kernel
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
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ranks import Ranking


@kernel()
def _reciprocal_rank_of_query(relevant, ranked, tied, start, count, cutoff):
    low = 0
    while low < min(count, cutoff):
        high = low + 1
        found = relevant[ranked[start + low]]
        while tied[start + high - 1]:
            found += relevant[ranked[start + high]]
            high += 1
        if found > 0:
            total = 0.0
            none_before = 1.0
            for place in range(low, min(high, cutoff)):
                here = none_before * min(1.0, found / (high - place))
                total += here / (place + 1)
                none_before -= here
            return total
        low = high
    return 0.0


@kernel()
def _reciprocal_rank_block(relevant, cutoffs, bounds, ranked, tied, counts, first, last, values):
    for q in range(first, last):
        values[q] = _reciprocal_rank_of_query(
            relevant, ranked, tied, bounds[q], counts[q], cutoffs[q]
        )


class ReciprocalRank(Metric):
    """Reciprocal rank: see :func:`reciprocal_rank_score`."""

    name = "mrr"

    def __init__(
        self, k: int | float | None = None, *, threshold: float = ZERO, **common: Any
    ) -> None:
        super().__init__(k, own={"threshold": threshold}, **common)
        check_threshold(self.options["threshold"])

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        relevant = tabulate_relevance(judgments, self.options["threshold"])
        return (relevant,), judgments.sum_in_query(relevant) == 0.0

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
        _reciprocal_rank_block(*data, ranks, bounds, *ranking, first, last, values)


@documented
def reciprocal_rank_score(
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
    """Return the mean reciprocal rank (MRR) of the first relevant document.

    It is 0 where the first ``k`` documents hold no relevant one; a query is blank when it has none
    at all.

    Parameters
    ----------
    {common}
    threshold : documents whose label is greater are relevant.

    Examples
    --------
    >>> from gbrank.metrics import reciprocal_rank_score
    >>> reciprocal_rank_score([0, 1, 0, 1], [0.3, 0.2, 0.9, 0.4], qid=[1, 1, 2, 2])
    0.5
    """
    metric = ReciprocalRank(
        k, threshold=threshold, empty=empty, ties=ties, convention=convention, n_jobs=n_jobs
    )
    return metric(
        labels, scores, qid=qid, group=group, sample_weight=sample_weight, per_query=per_query
    )
