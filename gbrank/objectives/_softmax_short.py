"""The step of :mod:`gbrank.objectives._softmax` for short lists: many of them side by side.

Sums run over the documents of a list one after the other, as LightGBM's do; those of the long path
are taken in another order, and differ in the last bits of a float64.
"""

import numpy as np

from gbrank.core import exp, kernel
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._short_lists import LANES, store_tile
from gbrank.objectives._softmax import DOMINATED, SOFTMAX_ROWS, softmax_step

#: Up to here lists side by side are faster than one after the other.
LONGEST_SHORT = 24
#: A row of the tile has so many numbers of each list: score (then rho), target (then w) and
#: 1 / (1 - rho), all of them in float64, and numerator and hessian in float32. That they lie at
#: fixed distances spares loops over 32 numbers the question whether they overlap.
DOUBLES, SINGLES = 3, 2
#: Of each lane: sum of the target, its inverse, largest score, 1 / sum e^s, sums of w before and
#: now.
LANE_ROWS = 6
#: A score that counts for nothing, where a list has ended.
BEYOND = -1.7976931348623157e308


@kernel(part=True)
def softmax_tile(
    length, n_lanes, starts, sizes, scores, eps, order, tile, lanes, singles, kept, scratch, grad,
    hess,
):  # fmt: skip
    """Write numerator and hessian of the lists of a tile, whose scores and targets are there.

    ``kept`` gets the targets of lists whose top document holds nearly all the probability: what
    they need is written once, in :func:`gbrank.objectives._softmax.softmax_step`.
    """
    apart = DOUBLES * LANES
    for lane in range(LANES):
        lanes[2 * LANES + lane] = BEYOND
    for i in range(length):
        row = tile[i * apart : (i + 1) * apart]
        for lane in range(LANES):
            lanes[2 * LANES + lane] = max(lanes[2 * LANES + lane], row[lane])
    for lane in range(LANES):
        lanes[3 * LANES + lane] = eps * exp(-lanes[2 * LANES + lane]) if eps > 0.0 else 0.0
    for i in range(length):
        row = tile[i * apart : (i + 1) * apart]
        for lane in range(LANES):
            row[lane] = exp(row[lane] - lanes[2 * LANES + lane])
            lanes[3 * LANES + lane] += row[lane]
    n_alone = 0
    for lane in range(LANES):
        target_sum, total = lanes[lane], lanes[3 * LANES + lane]
        if total < 1.0 + DOMINATED or target_sum <= 0.0:
            n_alone += 1
            for i in range(length):
                kept[i * LANES + lane] = tile[i * apart + LANES + lane]
        lanes[LANES + lane] = 1.0 / target_sum
        lanes[3 * LANES + lane] = 1.0 / total
        lanes[5 * LANES + lane] = 0.0
    for i in range(length):
        row = tile[i * apart : (i + 1) * apart]
        out = singles[i * SINGLES * LANES : (i + 1) * SINGLES * LANES]
        for lane in range(LANES):
            p = row[lane] * lanes[3 * LANES + lane]
            first = p - row[LANES + lane] * lanes[LANES + lane]
            inverse_rest = 1.0 / (1.0 - p)
            row[lane] = p
            row[LANES + lane] = first * inverse_rest
            row[2 * LANES + lane] = inverse_rest
            lanes[5 * LANES + lane] += row[LANES + lane]
            out[lane] = np.float32(first)
            out[LANES + lane] = np.float32(p * (1.0 - p))
    for _ in range(order):
        for lane in range(LANES):
            lanes[4 * LANES + lane] = lanes[5 * LANES + lane]
            lanes[5 * LANES + lane] = 0.0
        for i in range(length):
            row = tile[i * apart : (i + 1) * apart]
            out = singles[i * SINGLES * LANES : (i + 1) * SINGLES * LANES]
            for lane in range(LANES):
                term = row[lane] * (lanes[4 * LANES + lane] - row[LANES + lane])
                out[lane] += np.float32(term)  # summed in float32, as LightGBM does
                row[LANES + lane] = term * row[2 * LANES + lane]
                lanes[5 * LANES + lane] += row[LANES + lane]
    store_tile(singles, SINGLES * LANES, starts, sizes, length, n_lanes, grad)
    store_tile(singles[LANES:], SINGLES * LANES, starts, sizes, length, n_lanes, hess)
    if n_alone > 0:
        for lane in range(n_lanes):
            a, b = starts[lane], starts[lane] + sizes[lane]
            if lanes[lane] <= 0.0:
                zero_step(grad[a:b], hess[a:b])
            elif lanes[3 * LANES + lane] > 1.0 / (1.0 + DOMINATED):
                alone = scratch[SOFTMAX_ROWS]
                for i in range(b - a):
                    alone[i] = kept[i * LANES + lane]
                softmax_step(
                    scores[a:b], alone, lanes[lane], eps, order, scratch, grad[a:b], hess[a:b]
                )
