"""LETOR text read slowly: regular expressions, Python floats and fractions."""

import re
from fractions import Fraction

import numpy as np

NUMBER = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:nan|null|inf|infinity))"
LINE = re.compile(
    rf"[ \t\r]*(?P<label>{NUMBER})[ \t\r]+qid:(?P<qid>[+-]?\d{{1,19}})"
    rf"(?P<features>(?:[ \t\r]+\d+:{NUMBER})*)[ \t\r]*(?:#.*)?",
    re.ASCII | re.DOTALL,
)
BLANK = re.compile(r"[ \t\r]*(#.*)?", re.DOTALL)


def read_number(text: str) -> float:
    return float("nan") if text.lower().endswith("null") else float(text)


def read_line(line: str, first_index: int = 1) -> tuple[float, int, dict[int, str]] | None:
    """Return label, query and the text of each value, or None if the line is malformed."""
    match = LINE.fullmatch(line)
    if not match or not np.isfinite(read_number(match["label"])):
        return None
    qid = int(match["qid"])
    if abs(qid) > 2**63 - 1:
        return None
    features = {}
    last = -1
    for token in match["features"].split():
        name, value = token.split(":")
        column = int(name) - first_index
        if column <= last or len(name) > 10:
            return None
        features[column] = value
        last = column
    return read_number(match["label"]), qid, features


def is_nearest(value: np.floating, text: str) -> bool:
    """Return whether no other number of its type is nearer to a decimal, ties going to even."""
    dtype = type(value)
    plain = read_number(text)
    if np.isnan(plain) or "inf" in text.lower():
        return bool(np.array_equal(dtype(plain), value, equal_nan=True))
    exact = Fraction(text)
    if np.signbit(value) != text.startswith("-"):
        return False
    bits = np.uint32 if dtype is np.float32 else np.uint64

    def place(number: np.floating) -> Fraction:
        if np.isinf(number):  # where the next power of two would be
            largest = np.finfo(dtype).max
            step = Fraction(float(largest)) - Fraction(float(np.nextafter(largest, dtype(0))))
            return (Fraction(float(largest)) + step) * (1 if number > 0 else -1)
        return Fraction(float(number))

    if np.isinf(value) and abs(exact) > abs(place(value)):
        return True
    distance = abs(place(value) - exact)
    for direction in (-np.inf, np.inf):
        with np.errstate(over="ignore"):
            other = np.nextafter(value, dtype(direction))
        if other == value:
            continue
        gap = abs(place(other) - exact)
        if gap < distance or (gap == distance and int(value.view(bits)) & 1):
            return False
    return True
