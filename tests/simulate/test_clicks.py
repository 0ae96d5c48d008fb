"""Simulated clicks: frequencies against their closed forms, and what is shown."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from gbrank.simulate import as_selections, cascade_clicks, position_based_clicks

CHANCES = np.array([0.1, 0.4, 0.8])
LABELS = np.array([1, 0, 2, 0])
N = 30_000


def split(clicks):
    """Return the rows and clicks of each impression."""
    cuts = np.flatnonzero(np.diff(clicks.impressions)) + 1
    return list(zip(np.split(clicks.rows, cuts), np.split(clicks.clicks, cuts), strict=True))


def stop_positions(labels, order):
    """Return the probability that the list shown in ``order`` stops at each rank, and at none."""
    chances, reached = [], 1.0
    for row in order:
        chances.append(reached * CHANCES[labels[row]])
        reached *= 1 - CHANCES[labels[row]]
    return np.array([*chances, reached])


def test_cascade_stops_where_its_closed_form_says_for_a_given_order():
    scores = [0.3, 0.9, 0.1, 0.5]  # shown: 1, 3, 0, 2
    shown = cascade_clicks(LABELS, np.zeros(4), CHANCES, N, scores=scores, keep_unclicked=True)
    counts = np.zeros(5)
    for rows, clicks in split(shown):
        assert rows.tolist() == [1, 3, 0, 2][: len(rows)]
        assert clicks.sum() <= 1
        counts[len(rows) - 1 if clicks.any() else 4] += 1
    assert stats.chisquare(counts, N * stop_positions(LABELS, [1, 3, 0, 2])).pvalue > 1e-3


def test_cascade_clicks_documents_as_often_as_the_mean_over_orders():
    expected = np.zeros(5)
    for order in permutations(range(4)):
        chances = stop_positions(LABELS, order)
        expected[list(order)] += chances[:4] / 24
        expected[4] += chances[4] / 24
    shown = cascade_clicks(LABELS, np.zeros(4), CHANCES, N, random_state=3)
    counts = np.bincount(shown.rows[shown.clicks == 1], minlength=5)
    counts[4] = N - counts.sum()
    assert stats.chisquare(counts, N * expected).pvalue > 1e-3


def test_random_orders_are_uniform_and_independent_of_the_query():
    shown = cascade_clicks([0, 0, 0], ["q"] * 3, [0.0], 6000, keep_unclicked=True)
    orders = shown.rows.reshape(-1, 3)
    counts = np.bincount(orders @ [9, 3, 1])
    assert (counts > 0).sum() == 6
    assert stats.chisquare(counts[counts > 0]).pvalue > 1e-3


def test_an_impression_ends_with_its_click():
    shown = cascade_clicks(LABELS, np.zeros(4), CHANCES, 500)
    for _, clicks in split(shown):
        assert clicks[-1] == 1
        assert not clicks[:-1].any()


def test_unclicked_impressions_are_dropped_unless_kept():
    kept = cascade_clicks(LABELS, np.zeros(4), CHANCES, 500, keep_unclicked=True)
    dropped = cascade_clicks(LABELS, np.zeros(4), CHANCES, 500)
    with_click = {n for n in range(500) if kept.clicks[kept.impressions == n].any()}
    assert set(kept.impressions) == set(range(500))
    assert set(dropped.impressions) == with_click != set(range(500))
    np.testing.assert_array_equal(
        dropped.rows, kept.rows[np.isin(kept.impressions, list(with_click))]
    )


def test_whoever_clicks_with_a_small_probability_clicks_with_a_larger_one():
    qid = np.repeat(np.arange(50), 8)
    labels = np.random.default_rng(0).integers(0, 3, 400)
    few = cascade_clicks(labels, qid, [0.1, 0.4, 0.8], 10)
    many = cascade_clicks(labels, qid, [0.5, 0.4, 0.8], 10)
    lengths = dict(zip(*np.unique(many.impressions, return_counts=True), strict=True))
    for number, size in zip(*np.unique(few.impressions, return_counts=True), strict=True):
        assert lengths[number] <= size


def test_rows_in_any_order_and_impression_numbers():
    labels, qid = np.array([1, 0, 1, 0, 0]), ["b", "a", "b", "a", "b"]
    shown = cascade_clicks(labels, qid, [0, 1], 3, keep_unclicked=True)
    assert (np.diff(shown.impressions) >= 0).all()
    for number, (rows, clicks) in enumerate(split(shown)):
        assert {qid[row] for row in rows} == {"ba"[number // 3]}
        assert clicks.any() == (number // 3 == 0)
        if not clicks.any():
            assert sorted(rows) == [1, 3]


def test_one_document_and_no_relevant_document():
    single = cascade_clicks([2], ["a"], CHANCES, 20_000, keep_unclicked=True)
    counts = np.bincount(single.clicks)
    assert stats.chisquare(counts, 20_000 * np.array([0.2, 0.8])).pvalue > 1e-3
    never = cascade_clicks([0, 0], ["a", "a"], [0.0, 1.0], 5)
    assert [len(part) for part in never] == [0, 0, 0]
    always = cascade_clicks([0, 0], ["a", "a"], [1.0], 5)
    assert len(always.rows) == 5  # the first document each time
    assert [len(part) for part in cascade_clicks([], [], CHANCES, 5)] == [0, 0, 0]


def test_position_based_frequencies():
    examination = np.array([1.0, 0.5, 0.2])
    scores = [4.0, 3.0, 2.0, 1.0]
    shown = position_based_clicks(
        LABELS, np.zeros(4), CHANCES, N, examination=examination, scores=scores, keep_unclicked=True
    )
    assert len(shown.rows) == 4 * N
    clicks = shown.clicks.reshape(N, 4)
    np.testing.assert_array_equal(shown.rows.reshape(N, 4), np.tile(np.arange(4), (N, 1)))
    chances = np.append(examination, 0.0) * CHANCES[LABELS]
    assert not clicks[:, 3].any()
    for column in range(3):
        counts = np.bincount(clicks[:, column], minlength=2)
        expected = N * np.array([1 - chances[column], chances[column]])
        assert stats.chisquare(counts, expected).pvalue > 1e-3
    # ranks are independent of each other
    pairs = np.bincount(2 * clicks[:, 0] + clicks[:, 2], minlength=4)
    joint = np.outer([1 - chances[0], chances[0]], [1 - chances[2], chances[2]]).ravel()
    assert stats.chisquare(pairs, N * joint).pvalue > 1e-3


def test_examination_as_a_power_of_the_rank():
    shown = position_based_clicks(
        np.zeros(3), np.zeros(3), [1.0], N, examination=2.0, scores=[3, 2, 1], keep_unclicked=True
    )
    clicks = shown.clicks.reshape(N, 3).sum(axis=0)
    assert clicks[0] == N
    for rank in (2, 3):
        chance = rank**-2.0
        observed = [clicks[rank - 1], N - clicks[rank - 1]]
        assert stats.chisquare(observed, [N * chance, N * (1 - chance)]).pvalue > 1e-3


def test_equal_scores_are_shown_in_random_order():
    shown = position_based_clicks(
        [0, 0, 0], np.zeros(3), [1.0], 4000, examination=0.0, scores=[1, 1, 0]
    )
    orders = shown.rows.reshape(-1, 3)
    assert (orders[:, 2] == 2).all()
    assert stats.binomtest(int((orders[:, 0] == 0).sum()), 4000).pvalue > 1e-3


@pytest.mark.parametrize("model", [cascade_clicks, position_based_clicks])
def test_seeds_reproduce_and_differ(model):
    labels, qid = np.tile(LABELS, 20), np.repeat(np.arange(20), 4)
    first = model(labels, qid, CHANCES, 10, random_state=1)
    for a, b in zip(first, model(labels, qid, CHANCES, 10, random_state=1), strict=True):
        np.testing.assert_array_equal(a, b)
    other = model(labels, qid, CHANCES, 10, random_state=2)
    assert len(other.rows) != len(first.rows) or (other.rows != first.rows).any()


def test_selections_hold_what_was_shown():
    labels, qid = np.array([1, 0, 1, 0, 0]), ["b", "a", "b", "a", "b"]
    shown = position_based_clicks(
        labels, qid, [0.3, 0.9], 4, examination=0.0, keep_unclicked=True, random_state=1
    )
    expected = []
    for rows, clicks in split(shown):
        for position in np.flatnonzero(clicks).tolist() or [-1]:
            expected.append((rows.tolist(), position))
    selections = as_selections(shown)
    bounds = selections._bounds
    found = [
        (selections._shown[bounds[i] : bounds[i + 1]].tolist(), int(selections._clicked[i]))
        for i in range(len(selections))
    ]
    assert found == expected
    assert len({position for _, position in found}) > 2


def test_selections_of_a_cascade():
    shown = cascade_clicks(LABELS, np.zeros(4), CHANCES, 50)
    selections = as_selections(shown)
    assert len(selections) == len(np.unique(shown.impressions))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 3]}, r"below 3, .*, but row 1 \(query 'a'\) has 3"),
        ({"labels": [0, 0.5]}, r"integers .* row 1 \(query 'a'\) has 0.5"),
        ({"labels": [0, -1]}, "labels must be finite numbers >= 0"),
        ({"click_probability": [0.5, 1.5, 0]}, r"click_probability\[1\] is 1.5"),
        ({"click_probability": []}, "click_probability must be one row of numbers"),
        ({"impressions": 0}, "impressions must be an integer >= 1, got 0"),
        ({"scores": [1.0]}, "scores must have one entry per row"),
        ({"scores": [1.0, np.nan]}, "scores must be finite numbers"),
        ({"random_state": "x"}, "random_state must be an integer >= 0"),
    ],
)
@pytest.mark.parametrize("model", [cascade_clicks, position_based_clicks])
def test_bad_input_is_named(model, change, message):
    good = {"labels": [0, 1], "qid": ["a", "a"], "click_probability": CHANCES}
    with pytest.raises(ValueError, match=message):
        model(**{**good, **change})


@pytest.mark.parametrize(
    ("examination", "message"),
    [
        (-1.0, "examination must be a number >= 0 or an array of probabilities, got -1.0"),
        ([0.5, 2.0], r"examination\[1\] is 2"),
        ("much", "examination must be a number >= 0"),
    ],
)
def test_bad_examination_is_named(examination, message):
    with pytest.raises(ValueError, match=message):
        position_based_clicks([0, 1], ["a", "a"], CHANCES, examination=examination)


def test_position_based_clicks_on_shuffled_lists():
    """Each document stands at each rank equally often, so examination averages over ranks."""
    examination = np.array([1.0, 0.5, 0.2, 0.1])
    shown = position_based_clicks(
        LABELS, np.zeros(4), CHANCES, N, examination=examination, keep_unclicked=True
    )
    for row, label in enumerate(LABELS):
        chance = examination.mean() * CHANCES[label]
        counts = np.bincount(shown.clicks[shown.rows == row], minlength=2)
        assert stats.chisquare(counts, N * np.array([1 - chance, chance])).pvalue > 1e-3
