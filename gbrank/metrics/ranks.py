"""From scores to ranks: the one place that orders documents and decides about ties.

A ranking lists, for each query, the rows of its best documents, best first. Where equal scores are
left undecided (``ties="average"``) it also says which neighbours are tied; every other policy is an
order like any other, so that metrics see no ties at all. Only as many ranks are found as the metric
will look at, plus the rest of a tie that the cut-off runs through.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbrank._compile import kernel
from gbrank.layout import FloatArray, IntArray

#: What ``ties=`` takes, and the number by which kernels know it.
TIES = {"average": 0, "stable": 1, "reverse": 2, "worst": 3}
_AVERAGE, _STABLE, _REVERSE, _WORST = TIES.values()

#: Selecting the best k costs about k insertions, so a longer part of the list is sorted instead.
_SORT_FROM_SHARE = 4
_RUN = 8


class Ranking(NamedTuple):
    """The best documents of each query, best first, from place ``bounds[q]`` on.

    Attributes
    ----------
    order : the row at each place.
    tied : whether the document at a place is tied with that at the next one.
    counts : how many documents of each query are listed.
    """

    order: IntArray
    tied: NDArray[np.bool_]
    counts: IntArray


def check_cutoff(k: Any) -> int | float | None:
    """Return ``k`` as None, a whole number >= 1 or a fraction in (0, 1]; refuse anything else.

    >>> from gbrank.metrics.ranks import check_cutoff
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
                "k must be a whole number >= 1, or a fraction of the list in (0, 1], "
                f"got {float(k):g}"
            )
        return float(k)
    raise TypeError(f"k must be None, a whole number or a fraction in (0, 1], got {k!r}")


def cutoffs(sizes: IntArray, k: int | float | None) -> IntArray:
    """Return the cut-off of each query, before it is limited by the length of the list.

    A fraction ``c`` of ``m`` documents is ``max(1, ceil(c m - 1e-9))``.

    >>> import numpy as np
    >>> from gbrank.metrics.ranks import cutoffs
    >>> cutoffs(np.array([3, 10]), 5), cutoffs(np.array([3, 10]), 0.2)
    (array([5, 5]), array([1, 2]))
    """
    if k is None:
        return sizes
    if isinstance(k, int):
        return np.full(len(sizes), k, dtype=np.int64)
    ranks: IntArray = np.maximum(1, np.ceil(k * sizes - 1e-9)).astype(np.int64)
    return ranks


def empty_ranking(n_rows: int, n_queries: int) -> Ranking:
    """Return the arrays that :func:`rank_block` fills."""
    return Ranking(
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows, dtype=np.bool_),
        np.empty(n_queries, dtype=np.int64),
    )


def rank_queries(
    scores: FloatArray, bounds: IntArray, depths: IntArray, ties: str, labels: FloatArray
) -> Ranking:
    """Rank the documents of every query on the calling thread: see :func:`rank_block`.

    >>> import numpy as np
    >>> from gbrank.metrics.ranks import rank_queries
    >>> scores, labels = np.array([1.0, 3.0, 3.0]), np.zeros(3)
    >>> rank_queries(scores, np.array([0, 3]), np.array([3]), "average", labels)
    Ranking(order=array([1, 2, 0]), tied=array([ True, False, False]), counts=array([3]))
    """
    ranking = empty_ranking(len(scores), len(bounds) - 1)
    rank_block(scores, bounds, depths, TIES[ties], labels, 0, len(bounds) - 1, *ranking)
    return ranking


