"""Kernels of softmax losses whose target is a mass per document, less a number that may be drawn.

The target is ``mass_i - gamma_i``, gamma uniform about ``middle`` with a ``spread`` that falls by a
factor of e in ``anneal`` iterations. With a spread of 0 nothing is drawn. Where the masses of each
list have one sum, ``mass_sum``, it is not taken again; else that is 0.
"""

import numpy as np

from gbrank.core import (
    WINDOW,
    by_length,
    exp,
    kernel,
    load_tiles,
    open_tile,
    random_key,
    random_uniform,
    zero_others,
)
from gbrank.objectives._kernels import claim, zero_step
from gbrank.objectives._softmax import BEYOND, SOFTMAX_ROWS, softmax_step
from gbrank.objectives._softmax_short import DOUBLES, LANE_ROWS, LANES, SINGLES, softmax_tile

#: Lists up to this length, all of one, are in order and come into the cache by themselves.
_NOT_TOUCHED = 16


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
            target = scratch[SOFTMAX_ROWS]
            if plain:
                total = mass_sum
                for i in range(b - a):
                    target[i] = mass[a + i]
                if total == 0.0:
                    for i in range(b - a):
                        total += target[i]
            else:
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
        while sizes[first] <= i:
            first += 1
        # where a list has ended, its target is 0
        if spread > 0.0:
            for lane in range(LANES):
                uniform = random_uniform(keys[lane], keys[LANES + lane], i)
                drawn = row[lane] - (middle + spread * (uniform - middle))
                row[lane] = drawn if lane >= first else 0.0
                totals[lane] += row[lane]
        else:
            for lane in range(LANES):
                row[lane] = row[lane] - middle if lane >= first else 0.0
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
        n_lost = 0
        for q in range(window, window_end):
            n_lost += lost_at[q] < iteration
            left[q] = False
        n_short = by_length(window, window_end, bounds, used, longest, queries, ends)
        in_order = False
        if n_short > 0:
            shortest, other = queries[0], queries[n_short - 1]
            size = bounds[shortest + 1] - bounds[shortest]
            in_order = size == bounds[other + 1] - bounds[other]
        if 2 * n_short > window_end - window and not (in_order and size <= _NOT_TOUCHED):
            # Bring the rows into the cache, one after the other: in the order of lengths, each list
            # would be waited for. What is kept in ``lanes`` only says that somebody needs it.
            begin, end = np.uint64(bounds[window]), np.uint64(bounds[window_end])
            seen = 0.0
            for row in range(begin, end, np.uint64(8)):
                seen += scores[row] + mass[row]
            lanes[0] = seen
            claim(grad, hess, bounds[window], bounds[window_end])
        for lowest in range(0, n_short, LANES):
            chosen = queries[lowest : min(lowest + LANES, n_short)]
            length = open_tile(chosen, LANES, bounds, starts, sizes)
            load_tiles(
                scores, mass, starts, sizes, LANES, length, BEYOND, tile, tile[LANES:],
                DOUBLES * LANES,
            )  # fmt: skip
            _draw_tile(
                length, chosen, sizes, middle, spread_now, seed, iteration, keys, tile, lanes
            )
            n_left += softmax_tile(
                length, chosen, starts, sizes, order, lost_at, n_lost > 0, iteration, tile, lanes,
                singles, left, grad, hess,
            )  # fmt: skip
        zero_others(window, window_end, bounds, used, longest, grad, hess)
    return n_left
