"""The compiled scorer returns the very numbers of LightGBM."""

import pickle
import threading

import lightgbm as lgb
import numpy as np
import pytest
from rows_near_thresholds import KINDS, make_features, make_model, rows_at_each_threshold, rows_near
from scipy.sparse import csr_matrix

from gbrank import Ranker
from gbrank.data import make_ranking
from gbrank.serving import CompiledModel, compile_model
from gbrank.serving.compiled import _score

OTHERS = ["categories", "many leaves", "one leaf", "a forest", "one feature"]


def make_booster(kind):
    """Return a booster of a kind that a Ranker does not usually grow."""
    rng = np.random.default_rng(0)
    X = make_features(rng, 3000)
    X[:, 6] = rng.integers(0, 70, len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + (X[:, 6] % 3 == 1) + (X[:, 7] == 0) + 0.1 * rng.random(len(X))
    params = {"objective": "regression", "verbosity": -1, "num_threads": 1, "num_leaves": 31}
    categorical = "auto"
    if kind == "categories":
        categorical, params["min_data_per_group"] = [6], 5
        X[np.isnan(X[:, 6]), 6] = -1  # which is missing, too
    elif kind == "many leaves":
        params |= {"num_leaves": 300, "min_data_in_leaf": 1}
    elif kind == "one leaf":
        params["min_data_in_leaf"] = 5000
    elif kind == "a forest":
        params |= {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    elif kind == "one feature":
        X[:, 1:] = 0.0
    return lgb.train(params, lgb.Dataset(X, y, categorical_feature=categorical), 12)


@pytest.fixture(scope="module", params=[*KINDS, *OTHERS])
def booster(request):
    return (
        make_model(request.param)[0].booster_
        if request.param in KINDS
        else make_booster(request.param)
    )


def odd_rows(booster, n_rows, seed):
    """Return rows near thresholds, some of whose categories are no whole numbers, or unheard of."""
    X = rows_near(booster, n_rows, np.float64, seed)
    rng = np.random.default_rng(seed)
    chosen = rng.random(n_rows) < 0.5
    X[chosen, 6] = rng.choice(
        [*range(75), -1, -0.5, 0.9, 31.999, 64.5, 2.0**31, -(2.0**31), 2.0**31 - 1, 1e300, -1e300],
        chosen.sum(),
    )
    return X


def test_rows_on_and_beside_every_threshold(booster):
    rows = rows_at_each_threshold(booster, np.float64)
    if len(rows):
        np.testing.assert_array_equal(compile_model(booster).predict(rows), booster.predict(rows))


def test_fuzzed_rows(booster):
    rows = odd_rows(booster, 5_000, 0)
    expected = booster.predict(rows)
    np.testing.assert_array_equal(compile_model(booster).predict(rows), expected)
    assert booster.num_trees() == 1 or len(set(expected)) > 10


@pytest.mark.slow
def test_a_million_fuzzed_rows(booster):
    """100,000 rows of each of ten models."""
    rows = odd_rows(booster, 100_000, 1)
    np.testing.assert_array_equal(compile_model(booster).predict(rows), booster.predict(rows))


def test_models_have_what_they_are_named_after():
    assert make_booster("categories").dump_model()["tree_info"][0]["num_cat"] > 0
    assert make_booster("many leaves").dump_model()["tree_info"][0]["num_leaves"] > 4 * 64
    assert make_booster("one leaf").dump_model()["tree_info"][0]["num_leaves"] == 1
    text = make_model("zero is missing")[0].booster_.model_to_string()
    kinds = {int(each) for line in text.split("\n") if line.startswith("decision_type=")
             for each in line[14:].split()}  # fmt: skip
    assert kinds & {4, 6} == {4, 6}  # zero is missing, and goes right or left


@pytest.mark.parametrize("n_rows", [0, 1, 2, 127, 128, 129, 257])
def test_any_number_of_rows(n_rows):
    model, X = make_model("missing")
    np.testing.assert_array_equal(
        compile_model(model).predict(X[:n_rows].reshape(n_rows, X.shape[1])),
        model.booster_.predict(X[:300])[:n_rows],
    )


def test_kinds_of_input():
    model, X = make_model("plain")
    fast, expected = model.compile(), model.predict(X)
    doubles = X.astype(np.float64)
    read_only = doubles.copy()
    read_only.flags.writeable = False
    for given in (
        doubles,
        np.asfortranarray(doubles),
        read_only,
        doubles[::-1][::-1],
        csr_matrix(X),
    ):
        np.testing.assert_array_equal(fast.predict(given), expected)
    whole = np.random.default_rng(0).integers(-(2**40), 2**40, (50, 8))  # float32 for LightGBM
    np.testing.assert_array_equal(fast.predict(whole), model.booster_.predict(whole))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).rename(columns=str)
    np.testing.assert_array_equal(fast.predict(frame), expected)


def test_categories_of_pandas():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    words = pandas.Categorical.from_codes(rng.integers(0, 20, 2000), [f"w{i}" for i in range(20)])
    frame = pandas.DataFrame({"x": rng.random(2000), "word": words})
    y = frame["x"] + (words.codes % 3)
    params = {"objective": "regression", "min_data_per_group": 5, "verbosity": -1}
    booster = lgb.train(params, lgb.Dataset(frame, y), 10)
    fast = compile_model(booster)
    other = frame.iloc[:300].copy()
    other["word"] = pandas.Categorical(["w3", "new", None] * 100)
    for given in (frame, other):
        np.testing.assert_array_equal(fast.predict(given), booster.predict(given))
    with pytest.raises(ValueError, match=r"must have 1 columns of categories, .* got 0"):
        fast.predict(frame.assign(word=1.0))


def test_a_ranker_scores_with_the_trees_that_it_predicts_with():
    data = make_ranking(n_queries=60, random_state=0)
    rng = np.random.default_rng(0)
    ranker = Ranker.lightgbm_defaults(n_estimators=40, early_stopping_rounds=2, start="linear")
    worse = {"eval_X": data.X, "eval_y": rng.permutation(data.y), "eval_qid": data.qid}
    ranker.fit(data.X, data.y, qid=data.qid, **worse)
    fast = ranker.compile()
    assert fast.n_trees_ == ranker.best_iteration_ + ranker.n_start_trees_
    assert ranker.best_iteration_ < 38  # it stopped early
    np.testing.assert_array_equal(fast.predict(data.X), ranker.predict(data.X))


def test_trees_after_the_best_are_left_out():
    """A Booster that may go on keeps them, and predicts without them."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    y = X[:, 0] + rng.random(600)
    training = lgb.Dataset(X[:300], y[:300])
    other = lgb.Dataset(X[300:], y[300:], reference=training)
    stop = [lgb.early_stopping(2, verbose=False)]
    params = {"objective": "regression", "verbosity": -1, "num_threads": 1, "num_leaves": 7}
    booster = lgb.train(params, training, 100, [other], callbacks=stop, keep_training_booster=True)
    fast = compile_model(booster)
    assert fast.n_trees_ == booster.best_iteration == booster.num_trees() - 2
    np.testing.assert_array_equal(fast.predict(X), booster.predict(X))


def test_pickled_without_machine_code():
    model, X = make_model("linear start")
    fast = model.compile()
    expected = fast.predict(X)
    data = pickle.dumps(fast)
    assert len(data) < 1.1 * sum(table.nbytes for table in fast._tables) + 5_000
    assert b"dispatcher" not in data
    again = pickle.loads(data)
    assert isinstance(again, CompiledModel)
    np.testing.assert_array_equal(again.predict(X), expected)


def test_threads_score_side_by_side():
    """The kernel gives up the GIL, and calls share nothing that they write to."""
    model, X = make_model("missing")
    fast, expected = model.compile(), model.predict(X)
    assert _score.dispatcher.targetoptions["nogil"]
    found = [None] * 4

    def work(at):
        found[at] = [fast.predict(X) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in found:
        for scores in each:
            np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("k", [1, 2, 5, 50, 10_000])
def test_top_k(k):
    model, X = make_model("plain")
    X = np.repeat(X[:40], 3, axis=0)  # ties
    order = np.argsort(-model.predict(X), kind="stable")
    np.testing.assert_array_equal(model.compile().top_k(X, k), order[:k])


def test_messages():
    model, X = make_model("plain")
    fast = model.compile()
    assert repr(fast) == "CompiledModel(12 trees, 8 features)"
    with pytest.raises(
        ValueError, match=r"X must have 8 columns, as the model, got shape \(3, 7\)"
    ):
        fast.predict(X[:3, :7])
    with pytest.raises(ValueError, match=r"got shape \(8,\)"):
        fast.predict(X[0])
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        fast.top_k(X, 0)
    with pytest.raises(TypeError, match="got int"):
        compile_model(3)
    linear = lgb.train(
        {"linear_tree": True, "verbosity": -1, "objective": "regression"},
        lgb.Dataset(X.astype(float), X[:, 0]),
        2,
    )
    with pytest.raises(ValueError, match="linear leaves"):
        compile_model(linear)
