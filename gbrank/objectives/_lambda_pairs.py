"""The terms of one pair of documents in LambdaMART: see :mod:`gbrank.objectives.lambdamart`."""

import numpy as np

from gbrank.core import exp32, kernel

#: LightGBM's constant is a float32 too.
DISTANCE_FLOOR = np.float32(0.01)
#: Score distances beyond this are all the same, and float32 holds it.
FARTHEST = 1e30
#: LightGBM's sigmoid table: the width of a bin, and the bins on either side of zero.
BIN = 25.0 / 524288.0
HALF_TABLE = 524288.0


@kernel(part=True)
def bin_edge(distance, bins_per_unit):
    """Return the upper edge of the bin of a score distance, counted in bins from zero.

    In float64, which alone tells the bins of large scores apart. ``rint`` vectorises, ``ceil`` does
    not.
    """
    bins = min(distance * bins_per_unit, HALF_TABLE)
    nearest = np.rint(bins)
    return np.float32(nearest + 1.0 if nearest < bins else nearest)


@kernel(part=True)
def pair_terms(gap, discount_gap, edge, divisor):
    """Return what a pair adds to the gradient of its lower document, and to both hessians.

    In float32. The lower document has the lower score, so ``e = exp(-sigmoid (s_i - s_j)) <= 1``:
    nothing overflows, and one division serves all.
    """
    one, zero, bin_width = np.float32(1.0), np.float32(0.0), np.float32(BIN)
    # the table is read at the lower edge of s_high - s_low, which is minus the upper one here when
    # the pair is in the wrong order
    e = exp32(-bin_width * (max(edge - one, zero) if gap > zero else edge))
    weight = gap * discount_gap / ((one + e) * (one + e) * divisor)
    # p is e / (1 + e) for a pair in the right order, 1 / (1 + e) for one in the wrong order
    return weight * (one + e) * (e if gap > zero else one), abs(weight) * e
