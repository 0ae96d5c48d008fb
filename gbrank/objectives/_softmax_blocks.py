"""Kernels of softmax losses whose target is a mass per document, less a number that may be drawn.

The target is ``mass_i - gamma_i``, gamma uniform about ``middle`` with a ``spread`` that falls by a
factor of e in ``anneal`` iterations. With a spread of 0 nothing is drawn. Where the masses of each
list have one sum, ``mass_sum``, it is not taken again; else that is 0.
"""

import numpy as np

from gbrank.core import (
    LANES,
    WINDOW,
    by_length,
    exp,
    kernel,
    load_tile,
    open_tile,
    random_key,
    random_uniform,
    zero_others,
)
from gbrank.objectives._kernels import claim, zero_step
from gbrank.objectives._softmax import SOFTMAX_ROWS, softmax_step
from gbrank.objectives._softmax_short import BEYOND, DOUBLES, LANE_ROWS, SINGLES, softmax_tile


@kernel()
def drawn_target(mass, middle, spread, seed, iteration, query, target):
    """Write the target of one query and return its sum."""
    total = 0.0
    if spread > 0.0:
        low, high = random_key(seed, iteration, query)
        for i in range(len(mass)):
            target[i] = mass[i] - (middle + spread * (random_uniform(low, high, i) - middle))
            total += target[i]
    else:
        for i in range(len(mass)):
            target[i] = mass[i] - middle
            total += target[i]
    return total


@kernel()
def drawn_block(
    first, last, bounds, scores, mass, used, lost_at, left, longest_short, eps, order, seed,
    middle, spread, anneal, mass_sum, iteration, scratch, grad, hess,
):  # fmt: skip
    """Write gradient and hessian of queries one after the other: long ones, and those ``left``."""
    spread_now = spread * exp(-iteration / anneal)
    plain = spread_now == 0.0 and middle == 0.0  # the target is the mass itself
    has_company = last - first < len(bounds) - 1  # another thread has other queries
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if b - a <= longest_short and not left[q]:
            continue
        if has_company and q + 1 < last and (bounds[q + 2] - b > longest_short or left[q + 1]):
            claim(grad, hess, b, bounds[q + 2])
        if used[q]:
            if plain:
                target, total = mass[a:b], mass_sum
                if total == 0.0:
                    for i in range(b - a):
                        total += target[i]
            else:
                target = scratch[SOFTMAX_ROWS][: b - a]
                total = drawn_target(mass[a:b], middle, spread_now, seed, iteration, q, target)
            if total > 0.0:
                softmax_step(
                    scores[a:b], target, total, eps, order, lost_at, q, iteration, scratch,
                    grad[a:b], hess[a:b],
                )  # fmt: skip
                continue
        zero_step(grad[a:b], hess[a:b])


@kernel(part=True)
def _draw_tile(length, queries, sizes, middle, spread, seed, iteration, keys, tile, totals):
    """Subtract gamma from the masses in a tile; write the sums."""
    for lane in range(LANES):
        query = queries[min(lane, len(queries) - 1)]
        keys[lane], keys[LANES + lane] = random_key(seed, iteration, query)
        totals[lane] = 0.0
    first = 0
    for i in range(length):
        row = tile[(DOUBLES * i + 1) * LANES : (DOUBLES * i + 2) * LANES]
        if spread > 0.0:
            for lane in range(LANES):
                uniform = random_uniform(keys[lane], keys[LANES + lane], i)
                row[lane] -= middle + spread * (uniform - middle)
        else:
            for lane in range(LANES):
                row[lane] -= middle
        while sizes[first] <= i:
            first += 1
        row[:first] = 0.0  # where a list has ended
        for lane in range(LANES):
            totals[lane] += row[lane]


@kernel()
def short_drawn_block(
    first, last, bounds, scores, mass, used, lost_at, left, longest, eps, order, seed, middle,
    spread, anneal, _mass_sum, iteration, scratch, grad, hess,
):  # fmt: skip
    """Write gradient and hessian of queries of at most ``longest`` documents, for eps = 0.

    Return how many of them are left to :func:`drawn_block`.
    """
    spread_now = spread * exp(-iteration / anneal)
    longest = min(longest, scratch.shape[1])  # no list is longer than that
    tile = np.empty(longest * DOUBLES * LANES)
    singles = np.empty(longest * SINGLES * LANES, np.float32)
    lanes, keys = np.empty(LANE_ROWS * LANES), np.empty(2 * LANES, np.uint32)
    queries, ends = np.empty(WINDOW, np.int64), np.empty(longest + 2, np.int64)
    starts, sizes = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    n_left = 0
    for window in range(first, last, WINDOW):
        window_end = min(window + WINDOW, last)
        n_short = by_length(window, window_end, bounds, used, longest, queries, ends)
        if 2 * n_short > window_end - window:
            # Bring the rows into the cache, one after the other: in the order of lengths, each list
            # would be waited for. What is kept in ``lanes`` only says that somebody needs it.
            lanes[0] = 0.0
            for row in range(bounds[window], bounds[window_end], 8):
                lanes[0] += scores[row] + mass[row]
            claim(grad, hess, bounds[window], bounds[window_end])
        for begin in range(0, n_short, LANES):
            chosen = queries[begin : min(begin + LANES, n_short)]
            length = open_tile(chosen, LANES, bounds, starts, sizes)
            load_tile(scores, starts, sizes, LANES, length, BEYOND, tile, DOUBLES * LANES)
            load_tile(mass, starts, sizes, LANES, length, 0.0, tile[LANES:], DOUBLES * LANES)
            _draw_tile(
                length, chosen, sizes, middle, spread_now, seed, iteration, keys, tile, lanes
            )
            n_left += softmax_tile(
                length, chosen, starts, sizes, order, lost_at, iteration, tile, lanes, singles,
                left, grad, hess,
            )  # fmt: skip
        zero_others(window, window_end, bounds, used, longest, grad, hess)
    return n_left
