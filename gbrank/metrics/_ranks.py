"""From scores to ranks: the one place that orders documents and decides about ties.

A ranking lists, for each query, the labels of its best documents, best first, as numbers that stand
for labels (codes). Where equal scores are left undecided (``ties="average"``) it also says which
neighbours are tied; every other policy is an order like any other, so that metrics see no ties at
all. Only as many ranks are found as the metric will look at, plus the rest of a tie that the
cut-off runs through.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbrank.core import EXACT_MATH, FloatArray, IntArray, extremes, kernel, sort_descending

#: What ``ties=`` takes, and the number by which kernels know it.
TIES = {"average": 0, "stable": 1, "reverse": 2, "worst": 3}
_AVERAGE, _STABLE, _REVERSE, _WORST = TIES.values()

#: Lists up to this length are ranked by counting, without a branch, as many documents at a time.
_SHORT = 16


class Ranking(NamedTuple):
    """The best documents of each query, best first, from place ``bounds[q]`` on.

    Attributes
    ----------
    codes : the code of the label at each place.
    tied : whether the document at a place is tied with that at the next one.
    counts : how many documents of each query are listed.
    """

    codes: NDArray[np.integer[Any]]
    tied: NDArray[np.bool_]
    counts: IntArray


def check_cutoff(k: Any) -> int | float | None:
    """Return ``k`` as None, an integer >= 1 or a fraction in (0, 1]; raise an error otherwise.

    Parameters
    ----------
    k : int, float or None
        The cut-off as a user gives it.

    Examples
    --------
    >>> from gbrank.metrics import check_cutoff
    >>> check_cutoff(10), check_cutoff(0.2), check_cutoff(None)
    (10, 0.2, None)
    """
    if k is None:
        return None
    if isinstance(k, int | np.integer) and not isinstance(k, bool):
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        return int(k)
    if isinstance(k, float | np.floating):
        if not 0 < k <= 1:
            raise ValueError(
                f"k must be an integer >= 1, or a fraction of the list in (0, 1], got {float(k):g}"
            )
        return float(str(k))  # 0.4 of single precision is 0.4, and not 0.4000000059604645
    raise TypeError(f"k must be None, an integer or a fraction in (0, 1], got {k!r}")


def cutoffs(sizes: IntArray, k: int | float | None) -> IntArray:
    """Return the cut-off of each query, before it is limited by the length of the list.

    A fraction ``c`` of ``m`` documents is ``max(1, ceil(c m - 1e-9))``.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries,)
        Number of documents of each query.
    k : int, float or None
        The cut-off, checked.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.metrics import cutoffs
    >>> cutoffs(np.array([3, 10]), 5), cutoffs(np.array([3, 10]), 0.2)
    (array([5, 5]), array([1, 2]))
    """
    if k is None:
        return sizes
    if isinstance(k, int):
        return np.full(len(sizes), min(k, 2**62), dtype=np.int64)
    ranks: IntArray = np.maximum(1, np.ceil(k * sizes - 1e-9)).astype(np.int64)
    return ranks


def empty_ranking(codes: NDArray[np.integer[Any]], n_queries: int) -> Ranking:
    """Return the arrays that :func:`rank_block` fills for documents of these codes."""
    return Ranking(
        np.empty_like(codes),
        np.empty(len(codes), dtype=np.bool_),
        np.empty(n_queries, dtype=np.int64),
    )


def rank_queries(
    scores: FloatArray,
    bounds: IntArray,
    depths: IntArray,
    ties: str,
    codes: NDArray[np.integer[Any]],
    labels_of_codes: FloatArray,
) -> Ranking:
    """Rank the documents of every query on the calling thread: see :func:`rank_block`.

    >>> import numpy as np
    >>> from gbrank.metrics._ranks import rank_queries
    >>> scores, codes = np.array([1.0, 3.0, 3.0]), np.array([2, 0, 1], dtype=np.uint8)
    >>> rank_queries(scores, np.array([0, 3]), np.array([3]), "average", codes, np.arange(3.0))
    Ranking(codes=array([0, 1, 2], dtype=uint8), tied=array([ True, False, False]),
            counts=array([3]))
    """
    n_queries = len(bounds) - 1
    ranking = empty_ranking(codes, n_queries)
    rank_block(scores, bounds, depths, TIES[ties], codes, labels_of_codes, 0, n_queries, *ranking)
    return ranking


def rank_block(
    scores: FloatArray,
    bounds: IntArray,
    depths: IntArray,
    ties: int,
    codes: NDArray[np.integer[Any]],
    labels_of_codes: FloatArray,
    first: int,
    last: int,
    *ranking: NDArray[Any],
) -> None:
    """Rank queries ``first`` to ``last``, each to its depth, into the arrays of a ranking.

    ``labels_of_codes`` decide ties of policy "worst" only: the smallest comes first.
    """
    _rank_block(scores, bounds, depths, ties, codes, first, last, *ranking)
    if ties == _WORST:
        _worst_first(labels_of_codes, bounds, first, last, *ranking)


@kernel(wide=False)
def _rank_block(scores, bounds, depths, ties, codes, first, last, ranked, tied, counts):
    """Do so; of policy "worst" ties are left as they are."""
    longest = 1
    for q in range(first, last):
        longest = max(longest, bounds[q + 1] - bounds[q])
    keys, spare_keys = np.empty(longest), np.empty(longest)
    rows, spare_rows = np.empty(longest, np.int32), np.empty(longest, np.int32)
    all_rows = np.empty(longest, np.int32)
    for i in range(longest):
        all_rows[i] = i
    buckets, ends = np.empty(longest, np.int32), np.empty(longest, np.int32)
    short, places = np.zeros(_SHORT), np.empty(_SHORT, np.int64)
    for q in range(first, last):
        start, size = bounds[q], bounds[q + 1] - bounds[q]
        depth = min(depths[q], size)
        if size <= _SHORT:
            if start + _SHORT <= len(scores):
                list_keys = scores[start : start + _SHORT]  # with some of the next lists
            else:
                list_keys = short
                for i in range(size):
                    short[i] = scores[start + i]
            has_ties = _find_places(list_keys, size, ties == _REVERSE, places)
            for i in range(size):
                ranked[start + places[i]] = codes[start + i]
                tied[start + i] = False
            counts[q] = depth
            if has_ties:
                for i in range(size):
                    keys[places[i]] = list_keys[i]
                _mark_ties(keys, size, depth, ties, start, q, tied, counts)
            continue
        from_keys, from_rows = scores[start : start + size], all_rows
        if ties == _REVERSE:
            for i in range(size):
                spare_keys[i] = from_keys[size - 1 - i]
                spare_rows[i] = size - 1 - i
            from_keys, from_rows = spare_keys, spare_rows
        count, before = size, size + 1
        while 2 * depth < count < before:  # once, or more often where a few scores stand far out
            before = count
            count = _narrow(
                from_keys, from_rows, count, depth, spare_keys, spare_rows, buckets, ends
            )
            from_keys, from_rows = spare_keys, spare_rows
        _sort(from_keys, from_rows, count, keys, rows, spare_keys, spare_rows, buckets, ends)
        for i in range(count):
            ranked[start + i] = codes[start + rows[i]]
            tied[start + i] = False
        _mark_ties(keys, count, depth, ties, start, q, tied, counts)


@kernel(wide=False)
def _mark_ties(keys, count, depth, ties, start, q, tied, counts):
    """Count the documents that are wanted, or tied with the last of these, and say which are."""
    while count > depth and keys[count - 1] < keys[depth - 1]:
        count -= 1
    if (ties == _AVERAGE) | (ties == _WORST):
        for i in range(count - 1):
            tied[start + i] = keys[i] == keys[i + 1]
    counts[q] = count


@kernel(EXACT_MATH, wide=False)
def _find_places(keys, size, last_first, places):
    """Find the rank, from 0, of each of the first ``size`` keys; return whether any are equal.

    A key's rank is the number of higher ones, and of equal ones before it (behind it, if
    ``last_first``). There are ``_SHORT`` keys, of which the rest does not matter: eight are counted
    side by side, in one vector register, without a branch.
    """
    for low in range(0, size, 8):
        key0, key1, key2, key3 = keys[low], keys[low + 1], keys[low + 2], keys[low + 3]
        key4, key5, key6, key7 = keys[low + 4], keys[low + 5], keys[low + 6], keys[low + 7]
        n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = 0
        for j in range(size):
            key = keys[j]
            n0 += key > key0
            n1 += key > key1
            n2 += key > key2
            n3 += key > key3
            n4 += key > key4
            n5 += key > key5
            n6 += key > key6
            n7 += key > key7
        places[low], places[low + 1], places[low + 2], places[low + 3] = n0, n1, n2, n3
        places[low + 4], places[low + 5], places[low + 6], places[low + 7] = n4, n5, n6, n7
    total = 0
    for i in range(size):
        total += places[i]
    if 2 * total == size * (size - 1):  # 0 + 1 + ... without ties, and less with any
        return False
    for i in range(1, size):
        for j in range(i):
            equal = keys[j] == keys[i]
            places[i] += equal & (not last_first)
            places[j] += equal & last_first
    return True


@kernel(wide=False)
def _deal(keys, size, buckets, counts):
    """Cut the range of keys into ``size`` buckets, the highest first; count the keys in each.

    Return False where that makes no sense: all keys are equal, or floats cannot hold their range.
    """
    lowest, highest = extremes(keys[:size])
    scale = (size - 1) / (highest - lowest)
    if not (scale > 0.0 and scale < np.inf):
        buckets[:size] = 0
        return False
    for i in range(size):
        buckets[i] = _bucket(keys[i], highest, scale)
        counts[i] = 0
    for i in range(size):
        counts[buckets[i]] += 1
    return True


@kernel(EXACT_MATH, wide=False)
def _bucket(key, highest, scale):
    """Return the bucket of a key: as each operation rounds monotonically, never out of order."""
    return np.int32((highest - key) * scale)


@kernel(wide=False)
def _narrow(from_keys, from_rows, size, depth, keys, rows, buckets, counts):
    """Keep the documents of the first buckets that together hold ``depth``; return how many."""
    last = size
    if _deal(from_keys, size, buckets, counts):
        last, held = 0, counts[0]
        while held < depth:
            last += 1
            held += counts[last]
    kept = 0
    for i in range(size):  # no branch: what is not kept is overwritten by the next
        keys[kept] = from_keys[i]
        rows[kept] = from_rows[i]
        kept += buckets[i] <= last
    return kept


@kernel(wide=False)
def _sort(from_keys, from_rows, size, keys, rows, spare_keys, spare_rows, buckets, ends):
    """Sort by descending key, equal keys as they come, into ``keys`` and ``rows``.

    Dealing the keys into as many buckets as there are keys puts a list without a long tail almost
    in order, so that the sort takes O(m).
    """
    if _deal(from_keys, size, buckets, ends):
        end = 0
        for i in range(size):
            start, end = end, end + ends[i]
            ends[i] = start
        for i in range(size):
            place = ends[buckets[i]]
            ends[buckets[i]] = place + 1
            keys[place] = from_keys[i]
            rows[place] = from_rows[i]
    else:
        for i in range(size):
            keys[i] = from_keys[i]
            rows[i] = from_rows[i]
    sort_descending(keys, rows, size, spare_keys, spare_rows)


@kernel(wide=False)
def _worst_first(labels_of_codes, bounds, first, last, ranked, tied, counts):
    """Put the documents of each tie in ascending order of their labels; none is tied then."""
    longest = 1
    for q in range(first, last):
        longest = max(longest, counts[q])
    keys, spare_keys = np.empty(longest), np.empty(longest)
    codes, spare_codes = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for q in range(first, last):
        low, end = bounds[q], bounds[q] + counts[q]
        while low < end:
            size = 1
            while tied[low + size - 1]:
                size += 1
            for i in range(size):
                codes[i] = ranked[low + i]
                keys[i] = -labels_of_codes[ranked[low + i]]
            if size > 1:
                sort_descending(keys, codes, size, spare_keys, spare_codes)
            for i in range(size):
                ranked[low + i] = codes[i]
                tied[low + i] = False
            low += size
