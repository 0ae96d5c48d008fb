"""The Ranker on data of every kind: tables, columns of query ids, Datasets, Sequences."""

import os
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from gbrank import LambdaMART, QueryKFold, Ranker, Squared
from gbrank.data import make_ranking
from gbrank.metrics import get_metric, ndcg_score

SMALL = {"n_estimators": 12, "num_leaves": 7, "n_jobs": 1, "min_child_samples": 5}
NAMES = [f"f{number}" for number in range(8)]


@pytest.fixture(scope="module")
def data():
    return make_ranking(
        n_queries=60, n_features=8, n_informative=5, list_length=(5, 25), random_state=1
    )


@pytest.fixture(scope="module")
def frame(data):
    table = pd.DataFrame(data.X, columns=NAMES)
    table.insert(2, "query", [f"q{number}" for number in data.qid])
    return table


def as_kind(frame, kind):
    if kind == "pandas":
        return frame
    return (
        pl.from_pandas(frame)
        if kind == "polars"
        else pa.Table.from_pandas(frame, preserve_index=False)
    )


@pytest.fixture(scope="module")
def expected(data):
    return (
        Ranker.lightgbm_defaults("listnet", **SMALL)
        .fit(data.X, data.y, qid=data.qid)
        .predict(data.X)
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("place", ["fit", "constructor"])
def test_queries_are_a_column(data, frame, expected, kind, place):
    table = as_kind(frame, kind)
    if place == "fit":
        ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(table, data.y, qid="query")
    else:
        ranker = Ranker.lightgbm_defaults("listnet", qid="query", **SMALL).fit(table, data.y)
    np.testing.assert_array_equal(ranker.predict(table), expected)
    features = as_kind(frame.drop(columns="query"), kind)
    np.testing.assert_array_equal(ranker.predict(features), expected)
    assert ranker.feature_names_in_.tolist() == ranker.booster_.feature_name() == NAMES
    assert ranker.score(table, data.y) == ranker.score(features, data.y, qid=data.qid)
    np.testing.assert_array_equal(ranker.rank(table), ranker.rank(features, qid=data.qid))


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_rows_of_tables_in_any_order(data, frame, expected, kind):
    order = np.argsort(np.concatenate([np.arange(size) for size in data.group]), kind="stable")
    table = as_kind(frame.iloc[order], kind)
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(table, data.y[order], qid="query")
    np.testing.assert_array_equal(ranker.predict(table), expected[order])


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_categories_of_tables_are_those_of_pandas(data, frame, kind):
    letters = np.array(["low", "middle", "high"])[np.digitize(data.X[:, 0], [-0.5, 0.5])]
    frame = frame.assign(f0=pd.Categorical(letters))
    known = Ranker.lightgbm_defaults("listnet", **SMALL).fit(frame, data.y, qid="query")
    table = as_kind(frame, kind)
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(table, data.y, qid="query")
    # categories come in another order, and so do sums over them
    np.testing.assert_allclose(ranker.predict(table), known.predict(frame), atol=1e-12)
    assert np.ptp(ranker.predict(table)) > 0


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_text_is_an_error_and_not_the_end_of_the_process(data, frame, kind):
    table = as_kind(frame, kind)
    with pytest.raises(ValueError, match="query"):
        Ranker.lightgbm_defaults(**SMALL).fit(table, data.y, qid=data.qid)


def test_categories_that_no_model_can_hold(data, frame):
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    frame = frame.assign(day=pd.Categorical(days[data.qid % 2]))
    with pytest.raises(ValueError, match=r"categories of column 'day' must be text or numbers"):
        Ranker.lightgbm_defaults(**SMALL).fit(frame, data.y, qid="query")


@pytest.mark.parametrize(
    ("X", "qid", "message"),
    [
        ("array", "query", r"qid='query' names a column, but X has no names: .* ndarray"),
        ("frame", "quary", r"X has no column 'quary' of query ids; it has \['f0'.*'query'"),
        ("frame", None, r"Ranker.fit needs to know the queries: pass qid="),
    ],
)
def test_bad_column_is_one_clear_error(data, frame, X, qid, message):
    with pytest.raises(ValueError, match=message):
        Ranker.lightgbm_defaults(**SMALL).fit(data.X if X == "array" else frame, data.y, qid=qid)


def test_grid_search_without_metadata_routing(data, frame):
    grid = {"objective": ["xendcg", "listnet"], "num_leaves": [3, 7]}
    ranker = Ranker.lightgbm_defaults(qid="query", n_estimators=5, n_jobs=1, min_child_samples=5)
    splitter = QueryKFold(3, qid="query")
    search = GridSearchCV(ranker, grid, cv=splitter, error_score="raise").fit(frame, data.y)
    by_hand = {}
    for objective in grid["objective"]:
        for leaves in grid["num_leaves"]:
            scores = []
            for train, test in QueryKFold(3).split(data.X, data.y, data.qid):
                assert not set(data.qid[train]) & set(data.qid[test])
                model = Ranker.lightgbm_defaults(
                    objective, num_leaves=leaves, n_estimators=5, n_jobs=1, min_child_samples=5
                ).fit(data.X[train], data.y[train], qid=data.qid[train])
                predicted = model.predict(data.X[test])
                scores.append(ndcg_score(data.y[test], predicted, qid=data.qid[test], k=10))
            by_hand[objective, leaves] = np.mean(scores)
    best = max(by_hand, key=by_hand.get)
    assert search.best_params_ == {"objective": best[0], "num_leaves": best[1]}
    assert search.best_score_ == pytest.approx(by_hand[best], abs=1e-12)


def test_a_dataset_of_lightgbm(data, expected):
    own = lgb.Dataset(data.X, data.y, group=data.group, params={"min_data_in_leaf": 5})
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(own)
    np.testing.assert_array_equal(ranker.predict(data.X), expected)
    assert ranker.n_features_in_ == 8
    held_out = lgb.Dataset(data.X, data.y, group=data.group)
    ranker = Ranker.lightgbm_defaults("listnet", early_stopping_rounds=3, **SMALL)
    with pytest.raises(ValueError, match="early_stopping_rounds needs an evaluation set"):
        ranker.fit(lgb.Dataset(data.X, data.y, group=data.group))
    ranker.fit(lgb.Dataset(data.X, data.y, group=data.group), eval_X=held_out)
    assert len(ranker.evals_result_["valid_0"]["ndcg@10"]) == 12


@pytest.mark.parametrize(
    ("dataset", "change", "message"),
    [
        ({"label": None}, {}, "has no labels, or none above 0"),
        ({"group": None}, {}, "has no queries"),
        ({}, {"y": [1]}, r"brings its own labels.*\['y'\] given too"),
    ],
)
def test_a_dataset_that_lacks_something(data, dataset, change, message):
    own = lgb.Dataset(data.X, **{"label": data.y, "group": data.group} | dataset)
    with pytest.raises(ValueError, match=message):
        Ranker.lightgbm_defaults(**SMALL).fit(own, **change)


class Batches(lgb.Sequence):
    batch_size = 100

    def __init__(self, X):
        self.X = X.astype(np.float64)

    def __getitem__(self, index):
        return self.X[index]

    def __len__(self):
        return len(self.X)


def test_a_sequence_of_lightgbm(data, expected):
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(
        Batches(data.X), data.y, group=data.group
    )
    np.testing.assert_array_equal(ranker.predict(data.X), expected)
    np.testing.assert_array_equal(ranker.predict(Batches(data.X)), expected)
    halves = [Batches(data.X[:300]), Batches(data.X[300:])]
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(halves, data.y, qid=data.qid)
    np.testing.assert_array_equal(ranker.predict(halves), expected)
    halves[0].X = halves[0].X.astype(np.float32)
    with pytest.raises(TypeError, match=r"Sequence must be float64, got float32"):
        Ranker.lightgbm_defaults("listnet", **SMALL).fit(halves, data.y, qid=data.qid)
    shuffled = np.random.default_rng(0).permutation(data.qid)
    with pytest.raises(ValueError, match=r"rows of a lightgbm.Sequence are read in their order"):
        Ranker.lightgbm_defaults("listnet", **SMALL).fit(Batches(data.X), data.y, qid=shuffled)


def test_query_weights_are_row_weights_of_whole_queries(data):
    by_query = np.random.default_rng(2).uniform(0.1, 3.0, len(data.group))
    rows = Ranker.lightgbm_defaults(**SMALL).fit(
        data.X, data.y, qid=data.qid, sample_weight=np.repeat(by_query, data.group)
    )
    queries = Ranker.lightgbm_defaults(**SMALL).fit(
        data.X, data.y, qid=data.qid, sample_weight=by_query
    )
    np.testing.assert_array_equal(queries.predict(data.X), rows.predict(data.X))
    plain = Ranker.lightgbm_defaults(**SMALL).fit(data.X, data.y, qid=data.qid)
    assert (plain.predict(data.X) != rows.predict(data.X)).any()
    with pytest.raises(ValueError, match=r"one entry per row: got 3 for"):
        Ranker.lightgbm_defaults(**SMALL).fit(data.X, data.y, qid=data.qid, sample_weight=[1, 2, 3])


def test_scores_to_start_from(data):
    start = 3.0 * data.X[:, 1]
    order = np.random.default_rng(0).permutation(len(data.y))
    ranker = Ranker.lightgbm_defaults("listnet", **SMALL).fit(
        data.X[order], data.y[order], qid=data.qid[order], init_score=start[order]
    )
    plain = Ranker.lightgbm_defaults("listnet", **SMALL).fit(data.X, data.y, qid=data.qid)
    from_scores = ranker.predict(data.X) + start
    assert (plain.predict(data.X) != ranker.predict(data.X)).any()
    first = lgb.Dataset(data.X, data.y, group=data.group, init_score=start)
    known = Ranker.lightgbm_defaults("listnet", **SMALL).fit(first).predict(data.X) + start
    # the rows of a query in another order change sums in the last bits, and near ties
    assert np.corrcoef(from_scores, known)[0, 1] > 0.99
    with pytest.raises(ValueError, match=r"scores must be finite numbers, but row 0 .* has nan"):
        Ranker.lightgbm_defaults(**SMALL).fit(
            data.X, data.y, qid=data.qid, init_score=np.full(len(data.y), np.nan)
        )


def test_constraints_of_lightgbm(data):
    ranker = Ranker.lightgbm_defaults(
        "xendcg", lgb_params={"monotone_constraints": [0, 1, 0, 0, 0, -1, 0, 0]}, **SMALL
    )
    ranker.fit(data.X, data.y, qid=data.qid)
    rows = np.repeat(data.X[:50], 20, axis=0)
    for feature, sign in ((1, 1), (5, -1)):
        moved = rows.copy()
        moved[:, feature] = np.tile(np.linspace(-3, 3, 20), 50)
        steps = np.diff(ranker.predict(moved).reshape(50, 20), axis=1)
        assert (sign * steps >= 0).all()
        assert (sign * steps > 0).any()
    pairs = [[0, 1], [2, 3], [4, 5], [6, 7]]
    ranker = Ranker.lightgbm_defaults(
        "xendcg", lgb_params={"interaction_constraints": pairs}, **SMALL
    )
    trees = ranker.fit(data.X, data.y, qid=data.qid).booster_.trees_to_dataframe()
    for _, tree in trees.groupby("tree_index"):
        used = {int(name.removeprefix("Column_")) // 2 for name in tree.split_feature.dropna()}
        assert len(used) == 1


@pytest.mark.parametrize(
    ("name", "ours"),
    [("eta", "learning_rate"), ("nthread", "n_jobs"), ("num_trees", "n_estimators")],
)
def test_other_names_of_a_parameter_of_ours(data, name, ours):
    with pytest.raises(ValueError, match=f"must not set '{name}': use the Ranker's.*'{ours}'"):
        Ranker.lightgbm_defaults(lgb_params={name: 1}, **SMALL).fit(data.X, data.y, qid=data.qid)


# --- data that other rankers refuse -----------------------------------------------------------


def test_missing_values(real_data):
    arrays = real_data("OHSUMED_null")
    assert np.isnan(arrays["X"]).any()
    train, test = arrays["part"] <= 3, arrays["part"] == 5
    X, y, qid = arrays["X"], arrays["y"], arrays["qid"]
    ranker = Ranker.lightgbm_defaults(n_estimators=30, n_jobs=1).fit(
        X[train], y[train], qid=qid[train]
    )
    random = np.random.default_rng(0).random(test.sum())
    floor = ndcg_score(y[test], random, qid=qid[test], k=10)
    assert ranker.score(X[test], y[test], qid=qid[test]) > floor + 0.1


def test_real_valued_labels():
    folder = Path(os.environ.get("GBRANK_DATA", "nowhere")) / "catboost_querywise"
    if not folder.is_dir():
        pytest.skip("GBRANK_DATA has no catboost_querywise")
    parts = [pd.read_csv(folder / name, sep="\t", header=None) for name in ("train", "test")]
    (X, y, qid), test = [
        (part.drop(columns=range(5)).to_numpy(float), part[2].to_numpy(float), part[1].to_numpy())
        for part in parts
    ]
    assert (y % 1 != 0).any()
    ranker = Ranker.lightgbm_defaults("squared", n_estimators=50, n_jobs=1).fit(X, y, qid=qid)
    random = np.random.default_rng(0).random(len(test[1]))
    floor = ndcg_score(test[1], random, qid=test[2], k=10)
    assert ranker.score(test[0], test[1], qid=test[2]) > floor + 0.05


def test_a_query_of_20000_documents_and_labels_up_to_100():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_500, 4))
    qid = np.where(np.arange(20_500) < 20_000, "long", "short")
    y = np.clip(np.round(50 + 20 * X[:, 0] + 5 * rng.normal(size=20_500)), 0, 100)
    assert y.max() == 100
    order = rng.permutation(20_500)
    for objective in (LambdaMART(gain="linear"), Squared(gain="linear")):
        ranker = Ranker.lightgbm_defaults(objective, n_estimators=20, n_jobs=1)
        ranker.fit(X[order], y[order], qid=qid[order])
        for query in ("long", "short"):
            labels, scores = y[qid == query], ranker.predict(X[qid == query])
            assert labels.mean() < 55
            assert labels[np.argsort(-scores)[:50]].mean() > 80


