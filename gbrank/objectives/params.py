"""Checks of hyper-parameters: errors that name the parameter, what it takes and what it got."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_choice(name: str, value: Any, choices: Sequence[Any], *, also: str = "") -> None:
    """Refuse a value that is not one of ``choices``."""
    if not any(
        value is choice or (type(value) is type(choice) and value == choice) for choice in choices
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
    number = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if number and (low < value if low_open else low <= value) and value <= high:
        return
    if np.isinf(high):
        expected = (
            "a finite number" if np.isinf(low) else f"a number {'>' if low_open else '>='} {low:g}"
        )
    else:
        expected = f"a number in {'(' if low_open else '['}{low:g}, {high:g}]"
    raise ValueError(f"{name} must be {expected}{f' or {also}' if also else ''}, got {value!r}")


def check_whole(name: str, value: Any, *, low: int, also: str = "") -> None:
    """Refuse a value that is not a whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise ValueError(
            f"{name} must be a whole number >= {low}{f' or {also}' if also else ''}, got {value!r}"
        )


def check_seed(value: Any, name: str = "random_state") -> None:
    """Refuse a seed that is not a whole number in [0, 2^32)."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
        raise ValueError(f"{name} must be a whole number from 0 to 2^32 - 1, got {value!r}")