@kernel()
def rank_block(scores, bounds, depths, ties, labels, first, last, order, tied, counts):
    """Rank queries ``first`` to ``last``, each to its depth, into ``order``, ``tied``, ``counts``.

    ``labels`` decide ties of policy "worst" only: the smallest comes first.
    """
    longest = 1
    for q in range(first, last):
        longest = max(longest, bounds[q + 1] - bounds[q])
    keys, spare_keys = np.empty(longest), np.empty(longest)
    rows, spare_rows = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for q in range(first, last):
        start, size = bounds[q], bounds[q + 1] - bounds[q]
        depth = min(depths[q], size)
        whole_groups = ties in (_AVERAGE, _WORST)
        if depth * _SORT_FROM_SHARE < size:
            count = _select(scores, start, size, depth, ties == _REVERSE, whole_groups, keys, rows)
            found_keys, found_rows = keys, rows
        else:
            for i in range(size):
                row = size - 1 - i if ties == _REVERSE else i
                keys[i] = scores[start + row]
                rows[i] = row
            found_keys, found_rows = _merge_sort(keys, rows, spare_keys, spare_rows, size)
            count = size
        if ties == _WORST:
            _worst_first(found_keys, found_rows, labels, start, count)
        for i in range(count):
            order[start + i] = start + found_rows[i]
            tied[start + i] = False
        if ties == _AVERAGE:
            for i in range(count - 1):
                tied[start + i] = found_keys[i] == found_keys[i + 1]
        counts[q] = count


@kernel()
def _select(scores, start, size, depth, backwards, whole_groups, keys, rows):
    """Find the ``depth`` best documents in order; with ``whole_groups`` all tied with the last."""
    count = 0
    lowest = -np.inf
    left_out = -np.inf  # the best score that was seen and did not stay
    for i in range(size):
        row = size - 1 - i if backwards else i
        key = scores[start + row]
        if count < depth:
            place = count
            count += 1
        elif key > lowest:
            place = depth - 1
            left_out = lowest
        else:
            left_out = max(left_out, key)
            continue
        while place > 0 and keys[place - 1] < key:
            keys[place] = keys[place - 1]
            rows[place] = rows[place - 1]
            place -= 1
        keys[place] = key
        rows[place] = row
        if count == depth:
            lowest = keys[depth - 1]
    if whole_groups and left_out == lowest:
        count = depth
        while count > 0 and keys[count - 1] == lowest:
            count -= 1
        for row in range(size):
            if scores[start + row] == lowest:
                keys[count] = lowest
                rows[count] = row
                count += 1
    return count


@kernel()
def _merge_sort(keys, rows, spare_keys, spare_rows, size):
    """Sort by descending key, equal keys in place; return the arrays that hold the result."""
    for low in range(0, size, _RUN):
        for i in range(low + 1, min(low + _RUN, size)):
            key, row = keys[i], rows[i]
            place = i
            while place > low and keys[place - 1] < key:
                keys[place] = keys[place - 1]
                rows[place] = rows[place - 1]
                place -= 1
            keys[place] = key
            rows[place] = row
    width = _RUN
    while width < size:
        for low in range(0, size, 2 * width):
            middle, high = min(low + width, size), min(low + 2 * width, size)
            left, right, place = low, middle, low
            while left < middle and right < high:
                take_right = keys[right] > keys[left]
                spare_keys[place] = keys[right] if take_right else keys[left]
                spare_rows[place] = rows[right] if take_right else rows[left]
                right += take_right
                left += 1 - take_right
                place += 1
            for i in range(left, middle):
                spare_keys[place] = keys[i]
                spare_rows[place] = rows[i]
                place += 1
            for i in range(right, high):
                spare_keys[place] = keys[i]
                spare_rows[place] = rows[i]
                place += 1
        keys, spare_keys = spare_keys, keys
        rows, spare_rows = spare_rows, rows
        width *= 2
    return keys, rows


@kernel()
def _worst_first(keys, rows, labels, start, count):
    """Put the documents of each group of equal keys in ascending order of their labels."""
    low = 0
    while low < count:
        high = low + 1
        while high < count and keys[high] == keys[low]:
            high += 1
        if high - low > 1:
            group = rows[low:high].copy()
            group_labels = np.empty(high - low)
            for i in range(high - low):
                group_labels[i] = labels[start + group[i]]
            by_label = np.argsort(group_labels)
            for i in range(high - low):
                rows[low + i] = group[by_label[i]]
        low = high
