"""The Ranker on comparisons instead of labels."""

import itertools

import numpy as np
import pytest

from gbrank import PairwiseLogistic, PreferenceLogistic, Ranker, UStatistic
from gbrank.data import make_ranking
from gbrank.preferences import Comparisons
from gbrank.simulate import bradley_terry

SMALL = {"n_estimators": 25, "num_leaves": 7, "n_jobs": 1, "min_child_samples": 5}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_features=8, n_informative=5, random_state=1)


@pytest.fixture(scope="module")
def pairs(data):
    """Each comparison: the better label wins, written down as rows of the data."""
    rng = np.random.default_rng(0)
    bounds = np.concatenate([[0], np.cumsum(data.group)])
    winner, loser = [], []
    for first, last in itertools.pairwise(bounds):
        for a, b in rng.integers(first, last, size=(150, 2)):
            if data.y[a] != data.y[b]:
                winner.append(a if data.y[a] > data.y[b] else b)
                loser.append(b if data.y[a] > data.y[b] else a)
    return np.array(winner), np.array(loser)


@pytest.mark.parametrize(
    "objective",
    [UStatistic(), UStatistic(order=20, base="listnet"), PreferenceLogistic(), PairwiseLogistic()],
    ids=["complete", "order 20", "preference", "pairwise"],
)
def test_rows_in_any_order_learn_the_same(data, pairs, objective):
    winner, loser = pairs
    straight = Ranker(objective, **SMALL)
    straight.fit(data.X, qid=data.qid, preferences=Comparisons(None, winner, loser))
    # queries interleaved, the rows of each in their order
    order = np.argsort(np.concatenate([np.arange(size) for size in data.group]), kind="stable")
    place = np.argsort(order)
    moved = Ranker(objective, **SMALL).fit(
        data.X[order],
        qid=data.qid[order],
        preferences=Comparisons(None, place[winner], place[loser]),
    )
    np.testing.assert_array_equal(moved.predict(data.X), straight.predict(data.X))
    random = np.random.default_rng(0).permutation(len(data.y))
    floor = straight.score(data.X[random], data.y, qid=data.qid)
    assert straight.score(data.X, data.y, qid=data.qid) > floor + 0.1


def test_keys_name_rows_too(data, pairs):
    winner, loser = pairs
    keys = np.array([f"document {row}" for row in range(len(data.y))])
    by_row = Ranker("ustatistic", **SMALL)
    by_row.fit(data.X, qid=data.qid, preferences=Comparisons(None, winner, loser))
    by_key = Comparisons(data.qid[winner], keys[winner], keys[loser], items="key")
    ranker = Ranker("ustatistic", **SMALL)
    ranker.fit(data.X, qid=data.qid, preferences=by_key, keys=keys)
    np.testing.assert_array_equal(ranker.predict(data.X), by_row.predict(data.X))


def test_observations_of_the_objective_are_bound_too(data, pairs):
    observations = Comparisons(None, *pairs)
    one = Ranker(UStatistic(observations), **SMALL).fit(data.X, qid=data.qid)
    two = Ranker("ustatistic", **SMALL).fit(data.X, qid=data.qid, preferences=observations)
    np.testing.assert_array_equal(one.predict(data.X), two.predict(data.X))
    assert one.objective_.observations is observations
    assert two.objective_.observations is None


def test_saved_without_its_observations(data, tmp_path):
    observations = bradley_terry(data.y, data.qid, 2000)
    for ranker in (Ranker("ustatistic", **SMALL), Ranker(UStatistic(observations), **SMALL)):
        ranker.fit(data.X, qid=data.qid, preferences=observations)
        ranker.save_model(tmp_path / "model.txt")
        loaded = Ranker.load_model(tmp_path / "model.txt")
        np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    assert (tmp_path / "model.txt").stat().st_size < 100_000


@pytest.mark.parametrize(
    ("objective", "params", "change", "kind", "message"),
    [
        ("xendcg", {}, {}, ValueError, "XENDCG learns from labels.*objective='ustatistic'"),
        ("ustatistic", {}, {"preferences": [1]}, TypeError, "preferences must be .* got list"),
        ("ustatistic", {}, {"preferences": None}, ValueError, "requires y"),
        ("ustatistic", {"early_stopping_rounds": 2}, {}, ValueError, "preferences have none"),
    ],
)
def test_bad_input_is_one_clear_error(data, pairs, objective, params, change, kind, message):
    arguments = {"preferences": Comparisons(None, *pairs)} | change
    with pytest.raises(kind, match=message):
        Ranker(objective, **params, **SMALL).fit(data.X, qid=data.qid, **arguments)