# --- arguments that say nothing here -------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"pred_contribs": True}, "did you mean 'pred_contrib'"),
        ({"ntree_limit": 1}, "no argument 'ntree_limit'"),
        ({"num_iterations": 1}, "use num_iteration"),
        ({"learning_rate": 1}, "no argument 'learning_rate'"),
    ],
)
def test_predict_knows_its_arguments(argument, message):
    data = make_ranking(n_queries=10, random_state=0)
    ranker = Ranker(preset="fast", n_estimators=2).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(TypeError, match=message):
        ranker.predict(data.X, **argument)
    known = ranker.predict(data.X, raw_score=True, n_jobs=1, pred_early_stop=False)
    np.testing.assert_array_equal(known, ranker.predict(data.X))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"clip": 0.3}, "unbiased is None"),
        ({"keys": np.arange(3)}, "keys name rows for preferences, but preferences is None"),
    ],
)
def test_fit_refuses_arguments_that_would_be_ignored(argument, message):
    data = make_ranking(n_queries=10, random_state=0)
    with pytest.raises(ValueError, match=message):
        Ranker().fit(data.X, data.y, qid=data.qid, **argument)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"verbose": None}, TypeError, "verbose must be an integer, got None"),
        ({"verbose": "a"}, TypeError, "verbose must be an integer, got 'a'"),
        ({"lgb_params": [1]}, TypeError, r"lgb_params must be a dict or None, got \[1\]"),
        ({"warm_start": "yes"}, ValueError, "warm_start must be True or False, got 'yes'"),
    ],
)
def test_parameters_of_other_kinds(params, error, message):
    data = make_ranking(n_queries=10, random_state=0)
    with pytest.raises(error, match=message):
        Ranker(**params).fit(data.X, data.y, qid=data.qid)


