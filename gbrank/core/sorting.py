"""The one sort: documents by score, the highest first, equal scores by row.

The order is total. Whatever the starting order and the algorithm, the result is therefore the same,
and a good starting order changes nothing but time: insertion puts a nearly sorted list right in one
pass, and leaves the others to merging. Objectives start from the order of one step before, as
between two boosting iterations a list moves little; metrics from buckets of scores.
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
    sort_descending(keys, order, m, spare_keys, spare_order)


@kernel(EXACT_MATH)
def sort_descending(keys, order, m, spare_keys, spare_order):
    """Sort the first ``m`` keys, the highest first, and ``order`` with them.

    Equal keys are in ascending order of ``order``.
    """
    budget = _MOVES_PER_DOCUMENT * m if m > _RUN else m * m
    if not _insertion_sort(keys, order, 0, m, budget):
        _merge_sort(keys, order, m, spare_keys, spare_order)


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
def _merge_sort(keys, order, m, spare_keys, spare_order):
    for start in range(0, m, _RUN):
        _insertion_sort(keys, order, start, min(start + _RUN, m), m * m)
    width = _RUN
    while width < m:
        for start in range(0, m, 2 * width):
            middle, stop = min(start + width, m), min(start + 2 * width, m)
            left, right, place = start, middle, start
            while left < middle and right < stop:
                take_right = keys[right] > keys[left] or (
                    keys[right] == keys[left] and order[right] < order[left]
                )
                spare_keys[place] = keys[right] if take_right else keys[left]
                spare_order[place] = order[right] if take_right else order[left]
                right += take_right
                left += 1 - take_right
                place += 1
            for i in range(left, middle):  # what is left of the right half is in place already
                spare_keys[place] = keys[i]
                spare_order[place] = order[i]
                place += 1
            for i in range(start, place):
                keys[i] = spare_keys[i]
                order[i] = spare_order[i]
        width *= 2
