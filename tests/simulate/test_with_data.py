"""Simulators take a RankingData as they take arrays, and hand one on."""

import numpy as np
import pytest

from gbrank.data import RankingData, make_ranking
from gbrank.preferences import aggregate
from gbrank.simulate import (
    add_negatives,
    bradley_terry,
    cascade_clicks,
    noise_report,
    partial_orders,
    perturb_labels,
    position_based_clicks,
    selections,
)


@pytest.fixture
def data():
    rows = np.random.default_rng(3).permutation(150)  # rows of a query lie anywhere
    return make_ranking(n_queries=30, list_length=5, random_state=1).take_rows(rows)


def test_labels(data):
    noisy = perturb_labels(data, fraction=0.6, random_state=2)
    np.testing.assert_array_equal(noisy.y, perturb_labels(data.y, data.qid, 0.6, random_state=2))
    assert (noisy.y != data.y).any()
    assert noisy.X is data.X
    assert noisy.utility is data.utility  # what else the data have stays with them
    assert noise_report(data, noisy) == noise_report(data.y, noisy.y, data.qid)
    assert noise_report(data, noisy.y) == noise_report(data, noisy)


def test_negatives(data):
    weighted = RankingData(data.X, data.y, data.qid, np.arange(150.0), -np.arange(150.0))
    padded = add_negatives(weighted, fraction=0.5)
    plain = add_negatives(data.X, data.y, data.qid, 0.5)
    for name in ("X", "y", "qid", "rows"):
        np.testing.assert_array_equal(getattr(padded, name), getattr(plain, name))
    np.testing.assert_array_equal(padded.sample_weight, padded.rows)
    np.testing.assert_array_equal(padded.init_score, -padded.rows)
    assert isinstance(padded, RankingData)
    assert padded.labels is padded.y
    np.testing.assert_array_equal(padded.group, np.full(30, 7))
    shown = RankingData(data.X, data.y, data.qid, position=np.zeros(150))
    with pytest.raises(ValueError, match="added documents were never shown"):
        add_negatives(shown, fraction=0.5)


@pytest.mark.parametrize("model", [cascade_clicks, position_based_clicks])
def test_clicks(data, model):
    clicks = model(data, impressions=4, keep_unclicked=True)
    for found, expected in zip(
        clicks, model(data.y, data.qid, impressions=4, keep_unclicked=True), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    lists = clicks.to_data(data)
    np.testing.assert_array_equal(lists.X, data.X[clicks.rows])
    np.testing.assert_array_equal(lists.y, clicks.clicks)
    np.testing.assert_array_equal(lists.qid, clicks.impressions)
    assert lists.n_queries == 30 * 4
    # the place of a row is how many rows of its impression stand before it
    before = [(clicks.impressions[:at] == own).sum() for at, own in enumerate(clicks.impressions)]
    np.testing.assert_array_equal(lists.position, before)
    np.testing.assert_array_equal(clicks.to_data(data.X).X, lists.X)


@pytest.mark.parametrize("draw", [bradley_terry, partial_orders])
def test_observations(data, draw):
    given, found = (
        aggregate(seen, "borda", qid=data.qid)
        for seen in (draw(data.y, data.qid, 500), draw(data, n=500))
    )
    np.testing.assert_array_equal(found, given)
    assert np.unique(found).size > 1


def test_what_the_data_have_is_not_given_again(data):
    for call in (
        lambda: perturb_labels(data, data.qid, 0.5),
        lambda: cascade_clicks(data, data.qid),
        lambda: bradley_terry(data, data.qid, 5),
        lambda: noise_report(data, data, data.qid),
    ):
        with pytest.raises(ValueError, match="qid must be left out: the RankingData has its own"):
            call()
    with pytest.raises(ValueError, match="labels and qid must be left out"):
        add_negatives(data, data.y, data.qid, 0.5)


def test_what_is_needed_is_asked_for(data):
    with pytest.raises(ValueError, match=r"fraction must be a number in \[0, 1\], got None"):
        perturb_labels(data)
    with pytest.raises(ValueError, match="fraction must be a number >= 0, got None"):
        add_negatives(data)
    with pytest.raises(ValueError, match="n must be an integer >= 0, got None"):
        bradley_terry(data)
    with pytest.raises(ValueError, match="qid must be given with arrays"):
        perturb_labels(data.y, fraction=0.5)
    with pytest.raises(ValueError, match="qid must be given with arrays"):
        selections(np.full(150, 0.5), n=3)
    with pytest.raises(ValueError, match="labels and qid must be given"):
        add_negatives(data.X, fraction=0.5)


class TestGradesThatOccur:
    """Line 13 of "change the objective, keep the rest": no grades are invented."""

    @pytest.mark.parametrize("grades", [2, 3, 4, 5])
    def test_binary_labels_stay_binary(self, grades):
        labels = np.arange(50_000) % grades
        noisy = perturb_labels(labels, np.repeat(np.arange(500), 100), 1.0)
        assert set(noisy) == set(range(grades))
        kept = np.array([0.5, 0.2, 0.15, 0.1, 0.05])[:grades]
        found = np.bincount(noisy) / len(noisy)
        np.testing.assert_allclose(found, kept / kept.sum(), atol=0.01)

    def test_one_grade_is_left_alone(self):
        assert not perturb_labels(np.zeros(20), np.zeros(20), 1.0).any()

    def test_stated_probabilities_are_taken_as_they_are(self):
        noisy = perturb_labels(np.zeros(20), np.zeros(20), 1.0, [0, 0, 0, 1])
        assert (noisy == 3).all()
