"""Explanations sum to what they explain, and shuffling stays within queries."""

import lightgbm as lgb
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gbrank import Ranker
from gbrank.core import permute_column
from gbrank.data import make_ranking
from gbrank.linear import LinearRanker
from gbrank.metrics import ndcg_score
from gbrank.serving import explain, explain_pair, permutation_importance

DATA = make_ranking(n_queries=40, list_length=(3, 15), random_state=1)


def fitted(start="zero", **params):
    ranker = Ranker.lightgbm_defaults(n_estimators=15, n_jobs=1, start=start, **params)
    return ranker.fit(DATA.X, DATA.y, qid=DATA.qid)


STARTS = ["zero", "linear", "query_linear", LinearRanker().fit(DATA.X, DATA.y, qid=DATA.qid)]


@pytest.fixture(scope="module", params=STARTS, ids=["zero", "linear", "query_linear", "model"])
def ranker(request):
    return fitted(request.param)


def test_rows_sum_to_the_score_beyond_the_mean_of_the_query(ranker):
    found = ranker.explain(DATA.X, qid=DATA.qid)
    scores = ranker.predict(DATA.X, qid=DATA.qid)
    np.testing.assert_array_equal(found.scores, scores)
    for query in np.unique(DATA.qid):
        rows = DATA.qid == query
        expected = scores[rows] - scores[rows].mean()
        np.testing.assert_allclose(found.contributions[rows].sum(axis=1), expected, atol=1e-9)
        np.testing.assert_allclose(found.contributions[rows].mean(axis=0), 0.0, atol=1e-12)
        assert len(set(found.queries[rows])) == 1
    assert len(set(found.queries)) == len(np.unique(DATA.qid))


def test_pairs_sum_to_the_difference(ranker):
    rng = np.random.default_rng(0)
    scores = ranker.predict(DATA.X, qid=DATA.qid)
    for _ in range(10):
        i, j = rng.choice(len(scores), 2, replace=False)
        found = ranker.explain_pair(DATA.X, int(i), int(j), qid=DATA.qid)
        assert found.scores == (scores[i], scores[j])
        assert found.contributions.sum() == pytest.approx(scores[i] - scores[j], abs=1e-9)
        assert ("start" in found.names) == (ranker.start_kind_ in ("query_linear", "model"))
        other = ranker.explain_pair(DATA.X, int(j), int(i), qid=DATA.qid)
        np.testing.assert_allclose(other.contributions, -found.contributions, atol=1e-12)


def test_rows_of_a_query_need_not_be_together():
    model = fitted()
    order = np.random.default_rng(3).permutation(len(DATA.y))
    mixed = model.explain(DATA.X[order], qid=DATA.qid[order])
    np.testing.assert_allclose(
        mixed.contributions, model.explain(DATA.X, qid=DATA.qid).contributions[order], atol=1e-12
    )


def test_a_stump_explains_itself():
    """One tree, one split: the difference of two documents is the difference of two leaves."""
    X = np.array([[0.0, 5.0], [1.0, 5.0]] * 20)
    params = {"objective": "regression", "num_leaves": 2, "min_data_in_leaf": 1, "verbosity": -1}
    booster = lgb.train({**params, "learning_rate": 0.5}, lgb.Dataset(X, X[:, 0]), 1)
    # leaves are 0.5 +- 0.5 * 0.5, so they differ by 0.5
    found = explain_pair(booster, X, 1, 0)
    np.testing.assert_allclose(found.contributions, [0.5, 0.0], atol=1e-9)
    assert str(found).splitlines()[-1].split() == ["sum", "+0.5000"]
    whole = explain(booster, X[:2])
    np.testing.assert_allclose(whole.contributions, [[-0.25, 0], [0.25, 0]], atol=1e-9)


def test_tables_with_a_column_of_queries():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DATA.X).rename(columns=lambda at: f"f{at}").assign(query=DATA.qid)
    model = Ranker.lightgbm_defaults(n_estimators=5, qid="query").fit(frame, DATA.y)
    found = model.explain(frame)
    assert found.names[0] == "f0"
    assert len(set(found.queries)) == 40
    without = model.explain(frame.drop(columns="query"), qid=DATA.qid)
    np.testing.assert_array_equal(found.contributions, without.contributions)
    pair = model.explain_pair(frame, 2, 0)
    assert pair.contributions.sum() == pytest.approx(pair.scores[0] - pair.scores[1], abs=1e-9)


def test_sparse_rows():
    """Of single precision, for which LightGBM answers in single precision."""
    model = fitted()
    assert DATA.X.dtype == np.float32
    np.testing.assert_allclose(
        model.explain(csr_matrix(DATA.X), qid=DATA.qid).contributions,
        model.explain(DATA.X, qid=DATA.qid).contributions,
        atol=1e-12,
    )


