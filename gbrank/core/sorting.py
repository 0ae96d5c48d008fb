"""Ranks the documents of a query by score, starting from the order they had one step before.

The order is total: higher scores first, equal scores by row. Whatever the starting order and the
algorithm, the result is therefore the same, and remembering the last order changes nothing but
time: between two boosting iterations a list moves little, and insertion puts it right in one pass.
"""

from gbrank.core.kernels import EXACT_MATH, kernel

_RUN = 16  # lists or runs up to this length are sorted by insertion whatever their state
_MOVES_PER_DOCUMENT = 6  # insertion gives up beyond this many moves and leaves the rest to merging


@kernel(EXACT_MATH)
def sort_by_score(scores, order, keys, spare_keys, spare_order):
    """Sort ``order`` (document numbers of one query) by score; ``keys`` gets the sorted scores.

    All arguments have the length of the list; ``order`` must hold a permutation of it.
    """
    m = len(scores)
    for i in range(m):
        keys[i] = scores[order[i]]
    budget = _MOVES_PER_DOCUMENT * m if m > _RUN else m * m
    if not _insertion_sort(keys, order, 0, m, budget):
        _merge_sort(keys, order, spare_keys, spare_order)


@kernel(EXACT_MATH)
def _insertion_sort(keys, order, start, stop, budget):
    """Sort a stretch in place; return False when that took more than ``budget`` moves."""
    for i in range(start + 1, stop):
        key, document = keys[i], order[i]
        j = i - 1
        while j >= start and (keys[j] < key or (keys[j] == key and order[j] > document)):
            keys[j + 1] = keys[j]
            order[j + 1] = order[j]
            j -= 1
        keys[j + 1] = key
        order[j + 1] = document
        budget -= i - 1 - j
        if budget < 0:
            return False
    return True


@kernel(EXACT_MATH)
def _merge_sort(keys, order, spare_keys, spare_order):
    m = len(keys)
    for start in range(0, m, _RUN):
        _insertion_sort(keys, order, start, min(start + _RUN, m), m * m)
    width = _RUN
    while width < m:
        for start in range(0, m, 2 * width):
            middle, stop = min(start + width, m), min(start + 2 * width, m)
            left, right = start, middle
            for out in range(start, stop):
                take_left = left < middle and (
                    right >= stop
                    or keys[left] > keys[right]
                    or (keys[left] == keys[right] and order[left] < order[right])
                )
                source = left if take_left else right
                spare_keys[out] = keys[source]
                spare_order[out] = order[source]
                if take_left:
                    left += 1
                else:
                    right += 1
        for i in range(m):
            keys[i] = spare_keys[i]
            order[i] = spare_order[i]
        width *= 2
