r"""Step functions with few steps, which cost little to predict with.

A step function is a search tree, in which a row meets about as many splits as the entropy :math:`H`
of its leaves has bits. With :math:`E_f` the mean squared change of scores when neighbouring bins of
feature :math:`f` become one, bins are put together such that

.. math:: \sum_f E_f + \mu \sum_{f \text{ with steps}} (H_f + \tfrac12)

is least, a half standing for what a tree costs beyond its splits, and with the least :math:`\mu`
for which there are not too many splits in all. So steps are about equally high in all features, and
a feature that moves scores by less has none.

How many features and splits: ``benchmarks/results/defaults``.
"""

import numpy as np

from gbrank.core import FloatArray, IntArray
from gbrank.linear.step_sum import StepSum

#: Features of a linear start: those that the squared error would miss most.
MOST_FEATURES = 24
#: Splits that a row meets in all of them: about a tenth of those in 100 trees of 31 leaves.
MOST_SPLITS = 45.0
_BEYOND_SPLITS = 0.5
_HALVINGS = 30


def coarsened(scores: StepSum, most_splits: float = MOST_SPLITS) -> StepSum:
    """Return about the same scores from fewer steps.

    Parameters
    ----------
    scores : step functions.
    most_splits : that a row meets in all of them.
    """
    prices = [_Prices(scores.counts(at), values) for at, values in scores.values.items()]
    cuts = [each.all_cuts for each in prices]
    if _n_splits(prices, cuts) <= most_splits:
        return scores
    low, high = 0.0, sum(float(each.change[-1, 0]) for each in prices)
    cuts = [each.all_cuts[-1:] for each in prices]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = [each.cheapest(middle) for each in prices]
        if _n_splits(prices, found) > most_splits:
            low = middle
        else:
            high, cuts = middle, found
    kept = {
        at: _grouped(each.counts, values, ends)
        for (at, values), each, ends in zip(scores.values.items(), prices, cuts, strict=True)
        if len(ends) > 1 or values[-1] != 0  # a constant does not rank
    }
    return StepSum(scores.steps, kept)


class _Prices:
    """What groups of neighbouring bins of one feature cost.

    Attributes
    ----------
    counts : rows in each bin; the last one is "missing", and a group of its own.
    change : squared change of scores, of a mean row, by end (a row) and beginning of a group.
    splits : its part of the entropy, alike.
    all_cuts : where groups end if each bin is one.
    """

    def __init__(self, counts: IntArray, values: FloatArray) -> None:
        self.counts = counts
        n_rows, n_bins = float(counts.sum()), len(values) - 1
        # sums over the first bins, of powers of their values
        sums = [
            np.concatenate(([0.0], np.cumsum(counts[:-1] / n_rows * values[:-1] ** power)))
            for power in range(3)
        ]
        share, first, second = (each[:, None] - each[None, :] for each in sums)
        self.all_cuts = np.arange(1, n_bins + 1)
        is_group = self.all_cuts[:, None] > np.arange(n_bins)[None, :]
        share, first, second = (each[1:, :-1] for each in (share, first, second))
        share = np.where(is_group, share, 1.0)
        change = np.maximum(second - first**2 / share, 0.0)
        self.change = np.where(is_group, change, np.inf)
        self.splits = -share * np.log2(share)
        missing = counts[-1] / n_rows
        self.fixed = _BEYOND_SPLITS - missing * np.log2(missing)

    def cheapest(self, price: float) -> IntArray:
        """Return where the groups end that cost least, a split having a price."""
        costs = self.change + price * self.splits
        best, begins = np.zeros(len(costs) + 1), np.zeros(len(costs), dtype=np.int64)
        for end in range(1, len(best)):
            sums = best[:end] + costs[end - 1, :end]
            begins[end - 1] = begin = int(sums.argmin())
            best[end] = sums[begin]
        if best[-1] + price * self.fixed >= self.change[-1, 0]:
            return self.all_cuts[-1:]
        ends = [len(costs)]
        while (begin := begins[ends[-1] - 1]) > 0:
            ends.append(int(begin))
        return np.array(ends[::-1])

    def n_splits(self, ends: IntArray) -> float:
        """Return how many splits a row meets, and what a tree costs beyond; 0 without a tree."""
        if len(ends) == 1:
            return 0.0
        begins = np.concatenate(([0], ends[:-1]))
        return float(self.splits[ends - 1, begins].sum() + self.fixed)


def _n_splits(prices: list[_Prices], cuts: list[IntArray]) -> float:
    return sum(each.n_splits(ends) for each, ends in zip(prices, cuts, strict=True))


def _grouped(counts: IntArray, values: FloatArray, ends: IntArray) -> FloatArray:
    """Return values that are one in each group of bins: their mean, of a row."""
    grouped, begin = values.copy(), 0
    for end in ends.tolist():
        own = values[begin:end]
        mean = np.average(own, weights=counts[begin:end])
        # not beyond its bins by a rounding: what rises still does
        grouped[begin:end] = np.clip(mean, own.min(), own.max())
        begin = end
    return grouped