# --- query ids among the features ----------------------------------------------------------------


def frame_with_ids(data):
    return pd.DataFrame(data.X, columns=NAMES).assign(query=data.qid)


def test_ids_that_are_left_among_the_features_are_a_warning(data):
    frame = frame_with_ids(data)
    with pytest.warns(UserWarning, match="column 'query' of X holds the query ids, and is a feat"):
        Ranker(preset="fast", n_estimators=2).fit(frame, data.y, qid=frame["query"])
    polars = pl.DataFrame(frame)
    with pytest.warns(UserWarning, match="give qid='query', or drop it"):
        Ranker(preset="fast", n_estimators=2).fit(polars, data.y, qid=polars["query"])


def test_ids_of_a_column_that_is_named_are_no_feature_and_no_warning(data, recwarn):
    frame = frame_with_ids(data)
    named = Ranker(preset="fast", n_estimators=2, qid="query").fit(frame, data.y)
    again = clone(named).fit(frame, data.y, qid=data.qid)  # the same ids, said twice
    assert list(named.feature_names_in_) == list(again.feature_names_in_) == NAMES
    assert not [each for each in recwarn if "query ids" in str(each.message)]


def test_a_column_of_ids_and_other_ids_are_refused(data):
    with pytest.raises(ValueError, match="column 'query' of X holds query ids, but qid has others"):
        Ranker(qid="query").fit(frame_with_ids(data), data.y, qid=data.qid // 2)


def test_the_number_of_a_column_is_no_query_id(data):
    with pytest.raises(TypeError, match=r"qid must be the query id of each row.* got 0"):
        Ranker(qid=0).fit(data.X, data.y)


def test_categories_and_numbers_change_places(data):
    numbers = pd.DataFrame(data.X[:, :2], columns=["a", "b"]).assign(k=np.arange(len(data.y)) % 3)
    classes = numbers.assign(k=numbers["k"].astype("category"))
    settings = Ranker(preset="fast", n_estimators=2)
    for train, other, found in ((classes, numbers, "0 columns"), (numbers, classes, "1 columns")):
        ranker = clone(settings).fit(train, data.y, qid=data.qid)
        with pytest.raises(ValueError, match=f"X has {found} of categories"):
            ranker.predict(other)


def test_text_in_a_frame_of_polars_comes_with_the_code_of_polars(data):
    frame = pl.DataFrame(data.X, schema=NAMES).with_columns(pl.Series("k", ["a"] * len(data.y)))
    with pytest.raises(ValueError, match=r"pl.col\('k'\).cast\(pl.Categorical\)"):
        Ranker(preset="fast").fit(frame, data.y, qid=data.qid)


# --- metrics of a user's own ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda labels, scores: 1.0, "it returned 1.0"),
        (lambda labels, scores: ("m", (labels - scores).mean(), False), "it failed: unsupported"),
        (3, "it cannot be called"),
    ],
)
def test_a_metric_function_of_another_form_says_which_form_is_needed(data, metric, message):
    sets = {"eval_X": data.X, "eval_y": data.y, "eval_qid": data.qid}
    with pytest.raises(TypeError, match=f"eval_metric: .*lightgbm.Dataset.*{message}"):
        Ranker(preset="fast", eval_metric=metric).fit(data.X, data.y, qid=data.qid, **sets)


def test_a_metric_object_judges_as_its_name(data):
    sets = {"eval_X": data.X, "eval_y": data.y, "eval_qid": data.qid}
    found = [
        Ranker(preset="fast", n_estimators=3, eval_metric=metric)
        .fit(data.X, data.y, qid=data.qid, **sets)
        .evals_result_
        for metric in ("map@5", get_metric("map@5"))
    ]
    assert found[0] == found[1]
    assert list(found[0]["valid_0"]) == ["map@5"]
