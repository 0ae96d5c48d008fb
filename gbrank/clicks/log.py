"""A click log: which item was shown at which position of which query, and how often it was clicked.

Under the position-based model ``P(click) = theta_position gamma_(query, item)`` nothing but these
counts matters, so rows that agree in query, item and position are merged when a log is made: ten
million impressions become the few numbers that estimators pass over many times.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import (
    FloatArray,
    IntArray,
    as_numbers,
    check_file,
    column_names,
    is_table,
    one_dimensional,
    stable_argsort,
)
from gbrank.preferences import read_ids, read_integers

_COLUMNS = ("qid", "item", "position", "click", "impressions")


class ClickLog:
    """What was shown and clicked, merged: impressions and clicks by query, item and position.

    It never changes. Items are told apart within their query: the same document of two queries is
    two items, as it is relevant to one and not to the other.

    Parameters
    ----------
    qid : array of shape (n_rows,)
        Query of each row: numbers, strings, categories.
    item : array of shape (n_rows,)
        What was shown: a document id of any such kind.
    position : array of shape (n_rows,)
        Where it was shown: integers >= 0. Whether the top is 0 or 1 does not matter.
    click : array of shape (n_rows,)
        1 if it was clicked, else 0; with ``impressions``, how many of these were clicked.
    impressions : array of shape (n_rows,), default=None
        How many impressions a row stands for; ``None`` for 1 each.

    Attributes
    ----------
    positions : int64 array, the distinct positions, from the top.
    query_ids : array of the distinct queries.
    item_bounds : int64 array: item ``i`` has entries ``item_bounds[i]`` to ``item_bounds[i + 1]``.
        The items of a query are together.
    query_bounds : int64 array, of items likewise: query ``q`` has those from ``query_bounds[q]``.
    first_rows : int64 array, of each item a row that it came in: the first at its highest
        position.
    places : int64 array, of each entry the number of its position, an index of ``positions``.
    impressions, clicks : float64 arrays, of each entry.

    Examples
    --------
    >>> from gbrank.clicks import ClickLog
    >>> log = ClickLog(["a", "a", "a"], [7, 8, 7], [1, 2, 1], [1, 0, 0])
    >>> log
    ClickLog(impressions=3, clicks=1, queries=1, items=2, positions=2)
    >>> log.impressions, log.clicks
    (array([2., 1.]), array([1., 0.]))
    """

    positions: IntArray
    query_ids: NDArray[Any]
    item_bounds: IntArray
    query_bounds: IntArray
    first_rows: IntArray
    places: IntArray
    impressions: FloatArray
    clicks: FloatArray
    n_rows: int

    def __init__(
        self,
        qid: Any,
        item: Any,
        position: Any,
        click: ArrayLike,
        impressions: ArrayLike | None = None,
    ) -> None:
        queries, items = read_ids(qid, "qid"), read_ids(item, "item")
        n_rows = len(queries.codes)
        _check_length(items.codes, n_rows, "item")
        where = _read_positions(position, n_rows)
        shown, clicked = _read_counts(click, impressions, n_rows)
        if n_rows == 0:
            raise ValueError("a click log must have at least one row, got none")
        pair = _combine(queries.codes, items.codes, len(items.distinct))
        del items
        positions, places = _number_positions(where)
        order = stable_argsort(_combine(pair, places, len(positions)).view(np.uint64))
        pair, places = pair[order], places[order]
        new_item = np.diff(pair, prepend=-1) != 0
        starts = np.flatnonzero(new_item | (np.diff(places, prepend=-1) != 0))
        item_starts = np.flatnonzero(new_item[starts])
        first = order[starts[item_starts]]
        query_of_item = queries.codes[first]
        self._fill(
            positions=positions,
            query_ids=queries.distinct,
            item_bounds=np.append(item_starts, len(starts)),
            query_bounds=np.searchsorted(query_of_item, np.arange(len(queries.distinct) + 1)),
            first_rows=first,
            places=places[starts],
            impressions=np.add.reduceat(shown[order], starts),
            clicks=np.add.reduceat(clicked[order], starts),
            n_rows=n_rows,
        )

    def _fill(self, **attributes: Any) -> None:
        for value in attributes.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(attributes)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("ClickLog cannot be changed; make a new one")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._fill(**state)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        qid: str = "qid",
        item: str = "item",
        position: str = "position",
        click: str = "click",
        impressions: str | None = None,
    ) -> Self:
        """Read one row of a data frame or table (pandas, polars, pyarrow) after the other.

        Parameters
        ----------
        frame : the frame.
        qid, item, position, click, impressions : names of its columns.
        """
        if not is_table(frame):
            raise TypeError(
                f"frame must be a table of pandas, polars or pyarrow, got {type(frame).__name__}"
            )
        names = dict(zip(_COLUMNS, (qid, item, position, click, impressions), strict=True))
        known = column_names(frame)
        for argument, name in names.items():
            if name is not None and name not in known:
                raise ValueError(
                    f"{argument} must name a column of the frame, but it has no {name!r}; its "
                    f"columns are {known}"
                )
        columns: list[Any] = [
            None if name is None else _column(frame, name) for name in names.values()
        ]
        return cls(*columns)

    @classmethod
    def read(cls, path: str | os.PathLike[str], **columns: Any) -> Self:
        r"""Read a file: ``.parquet``, or text with a header, ``.csv`` or ``.tsv``, compressed too.

        Parameters
        ----------
        path : the file; it needs ``pip install "gbrank[arrow]"``.
        **columns : names of its columns, as in :meth:`from_frame`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from gbrank.clicks import ClickLog
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "log.csv"
        ...     _ = path.write_text("query,item,position,click\na,x,1,1\na,y,2,0\n")
        ...     ClickLog.read(path, qid="query")
        ClickLog(impressions=2, clicks=1, queries=1, items=2, positions=2)
        """
        table = read_table(path)
        try:
            return cls.from_frame(table, **columns)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{os.fspath(path)}: {error}") from error

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    @property
    def n_items(self) -> int:
        """Number of items, each of one query."""
        return len(self.first_rows)

    @property
    def n_positions(self) -> int:
        """Number of positions."""
        return len(self.positions)

    @property
    def queries_of_items(self) -> IntArray:
        """The number of the query of each item."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_bounds))

    @property
    def items_of_entries(self) -> IntArray:
        """The number of the item of each entry."""
        return np.repeat(np.arange(self.n_items), np.diff(self.item_bounds))

    def per_position(self, values: FloatArray) -> FloatArray:
        """Return the sum over the entries of each position.

        Parameters
        ----------
        values : a number per entry, such as ``clicks``.
        """
        sums: FloatArray = np.bincount(self.places, values, self.n_positions)  # type: ignore[assignment]
        return sums

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return (
            f"ClickLog(impressions={self.impressions.sum():g}, clicks={self.clicks.sum():g}, "
            f"queries={self.n_queries}, items={self.n_items}, positions={self.n_positions})"
        )


