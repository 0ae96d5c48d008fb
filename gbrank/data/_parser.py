"""The kernel that reads LETOR text, byte by byte, each line once.

A line is ``<label> qid:<query> <feature>:<value> ... # comment``. The bytes from ``begin`` to
``end`` are whole lines and the last byte is a line feed: every loop ends there at the latest.

Places in the text are unsigned: numba tests a signed index for being negative at every byte, which
halves the speed. An unsigned number and a signed one make a float, so the two are kept apart.
"""

import numpy as np

from gbrank.core import EXACT_MATH, kernel
from gbrank.data._decimal import EXACT_DIGITS, EXACT_POWERS, rounds_twice, to_float64

# How the reading of some lines ended. The position that comes with an error is that of the token.
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
_HASH, _PLUS, _MINUS, _POINT, _COLON, _ZERO, _NINE = 35, 43, 45, 46, 58, 48, 57
_LOWER_CASE = 32  # the bit by which a letter differs from its capital
_E, _Q, _I, _D = 101, 113, 105, 100
_NAN_WORD, _NULL_WORD = tuple(b"nan"), tuple(b"null")
_INF_WORD, _INFINITY_WORD = tuple(b"inf"), tuple(b"infinity")

_NEXT = np.uintp(1)
_TEN = np.uint64(10)
_MOST_DIGITS = 19  # as many as an unsigned 64-bit number always holds
_MOST_INDEX_DIGITS = 10
_MOST_EXPONENT = 10**12  # more than any number of digits could make up for
_LARGEST_INT64 = np.uint64(2**63 - 1)


@kernel(EXACT_MATH)
def _ends_token(byte):
    return byte <= _HASH and (byte in (_SPACE, _LINE_FEED, _HASH, _TAB, _RETURN))


@kernel(EXACT_MATH)
def _skip_blanks(text, at):
    while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
        at += _NEXT
    return at


@kernel(EXACT_MATH)
def _skip_token(text, at):
    while not _ends_token(text[at]):
        at += _NEXT
    return at


@kernel(EXACT_MATH)
def _is_word(text, at, word):
    """Return whether a token is this word, in whatever case."""
    for letter in word:
        if text[at] | _LOWER_CASE != letter:
            return False
        at += _NEXT
    return _ends_token(text[at])


@kernel(EXACT_MATH)
def _kind_of_word(text, at):
    if _is_word(text, at, _NAN_WORD) or _is_word(text, at, _NULL_WORD):
        return _NAN
    if _is_word(text, at, _INF_WORD) or _is_word(text, at, _INFINITY_WORD):
        return _INFINITE
    return _NO_NUMBER


@kernel(EXACT_MATH)
def _count_leading_zeros(text, at):
    zeros = 0
    while text[at] == _ZERO or text[at] == _POINT:
        zeros += text[at] == _ZERO
        at += _NEXT
    return zeros


@kernel(EXACT_MATH)
def _read_exponent(text, at):
    """Return the exponent that begins with the letter at ``at``, and where it ends.

    Without a single digit it ends at the letter, which ends no token.
    """
    letter = at
    at += _NEXT
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += _NEXT
    first = at
    exponent = 0
    while _ZERO <= text[at] <= _NINE:
        exponent = min(exponent * 10 + text[at] - _ZERO, _MOST_EXPONENT)
        at += _NEXT
    return -exponent if negative else exponent, letter if at == first else at


@kernel(EXACT_MATH)
def _read_number(text, at):
    """Return what a token is, its sign, digits, power of ten, and whether digits were cut off."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += _NEXT
    first = at
    digits = np.uint64(0)
    power = 0
    n_digits = 0
    cut_off = False
    after_point = False
    while True:
        byte = text[at]
        if _ZERO <= byte <= _NINE:
            if n_digits < _MOST_DIGITS:
                digits = digits * _TEN + np.uint64(byte - _ZERO)
                if digits > np.uint64(0):
                    n_digits += 1
                power -= after_point
            else:
                cut_off |= byte != _ZERO
                power += not after_point
        elif byte == _POINT and not after_point:
            after_point = True
        else:
            break
        at += _NEXT
    n_bytes = np.int64(at - first)
    if n_bytes == after_point:  # no digit at all
        kind = _kind_of_word(text, at) if n_bytes == 0 else _NO_NUMBER
        return kind, negative, digits, power, cut_off
    if text[at] | _LOWER_CASE == _E:
        exponent, at = _read_exponent(text, at)
        power += exponent
    kind = _DECIMAL if _ends_token(text[at]) else _NO_NUMBER
    return kind, negative, digits, power, cut_off


@kernel(EXACT_MATH)
def _read_value(text, at, single):
    """Return whether a token is a number, whether it needs big integers, and its value."""
    kind, negative, digits, power, cut_off = _read_number(text, at)
    if kind == _NO_NUMBER:
        return False, False, 0.0
    if kind == _NAN:
        return True, False, np.nan
    value = np.inf if kind == _INFINITE else to_float64(digits, power, cut_off)
    is_hard = np.isnan(value) or (single and rounds_twice(value, digits, power, cut_off))
    return True, is_hard, -value if negative else value


@kernel(EXACT_MATH)
def _read_whole_number(text, at):
    """Return whether a token is an integer of 64 bits, and its value."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += _NEXT
    first = at
    number = np.uint64(0)
    while _ZERO <= text[at] <= _NINE:
        number = number * _TEN + np.uint64(text[at] - _ZERO)
        at += _NEXT
    n_digits = np.int64(at - first)
    fits = 0 < n_digits <= _MOST_DIGITS and number <= _LARGEST_INT64 and _ends_token(text[at])
    return fits, -np.int64(number) if negative else np.int64(number)


