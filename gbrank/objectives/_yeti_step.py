"""The step of YetiLoss: its pairs in noisy orders, sixteen orders side by side.

:mod:`gbrank.objectives.yetiloss` says what is computed. Orders are drawn into tiles with a row for
each place and a column for each order (:mod:`gbrank.objectives._noisy_orders`): the pairs of places
p and p + 1 of all orders are then one loop over numbers that lie next to each other.
"""

import numpy as np

from gbrank.core import EXACT_MATH, exp, exp32, extremes, kernel
from gbrank.objectives._kernels import middle_of, zero_step
from gbrank.objectives._noisy_orders import EXACT_ROWS, LANES, WIDEST, draw_orders
from gbrank.objectives._swap_weights import LINEAR, change, first_more, next_above, pass_by

# A tile of LANES numbers of 32 bits a document is this many rows of float64.
_ROWS_OF_TILE = LANES // 2
# Documents, worths, scores, changes, terms, curvatures, and the sums of the last two; then, of
# metrics whose change is more than a difference of discounts, what lies above, and between.
_TILES = 8 + 3
# Rows by document: e^s, the two sums, keys of the lanes.
_ROWS = 4
#: Rows of float64 that a step needs.
SCRATCH_ROWS = _ROWS + EXACT_ROWS + _TILES * _ROWS_OF_TILE
# Distances of scores count up to here.
_FARTHEST = 1e30


@kernel(part=True)
def _gather(tile, lanes_of_places, worth, xs, worths, tile_xs):
    for e in range(lanes_of_places):
        document = np.uint64(tile[e])
        worths[e] = worth[document]
        tile_xs[e] = xs[document]


@kernel(part=True)
def _scatter(tile, n_places, lanes, sums, hessian_sums, by_document, hessians):
    """Add what each document got at its places; documents of one order are all different."""
    for lane in range(lanes):
        for e in range(np.uint64(lane), np.uint64(n_places * LANES), np.uint64(LANES)):
            document = np.uint64(tile[e])
            by_document[document] += sums[e]
            hessians[document] += hessian_sums[e]


@kernel(part=True)
def _linear_changes(upper, lower, changes):
    for e in range(len(changes)):
        changes[e] = upper[e] - lower[e]


@kernel(EXACT_MATH, part=True)
def _add_pairs(upper, lower, n, wide, worths, xs, changes, terms, curvatures, sums, hessian_sums):
    """Add the terms of the pairs of elements from ``upper`` and ``lower`` on, ``n`` of each.

    ``xs`` are e^s, of which a pair needs the ratio alone; of ``wide`` lists they are s, from the
    highest downwards. Products are taken in the order that is written: that of two e^s, or of one
    and a worth, may be no number of single precision.
    """
    one, zero = np.float32(1.0), np.float32(0.0)
    upper_worths, lower_worths = worths[upper : upper + n], worths[lower : lower + n]
    upper_xs, lower_xs = xs[upper : upper + n], xs[lower : lower + n]
    for e in range(n):
        gap, a, b = upper_worths[e] - lower_worths[e], upper_xs[e], lower_xs[e]
        if wide:
            distance = a - b
            low = exp32(-abs(distance))
            a, b = (one, low) if distance >= zero else (low, one)
        inverse = one / (a + b)
        weight = abs(gap) * changes[e]
        terms[e] = weight * (inverse * (a if gap < zero else -b))
        curvatures[e] = weight * (a * inverse) * (b * inverse)
    upper_sums, upper_hessians = sums[upper : upper + n], hessian_sums[upper : upper + n]
    for e in range(n):
        upper_sums[e] += terms[e]
        upper_hessians[e] += curvatures[e]
    lower_sums, lower_hessians = sums[lower : lower + n], hessian_sums[lower : lower + n]
    for e in range(n):
        lower_sums[e] -= terms[e]
        lower_hessians[e] += curvatures[e]


