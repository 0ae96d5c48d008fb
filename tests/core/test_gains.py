"""Gains and discounts as formulas read; ideal DCG against every order of the documents."""

import copy
import itertools
import math
import pickle
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrank.core.gains import PowerDiscount, compute_discounts, compute_gains, ideal_dcg
from gbrank.core.queries import QueryLayout

unhurried = settings(max_examples=50, deadline=None)


def exact_exp_gain(label):
    """Return 2^r - 1 to 40 digits more than float64 holds."""
    with localcontext() as context:
        context.prec = 400
        return Decimal(2) ** Decimal(label) - 1


# --- gains ------------------------------------------------------------------------------------


@unhurried
@given(
    st.lists(st.one_of(st.integers(0, 300), st.floats(0, 1000), st.floats(0, 1)), max_size=20),
    st.booleans(),
)
def test_exp_gain(labels, whole):
    labels = np.array([float(int(label)) if whole else label for label in labels])
    gains = compute_gains(labels, "exp")
    assert gains.dtype == np.float64
    for label, gain in zip(labels.tolist(), gains.tolist(), strict=True):
        exact = exact_exp_gain(label)
        assert abs(Decimal(gain) - exact) <= Decimal("1e-15") * exact + Decimal("5e-324")


def test_exp_gain_of_whole_labels_is_exact():
    labels = np.arange(1001.0)
    assert compute_gains(labels).tolist() == [float(2**label - 1) for label in range(1001)]
    # alone, next to a fraction, and next to labels beyond any table
    for other in (0.0, 0.5, 999.0):
        gains = compute_gains(np.array([0.0, 1.0, 2.0, 10.0, 31.0, other]))
        assert gains[:5].tolist() == [0.0, 1.0, 3.0, 1023.0, 2147483647.0]


@pytest.mark.parametrize("label", [5e-324, 1e-300, 1e-17, 1e-9])
def test_gain_of_a_small_label_is_not_lost(label):
    """2^r - 1 computed as a difference would be 0 here."""
    assert compute_gains(np.array([label]))[0] == pytest.approx(label * math.log(2), rel=1e-8)


@unhurried
@given(st.lists(st.floats(0, 1e300)))
def test_linear_gain(labels):
    given_labels = np.array(labels, dtype=np.float64)
    gains = compute_gains(given_labels, "linear")
    assert gains.tolist() == labels
    assert not np.shares_memory(gains, given_labels)


@pytest.mark.parametrize("table", [[0, 1, 5.5], (0, 1, 5.5), np.array([0, 1, 5.5], dtype="f4")])
def test_gain_table(table):
    assert compute_gains(np.array([2.0, 0.0, -0.0, 1.0]), table).tolist() == [5.5, 0.0, 0.0, 1.0]


def test_gain_function():
    labels = np.array([0.0, 1.0, 2.0])
    assert compute_gains(labels, lambda r: r**2 + 1).tolist() == [1.0, 2.0, 5.0]
    assert compute_gains(labels, lambda r: [int(x) for x in r]).tolist() == [0.0, 1.0, 2.0]
    assert compute_gains(labels, lambda r: r > 0).tolist() == [0.0, 1.0, 1.0]


def test_gain_function_may_work_in_place():
    labels = np.array([0.0, 1.0, 2.0])
    assert compute_gains(labels, lambda r: np.multiply(r, 3.0, out=r)).tolist() == [0.0, 3.0, 6.0]
    same = compute_gains(labels, lambda r: r)
    assert not np.shares_memory(same, labels)
    assert labels.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("gain", ["exp", "linear", [1.0], lambda r: r])
def test_no_labels(gain):
    assert compute_gains(np.empty(0), gain).tolist() == []


