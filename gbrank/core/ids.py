"""Ids of any kind, as codes in the order of their first appearance."""

import itertools
import sys
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core.typing import IntArray
from gbrank.core.validation import check_present, one_dimensional


def as_ids(qid: Any) -> Any:
    """Return query ids as a one-dimensional array, or as the pandas object they came in."""
    if is_pandas_column(qid):
        return qid
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(qid, polars.Series):
        qid = qid.to_numpy()  # not by np.asarray, whose text loses zeros at its end
    if isinstance(qid, list | tuple):
        kinds = set(map(type, qid))
        # NumPy would turn 1 and "1" into the same string, "a" and "a\0" into the same array entry,
        # tuples into a matrix, and integers, next to fractions or beyond 2^63, into floats.
        if len(kinds) == 1 and not kinds & {str, bytes, tuple}:
            values = one_dimensional(qid, "qid")
            if kinds != {int} or values.dtype.kind != "f":
                return values
        return np.fromiter(qid, dtype=object, count=len(qid))
    return one_dimensional(qid, "qid")


def is_pandas_column(values: Any) -> bool:
    """Return whether values are a Series, an Index or an array of pandas: entries by row."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(
        values,
        pandas.Series | pandas.Index | pandas.Categorical | pandas.api.extensions.ExtensionArray,
    )


def number_runs(values: Any) -> tuple[IntArray, IntArray, NDArray[Any]]:
    """Cut the rows into runs of equal ids and number the ids by first appearance.

    Returns the first row of each run, the number of its id, and the ids by number.
    """
    if is_pandas_column(values):
        codes, ids = _number_pandas(values)
        starts = _run_starts(codes)
        return starts, codes[starts], ids
    if values.dtype.kind == "O":  # comparing two entries may give anything
        codes, first = _number_hashables(values.tolist())
        starts = _run_starts(codes)
        return starts, codes[starts], values[first]
    if values.dtype.kind in "fcmM":
        check_present(np.isnan(values) if values.dtype.kind in "fc" else np.isnat(values), "qid")
    if values.dtype.kind == "T":  # its missing entries compare in ways of their own
        return number_runs(values.astype(object))
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
        _check_hashable(list(values))
        raise
    check_present(codes < 0, "qid")
    ids = np.asarray(distinct)
    if ids.dtype.kind == "f":  # NaN that is not among what pandas calls missing
        check_present(np.isnan(ids)[codes], "qid")
    return codes.astype(np.int64), ids


def _number_hashables(entries: list[Any]) -> tuple[IntArray, IntArray]:
    """Number by first appearance; return a number per entry and the first place of each number."""
    numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    try:
        codes = np.fromiter(map(numbers.__getitem__, entries), dtype=np.int64, count=len(entries))
    except TypeError:
        _check_hashable(entries)
        raise
    missing = np.array([is_missing(entry) for entry in numbers], dtype=np.bool_)
    if missing.any():
        check_present(missing[codes], "qid")
    first = np.empty(len(numbers), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last to be written stays
    return codes, first


def is_missing(entry: Any) -> bool:
    """Return True for None, NaN, NaT and pandas' NA."""
    try:
        return entry is None or not bool(entry == entry)
    except TypeError:  # NA is neither equal nor unequal
        return True


def _as_bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits per number or date, the same for equal ones."""
    if values.dtype.kind in "biu":
        return values.astype(np.uint64)
    if values.dtype.kind == "f":
        return (values.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    return values.astype(np.int64).view(np.uint64)


def _number_bits(keys: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Do what :func:`_number_hashables` does, by sorting."""
    order = stable_argsort(keys)
    ordered = keys[order]
    heads = np.ones(len(keys), dtype=np.bool_)
    heads[1:] = ordered[1:] != ordered[:-1]
    first = order[heads]
    appearance = stable_argsort(first)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[appearance] = np.arange(len(first))
    codes = np.empty(len(keys), dtype=np.int64)
    codes[order] = numbers[np.cumsum(heads) - 1]
    return codes, first[appearance]


def stable_argsort(keys: NDArray[Any]) -> IntArray:
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


def _check_hashable(entries: list[Any]) -> None:
    for row, entry in enumerate(entries):
        try:
            hash(entry)
        except TypeError:
            raise TypeError(
                f"qid entries must be hashable, but that of row {row} is of type "
                f"{type(entry).__name__}"
            ) from None
