"""Which rows of a matrix differ, and how many: a log shows the same document again and again.

Rows are told apart by 64 bits made of all their values, so that a million rows take no sorting of
rows and no memory but a number each. Two different rows have the same bits once in 10^19 pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from gbrank.core.frames import (
    batches,
    column_names,
    is_sequence,
    is_table,
    numeric_matrix,
    plain_features,
    take_column,
)
from gbrank.core.typing import IntArray

#: Rows at a time, so that what is computed of them stays in the cache.
_BLOCK = 2048


def count_distinct_rows(X: Any) -> int:
    """Return the number of different rows.

    Parameters
    ----------
    X : features of any kind.

    Examples
    --------
    >>> from gbrank.core import count_distinct_rows
    >>> count_distinct_rows([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    2
    """
    return len(np.unique(_keys(X)))


def number_distinct_rows(X: Any) -> IntArray:
    """Return a number for each row, from 0 and without gaps, the same for equal rows.

    Parameters
    ----------
    X : features of any kind.

    Examples
    --------
    >>> from gbrank.core import number_distinct_rows
    >>> found = number_distinct_rows([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    >>> bool(found[0] == found[2] != found[1])
    True
    """
    numbers: IntArray = np.unique(_keys(X), return_inverse=True)[1]
    return numbers


def _keys(X: Any) -> NDArray[np.uint64]:
    parts = batches(X) if is_sequence(X) else [X]
    return np.concatenate([_row_keys(part) for part in parts])


def _row_keys(X: Any) -> NDArray[np.uint64]:
    """Return a number for each row, the sum of one for each of its values."""
    matrix = numeric_matrix(X)
    if issparse(matrix):
        stored = _mixed(_bits(matrix.data), matrix.indices.astype(np.uint64))
        stored[matrix.data == 0] = 0  # as if it were not stored
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(stored, dtype=np.uint64)))
        keys: NDArray[np.uint64] = sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]
        return keys
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":  # whoever fits it refuses it
        return np.arange(len(matrix), dtype=np.uint64)
    if is_table(X):
        matrix = _with_codes(plain_features(X), matrix)
    places = np.arange(matrix.shape[1], dtype=np.uint64)[:, None]
    keys = np.empty(len(matrix), dtype=np.uint64)
    for first in range(0, len(matrix), _BLOCK):
        part = slice(first, first + _BLOCK)
        keys[part] = _mixed(_bits(matrix[part].T), places).sum(axis=0, dtype=np.uint64)
    return keys


def _with_codes(X: Any, matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the matrix with numbers for categories, which it has as 0."""
    for place, name in enumerate(column_names(X)):
        if not matrix[:, place].any():
            texts = np.array([str(value) for value in np.asarray(take_column(X, name)[0])])
            matrix[:, place] = np.unique(texts, return_inverse=True)[1]
    return matrix


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    exact = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    return exact.view(np.uint64)


def _mixed(bits: NDArray[np.uint64], places: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well spread bits of values and their columns (the end of splitmix64)."""
    mixed = bits + (places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    spread: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return spread
