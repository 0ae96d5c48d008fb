"""LambdaMART's step for short lists: many of them side by side.

The formula is that of :mod:`gbrank.objectives.lambdamart`; pairs are added in the order of how many
ranks they are apart, so that sums may differ in the last bits from those of the long path.
"""

import numpy as np

from gbrank.core import (
    LANES,
    WINDOW,
    by_length,
    kernel,
    load_tiles,
    log,
    open_tile,
    store_tiles,
    zero_others,
)
from gbrank.objectives._lambda_pairs import BIN, DISTANCE_FLOOR, FARTHEST, bin_edge, pair_terms

# Places of a tile beyond the end of a list hold a score that sorts last.
_LOWEST = -1.7976931348623157e308
_LN2, _SMALLEST = 0.6931471805599453, 2.2250738585072014e-308


@kernel(part=True)
def _find_places(keys, n, width, steps, places):
    """Write where in the tile each document goes when its list is sorted; equal scores go by row.

    That is its lane, and a row further for each document that comes before it.
    """
    for start in range(0, n, width):
        row = places[start : start + width]
        for lane in range(width):
            row[lane] = lane
    for apart in range(width, n, width):
        m = n - apart
        upper, lower, step = keys[:m], keys[apart:n], steps[:m]
        upper_places, lower_places = places[:m], places[apart:n]
        for p in range(m):
            step[p] = width if lower[p] > upper[p] else 0
        for p in range(m):
            upper_places[p] += step[p]
        for p in range(m):
            lower_places[p] += width - step[p]


@kernel(part=True)
def _add_pairs(n, width, truncation, bins_per_unit, spread, keys, shares, discounts, floors, rows):
    """Add up the terms of all pairs of a tile of sorted lists.

    ``floors`` beyond the end of a list are infinite, which makes the terms there zero.
    """
    distances, edges, terms, curvatures = rows[0], rows[1], rows[2], rows[3]
    lambda_sums, hessian_sums, abs_sums = rows[4], rows[5], rows[6]
    rows[4:7, :n] = 0.0
    for apart in range(width, n, width):
        stop = min(n, apart + truncation * width)
        m = stop - apart
        upper_keys, lower_keys = keys[:m], keys[apart:stop]
        for p in range(m):
            distance = min(upper_keys[p] - lower_keys[p], FARTHEST)
            distances[p] = np.float32(distance)
            edges[p] = bin_edge(distance, bins_per_unit)
        upper_shares, lower_shares = shares[:m], shares[apart:stop]
        upper_discounts, lower_discounts = discounts[:m], discounts[apart:stop]
        lower_floors = floors[apart:stop]
        for p in range(m):
            terms[p], curvatures[p] = pair_terms(
                upper_shares[p] - lower_shares[p],
                upper_discounts[p] - lower_discounts[p],
                edges[p],
                lower_floors[p] + spread * distances[p],
            )
        for p in range(m):
            lambda_sums[p] -= terms[p]
            hessian_sums[p] += curvatures[p]
            abs_sums[p] += abs(terms[p])
        lower_lambdas, lower_hessians = lambda_sums[apart:stop], hessian_sums[apart:stop]
        for p in range(m):
            lower_lambdas[p] += terms[p]
            lower_hessians[p] += curvatures[p]


@kernel(part=True)
def _scale(n, width, sigmoid, norm, places, rows, scales):
    """Write the sums of sorted lists, scaled, to where the documents of these lists are."""
    lambda_sums, hessian_sums, abs_sums = rows[4], rows[5], rows[6]
    scales[:] = 0.0
    for start in range(0, n, width):
        row = abs_sums[start : start + width]
        for lane in range(width):
            scales[lane] += row[lane]
    for lane in range(width):
        total = 2.0 * sigmoid * scales[lane]
        damped = log(1.0 + total) / (_LN2 * max(total, _SMALLEST))
        scales[lane] = sigmoid * damped if norm and total > 0.0 else sigmoid
    for start in range(0, n, width):
        own = places[start : start + width]
        lambdas, hessians = rows[0, start : start + width], rows[1, start : start + width]
        for lane in range(width):
            place = np.uint64(own[lane])
            lambdas[lane] = np.float32(scales[lane] * lambda_sums[place])
            hessians[lane] = np.float32(scales[lane] * sigmoid * hessian_sums[place])


@kernel()
def short_lambdamart_block(
    first, last, bounds, scores, shares, order, used, discounts, sigmoid, truncation, norm,
    longest, iteration, scratch, grad, hess,
):  # fmt: skip
    """Write gradient and hessian of the queries of at most ``longest`` documents."""
    longest = min(longest, len(discounts))  # no list is longer than that
    n = longest * LANES
    keys, sorted_keys = np.empty(n), np.empty(n)
    steps, places = np.empty(n, np.int64), np.empty(n, np.int64)
    shares_and_floors, rows = np.empty((4, n), np.float32), np.empty((7, n), np.float32)
    row_shares, sorted_shares = shares_and_floors[0], shares_and_floors[1]
    floors, row_discounts = shares_and_floors[2], shares_and_floors[3]
    queries, ends = np.empty(WINDOW, np.int64), np.empty(longest + 2, np.int64)
    starts, sizes = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    scales, own_floors = np.empty(LANES), np.empty(LANES, np.float32)
    spread = np.float32(1.0 if norm else 0.0)
    width_before = 0
    for window in range(first, last, WINDOW):
        window_end = min(window + WINDOW, last)
        n_short = by_length(window, window_end, bounds, used, longest, queries, ends)
        for begin in range(0, n_short, LANES):
            chosen = queries[begin : min(begin + LANES, n_short)]
            width = (len(chosen) + 7) // 8 * 8
            length = open_tile(chosen, width, bounds, starts, sizes)
            n = length * width
            if width != width_before:
                for p in range(longest * width):
                    row_discounts[p] = discounts[p // width]
                width_before = width
            load_tiles(
                scores, shares, starts, sizes, width, length, _LOWEST, keys, row_shares, width
            )
            _find_places(keys, n, width, steps, places)
            for p in range(n):
                sorted_keys[np.uint64(places[p])] = keys[p]
                sorted_shares[np.uint64(places[p])] = row_shares[p]
            for lane in range(width):
                differ = sorted_keys[lane] != sorted_keys[(sizes[lane] - 1) * width + lane]
                own_floors[lane] = DISTANCE_FLOOR if norm and differ else np.float32(1.0)
            for i in range(length):
                row = floors[i * width : (i + 1) * width]
                for lane in range(width):
                    row[lane] = own_floors[lane] if i < sizes[lane] else np.float32(np.inf)
            _add_pairs(
                n, width, truncation, sigmoid / BIN, spread, sorted_keys, sorted_shares,
                row_discounts, floors, rows,
            )  # fmt: skip
            _scale(n, width, sigmoid, norm, places, rows, scales)
            store_tiles(rows[0], rows[1], width, starts, sizes, length, len(chosen), grad, hess)
        zero_others(window, window_end, bounds, used, longest, grad, hess)
