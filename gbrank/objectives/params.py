"""Checks of hyper-parameters: errors that name the parameter, what it takes and what it got."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np


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
    also: str = "",
) -> None:
    """Refuse a value that is not a finite number between ``low`` and ``high``."""
    number = _as_float(value)
    if abs(number) < np.inf and (low < number if low_open else low <= number) and number <= high:
        return
    if np.isinf(high):
        finite = "finite " if np.isinf(low) or np.isinf(number) else ""
        bound = "" if np.isinf(low) else f" {'>' if low_open else '>='} {low:g}"
        expected = f"a {finite}number{bound}"
    else:
        expected = f"a number in {'(' if low_open else '['}{low:g}, {high:g}]"
    raise ValueError(f"{name} must be {expected}{f' or {also}' if also else ''}, got {value!r}")


def _as_float(value: Any) -> float:
    """Return a number of Python or NumPy as float, anything else as NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def check_whole(name: str, value: Any, *, low: int, also: str = "") -> None:
    """Refuse a value that is not a whole number of at least ``low`` that 64 bits can hold."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= int(value) < 2**63:
        below = " and < 2^63" if whole and int(value) >= 2**63 else ""
        raise ValueError(
            f"{name} must be a whole number >= {low}{below}{f' or {also}' if also else ''}, "
            f"got {value!r}"
        )


def check_seed(value: Any, name: str = "random_state") -> None:
    """Refuse a seed that is not a whole number in [0, 2^32)."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
        raise ValueError(f"{name} must be a whole number from 0 to 2^32 - 1, got {value!r}")
