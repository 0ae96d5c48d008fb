"""Short lists side by side: a lane for each query, instead of one for each document.

A list of five documents fills no vector register, but 32 such lists do. Queries of like length are
put into a tile, whose row ``i`` holds document ``i`` of each of them: place ``i * width + lane``.
What a loss does to all documents of its lists is then one long loop over the tile, and a document
and the one ``d`` rows further on are ``d * width`` places apart, whatever the length of the lists.

Which queries lie in one tile depends on how the queries are shared out to threads; what a lane
computes depends on its own query alone.
"""

import numpy as np

from gbrank.core.kernels import kernel

#: Queries of one tile.
LANES = 32
#: Queries among which those of like length are looked for: what they need stays in the cache.
WINDOW = 1024


@kernel(part=True)
def by_length(first, last, bounds, used, longest, queries, ends):
    """List the queries that count and have at most ``longest`` documents; return how many.

    ``queries`` gets them in ascending order of length; ``ends`` is room for ``longest + 2``
    numbers.
    """
    edges, counts = bounds[first : last + 1], used[first:last]
    n = len(counts)
    out_of_order = 0
    for i in range(n):
        out_of_order += not counts[i]
    for i in range(1, n):
        out_of_order += edges[i + 1] - edges[i] < edges[i] - edges[i - 1]
    if out_of_order == 0 and edges[n] - edges[n - 1] <= longest:  # such as lists of one length
        for i in range(n):
            queries[i] = first + i
        return n
    ends[:] = 0
    for q in range(first, last):
        size = bounds[q + 1] - bounds[q]
        if used[q] and size <= longest:
            ends[size + 1] += 1
    for size in range(longest + 1):
        ends[size + 1] += ends[size]
    for q in range(first, last):
        size = bounds[q + 1] - bounds[q]
        if used[q] and size <= longest:
            queries[ends[size]] = q
            ends[size] += 1
    return ends[longest + 1]


@kernel(part=True)
def open_tile(queries, width, bounds, starts, sizes):
    """Write first row and length of the query of each of ``width`` lanes; return the longest.

    ``queries`` are in ascending order of length. Lanes beyond them repeat the last query, and are
    not stored.
    """
    for lane in range(width):
        q = queries[min(lane, len(queries) - 1)]
        starts[lane], sizes[lane] = bounds[q], bounds[q + 1] - bounds[q]
    return sizes[width - 1]


# Lengths ascend from lane to lane: the lists that have a row ``i`` are the last ones. Unsigned
# places spare the question whether they count from the end.


@kernel(part=True)
def load_tile(values, starts, sizes, width, length, beyond, tile, apart):
    """Copy ``values`` into a tile whose rows are ``apart``, ``beyond`` where a list has ended."""
    first = 0
    for i in range(length):
        row = tile[i * apart : i * apart + width]
        while sizes[first] <= i:
            first += 1
        for lane in range(first):
            row[lane] = beyond
        for lane in range(np.uint64(first), np.uint64(width)):
            row[lane] = values[np.uint64(starts[lane] + i)]


@kernel(part=True)
def load_tiles(values, others, starts, sizes, width, length, beyond, tile, other_tile, apart):
    """Copy two arrays into tiles, as :func:`load_tile` does: ``others`` are 0 beyond the end."""
    first = 0
    for i in range(length):
        row = tile[i * apart : i * apart + width]
        other_row = other_tile[i * apart : i * apart + width]
        while sizes[first] <= i:
            first += 1
        for lane in range(first):
            row[lane] = beyond
            other_row[lane] = 0.0
        for lane in range(np.uint64(first), np.uint64(width)):
            place = np.uint64(starts[lane] + i)
            row[lane] = values[place]
            other_row[lane] = others[place]


@kernel(part=True)
def store_tiles(tile, other_tile, apart, starts, sizes, length, n_lanes, values, others):
    """Copy ``n_lanes`` of two tiles whose rows are ``apart`` into two arrays."""
    first = 0
    for i in range(length):
        row = tile[i * apart : i * apart + n_lanes]
        other_row = other_tile[i * apart : i * apart + n_lanes]
        while sizes[first] <= i:
            first += 1
        for lane in range(np.uint64(first), np.uint64(n_lanes)):
            place = np.uint64(starts[lane] + i)
            values[place] = row[lane]
            others[place] = other_row[lane]


@kernel(part=True)
def zero_others(first, last, bounds, used, longest, grad, hess):
    """Leave out the short queries that do not count: zero gradient and hessian."""
    for q in range(first, last):
        if not used[q] and bounds[q + 1] - bounds[q] <= longest:
            for row in range(bounds[q], bounds[q + 1]):
                grad[row] = np.float32(0.0)
                hess[row] = np.float32(0.0)
