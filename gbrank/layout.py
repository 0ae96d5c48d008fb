"""Which rows belong to which query, and the one gate through which user input passes.

Everything behind this module sees contiguous float64 arrays and int64 bounds; everything wrong with
the input is said here, before any work, with the name of the argument and the first row at fault.
"""

import sys
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
    >>> from gbrank.layout import QueryLayout
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
    def from_qid(cls, qid: Any, n_rows: int | None = None) -> "QueryLayout":
        """Group rows by an id per row: whole numbers, strings, categories, anything hashable."""
        values = _as_qid(qid)
        if n_rows is not None and len(values) != n_rows:
            raise ValueError(
                f"qid must have one entry per row: got {len(values)} for {n_rows} rows"
            )
        codes, ids = _first_appearance_codes(values)
        n_queries = len(ids)
        starts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        if len(starts) + 1 == n_queries or len(codes) == 0:  # every query is one run of rows
            runs = [0, *starts, len(codes)] if len(codes) else [0]
            return cls(np.array(runs, dtype=np.int64), None, ids)
        order = np.argsort(codes, kind="stable").astype(np.int64)
        bounds = np.zeros(n_queries + 1, dtype=np.int64)
        np.cumsum(np.bincount(codes, minlength=n_queries), out=bounds[1:])
        return cls(bounds, order, ids)

    @classmethod
    def from_group(cls, group: ArrayLike, n_rows: int | None = None) -> "QueryLayout":
        """Group consecutive rows by the number of rows of each query, as LightGBM does."""
        sizes = _numbers(group, "group")
        wrong = ~((sizes >= 0) & (sizes == np.floor(sizes)) & (sizes < 2**53))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"group sizes must be whole numbers >= 0, but group[{at}] is {sizes[at]:g}"
            )
        bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes.astype(np.int64), out=bounds[1:])
        if n_rows is not None and bounds[-1] != n_rows:
            raise ValueError(
                f"group sizes must sum to the number of rows: they sum to {bounds[-1]}, "
                f"there are {n_rows} rows"
            )
        return cls(bounds)

    @classmethod
    def from_either(cls, qid: Any, group: Any, n_rows: int) -> "QueryLayout":
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
        values = np.asarray(values)
        return values if self.order is None else values[self.order]

    def unsort(self, values: Any) -> Any:
        """Bring per-row values, in query order, back into the user's order."""
        values = np.asarray(values)
        if self.order is None:
            return values
        original = np.empty_like(values)
        original[self.order] = values
        return original

    def describe_row(self, row: int) -> str:
        """Say where an original row lies, for error messages: ``row 7 (query 'b')``."""
        place = row if self.order is None else int(np.flatnonzero(self.order == row)[0])
        query = int(np.searchsorted(self.bounds, place, side="right")) - 1
        name = query if self.query_ids is None else self.query_ids[query]
        return f"row {row} (query {name.item() if isinstance(name, np.generic) else name!r})"


def check_labels(
    labels: ArrayLike, layout: QueryLayout | None = None, *, signed: bool = False
) -> FloatArray:
    """Return labels as contiguous float64; refuse all but finite numbers >= 0 (or ``signed``)."""
    values = _numbers(labels, "labels")
    _check_length(values, layout, "labels")
    expected = "labels must be finite numbers" + ("" if signed else " >= 0")
    _refuse_outside(-np.inf if signed else 0.0, values, layout, expected)
    return values


def check_scores(scores: ArrayLike, layout: QueryLayout | None = None) -> FloatArray:
    """Return scores as contiguous float64; refuse NaN and infinities."""
    values = _numbers(scores, "scores")
    _check_length(values, layout, "scores")
    _refuse_outside(-np.inf, values, layout, "scores must be finite numbers")
    return values


def check_weights(weights: ArrayLike, layout: QueryLayout | None = None) -> FloatArray:
    """Return weights, one per row, as contiguous float64; refuse NaN, infinities and negatives."""
    values = _numbers(weights, "weights")
    _check_length(values, layout, "weights")
    _refuse_outside(0.0, values, layout, "weights must be finite numbers >= 0")
    return values


