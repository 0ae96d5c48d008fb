"""The step of :mod:`gbrank.objectives._softmax` for short lists: many of them side by side.

Sums run over the documents of a list one after the other, as LightGBM's do; those of the long path
are taken in another order, and differ in the last bits of a float64.
"""

import numpy as np

from gbrank.core import exp, kernel, store_tiles
from gbrank.objectives._softmax import BEYOND, DOMINATED, FARTHEST, LOST

#: Queries of one tile: twice as many as elsewhere, since little is kept of each document.
LANES = 64
#: A row of the tile has so many numbers of each list: score (then rho), target (then gradient) and
#: 1 / (1 - rho), all of them in float64, and numerator and hessian in float32. That they lie at
#: fixed distances spares loops over the lanes the question whether they overlap.
DOUBLES, SINGLES = 3, 2
#: Of each lane: sum of the target, its inverse, largest score, 1 / sum e^s, sum of the odds, sum of
#: w, sum of target times distance from the largest score, sum of odds times w, sum of the next w.
LANE_ROWS = 9
# sum e^(s - top) is at most m, so the excess of a loss is at most the mean distance from the top:
# from here on, which leaves room for rounding, the long path decides whether a list is lost.
_NEARLY_LOST = LOST * (1.0 - 1e-9)


@kernel(part=True)
def softmax_tile(
    length, queries, starts, sizes, order, lost_at, any_lost, iteration, tile, lanes, singles, left,
    grad, hess,
):  # fmt: skip
    """Write numerator and hessian of the lists of a tile, whose scores and targets are there.

    Return how many were ``left`` to the long path, because they are lost, or their top document
    holds nearly all the probability, or there is no target: what they need is written once, in
    :func:`gbrank.objectives._softmax.softmax_step`. ``any_lost`` says whether a list may have been
    lost in an earlier iteration.
    """
    apart = DOUBLES * LANES
    for lane in range(LANES):
        lanes[2 * LANES + lane] = BEYOND
        lanes[3 * LANES + lane] = 0.0
        lanes[6 * LANES + lane] = 0.0
    for i in range(length):
        row = tile[i * apart : (i + 1) * apart]
        for lane in range(LANES):
            lanes[2 * LANES + lane] = max(lanes[2 * LANES + lane], row[lane])
    for i in range(length):
        row = tile[i * apart : (i + 1) * apart]
        for lane in range(LANES):
            below = min(lanes[2 * LANES + lane] - row[lane], FARTHEST)
            row[lane] = exp(-below)
            lanes[3 * LANES + lane] += row[lane]
            lanes[6 * LANES + lane] += row[LANES + lane] * below
    to_leave = 0
    for lane in range(LANES):
        lost = lanes[6 * LANES + lane] >= _NEARLY_LOST * lanes[lane]
        to_leave += lost | (lanes[3 * LANES + lane] < 1.0 + DOMINATED)
    n_left = 0
    if any_lost or to_leave > 0:
        for lane in range(len(queries)):
            lost = lanes[6 * LANES + lane] >= _NEARLY_LOST * lanes[lane]
            lost = lost or lost_at[queries[lane]] < iteration
            left[queries[lane]] = lost or lanes[3 * LANES + lane] < 1.0 + DOMINATED
            n_left += left[queries[lane]]
    for lane in range(LANES):
        lanes[LANES + lane] = 1.0 / lanes[lane]
        lanes[3 * LANES + lane] = 1.0 / lanes[3 * LANES + lane]
        lanes[4 * LANES + lane] = 0.0
        lanes[5 * LANES + lane] = 0.0
        lanes[7 * LANES + lane] = 0.0
    for i in range(length):
        row = tile[i * apart : (i + 1) * apart]
        for lane in range(LANES):
            p = row[lane] * lanes[3 * LANES + lane]
            first = p - row[LANES + lane] * lanes[LANES + lane]
            inverse_rest = 1.0 / (1.0 - p)
            w, odds = first * inverse_rest, p * inverse_rest
            row[lane] = p
            row[LANES + lane] = first
            row[2 * LANES + lane] = inverse_rest
            lanes[4 * LANES + lane] += odds
            lanes[5 * LANES + lane] += w
            lanes[7 * LANES + lane] += odds * w
    for lane in range(LANES):
        w_times_odds = lanes[5 * LANES + lane] * lanes[4 * LANES + lane]
        lanes[8 * LANES + lane] = w_times_odds - lanes[7 * LANES + lane]
    carried = 1.0 if order == 2 else 0.0
    for i in range(length):
        row = tile[i * apart : (i + 1) * apart]
        out = singles[i * SINGLES * LANES : (i + 1) * SINGLES * LANES]
        for lane in range(LANES):
            p, first, inverse_rest = row[lane], row[LANES + lane], row[2 * LANES + lane]
            one = p * (lanes[5 * LANES + lane] - first * inverse_rest) * carried
            two = p * (lanes[8 * LANES + lane] - one * inverse_rest) * carried
            # summed in float32, as LightGBM does
            out[lane] = np.float32(first) + np.float32(one) + np.float32(two)
            out[LANES + lane] = np.float32(p * (1.0 - p))
    store_tiles(
        singles, singles[LANES:], SINGLES * LANES, starts, sizes, length, len(queries), grad, hess
    )
    return n_left
