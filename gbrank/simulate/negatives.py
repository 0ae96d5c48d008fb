"""Longer lists: every query gets documents of other queries, as irrelevant ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    IntArray,
    RankingData,
    check_choice,
    check_number,
    check_random_state,
    kernel,
    random_key,
    random_uniform,
    take_rows,
)
from gbrank.simulate._rows import labels_and_layout


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PaddedData(RankingData):
    """What :func:`add_negatives` returns.

    Attributes
    ----------
    X : features, of the kind that was given; the rows of a query are contiguous.
    y, labels : labels, 0 for the documents added.
    qid : query id of each row.
    rows : int64 array, the row of the input that each row is a copy of.
    """

    rows: IntArray

    @property
    def labels(self) -> Any:
        """The labels, ``y``."""
        return self.y


def add_negatives(
    X: Any,
    labels: ArrayLike | None = None,
    qid: Any = None,
    fraction: float | None = None,
    *,
    draw: str = "documents",
    random_state: int | np.random.Generator | None = 0,
) -> PaddedData:
    """Add documents of other queries to each query, with label 0.

    A query of ``m`` documents gets ``round(fraction * m)`` different ones of other queries. With
    one seed, what a smaller ``fraction`` adds is what a larger one adds first.

    Parameters
    ----------
    X : RankingData, or array, sparse matrix or data frame of shape (n_rows, n_features)
        Features; or data, whose weights and initial scores go with the copies.
    labels : array of shape (n_rows,), default=None
        Labels, finite and >= 0; only without a RankingData, as ``qid``.
    qid : array of shape (n_rows,), default=None
        Query id of each row, of any type and in any order.
    fraction : float
        How much longer each list becomes; 0.5 is half as long again. It may exceed 1.
    draw : {"documents", "queries"}, default="documents"
        "documents" draws uniformly from the documents of all other queries, "queries" another query
        first and then one of its documents, so that those of short lists come more often. The
        reference says the first in words and the second in symbols.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    PaddedData
        A :class:`~gbrank.data.RankingData` with ``rows``: queries in the order of their first row,
        the documents of a query in their order, those added behind them.

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
    data = _as_data(X, labels, qid)
    n_rows, layout = data.n_rows, data.layout
    checked, _ = labels_and_layout(data, None)
    check_number("fraction", fraction, low=0.0)
    check_choice("draw", draw, ("documents", "queries"))
    assert fraction is not None  # it comes behind qid, which may be left out
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
    draw_rows = _draw_from_others if draw == "documents" else _draw_queries_first
    draw_rows(layout.bounds, added_bounds, seed, added)

    # Each document of query q is moved down by what the queries before it have gained.
    places = np.empty(n_rows + len(added), dtype=np.int64)
    own = np.arange(n_rows) + np.repeat(added_bounds[:-1], sizes)
    new = np.arange(len(added)) + np.repeat(layout.bounds[1:], counts)
    places[own] = np.arange(n_rows)
    places[new] = added
    rows = places if layout.order is None else layout.order[places]

    given = np.asarray(data.y)
    padded_labels = (checked if given.dtype.kind == "O" else given)[rows]
    padded_labels[new] = 0
    heads = places.copy()  # the id of an added row is that of the query's first row
    heads[new] = np.repeat(layout.bounds[:-1], counts)
    ids = heads if layout.order is None else layout.order[heads]
    copied = data.take_rows(rows)
    return PaddedData(
        copied.X,
        padded_labels,
        take_rows(data.qid, ids),
        copied.sample_weight,
        copied.init_score,
        rows=rows,
    )


def _as_data(X: Any, labels: Any, qid: Any) -> RankingData:
    if not isinstance(X, RankingData):
        if labels is None or qid is None:
            raise ValueError("labels and qid must be given, unless X is a RankingData")
        return RankingData(X, labels, qid)
    if labels is not None or qid is not None:
        raise ValueError("labels and qid must be left out: the RankingData has its own")
    if X.position is not None:
        raise ValueError("data with positions cannot be padded: added documents were never shown")
    return X


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


@kernel()
def _draw_queries_first(bounds, added_bounds, seed, added):
    """Draw queries other than each, and documents of these, until all that are wanted differ."""
    n_queries = len(bounds) - 1
    taken_for = np.full(bounds[-1], -1, dtype=np.int64)
    left = np.empty(n_queries, dtype=np.int64)
    for q in range(n_queries):
        low, high = random_key(seed, 1, q)
        left[:] = bounds[1:] - bounds[:-1]
        step = 0
        for j in range(added_bounds[q], added_bounds[q + 1]):
            query = q
            while query == q or left[query] == 0:
                at = int(random_uniform(low, high, step) * n_queries)
                query = at if at < n_queries else n_queries - 1
                step += 1
            row, size = -1, bounds[query + 1] - bounds[query]
            while row < 0 or taken_for[row] == q:
                at = int(random_uniform(low, high, step) * size)
                row = int(bounds[query] + min(at, size - 1))
                step += 1
            taken_for[row], added[j] = q, row
            left[query] -= 1
