"""The kernels that read LETOR text, byte by byte, each line once.

A line is ``<label> qid:<query> <feature>:<value> ... # comment``. The bytes from ``begin`` to
``end`` are whole lines, the last byte is a line feed: every loop ends there at the latest.
"""

import numpy as np

from gbrank._compile import EXACT_MATH, kernel
from gbrank.data._decimal import EXACT_DIGITS, EXACT_POWERS, rounds_twice, to_float64

# How the reading of some lines ended; the position given is that of the token at fault.
DONE = 0
BAD_LABEL = 1
NO_QID = 2
BAD_QID = 3
BAD_FEATURE = 4
INDEX_TOO_SMALL = 5
INDEX_TOO_LARGE = 6
INDEX_NOT_ASCENDING = 7
BAD_VALUE = 8

# What a token turned out to be.
_DECIMAL = 0
_NAN = 1
_INFINITE = 2
_NO_NUMBER = 3

_LINE_FEED, _RETURN, _TAB, _SPACE = 10, 13, 9, 32
_HASH, _PLUS, _MINUS, _POINT, _COLON, _NINE = 35, 43, 45, 46, 58, 57
_LOWER_E = 101
_LOWER = 32  # the bit that makes a letter lower case

_TEN = np.uint64(10)
_MOST_DIGITS = 19  # as many as an unsigned 64-bit integer always holds
_MOST_EXPONENT = 100_000
_LARGEST_INT64 = np.uint64(2**63 - 1)


@kernel(EXACT_MATH)
def count_lines(text, begin, end):
    """Count the line feeds and the colons."""
    lines = 0
    colons = 0
    for at in range(begin, end):
        lines += text[at] == _LINE_FEED
        colons += text[at] == _COLON
    return lines, colons


@kernel(EXACT_MATH)
def _ends_token(byte):
    return byte <= _SPACE and (
        byte == _SPACE or byte == _LINE_FEED or byte == _TAB or byte == _RETURN
    ) or byte == _HASH


@kernel(EXACT_MATH)
def _matches(text, at, word):
    """Tell whether a whole token, in any case, is this word of lower-case letters."""
    for letter in word:
        if text[at] | _LOWER != letter:
            return False
        at += 1
    return _ends_token(text[at])


_NAN_LETTERS = tuple(b"nan")
_NULL_LETTERS = tuple(b"null")
_INF_LETTERS = tuple(b"inf")
_INFINITY_LETTERS = tuple(b"infinity")


@kernel(EXACT_MATH)
def _read_number(text, at):
    """Read any number: return what it is, its sign, digits, power, whether digits were cut off."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    digits = np.uint64(0)
    power = 0
    n_digits = 0
    n_seen = 0
    cut_off = False
    after_point = False
    while True:
        byte = text[at]
        if 48 <= byte <= _NINE:
            n_seen += 1
            if n_digits < _MOST_DIGITS:
                digits = digits * _TEN + np.uint64(byte - 48)
                n_digits += digits > 0
                power -= after_point
            else:
                cut_off |= byte != 48
                power += not after_point
        elif byte == _POINT and not after_point:
            after_point = True
        else:
            break
        at += 1
    if n_seen == 0:
        kind = _NO_NUMBER
        if not after_point:
            if _matches(text, at, _NAN_LETTERS) or _matches(text, at, _NULL_LETTERS):
                kind = _NAN
            elif _matches(text, at, _INF_LETTERS) or _matches(text, at, _INFINITY_LETTERS):
                kind = _INFINITE
        return kind, negative, digits, power, cut_off
    if text[at] | _LOWER == _LOWER_E:
        at += 1
        minus = text[at] == _MINUS
        if minus or text[at] == _PLUS:
            at += 1
        exponent = 0
        start = at
        while 48 <= text[at] <= _NINE:
            exponent = min(exponent * 10 + text[at] - 48, _MOST_EXPONENT)
            at += 1
        if at == start:
            return _NO_NUMBER, negative, digits, power, cut_off
        power += -exponent if minus else exponent
    kind = _DECIMAL if _ends_token(text[at]) else _NO_NUMBER
    return kind, negative, digits, power, cut_off


@kernel(EXACT_MATH)
def _read_value(text, at, single):
    """Return (is a number, needs big integers, value)."""
    kind, negative, digits, power, cut_off = _read_number(text, at)
    if kind == _NO_NUMBER:
        return False, False, 0.0
    if kind == _NAN:
        return True, False, np.nan
    value = np.inf if kind == _INFINITE else to_float64(digits, power, cut_off)
    hard = np.isnan(value) or (single and rounds_twice(value))
    return True, hard, -value if negative else value


@kernel(EXACT_MATH)
def _read_whole_number(text, at):
    """Return (fits 64 bits, value) of a whole number that ends its token."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    start = at
    number = np.uint64(0)
    while 48 <= text[at] <= _NINE:
        number = number * _TEN + np.uint64(text[at] - 48)
        at += 1
    fits = 0 < at - start <= _MOST_DIGITS and number <= _LARGEST_INT64 and _ends_token(text[at])
    return fits, -np.int64(number) if negative else np.int64(number)


@kernel(EXACT_MATH)
def _skip_token(text, at):
    while not _ends_token(text[at]):
        at += 1
    return at


@kernel(EXACT_MATH)
def _skip_blanks(text, at):
    while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
        at += 1
    return at


