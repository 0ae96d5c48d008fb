"""Models that training goes on from: right, aligned or refused, never silently different.

Over all starts, all ways to go on, and frames whose columns or categories come in another order.
What a continued model must say is known without it: trees that weigh nothing leave the scores of
the first model as they were.
"""

import copy
import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from gbrank import Ranker
from gbrank.data import make_ranking

DATA = make_ranking(n_queries=30, n_features=3, n_informative=3, random_state=2)
NUMBERS = pd.DataFrame(DATA.X.astype(float), columns=list("abc"))
WORDS = np.array(["low", "middle", "high"])
FRAME = NUMBERS.assign(
    kind=pd.Categorical(WORDS[(DATA.y.astype(int) * 2 + 1) % 3], categories=WORDS)
)
SETTINGS = {
    "preset": "fast", "n_estimators": 4, "num_leaves": 6, "n_jobs": 1, "min_child_samples": 5,
    "lgb_params": {"min_data_per_group": 5, "cat_smooth": 1.0},
}  # fmt: skip


def score_by_columns(X):
    """A start that is a function; of frames by name, of arrays by place."""
    return np.asarray(X, dtype=float)[:, 0] if isinstance(X, np.ndarray) else X["a"].to_numpy(float)


class ByName(Ridge):
    """An estimator that reads the numbers of a frame."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[["a", "b", "c"]], y)

    def predict(self, X):
        return super().predict(X[["a", "b", "c"]])


STARTS = {
    "zero": "zero",
    "linear": "linear",
    "query_linear": "query_linear",
    "estimator": ByName().fit(NUMBERS, DATA.y),
    "estimator to fit": ByName(),
    "callable": score_by_columns,
}
WAYS = ("Ranker", "file", "Booster", "file of LightGBM", "warm_start")


@pytest.fixture(scope="module", params=STARTS)
def first(request):
    ranker = Ranker("listnet", start=STARTS[request.param], **SETTINGS)
    return request.param, ranker.fit(FRAME, DATA.y, qid=DATA.qid)


@pytest.fixture(scope="module", params=["zero", "linear"])
def in_trees(request):
    """A model that training can go on from; others are refused whatever the columns."""
    return Ranker("listnet", start=request.param, **SETTINGS).fit(FRAME, DATA.y, qid=DATA.qid)


def go_on(first, way, X, folder, learning_rate=1e-12):
    if way == "warm_start":
        ranker = copy.deepcopy(first)
        ranker.set_params(warm_start=True, n_estimators=8, learning_rate=learning_rate)
        return ranker.fit(X, DATA.y, qid=DATA.qid)
    path = folder / "model.txt"
    if way == "file":
        first.save_model(path)
    elif way == "file of LightGBM":
        first.booster_.save_model(path)
    model = {"Ranker": first, "Booster": first.booster_}.get(way, path)
    ranker = Ranker("listnet", **{**SETTINGS, "learning_rate": learning_rate})
    return ranker.fit(X, DATA.y, qid=DATA.qid, init_model=model)


def trees_alone(first):
    """Return the scores of the trees, by LightGBM itself."""
    coded = FRAME.assign(kind=FRAME["kind"].cat.codes).to_numpy(float)
    return first.booster_.predict(coded, categorical_feature="auto")


@pytest.mark.parametrize("way", WAYS)
def test_every_start(first, way, tmp_path):
    start, ranker = first
    in_trees = start in ("zero", "linear")
    if way in ("Booster", "file of LightGBM"):  # which never knew of another start
        expected = trees_alone(ranker)
    elif in_trees:
        expected = ranker.predict(FRAME, qid=DATA.qid)
    else:
        with pytest.raises(ValueError, match=r"start .*'zero' or 'linear'|'zero' or 'linear'"):
            go_on(ranker, way, FRAME, tmp_path)
        return
    found = go_on(ranker, way, FRAME, tmp_path).predict(FRAME)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.ptp(expected) > 0.01


@pytest.mark.parametrize("start", [each for each in STARTS if each != "zero"])
def test_a_start_of_its_own_beside_a_model(start, tmp_path):
    ranker = Ranker("listnet", **SETTINGS).fit(FRAME, DATA.y, qid=DATA.qid)
    with pytest.raises(ValueError, match="init_model is where training starts"):
        Ranker("listnet", start=STARTS[start], **SETTINGS).fit(
            FRAME, DATA.y, qid=DATA.qid, init_model=ranker
        )


ORDERS = [list(each) for each in itertools.permutations(FRAME.columns)]


@pytest.mark.parametrize("way", WAYS)
def test_every_order_of_columns(in_trees, way, tmp_path):
    for order in ORDERS[1:]:
        with pytest.raises(ValueError, match="in this order"):
            go_on(in_trees, way, FRAME[order], tmp_path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("extra", [[], ["other"]])
def test_every_order_of_categories(in_trees, way, extra, tmp_path):
    """Some trees weigh something here, so that codes of another order would be learned from too."""
    expected = go_on(in_trees, way, FRAME, tmp_path, 0.1).predict(FRAME)
    assert np.abs(expected - in_trees.predict(FRAME)).max() > 0.01
    for order in itertools.permutations(WORDS):
        names = [*extra, *order]
        reordered = FRAME.assign(kind=FRAME["kind"].cat.set_categories(names))
        more = go_on(in_trees, way, reordered, tmp_path, 0.1)
        np.testing.assert_array_equal(more.predict(FRAME), expected)
        np.testing.assert_array_equal(more.predict(reordered), expected)


@pytest.mark.parametrize("way", WAYS)
def test_columns_without_names_and_of_other_kinds(in_trees, way, tmp_path):
    """An array has no names to go by: the model that had some, and categories, refuses it."""
    codes = FRAME.assign(kind=FRAME["kind"].cat.codes.astype(float))
    for X in (codes.to_numpy(), codes, FRAME.drop(columns="a"), FRAME.assign(z=1.0)):
        with pytest.raises(ValueError, match="the model"):
            go_on(in_trees, way, X, tmp_path)
