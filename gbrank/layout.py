"""Which rows belong to which query, and the one gate through which user input passes.

Everything behind this module sees contiguous float64 arrays and int64 bounds; everything wrong with
the input is said here, before any work, with the name of the argument and the first row at fault.
"""

import itertools
import reprlib
import sys
from collections import defaultdict
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
        starts, queries, ids = _number_runs(values)
        if len(ids) == len(starts):  # every query is one run of rows
            return cls(np.append(starts, len(values)), None, ids)
        runs = _stable_argsort(queries)
        starts, lengths = starts[runs], np.diff(starts, append=len(values))[runs]
        ends = np.cumsum(lengths)
        # all rows of a run move by the same distance
        order = np.arange(len(values)) + np.repeat(starts - (ends - lengths), lengths)
        bounds = np.zeros(len(ids) + 1, dtype=np.int64)
        bounds[1:] = ends[np.cumsum(np.bincount(queries)) - 1]
        return cls(bounds, order, ids)

    @classmethod
    def from_group(cls, group: ArrayLike, n_rows: int | None = None) -> "QueryLayout":
        """Group consecutive rows by the number of rows of each query, as LightGBM does."""
        sizes = _numbers(group, "group")
        wrong = ~((sizes >= 0) & (sizes == np.floor(sizes)) & (sizes < np.inf))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"group sizes must be whole numbers >= 0, but group[{at}] is {sizes[at]:g}"
            )
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


def check_labels(
    labels: ArrayLike, layout: QueryLayout | None = None, *, signed: bool = False
) -> FloatArray:
    """Return labels as contiguous float64; refuse all but finite numbers >= 0 (or ``signed``)."""
    values = _numbers(labels, "labels")
    _check_length(values, layout, "labels")
    expected = "labels must be finite numbers" + ("" if signed else " >= 0")
    _refuse_outside(-np.inf if signed else 0.0, values, layout, expected)
    return values


def count_rows(values: Any, name: str) -> int:
    """Return the number of entries of a one-dimensional argument, before anything else is known."""
    return len(_one_dimensional(values, name))


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
    """Return one weight per query, given per query or per row (then constant within a query).

    As many weights as rows are always one per row, as ``sample_weight`` is everywhere else. That
    matters only where queries without rows make up for the longer ones, so that there are as many
    queries as rows. Weights per row leave a query without rows the weight 0.
    """
    values = _numbers(weights, "sample_weight")
    if len(values) == layout.n_queries and layout.n_queries != layout.n_rows:
        wrong = ~np.isfinite(values) | (values < 0)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"weights must be finite numbers >= 0, but that of {layout.describe_query(at)} is "
                f"{values[at]:g}"
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
    expected = np.repeat(first, layout.sizes)
    if (rows != expected).any():
        place = int(np.argmax(rows != expected))
        row = place if layout.order is None else int(layout.order[place])
        raise ValueError(
            "sample_weight must be the same for all rows of a query, but "
            f"{layout.describe_row(row)} has {rows[place]:g}, the rows before it have "
            f"{expected[place]:g}"
        )
    return first