@kernel(EXACT_MATH)
def _note(hard, n_hard, first, last, place):
    if n_hard < len(hard):
        hard[n_hard, 0] = np.int64(first)
        hard[n_hard, 1] = np.int64(last)
        hard[n_hard, 2] = place
    return n_hard + 1


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
    begin, end : which bytes to read, unsigned; the last is a line feed.
    single : whether ``values`` is float32.
    first_index : 0 or 1, the number of the first feature.
    most_columns : features beyond these are an error.
    width : columns of a dense result, or -1 for a sparse one.
    missing : value of the features that a line of a dense result does not name.
    values : float32 or float64, flat: rows of ``width`` values, or the values other than 0.
    columns, row_ends : of a sparse result: the column of each value, the values up to each row.
    labels, qids : float64 and int64, one per row.
    comments : int64 (n_rows, 2), the begin and end of the comment of each row, or no rows.
    hard : int64 (n, 3), filled with the begin, end and place of values that need big integers:
        an index of ``values``, or -1 - row for a label. Those beyond n are only counted.

    Returns
    -------
    (status, position of an error, rows, values, columns seen, hard values)
    """
    row = 0
    n_values = 0
    n_hard = 0
    n_columns = 0
    is_sparse = width < 0
    with_comments = len(comments) > 0
    status = DONE
    at = begin
    start = begin
    while at < end:
        at = _skip_blanks(text, at)
        start = at
        if text[at] in (_LINE_FEED, _HASH):
            while text[at] != _LINE_FEED:
                at += _NEXT
            at += _NEXT
            continue

        is_number, is_hard, label = _read_value(text, at, False)
        if not is_number or (not is_hard and not np.isfinite(label)):
            status = BAD_LABEL
            break
        labels[row] = label
        at = _skip_token(text, at)
        if is_hard:
            n_hard = _note(hard, n_hard, start, at, -1 - row)

        at = _skip_blanks(text, at)
        start = at
        for letter in (_Q, _I, _D, _COLON):
            if text[at] != letter:
                status = NO_QID
                break
            at += _NEXT
        if status != DONE:
            break
        is_number, qids[row] = _read_whole_number(text, at)
        if not is_number:
            status = BAD_QID
            break
        at = _skip_token(text, at)

        first_place = row * width
        last_index = -1
        while True:
            at = _skip_blanks(text, at)
            byte = text[at]
            if byte in (_LINE_FEED, _HASH):
                break
            start = at
            index = 0
            while _ZERO <= byte <= _NINE:
                index = index * 10 + (byte - _ZERO)
                at += _NEXT
                byte = text[at]
            n_digits = np.int64(at - start)
            if byte != _COLON or n_digits == 0:
                status = BAD_FEATURE
                break
            index -= first_index
            if n_digits > _MOST_INDEX_DIGITS or index >= most_columns:
                status = INDEX_TOO_LARGE
                break
            if index <= last_index:
                status = INDEX_TOO_SMALL if index < 0 else INDEX_NOT_ASCENDING
                break

            # Plain decimals and those with an exponent are read here, anything else again.
            at += _NEXT
            value_start = at
            byte = text[at]
            negative = byte == _MINUS
            if negative:
                at += _NEXT
                byte = text[at]
            first_digit = at
            digits = np.uint64(0)
            while _ZERO <= byte <= _NINE:
                digits = digits * _TEN + np.uint64(byte - _ZERO)
                at += _NEXT
                byte = text[at]
            n_digits = np.int64(at - first_digit)
            decimals = np.uintp(0)
            if byte == _POINT:
                at += _NEXT
                byte = text[at]
                first_decimal = at
                while _ZERO <= byte <= _NINE:
                    digits = digits * _TEN + np.uint64(byte - _ZERO)
                    at += _NEXT
                    byte = text[at]
                decimals = at - first_decimal
                n_digits += np.int64(decimals)
            if n_digits > _MOST_DIGITS:
                n_digits -= _count_leading_zeros(text, first_digit)
            power = -np.int64(decimals)
            if byte | _LOWER_CASE == _E:
                exponent, at = _read_exponent(text, at)
                power += exponent
                byte = text[at]
            if 0 < n_digits <= _MOST_DIGITS and _ends_token(byte):
                if digits <= EXACT_DIGITS and -23 < power <= 0:
                    value = np.float64(digits) / EXACT_POWERS[np.uintp(-power)]
                    is_hard = single and rounds_twice(value, digits, power, False)
                else:
                    value = to_float64(digits, power, False)
                    is_hard = np.isnan(value) or (
                        single and rounds_twice(value, digits, power, False)
                    )
                if negative:
                    value = -value
            else:
                is_number, is_hard, value = _read_value(text, value_start, single)
                if not is_number:
                    status = BAD_VALUE
                    break
                at = _skip_token(text, value_start)

            n_columns = max(n_columns, index + 1)
            place = n_values if is_sparse else first_place + index
            if is_sparse:
                if value != 0.0 or is_hard:
                    columns[place] = index
                    values[place] = value
                    n_values += 1
            elif index < width:
                for gap in range(first_place + last_index + 1, place):
                    values[gap] = missing
                values[place] = value
            if is_hard:
                n_hard = _note(hard, n_hard, value_start, at, place)
            last_index = index

        if status != DONE:
            break
        if is_sparse:
            row_ends[row] = n_values
        else:
            for gap in range(first_place + last_index + 1, first_place + width):
                values[gap] = missing
        start = at
        while text[at] != _LINE_FEED:
            at += _NEXT
        if with_comments:
            comments[row, 0] = min(np.int64(start) + 1, np.int64(at))
            comments[row, 1] = np.int64(at)
        row += 1
        at += _NEXT
    return status, np.int64(start), row, n_values, n_columns, n_hard
