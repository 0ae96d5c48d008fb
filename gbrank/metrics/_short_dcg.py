"""DCG of short lists without sorting: many of them side by side, a lane for each.

Of a document only two numbers matter: how many of its list are above it, and how many others are
level. Counting these pair by pair takes no branch and fills vector registers, whatever the length
of the lists; a sort would guess wrong at nearly every comparison.
"""

import numpy as np

from gbrank.core import (
    EXACT_MATH,
    LANES,
    WINDOW,
    FloatArray,
    by_length,
    kernel,
    load_tile,
    open_tile,
)
from gbrank.metrics._ranks import TIES

_AVERAGE, _STABLE = TIES["average"], TIES["stable"]
#: From here on sorting is faster: pairs grow with the square of the length.
LONGEST = 48


def discounts_of_ties(discounts: FloatArray, cutoff: int | None) -> FloatArray:
    """Return the mean discount of documents by how many are level with them, and how many above.

    Parameters
    ----------
    discounts : of ranks 1, 2, ...
    cutoff : from which rank on nothing counts.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.metrics._short_dcg import discounts_of_ties
    >>> table = discounts_of_ties(np.array([1.0, 0.5, 0.25]), 2)
    >>> table[0, :3], table[1, :2]  # alone; two that share ranks 1 and 2, 2 and 3
    (array([1. , 0.5, 0. ]), array([0.75, 0.25]))
    """
    counted = np.zeros(LONGEST)
    some = discounts[: LONGEST if cutoff is None else min(cutoff, LONGEST)]
    counted[: len(some)] = some
    table = np.zeros((LONGEST, LONGEST))
    for level in range(LONGEST):
        shared = np.lib.stride_tricks.sliding_window_view(counted, level + 1)
        table[level, : LONGEST - level] = shared.mean(axis=1)
    return table


# NaN stands where a list has ended: it is neither above nor level.


@kernel(EXACT_MATH, part=True)
def _count_above(keys, n, above):
    """Count, for each document of a tile, those of its list that are above it."""
    above[:n] = 0
    for apart in range(LANES, n, LANES):
        m = n - apart
        upper, lower = keys[:m], keys[apart:n]
        upper_above, lower_above = above[:m], above[apart:n]
        for p in range(m):
            upper_above[p] += lower[p] > upper[p]
        for p in range(m):
            lower_above[p] += upper[p] > lower[p]


@kernel(EXACT_MATH, part=True)
def _settle_ties(keys, n, ties, above, level):
    """Count those level with each document, or put one of each two of these above the other."""
    level[:n] = 0
    for apart in range(LANES, n, LANES):
        m = n - apart
        upper, lower = keys[:m], keys[apart:n]
        if ties == _AVERAGE:
            upper_level, lower_level = level[:m], level[apart:n]
            for p in range(m):
                upper_level[p] += upper[p] == lower[p]
            for p in range(m):
                lower_level[p] += upper[p] == lower[p]
        elif ties == _STABLE:
            lower_above = above[apart:n]
            for p in range(m):
                lower_above[p] += upper[p] == lower[p]
        else:
            upper_above = above[:m]
            for p in range(m):
                upper_above[p] += upper[p] == lower[p]


@kernel(EXACT_MATH)
def short_dcg_block(
    gains, discounts, best, filled, bounds, codes, scores, ties, first, last, values
):
    """Write the DCG of queries ``first`` to ``last``, divided by the best one; 0 if that is 0.

    No list is longer than :data:`LONGEST`; ``filled`` are those that have documents.
    ``discounts`` are those of :func:`discounts_of_ties`, and ``gains`` are by code.
    """
    keys = np.empty(LONGEST * LANES)
    above, level = np.zeros(LONGEST * LANES, np.int64), np.zeros(LONGEST * LANES, np.int64)
    queries, ends = np.empty(WINDOW, np.int64), np.empty(LONGEST + 2, np.int64)
    starts, sizes = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    totals = np.empty(LANES)
    values[first:last] = 0.0
    for window in range(first, last, WINDOW):
        window_end = min(window + WINDOW, last)
        n_filled = by_length(window, window_end, bounds, filled, LONGEST, queries, ends)
        # Brings the rows into the cache, one after the other; that it is kept says it is needed.
        seen = 0.0
        for row in range(bounds[window], bounds[window_end], 8):
            seen += scores[row]
        keys[0] = seen
        for begin in range(0, n_filled, LANES):
            chosen = queries[begin : min(begin + LANES, n_filled)]
            length = open_tile(chosen, LANES, bounds, starts, sizes)
            n = length * LANES
            load_tile(scores, starts, sizes, LANES, length, np.nan, keys, LANES)
            _count_above(keys, n, above)
            n_above, n_pairs = 0, 0
            for p in range(n):
                n_above += above[p]
            for lane in range(LANES):
                n_pairs += sizes[lane] * (sizes[lane] - 1) // 2
            has_ties = n_above < n_pairs
            if has_ties:
                _settle_ties(keys, n, ties, above, level)
            totals[:] = 0.0
            first_lane = 0  # those before it are of lists that have ended
            for i in range(length):
                while sizes[first_lane] <= i:
                    first_lane += 1
                for lane in range(np.uint64(first_lane), np.uint64(LANES)):
                    place = np.uint64(i * LANES) + lane
                    gain = gains[np.uint64(codes[np.uint64(starts[lane] + i)])]
                    others = level[place] if has_ties else 0
                    totals[lane] += gain * discounts[np.uint64(others), np.uint64(above[place])]
            for lane in range(len(chosen)):
                q = chosen[lane]
                values[q] = totals[lane] / best[q] if best[q] > 0.0 else 0.0
