"""Perturbed labels: how many, which, by what, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gbrank.simulate import perturb_labels

UNTOUCHED = 9  # no default probability draws it, so whatever differs from it was replaced


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=8),
    fraction=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_each_query_loses_exactly_the_rounded_number_of_labels(sizes, fraction, seed):
    qid = np.repeat(np.arange(len(sizes)), sizes)
    shuffled = np.random.default_rng(seed).permutation(len(qid))
    noisy = perturb_labels(np.full(len(qid), UNTOUCHED), qid[shuffled], fraction, random_state=seed)
    for query, size in enumerate(sizes):
        replaced = (noisy[qid[shuffled] == query] != UNTOUCHED).sum()
        assert replaced == round(fraction * size)


@pytest.mark.parametrize(
    ("size", "fraction", "replaced"),
    [(1, 0.5, 0), (1, 0.51, 1), (3, 0.5, 2), (5, 0.5, 2), (10, 0.15, 2), (10, 0.25, 2), (7, 1, 7)],
)
def test_halves_are_rounded_to_even(size, fraction, replaced):
    noisy = perturb_labels(np.full(size, UNTOUCHED), np.zeros(size), fraction)
    assert (noisy != UNTOUCHED).sum() == replaced


def test_new_labels_have_the_given_frequencies():
    probabilities = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    labels = np.full(200_000, UNTOUCHED)
    noisy = perturb_labels(labels, np.repeat(np.arange(2000), 100), 0.3, random_state=5)
    counts = np.bincount(noisy[noisy != UNTOUCHED])
    assert counts.sum() == 60_000
    assert stats.chisquare(counts, 60_000 * probabilities).pvalue > 1e-3


def test_probabilities_of_zero_are_never_drawn():
    noisy = perturb_labels(np.full(10_000, 7), np.zeros(10_000), 1.0, [0, 0.5, 0, 0.5, 0])
    assert set(noisy) == {1, 3}


def test_every_pair_of_places_is_drawn_equally_often():
    n_queries, size = 40_000, 5
    qid = np.repeat(np.arange(n_queries), size)
    noisy = perturb_labels(np.full(len(qid), UNTOUCHED), qid, 0.4, random_state=11)
    places = np.flatnonzero(noisy != UNTOUCHED).reshape(n_queries, 2) % size
    counts = np.bincount(places[:, 0] * size + places[:, 1], minlength=size * size)
    upper = np.triu_indices(size, 1)
    assert counts.sum() == counts.reshape(size, size)[upper].sum()
    assert stats.chisquare(counts.reshape(size, size)[upper]).pvalue > 1e-3


def test_new_label_does_not_depend_on_the_old_one_nor_on_the_place():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 100_000)
    qid = np.repeat(np.arange(1000), 100)
    noisy = perturb_labels(labels, qid, 1.0, random_state=2)
    place = np.arange(len(labels)) % 10
    for by in (labels, place):
        table = np.zeros((by.max() + 1, 5))
        np.add.at(table, (by, noisy), 1)
        assert stats.chi2_contingency(table).pvalue > 1e-3


def test_noise_of_a_larger_fraction_contains_that_of_a_smaller_one():
    labels = np.full(3000, UNTOUCHED)
    qid = np.repeat(np.arange(100), 30)
    few = perturb_labels(labels, qid, 0.2, random_state=4)
    many = perturb_labels(labels, qid, 0.6, random_state=4)
    replaced = few != UNTOUCHED
    assert replaced.sum() == 600
    np.testing.assert_array_equal(many[replaced], few[replaced])


def test_seeds_reproduce_and_differ():
    labels, qid = np.full(500, UNTOUCHED), np.repeat(np.arange(50), 10)
    first = perturb_labels(labels, qid, 0.5, random_state=1)
    np.testing.assert_array_equal(first, perturb_labels(labels, qid, 0.5, random_state=1))
    assert (first != perturb_labels(labels, qid, 0.5, random_state=2)).any()
    generator = np.random.default_rng(1)
    np.testing.assert_array_equal(first, perturb_labels(labels, qid, 0.5, random_state=generator))
    assert (first != perturb_labels(labels, qid, 0.5, random_state=generator)).any()
    assert (labels == UNTOUCHED).all()


def test_default_seed_is_zero():
    labels, qid = np.full(100, UNTOUCHED), np.zeros(100)
    np.testing.assert_array_equal(
        perturb_labels(labels, qid, 0.5), perturb_labels(labels, qid, 0.5, random_state=0)
    )


def test_fraction_zero_changes_nothing_and_returns_a_copy():
    labels = np.array([3.5, 0.0, 1.0])
    noisy = perturb_labels(labels, ["a", "b", "a"], 0)
    np.testing.assert_array_equal(noisy, labels)
    noisy[0] = 0.0
    assert labels[0] == 3.5


def test_no_documents():
    assert len(perturb_labels(np.zeros(0), np.zeros(0), 0.5)) == 0


@pytest.mark.parametrize(
    ("given_labels", "dtype"),
    [
        (np.zeros(4, np.int8), np.int8),
        (np.zeros(4, np.int64), np.int64),
        (np.zeros(4, np.float32), np.float32),
        (np.zeros(4, bool), np.int8),
        ([0, 1, 2, 3], np.int64),
        (np.array([0, 1, 2, 3], dtype=object), np.float64),
    ],
)
def test_dtype_holds_old_and_new_labels(given_labels, dtype):
    noisy = perturb_labels(given_labels, np.zeros(4), 1.0, [0, 0, 0, 0, 1])
    assert noisy.dtype == dtype
    assert (noisy == 4).all()


def test_small_dtype_grows_for_large_new_labels():
    probabilities = np.zeros(301)
    probabilities[300] = 1
    noisy = perturb_labels(np.zeros(3, np.int8), np.zeros(3), 1.0, probabilities)
    assert (noisy == 300).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fraction": 1.5}, r"fraction must be a number in \[0, 1\], got 1.5"),
        ({"fraction": -0.1}, r"fraction must be a number in \[0, 1\], got -0.1"),
        ({"fraction": float("nan")}, r"fraction must be a number in \[0, 1\], got nan"),
        ({"fraction": "half"}, r"fraction must be a number in \[0, 1\], got 'half'"),
        ({"probabilities": [0.5, 0.4]}, "probabilities must sum to 1, they sum to 0.9"),
        ({"probabilities": [1.5, -0.5]}, r"probabilities\[1\] is -0.5"),
        ({"probabilities": []}, "probabilities must be one row of numbers"),
        ({"probabilities": 1.0}, "probabilities must be one row of numbers"),
        ({"labels": [0, -1, 2]}, r"labels must be finite numbers >= 0, but row 1 \(query 'a'\)"),
        ({"labels": [0, 1, np.nan]}, r"row 2 \(query 'b'\) has nan"),
        ({"labels": [0, 1]}, "labels must have one entry per row: got 2 for 3 rows"),
        ({"random_state": -1}, "random_state must be an integer >= 0"),
        ({"random_state": "seed"}, "random_state must be an integer >= 0"),
    ],
)
def test_bad_input_is_named(arguments, message):
    good = {"labels": [0, 1, 2], "qid": ["a", "a", "b"], "fraction": 0.5}
    with pytest.raises(ValueError, match=message):
        perturb_labels(**{**good, **arguments})
