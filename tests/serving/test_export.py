"""Exported models decide in every engine as they do in LightGBM."""

import json
import re
import sys

import lightgbm as lgb
import numpy as np
import pytest
from oracles.search_engines import SCHEMAS, SCORERS, sum_as
from rows_near_thresholds import (
    KINDS,
    make_features,
    make_model,
    rows_at_each_threshold,
    rows_near,
)

import gbrank
from gbrank import Ranker
from gbrank.data import make_ranking
from gbrank.serving import export
from gbrank.serving._trees import Leaf, Split, plain_trees

FORMATS = list(SCORERS)
NAMES = [f"f{number}" for number in range(8)]
DOUBLES = ("elasticsearch", "vespa")


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return make_model(request.param)[0]


def leaf_values(booster, X):
    """Return what each tree adds for each row, by LightGBM."""
    leaves = booster.predict(X, pred_leaf=True).astype(int)
    values = [
        [booster.get_leaf_output(tree, leaf) for leaf in range(leaves[:, tree].max() + 1)]
        for tree in range(leaves.shape[1])
    ]
    return np.stack([np.array(v)[leaves[:, t]] for t, v in enumerate(values)], axis=1)


def outside(intervals, X):
    """Return which rows have no value in an interval that the export names."""
    kept = np.ones(len(X), dtype=bool)
    for each in intervals:
        column = X[:, NAMES.index(each.feature)].astype(np.float64)
        kept &= ~((each.first <= column) & (column <= each.last))
    return kept


def check_rows(ranker, engine, X, tmp_path, **options):
    """Check that rows get the sum of the leaves that LightGBM finds, to the last bit."""
    path = tmp_path / "model.json"
    written = export(ranker, path, format=engine, feature_names=NAMES, **options)
    kept = outside(written.intervals, X)
    scores = SCORERS[engine](path.read_text(), X[kept], NAMES)
    expected = sum_as(engine, leaf_values(ranker.booster_, X[kept]))
    np.testing.assert_array_equal(scores, expected)
    # ... which is the score of LightGBM but for the digits of the engine, so the order is too
    exact = ranker.booster_.predict(X[kept])
    order = np.argsort(exact, kind="stable")
    resolution = 0.0
    if engine != "vespa":
        size = np.abs(leaf_values(ranker.booster_, X[:100])).sum(axis=1).max() + 1
        resolution = 4 * ranker.booster_.num_trees() * size * 2.0**-24
    below = np.searchsorted(exact[order], exact[order] - resolution, side="left")
    highest = np.maximum.accumulate(scores[order])
    swapped = (below > 0) & (highest[below - 1] > scores[order])
    assert not swapped.any()
    return kept.mean()


@pytest.mark.parametrize("engine", FORMATS)
def test_rows_on_and_beside_every_threshold(model, engine, tmp_path):
    types = (np.float32, np.float64) if engine in DOUBLES else (np.float32,)
    for dtype in types:
        rows = rows_at_each_threshold(model.booster_, dtype)
        assert len(rows) > 300
        assert check_rows(model, engine, rows, tmp_path) > 0.9


@pytest.mark.parametrize("engine", FORMATS)
def test_fuzzed_rows(model, engine, tmp_path):
    dtype = np.float64 if engine in DOUBLES else np.float32
    rows = rows_near(model.booster_, 5_000, dtype, seed=1)
    assert check_rows(model, engine, rows, tmp_path) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch", "solr", "vespa"])
def test_a_million_fuzzed_rows(model, engine, tmp_path):
    """For each engine 200,000 rows of each of the five models."""
    dtype = np.float64 if engine in DOUBLES else np.float32
    for seed in range(2):
        rows = rows_near(model.booster_, 100_000, dtype, seed=seed, infinities=0.01)
        assert check_rows(model, engine, rows, tmp_path) > 0.5


def test_strict_solr_is_exact(model, tmp_path):
    """With normalizers nothing but infinity itself goes another way."""
    rows = rows_near(model.booster_, 5_000, np.float32, seed=2, infinities=0.0)
    path = tmp_path / "model.json"
    written = export(model, path, format="solr", feature_names=NAMES, strict=True)
    assert outside(written.intervals, rows)[~np.isinf(rows).any(axis=1)].all()
    check_rows(model, "solr", rows, tmp_path, strict=True)


