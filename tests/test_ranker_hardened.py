"""What once gave wrong results without a word: right now, or one clear error.

Continued models, fits that fail, means of models, estimators to start from, names of columns.
"""

import copy

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from gbrank import QueryKFold, Ranker, cv
from gbrank.boosting import merge_models
from gbrank.data import make_ranking
from gbrank.linear import LinearRanker

SMALL = {"n_estimators": 6, "num_leaves": 7, "n_jobs": 1, "min_child_samples": 5}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=50, n_features=6, n_informative=4, random_state=1)


@pytest.fixture(scope="module")
def frame(data):
    """Return features with names, one of them categories whose order says nothing of their use."""
    table = pd.DataFrame(data.X.astype(float), columns=list("abcdef"))
    kinds = np.array(["low", "middle", "high"])[(data.y.astype(int) * 2 + 1) % 3]
    return table.assign(kind=pd.Categorical(kinds, categories=["low", "middle", "high"]))


def fit(X, data, start="zero", **more):
    parameters = {**SMALL, "lgb_params": {"min_data_per_group": 5, "cat_smooth": 1.0}, **more}
    init_model = parameters.pop("init_model", None)
    ranker = Ranker.lightgbm_defaults("listnet", start=start, **parameters)
    return ranker.fit(X, data.y, qid=data.qid, init_model=init_model)


# --- continued models ----------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["query_linear", "estimator", "function"])
@pytest.mark.parametrize("kind", ["Ranker", "file"])
def test_init_model_with_a_start_that_is_not_made_of_trees(data, tmp_path, start, kind):
    ridge = Ridge().fit(data.X, data.y)
    given = {"query_linear": start, "estimator": ridge, "function": ridge.predict}[start]
    first = fit(data.X, data, given)
    if kind == "file":
        first.save_model(tmp_path / "model.txt")
        first = tmp_path / "model.txt"
    with pytest.raises(ValueError, match="init_model must have a start that its trees hold"):
        fit(data.X, data, init_model=first)


@pytest.mark.parametrize("start", ["zero", "linear"])
@pytest.mark.parametrize("kind", ["Ranker", "file", "Booster", "file of LightGBM"])
def test_init_model_goes_on_from_the_scores_that_the_model_predicts(data, tmp_path, start, kind):
    """Trees that weigh nothing leave what the model says; trees that weigh something improve it."""
    first = fit(data.X, data, start)
    path = tmp_path / "model.txt"
    if kind == "file":
        first.save_model(path)
    else:
        first.booster_.save_model(path)
    model = {"Ranker": first, "Booster": first.booster_}.get(kind, path)
    same = fit(data.X, data, init_model=model, learning_rate=1e-9)
    np.testing.assert_allclose(same.predict(data.X), first.predict(data.X), atol=1e-6)
    more = fit(data.X, data, init_model=model)
    scores = [ranker.score(data.X, data.y, qid=data.qid) for ranker in (first, more)]
    assert scores[1] > scores[0]
    if kind in ("Ranker", "file"):  # the start is known, and is not one of the trees
        assert more.n_start_trees_ == first.n_start_trees_
        assert more.best_iteration_ == 2 * SMALL["n_estimators"]
        np.testing.assert_array_equal(more.predict(data.X, num_iteration=6), first.predict(data.X))


def continue_with(how, first, X, data):
    """Go on with other columns, by warm start or from a model."""
    if how == "warm_start":
        ranker = copy.deepcopy(first).set_params(warm_start=True, n_estimators=12)
        return ranker.fit(X, data.y, qid=data.qid)
    return fit(X, data, init_model=first.booster_ if how == "Booster" else first)


HOW = pytest.mark.parametrize("how", ["warm_start", "init_model", "Booster"])


@HOW
def test_columns_of_a_continued_model_in_another_order(frame, data, how):
    first = fit(frame, data)
    before = first.predict(frame)
    with pytest.raises(ValueError, match=r"\['kind', 'f', .*goes on has \['a', 'b', .* this order"):
        continue_with(how, first, frame[frame.columns[::-1]], data)
    with pytest.raises(ValueError, match=r"X has 6 features, but the model .* has 7"):
        continue_with(how, first, frame.drop(columns="a"), data)
    np.testing.assert_array_equal(first.predict(frame), before)


@HOW
@pytest.mark.parametrize("table", ["pandas", "pyarrow"])
def test_categories_of_a_continued_model_in_another_order(frame, data, how, table):
    """As in predict they are aligned: the model is the one of the old order, to the last bit."""
    reordered = frame.assign(kind=frame["kind"].cat.set_categories(["high", "low", "middle"]))
    if table == "pyarrow":
        frame, reordered = (
            pa.Table.from_pandas(f, preserve_index=False) for f in (frame, reordered)
        )
    first = fit(frame, data)
    assert "\ncat_threshold=" in first.booster_.model_to_string()
    expected = continue_with(how, first, frame, data)
    found = continue_with(how, first, reordered, data)
    np.testing.assert_array_equal(found.predict(frame), expected.predict(frame))
    np.testing.assert_array_equal(found.predict(reordered), expected.predict(frame))


