"""Labels in single precision, as LightGBM keeps them: different ones must stay different."""

import warnings

import numpy as np

from gbrank.core.queries import QueryLayout
from gbrank.core.typing import FloatArray

#: Up to here single precision has all integers.
LARGEST_INTEGER = 2**24


def single_labels(labels: FloatArray, layout: QueryLayout, *, by_order: bool) -> FloatArray:
    """Return labels of which no two of a query become one in single precision, where that can be.

    Unix times a few seconds apart, for instance, become one label there, and nothing is learned.
    Where only the order of labels matters, they then become their ranks in the query; elsewhere a
    warning says which labels are merged.

    Parameters
    ----------
    labels : checked labels, in the order of the rows.
    layout : their queries.
    by_order : whether the order of labels within the query is all that matters.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.core import QueryLayout, single_labels
    >>> times = np.array([1.7e9 + 20, 1.7e9 + 10, 1.7e9, 3.0, 5.0])
    >>> single_labels(times, QueryLayout.from_group([3, 2]), by_order=True)
    array([3., 2., 1., 1., 2.])
    """
    with np.errstate(over="ignore"):
        single = labels.astype(np.float32)
    is_small = np.max(labels, initial=0.0) <= LARGEST_INTEGER
    if (single == labels).all() and (is_small or not by_order):
        return labels
    query = layout.unsort(np.repeat(np.arange(layout.n_queries), layout.sizes))
    rows = np.lexsort((labels, query))
    same_query = query[rows[1:]] == query[rows[:-1]]
    grows = same_query & (labels[rows[1:]] > labels[rows[:-1]])
    merged = grows & (single[rows[1:]] == single[rows[:-1]])
    if by_order and not (is_small and not merged.any()):
        # ranks from 1, or from 0 where the lowest label is 0, which means irrelevant
        steps = np.concatenate(([0], np.cumsum(grows)))
        firsts = np.concatenate(([True], ~same_query))
        lowest = np.maximum.accumulate(np.where(firsts, np.arange(len(rows)), 0))
        ranks = np.empty(len(rows))
        ranks[rows] = steps - steps[lowest] + (labels[rows][lowest] > 0)
        return ranks
    if merged.any():
        at = int(np.argmax(merged))
        low, high = rows[at], rows[at + 1]
        warnings.warn(
            f"LightGBM keeps labels in single precision, where {labels[low]!r} of "
            f"{layout.describe_row(int(low))} and {labels[high]!r} of row {int(high)} are one "
            f"label, as are {int(merged.sum())} pairs of neighbours in all: subtract what they "
            "have in common, or use their ranks",
            stacklevel=2,
        )
    return labels
