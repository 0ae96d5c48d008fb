"""From decimal digits to the nearest floating-point number.

A number of a text is an integer ``digits`` times a power of ten. Where both are small, one division
of exact numbers gives the nearest float64 (Clinger, 1990, "How to read floating point numbers
accurately"). Else the digits are multiplied by the leading 128 bits of the power, which is enough
to see how to round unless the number lies within :math:`2^{-73}` of the middle between two floats
(the idea of Lemire, 2021, "Number parsing at a gigabyte per second"). What remains, ties above all,
is left to Python's big integers: :func:`nearest_float`.
"""

from fractions import Fraction

import numpy as np

from gbrank.core import EXACT_MATH, kernel

#: Powers of ten that a float64 holds exactly.
EXACT_POWERS = np.array([float(10**power) for power in range(23)])
#: The largest integer up to which float64 holds all.
EXACT_DIGITS = np.uint64(2**53)

_LOWEST_POWER = -330
_HIGHEST_POWER = 308

_LOW_HALF = np.uint64(2**32 - 1)
_TOP_BIT = np.uint64(2**63)
_HIDDEN_BIT = np.uint64(2**52)
_FRACTION_BITS = np.uint64(11)
_FRACTION_MASK = np.uint64(2**11 - 1)
_HALF = np.uint64(2**10)
_ALMOST_ONE = np.uint64(2**64 - 4)
_ZERO, _ONE, _TEN, _HALF_WORD = np.uint64(0), np.uint64(1), np.uint64(10), np.uint64(32)

#: The 29 bits that a float64 has more than a float32, and their pattern half way between two.
_EXTRA_BITS = np.uint64(2**29 - 1)
_MIDDLE = np.uint64(2**28)
_SMALLEST_NORMAL_FLOAT32 = 2.0**-126


def _leading_bits_of_powers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for every power of ten, its first 128 bits (two words) and its binary exponent."""
    high, low, exponents = [], [], []
    for power in range(_LOWEST_POWER, _HIGHEST_POWER + 1):
        scale = 128 if power >= 0 else 128 - 4 * power
        scaled = (10 ** max(power, 0) << scale) // 10 ** max(-power, 0)
        length = scaled.bit_length()
        leading = scaled >> (length - 128)
        high.append(leading >> 64)
        low.append(leading & (2**64 - 1))
        exponents.append(length - 1 - scale)
    return np.array(high, np.uint64), np.array(low, np.uint64), np.array(exponents, np.int64)


_HIGH, _LOW, _EXPONENTS = _leading_bits_of_powers()


@kernel(EXACT_MATH)
def _high_word(a, b):
    """Return the upper 64 bits of the product of two words."""
    a_high, a_low = a >> _HALF_WORD, a & _LOW_HALF
    b_high, b_low = b >> _HALF_WORD, b & _LOW_HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF_WORD)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _HALF_WORD) + (other >> _HALF_WORD)


@kernel(EXACT_MATH)
def _scale(digits, power):
    """Return the float64 nearest to digits * 10**power, or NaN where 128 bits do not decide."""
    if power < _LOWEST_POWER or power > _HIGHEST_POWER:
        return np.nan
    shift = 0
    for step in (32, 16, 8, 4, 2, 1):
        if digits >> np.uint64(64 - step) == _ZERO:
            digits <<= np.uint64(step)
            shift += step
    at = power - _LOWEST_POWER
    high = _high_word(digits, _HIGH[at])
    low = digits * _HIGH[at]
    more = _high_word(digits, _LOW[at])
    low += more
    if low < more:
        high += _ONE
    # The product lies between high:low and high:low + 2, in units of the last bit of low.
    exponent = 64 - shift + _EXPONENTS[at]
    if high < _TOP_BIT:
        high = (high << _ONE) | (low >> np.uint64(63))
        low <<= _ONE
        exponent -= 1
    if exponent < -1022:
        return np.nan
    if exponent > 1023:
        return np.inf
    fraction = high & _FRACTION_MASK
    is_tie = fraction == _HALF and low == _ZERO
    if is_tie or (fraction == _HALF - _ONE and low >= _ALMOST_ONE):
        return np.nan
    significand = high >> _FRACTION_BITS
    if fraction >= _HALF:
        significand += _ONE
    # Rounding up to the next power of two carries into the exponent, as it should.
    bits = (np.uint64(exponent + 1023) << np.uint64(52)) + (significand - _HIDDEN_BIT)
    return np.uint64(bits).view(np.float64)


@kernel(EXACT_MATH)
def to_float64(digits, power, cut_off):
    """Return the float64 nearest to a decimal, or NaN where that takes big integers.

    ``cut_off`` says that more digits follow, not all zero.
    """
    if cut_off:
        below, above = _scale(digits, power), _scale(digits + _ONE, power)
        return below if below == above else np.nan
    if digits == _ZERO:
        return 0.0
    if digits <= EXACT_DIGITS:
        if -23 < power <= 0:
            return np.float64(digits) / EXACT_POWERS[-power]
        if 0 < power < 23:
            return np.float64(digits) * EXACT_POWERS[power]
    return _scale(digits, power)


@kernel(EXACT_MATH)
def _is_whole(digits, power):
    while power < 0 and digits % _TEN == _ZERO:
        digits //= _TEN
        power += 1
    return power >= 0


@kernel(EXACT_MATH)
def rounds_twice(value, digits, power, cut_off):
    """Whether rounding a decimal to float64 and then to float32 may miss the nearest float32.

    ``value`` >= 0 is the float64 nearest to the decimal. There is no harm in an integer that it
    holds exactly; other decimals that are half way between two float32 are not told apart from
    those that only seem to be.
    """
    if value < _SMALLEST_NORMAL_FLOAT32:
        return value > 0.0
    if np.float64(value).view(np.uint64) & _EXTRA_BITS != _MIDDLE:
        return False
    return cut_off or value > EXACT_DIGITS or not _is_whole(digits, power)


def nearest_float(text: str, single: bool) -> float:
    """Return the float64, or float32, nearest to a decimal, in exact arithmetic.

    >>> from gbrank.data._decimal import nearest_float
    >>> nearest_float("0.1", single=False)
    0.1
    >>> nearest_float("16777217.0000000001", single=True)  # float64 alone would say ...216
    16777218.0
    """
    double = float(text)
    if not single or double == 0.0 or not np.isfinite(double):
        return double
    with np.errstate(over="ignore"):
        rounded = np.float32(double)
    exact = Fraction(text)
    infinity = np.float32(np.inf)
    with np.errstate(over="ignore"):  # above the largest number there is infinity
        candidates = (np.nextafter(rounded, -infinity), rounded, np.nextafter(rounded, infinity))

    def distance(candidate: np.float32) -> tuple[Fraction, int]:
        # Infinity stands where the next number would be if there were one.
        limit = Fraction(2) ** 128 * (1 if candidate > 0 else -1)
        place = Fraction(float(candidate)) if np.isfinite(candidate) else limit
        return abs(place - exact), int(candidate.view(np.uint32)) & 1

    return float(min(candidates, key=distance))