def _numbers(values: Any, name: str) -> FloatArray:
    """Return a one-dimensional, contiguous, writable float64 array."""
    array = _one_dimensional(values, name)
    if array.dtype.kind == "O":
        return _numbers_among_objects(array, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be numbers, got an array of dtype {array.dtype}")
    with np.errstate(over="ignore"):  # long doubles beyond float64 become infinite
        # a read-only array, as pandas hands out, would have every kernel compiled a second time
        return np.require(array, np.float64, ("C", "A", "W"))


def _numbers_among_objects(array: NDArray[Any], name: str) -> FloatArray:
    numbers = np.empty(len(array))
    for at, entry in enumerate(array.tolist()):
        try:
            if isinstance(entry, str | bytes):
                raise TypeError("a number in quotes is no number")
            numbers[at] = entry  # None becomes NaN
        except (TypeError, ValueError, OverflowError):
            raise TypeError(
                f"{name} must be numbers, but {_place(name, at)} has {reprlib.repr(entry)}"
            ) from None
    return numbers


def _one_dimensional(values: Any, name: str) -> NDArray[Any]:
    """Return values as an array; refuse anything but one entry per row, and masked ones."""
    try:
        array = np.asarray(values)
    except ValueError:  # NumPy's words for nested lists of different lengths
        raise ValueError(f"{name} must be one-dimensional, got a nested list") from None
    if array.ndim != 1:
        is_array = array.ndim or isinstance(values, np.ndarray)
        got = f"an array of shape {array.shape}" if is_array else type(values).__name__
        raise ValueError(f"{name} must be one-dimensional, got {got}")
    if isinstance(values, np.ma.MaskedArray):
        _refuse_missing(np.ma.getmaskarray(values), name)
    return array


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
    if isinstance(qid, list | tuple):
        kinds = set(map(type, qid))
        # NumPy would turn 1 and "1" into the same string, "a" and "a\0" into the same array entry,
        # tuples into a matrix, and whole numbers, next to fractions or beyond 2^63, into floats.
        if len(kinds) == 1 and not kinds & {str, bytes, tuple}:
            values = _one_dimensional(qid, "qid")
            if kinds != {int} or values.dtype.kind != "f":
                return values
        return np.fromiter(qid, dtype=object, count=len(qid))
    return _one_dimensional(qid, "qid")


def _is_pandas(values: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(
        values,
        pandas.Series | pandas.Index | pandas.Categorical | pandas.api.extensions.ExtensionArray,
    )


def _number_runs(values: Any) -> tuple[IntArray, IntArray, NDArray[Any]]:
    """Cut the rows into runs of equal ids and number the ids by first appearance.

    Returns the first row of each run, the number of its id, and the ids by number.
    """
    if _is_pandas(values):
        codes, ids = _number_pandas(values)
        starts = _run_starts(codes)
        return starts, codes[starts], ids
    if values.dtype.kind == "O":  # comparing two entries may give anything
        codes, first = _number_hashables(values.tolist())
        starts = _run_starts(codes)
        return starts, codes[starts], values[first]
    if values.dtype.kind in "fcmM":
        _refuse_missing(np.isnan(values) if values.dtype.kind in "fc" else np.isnat(values), "qid")
    if values.dtype.kind == "T":  # its missing entries compare in ways of their own
        return _number_runs(values.astype(object))
    starts = _run_starts(values)
    heads = values[starts]
    if heads.dtype.kind in "biufmM" and heads.dtype.itemsize <= 8:
        codes, first = _number_bits(_as_bits(heads))
    else:
        codes, first = _number_hashables(heads.tolist())
    return starts, codes, heads[first]


def _run_starts(values: NDArray[Any]) -> IntArray:
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate((np.zeros(min(len(values), 1), dtype=np.int64), changes))


def _number_pandas(values: Any) -> tuple[IntArray, NDArray[Any]]:
    try:
        codes, distinct = sys.modules["pandas"].factorize(values)
    except TypeError:
        _refuse_unhashable(list(values))
        raise
    _refuse_missing(codes < 0, "qid")
    ids = np.asarray(distinct)
    if ids.dtype.kind == "f":  # NaN that is not among what pandas calls missing
        _refuse_missing(np.isnan(ids)[codes], "qid")
    return codes.astype(np.int64), ids


def _number_hashables(entries: list[Any]) -> tuple[IntArray, IntArray]:
    """Number by first appearance; return a number per entry and the first place of each number."""
    numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    try:
        codes = np.fromiter(map(numbers.__getitem__, entries), dtype=np.int64, count=len(entries))
    except TypeError:
        _refuse_unhashable(entries)
        raise
    missing = np.array([not _equals_itself(entry) for entry in numbers], dtype=np.bool_)
    if missing.any():
        _refuse_missing(missing[codes], "qid")
    first = np.empty(len(numbers), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last to be written stays
    return codes, first


def _equals_itself(entry: Any) -> bool:
    """Return False for None, NaN, NaT and pandas' NA: the ids that are missing."""
    try:
        return entry is not None and bool(entry == entry)
    except TypeError:  # NA is neither equal nor unequal
        return False


def _as_bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits per number or date, the same for equal ones."""
    if values.dtype.kind in "biu":
        return values.astype(np.uint64)
    if values.dtype.kind == "f":
        return (values.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    return values.astype(np.int64).view(np.uint64)


def _number_bits(keys: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Do what :func:`_number_hashables` does, by sorting."""
    order = _stable_argsort(keys)
    ordered = keys[order]
    heads = np.ones(len(keys), dtype=np.bool_)
    heads[1:] = ordered[1:] != ordered[:-1]
    first = order[heads]
    appearance = _stable_argsort(first)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[appearance] = np.arange(len(first))
    codes = np.empty(len(keys), dtype=np.int64)
    codes[order] = numbers[np.cumsum(heads) - 1]
    return codes, first[appearance]


def _stable_argsort(keys: NDArray[Any]) -> IntArray:
    """Sort 64-bit numbers >= 0, 16 bits at a time: NumPy has a radix sort for those only."""
    order = np.arange(len(keys), dtype=np.int64)
    if len(keys) == 0:
        return order
    varying = int(np.bitwise_or.reduce(keys ^ keys[0]))
    for shift in (0, 16, 32, 48):
        if (varying >> shift) & 0xFFFF:
            digit = (keys >> shift).astype(np.uint16)[order]
            order = order[np.argsort(digit, kind="stable")]
    return order


def _refuse_unhashable(entries: list[Any]) -> None:
    for row, entry in enumerate(entries):
        try:
            hash(entry)
        except TypeError:
            raise TypeError(
                f"qid entries must be hashable, but that of row {row} is of type "
                f"{type(entry).__name__}"
            ) from None


def _refuse_missing(missing: NDArray[np.bool_], name: str) -> None:
    if missing.any():
        where = _place(name, int(np.argmax(missing)))
        raise ValueError(f"{name} must not be missing, but that of {where} is")


def _place(name: str, at: int) -> str:
    return f"query {at}" if name == "group" else f"row {at}"