def test_intervals_of_solr_are_those_that_differ(tmp_path):
    """A value at either end of an interval goes another way, one outside does not."""
    model, _ = make_model("plain")
    path = tmp_path / "model.json"
    written = export(model, path, format="solr", feature_names=NAMES)
    assert written.intervals
    for each in written.intervals:
        first, last = np.float32(each.first), np.float32(each.last)
        values = [
            np.nextafter(first, np.float32(-1)),
            first,
            last,
            np.nextafter(last, np.float32(1)),
        ]
        rows = np.repeat(make_features(np.random.default_rng(0), 400), len(values), axis=0)
        rows[:, NAMES.index(each.feature)] = np.tile(values, 400)
        scores = SCORERS["solr"](path.read_text(), rows, NAMES)
        expected = sum_as("solr", leaf_values(model.booster_, rows))
        differs = (scores != expected).reshape(400, len(values)).any(axis=0)
        np.testing.assert_array_equal(differs, [False, True, True, False])


@pytest.mark.parametrize("engine", FORMATS)
def test_document_is_what_the_reader_takes(model, engine, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    path = tmp_path / "model.json"
    export(model, path, format=engine, feature_names=NAMES)
    document = json.loads(path.read_text())
    jsonschema.validate(document, SCHEMAS[engine])
    if engine == "opensearch":
        root = document["splits"][-1]
        keys = ["nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"]
        assert list(root) == keys
        document["splits"][0]["gain"] = 1.0
        with pytest.raises(jsonschema.ValidationError):  # the schema does look
            jsonschema.validate(document, SCHEMAS[engine])


@pytest.mark.parametrize("engine", ["opensearch", "solr"])
def test_numbers_read_back_to_the_same_float32(model, engine, tmp_path):
    """Whether a reader rounds once, from the digits, or twice, through a double."""
    path = tmp_path / "model.json"
    export(model, path, format=engine, feature_names=NAMES)
    found = re.findall(
        r'"(?:leaf|split_condition|value|threshold)":"?(-?[\d.e+-]+)', path.read_text()
    )
    assert len(found) > 200
    for digits in found:
        with np.errstate(over="ignore"):
            value = np.float32(float(digits))
        if not np.isfinite(value):
            assert digits == "1e+39"
            continue
        half = abs(float(value) - float(np.nextafter(value, np.float32(0)))) / 2
        assert abs(float(digits) - float(value)) <= 0.01 * half  # nowhere near the next one


def test_stumps_and_single_leaves(tmp_path):
    """A tree that found no split is one leaf."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]] * 10, dtype=np.float32)
    params = {"objective": "regression", "verbosity": -1, "min_data_in_leaf": 1000}
    booster = lgb.train(params, lgb.Dataset(X, X[:, 0]), 2)
    assert booster.dump_model()["tree_info"][0]["num_leaves"] == 1
    for engine in ("opensearch", "vespa"):
        path = tmp_path / f"{engine}.json"
        written = export(booster, path, format=engine, verify=X)
        assert written.n_trees == booster.num_trees()
        scores = SCORERS[engine](path.read_text(), X, ["Column_0"])
        np.testing.assert_allclose(scores, booster.predict(X), rtol=1e-6)


@pytest.mark.parametrize("engine", FORMATS)
def test_random_forests_are_divided(engine, tmp_path):
    rng = np.random.default_rng(0)
    X = make_features(rng, 500)
    params = {
        "objective": "regression",
        "boosting": "rf",
        "bagging_freq": 1,
        "bagging_fraction": 0.6,
        "verbosity": -1,
    }
    booster = lgb.train(params, lgb.Dataset(X, X[:, 0] + X[:, 6]), 7)
    path = tmp_path / "model.json"
    export(booster, path, format=engine, feature_names=NAMES, verify=X)
    scores = SCORERS[engine](path.read_text(), X, NAMES)
    np.testing.assert_allclose(scores, booster.predict(X), rtol=1e-5, atol=1e-6)


# --- what belongs to it --------------------------------------------------------------------------


@pytest.mark.parametrize("engine", FORMATS)
def test_features_stand_beside(model, engine, tmp_path):
    written = model.export(tmp_path / "model.json", format=engine, feature_names=NAMES)
    assert written.features_path == tmp_path / "model.features.json"
    about = json.loads(written.features_path.read_text())
    assert about["features"] == NAMES
    assert about["trees"] == written.n_trees == model.booster_.num_trees()
    used = [name for name, n in zip(NAMES, model.booster_.feature_importance(), strict=True) if n]
    assert about["features_used"] == used
    assert all(name in json.dumps(about["example"]) for name in used)
    assert len(about["intervals"]) == len(written.intervals)


def test_ranker_exports_the_trees_that_it_predicts_with(tmp_path):
    data = make_ranking(n_queries=60, random_state=0)
    rng = np.random.default_rng(0)
    ranker = Ranker.lightgbm_defaults(n_estimators=40, early_stopping_rounds=2, start="linear")
    ranker.fit(
        data.X,
        data.y,
        qid=data.qid,
        eval_X=data.X,
        eval_y=rng.permutation(data.y),
        eval_qid=data.qid,
    )
    assert ranker.best_iteration_ < 40
    path = tmp_path / "model.json"
    written = ranker.export(path, format="vespa")
    assert written.n_trees == ranker.best_iteration_ + ranker.n_start_trees_
    scores = SCORERS["vespa"](path.read_text(), data.X, ranker.booster_.feature_name())
    np.testing.assert_array_equal(scores, ranker.predict(data.X))


def test_names_of_training_are_the_default(tmp_path):
    data = make_ranking(n_queries=20, random_state=0)
    booster = lgb.train(
        {"objective": "lambdarank", "verbosity": -1},
        lgb.Dataset(
            data.X,
            data.y,
            group=np.bincount(data.qid),
            feature_name=[f"name{i}" for i in range(data.X.shape[1])],
        ),
        3,
    )
    path = tmp_path / "m.json"
    gbrank.export(booster, path, format="solr", name="mine", num_iteration=2)
    document = json.loads(path.read_text())
    assert document["name"] == "mine"
    assert len(document["params"]["trees"]) == 2
    assert all(entry["name"].startswith("name") for entry in document["features"])


# --- verify --------------------------------------------------------------------------------------


def one_step_lower(node):
    """Return a tree whose thresholds are those of a writer that rounds the wrong way."""
    if isinstance(node, Leaf):
        return node
    threshold = float(np.nextafter(np.float32(node.threshold), np.float32(-np.inf)))
    children = one_step_lower(node.left), one_step_lower(node.right)
    return Split(node.feature, threshold, node.missing_left, *children)


@pytest.mark.parametrize("engine", FORMATS)
def test_verify_says_which_row_differs(model, engine, tmp_path, monkeypatch):
    """A writer that is off by one step is found out, and nothing is written."""
    rows = rows_at_each_threshold(model.booster_, np.float32)
    path = tmp_path / "model.json"
    named = export(model, path, format=engine, feature_names=NAMES).intervals
    rows = rows[outside(named, rows)]
    written = export(model, path, format=engine, feature_names=NAMES, verify=rows)
    assert written.n_verified == len(rows)
    path.unlink()
    module = sys.modules["gbrank.serving.export"]
    monkeypatch.setattr(
        module, "plain_trees", lambda dump: [one_step_lower(tree) for tree in plain_trees(dump)]
    )
    with pytest.raises(ValueError, match=r"verify: \d+ of \d+ rows would have another score"):
        export(model, path, format=engine, feature_names=NAMES, verify=rows)
    assert not path.exists()


def test_verify_sees_that_single_precision_is_not_enough(tmp_path):
    """Values that only differ beyond float32, on two sides of a threshold."""
    X = np.repeat([1.0, 1.0 + 1e-12], 50)[:, None]
    y = (X[:, 0] > 1).astype(int)
    params = {"objective": "regression", "min_data_in_leaf": 1, "verbosity": -1}
    booster = lgb.train(params, lgb.Dataset(X, y), 3)
    assert np.ptp(booster.predict(X)) > 0
    with pytest.raises(ValueError, match="50 of 100 rows"):
        export(booster, tmp_path / "m.json", format="opensearch", verify=X)
    export(booster, tmp_path / "m.json", format="vespa", verify=X)


def test_swapped_neighbours_are_counted(tmp_path):
    """Leaves that single precision cannot tell apart when they are added."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 5)).astype(np.float32)
    y = 1e4 + X @ np.arange(5.0) * 1e-2
    booster = lgb.train({"objective": "regression", "verbosity": -1}, lgb.Dataset(X, y), 50)
    written = export(booster, tmp_path / "m.json", format="opensearch", verify=X)
    assert written.n_swapped > 0
    assert export(booster, tmp_path / "m.json", format="vespa", verify=X).n_swapped == 0


# --- refusals ------------------------------------------------------------------------------------


def small(**params):
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    X[:, 1] = rng.integers(0, 5, 400)
    y = X[:, 0] + (X[:, 1] == 3)
    settings = {"objective": "regression", "verbosity": -1, **params}
    categorical = settings.pop("categorical_feature", "auto")
    return lgb.train(settings, lgb.Dataset(X, y, categorical_feature=categorical), 5)


def test_refuses_categorical_splits(tmp_path):
    with pytest.raises(ValueError, match="splits the categorical feature 'Column_1'"):
        export(small(categorical_feature=[1]), tmp_path / "m.json", format="solr")
    assert not list(tmp_path.iterdir())


def test_refuses_linear_leaves(tmp_path):
    with pytest.raises(ValueError, match=r"tree \d+ has linear leaves"):
        export(small(linear_tree=True), tmp_path / "m.json", format="vespa")


def test_refuses_starts_that_are_not_trees(tmp_path):
    data = make_ranking(n_queries=30, random_state=0)
    ranker = Ranker.lightgbm_defaults(n_estimators=3, start="query_linear")
    ranker.fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="starts from 'query_linear', which is not made of trees"):
        ranker.export(tmp_path / "m.json", format="opensearch")


