"""The documents of every query in descending order of label, computed once per training."""

import numpy as np
from numpy.typing import NDArray

from gbrank.core import FloatArray, QueryLayout

Int32Array = NDArray[np.int32]


def order_by_label(
    labels: FloatArray, layout: QueryLayout
) -> tuple[Int32Array, Int32Array, NDArray[np.bool_]]:
    """Return the label order of every query, where its ties end, and which queries have an order.

    Returns
    -------
    order : int32 array, one per row: the document (counted within its query) at each place; equal
        labels keep the order of their rows.
    tie_ends : int32 array, one per row: the place behind the last document with the same label.
    is_ordered : bool array, one per query: whether there are two different labels in it.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.core.queries import QueryLayout
    >>> from gbrank.objectives._label_order import order_by_label
    >>> order_by_label(np.array([0.0, 2.0, 2.0, 1.0]), QueryLayout.from_group([3, 1]))
    (array([1, 2, 0, 0], dtype=int32), array([2, 2, 3, 1], dtype=int32), array([ True, False]))
    """
    sizes, bounds = layout.sizes, layout.bounds
    starts = np.repeat(bounds[:-1], sizes)
    # by query, then label downwards, then row: every query keeps its stretch of rows
    rows = np.lexsort((-labels, starts))
    sorted_labels = labels[rows]
    ends_tie = np.ones(len(labels), dtype=bool)
    ends_tie[:-1] = (sorted_labels[1:] != sorted_labels[:-1]) | (starts[1:] != starts[:-1])
    ends = np.flatnonzero(ends_tie) + 1
    tie_ends = np.repeat(ends, np.diff(ends, prepend=0))
    is_ordered = np.zeros(layout.n_queries, dtype=bool)
    filled = sizes > 0
    is_ordered[filled] = tie_ends[bounds[:-1][filled]] < bounds[1:][filled]
    return (rows - starts).astype(np.int32), (tie_ends - starts).astype(np.int32), is_ordered
