"""Discounted cumulative gain: ``DCG@k = sum_{rank <= k} G(label at rank) D(rank)``.

Tied documents share the mean of their gains, which is the exact expectation over random order,
since DCG is linear in the gain at each rank. References: K. Jarvelin and J. Kekalainen, "Cumulated
gain-based evaluation of IR techniques", 2002; for ties F. McSherry and M. Najork, "Computing
information retrieval performance measures efficiently in the presence of tied scores", 2008.
"""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    BoolArray,
    FloatArray,
    IntArray,
    compute_discounts,
    compute_gains,
    kernel,
)
from gbrank.metrics._base import Metric, Shortcut
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._short_dcg import LONGEST, discounts_of_ties, short_dcg_block
from gbrank.metrics.conventions import EXP, LOG


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
def dcg_block(gains, discounts, cutoffs, bounds, ranked, tied, counts, first, last, values):
    """Write the DCG of queries ``first`` to ``last`` into ``values``; ``gains`` are by code."""
    for q in range(first, last):
        values[q] = _dcg_of_query(gains, ranked, tied, bounds[q], counts[q], cutoffs[q], discounts)


class DCG(Metric):
    """Discounted cumulative gain, ``sum_{rank <= k} G(label) D(rank)``, mean over queries.

    A query is blank when all its gains are 0.

    Parameters
    ----------
    gain : str, array-like or callable, default="exp"
        As in :func:`ndcg_score`.
    discount : str or callable, default="log"
        As in :func:`ndcg_score`.

    Examples
    --------
    >>> from gbrank.metrics import dcg_score
    >>> dcg_score([1, 0, 2], [0.1, 0.2, 0.3], group=[3])  # 3 + 1/2
    3.5
    """

    name = "dcg"
    own_options: ClassVar = {"gain": EXP, "discount": LOG}
    kernel = staticmethod(dcg_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        gains = self.gain_table(judgments)
        deepest = int(np.minimum(cutoffs, judgments.layout.sizes).max())
        discounts = compute_discounts(deepest, self.options["discount"])
        return (gains, discounts), judgments.sum_in_query(gains) == 0.0

    def shortcut(self, judgments: Judgments, data: tuple[Any, ...]) -> Shortcut | None:
        return self.count_pairs(judgments, data, dcg_block, np.ones(judgments.layout.n_queries))

    def count_pairs(
        self, judgments: Judgments, data: tuple[Any, ...], kernel: Any, best: FloatArray
    ) -> Shortcut | None:
        """Return what ``kernel`` would find, without ranking; ``None`` for a subclass with another.

        Parameters
        ----------
        judgments : Judgments
            The labels.
        data : tuple
            Gains and discounts, then whatever.
        kernel : kernel
            Whose values these are.
        best : ndarray of shape (n_queries,)
            What the DCG of each query is divided by.
        """
        layout = judgments.layout
        too_long = layout.sizes.max() > LONGEST
        if self.kernel is not kernel or too_long or isinstance(self.k, float):
            return None
        if self.ties == "worst":
            return None
        gains, by_ties = data[0], discounts_of_ties(data[1], self.k)
        return partial(
            short_dcg_block, gains, by_ties, best, layout.sizes > 0, layout.bounds, judgments.codes
        )

    def gain_table(self, judgments: Judgments) -> FloatArray:
        """Return the gain of each code."""
        gain = self.options["gain"]
        return judgments.tabulate(lambda labels, layout: compute_gains(labels, gain, layout))

    def worst_by(self, judgments: Judgments, data: tuple[Any, ...]) -> FloatArray:
        # named gains grow with the label; others may not
        gains: FloatArray = data[0]
        return judgments.labels_of_codes if isinstance(self.options["gain"], str) else gains


dcg_score = metric_function("dcg_score", DCG)
