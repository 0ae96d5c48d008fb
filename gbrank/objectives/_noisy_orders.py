"""Orders of a list with noise on its scores: several of them side by side, a lane for each.

A tile has a row for each place of the list and a column for each of :data:`LANES` orders. Logistic
noise z added to a score s puts documents in the order of ``e^s u / (1 - u)``, u uniform: a positive
number, whose bits as an integer are in the same order. The last bits give way to the number of the
document, so that one integer is key and document in one, and a network of exchanges, the same for
every lane, sorts all lanes at once without a branch.

With b bits for the document noisy scores closer than 2^(b - 23) are taken in the order of rows:
1.5e-5 for lists of up to 128. Lists that are longer than :data:`LONGEST_TILE`, scores that lie too
far apart for float32, and other noises go the exact way, one order after the other.
"""

import numpy as np

from gbrank.core import EXACT_MATH, exp, kernel, random_bits, random_key, sort_by_score
from gbrank.objectives._kernels import middle_of
from gbrank.objectives._noise import NOISES, draw_noise

#: Orders that are drawn side by side.
LANES = 16
#: Documents of a list whose numbers leave enough bits for the key.
LONGEST_TILE = 4096
#: Scores farther apart than this have no e^s in float32, u / (1 - u) included.
WIDEST = 120.0
#: Rows of float64 that the exact way needs: noisy scores, keys, order, and two to spare.
EXACT_ROWS = 5
# A stream of its own.
_STREAM = 0x7E71
_LOGISTIC = NOISES["logistic"]
_HALF = np.float32(0.5)


@kernel(part=True)
def _exchange(upper, lower):
    for e in range(len(upper)):
        a, b = upper[e], lower[e]
        upper[e] = max(a, b)
        lower[e] = min(a, b)


@kernel(part=True)
def _sorted_two(a, b):
    return max(a, b), min(a, b)


@kernel(part=True)
def _sorted_four(a, b, c, d):
    """Sort four that are the halves of a bitonic run."""
    a, c = _sorted_two(a, c)
    b, d = _sorted_two(b, d)
    a, b = _sorted_two(a, b)
    c, d = _sorted_two(c, d)
    return a, b, c, d


@kernel(part=True)
def _merge_eight(rows):
    """Do the last three stages of a merge on eight rows: they stay in registers."""
    for e in range(LANES):
        a, b, c, d = rows[e], rows[LANES + e], rows[2 * LANES + e], rows[3 * LANES + e]
        w, x = rows[4 * LANES + e], rows[5 * LANES + e]
        y, z = rows[6 * LANES + e], rows[7 * LANES + e]
        a, w = _sorted_two(a, w)
        b, x = _sorted_two(b, x)
        c, y = _sorted_two(c, y)
        d, z = _sorted_two(d, z)
        a, b, c, d = _sorted_four(a, b, c, d)
        w, x, y, z = _sorted_four(w, x, y, z)
        rows[e], rows[LANES + e], rows[2 * LANES + e], rows[3 * LANES + e] = a, b, c, d
        rows[4 * LANES + e], rows[5 * LANES + e] = w, x
        rows[6 * LANES + e], rows[7 * LANES + e] = y, z


@kernel(part=True)
def _sort_eight(rows):
    """Sort eight rows, by 19 exchanges."""
    for e in range(LANES):
        a, b, c, d = rows[e], rows[LANES + e], rows[2 * LANES + e], rows[3 * LANES + e]
        w, x = rows[4 * LANES + e], rows[5 * LANES + e]
        y, z = rows[6 * LANES + e], rows[7 * LANES + e]
        a, b = _sorted_two(a, b)
        c, d = _sorted_two(c, d)
        w, x = _sorted_two(w, x)
        y, z = _sorted_two(y, z)
        a, c = _sorted_two(a, c)
        b, d = _sorted_two(b, d)
        w, y = _sorted_two(w, y)
        x, z = _sorted_two(x, z)
        b, c = _sorted_two(b, c)
        x, y = _sorted_two(x, y)
        a, w = _sorted_two(a, w)
        d, z = _sorted_two(d, z)
        b, x = _sorted_two(b, x)
        c, y = _sorted_two(c, y)
        b, w = _sorted_two(b, w)
        d, y = _sorted_two(d, y)
        c, w = _sorted_two(c, w)
        d, x = _sorted_two(d, x)
        d, w = _sorted_two(d, w)
        rows[e], rows[LANES + e], rows[2 * LANES + e], rows[3 * LANES + e] = a, b, c, d
        rows[4 * LANES + e], rows[5 * LANES + e] = w, x
        rows[6 * LANES + e], rows[7 * LANES + e] = y, z


