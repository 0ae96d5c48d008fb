"""Discounted cumulative gain: ``DCG@k = sum_{rank <= k} G(label at rank) D(rank)``.

Tied documents share the mean of their gains, which is the exact expectation over random order,
since DCG is linear in the gain at each rank. References: K. Jarvelin and J. Kekalainen, "Cumulated
gain-based evaluation of IR techniques", 2002; for ties F. McSherry and M. Najork, "Computing
information retrieval performance measures efficiently in the presence of tied scores", 2008.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    BoolArray,
    DiscountSpec,
    FloatArray,
    GainSpec,
    IntArray,
    compute_discounts,
    compute_gains,
    kernel,
)
from gbrank.metrics.base import AVERAGE, EXP, LOG, SKIP, EmptySpec, Metric, Score, documented
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ranks import Ranking


@kernel()
def _dcg_of_query(gains, ranked, tied, start, count, cutoff, discounts):
    total = 0.0
    low = 0
    while low < min(count, cutoff):
        high = low + 1
        gain = gains[ranked[start + low]]
        if not tied[start + low]:
            total += gain * discounts[low]
            low = high
            continue
        discount = discounts[low]
        while tied[start + high - 1]:
            gain += gains[ranked[start + high]]
            if high < cutoff:
                discount += discounts[high]
            high += 1
        total += gain / (high - low) * discount
        low = high
    return total


@kernel()
def dcg_block(gains, cutoffs, bounds, ranked, tied, counts, discounts, first, last, values):
    """Write the DCG of queries ``first`` to ``last`` into ``values``; ``gains`` are by code."""
    for q in range(first, last):
        values[q] = _dcg_of_query(gains, ranked, tied, bounds[q], counts[q], cutoffs[q], discounts)


class DCG(Metric):
    """Discounted cumulative gain, not normalised: see :func:`dcg_score`."""

    name = "dcg"

    def __init__(
        self,
        k: int | float | None = None,
        *,
        gain: GainSpec = EXP,
        discount: DiscountSpec = LOG,
        **common: Any,
    ) -> None:
        super().__init__(k, own={"gain": gain, "discount": discount}, **common)

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        gains, discounts = self._gains_and_discounts(judgments, ranks)
        return (gains, discounts), judgments.sum_in_query(gains) == 0.0

    def _gains_and_discounts(
        self, judgments: Judgments, ranks: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        gain = self.options["gain"]
        gains = judgments.tabulate(lambda labels, layout: compute_gains(labels, gain, layout))
        deepest = int(np.minimum(ranks, judgments.layout.sizes).max())
        return gains, compute_discounts(deepest, self.options["discount"])

    def worst_by(self, judgments: Judgments, data: tuple[Any, ...]) -> FloatArray:
        # named gains grow with the label; others may not
        gains: FloatArray = data[0]
        return judgments.labels_of_codes if isinstance(self.options["gain"], str) else gains

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
        gains, discounts = data
        dcg_block(gains, ranks, bounds, *ranking, discounts, first, last, values)


@documented
def dcg_score(
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
    """Return the mean discounted cumulative gain, ``sum_{rank <= k} G(label) D(rank)``.

    A query is blank when all its gains are 0.

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

    Examples
    --------
    >>> from gbrank.metrics import dcg_score
    >>> dcg_score([1, 0, 2], [0.1, 0.2, 0.3], group=[3])  # 3 + 1/2
    3.5
    """
    metric = DCG(
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
