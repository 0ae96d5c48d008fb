"""Average precision: the mean, over relevant documents, of the precision at their ranks.

For a group of t tied documents after ``low`` others, r of them relevant and R relevant ones before
the group: the document at place p of the group (p = 0, 1, ...) is relevant with probability r/t,
and then p (r-1)/(t-1) of the p before it in the group are expected to be. So the exact expectation
over random order is the sum over p of ``r/t (R + 1 + p (r-1)/(t-1)) / (low + p + 1)``: F. McSherry
and M. Najork, "Computing information retrieval performance measures efficiently in the presence of
tied scores", 2008.
"""

from typing import Any

import numpy as np
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
from gbrank.metrics.conventions import Default
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ranks import Ranking

RELEVANT = Default("relevant")
_DIVIDE_BY = ("relevant", "reachable")


@kernel()
def _average_precision_of_query(relevant, ranked, tied, start, count, cutoff):
    total = 0.0
    found = 0.0
    low = 0
    while low < min(count, cutoff):
        found_here = relevant[ranked[start + low]]
        if not tied[start + low]:
            low += 1
            found += found_here
            total += found_here * found / low
            continue
        high = low + 1
        while tied[start + high - 1]:
            found_here += relevant[ranked[start + high]]
            high += 1
        if found_here > 0:
            share = found_here / (high - low)
            more = (found_here - 1) / (high - low - 1)
            for p in range(min(high, cutoff) - low):
                total += share * (found + 1 + p * more) / (low + p + 1)
        found += found_here
        low = high
    return total


@kernel()
def _average_precision_block(
    relevant, divisors, cutoffs, bounds, ranked, tied, counts, first, last, values
):
    for q in range(first, last):
        total = _average_precision_of_query(
            relevant, ranked, tied, bounds[q], counts[q], cutoffs[q]
        )
        values[q] = total / divisors[q] if divisors[q] > 0.0 else 0.0


class AveragePrecision(Metric):
    """Average precision: see :func:`average_precision_score`."""

    name = "map"

    def __init__(
        self,
        k: int | float | None = None,
        *,
        threshold: float = ZERO,
        divide_by: str = RELEVANT,
        **common: Any,
    ) -> None:
        super().__init__(k, own={"threshold": threshold, "divide_by": divide_by}, **common)
        check_threshold(self.options["threshold"])
        if self.options["divide_by"] not in _DIVIDE_BY:
            raise ValueError(f"divide_by must be one of {_DIVIDE_BY}, got {divide_by!r}")

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        relevant = tabulate_relevance(judgments, self.options["threshold"])
        divisors = judgments.sum_in_query(relevant)
        blank = divisors == 0.0
        if self.options["divide_by"] == "reachable":
            divisors = np.minimum(divisors, ranks)
        return (relevant, divisors), blank

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
        relevant, divisors = data
        _average_precision_block(relevant, divisors, ranks, bounds, *ranking, first, last, values)


@documented
def average_precision_score(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | float | None = None,
    threshold: float = ZERO,
    divide_by: str = RELEVANT,
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    per_query: bool = False,
    convention: str | None = None,
    n_jobs: int | None = None,
) -> Score:
    """Return the mean average precision (MAP).

    The average precision of a query is the sum of the precision at the rank of every relevant
    document among the first ``k``, divided by the number of all its relevant documents. A query is
    blank when it has none.

    Parameters
    ----------
    {common}
    threshold : documents whose label is greater are relevant.
    divide_by : "relevant" for the number of relevant documents; "reachable" for as many of them as
        fit into the first ``k``, as LightGBM does.

    Examples
    --------
    >>> from gbrank.metrics import average_precision_score
    >>> average_precision_score([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    metric = AveragePrecision(
        k,
        threshold=threshold,
        divide_by=divide_by,
        empty=empty,
        ties=ties,
        convention=convention,
        n_jobs=n_jobs,
    )
    return metric(
        labels, scores, qid=qid, group=group, sample_weight=sample_weight, per_query=per_query
    )