@kernel(EXACT_MATH)
def parse_lines(
    text,
    begin,
    end,
    single,
    first_index,
    most_columns,
    width,
    missing,
    values,
    columns,
    row_ends,
    labels,
    qids,
    comments,
    hard,
):
    """Read whole lines into arrays, from row 0 on.

    Parameters
    ----------
    text : uint8 array.
    begin, end : which bytes to read; the last is a line feed.
    single : whether values will be float32.
    first_index : 0 or 1, the number of the first feature.
    most_columns : a feature beyond these is an error.
    width : columns of a dense result, or -1 for a sparse one.
    missing : value of features that a line of a dense result does not name.
    values : float32 or float64, flat: rows of ``width`` values, or the values that are not 0.
    columns, row_ends : sparse: the column of each value, the number of values up to each row.
    labels, qids : float64 and int64, one per row.
    comments : int64 (n_rows, 2), where the comment of each row begins and ends, or no rows.
    hard : int64 (n, 3), filled with first byte, last byte and place of values that need big
        integers: a place in ``values``, or -1 - row for a label. Those beyond n are counted only.

    Returns
    -------
    (status, position of an error, rows, values, columns needed, hard values)
    """
    row = 0
    n_values = 0
    n_hard = 0
    needed = 0
    sparse = width < 0
    with_comments = len(comments) > 0
    at = begin
    while at < end:
        at = _skip_blanks(text, at)
        byte = text[at]
        if byte == _LINE_FEED:
            at += 1
            continue
        if byte == _HASH:
            while text[at] != _LINE_FEED:
                at += 1
            continue

        is_number, is_hard, label = _read_value(text, at, False)
        if not is_number or (not is_hard and not np.isfinite(label)):
            return BAD_LABEL, at, row, n_values, needed, n_hard
        start = at
        at = _skip_token(text, at)
        labels[row] = label
        if is_hard:
            if n_hard < len(hard):
                hard[n_hard, 0] = start
                hard[n_hard, 1] = at
                hard[n_hard, 2] = -1 - row
            n_hard += 1

        at = _skip_blanks(text, at)
        if not (
            text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == _COLON
        ):
            return NO_QID, at, row, n_values, needed, n_hard
        fits, qid = _read_whole_number(text, at + 4)
        if not fits:
            return BAD_QID, at, row, n_values, needed, n_hard
        qids[row] = qid
        at = _skip_token(text, at)

        first_value = 0 if sparse else row * width
        column = -1
        while True:
            at = _skip_blanks(text, at)
            byte = text[at]
            if byte == _LINE_FEED or byte == _HASH:
                break
            start = at
            index = 0
            while 48 <= byte <= _NINE:
                index = index * 10 + (byte - 48)
                at += 1
                byte = text[at]
            if byte != _COLON or at == start:
                return BAD_FEATURE, start, row, n_values, needed, n_hard
            if at - start > 10:
                return INDEX_TOO_LARGE, start, row, n_values, needed, n_hard
            index -= first_index
            if index <= column:
                if index < 0:
                    return INDEX_TOO_SMALL, start, row, n_values, needed, n_hard
                return INDEX_NOT_ASCENDING, start, row, n_values, needed, n_hard
            if index >= most_columns:
                return INDEX_TOO_LARGE, start, row, n_values, needed, n_hard

            # Nearly all values are a few digits with or without a point; the others are read anew.
            at += 1
            value_start = at
            byte = text[at]
            negative = byte == _MINUS
            if negative:
                at += 1
                byte = text[at]
            first_digit = at
            digits = np.uint64(0)
            while 48 <= byte <= _NINE:
                digits = digits * _TEN + np.uint64(byte - 48)
                at += 1
                byte = text[at]
            n_digits = at - first_digit
            power = 0
            if byte == _POINT:
                at += 1
                byte = text[at]
                first_digit = at
                while 48 <= byte <= _NINE:
                    digits = digits * _TEN + np.uint64(byte - 48)
                    at += 1
                    byte = text[at]
                power = at - first_digit
                n_digits += power
            if 0 < n_digits <= _MOST_DIGITS and digits <= EXACT_DIGITS and _ends_token(byte):
                value = np.float64(digits) / EXACT_POWERS[power]
                is_hard = single and power > 0 and rounds_twice(value)
                if negative:
                    value = -value
            else:
                is_number, is_hard, value = _read_value(text, value_start, single)
                if not is_number:
                    return BAD_VALUE, start, row, n_values, needed, n_hard
                at = _skip_token(text, value_start)

            if sparse:
                place = n_values
                if value == 0.0 and not is_hard:
                    place = -1
                else:
                    columns[place] = index
                    values[place] = value
                    n_values += 1
                needed = max(needed, index + 1)
            else:
                place = first_value + index
                if index < width:
                    for gap in range(first_value + column + 1, place):
                        values[gap] = missing
                    values[place] = value
                else:
                    needed = max(needed, index + 1)
            column = index
            if is_hard:
                if n_hard < len(hard):
                    hard[n_hard, 0] = value_start
                    hard[n_hard, 1] = at
                    hard[n_hard, 2] = place
                n_hard += 1

        if sparse:
            row_ends[row] = n_values
        else:
            for gap in range(first_value + column + 1, first_value + width):
                values[gap] = missing
        start = at
        while text[at] != _LINE_FEED:
            at += 1
        if with_comments:
            comments[row, 0] = min(start + 1, at)
            comments[row, 1] = at
        row += 1
        at += 1
    return DONE, at, row, n_values, needed, n_hard
