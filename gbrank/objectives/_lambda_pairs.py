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


@kernel(part=True)
def write_distances(score, scores, bins_per_unit, distances, edges):
    """Write ``s_i - s_j`` and the upper edge of its bin, counted in bins from zero."""
    for j in range(len(scores)):
        distance = min(score - scores[j], FARTHEST)
        distances[j] = np.float32(distance)
        edges[j] = bin_edge(distance, bins_per_unit)


@kernel(part=True)
def accumulate(lambdas, hessians, lambda_sums, hessian_sums):
    """Add the terms to the lower documents; return the sums for the upper one."""
    total, total_abs, total_hessian = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for j in range(len(lambdas)):
        lambda_sums[j] += lambdas[j]
        hessian_sums[j] += hessians[j]
        total += lambdas[j]
        total_abs += abs(lambdas[j])
        total_hessian += hessians[j]
    return total, total_abs, total_hessian


@kernel(part=True)
def write_step(sigmoid, norm, sum_abs, order, lambda_sums, hessian_sums, grad, hess):
    """Write gradient and hessian of a list from the sums of its places."""
    scale = sigmoid
    sum_of_lambdas = 2.0 * sigmoid * sum_abs
    if norm and sum_of_lambdas > 0.0:
        scale *= np.log2(1.0 + sum_of_lambdas) / sum_of_lambdas
    for i in range(len(grad)):
        grad[order[i]] = np.float32(scale * lambda_sums[i])
        hess[order[i]] = np.float32(scale * sigmoid * hessian_sums[i])