def check_query_weights(weights: ArrayLike, layout: QueryLayout) -> FloatArray:
    """Return one weight per query, given per query or per row (then constant within a query)."""
    values = _numbers(weights, "sample_weight")
    if len(values) == layout.n_queries and layout.n_queries != layout.n_rows:
        wrong = ~np.isfinite(values) | (values < 0)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"weights must be finite numbers >= 0, but that of query {at} is {values[at]:g}"
            )
        return values
    if len(values) != layout.n_rows:
        raise ValueError(
            f"sample_weight must have one entry per query ({layout.n_queries}) or per row "
            f"({layout.n_rows}), got {len(values)}"
        )
    rows = layout.sort(check_weights(values, layout))
    filled = layout.sizes > 0
    first = np.zeros(layout.n_queries)
    first[filled] = rows[layout.bounds[:-1][filled]]
    differs = rows != np.repeat(first, layout.sizes)
    if differs.any():
        place = int(np.argmax(differs))
        row = place if layout.order is None else int(layout.order[place])
        raise ValueError(
            "sample_weight must be the same for all rows of a query, but "
            f"{layout.describe_row(row)} has {rows[place]:g}, the rows before it have another"
        )
    return first


def _numbers(values: Any, name: str) -> FloatArray:
    """Return a one-dimensional contiguous float64 array."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {array.shape}")
    if array.dtype.kind in "biufO":
        try:
            return np.ascontiguousarray(array, dtype=np.float64)
        except (TypeError, ValueError):  # objects that are not numbers
            pass
    raise TypeError(f"{name} must be numbers, got an array of dtype {array.dtype}")


def _check_length(values: FloatArray, layout: QueryLayout | None, name: str) -> None:
    if layout is not None and len(values) != layout.n_rows:
        raise ValueError(
            f"{name} must have one entry per row: got {len(values)} for {layout.n_rows} rows"
        )


def _refuse_outside(
    lowest: float, values: FloatArray, layout: QueryLayout | None, expected: str
) -> None:
    """Refuse NaN, infinities and values below ``lowest``; say which row comes first."""
    # NaN passes no comparison, so two plain passes clear good input
    if len(values) == 0 or (-np.inf < values.min() >= lowest and values.max() < np.inf):
        return
    row = int(np.argmax(~np.isfinite(values) | (values < lowest)))
    where = f"row {row}" if layout is None else layout.describe_row(row)
    raise ValueError(f"{expected}, but {where} has {values[row]:g}")


def _as_qid(qid: Any) -> Any:
    """Return query ids as a one-dimensional array, or as the pandas object they came in."""
    if _is_pandas(qid):
        return qid
    values = np.asarray(qid)
    if (
        values.dtype.kind in "US"
        and isinstance(qid, list | tuple)
        and not all(isinstance(entry, str | bytes) for entry in qid)
    ):
        values = np.asarray(qid, dtype=object)  # keep 1 and "1" apart
    if values.ndim != 1:
        raise ValueError(f"qid must be one-dimensional, got an array of shape {values.shape}")
    return values


def _is_pandas(values: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(
        values,
        pandas.Series | pandas.Index | pandas.Categorical | pandas.api.extensions.ExtensionArray,
    )


def _first_appearance_codes(values: Any) -> tuple[IntArray, NDArray[Any]]:
    """Number the ids by first appearance; return a number per row and the ids in that order."""
    if _is_pandas(values):
        codes, ids = sys.modules["pandas"].factorize(values)
        _refuse_missing(codes < 0)
        return codes.astype(np.int64), np.asarray(ids)
    if values.dtype.kind == "O":
        numbers: dict[Hashable, int] = {}
        try:
            # None, NaN, NaT and pandas' NA are the ids that are missing
            missing = np.array([entry is None or (entry == entry) is not True for entry in values])
            _refuse_missing(missing)
            listed = [numbers.setdefault(entry, len(numbers)) for entry in values]
        except TypeError as error:
            raise TypeError(f"qid entries must be hashable: {error}") from None
        ids = np.empty(len(numbers), dtype=object)
        ids[:] = list(numbers)
        return np.array(listed, dtype=np.int64), ids
    if values.dtype.kind in "fcmM":
        _refuse_missing(np.isnan(values) if values.dtype.kind in "fc" else np.isnat(values))
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    starts = np.concatenate(([0], changes)).astype(np.int64) if len(values) else changes
    ids, first, run_codes = np.unique(values[starts], return_index=True, return_inverse=True)
    appearance = np.argsort(first, kind="stable")
    rank = np.empty_like(appearance)
    rank[appearance] = np.arange(len(appearance))
    lengths = np.diff(np.concatenate((starts, [len(values)])))
    return np.repeat(rank[run_codes], lengths).astype(np.int64), ids[appearance]


def _refuse_missing(missing: NDArray[np.bool_]) -> None:
    if missing.any():
        raise ValueError(f"qid must not be missing, but that of row {int(np.argmax(missing))} is")
