"""Rows that arrive in blocks, in arrays that grow where they lie.

``ndarray.resize`` asks the system to extend a piece of memory, which for large pieces moves page
tables and not numbers: a result never exists twice. It is on the caller to keep no view across a
call that may grow the arrays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from gbrank.core import FloatArray, IntArray


class RowTable:
    """Labels, query ids and features of many rows, the features dense or sparse.

    Attributes
    ----------
    n_rows, n_values : rows, and stored values of a sparse table, that are filled.
    width : columns of a dense table, -1 for a sparse one.
    """

    def __init__(self, dtype: type[np.floating[Any]], width: int, missing: float) -> None:
        self.n_rows = 0
        self.n_values = 0
        self.width = width
        self._missing = missing
        self._values: NDArray[Any] = np.empty(0, dtype=dtype)
        self._columns = np.empty(0, dtype=np.int32)
        self._row_ends = np.empty(0, dtype=np.int64)
        self._labels = np.empty(0, dtype=np.float64)
        self._qids = np.empty(0, dtype=np.int64)

    @property
    def is_sparse(self) -> bool:
        """Whether only values other than 0 are kept."""
        return self.width < 0

    def reserve(self, n_rows: int, n_values: int, growth: float) -> None:
        """Make room for so many more rows and values.

        ``growth``, the expected final size by the present one, saves steps; it is not trusted to be
        above 2, as it comes from the first lines.
        """
        n_rows += self.n_rows
        n_values += self.n_values
        plan = min(1.02 * growth, 2.0)
        if n_rows > len(self._labels):
            self._resize_rows(int(n_rows * plan))
        if self.is_sparse and n_values > len(self._values):
            self._resize_values(int(n_values * plan))

    def widen(self, width: int) -> None:
        """Give a dense table more columns."""
        n_rows = self.n_rows
        values = np.empty(len(self._labels) * width, dtype=self._values.dtype)
        new, old = values.reshape(-1, width), self._values.reshape(-1, max(self.width, 1))
        new[:n_rows, : self.width] = old[:n_rows, : self.width]
        new[:n_rows, self.width :] = self._missing
        self._values, self.width = values, width

    def room(self, row: int, n_rows: int, value: int, n_values: int) -> tuple[NDArray[Any], ...]:
        """Return views of values, columns, row ends, labels and ids, from a row and a value on."""
        rows = slice(row, row + n_rows)
        if self.is_sparse:
            places = slice(value, value + n_values)
            columns, row_ends = self._columns[places], self._row_ends[rows]
        else:
            places = slice(row * self.width, (row + n_rows) * self.width)
            columns, row_ends = self._columns, self._row_ends
        return self._values[places], columns, row_ends, self._labels[rows], self._qids[rows]

    def append(self, row: int, n_rows: int, value: int, n_values: int) -> None:
        """Take over rows that were written at or after the end, which moves them there."""
        if self.is_sparse:
            ends = self._row_ends[row : row + n_rows] + self.n_values
            self._row_ends[self.n_rows : self.n_rows + n_rows] = ends
            for array in (self._values, self._columns):
                _move(array, value, self.n_values, n_values)
        else:
            _move(self._values, row * self.width, self.n_rows * self.width, n_rows * self.width)
        for array in (self._labels, self._qids):
            _move(array, row, self.n_rows, n_rows)
        self.n_rows += n_rows
        self.n_values += n_values

    def finish(self, n_columns: int) -> tuple[Any, FloatArray, IntArray]:
        """Return X, y and qid; the table is of no use afterwards."""
        self._resize_rows(self.n_rows)
        if not self.is_sparse:
            return self._values.reshape(self.n_rows, self.width), self._labels, self._qids
        self._resize_values(self.n_values)
        index_type = np.int32 if self.n_values < 2**31 else np.int64
        row_ends = np.zeros(self.n_rows + 1, dtype=index_type)
        row_ends[1:] = self._row_ends
        columns = self._columns.astype(index_type, copy=False)
        X = csr_matrix((self._values, columns, row_ends), shape=(self.n_rows, n_columns))
        return X, self._labels, self._qids

    def _resize_rows(self, n_rows: int) -> None:
        self._labels.resize(n_rows, refcheck=False)
        self._qids.resize(n_rows, refcheck=False)
        if self.is_sparse:
            self._row_ends.resize(n_rows, refcheck=False)
        else:
            self._values.resize(n_rows * self.width, refcheck=False)

    def _resize_values(self, n_values: int) -> None:
        self._values.resize(n_values, refcheck=False)
        self._columns.resize(n_values, refcheck=False)


def _move(array: NDArray[Any], source: int, target: int, length: int) -> None:
    if source != target:
        array[target : target + length] = array[source : source + length]
