"""Added documents: how many, from where, and how often each."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from gbrank.simulate import add_negatives


@settings(deadline=None)  # the first call compiles
@given(
    sizes=st.lists(st.integers(1, 9), min_size=3, max_size=8),
    fraction=st.floats(0, 0.7),
    seed=st.integers(0, 1000),
    draw=st.sampled_from(["documents", "queries"]),
)
def test_each_query_grows_by_different_documents_of_other_queries(sizes, fraction, seed, draw):
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(qid), 2))
    labels = rng.integers(1, 5, len(qid))
    wanted = [round(fraction * size) for size in sizes]
    if any(more > len(qid) - size for more, size in zip(wanted, sizes, strict=True)):
        with pytest.raises(ValueError, match="documents more for query"):
            add_negatives(X, labels, qid, fraction, random_state=seed)
        return
    padded = add_negatives(X, labels, qid, fraction, draw=draw, random_state=seed)
    assert list(dict.fromkeys(padded.qid)) == list(dict.fromkeys(qid))
    assert (np.diff(padded.qid) != 0).sum() == len(sizes) - 1  # contiguous
    np.testing.assert_array_equal(padded.X, X[padded.rows])
    for query, size in enumerate(sizes):
        rows = padded.rows[padded.qid == query]
        np.testing.assert_array_equal(rows[:size], np.flatnonzero(qid == query))
        added = rows[size:]
        assert len(added) == wanted[query] == len(set(added))
        assert (qid[added] != query).all()
        new_labels = padded.labels[padded.qid == query]
        np.testing.assert_array_equal(new_labels[:size], labels[qid == query])
        assert not new_labels[size:].any()


def test_every_set_of_other_documents_is_equally_likely():
    """Query 0 of each block of three gets two of the block's other five documents."""
    counts = {}
    for seed in range(6000):
        padded = add_negatives(np.zeros((7, 1)), np.ones(7), [0, 0, 1, 1, 1, 2, 2], 1.0,
                               random_state=seed)  # fmt: skip
        drawn = tuple(sorted(padded.rows[2:4]))
        counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == 10
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_queries_first_as_the_symbols_of_the_paper_say():
    """Query 0 gets two documents: of query 1, which has rows 2 to 4, and query 2, row 5 alone."""
    counts = {}
    for seed in range(6000):
        padded = add_negatives(np.zeros((7, 1)), np.ones(7), [0, 0, 1, 1, 1, 2, 0], 2 / 3,
                               draw="queries", random_state=seed)  # fmt: skip
        drawn = tuple(padded.rows[3:5])
        counts[drawn] = counts.get(drawn, 0) + 1
    # the document of query 2 first, then the others alike; one of query 1, then 1/2 and 2 * 1/4
    expected = {(5, row): 1 / 2 / 3 for row in (2, 3, 4)}
    for row in (2, 3, 4):
        expected[row, 5] = 1 / 2 / 3 * 1 / 2
        expected |= {(row, other): 1 / 2 / 3 / 4 for other in {2, 3, 4} - {row}}
    assert sum(expected.values()) == pytest.approx(1)
    assert counts.keys() == expected.keys()
    observed = [counts[drawn] for drawn in expected]
    assert stats.chisquare(observed, 6000 * np.array([*expected.values()])).pvalue > 1e-3
    with pytest.raises(ValueError, match="draw must be 'documents' or 'queries', got 'rows'"):
        add_negatives(np.zeros((2, 1)), np.ones(2), [0, 1], 1.0, draw="rows")


@pytest.mark.parametrize("draw", ["documents", "queries"])
def test_a_larger_fraction_adds_the_same_first(draw):
    qid = np.repeat(np.arange(30), 10)
    X, labels = np.zeros((300, 1)), np.ones(300)
    few, many = (add_negatives(X, labels, qid, f, draw=draw, random_state=3) for f in (0.3, 2.5))
    for query in range(30):
        small, large = few.rows[few.qid == query], many.rows[many.qid == query]
        assert (len(small), len(large)) == (13, 35)
        np.testing.assert_array_equal(large[:13], small)


def test_all_other_documents_can_be_drawn():
    padded = add_negatives(np.zeros((6, 1)), np.ones(6), [0, 0, 0, 1, 1, 1], 1.0)
    assert sorted(padded.rows[3:6]) == [3, 4, 5]
    assert sorted(padded.rows[9:]) == [0, 1, 2]


def test_seeds_reproduce_and_differ():
    qid = np.repeat(np.arange(20), 10)
    X, labels = np.zeros((200, 1)), np.ones(200)
    first = add_negatives(X, labels, qid, 0.5, random_state=1).rows
    np.testing.assert_array_equal(first, add_negatives(X, labels, qid, 0.5, random_state=1).rows)
    assert (first != add_negatives(X, labels, qid, 0.5, random_state=2).rows).any()
    default = add_negatives(X, labels, qid, 0.5).rows
    np.testing.assert_array_equal(default, add_negatives(X, labels, qid, 0.5, random_state=0).rows)


def test_fraction_zero_and_single_query():
    padded = add_negatives(np.eye(3), [1, 0, 2], ["b", "a", "b"], 0)
    np.testing.assert_array_equal(padded.rows, [0, 2, 1])
    assert list(padded.qid) == ["b", "b", "a"]
    alone = add_negatives(np.eye(2), [1, 0], [7, 7], 0.0)
    np.testing.assert_array_equal(alone.labels, [1, 0])
    # one document, a fraction that rounds to none
    assert len(add_negatives(np.eye(2), [1, 0], [1, 2], 0.5).rows) == 2


def test_kinds_of_input_stay_what_they_are():
    qid = pd.Series(["x", "y", "x", "y"])
    frame = pd.DataFrame({"f": [1.0, 2.0, 3.0, 4.0]})
    padded = add_negatives(frame, np.array([1, 2, 3, 4], np.int8), qid, 0.5)
    assert isinstance(padded.X, pd.DataFrame)
    assert list(padded.qid) == ["x", "x", "x", "y", "y", "y"]
    assert padded.labels.dtype == np.int8
    matrix = sparse.coo_matrix(frame.to_numpy())
    thin = add_negatives(matrix, [1, 2, 3, 4], list("xyxy"), 0.5)
    np.testing.assert_array_equal(thin.X.toarray().ravel(), np.array([1, 2, 3, 4])[thin.rows])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fraction": -0.1}, "fraction must be a number >= 0, got -0.1"),
        ({"fraction": "half"}, "fraction must be a number >= 0, got 'half'"),
        (
            {"fraction": 2.0},
            "asks for 4 documents more for query 'a', but the other queries have 1",
        ),
        ({"labels": [0, 1]}, "labels must have one entry per row: got 2 for 3 rows"),
        ({"qid": ["a", "b"]}, "qid must have one entry per row: got 2 for 3 rows"),
        ({"random_state": -1}, "random_state must be an integer >= 0"),
    ],
)
def test_bad_input_is_named(change, message):
    good = {"X": np.eye(3), "labels": [0, 1, 2], "qid": ["a", "a", "b"], "fraction": 0.5}
    with pytest.raises(ValueError, match=message):
        add_negatives(**{**good, **change})
