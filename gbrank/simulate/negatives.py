"""Padded lists: every query gets documents of other queries, as irrelevant ones."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from gbrank.core import (
    IntArray,
    QueryLayout,
    check_labels,
    check_number,
    check_random_state,
    kernel,
    random_key,
    random_uniform,
)


class PaddedLists(NamedTuple):
    """What :func:`add_negatives` returns.

    Attributes
    ----------
    X : features, of the kind that was given; the rows of a query are contiguous.
    labels : labels, 0 for the documents added.
    qid : query id of each row.
    rows : int64 array, the row of the input that each row is a copy of.
    """

    X: Any
    labels: NDArray[Any]
    qid: Any
    rows: IntArray


def add_negatives(
    X: Any,
    labels: ArrayLike,
    qid: Any,
    fraction: float,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> PaddedLists:
    """Add documents of other queries to each query, with label 0.

    A query of ``m`` documents gets ``round(fraction * m)`` different ones, drawn uniformly from the
    documents of all other queries. With one seed, what a smaller ``fraction`` adds is what a larger
    one adds first.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features).
    labels : array of numbers, finite and >= 0, one per document.
    qid : query id of each document, of any type and in any order.
    fraction : how much longer each list becomes; 0.5 is half as long again. It may exceed 1.
    random_state : seed, generator, or ``None`` for other numbers every time.

    Returns
    -------
    PaddedLists
        ``X, labels, qid, rows``: queries in the order of their first row, the documents of a query
        in their order, those added behind them.

    References
    ----------
    S. Bruch (2021). An alternative cross entropy loss for learning-to-rank. Section 5.4.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.simulate import add_negatives
    >>> X = np.arange(6.0)[:, None]
    >>> padded = add_negatives(X, [2, 1, 0, 1, 0, 2], list("aaaabb"), fraction=0.5)
    >>> padded.labels
    array([2, 1, 0, 1, 0, 0, 0, 2, 0])
    >>> "".join(padded.qid), sorted(padded.rows[4:6])
    ('aaaaaabbb', [np.int64(4), np.int64(5)])
    """
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    layout = QueryLayout.from_qid(qid, n_rows)
    checked = check_labels(labels, layout)
    check_number("fraction", fraction, low=0.0)
    seed = int(check_random_state(random_state).integers(2**32))

    sizes = layout.sizes
    counts = np.rint(fraction * sizes).astype(np.int64)
    too_few = counts > n_rows - sizes
    if too_few.any():
        query = int(np.argmax(too_few))
        raise ValueError(
            f"fraction {fraction:g} asks for {counts[query]} documents more for "
            f"{layout.describe_query(query)}, but the other queries have {n_rows - sizes[query]}"
        )
    added_bounds = np.concatenate(([0], np.cumsum(counts)))
    added = np.empty(added_bounds[-1], dtype=np.int64)
    _draw_from_others(layout.bounds, added_bounds, seed, added)

    # Each document of query q is moved down by what the queries before it have gained.
    places = np.empty(n_rows + len(added), dtype=np.int64)
    own = np.arange(n_rows) + np.repeat(added_bounds[:-1], sizes)
    new = np.arange(len(added)) + np.repeat(layout.bounds[1:], counts)
    places[own] = np.arange(n_rows)
    places[new] = added
    rows = places if layout.order is None else layout.order[places]

    given = np.asarray(labels)
    padded_labels = (checked if given.dtype.kind == "O" else given)[rows]
    padded_labels[new] = 0
    heads = places.copy()  # the id of an added row is that of the query's first row
    heads[new] = np.repeat(layout.bounds[:-1], counts)
    ids = heads if layout.order is None else layout.order[heads]
    features = X.tocsr() if issparse(X) else X
    return PaddedLists(
        _safe_indexing(features, rows), padded_labels, _safe_indexing(_indexable(qid), ids), rows
    )


def _indexable(qid: Any) -> Any:
    return qid if hasattr(qid, "iloc") or isinstance(qid, np.ndarray | list) else np.asarray(qid)


@kernel()
def _draw_from_others(bounds, added_bounds, seed, added):
    """Draw places outside of each query, all different: a shuffle that keeps only what it moved."""
    n_rows = bounds[-1]
    moved_from = np.empty(max(len(added), 1), dtype=np.int64)
    moved_to = np.empty(max(len(added), 1), dtype=np.int64)
    for q in range(len(bounds) - 1):
        low, high = random_key(seed, 0, q)
        size = bounds[q + 1] - bounds[q]
        others = n_rows - size
        n_moved = 0
        for j in range(added_bounds[q + 1] - added_bounds[q]):
            at = min(j + np.int64(random_uniform(low, high, j) * (others - j)), others - 1)
            taken, front, slot = at, j, n_moved
            for i in range(n_moved):
                if moved_from[i] == at:
                    taken, slot = moved_to[i], i
                if moved_from[i] == j:
                    front = moved_to[i]
            moved_from[slot], moved_to[slot] = at, front
            n_moved = max(n_moved, slot + 1)
            added[added_bounds[q] + j] = taken if taken < bounds[q] else taken + size
