"""Which rows belong to which query."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core.ids import as_ids, number_runs, stable_argsort
from gbrank.core.typing import IntArray
from gbrank.core.validation import as_numbers


class QueryLayout:
    """Rows grouped into queries: query ``q`` is rows ``bounds[q]`` to ``bounds[q + 1]``.

    Rows in any order are put together by :meth:`sort`; queries come in the order of their first
    row, the rows of a query keep their order. Build one with :meth:`from_qid` or
    :meth:`from_group`.

    Attributes
    ----------
    bounds : int64 array of n_queries + 1 row numbers, after sorting.
    order : int64 array, the original row at each sorted place; ``None`` if rows stay in place.
    query_ids : array of the distinct ids, one per query; ``None`` when built from group sizes.

    Examples
    --------
    >>> from gbrank.core.queries import QueryLayout
    >>> layout = QueryLayout.from_qid(["b", "a", "b"])
    >>> layout.bounds, layout.order
    (array([0, 2, 3]), array([0, 2, 1]))
    >>> layout.sort([10, 20, 30])
    array([10, 30, 20])
    >>> layout.unsort(layout.sort([10, 20, 30]))
    array([10, 20, 30])
    """

    def __init__(
        self,
        bounds: IntArray,
        order: IntArray | None = None,
        query_ids: NDArray[Any] | None = None,
    ) -> None:
        self.bounds = bounds
        self.order = order
        self.query_ids = query_ids

    def __repr__(self) -> str:
        return f"QueryLayout(n_queries={self.n_queries}, n_rows={self.n_rows})"

    @classmethod
    def from_qid(cls, qid: Any, n_rows: int | None = None) -> QueryLayout:
        """Group rows by an id per row: integers, strings, categories, anything hashable."""
        values = as_ids(qid)
        if n_rows is not None and len(values) != n_rows:
            raise ValueError(
                f"qid must have one entry per row: got {len(values)} for {n_rows} rows"
            )
        starts, queries, ids = number_runs(values)
        if len(ids) == len(starts):  # every query is one run of rows
            return cls(np.append(starts, len(values)), None, ids)
        runs = stable_argsort(queries)
        starts, lengths = starts[runs], np.diff(starts, append=len(values))[runs]
        ends = np.cumsum(lengths)
        # all rows of a run move by the same distance
        order = np.arange(len(values)) + np.repeat(starts - (ends - lengths), lengths)
        bounds = np.zeros(len(ids) + 1, dtype=np.int64)
        bounds[1:] = ends[np.cumsum(np.bincount(queries)) - 1]
        return cls(bounds, order, ids)

    @classmethod
    def from_group(cls, group: ArrayLike, n_rows: int | None = None) -> QueryLayout:
        """Group consecutive rows by the number of rows of each query, as LightGBM does."""
        sizes = as_numbers(group, "group")
        wrong = ~((sizes >= 0) & (sizes == np.floor(sizes)) & (sizes < np.inf))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(f"group sizes must be integers >= 0, but group[{at}] is {sizes[at]:g}")
        if sizes.sum() >= 2**53:  # beyond which sums are no longer exact
            raise ValueError(f"group sizes must sum to less than 2^53, got {sizes.sum():g}")
        bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes.astype(np.int64), out=bounds[1:])
        if n_rows is not None and bounds[-1] != n_rows:
            raise ValueError(
                f"group sizes must sum to the number of rows: they sum to {bounds[-1]}, "
                f"there are {n_rows} rows"
            )
        return cls(bounds)

    @classmethod
    def from_either(cls, qid: Any, group: Any, n_rows: int) -> QueryLayout:
        """Build from whichever of ``qid`` and ``group`` is given; exactly one must be."""
        if (qid is None) == (group is None):
            got = "neither" if qid is None else "both"
            raise ValueError(
                f"give either qid (one query id per row) or group (rows per query), got {got}"
            )
        return cls.from_group(group, n_rows) if qid is None else cls.from_qid(qid, n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows of all queries together."""
        return int(self.bounds[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.bounds) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each query."""
        return np.diff(self.bounds)

    @property
    def inverse(self) -> IntArray:
        """The sorted place of each original row."""
        if self.order is None:
            return np.arange(self.n_rows, dtype=np.int64)
        inverse = np.empty_like(self.order)
        inverse[self.order] = np.arange(self.n_rows, dtype=np.int64)
        return inverse

    def sort(self, values: Any) -> Any:
        """Bring per-row values, in the user's order, into query order."""
        values = self._rows(values)
        return values if self.order is None else values[self.order]

    def unsort(self, values: Any) -> Any:
        """Bring per-row values, in query order, back into the user's order."""
        values = self._rows(values)
        if self.order is None:
            return values
        original = np.empty_like(values)
        original[self.order] = values
        return original

    def _rows(self, values: Any) -> NDArray[Any]:
        array = np.asarray(values)
        if array.shape[:1] != (self.n_rows,):
            raise ValueError(
                f"values must have one entry per row: got shape {array.shape} for "
                f"{self.n_rows} rows"
            )
        return array

    def describe_row(self, row: int) -> str:
        """Say where an original row lies, for error messages: ``row 7 (query 'b')``."""
        place = row if self.order is None else int(np.flatnonzero(self.order == row)[0])
        query = int(np.searchsorted(self.bounds, place, side="right")) - 1
        return f"row {row} ({self.describe_query(query)})"

    def describe_query(self, query: int) -> str:
        """Name a query, by its id where it has one: ``query 'b'``."""
        name = query if self.query_ids is None else self.query_ids[query]
        return f"query {name.item() if isinstance(name, np.generic) else name!r}"
