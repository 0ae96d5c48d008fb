"""Every check of an argument: errors that name it, what it takes and what came."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core.typing import FloatArray

if TYPE_CHECKING:  # a layout is made from checked arguments
    from gbrank.core.queries import QueryLayout


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint for an error message: the most similar known name, or nothing.

    >>> from gbrank.core import did_you_mean
    >>> did_you_mean("ndgc", ["err", "ndcg"])
    "; did you mean 'ndcg'?"
    """
    similar = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def check_choice(name: str, value: Any, choices: Sequence[Any], *, also: str = "") -> None:
    """Refuse a value that is not one of ``choices``; 1 is not True, NumPy's True is."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not any(
        plain is choice or (type(plain) is type(choice) and plain == choice) for choice in choices
    ):
        expected = " or ".join([*(repr(choice) for choice in choices), *([also] if also else [])])
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    low_open: bool = False,
    high_open: bool = False,
    also: str = "",
) -> None:
    """Refuse a value that is not a finite number between ``low`` and ``high``."""
    number = _as_float(value)
    above = low < number if low_open else low <= number
    if abs(number) < np.inf and above and (number < high if high_open else number <= high):
        return
    if np.isinf(high):
        finite = "finite " if np.isinf(low) or np.isinf(number) else ""
        bound = "" if np.isinf(low) else f" {'>' if low_open else '>='} {low:g}"
        expected = f"a {finite}number{bound}"
    else:
        low_bracket, high_bracket = "(" if low_open else "[", ")" if high_open else "]"
        expected = f"a number in {low_bracket}{low:g}, {high:g}{high_bracket}"
    raise ValueError(f"{name} must be {expected}{f' or {also}' if also else ''}, got {value!r}")


def _as_float(value: Any) -> float:
    """Return a number of Python or NumPy as float, anything else as NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def check_integer(
    name: str, value: Any, *, low: int, high: int = 2**63 - 1, also: str = ""
) -> None:
    """Refuse a value that is not an integer from ``low`` to ``high``, which 64 bits can hold."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= int(value) <= high:
        limit = "< 2^63" if high == 2**63 - 1 else f"<= {high}"
        below = f" and {limit}" if whole and int(value) > high else ""
        raise ValueError(
            f"{name} must be an integer >= {low}{below}{f' or {also}' if also else ''}, "
            f"got {value!r}"
        )


def check_seed(value: Any, name: str = "random_state") -> None:
    """Refuse a seed that is not an integer in [0, 2^32)."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
        raise ValueError(f"{name} must be an integer from 0 to 2^32 - 1, got {value!r}")


