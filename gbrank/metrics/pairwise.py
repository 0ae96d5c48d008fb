"""Pairwise disagreement: the share of pairs of unequal labels that the scores order wrongly.

``PD = #{(i, j): r_i > r_j, s_i < s_j} / #{(i, j): r_i > r_j}``.
A tied pair counts 1/2. (Printed as sums of ``s_i <= s_j`` for i < j and ``s_i < s_j`` for i > j,
as in J. Duchi, L. Mackey and M. Jordan, "The asymptotics of ranking algorithms", 2013, equation 10,
a constant model would score by the order of its rows.) Pairs are counted going down the ranking,
with the number of labels seen so far: O(m) for a list of m with few distinct labels, else in a
Fenwick tree O(m log m).
"""

from typing import Any

import numpy as np

from gbrank.core import BoolArray, IntArray, kernel
from gbrank.metrics._base import Metric
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments

# Up to this many levels, and documents, are counted in the fields of one 64-bit number.
_FEW_LEVELS = 5
_FEW_DOCUMENTS = 2**15
# Tables by level, as branches on labels cannot be predicted. Nothing is below level 0, nor above
# the last, which has no field.
_FIELD_BELOW = np.array([63, 0, 16, 32, 48])
_ONES_FROM = np.array([0x0001000100010001, 0x0001000100010000, 0x0001000100000000, 2**48, 0])


@kernel()
def _levels_block(bounds, ranked, tied, counts, places, levels, n_levels, n_pairs):
    """Number the distinct labels of each query from 0, the smallest; count its unequal pairs."""
    for q in range(len(bounds) - 1):
        start, size = bounds[q], bounds[q + 1] - bounds[q]
        level = -1
        in_level = 0
        unequal = 0
        for i in range(size - 1, -1, -1):
            if i == size - 1 or not tied[start + i]:
                level += 1
                in_level = 0
            levels[places[q] + ranked[start + i]] = level
            unequal += size - 1 - i - in_level
            in_level += 1
        n_levels[q] = level + 1
        n_pairs[q] = unequal


@kernel()
def _wrong_of_few_levels(levels, place, ranked, tied, start, size, in_group):
    """Return twice the number of pairs in the wrong order, tied ones counted once.

    ``lower`` holds in its 16-bit field l how many documents of a level up to l are ranked above, so
    that a document adds 1 to its own field and to all above: the wrong pairs of a document of level
    l are in field l - 1. The bits above the fields stay 0, and serve for level 0.
    """
    in_group[:_FEW_LEVELS] = 0
    lower = np.int64(0)
    wrong = 0
    low = 0
    while low < size:
        high = low + 1
        level = levels[place + ranked[start + low]]
        wrong += 2 * ((lower >> _FIELD_BELOW[level]) & 0xFFFF)
        if tied[start + low]:
            in_group[level] = 1
            while tied[start + high - 1]:
                level = levels[place + ranked[start + high]]
                wrong += (
                    2 * ((lower >> _FIELD_BELOW[level]) & 0xFFFF) + high - low - in_group[level]
                )
                in_group[level] += 1
                high += 1
            in_group[:_FEW_LEVELS] = 0
        for i in range(low, high):
            lower += _ONES_FROM[levels[place + ranked[start + i]]]
        low = high
    return wrong


@kernel()
def _wrong_of_many_levels(levels, place, ranked, tied, start, size, n_levels, seen, in_group):
    """Return the same for any number of levels; ``seen`` is a Fenwick tree over them."""
    seen[: n_levels + 1] = 0
    in_group[:n_levels] = 0
    wrong = 0
    low = 0
    while low < size:
        high = low + 1
        while tied[start + high - 1]:
            high += 1
        for i in range(low, high):
            level = levels[place + ranked[start + i]]
            wrong += i - low - in_group[level]
            in_group[level] += 1
            at = level
            while at > 0:
                wrong += 2 * seen[at]
                at -= at & -at
        for i in range(low, high):
            level = levels[place + ranked[start + i]]
            in_group[level] = 0
            at = level + 1
            while at <= n_levels:
                seen[at] += 1
                at += at & -at
        low = high
    return wrong


@kernel()
def _disagreement_block(
    levels, places, n_levels, n_pairs, cutoffs, bounds, ranked, tied, counts, first, last, values
):
    most = _FEW_LEVELS
    for q in range(first, last):
        most = max(most, n_levels[q])
    seen, in_group = np.empty(most + 1, np.int64), np.empty(most, np.int64)
    for q in range(first, last):
        start, size, place = bounds[q], counts[q], places[q]
        if n_levels[q] <= _FEW_LEVELS and size < _FEW_DOCUMENTS:
            wrong = _wrong_of_few_levels(levels, place, ranked, tied, start, size, in_group)
        else:
            wrong = _wrong_of_many_levels(
                levels, place, ranked, tied, start, size, n_levels[q], seen, in_group
            )
        values[q] = wrong / (2 * n_pairs[q]) if n_pairs[q] > 0 else 0.0


class PairwiseDisagreement(Metric):
    """Share of pairs of unequal labels in the wrong order, mean over queries; smaller is better.

    Tied pairs count 1/2 (with ``ties="worst"`` 1). A query is blank when all its labels are equal.
    Labels may be negative; there is no cut-off, so ``k`` must be None.

    References
    ----------
    J. Duchi, L. Mackey and M. Jordan, "The asymptotics of ranking algorithms", 2013, equation 10.

    Examples
    --------
    >>> from gbrank.metrics import pairwise_disagreement
    >>> pairwise_disagreement([0, 1, 2], [0.3, 0.1, 0.5], group=[3])  # one pair of three
    0.3333333333333333
    """

    name = "pairwise_disagreement"
    greater_is_better = False
    signed_labels = True
    no_cutoff = "it counts pairs of the whole list"
    kernel = staticmethod(_disagreement_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        layout = judgments.layout
        levels, places = judgments.by_query_and_code(np.int32)
        n_levels = np.empty(layout.n_queries, dtype=np.int64)
        n_pairs = np.empty(layout.n_queries, dtype=np.int64)
        _levels_block(layout.bounds, *judgments.by_label, places, levels, n_levels, n_pairs)
        return (levels, places, n_levels, n_pairs), n_pairs == 0


pairwise_disagreement = metric_function("pairwise_disagreement", PairwiseDisagreement)
