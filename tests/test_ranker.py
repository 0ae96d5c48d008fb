"""The Ranker as a scikit-learn estimator."""

import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import ndcg_score as sklearn_ndcg
from sklearn.utils.estimator_checks import check_estimator

from gbrank import XENDCG, LambdaMART, ListNet, Ranker
from gbrank.data import make_ranking

SMALL = {"n_estimators": 15, "num_leaves": 7, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=80, list_length=(5, 30), random_state=1)


@pytest.fixture(scope="module")
def fitted(data):
    return Ranker.lightgbm_defaults("lambdamart", **SMALL).fit(data.X, data.y, qid=data.qid)


def test_score_is_the_mean_of_scikit_learns_ndcg(fitted, data):
    scores = fitted.predict(data.X)
    expected = []
    for query in np.unique(data.qid):
        rows = data.qid == query
        gains = 2.0 ** data.y[rows] - 1
        if gains.sum() > 0:
            expected.append(sklearn_ndcg([gains], [scores[rows]], k=10))
    assert fitted.score(data.X, data.y, qid=data.qid) == pytest.approx(np.mean(expected), abs=1e-12)


def test_learns_more_than_a_random_order(fitted, data):
    test = make_ranking(n_queries=80, list_length=(5, 30), random_state=1)
    shuffled = np.random.default_rng(0).permutation(len(test.y))
    assert fitted.score(test.X, test.y, qid=test.qid) > 0.1 + fitted.score(
        test.X[shuffled], test.y, qid=test.qid
    )


def test_rank_is_one_for_the_best_of_each_query(fitted, data):
    scores, ranks = fitted.predict(data.X), fitted.rank(data.X, qid=data.qid)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        expected = np.empty(len(rows), dtype=int)
        expected[np.argsort(-scores[rows], kind="stable")] = np.arange(1, len(rows) + 1)
        np.testing.assert_array_equal(ranks[rows], expected)


@pytest.mark.parametrize("kind", ["int", "str", "category", "shuffled queries"])
def test_any_kind_of_qid_gives_the_model_of_group_sizes(data, kind):
    expected = Ranker.lightgbm_defaults("listnet", **SMALL).fit(data.X, data.y, group=data.group)
    qid = {
        "int": data.qid,
        "str": np.array([f"query {q}" for q in data.qid]),
        "category": pd.Series(data.qid).astype("category"),
        "shuffled queries": (data.qid * 7919) % 104729,
    }[kind]
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(data.X, data.y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(data.X), expected.predict(data.X))


def test_rows_in_any_order(data):
    """Queries interleaved, the rows of each in their order: the same model to the last bit."""
    place = np.concatenate([np.arange(size) for size in data.group])
    order = np.argsort(place, kind="stable")
    assert (np.diff(data.qid[order]) != 0).mean() > 0.9
    weight = np.random.default_rng(1).uniform(0.5, 2, len(data.y))
    straight = Ranker.lightgbm_defaults("listnet", **SMALL).fit(
        data.X, data.y, qid=data.qid, sample_weight=weight
    )
    shuffled = Ranker.lightgbm_defaults("listnet", **SMALL).fit(
        data.X[order], data.y[order], qid=data.qid[order], sample_weight=weight[order]
    )
    np.testing.assert_array_equal(shuffled.predict(data.X), straight.predict(data.X))
    ranks = straight.rank(data.X, qid=data.qid)
    np.testing.assert_array_equal(straight.rank(data.X[order], qid=data.qid[order]), ranks[order])


