"""Ranking by score against Python's own sort, from every kind of starting order."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gbrank.core.sorting import sort_by_score, sort_descending

unhurried = settings(max_examples=100, deadline=None)


def best_first(scores):
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def rank(scores, start):
    """Return the order and the sorted scores that the kernel writes."""
    scores = np.array(scores, dtype=np.float64)
    m = len(scores)
    order, keys = np.array(start, dtype=np.int64), np.full(m, np.nan)
    sort_by_score(scores, order, keys, np.full(m, np.nan), np.full(m, -1, dtype=np.int64))
    return order, keys


def assert_ranked(scores, start):
    order, keys = rank(scores, start)
    expected = best_first(scores)
    assert order.tolist() == expected
    assert keys.tolist() == [scores[i] for i in expected]


SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5]),  # many ties
    st.floats(allow_nan=False),
)


@unhurried
@given(st.lists(SCORES, max_size=150), st.randoms(use_true_random=False))
@example([], None)
@example([1.0], None)
@example([0.0, -0.0, 0.0], None)
@example([np.inf, -np.inf, 1e300, -1e300, np.inf], None)
@example([5e-324, 0.0, -5e-324], None)
def test_higher_scores_first_and_equal_ones_by_row(scores, random):
    start = list(range(len(scores)))
    assert_ranked(scores, start)
    assert_ranked(scores, start[::-1])
    if random is not None:
        random.shuffle(start)
        assert_ranked(scores, start)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_every_order_of_short_lists(m):
    start = list(range(m))
    for scores in itertools.product([0.0, 1.0, 2.0], repeat=m):
        assert_ranked(scores, start)
    for shuffled in itertools.permutations(start):
        assert_ranked([float(i // 2) for i in range(m)], shuffled)


# around the length of a run, its multiples, and powers of two of them
@pytest.mark.parametrize("m", [15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 129, 1000, 4097])
def test_starting_orders_that_take_every_path(m):
    generator = np.random.default_rng(m)
    continuous = generator.normal(size=m)
    for scores in (continuous, np.round(continuous), np.zeros(m), np.arange(m), -np.arange(m)):
        scores = scores.astype(float).tolist()
        sorted_order = np.array(best_first(scores))
        nearly = sorted_order.copy()  # what a boosting step leaves behind: inserted in one pass
        for i in generator.integers(0, m - 1, size=m // 10):
            nearly[[i, i + 1]] = nearly[[i + 1, i]]
        half = np.concatenate(
            [sorted_order[: m // 2], generator.permutation(sorted_order[m // 2 :])]
        )
        one_out = np.roll(sorted_order, 1)
        shuffled = generator.permutation(m)
        for start in (sorted_order, sorted_order[::-1], nearly, half, one_out, shuffled):
            assert_ranked(scores, start.tolist())


def test_a_long_list():
    generator = np.random.default_rng(0)
    scores = np.round(generator.normal(size=200_000), 3)  # with ties
    order, keys = rank(scores, np.arange(len(scores)))
    expected = np.lexsort((np.arange(len(scores)), -scores))
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(keys, scores[expected])


def test_scratch_space_may_be_longer_than_the_list():
    """One block's scratch serves all of its queries; what lies beyond the list is left alone."""
    scores = np.random.default_rng(0).normal(size=40)
    order = np.arange(40)
    keys, spare_keys = np.full(40, 7.0), np.full(64, 7.0)
    spare_order = np.full(64, 7)
    sort_by_score(scores, order, keys, spare_keys, spare_order)
    assert order.tolist() == best_first(scores.tolist())
    assert (spare_keys[40:] == 7.0).all()
    assert (spare_order[40:] == 7).all()


def test_scores_are_only_read():
    scores = np.random.default_rng(0).normal(size=100)
    before = scores.copy()
    rank(scores, range(100))
    sort_by_score(scores, np.arange(100), np.empty(100), np.empty(100), np.empty(100, dtype=int))
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("m", [0, 1, 5, 16, 17, 40, 300])
def test_equal_keys_stay_as_they_come_where_rows_do_not_count(m):
    """Metrics decide about ties by the order in which they list documents."""
    generator = np.random.default_rng(m)
    for keys in (generator.normal(size=m).round(1), np.zeros(m), np.arange(m) // 3.0):
        rows = generator.permutation(m)
        expected = np.argsort(-keys, kind="stable")
        found_keys, found_rows = keys.copy(), rows.copy()
        sort_descending(found_keys, found_rows, m, np.empty(m), np.empty(m, dtype=rows.dtype))
        assert found_keys.tolist() == keys[expected].tolist()
        assert found_rows.tolist() == rows[expected].tolist()
