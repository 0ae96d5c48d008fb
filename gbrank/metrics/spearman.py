"""Spearman's rank correlation of scores and labels.

``rho = cov(rank by score, rank by label) / (sd of ranks by score * sd of ranks by label)``, where
equal labels share their mean rank. Scores are ranked strictly, ties broken as ``ties`` says. Their
ranks then have the variance (m^2 - 1)/12 whatever the order, and rho is linear in them, so that the
expectation over random order is rho with mean ranks and that variance: a constant model scores 0.
SciPy's ``spearmanr`` divides by the (smaller) standard deviation of the mean ranks instead.
Reference: C. Spearman, "The proof and measurement of association between two things", 1904.
"""

from typing import Any

import numpy as np

from gbrank.core import BoolArray, IntArray, kernel
from gbrank.metrics._base import Metric
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments


@kernel()
def _label_ranks_block(bounds, ranked, tied, counts, places, centred, deviations):
    """Write how far above the middle each label ranks, and the root of the sum of squares."""
    for q in range(len(bounds) - 1):
        start, size = bounds[q], bounds[q + 1] - bounds[q]
        squares = 0.0
        low = 0
        while low < size:
            high = low + 1
            while tied[start + high - 1]:
                high += 1
            above = 0.5 * (size - low - high)
            for i in range(low, high):
                centred[places[q] + ranked[start + i]] = above
            squares += above * above * (high - low)
            low = high
        deviations[q] = np.sqrt(squares)


@kernel()
def _spearman_of_query(centred, place, ranked, tied, start, size):
    total = 0.0
    low = 0
    while low < size:
        high = low + 1
        above = centred[place + ranked[start + low]]
        while tied[start + high - 1]:
            above += centred[place + ranked[start + high]]
            high += 1
        total += above * 0.5 * (size - low - high)
        low = high
    return total


@kernel()
def _spearman_block(
    centred, places, deviations, cutoffs, bounds, ranked, tied, counts, first, last, values
):
    for q in range(first, last):
        size = np.float64(counts[q])
        total = _spearman_of_query(centred, places[q], ranked, tied, bounds[q], counts[q])
        spread = np.sqrt(size * (size * size - 1.0) / 12.0) * deviations[q]
        values[q] = total / spread if spread > 0.0 else 0.0


class Spearman(Metric):
    """Spearman rank correlation of scores and labels, mean over queries.

    Equal labels share their mean rank; equal scores are put into an order as ``ties`` says, so that
    a constant model scores 0 (and not NaN, as in SciPy). A query is blank when all its labels are
    equal. Labels may be negative; there is no cut-off, so ``k`` must be None.

    Examples
    --------
    >>> from gbrank.metrics import spearman_score
    >>> round(spearman_score([0, 1, 2], [0.3, 0.1, 0.5], group=[3]), 12)  # 1 - 6 * 2 / (3 * 8)
    0.5
    """

    name = "spearman"
    signed_labels = True
    no_cutoff = "it correlates the ranks of the whole list"
    kernel = staticmethod(_spearman_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        layout = judgments.layout
        centred, places = judgments.by_query_and_code(np.float64)
        deviations = np.empty(layout.n_queries)
        _label_ranks_block(layout.bounds, *judgments.by_label, places, centred, deviations)
        return (centred, places, deviations), deviations == 0.0


spearman_score = metric_function("spearman_score", Spearman)
