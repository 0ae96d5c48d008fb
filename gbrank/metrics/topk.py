"""Top-k 0-1 loss: 0 where the first k labels are those of the sorted list, rank by rank, else 1.

Over the random order of tied documents it is 1 minus the chance that each rank gets its label: rank
by rank, the share of documents with the right label among those of the group that are left.
``loss = 1 - prod_{rank <= k} [label at rank = label of the sorted list at rank]``.
Reference: F. Xia, T.-Y. Liu and H. Li, "Statistical consistency of top-k ranking", 2009.
"""

from typing import Any

import numpy as np

from gbrank.core import BoolArray, IntArray, kernel, sort_descending
from gbrank.metrics._base import Metric
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments


@kernel()
def _chance_of_query(labels, best, ranked, tied, start, count, cutoff):
    chance = 1.0
    low = 0
    while low < min(count, cutoff) and chance > 0.0:
        if not tied[start + low]:
            if labels[ranked[start + low]] != labels[best[start + low]]:
                return 0.0
            low += 1
            continue
        high = low + 1
        while tied[start + high - 1]:
            high += 1
        group, spare = np.empty(high - low), np.empty(high - low)
        rows, spare_rows = np.arange(high - low), np.empty(high - low, np.int64)
        for i in range(low, high):
            group[i - low] = labels[ranked[start + i]]
        sort_descending(group, rows, high - low, spare, spare_rows)
        same = 0  # documents of the group with the label at hand that are placed already
        alike = 0  # ... and those that there are
        for place in range(low, min(high, cutoff)):
            label = labels[best[start + place]]
            if group[place - low] != label:
                return 0.0
            if same == alike:
                same = 0
                alike = 1
                while place - low + alike < high - low and group[place - low + alike] == label:
                    alike += 1
            chance *= (alike - same) / (high - place)
            same += 1
        low = high
    return chance


@kernel()
def _topk_block(labels, best, cutoffs, bounds, ranked, tied, counts, first, last, values):
    for q in range(first, last):
        values[q] = 1.0 - _chance_of_query(
            labels, best, ranked, tied, bounds[q], counts[q], cutoffs[q]
        )


class TopKZeroOne(Metric):
    """Top-k 0-1 loss, mean over queries; smaller is better.

    It is 0 where the first k documents have the labels of the list sorted by label, rank by rank,
    else 1; with ``ties="average"`` the chance of a 1. A query is blank when all its labels are 0.

    Examples
    --------
    >>> from gbrank.metrics import topk_zero_one_loss
    >>> labels, scores = [2, 1, 1, 0], [0.4, 0.3, 0.1, 0.2]
    >>> topk_zero_one_loss(labels, scores, group=[4], k=2)
    0.0
    >>> topk_zero_one_loss(labels, scores, group=[4], k=3)
    1.0
    """

    name = "topk_zero_one"
    greater_is_better = False
    kernel = staticmethod(_topk_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        labels = judgments.labels_of_codes
        return (labels, judgments.by_label.codes), judgments.sum_in_query(labels > 0) == 0.0


topk_zero_one_loss = metric_function("topk_zero_one_loss", TopKZeroOne)
