"""Hyper-parameters: what passes, and the words for what does not."""

import decimal
import fractions
import re

import numpy as np
import pytest

from gbrank.core.validation import check_choice, check_integer, check_number, check_seed


@pytest.mark.parametrize("value", ["a", "b", np.str_("a"), None, True, np.True_, 0, np.int64(0)])
def test_choices(value):
    check_choice("mode", value, ("a", "b", None, True, 0))


@pytest.mark.parametrize("value", [1, 1.0, False, 0.0, "A", "", b"a", [], np.array(["a"]), np.nan])
def test_bad_choices(value):
    """1 is not True and 0.0 is not 0: each would be taken for another parameter's value."""
    expected = f"mode must be 'a' or 'b' or None or True or 0 or a table, got {value!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        check_choice("mode", value, ("a", "b", None, True, 0), also="a table")


def test_choice_without_alternative():
    with pytest.raises(ValueError, match=r"^mode must be 'a' or 'b', got 'c'$"):
        check_choice("mode", "c", ("a", "b"))


@pytest.mark.parametrize(
    "value", [0, 1, 0.5, 1e-320, np.float32(0.5), np.float16(1), np.int8(1), np.uint64(0), -0.0]
)
def test_numbers_within_bounds(value):
    check_number("rate", value, low=0.0, high=1.0)
    check_number("rate", value, low=0.0)
    check_number("rate", value)


@pytest.mark.parametrize("value", [-1e-320, np.nextafter(1, 2), -1, 2, np.float16(2), 10**400])
def test_numbers_out_of_bounds(value):
    expected = f"rate must be a number in [0, 1], got {value!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        check_number("rate", value, low=0.0, high=1.0)


def test_open_bounds():
    check_number("rate", 5e-324, low=0.0, low_open=True)
    with pytest.raises(ValueError, match=r"^rate must be a number > 0, got 0.0$"):
        check_number("rate", 0.0, low=0.0, low_open=True)
    with pytest.raises(ValueError, match=r"^rate must be a number in \(0, 1\], got 0$"):
        check_number("rate", 0, low=0.0, high=1.0, low_open=True)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "1",
        True,
        np.True_,
        np.nan,
        1j,
        [1.0],
        np.array(1.0),
        np.array([1.0]),
        fractions.Fraction(1, 2),  # no kernel takes these two
        decimal.Decimal("0.5"),
    ],
    ids=repr,
)
def test_what_is_no_number(value):
    expected = f'rate must be a number >= 0 or "auto", got {value!r}'
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        check_number("rate", value, low=0.0, also='"auto"')
    with pytest.raises(ValueError, match=r"^rate must be a finite number, got "):
        check_number("rate", value)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.float32("inf"), 10**400, -(10**400)])
def test_numbers_must_be_finite(value):
    with pytest.raises(ValueError, match=r"^rate must be a finite number, got "):
        check_number("rate", value)
    with pytest.raises(ValueError, match=r"^rate must be a finite number >= 0, got "):
        check_number("rate", value, low=0.0)


@pytest.mark.parametrize("value", [1, 7, np.int8(1), np.uint64(7), 2**63 - 1])
def test_whole_numbers(value):
    check_integer("k", value, low=1)


@pytest.mark.parametrize("value", [0, -1, 1.0, 2.5, True, np.True_, "3", None, [1], np.nan])
def test_bad_whole_numbers(value):
    expected = f"k must be an integer >= 1 or None, got {value!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        check_integer("k", value, low=1, also="None")


@pytest.mark.parametrize("value", [2**63, np.uint64(2**63), 10**30])
def test_whole_numbers_that_no_kernel_can_hold(value):
    expected = f"k must be an integer >= 1 and < 2^63, got {value!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        check_integer("k", value, low=1)


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, np.int64(5), np.uint32(2**32 - 1)])
def test_seeds(seed):
    check_seed(seed)


@pytest.mark.parametrize(
    "seed",
    [-1, 2**32, 10**30, 0.0, True, "0", None, np.random.default_rng(0), np.nan],
    ids=lambda seed: "generator" if isinstance(seed, np.random.Generator) else repr(seed),
)
def test_bad_seeds(seed):
    expected = f"integer from 0 to 2^32 - 1, got {seed!r}"
    with pytest.raises(ValueError, match=f"^random_state must be an {re.escape(expected)}$"):
        check_seed(seed)
    with pytest.raises(ValueError, match=f"^shuffle_seed must be an {re.escape(expected)}$"):
        check_seed(seed, "shuffle_seed")