@kernel(part=True)
def sort_lanes(tile, n_rows):
    """Sort each lane of a tile, the largest first; ``n_rows`` is a multiple of eight.

    Batcher's bitonic merges: the first stage of each compares a run with the next one reversed, so
    that all exchanges go one way, and rows that are not there count as the smallest and are left
    out.
    """
    for start in range(0, n_rows, 8):
        _sort_eight(tile[start * LANES : (start + 8) * LANES])
    run = 8
    while run < n_rows:
        for start in range(0, n_rows - run, 2 * run):
            for i in range(max(0, start + 2 * run - n_rows), run):
                upper, lower = (start + i) * LANES, (start + 2 * run - 1 - i) * LANES
                _exchange(tile[upper : upper + LANES], tile[lower : lower + LANES])
        apart = run // 2
        while apart >= 8:
            for start in range(0, n_rows - apart, 2 * apart):
                upper, lower = start * LANES, (start + apart) * LANES
                n = min(apart, n_rows - start - apart) * LANES
                _exchange(tile[upper : upper + n], tile[lower : lower + n])
            apart //= 2
        for start in range(0, n_rows, 8):
            _merge_eight(tile[start * LANES : (start + 8) * LANES])
        run *= 2


@kernel(EXACT_MATH, part=True)
def _draw_row(x, document, number, keep, lows, highs, row):
    for lane in range(LANES):
        bits = random_bits(lows[lane], highs[lane], 2 * document)
        # u and 1 - u as multiples of 2^-31, half a step from 0
        u, rest = np.float32(bits) + _HALF, np.float32(np.int32(2147483647) - bits) + _HALF
        row[lane] = (np.float32(x * (u / rest)).view(np.int32) & keep) | number


@kernel(part=True)
def _draw_tile(scores, scale, middle, lows, highs, tile):
    """Fill a tile with keys, and sort it."""
    m = len(scores)
    used = 1
    while used < m:
        used *= 2
    keep = np.int32(~np.int32(used - 1))
    for i in range(m):
        x = np.float32(exp((scores[i] - middle) / scale))
        _draw_row(x, i, np.int32(i), keep, lows, highs, tile[i * LANES : (i + 1) * LANES])
    n_rows = (m + 7) // 8 * 8
    tile[m * LANES : n_rows * LANES] = np.int32(0)  # less than all keys
    sort_lanes(tile, n_rows)
    for e in range(m * LANES):
        tile[e] &= np.int32(used - 1)


@kernel(part=True)
def _draw_exactly(scores, noise, scale, lanes, lows, highs, tile, rows):
    """Fill the first ``lanes`` lanes of a tile with documents in the order of ``s + scale z``."""
    m = len(scores)
    noisy, order = rows[0][:m], rows[2].view(np.int64)[:m]
    for i in range(m):
        tile[i * LANES : (i + 1) * LANES] = np.int32(i)
        order[i] = i
    for lane in range(lanes):
        for i in range(m):
            noisy[i] = scores[i]
            if scale > 0.0:
                noisy[i] += scale * draw_noise(noise, lows[lane], highs[lane], i)
        sort_by_score(noisy, order, rows[1][:m], rows[3], rows[4].view(np.int64))
        for i in range(m):
            tile[i * LANES + lane] = np.int32(order[i])


@kernel(part=True)
def draw_orders(
    scores, noise, scale, seed, first, lanes, query, lowest, highest, lows, highs, tile, rows
):
    """Write the document at each place (row) of ``lanes`` orders, from number ``first`` on.

    Parameters
    ----------
    noise, scale : kind and factor of the noise; with factor 0 all orders are that of the scores.
    lowest, highest : of the scores.
    lows, highs : room for the keys of :data:`LANES` orders, uint32.
    tile : room for the orders, int32; what further lanes hold are documents too.
    rows : room for :data:`EXACT_ROWS` rows of float64.
    """
    for lane in range(lanes):
        lows[lane], highs[lane] = random_key(seed + _STREAM, first + lane, query)
    lows[lanes:], highs[lanes:] = lows[0], highs[0]
    narrow = highest - lowest <= WIDEST * scale
    if narrow and noise == _LOGISTIC and scale > 0.0 and len(scores) <= LONGEST_TILE:
        _draw_tile(scores, scale, middle_of(lowest, highest), lows, highs, tile)
    else:
        _draw_exactly(scores, noise, scale, lanes, lows, highs, tile, rows)


@kernel()
def orders_of_query(scores, noise, scale, seed, first, query, orders):
    """Write one order a row, documents by place: what :func:`draw_orders` draws, by itself."""
    m = len(scores)
    lowest, highest = scores.min(), scores.max()
    tile, rows = np.empty((m + 8) * LANES, np.int32), np.empty((EXACT_ROWS, m))
    lows, highs = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    for begin in range(0, len(orders), LANES):
        lanes = min(LANES, len(orders) - begin)
        draw_orders(
            scores, noise, scale, seed, first + begin, lanes, query, lowest, highest, lows, highs,
            tile, rows,
        )  # fmt: skip
        for lane in range(lanes):
            for place in range(m):
                orders[begin + lane, place] = tile[place * LANES + lane]