def test_pandas_and_sparse(data):
    frame = pd.DataFrame(data.X, columns=[f"f{i}" for i in range(data.X.shape[1])])
    frame["kind"] = pd.Categorical(np.where(data.X[:, 0] > 0, "a", "b"))
    ranker = Ranker.lightgbm_defaults("xendcg", **SMALL).fit(frame, data.y, qid=pd.Series(data.qid))
    assert list(ranker.feature_names_in_) == list(frame.columns)
    assert ranker.predict(frame).shape == data.y.shape
    order = np.random.default_rng(0).permutation(len(frame))
    Ranker.lightgbm_defaults("xendcg", **SMALL).fit(
        frame.iloc[order], data.y[order], qid=data.qid[order]
    )
    sparse = scipy.sparse.csr_array(np.where(np.abs(data.X) > 0.5, data.X, 0.0))
    dense = Ranker.lightgbm_defaults("xendcg", **SMALL).fit(sparse.toarray(), data.y, qid=data.qid)
    from_sparse = Ranker.lightgbm_defaults("xendcg", **SMALL).fit(sparse, data.y, qid=data.qid)
    np.testing.assert_allclose(from_sparse.predict(sparse), dense.predict(sparse.toarray()))


def test_fractional_labels_and_missing_values(data):
    X = data.X.copy()
    X[::3, 0] = np.nan
    ranker = Ranker.lightgbm_defaults("xendcg", **SMALL).fit(X, data.y / 3, qid=data.qid)
    assert np.isfinite(ranker.predict(X)).all()


def test_early_stopping_uses_the_best_iteration(data):
    valid = make_ranking(n_queries=40, list_length=(5, 30), random_state=1)
    noise = np.random.default_rng(0).choice(5, size=len(data.y))
    ranker = Ranker.lightgbm_defaults(
        "lambdamart",
        **(SMALL | {"n_estimators": 200}),
        eval_metric=["ndcg@5", "ndcg@10"],
        early_stopping_rounds=5,
    ).fit(data.X, noise, qid=data.qid, eval_X=valid.X, eval_y=valid.y, eval_qid=valid.qid)
    history = ranker.evals_result_["valid_0"]["ndcg@5"]
    assert len(history) < 200
    assert ranker.best_iteration_ == np.argmax(history) + 1
    assert set(ranker.evals_result_["valid_0"]) == {"ndcg@5", "ndcg@10"}
    np.testing.assert_array_equal(
        ranker.predict(data.X),
        ranker.booster_.predict(data.X, num_iteration=ranker.best_iteration_),
    )


def test_several_evaluation_sets(data):
    ranker = Ranker.lightgbm_defaults(**SMALL).fit(
        data.X,
        data.y,
        qid=data.qid,
        eval_X=(data.X, data.X),
        eval_y=(data.y, data.y),
        eval_qid=(data.qid, data.qid),
    )
    assert set(ranker.evals_result_) == {"valid_0", "valid_1"}
    assert len(ranker.evals_result_["valid_1"]["ndcg@10"]) == SMALL["n_estimators"]


def test_clone_and_pickle(fitted, data):
    twin = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(twin.predict(data.X), fitted.predict(data.X))
    assert twin.objective_.get_params() == fitted.objective_.get_params()
    with pytest.raises(NotFittedError):
        clone(fitted).predict(data.X)
    nested = clone(Ranker.lightgbm_defaults(XENDCG(neumann_order=4)))
    assert nested.get_params()["objective__neumann_order"] == 4
    assert nested.set_params(objective__neumann_order=0).objective.neumann_order == 0