@kernel(part=True)
def _neighbours(form, n_places, top, neighbors, wide, lane_discounts, tiles):
    """Let every place meet those below it, near ones first."""
    worths, xs, changes, terms, curvatures = tiles[1], tiles[2], tiles[3], tiles[4], tiles[5]
    sums, hessian_sums = tiles[6], tiles[7]
    if form != LINEAR:
        above, mid, more = tiles[8], tiles[9], tiles[10]
        above[:LANES] = np.float32(1.0)
        for e in range((n_places - 1) * LANES):
            above[e + LANES] = next_above(form, above[e], worths[e])
        mid[: n_places * LANES] = np.float32(0.0)
        more[: n_places * LANES] = np.float32(first_more(form))
    for apart in range(1, min(neighbors, n_places - 1) + 1):
        lower = apart * LANES
        n = min(top, n_places - apart) * LANES
        upper_discounts, lower_discounts = lane_discounts[:n], lane_discounts[lower : lower + n]
        if form == LINEAR:
            _linear_changes(upper_discounts, lower_discounts, changes[:n])
        else:
            lower_worths = worths[lower : lower + n]
            for e in range(n):
                changes[e] = abs(
                    change(form, above[e], upper_discounts[e], lower_discounts[e], mid[e], more[e])
                )
            if apart < neighbors:
                for e in range(n):
                    mid[e], more[e] = pass_by(
                        form, lower_worths[e], lower_discounts[e], mid[e], more[e]
                    )
        _add_pairs(0, lower, n, wide, worths, xs, changes, terms, curvatures, sums, hessian_sums)


@kernel(part=True)
def _across(n_places, top, neighbors, wide, lane_discounts, tiles):
    """Let the places above the cut-off meet those below it, counted from the cut-off."""
    changes = tiles[3]
    for p in range(min(top, n_places)):
        mirror = 2 * top - 1 - p
        for q in range(max(top, mirror - neighbors + 1), min(n_places, mirror + neighbors)):
            upper, lower = p * LANES, q * LANES
            _linear_changes(
                lane_discounts[upper : upper + LANES],
                lane_discounts[lower : lower + LANES],
                changes[:LANES],
            )
            _add_pairs(
                upper, lower, LANES, wide, tiles[1], tiles[2], changes, tiles[4], tiles[5],
                tiles[6], tiles[7],
            )  # fmt: skip


@kernel(part=True)
def _yetiloss_query(
    scores, worth, unit, lane_discounts, form, top, permutations, neighbors, across, noise, scale,
    seed, iteration, query, rows, tiles, documents, grad, hess,
):  # fmt: skip
    m = len(scores)
    rows32 = rows.reshape(-1).view(np.float32).reshape(rows.shape[0], 2 * rows.shape[1])
    xs, sums, hessians = rows32[0], rows32[1], rows32[2]
    keys = rows[3].view(np.uint32)
    lowest, highest = extremes(scores)
    for i in range(m):
        sums[i] = np.float32(0.0)
        hessians[i] = np.float32(0.0)
    wide = not (highest - lowest <= WIDEST)
    middle = middle_of(lowest, highest)
    if wide:
        for i in range(m):
            xs[i] = np.float32(max(scores[i] - highest, -_FARTHEST))  # exact near the top
    else:
        for i in range(m):
            xs[i] = np.float32(exp(scores[i] - middle))
    # no place further down has a part
    reach = 2 * top + neighbors - 1 if across else top + neighbors
    n_places = min(m, reach)
    for begin in range(0, permutations, LANES):
        lanes = min(LANES, permutations - begin)
        first = iteration * permutations + begin
        draw_orders(
            scores, noise, scale, seed, first, lanes, query, lowest, highest, keys[:LANES],
            keys[LANES : 2 * LANES], documents, rows[_ROWS:],
        )  # fmt: skip
        _gather(documents, n_places * LANES, worth, xs, tiles[1], tiles[2])
        tiles[6:8, : n_places * LANES] = np.float32(0.0)
        if across:
            _across(n_places, top, neighbors, wide, lane_discounts, tiles)
        else:
            _neighbours(form, n_places, top, neighbors, wide, lane_discounts, tiles)
        _scatter(documents, n_places, lanes, tiles[6], tiles[7], sums, hessians)
    share = np.float32(unit / permutations)
    for i in range(m):
        grad[i] = share * sums[i]
        hess[i] = share * hessians[i]


@kernel()
def yetiloss_block(
    first, last, bounds, scores, worth, units, used, lane_discounts, form, top, permutations,
    neighbors, across, noise, scale, seed, iteration, scratch, grad, hess,
):  # fmt: skip
    n_rows, width = _ROWS + EXACT_ROWS, LANES * scratch.shape[1]
    tiles = scratch[n_rows:].reshape(-1).view(np.float32).reshape(-1, width)
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if used[q]:
            _yetiloss_query(
                scores[a:b], worth[a:b], units[q], lane_discounts, form, top, permutations,
                neighbors, across, noise, scale, seed, iteration, q, scratch[:n_rows], tiles,
                tiles[0].view(np.int32), grad[a:b], hess[a:b],
            )  # fmt: skip
        else:
            zero_step(grad[a:b], hess[a:b])