def test_refuses_several_classes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((90, 2))
    params = {"objective": "multiclass", "num_class": 3, "verbosity": -1}
    booster = lgb.train(params, lgb.Dataset(X, np.arange(90) % 3), 2)
    with pytest.raises(ValueError, match="one score a row, but it is of 3 classes"):
        export(booster, tmp_path / "m.json", format="solr")


def test_strict_refuses_what_cannot_be_exact(tmp_path):
    """Thresholds from 1e-30 to 1e30: no power of two brings all into Solr's range."""
    X = np.repeat(np.float32([-1e30, 1e-30, 1e-28, 3e-25, 1e30]), 40)[:, None]
    y = np.repeat([0.0, 1.0, 4.0, 2.0, 9.0], 40)
    params = {"objective": "regression", "min_data_in_leaf": 1, "verbosity": -1}
    booster = lgb.train(params, lgb.Dataset(X, y, params={"min_data_in_bin": 1}), 5)
    path = tmp_path / "m.json"
    with pytest.raises(ValueError, match=r"values of 'Column_0' from .* Solr adds 1e-6"):
        export(booster, path, format="solr", strict=True)
    assert not path.exists()
    assert export(booster, path, format="solr").intervals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "lucene"}, "format must be 'opensearch' or .* got 'lucene'"),
        ({"feature_names": ["a"]}, "feature_names must be 2 names, .* got 1"),
        ({"feature_names": ["a", "a"]}, "must differ and not be empty, got 'a'"),
        ({"feature_names": ["a", ""]}, "must differ and not be empty, got ''"),
        ({"format": "vespa", "feature_names": ["a", "b c"]}, "features of Vespa.* 'b c'"),
        ({"verify": np.zeros((3, 5))}, r"verify must have 2 columns, .* \(3, 5\)"),
    ],
)
def test_messages(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export(small(), tmp_path / "m.json", **{"format": "solr", **options})
    assert not list(tmp_path.iterdir())


def test_refuses_what_is_no_model(tmp_path):
    with pytest.raises(TypeError, match=r"model must be a lightgbm\.Booster .* got dict"):
        export({}, tmp_path / "m.json", format="solr")
    with pytest.raises(TypeError, match="fitted"):
        export(Ranker(), tmp_path / "m.json", format="solr")


def test_refuses_trees_that_grow_without_end(tmp_path):
    """Each split where zero goes against the threshold doubles what is below it."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (4000, 12)).astype(np.float32)
    y = (X == 0).sum(axis=1) + 0.1 * (X > 1).sum(axis=1)
    params = {
        "objective": "regression",
        "zero_as_missing": True,
        "num_leaves": 255,
        "verbosity": -1,
    }
    booster = lgb.train({**params, "min_data_in_leaf": 3}, lgb.Dataset(X, y), 3)
    with pytest.raises(ValueError, match="zero counts as missing in this model"):
        export(booster, tmp_path / "m.json", format="opensearch")