LABELS = np.array([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("labels", "gain", "message"),
    [
        (
            [3, 2000],
            "exp",
            r"gain must be finite, >= 0 and at most 2\^1000, but that of label 2000 at row 1 is "
            r'inf; gain="linear" takes labels up to 2\^1000',
        ),
        ([3, 1000.5], "exp", r"gain .* that of label 1000.5 at row 1 is 1.51534e\+301; .*"),
        ([3, 1e305], "linear", r"gain .* that of label 1e\+305 at row 1 is 1e\+305; .*"),
        (LABELS, [0, 1, np.nan], "gain .* that of label 2 at row 2 is nan"),
        (LABELS, [0, -1, 2], "gain .* that of label 1 at row 1 is -1. Negative gains, .*"),
        (LABELS, lambda r: r - 1, "gain .* that of label 0 at row 0 is -1. Negative .*"),
        (LABELS, lambda r: np.where(r > 1, np.inf, r), "gain .* that of label 2 at row 2 is inf"),
        (
            LABELS,
            [0, 1],
            "gain is a table of 2 entries, so labels must be integers from 0 to 1, but row 2 has 2",
        ),
        ([0, 0.5], [0, 1], "gain is a table of 2 entries, .* but row 1 has 0.5"),
        ([0, -1], [0, 1], "gain is a table of 2 entries, .* but row 1 has -1"),
        ([0, 1e300], [0, 1], r"gain is a table of 2 entries, .* but row 1 has 1e\+300"),
        (LABELS, [], r"gain given as a table must be one row of numbers, got shape \(0,\)"),
        (LABELS, [[0, 1, 3]], r"gain given as a table .*, got shape \(1, 3\)"),
        (LABELS, "ex", 'gain must be "exp", "linear", a table of gains or a function, got \'ex\''),
        (
            LABELS,
            lambda r: r[:2],
            r"gain must return one number per label: got shape \(2,\) for labels of shape \(3,\)",
        ),
        (LABELS, lambda r: 1.0, r"gain must return one number per label: got shape \(\) .*"),
    ],
)
def test_bad_gains(labels, gain, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        compute_gains(np.array(labels, dtype=np.float64), gain)


@pytest.mark.parametrize("gain", [None, 3.5, {0: 1}, ["low", "high"], [0, 10**400, 1]])
def test_what_is_no_gain(gain):
    with pytest.raises(TypeError, match=r"^gain must be .*a table of gains or a function, got "):
        compute_gains(LABELS, gain)


def test_gain_function_that_returns_no_numbers():
    with pytest.raises(TypeError, match=r"^gain must return numbers, got 'many'$"):
        compute_gains(LABELS, lambda r: "many")


def test_bad_gain_names_the_query():
    layout = QueryLayout.from_qid(["b", "a", "b"])
    labels = np.array([0.0, 1.0, 1500.0])
    with pytest.raises(ValueError, match=r"label 1500 at row 2 \(query 'b'\) is inf"):
        compute_gains(labels, "exp", layout)
    with pytest.raises(ValueError, match=r"but row 2 \(query 'b'\) has 1500$"):
        compute_gains(labels, [0, 1], layout)


def test_largest_gain_still_sums():
    """2^22 documents of the largest gain have a finite DCG, whatever the discount."""
    n = 2**22
    gains = np.full(n, compute_gains(np.array([1000.0]))[0])
    best = ideal_dcg(gains, np.array([0, n]), np.ones(n))
    assert best[0] == pytest.approx(2.0**1022)


# --- discounts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("discount", "formula"),
    [
        ("log", lambda rank: 1 / math.log2(1 + rank)),
        ("power", lambda rank: 1 / math.sqrt(rank)),
        ("zipf", lambda rank: 1 / rank),
        ("exp", lambda rank: 2.0**-rank),
        (PowerDiscount(0.25), lambda rank: 1 / rank**0.25),
        (PowerDiscount(2), lambda rank: 1 / rank**2),
        (lambda ranks: 1 / (1 + ranks), lambda rank: 1 / (1 + rank)),
        (lambda ranks: [1] * len(ranks), lambda rank: 1.0),
        (lambda ranks: ranks <= 3, lambda rank: float(rank <= 3)),
    ],
)
def test_discounts(discount, formula):
    for n in (0, 1, 2, 7, 3000):
        values = compute_discounts(n, discount)
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, [formula(r) for r in range(1, n + 1)], rtol=1e-15)


