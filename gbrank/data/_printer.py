"""The kernel that writes features as text, in the fewest digits that read back exactly."""

import math

import numpy as np

from gbrank.core import EXACT_MATH, kernel
from gbrank.data._decimal import EXACT_POWERS, rounds_twice, to_float64

#: No feature takes more bytes than this: a blank, ten digits, a colon, a sign, twenty digits.
BYTES_PER_FEATURE = 40

_SPACE, _MINUS, _POINT, _COLON, _ZERO = 32, 45, 46, 58, 48
_NAN = tuple(b"nan")
_TEN = np.uint64(10)
#: Integers up to here, and products up to here, are exact to the last digit.
_LARGEST = 1e15
_MOST_DIGITS = 15
_MOST_DIGITS_SINGLE = 9
_MOST_DECIMALS = 18


@kernel(EXACT_MATH)
def _write_digits(out, at, digits, n_decimals):
    """Write a number of so many decimals."""
    length = 1
    rest = digits // _TEN
    while rest > np.uint64(0) or length <= n_decimals:
        rest //= _TEN
        length += 1
    if n_decimals > 0:
        length += 1
    for place in range(at + length - 1, at - 1, -1):
        if n_decimals > 0 and place == at + length - 1 - n_decimals:
            out[place] = _POINT
        else:
            out[place] = _ZERO + np.int64(digits % _TEN)
            digits //= _TEN
    return at + length


@kernel(EXACT_MATH)
def _shortest(value, single):
    """Return digits and decimals of the shortest number that reads as ``value``, or -1 decimals.

    The value is positive and not whole. A number counts only if the reader, too, is sure of it.
    """
    exponent = np.int64(np.floor(np.log10(value)))
    for n_digits in range(1, (_MOST_DIGITS_SINGLE if single else _MOST_DIGITS) + 1):
        n_decimals = n_digits - 1 - exponent
        if n_decimals > _MOST_DECIMALS:
            break
        if n_decimals > 0:
            digits = np.uint64(np.rint(value * EXACT_POWERS[n_decimals]))
            back = to_float64(digits, -n_decimals, False)
            if single:
                if np.float32(back) == np.float32(value) and not rounds_twice(
                    back, digits, -n_decimals, False
                ):
                    return digits, n_decimals
            elif back == value:
                return digits, n_decimals
    return np.uint64(0), -1


@kernel(EXACT_MATH)
def write_features(out, at, values, columns, first, last, first_index, single):
    """Write features ``first`` to ``last`` from byte ``at`` on, up to one that is left to Python.

    Returns the next byte, and the feature to go on with: its name is written, but not its value.
    """
    for feature in range(first, last):
        out[at] = _SPACE
        at = _write_digits(out, at + 1, np.uint64(columns[feature] + first_index), 0)
        out[at] = _COLON
        at += 1
        value = np.float64(values[feature])
        if np.isnan(value):
            for letter in _NAN:
                out[at] = letter
                at += 1
            continue
        size = abs(value)
        is_whole = size < _LARGEST and size == math.floor(size)
        digits, n_decimals = np.uint64(size) if is_whole else np.uint64(0), 0
        if not is_whole:
            if size >= _LARGEST:
                return at, feature
            digits, n_decimals = _shortest(size, single)
            if n_decimals < 0:
                return at, feature
        if math.copysign(1.0, value) < 0.0:
            out[at] = _MINUS
            at += 1
        at = _write_digits(out, at, digits, n_decimals)
    return at, last