def check_random_state(random_state: Any) -> np.random.Generator:
    """Return the generator that ``random_state`` stands for.

    Parameters
    ----------
    random_state : an integer >= 0 (the same numbers every time), ``None`` (other numbers every
        time), or a ``numpy.random.Generator``, which is used as it is and moves on.

    Examples
    --------
    >>> from gbrank.core.validation import check_random_state
    >>> int(check_random_state(0).integers(100)) == int(check_random_state(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    is_number = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not is_number or random_state < 0:
        raise ValueError(
            "random_state must be an integer >= 0, None or a numpy.random.Generator, "
            f"got {random_state!r}"
        )
    return np.random.default_rng(int(random_state))


def check_probabilities(probabilities: ArrayLike, name: str) -> FloatArray:
    """Return probabilities that sum to 1; refuse negative ones, and those that do not."""
    try:
        values = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, got {probabilities!r}") from None
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be one row of numbers, got shape {values.shape}")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{name} must be finite and >= 0, but {name}[{at}] is {values[at]:g}")
    if abs(values.sum() - 1.0) > 1e-8:
        raise ValueError(f"{name} must sum to 1, they sum to {values.sum():g}")
    normalised: FloatArray = values / values.sum()
    return normalised


def check_labels(
    labels: ArrayLike,
    layout: QueryLayout | None = None,
    *,
    signed: bool = False,
    name: str = "labels",
) -> FloatArray:
    """Return labels as contiguous float64; refuse all but finite numbers >= 0 (or ``signed``).

    ``name`` is what errors call them.
    """
    values = as_numbers(labels, name)
    _check_length(values, layout, name)
    expected = f"{name} must be finite numbers" + ("" if signed else " >= 0")
    _check_range(-np.inf if signed else 0.0, values, layout, expected)
    return values


def count_rows(values: Any, name: str) -> int:
    """Return the number of entries of a one-dimensional argument, before anything else is known."""
    return len(one_dimensional(values, name))


def check_scores(
    scores: ArrayLike, layout: QueryLayout | None = None, *, finite: bool = True
) -> FloatArray:
    """Return scores as contiguous float64; refuse NaN and infinities, if asked to."""
    values = as_numbers(scores, "scores")
    _check_length(values, layout, "scores")
    if finite:
        _check_range(-np.inf, values, layout, "scores must be finite numbers")
    return values


def check_weights(
    weights: ArrayLike, layout: QueryLayout | None = None, *, name: str = "weights"
) -> FloatArray:
    """Return weights, one per row, as contiguous float64; refuse NaN, infinities and negatives.

    ``name`` is what errors call them.
    """
    values = as_numbers(weights, name)
    _check_length(values, layout, name)
    _check_range(0.0, values, layout, f"{name} must be finite numbers >= 0")
    return values


def check_positions(positions: ArrayLike, layout: QueryLayout) -> NDArray[np.int64]:
    """Return positions, one per row, as int64; refuse all but integers >= 0."""
    values = as_numbers(positions, "position")
    _check_length(values, layout, "position")
    wrong = ~((values >= 0) & (values == np.floor(values)) & (values < 2**31))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"position must be an integer >= 0, but {layout.describe_row(row)} has {values[row]:g}"
        )
    return values.astype(np.int64)


def check_query_weights(weights: ArrayLike, layout: QueryLayout) -> FloatArray:
    """Return one weight per query, given per query or per row (then constant within a query).

    As many weights as rows are always one per row, as ``sample_weight`` is everywhere else. That
    matters only where queries without rows make up for the longer ones, so that there are as many
    queries as rows. Weights per row leave a query without rows the weight 0.
    """
    values = as_numbers(weights, "sample_weight")
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


def as_numbers(values: Any, name: str) -> FloatArray:
    """Return a one-dimensional, contiguous, writable float64 array."""
    array = one_dimensional(values, name)
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


def one_dimensional(values: Any, name: str) -> NDArray[Any]:
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
        check_present(np.ma.getmaskarray(values), name)
    return array


def _check_length(values: FloatArray, layout: QueryLayout | None, name: str) -> None:
    if layout is not None and len(values) != layout.n_rows:
        raise ValueError(
            f"{name} must have one entry per row: got {len(values)} for {layout.n_rows} rows"
        )


def _check_range(
    lowest: float, values: FloatArray, layout: QueryLayout | None, expected: str
) -> None:
    """Refuse NaN, infinities and values below ``lowest``; say which row comes first."""
    # NaN passes no comparison, so two plain passes clear good input
    if len(values) == 0 or (-np.inf < values.min() >= lowest and values.max() < np.inf):
        return
    row = int(np.argmax(~np.isfinite(values) | (values < lowest)))
    where = f"row {row}" if layout is None else layout.describe_row(row)
    raise ValueError(f"{expected}, but {where} has {values[row]:g}")


def check_present(missing: NDArray[np.bool_], name: str) -> None:
    """Raise an error that names the first entry that is missing, if one is."""
    if missing.any():
        where = _place(name, int(np.argmax(missing)))
        raise ValueError(f"{name} must not be missing, but that of {where} is")


def _place(name: str, at: int) -> str:
    return f"query {at}" if name == "group" else f"row {at}"


def one_column(y: Any, name: str = "labels") -> NDArray[Any]:
    """Return values by row as one-dimensional; a single column is taken as such."""
    try:
        values = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    except ValueError:  # NumPy's words for nested lists of different lengths
        raise ValueError(f"{name} must be one-dimensional, got a nested list") from None
    return values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values
