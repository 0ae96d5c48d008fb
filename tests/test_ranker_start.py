"""Where boosting starts, and several models as one."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge

from gbrank import Ranker, get_objective, list_objectives
from gbrank.core.queries import QueryLayout
from gbrank.data import make_ranking
from gbrank.linear import LinearRanker, coarsened
from gbrank.simulate import bradley_terry

SMALL = {"n_estimators": 8, "num_leaves": 7, "n_jobs": 1, "min_child_samples": 5}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_features=8, n_informative=5, random_state=1)


@pytest.mark.parametrize("name", list_objectives(observations=False))
@pytest.mark.parametrize("start", ["linear", "query_linear"])
def test_every_objective_starts_better_than_from_zero(data, name, start):
    other = make_ranking(n_queries=80, n_features=8, n_informative=5, random_state=2)
    few = {**SMALL, "n_estimators": 1, "learning_rate": 0.01}
    zero = Ranker.lightgbm_defaults(name, start="zero", **few).fit(data.X, data.y, qid=data.qid)
    ranker = Ranker.lightgbm_defaults(name, start=start, **few).fit(data.X, data.y, qid=data.qid)
    gained = ranker.score(other.X, other.y, qid=other.qid)
    assert gained > zero.score(other.X, other.y, qid=other.qid) + 0.05
    assert ranker.linear_coef_.shape == (8,)


def test_the_first_scores_are_the_linear_rankers_on_the_objectives_scale(data):
    """Trees of weight nearly 0 leave the start: least squares, at the best scale."""
    ranker = Ranker.lightgbm_defaults("listnet", start="linear", **{**SMALL, "n_estimators": 1})
    ranker.set_params(learning_rate=1e-9).fit(data.X, data.y, qid=data.qid)
    whole = LinearRanker().fit(data.X, data.y, qid=data.qid)
    linear = coarsened(whole.step_sum()).scores(data.X)
    scores = ranker.predict(data.X)
    factor = scores @ linear / (linear @ linear)
    np.testing.assert_allclose(scores, factor * linear, atol=1e-6 * np.abs(scores).max())
    loss = {
        f: get_objective("listnet").loss(data.y, f * scores, data.group).sum()
        for f in (0.9, 1, 1.1)
    }
    assert loss[1] < min(loss[0.9], loss[1.1])


def test_a_pointwise_start_is_part_of_one_file(data, tmp_path):
    X = data.X.astype(float)
    X[::9, 0] = np.nan
    ranker = Ranker.lightgbm_defaults("xendcg", start="linear", **SMALL).fit(
        X, data.y, qid=data.qid
    )
    assert ranker.n_start_trees_ == np.count_nonzero(ranker.linear_coef_) > 5
    assert ranker.best_iteration_ == 8
    assert ranker.booster_.num_trees() == 8 + ranker.n_start_trees_
    path = tmp_path / "model.txt"
    ranker.save_model(path)
    scores = ranker.predict(X)
    np.testing.assert_array_equal(lgb.Booster(model_file=path).predict(X), scores)
    loaded = Ranker.load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), scores)
    np.testing.assert_array_equal(loaded.linear_coef_, ranker.linear_coef_)
    np.testing.assert_array_equal(ranker.booster_.predict(X), scores)


def test_other_tools_read_the_start(data, tmp_path):
    treelite = pytest.importorskip("treelite")
    shap = pytest.importorskip("shap")
    X = data.X.astype(np.float64)
    X[::9, 0] = np.nan
    ranker = Ranker("xendcg", preset="balanced", start="linear", **SMALL).fit(
        X, data.y, qid=data.qid
    )
    ranker.save_model(tmp_path / "model.txt")
    model = treelite.frontend.load_lightgbm_model(tmp_path / "model.txt")
    theirs = treelite.gtil.predict(model, X).ravel()
    np.testing.assert_allclose(theirs, ranker.predict(X), atol=1e-6)
    explainer = shap.TreeExplainer(lgb.Booster(model_file=tmp_path / "model.txt"))
    values = explainer.shap_values(X[:40])
    np.testing.assert_allclose(
        values.sum(axis=1) + explainer.expected_value, ranker.predict(X[:40]), atol=1e-6
    )


def test_a_query_relative_start_is_added_by_predict(data, tmp_path):
    ranker = Ranker.lightgbm_defaults("xendcg", start="query_linear", **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    ranker.save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt")
    scores = ranker.predict(data.X, qid=data.qid)
    np.testing.assert_array_equal(loaded.predict(data.X, group=data.group), scores)
    with pytest.raises(ValueError, match=r"start relative to the query needs to know the queries"):
        ranker.predict(data.X)
    order = np.random.default_rng(0).permutation(len(data.y))
    moved = ranker.predict(data.X[order], qid=data.qid[order])
    np.testing.assert_allclose(moved, scores[order], atol=1e-9)
    assert ranker.score(data.X, data.y, qid=data.qid) > 0.5
    assert ranker.rank(data.X, qid=data.qid).min() == 1


def test_early_stopping_judges_the_whole_model(data):
    params = {**SMALL, "n_estimators": 30, "early_stopping_rounds": 5}
    for start in ("linear", "query_linear"):
        ranker = Ranker.lightgbm_defaults(start=start, eval_metric="ndcg@10", **params)
        ranker.fit(data.X, data.y, qid=data.qid, eval_X=data.X, eval_y=data.y, eval_qid=data.qid)
        seen = ranker.evals_result_["valid_0"]["ndcg@10"]
        assert max(seen) == pytest.approx(ranker.score(data.X, data.y, qid=data.qid), abs=1e-9)


def test_any_model_to_start_from(data, tmp_path):
    ridge = Ridge().fit(data.X, data.y)
    ranker = Ranker.lightgbm_defaults(start=ridge, **SMALL).fit(data.X, data.y, qid=data.qid)
    scores = ranker.start_factor_ * ridge.predict(data.X).astype(float)
    by_hand = Ranker.lightgbm_defaults(**SMALL).fit(data.X, data.y, qid=data.qid, init_score=scores)
    np.testing.assert_allclose(ranker.predict(data.X), by_hand.predict(data.X) + scores, atol=1e-6)
    function = Ranker.lightgbm_defaults(start=ridge.predict, **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    np.testing.assert_array_equal(function.predict(data.X), ranker.predict(data.X))
    ranker.save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt")
    with pytest.raises(ValueError, match=r"starts from .*Ridge, .* set_params\(start=...\)"):
        loaded.predict(data.X)
    loaded.set_params(start=ridge)
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))


class Scaled(Ridge):
    """A ridge whose scores are on another scale."""

    def __init__(self, times=1.0):
        super().__init__()
        self.times = times

    def predict(self, X):
        return self.times * super().predict(X)


@pytest.mark.parametrize("name", ["xendcg", "lambdamart", "squared"])
def test_the_scale_of_a_models_scores_does_not_matter(data, name):
    """As that of a linear start: the factor is where the loss pulls scores neither up nor down."""
    rankers = [
        Ranker.lightgbm_defaults(objective=name, start=Scaled(times), **SMALL).fit(
            data.X, data.y, qid=data.qid
        )
        for times in (1.0, 32.0, 1 / 1024)  # powers of 2 change no digit
    ]
    factors = [ranker.start_factor_ for ranker in rankers]
    assert factors == [factors[0], factors[0] / 32, factors[0] * 1024]
    for ranker in rankers[1:]:
        np.testing.assert_array_equal(ranker.predict(data.X), rankers[0].predict(data.X))
    scores = factors[0] * rankers[0].start_model_.predict(data.X)
    slopes = [
        float(get_objective(name).plain_gradient().grad_hess(data.y, times * scores, data.group)[0]
              .astype(float) @ scores)
        for times in (0.9, 1.1)
    ]  # fmt: skip
    assert slopes[0] < 0 < slopes[1]


@pytest.mark.parametrize("start", ["linear", "query_linear"])
def test_data_of_every_kind(data, start):
    frame = pd.DataFrame(data.X.astype(float), columns=[f"f{number}" for number in range(8)])
    letters = np.array(["low", "high"])[(data.X[:, 0] > 0).astype(int)]
    categories = frame.assign(f0=pd.Categorical(letters))
    ranker = Ranker.lightgbm_defaults(start=start, **SMALL).fit(categories, data.y, qid=data.qid)
    assert ranker.linear_coef_[0] == 0 != ranker.linear_coef_[1]
    assert np.ptp(ranker.predict(categories, qid=data.qid)) > 0
    dense = Ranker.lightgbm_defaults(start=start, **SMALL).fit(frame, data.y, qid=data.qid)
    expected = dense.predict(frame, qid=data.qid)
    table = pl.from_pandas(frame)
    fitted = Ranker.lightgbm_defaults(start=start, **SMALL).fit(table, data.y, qid=data.qid)
    np.testing.assert_array_equal(fitted.predict(table, qid=data.qid), expected)
    sparse = scipy.sparse.csr_matrix(frame.to_numpy())
    fitted = Ranker.lightgbm_defaults(start=start, **SMALL).fit(sparse, data.y, qid=data.qid)
    np.testing.assert_allclose(fitted.predict(sparse, qid=data.qid), expected, atol=1e-9)
    again = clone(dense).fit(frame, data.y, qid=data.qid)
    np.testing.assert_array_equal(again.predict(frame, qid=data.qid), expected)


def test_auto_is_linear_where_there_are_labels_and_features_in_memory(data, monkeypatch):
    ranker = Ranker(preset="fast", **SMALL).fit(data.X, data.y, qid=data.qid)
    assert ranker.start_kind_ == "linear"
    pairs = bradley_terry(data.y, data.qid, 1000)
    ranker = Ranker("ustatistic", preset="fast", **SMALL)
    assert ranker.fit(data.X, qid=data.qid, preferences=pairs).start_kind_ == "zero"
    with pytest.raises(ValueError, match="start='linear' learns from labels, and there are none"):
        ranker.set_params(start="linear").fit(data.X, qid=data.qid, preferences=pairs)
    monkeypatch.setattr("gbrank.start._MOST_FEATURES", 7)
    ranker = Ranker(preset="fast", **SMALL).fit(data.X, data.y, qid=data.qid)
    assert ranker.start_kind_ == "zero"


def test_a_table_is_made_numbers_in_parts(data, monkeypatch):
    frame = pd.DataFrame(data.X.astype(float)).add_prefix("f")
    frame["kind"] = pd.Categorical(np.where(data.X[:, 0] > 0, "a", "b"))
    ranker = Ranker.lightgbm_defaults(start="linear", **SMALL)
    expected = ranker.fit(frame, data.y, qid=data.qid).predict(frame)
    monkeypatch.setattr("gbrank.linear.step_sum._CHUNK", 37)
    np.testing.assert_array_equal(ranker.fit(frame, data.y, qid=data.qid).predict(frame), expected)


def test_a_column_counts_in_the_start_as_what_lightgbm_sees(data):
    """Categories that are numbers are not counted as these, booleans also with nulls between."""
    few = {**SMALL, "n_estimators": 1, "learning_rate": 1e-9}
    ranker = Ranker.lightgbm_defaults("listnet", start="linear", **few)
    plain = pa.table({"x": data.X[:, 0].astype(float)})
    relevance = pa.array((7 * data.y.astype(int) + 3) % 5)
    with_numbers = plain.append_column("kind", relevance.dictionary_encode())
    ranker.fit(with_numbers, data.y, qid=data.qid)
    assert ranker.linear_coef_[1] == 0
    relevant = [None if at % 7 == 0 else bool(y > 1) for at, y in enumerate(data.y)]
    with_nulls = plain.append_column("relevant", pa.array(relevant))
    for table in (with_nulls, pl.from_arrow(with_nulls)):
        ranker.fit(table, data.y, qid=data.qid)
        as_numbers = table.to_pandas().astype(float).to_numpy()
        assert ranker.linear_coef_[1] > 0
        linear = LinearRanker().fit(as_numbers, data.y, qid=data.qid).predict(as_numbers)
        scores = ranker.predict(table)
        factor = scores @ linear / (linear @ linear)
        np.testing.assert_allclose(scores, factor * linear, atol=1e-6 * np.abs(scores).max())


def test_a_table_without_rows_is_scored(data):
    frame = pd.DataFrame(data.X.astype(float)).add_prefix("f")
    ranker = LinearRanker().fit(data.X, data.y, qid=data.qid)
    assert ranker.scores(frame[:0], QueryLayout.from_group([])).shape == (0,)


def test_labels_that_an_objective_without_gains_takes(data):
    ranker = Ranker("listnet", preset="fast", **SMALL)
    ranker.fit(data.X, 1000 * data.y, qid=data.qid)
    assert ranker.start_kind_ == "linear"


def test_warm_start_goes_on_from_a_linear_start(data):
    whole = Ranker.lightgbm_defaults("listnet", start="linear", **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    ranker = Ranker.lightgbm_defaults(
        "listnet", start="linear", warm_start=True, **{**SMALL, "n_estimators": 3}
    )
    ranker.fit(data.X, data.y, qid=data.qid)
    ranker.set_params(n_estimators=8).fit(data.X, data.y, qid=data.qid)
    assert ranker.best_iteration_ == whole.best_iteration_ == 8
    assert ranker.booster_.num_trees() == whole.booster_.num_trees() > 8
    np.testing.assert_allclose(ranker.predict(data.X), whole.predict(data.X), atol=1e-6)


@pytest.mark.parametrize(
    ("params", "change", "kind", "message"),
    [
        ({"start": "lineer"}, {}, ValueError, r"start must be one of \('auto', .* got 'lineer'"),
        ({"start": 3}, {}, TypeError, "an estimator or a callable, got int"),
        ({"start": lambda X: X[:3, 0]}, {}, ValueError, "scores must have one entry per row"),
    ],
)
def test_bad_input_is_one_clear_error(data, params, change, kind, message):
    with pytest.raises(kind, match=message):
        Ranker.lightgbm_defaults(**SMALL, **params).fit(data.X, data.y, qid=data.qid, **change)


def test_the_scale_of_weights_does_not_change_the_start():
    """Gradients are in single precision, where weights of 1e-44 are nearly nothing."""
    data = make_ranking(40, random_state=0)
    coefficients = []
    for scale in (1.0, 1e-44):
        weight = np.full(len(data.y), scale)
        ranker = Ranker(preset="fast", n_estimators=1, n_jobs=1)
        ranker.fit(data.X, data.y, qid=data.qid, sample_weight=weight)
        coefficients.append(ranker.linear_coef_)
    np.testing.assert_array_equal(*coefficients)