def read_table(path: str | os.PathLike[str]) -> Any:
    """Return a CSV, TSV or parquet file as a table of pyarrow."""
    name = Path(path)
    if not name.is_dir():  # as one of parquet
        check_file(name)
    kinds = [each.lower() for each in name.suffixes[-2:]]
    try:
        from pyarrow import csv, parquet
    except ImportError as error:
        raise ImportError('reading a log needs pyarrow: pip install "gbrank[arrow]"') from error
    try:
        if ".parquet" in kinds:
            return parquet.read_table(name)
        if ".csv" in kinds or ".tsv" in kinds:
            options = csv.ParseOptions(delimiter="\t" if ".tsv" in kinds else ",")
            return csv.read_csv(name, parse_options=options)
    except Exception as error:  # pyarrow has many ways to say it
        raise ValueError(f"{name} is not a readable table: {error}") from error
    raise ValueError(f"the name of a log must end with .parquet, .csv or .tsv, got {name.name}")


def _column(frame: Any, name: str) -> Any:
    column = frame.column(name) if hasattr(frame, "schema") and hasattr(frame, "column") else None
    return frame[name] if column is None else column.to_numpy()


def _check_length(values: Any, n_rows: int, name: str) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{name} must have one entry per row: got {len(values)} for {n_rows} rows")


def _read_positions(position: Any, n_rows: int) -> IntArray:
    if position is None:
        raise ValueError("position must be given: where each item was shown")
    _check_length(one_dimensional(position, "position"), n_rows, "position")
    return read_integers(position, "position")


def _number_positions(where: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct positions in order, and the number of each entry's."""
    largest = int(where.max())
    if largest > 4 * len(where) + 1024:  # a table would be long
        positions, places = np.unique(where, return_inverse=True)
        return positions, places.astype(np.int64)
    present = np.zeros(largest + 1, dtype=np.bool_)
    present[where] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[where]


def _read_counts(click: Any, impressions: Any, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """Return impressions and clicks, each clicked at most as often as shown."""
    clicked = as_numbers(click, "click")
    _check_length(clicked, n_rows, "click")
    shown = np.ones(n_rows) if impressions is None else as_numbers(impressions, "impressions")
    _check_length(shown, n_rows, "impressions")
    wrong = ~((shown > 0) & (shown < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"impressions must be finite numbers > 0, but row {row} has {shown[row]:g}"
        )
    wrong = ~((clicked >= 0) & (clicked <= shown))
    if wrong.any():
        row = int(np.argmax(wrong))
        most = "1" if impressions is None else f"its impressions, {shown[row]:g}"
        raise ValueError(f"click must be from 0 to {most}, but row {row} has {clicked[row]:g}")
    return shown, clicked


def _combine(first: IntArray, second: IntArray, n_second: int) -> IntArray:
    """Return one number for each pair; pairs come in the order of both."""
    largest = (int(first.max()) + 1) * n_second
    if largest >= 2**63:
        first = np.unique(first, return_inverse=True)[1].astype(np.int64)
    combined: IntArray = first * n_second + second
    return combined