def test_new_categories_of_a_continued_model_come_after_the_known_ones(frame, data):
    known = frame["kind"].cat.set_categories(["low", "high"])  # the others are missing values
    first = fit(frame.assign(kind=known), data)
    more = fit(frame, data, init_model=first)
    assert first.booster_.pandas_categorical == [["low", "high"]]
    assert more.booster_.pandas_categorical == [["low", "high", "middle"]]
    # the first trees say of a new category what they say of one that they do not know
    np.testing.assert_array_equal(more.predict(frame, num_iteration=6), first.predict(frame))


def test_kinds_of_columns_of_a_continued_model(frame, data):
    first = fit(frame, data)
    numbers = frame.assign(kind=frame["kind"].cat.codes.astype(float))
    with pytest.raises(ValueError, match=r"X has 0 columns of categories.*goes on has 1"):
        fit(numbers, data, init_model=first)
    moved = numbers.assign(a=pd.Categorical(frame["a"] > 0, categories=[True, False]))
    with pytest.raises(ValueError, match="column 'a' has categories, but in the model"):
        fit(moved, data, init_model=first)


def test_a_dataset_with_other_columns_than_the_continued_model(frame, data):
    first = fit(frame, data)
    names = frame.columns[::-1]
    reordered = frame.assign(kind=frame["kind"].cat.set_categories(["high", "low", "middle"]))
    for X, message in ((frame[names], "in this order"), (reordered, "must have the categories of")):
        dataset = lgb.Dataset(X, data.y, group=data.group, free_raw_data=False)
        with pytest.raises(ValueError, match=message):
            Ranker.lightgbm_defaults("listnet", **SMALL).fit(dataset, init_model=first)


@pytest.mark.parametrize("name", ["init_score", "eval_init_score"])
def test_scores_to_start_from_when_training_goes_on(data, name):
    first = fit(data.X, data)
    sets = {"eval_X": data.X, "eval_y": data.y, "eval_qid": data.qid} if "eval" in name else {}
    with pytest.raises(ValueError, match="init_score cannot be given when training goes on"):
        Ranker.lightgbm_defaults("listnet", **SMALL).fit(
            data.X, data.y, qid=data.qid, init_model=first, **sets, **{name: data.y}
        )


def test_a_dataset_has_no_features_for_a_start_other_than_zero(data):
    for start in ("linear", "query_linear", Ridge()):
        dataset = lgb.Dataset(data.X, data.y, group=data.group)
        with pytest.raises(ValueError, match=r"needs features in memory, but X is a Dataset"):
            Ranker.lightgbm_defaults(start=start, **SMALL).fit(dataset)


# --- sums of boosters, and some of the trees -----------------------------------------------------


def test_a_sum_of_boosters_with_linear_leaves_is_their_sum(data):
    params = {"lgb_params": {"linear_tree": True}, "colsample_bytree": 0.5}
    alone = [fit(data.X, data, random_state=5 + number, **params) for number in range(3)]
    shares = [0.2, 0.3, 0.5]
    together = merge_models([ranker.booster_ for ranker in alone], [6, 6, 6], [], shares)
    assert "is_linear=1" in together.model_to_string()
    expected = np.average([ranker.predict(data.X) for ranker in alone], axis=0, weights=shares)
    np.testing.assert_allclose(together.predict(data.X), expected, rtol=1e-9, atol=1e-12)
    assert np.abs(alone[0].predict(data.X) - alone[1].predict(data.X)).max() > 0.01


@pytest.mark.parametrize("start", ["zero", "linear"])
def test_num_iteration_of_a_sum_of_boosters(data, tmp_path, start):
    ranker = fit(data.X, data, start, preset="balanced")
    ranker.save_model(tmp_path / "model.txt")
    for model in (ranker, Ranker.load_model(tmp_path / "model.txt")):
        with pytest.raises(ValueError, match="num_iteration must be None for a sum of 4 boosters"):
            model.predict(data.X, num_iteration=3)
        for every in (None, -1, model.best_iteration_):
            np.testing.assert_array_equal(
                model.predict(data.X, num_iteration=every), ranker.predict(data.X)
            )


def test_num_iteration_counts_from_the_start(data):
    few, more = fit(data.X, data, "linear", n_estimators=3), fit(data.X, data, "linear")
    np.testing.assert_array_equal(more.predict(data.X, num_iteration=3), few.predict(data.X))