def test_the_given_objective_is_not_changed(data):
    objective = XENDCG(random_state=3)
    ranker = Ranker.lightgbm_defaults(objective, random_state=9, **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    assert objective.get_params() == XENDCG(random_state=3).get_params()
    assert ranker.objective_.random_state == 3
    by_name = Ranker.lightgbm_defaults("xendcg", random_state=9, **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    assert by_name.objective_.random_state == 9


def test_feature_importances(fitted, data):
    gains = fitted.feature_importances_
    np.testing.assert_array_equal(gains, fitted.booster_.feature_importance("gain"))
    assert gains.shape == (data.X.shape[1],)
    splits = clone(fitted).set_params(importance_type="split").fit(data.X, data.y, qid=data.qid)
    assert splits.feature_importances_.sum() == sum(
        tree["num_leaves"] - 1 for tree in fitted.booster_.dump_model()["tree_info"]
    )


class QueryOfTen(Ranker):
    """A Ranker with queries of ten rows, so that scikit-learn's checks can call it."""

    def fit(self, X, y, *, sample_weight=None):
        qid = None if y is None else np.arange(len(np.asarray(y))) // 10
        return super().fit(X, y, qid=qid, sample_weight=sample_weight)

    def score(self, X, y, *, sample_weight=None):
        return super().score(X, y, qid=np.arange(len(y)) // 10, sample_weight=sample_weight)


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a row repeated twice is two documents of a query, not one document of weight 2"
    ),
    "check_sample_weight_equivalence_on_sparse_data": (
        "a row repeated twice is two documents of a query, not one document of weight 2"
    ),
}


def test_scikit_learns_own_checks():
    assert len(EXPECTED_FAILURES) <= 3
    ranker = QueryOfTen(n_estimators=5, min_child_samples=1, n_jobs=1)
    results = check_estimator(
        ranker, expected_failed_checks=EXPECTED_FAILURES, on_skip=None, on_fail="warn"
    )
    failed = [result for result in results if result["status"] == "failed"]
    assert not failed, [(result["check_name"], result["exception"]) for result in failed]
    assert sum(result["status"] == "passed" for result in results) > 30


X8, Y8, Q8 = np.arange(16.0).reshape(8, 2), [0, 1, 0, 2, 0, 1, 0, 3], [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"qid": None}, ValueError, r"needs to know the queries: pass qid="),
        ({"qid": Q8[:-1]}, ValueError, r"qid must have one entry per row: got 7 for 8 rows"),
        ({"qid": None, "group": [4, 5]}, ValueError, r"they sum to 9, there are 8 rows"),
        ({"qid": [None, *Q8[1:]]}, ValueError, r"qid must not be missing, but that of row 0 is"),
        ({"y": [0, 1, np.nan, 2, 0, 1, 0, 3]}, ValueError, r"row 2 \(query 0\) has nan"),
        ({"y": [0, 1, 0, 2, 0, np.inf, 0, 3]}, ValueError, r"row 5 \(query 1\) has inf"),
        ({"y": [0, 1, 0, 2, 0, 1, -1, 3]}, ValueError, r"row 6 \(query 1\) has -1"),
        ({"y": [0, 1, 0, 2000, 0, 1, 0, 3]}, ValueError, r"label 2000 at row 3 \(query 0\) is inf"),
        ({"y": Y8[:-1]}, ValueError, r"labels \(y\) must have one entry per row: got 7 for 8 rows"),
        ({"y": list("abcdefgh")}, TypeError, r"labels \(y\) must be numbers"),
        ({"sample_weight": [1] * 7 + [-2]}, ValueError, r"weights .*row 7 \(query 1\) has -2"),
        ({"eval_X": X8}, ValueError, r"\['eval_y', 'eval_qid'\] missing"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_bad_input_is_one_clear_error(change, kind, message):
    arguments = {"X": X8, "y": Y8, "qid": Q8} | change
    with pytest.raises(kind, match=message):
        Ranker.lightgbm_defaults(n_jobs=1, min_child_samples=1).fit(**arguments)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "nonsense"}, r"objective must be one of \[.*'xendcg'.*\].* got 'nonsense'"),
        ({"n_estimators": 0}, r"n_estimators must be an integer >= 1, got 0"),
        ({"early_stopping_rounds": 3, "validation_fraction": None}, r"needs an evaluation set"),
        ({"validation_fraction": 1.5}, r"validation_fraction must be a number in \(0, 1\]"),
        ({"random_state": -1}, r"random_state must be an integer from 0"),
        ({"n_jobs": 0}, r"n_jobs must be None or an integer other than 0"),
        ({"lgb_params": {"bagging_by_query": True}}, r"bagging_by_query=True is not supported"),
        ({"lgb_params": {"num_leaves": 3}}, r"use the Ranker's parameter 'num_leaves'"),
        ({"lgb_params": {"bagging_fraction": 0.5}}, r"use the Ranker's parameter 'subsample'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_bad_parameters_are_one_clear_error(params, message):
    with pytest.raises(ValueError, match=message):
        Ranker.lightgbm_defaults(**params).fit(X8, Y8, qid=Q8)


def test_features_that_cannot_be_split_are_one_clear_error():
    with pytest.raises(ValueError, match=r"too few rows \(8\) for leaves of min_child_samples=20"):
        Ranker().fit(X8, Y8, qid=Q8)
    with pytest.raises(ValueError, match="every one is constant"):
        Ranker.lightgbm_defaults(min_child_samples=1).fit(np.ones((8, 2)), Y8, qid=Q8)


def test_score_without_qid_says_so(fitted, data):
    with pytest.raises(ValueError, match="pass qid="):
        fitted.score(data.X, data.y)


def test_objectives_say_what_is_wrong_when_lightgbm_calls():
    for objective in (XENDCG(), ListNet(), LambdaMART()):
        with pytest.raises(ValueError, match="have no queries"):
            lgb.train(
                {"objective": objective, "min_data_in_leaf": 1, "verbose": -1}, lgb.Dataset(X8, Y8)
            )
        with pytest.raises(ValueError, match=r"row 1 \(query 0\) has -1"):
            objective.grad_hess([0, -1], [0, 0], [2])
        with pytest.raises(ValueError, match=r"scores .*row 1 \(query 0\) has nan"):
            objective.grad_hess([0, 1], [0, np.nan], [2])
        with pytest.raises(ValueError, match=r"weights .*row 0 \(query 0\) has -3"):
            objective.grad_hess([0, 1], [0, 0], [2], [-3, 1])
        with pytest.raises(ValueError, match="bagging_by_query"):
            lgb.train(
                {
                    "objective": objective,
                    "bagging_by_query": True,
                    "min_data_in_leaf": 1,
                    "verbose": -1,
                },
                lgb.Dataset(X8, Y8, group=[4, 4]),
            )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: XENDCG(neumann_order=1),
            r"must be one of \(0, 2, 4\) or .exact., got 1",
        ),
        (
            lambda: ListNet(neumann_order=3),
            r"must be one of \(0, 2, 4\) or .exact., got 3",
        ),
        (
            lambda: XENDCG(gamma=1.5),
            r'gamma must be a number in \[0, 1\] or "uniform", "annealed" or "tight", got 1.5',
        ),
        (
            lambda: XENDCG(gamma="normal"),
            r"gamma must be 'uniform' or 'annealed' or 'tight' or a number",
        ),
        (lambda: XENDCG(eps=-1.0), r"eps must be a number >= 0, got -1.0"),
        (lambda: XENDCG(random_state="a"), r"random_state must be an integer"),
        (lambda: XENDCG(generator="mt"), r"generator must be 'counter' or 'lightgbm', got 'mt'"),
        (lambda: ListNet(temperature=0), r"temperature must be a number >= 1e-06, got 0"),
        (lambda: LambdaMART(sigmoid=-1), r"sigmoid must be a number in"),
        (lambda: LambdaMART(truncation_level=0), r"truncation_level must be an integer >= 1"),
        (lambda: LambdaMART(norm="yes"), r"norm must be True or False, got 'yes'"),
    ],
)
def test_bad_hyper_parameters_are_refused_at_once(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(0, 2**31))
def test_rank_is_a_permutation_within_each_query(sizes, seed):
    sizes = [4, *sizes]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), 2))
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    y = rng.integers(0, 5, len(X))
    ranker = Ranker.lightgbm_defaults("listnet", n_estimators=2, min_child_samples=1, n_jobs=1).fit(
        X, y, qid=qid
    )
    ranks = ranker.rank(X, qid=qid)
    for query, size in enumerate(sizes):
        assert sorted(ranks[qid == query]) == list(range(1, size + 1))