def test_messages():
    model = fitted()
    with pytest.raises(ValueError, match="i must be an integer >= 0 and <="):
        model.explain_pair(DATA.X, len(DATA.y), 0)
    with pytest.raises(ValueError, match="j must be an integer >= 0"):
        model.explain_pair(DATA.X, 0, -1)
    with pytest.raises(TypeError, match=r"model must be a lightgbm\.Booster"):
        explain(object(), DATA.X)
    with pytest.raises(ValueError, match="either qid"):
        explain(model, DATA.X, qid=DATA.qid, group=[len(DATA.y)])


# --- importance ----------------------------------------------------------------------------------


class OneFeature:
    """Scores by the first feature."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


def test_importance_is_the_loss_of_the_metric():
    """Of a feature that is the label: all of it, of one that is not looked at: nothing."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(300), 2)
    y = np.tile([0, 1], 300)
    X = np.column_stack([y, rng.standard_normal(600)])
    found = permutation_importance(OneFeature(), X, y, qid=qid, metric="ndcg@1", n_repeats=20)
    assert found.baseline == 1.0
    # shuffled, the relevant document is first in half of the queries
    assert found.mean[0] == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(300 * 20))
    np.testing.assert_array_equal(found.importances[1], 0.0)
    loss = permutation_importance(
        OneFeature(), X, y, qid=qid, metric="pairwise_disagreement", n_repeats=3
    )
    assert (loss.importances[0] > 0.3).all()


def test_features_of_the_query_do_not_matter():
    """A feature that is constant within queries is the same after any shuffle."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(50), 4)
    X = np.column_stack([rng.random(50)[qid], rng.random(200)])
    y = rng.integers(0, 3, 200)

    class Product:
        def predict(self, X):
            return X[:, 0] * X[:, 1]

    found = permutation_importance(Product(), X, y, qid=qid)
    np.testing.assert_array_equal(found.importances[0], 0.0)
    assert np.ptp(found.importances[1]) > 0


def test_values_stay_in_their_query_and_none_is_lost():
    seen = []

    class Recorder:
        def predict(self, X):
            seen.append(np.array(X))
            return X[:, 0]

    rng = np.random.default_rng(1)
    qid = rng.permutation(np.repeat(np.arange(20), 5))
    X = rng.random((100, 2))
    permutation_importance(Recorder(), X, rng.integers(0, 2, 100), qid=qid, n_repeats=3)
    assert len(seen) == 1 + 2 * 3
    for at, shuffled in enumerate(seen[1:]):
        feature = at // 3
        np.testing.assert_array_equal(shuffled[:, 1 - feature], X[:, 1 - feature])
        assert (shuffled[:, feature] != X[:, feature]).any()
        for query in range(20):
            rows = qid == query
            np.testing.assert_array_equal(
                np.sort(shuffled[rows, feature]), np.sort(X[rows, feature])
            )


def test_importance_of_a_ranker_of_any_start(ranker):
    found = permutation_importance(ranker, DATA.X, DATA.y, qid=DATA.qid, n_repeats=1)
    expected = ndcg_score(DATA.y, ranker.predict(DATA.X, qid=DATA.qid), qid=DATA.qid, k=10)
    assert found.baseline == expected
    assert found.mean.max() > 0.005
    assert found.metric == "ndcg@10"


def test_importance_of_a_booster_and_of_groups():
    ranker = fitted()
    sizes = np.unique(DATA.qid, return_counts=True)[1]
    a = permutation_importance(ranker, DATA.X, DATA.y, qid=DATA.qid, n_repeats=1)
    b = permutation_importance(ranker.booster_, DATA.X, DATA.y, group=sizes, n_repeats=1)
    np.testing.assert_array_equal(a.importances, b.importances)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "sparse"])
def test_one_column_takes_the_values_of_other_rows(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (30, 3)).astype(float)
    rows = rng.permutation(30)
    expected = X.copy()
    expected[:, 1] = X[rows, 1]
    if kind == "sparse":
        given = csr_matrix(X)
        found = permute_column(given, 1, rows).toarray()
        np.testing.assert_array_equal(given.toarray(), X)
    else:
        columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
        module = pytest.importorskip({"arrow": "pyarrow"}.get(kind, kind))
        if kind == "pandas":
            given = module.DataFrame(columns, index=rng.permutation(30) + 5)
        else:
            given = module.table(columns) if kind == "arrow" else module.DataFrame(columns)
        found = permute_column(given, 1, rows)
        assert type(found) is type(given)
        found = np.column_stack([np.asarray(found[name]) for name in "abc"])
        np.testing.assert_array_equal(np.asarray(given["b"]), X[:, 1])
    np.testing.assert_array_equal(found, expected)


def test_importance_messages():
    with pytest.raises(ValueError, match="n_repeats must be an integer >= 1"):
        permutation_importance(OneFeature(), DATA.X, DATA.y, qid=DATA.qid, n_repeats=0)
    with pytest.raises(ValueError, match="X has no column 'query' of query ids"):
        permutation_importance(OneFeature(), DATA.X, DATA.y, qid="query")
    with pytest.raises(ValueError, match="give either qid"):
        permutation_importance(OneFeature(), DATA.X, DATA.y)