def test_start_iteration_does_not_skip_the_start(data):
    zero = fit(data.X, data)
    first, rest = zero.predict(data.X, num_iteration=2), zero.predict(data.X, start_iteration=2)
    np.testing.assert_allclose(first + rest, zero.predict(data.X), atol=1e-12)
    for ranker in (fit(data.X, data, "linear"), fit(data.X, data, preset="balanced")):
        with pytest.raises(ValueError, match="start_iteration must be 0 unless there is one boo"):
            ranker.predict(data.X, start_iteration=2)


def test_a_sequence_is_not_scored_without_the_start(data):
    class Rows(lgb.Sequence):
        batch_size = 100

        def __getitem__(self, rows):
            return data.X[rows].astype(float)

        def __len__(self):
            return len(data.X)

    ranker = fit(data.X.astype(float), data, "linear")
    np.testing.assert_array_equal(ranker.predict(Rows()), ranker.predict(data.X.astype(float)))
    with pytest.raises(ValueError, match="X must be in memory: the start of this model"):
        fit(data.X, data, "query_linear").predict(Rows())


# --- fits that fail ------------------------------------------------------------------------------


class CallbackError(Exception):
    pass


def fail(env):
    raise CallbackError


def interrupt(env):
    raise KeyboardInterrupt


interrupt.before_iteration = True


#: How a fit can fail: before anything, while data are read, in the start, and among the trees.
FAILURES = {
    "parameter": ({"num_leaves": 7, "n_estimators": 0}, {}, ValueError),
    "parameter of LightGBM": ({"boosting_type": "no such"}, {}, ValueError),
    "labels": ({}, {"y": -1.0}, ValueError),
    "queries": ({}, {"qid": 3}, ValueError),
    "weights": ({}, {"sample_weight": [-1.0]}, ValueError),
    "evaluation set": (
        {},
        {"eval_X": np.zeros((4, 2)), "eval_y": [0] * 4, "eval_qid": [0] * 4},
        ValueError,
    ),
    "features": ({}, {"X": "constant"}, ValueError),
    "start": ({"start": lambda X: np.zeros(3)}, {}, ValueError),
    "metric": ({"eval_metric": "no such metric"}, {}, ValueError),
    "objective": ({"objective": "no such objective"}, {}, ValueError),
    "callback": ({}, {"callbacks": [fail]}, CallbackError),
    "Ctrl-C": ({}, {"callbacks": [interrupt]}, KeyboardInterrupt),
}


def fit_that_fails(ranker, X, data, failure):
    parameters, arguments, error = FAILURES[failure]
    before = {name: ranker.get_params()[name] for name in parameters}
    given = {"X": X, "y": data.y, "qid": data.qid} | arguments
    if failure == "features":
        given["X"] = pd.DataFrame(0.0, X.index, X.columns)
    if failure == "labels":
        given["y"] = np.where(np.arange(len(data.y)) == 5, -1.0, data.y)
    if failure == "queries":
        given["qid"] = data.qid[:-1]
    with pytest.raises(error):
        ranker.set_params(**parameters).fit(**given)
    ranker.set_params(**before)


@pytest.mark.parametrize("failure", FAILURES)
def test_after_a_failed_first_fit_there_is_no_model(frame, data, failure):
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL)
    fit_that_fails(ranker, frame, data, failure)
    assert [name for name in vars(ranker) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        ranker.predict(frame)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_second_fit_that_fails_leaves_the_old_model(frame, data, tmp_path, failure):
    """It would once refuse the frame that it was trained on, and accept the reversed one."""
    ranker = fit(frame, data, "linear")
    expected, attributes = ranker.predict(frame), dict(vars(ranker))
    reversed_frame = frame[frame.columns[::-1]]
    fit_that_fails(ranker, reversed_frame, data, failure)
    assert vars(ranker).keys() == attributes.keys()
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    assert ranker.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(ranker.predict(reversed_frame), expected)  # matched by name
    ranker.save_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(
        Ranker.load_model(tmp_path / "model.txt").predict(frame), expected
    )


def test_a_second_fit_leaves_nothing_of_the_first(frame, data):
    ranker = fit(frame, data, "linear")
    ranker.set_params(start="zero").fit(data.X, data.y, qid=data.qid)
    assert not hasattr(ranker, "feature_names_in_")
    assert ranker.n_features_in_ == 6
    assert ranker.linear_coef_ is None
    np.testing.assert_array_equal(ranker.predict(data.X), fit(data.X, data).predict(data.X))


# --- estimators to start from --------------------------------------------------------------------


def test_an_estimator_to_start_from_is_kept_as_it_was(data):
    ridge = Ridge().fit(data.X, data.y)
    ranker = fit(data.X, data, ridge)
    before = ranker.predict(data.X)
    ridge.fit(data.X, -data.y)
    np.testing.assert_array_equal(ranker.predict(data.X), before)
    ranker.start_model_.fit(data.X, -data.y)  # nor is the one that was given changed by ours
    assert ridge.predict(data.X) @ data.y < 0


@pytest.mark.parametrize("estimator", [Ridge(), LinearRanker()], ids=["scikit-learn", "gbrank"])
def test_an_estimator_that_is_not_fitted_is_fitted_to_the_training_rows(data, estimator):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(data.y))
    known = {"qid": data.qid} if isinstance(estimator, LinearRanker) else {}
    fitted = clone(estimator).fit(data.X, data.y, sample_weight=weight, **known)
    rankers = [
        Ranker.lightgbm_defaults("listnet", start=start, **SMALL).fit(
            data.X, data.y, qid=data.qid, sample_weight=weight
        )
        for start in (estimator, fitted)
    ]
    scores = [ranker.predict(data.X) for ranker in rankers]
    np.testing.assert_array_equal(*scores)
    assert not [name for name in vars(estimator) if name.endswith("_")]  # a copy was fitted


