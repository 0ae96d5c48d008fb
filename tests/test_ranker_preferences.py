"""Ranker without labels: comparisons, clicks and partial orders in, a ranking out."""

import numpy as np
import pytest

from gbrank import PairwiseLogistic, PreferenceLogistic, Ranker, UStatistic
from gbrank.metrics import ndcg_score
from gbrank.preferences import Comparisons
from gbrank.simulate import bradley_terry, partial_orders, selections

N_QUERIES = 200


@pytest.fixture(scope="module")
def data():
    """Rows of all queries mixed up, and the utility that preferences come from."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(N_QUERIES), 10))
    X = rng.normal(size=(len(qid), 4))
    utility = 1.5 * X[:, 0] + X[:, 1] * (X[:, 2] > 0)
    return X, qid, utility


def fit(objective, X, qid, preferences, **kwargs):
    model = Ranker.lightgbm_defaults(
        objective, n_estimators=40, num_leaves=8, n_jobs=1, random_state=0
    )
    return model.fit(X, qid=qid, preferences=preferences, **kwargs)


def quality(model, X, qid, utility):
    """NDCG of predictions, with utilities counted from the lowest as labels."""
    return ndcg_score(utility - utility.min(), model.predict(X), qid=qid, gain="linear", k=3)


@pytest.mark.parametrize(
    "objective",
    ["ustatistic", "preference_logistic", "pairwise_logistic", UStatistic(base="xendcg", order=20)],
    ids=str,
)
def test_comparisons_alone_teach_the_order(objective, data):
    X, qid, utility = data
    comparisons = bradley_terry(utility, qid, 20_000)
    model = fit(objective, X, qid, comparisons)
    by_chance = ndcg_score(
        utility - utility.min(),
        np.random.default_rng(1).random(len(X)),
        qid=qid,
        gain="linear",
        k=3,
    )
    found = quality(model, X, qid, utility)
    assert found > 0.95
    assert by_chance < 0.75


@pytest.mark.parametrize("kind", ["orders", "clicks"])
def test_other_observations_teach_it_too(kind, data):
    X, qid, utility = data
    chances = 1 / (1 + np.exp(-utility))
    observations = (
        partial_orders(utility, qid, 4000, size=4)
        if kind == "orders"
        else selections(chances, qid, 20_000, length=5)
    )
    method = "log_odds" if kind == "orders" else "cascade"
    model = fit(UStatistic(method=method), X, qid, observations)
    assert quality(model, X, qid, utility) > 0.9


def sure_comparisons(qid, utility, n):
    """Return rows of winners and losers: n draws of two rows, those of one query kept."""
    first, second = np.random.default_rng(2).integers(0, len(qid), (2, n))
    kept = (qid[first] == qid[second]) & (first != second)
    first, second = first[kept], second[kept]
    better = utility[first] > utility[second]
    return np.where(better, first, second), np.where(better, second, first)


@pytest.mark.parametrize("objective", [UStatistic(order=5), PreferenceLogistic()], ids=repr)
def test_rows_may_come_in_any_order(objective, data):
    X, qid, utility = data
    winner, loser = sure_comparisons(qid, utility, 400_000)
    mixed = fit(objective, X, qid, Comparisons(qid[winner], winner, loser))
    # the same rows put together by hand, queries in the order in which they come up first
    _, first_rows = np.unique(qid, return_index=True)
    order = np.argsort(first_rows.argsort().argsort()[qid], kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    by_hand = Comparisons(None, place[winner], place[loser])
    straight = fit(objective, X[order], qid[order], by_hand)
    np.testing.assert_allclose(straight.predict(X), mixed.predict(X), atol=1e-10)
    assert quality(mixed, X, qid, utility) > 0.9


def test_keys_instead_of_rows(data):
    X, qid, utility = data
    winner, loser = sure_comparisons(qid, utility, 100_000)
    names = np.array([f"document {row}" for row in range(len(X))])
    by_key = Comparisons(qid[winner], names[winner], names[loser], items="key")
    one = fit("ustatistic", X, qid, Comparisons(None, winner, loser))
    other = fit("ustatistic", X, qid, by_key, keys=names)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_a_saved_model_forgets_its_observations(data, tmp_path):
    X, qid, utility = data
    comparisons = bradley_terry(utility, qid, 5000)
    for objective in (UStatistic(order=7), PairwiseLogistic(comparisons)):
        model = fit(objective, X, qid, comparisons)
        model.save_model(tmp_path / "model.txt")
        again = Ranker.load_model(tmp_path / "model.txt")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert type(again.objective_) is type(objective)
        assert again.objective_.observations is None
        assert (tmp_path / "model.txt").stat().st_size < 200_000


def test_labels_objectives_refuse_preferences_and_the_other_way_round(data):
    X, qid, utility = data
    comparisons = bradley_terry(utility, qid, 100)
    with pytest.raises(ValueError, match="learns from labels"):
        fit("xendcg", X, qid, comparisons)
    with pytest.raises(ValueError, match="needs observations"):
        Ranker.lightgbm_defaults("ustatistic").fit(X, np.zeros(len(X)), qid=qid)
