"""How items, query ids, positions and weights of observations are read, before a layout is known.

The rules for ids are those of :mod:`gbrank.core.ids`; what differs is that an entry belongs to an
observation, not to a row, and errors say so.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import (
    FloatArray,
    IntArray,
    as_ids,
    as_numbers,
    is_missing,
    number_runs,
    one_dimensional,
)

#: What an item may be: a row of X, a key that each row has, or a place among the rows of its query.
ITEM_KINDS = ("row", "key", "position")
_LARGEST_WEIGHT = float(np.finfo(np.float32).max)


class Ids:
    """Ids of any kind, as a number per entry and the distinct ids by number."""

    __slots__ = ("codes", "distinct")

    def __init__(self, codes: IntArray, distinct: NDArray[Any]) -> None:
        self.codes = codes
        self.distinct = distinct

    def __getitem__(self, chosen: IntArray) -> "Ids":
        """Return some entries, and of the distinct ids those that are left."""
        left, codes = np.unique(self.codes[chosen], return_inverse=True)
        return Ids(codes.astype(np.int64), self.distinct[left])

    def numbered_by(self, table: NDArray[Any]) -> IntArray:
        """Return for each entry the place of its id in a table, -1 where it has none."""
        return _places_in(table, self.distinct)[self.codes]

    def entry(self, at: int) -> Any:
        """Return one id as a plain Python object."""
        return self.distinct[self.codes[at] : self.codes[at] + 1].tolist()[0]


def _places_in(table: NDArray[Any], wanted: NDArray[Any]) -> IntArray:
    if len(table) and all(np.can_cast(array.dtype, np.int64) for array in (table, wanted)):
        order = np.argsort(table, kind="stable")
        at = np.minimum(np.searchsorted(table, wanted, sorter=order), len(table) - 1)
        return np.where(table[order[at]] == wanted, order[at], -1)
    # equal ids of different types, such as 1 and 1.0, have the same hash
    places = {entry: place for place, entry in enumerate(table.tolist())}
    found = [places.get(entry, -1) for entry in wanted.tolist()]
    return np.array(found, dtype=np.int64)


def read_ids(values: Any, name: str) -> Ids:
    """Number ids; missing and unhashable ones are errors."""
    try:
        array = as_ids(values)
        if isinstance(array, np.ndarray) and array.dtype.kind in "iu" and len(array):
            low, high = int(array.min()), int(array.max())
            if high - low < 2 * len(array) + 1024:  # so near to each other that a table is short
                return _number_small(array, low, high)
        starts, codes, distinct = number_runs(array)
    except (TypeError, ValueError) as error:
        text = str(error).replace("qid", name).replace("row", "entry")
        raise type(error)(text) from None
    lengths = np.diff(starts, append=len(array))
    return Ids(np.repeat(codes, lengths), distinct)


def _number_small(array: NDArray[Any], low: int, high: int) -> Ids:
    if array.dtype == np.uint64:  # which int64 cannot hold, though it can hold the differences
        offsets = (array - np.uint64(low)).astype(np.int64)
    else:
        offsets = array.astype(np.int64) - low
    present = np.zeros(high - low + 1, dtype=np.bool_)
    present[offsets] = True
    numbers = np.cumsum(present, dtype=np.int64) - 1
    distinct: NDArray[Any]
    if array.dtype == np.uint64:
        distinct = np.flatnonzero(present).astype(np.uint64) + np.uint64(low)
    else:
        distinct = np.flatnonzero(present) + low
    return Ids(numbers[offsets], distinct)


def read_items(values: Any, name: str, kind: str) -> IntArray | Ids:
    """Return rows or positions as int64, keys as :class:`Ids`."""
    if kind == "key":
        return read_ids(values, name)
    try:
        return read_integers(values, name)
    except TypeError as error:
        raise TypeError(f'{error}; for items that are not {kind}s give items="key"') from None


def read_integers(values: Any, name: str, *, low: int = 0) -> IntArray:
    """Return integers >= ``low`` as int64; say which entry is none."""
    array = one_dimensional(values, name)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and len(array) and int(array.max()) >= 2**63:
            raise ValueError(f"{name} must be integers below 2^63, got {array.max()}")
        integers = np.array(array, dtype=np.int64)  # a copy: the caller's array may change
        wrong = integers < low
    else:
        numbers = as_numbers(values if len(array) else np.empty(0), name)
        wrong = ~((numbers >= low) & (numbers == np.floor(numbers)) & (numbers < 2.0**53))
        integers = np.where(wrong, low, numbers).astype(np.int64)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be integers >= {low}, but entry {at} is {array.tolist()[at]!r}"
        )
    return integers


def read_clicks(values: Any) -> IntArray:
    """Return clicked positions; None, NaN and -1 all mean that nothing was clicked."""
    array = one_dimensional(values, "clicked")
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), -1.0, array)
    elif array.dtype.kind == "O":
        array = np.array([-1 if is_missing(entry) else entry for entry in array.tolist()])
    return read_integers(array, "clicked", low=-1)


def read_weight(
    weight: Any, count: int, name: str = "weight", of: str = "observation"
) -> FloatArray | None:
    """Return one finite weight >= 0 per observation (or edge), or None."""
    if weight is None:
        return None
    values = as_numbers(weight, name)
    check_count(len(values), count, name, of)
    wrong = ~((values >= 0) & (values < np.inf))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be finite numbers >= 0, but that of {of} {at} is {values[at]:g}"
        )
    # As for weights of rows; sums of larger ones might overflow.
    if values.max(initial=0.0) > _LARGEST_WEIGHT:
        at = int(np.argmax(values))
        raise ValueError(
            f"{name} must be at most {_LARGEST_WEIGHT:g}, the largest number of single precision, "
            f"but that of {of} {at} is {values[at]:g}"
        )
    return values.copy()


def check_count(got: int, expected: int, name: str, of: str = "observation") -> None:
    """Raise an error for an argument that has not one entry per observation (or edge)."""
    if got != expected:
        raise ValueError(f"{name} must have one entry per {of}: got {got} for {expected} {of}s")


def read_ragged(values: Any, lengths: Any, name: str) -> tuple[Any, IntArray]:
    """Return the entries of all lists in one row, and where each list begins.

    ``values`` is a list of lists, or with ``lengths`` already flat.
    """
    if lengths is None:
        try:
            lists = [list(entry) for entry in values]
        except TypeError:
            raise TypeError(
                f"{name} must be a list of lists, or flat with lengths= (entries of each list)"
            ) from None
        flat: Any = list(itertools.chain.from_iterable(lists))
        sizes = np.array([len(entry) for entry in lists], dtype=np.int64)
    else:
        if not hasattr(values, "__len__"):
            raise TypeError(f"{name} must be a list or an array, got {type(values).__name__}")
        flat, sizes = values, read_integers(lengths, "lengths")
        if int(sizes.sum()) != len(flat):
            raise ValueError(
                f"lengths must sum to the number of entries of {name}: they sum to "
                f"{int(sizes.sum())}, there are {len(flat)}"
            )
    bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return flat, bounds