def test_clones_and_searches_have_an_estimator_to_start_from(frame, data):
    numbers = frame.drop(columns="kind").assign(query=data.qid)
    ridge = Ridge().fit(numbers.drop(columns="query"), data.y)
    ranker = Ranker.lightgbm_defaults("listnet", start=ridge, qid="query", **SMALL)
    again = clone(ranker).fit(numbers, data.y)
    np.testing.assert_array_equal(
        again.predict(numbers), ranker.fit(numbers, data.y).predict(numbers)
    )
    search = GridSearchCV(
        ranker,
        {"start__alpha": [1.0, 1e9]},
        cv=QueryKFold(3, qid="query"),
        error_score="raise",
    ).fit(numbers, data.y)
    assert search.best_estimator_.start_model_.alpha == search.best_params_["start__alpha"]
    frozen = clone(Ranker.lightgbm_defaults(start=FrozenEstimator(ridge), qid="query", **SMALL))
    assert frozen.fit(numbers, data.y).start_model_.estimator.alpha == 1.0


def test_an_estimator_that_is_not_fitted_needs_labels(data):
    from gbrank.simulate import bradley_terry

    pairs = bradley_terry(data.y, data.qid, 500)
    with pytest.raises(ValueError, match=r"Ridge\(\) is not fitted, and there are no labels"):
        Ranker.lightgbm_defaults("ustatistic", start=Ridge(), **SMALL).fit(
            data.X, qid=data.qid, preferences=pairs
        )


# --- names and types of columns ------------------------------------------------------------------


@pytest.mark.parametrize("character", ["[", "]", ":", ",", '"', "{", "}", "\n"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_column_names_that_lightgbm_cannot_write(data, character, kind):
    columns = {f"x{character}y": data.X[:, 0].astype(float), "z": data.X[:, 1].astype(float)}
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind](columns)
    with pytest.raises(ValueError, match=r"column names must not contain.* but one is 'x.*y'"):
        fit(table, data)
    with pytest.raises(ValueError, match=r"column names must not contain.* but one is 'x.*y'"):
        cv({"verbose": -1}, table, data.y, qid=data.qid)


@pytest.mark.parametrize("names", [["x", "x"], ["x y", "x_y"], ["1", 1]])
def test_column_names_that_are_the_same_to_lightgbm(data, names):
    table = pd.DataFrame(data.X[:, :2].astype(float))
    table.columns = pd.Index(names, dtype=object)
    with pytest.raises(ValueError, match=r"column names must differ.* but 2 columns are named"):
        fit(table, data)


def test_names_with_spaces_are_names(data):
    table = pd.DataFrame(data.X.astype(float)).add_prefix("feature ")
    first = fit(table, data)
    more = fit(table, data, init_model=first.booster_)
    assert more.booster_.current_iteration() == 12
    with pytest.raises(ValueError, match="in this order"):
        fit(table[table.columns[::-1]], data, init_model=first.booster_)


def test_a_polars_column_of_128_bits(data):
    table = pl.DataFrame({"x": data.X[:, 0].astype(float)})
    large = table.with_columns(pl.Series("n", np.arange(len(data.y))).cast(pl.Int128))
    for start in ("zero", "linear"):
        with pytest.raises(ValueError, match=r"column 'n' is of type Int128.*cast it to Float64"):
            fit(large, data, start)
    small = large.with_columns(pl.col("n").cast(pl.Int64))
    with pytest.raises(ValueError, match="column 'n' is of type Int128"):
        fit(small, data).predict(large)
