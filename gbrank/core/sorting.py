"""The one sort: documents by score, the highest first.

Insertion puts a nearly sorted list right in one pass; where it takes too many moves, the rest is
left to merging. So a good starting order saves time: objectives begin with the order of one step
before, as between two boosting iterations a list moves little, metrics with buckets of scores.
"""

from gbrank.core.kernels import EXACT_MATH, kernel

_RUN = 16  # lists or runs up to this length are sorted by insertion whatever their state
_MOVES_PER_DOCUMENT = 6  # insertion gives up beyond this many moves and leaves the rest to merging


@kernel(EXACT_MATH)
def sort_by_score(scores, order, keys, spare_keys, spare_order):
    """Sort ``order`` (document numbers of one query) by score; ``keys`` gets the sorted scores.

    Equal scores are sorted by row, so that the result does not depend on the order before. All
    arguments have the length of the list; ``order`` must hold a permutation of it.
    """
    m = len(scores)
    for i in range(m):
        keys[i] = scores[order[i]]
    _sort(keys, order, m, spare_keys, spare_order, True)


@kernel(EXACT_MATH)
def sort_descending(keys, order, m, spare_keys, spare_order):
    """Sort the first ``m`` keys, the highest first, and ``order`` with them.

    Equal keys stay in the order in which they come.
    """
    _sort(keys, order, m, spare_keys, spare_order, False)


# The kernels below are copied into the two above, where ``by_row`` is known: a metric does not pay
# for the comparison of rows.


@kernel(EXACT_MATH, part=True)
def _sort(keys, order, m, spare_keys, spare_order, by_row):
    budget = _MOVES_PER_DOCUMENT * m if m > _RUN else m * m
    if not _insertion_sort(keys, order, 0, m, budget, by_row):
        _merge_sort(keys, order, m, spare_keys, spare_order, by_row)


@kernel(EXACT_MATH, part=True)
def _insertion_sort(keys, order, start, stop, budget, by_row):
    """Sort a stretch in place; return False when that took more than ``budget`` moves."""
    for i in range(start + 1, stop):
        key, document = keys[i], order[i]
        if not by_row and keys[i - 1] >= key:
            continue
        j = i - 1
        while j >= start and (keys[j] < key or (by_row and keys[j] == key and order[j] > document)):
            keys[j + 1] = keys[j]
            order[j + 1] = order[j]
            j -= 1
        keys[j + 1] = key
        order[j + 1] = document
        budget -= i - 1 - j
        if budget < 0:
            return False
    return True


@kernel(EXACT_MATH, part=True)
def _merge_sort(keys, order, m, spare_keys, spare_order, by_row):
    for start in range(0, m, _RUN):
        _insertion_sort(keys, order, start, min(start + _RUN, m), m * m, by_row)
    width = _RUN
    while width < m:
        for start in range(0, m, 2 * width):
            middle, stop = min(start + width, m), min(start + 2 * width, m)
            left, right = start, middle
            for out in range(start, stop):
                take_left = left < middle and (
                    right >= stop
                    or keys[left] > keys[right]
                    or (keys[left] == keys[right] and (not by_row or order[left] < order[right]))
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