def test_default_discount():
    assert compute_discounts(3).tolist() == [1.0, 1 / math.log2(3), 0.5]


@pytest.mark.parametrize(
    ("discount", "message"),
    [
        (lambda ranks: ranks, "that of rank 2 is 2, after 1"),
        (lambda ranks: -ranks, "that of rank 1 is -1"),
        (lambda ranks: 2 - ranks, "that of rank 3 is -1, after 0"),
        (lambda ranks: np.where(ranks == 2, np.nan, 1.0), "that of rank 2 is nan, after 1"),
        (lambda ranks: np.where(ranks == 1, np.inf, 1.0), "that of rank 1 is inf"),
    ],
)
def test_bad_discounts(discount, message):
    expected = "discount must be finite, >= 0 and must not increase with the rank, but "
    with pytest.raises(ValueError, match=f"^{expected}{message}$"):
        compute_discounts(4, discount)


def test_what_is_no_discount():
    with pytest.raises(ValueError, match=r"one of \['exp', 'log', 'power', 'zipf'\] .*got 'lin'$"):
        compute_discounts(3, "lin")
    with pytest.raises(TypeError, match=r"a name or a function of the rank, got \[1, 0.5\]$"):
        compute_discounts(2, [1, 0.5])
    with pytest.raises(ValueError, match=r"one number per rank, got shape \(2,\)$"):
        compute_discounts(3, lambda ranks: ranks[:2])
    with pytest.raises(TypeError, match=r"^discount must return numbers, got 'few'$"):
        compute_discounts(3, lambda ranks: "few")


@pytest.mark.parametrize("beta", [0, -1.0, math.nan, math.inf, "1", None, 1j, [1.0]])
def test_bad_exponent(beta):
    with pytest.raises(ValueError, match=r"^beta must be a finite number > 0, got "):
        PowerDiscount(beta)


def test_power_discount_is_a_value():
    discount = PowerDiscount(0.25)
    assert discount == PowerDiscount(0.25) != PowerDiscount(0.5)
    assert discount != 0.25
    assert len({discount, PowerDiscount(0.25), PowerDiscount(0.5)}) == 2
    assert repr(discount) == "PowerDiscount(0.25)"
    assert pickle.loads(pickle.dumps(discount)) == copy.deepcopy(discount) == discount


# --- ideal DCG --------------------------------------------------------------------------------


@unhurried
@given(
    st.lists(st.lists(st.integers(0, 4), max_size=5), max_size=4),
    st.one_of(st.none(), st.integers(0, 9)),
    st.sampled_from(["log", "power", "zipf", "exp"]),
)
def test_ideal_dcg_is_the_best_of_all_orders(queries, k, discount):
    gains = np.array([gain for query in queries for gain in query], dtype=np.float64)
    bounds = np.cumsum([0, *map(len, queries)])
    discounts = compute_discounts(5, discount)
    depth = 5 if k is None else k
    best = [
        max(
            sum(g * d for g, d in zip(order[:depth], discounts, strict=False))
            for order in itertools.permutations(query)
        )
        for query in queries
    ]
    np.testing.assert_allclose(ideal_dcg(gains, bounds, discounts, k), best, rtol=1e-14)


def test_ideal_dcg_with_fewer_discounts_than_documents():
    """Ranks beyond the last discount count nothing; a kernel would read what lies in memory."""
    gains, bounds = np.arange(1.0, 101.0), np.array([0, 100])
    for k in (None, 2, 3, 100):
        assert ideal_dcg(gains, bounds, np.array([1.0, 0.5]), k).tolist() == [100 + 0.5 * 99]


def test_ideal_dcg_leaves_the_gains_in_order():
    gains = np.array([1.0, 3.0, 2.0])
    assert ideal_dcg(gains, np.array([0, 3]), compute_discounts(3))[0] == pytest.approx(
        3 + 2 / math.log2(3) + 1 / 2
    )
    assert gains.tolist() == [1.0, 3.0, 2.0]
