"""Line 3 of "change the objective, keep the rest": ``gbrank.cv`` takes ``lightgbm.cv``'s call."""

import inspect

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

import gbrank
from gbrank import XENDCG, LambdaMART
from gbrank.metrics import feval

RNG = np.random.default_rng(3)
GROUP = RNG.integers(3, 25, 50)
X = RNG.normal(size=(GROUP.sum(), 4))
Y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X))), 0, 3)
PARAMS = {
    "num_threads": 1,
    "force_col_wise": True,
    "num_leaves": 7,
    "min_data_in_leaf": 5,
    "seed": 3,
    "verbose": -1,
}
NATIVE = {**PARAMS, "objective": "rank_xendcg"}
OURS = {**PARAMS, "objective": XENDCG(generator="lightgbm")}


def dataset(**params) -> lgb.Dataset:
    return lgb.Dataset(X, Y, group=GROUP, params={"verbose": -1, **params})


def assert_same(ours, native):
    assert list(ours) == list(native)
    for key in native:
        np.testing.assert_allclose(ours[key], native[key], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"nfold": 3},
        {"folds": GroupKFold(4)},
        {"folds": [(np.arange(GROUP[:30].sum()), np.arange(GROUP[:30].sum(), len(X)))]},
        {"seed": 7, "init_model": "model"},
        {"eval_train_metric": True},
        {"callbacks": [lgb.early_stopping(2, verbose=False)]},
        {"metrics": "ndcg"},
        {"metrics": ["ndcg", "map"]},
        {"fpreproc": lambda train, valid, params: (train, valid, {**params, "num_leaves": 3})},
    ],
    ids=lambda call: ", ".join(call) or "as it is",
)
def test_a_call_of_lightgbm_cv_gives_the_same_keys_and_numbers(call):
    """With rank_xendcg, of which ours is the same to the bit, LightGBM's own cv is the oracle."""
    both = {"metric": "ndcg", "eval_at": [5, 10]}
    theirs, mine = {**NATIVE, **both}, {**OURS, **both}
    if "init_model" in call:  # LightGBM's generator begins again there, and ours goes on
        call = {**call, "init_model": lgb.train(NATIVE, dataset(), 2)}
        theirs, mine = {**theirs, "objective": "lambdarank"}, {**mine, "objective": LambdaMART()}
    native = lgb.cv(theirs, dataset(), 8, **call)
    if "callbacks" in call:
        call = {"callbacks": [lgb.early_stopping(2, verbose=False)]}
    ours = gbrank.cv(mine, dataset(), 8, **call)
    assert any(key.startswith("valid ndcg@5") for key in native)
    assert_same(ours, native)


def test_feval_and_cvbooster():
    params = {"metric": "None", "max_bin": 15}  # a Dataset that is not constructed yet takes it
    native = lgb.cv(
        {**NATIVE, **params}, dataset(), 5, feval=feval("ndcg@7"), return_cvbooster=True
    )
    ours = gbrank.cv({**OURS, **params}, dataset(), 5, feval=feval("ndcg@7"), return_cvbooster=True)
    boosters = ours.pop("cvbooster").boosters, native.pop("cvbooster").boosters
    assert_same(ours, native)
    for one, other in zip(*boosters, strict=True):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_native_objectives_give_what_lightgbm_gives():
    assert_same(gbrank.cv(NATIVE, dataset(), 3), lgb.cv(NATIVE, dataset(), 3))
    alias = {**PARAMS, "application": "lambdarank"}
    found = gbrank.cv(alias, train_set=dataset(), num_boost_round=3)
    assert_same(found, lgb.cv(alias, dataset(), 3))


def test_every_argument_of_lightgbm_cv_is_known():
    theirs = inspect.signature(lgb.cv).parameters
    ours = inspect.signature(gbrank.cv).parameters
    assert set(theirs) <= set(ours)
    assert list(theirs)[:2] == ["params", "train_set"]


def test_metrics_by_gbranks_names_and_shuffled_folds():
    found = gbrank.cv(OURS, dataset(), 3, metrics=["ndcg@5", "err"], shuffle=True, seed=2)
    assert list(found) == [
        "valid ndcg@5-mean", "valid ndcg@5-stdv", "valid err-mean", "valid err-stdv",
    ]  # fmt: skip
    plain = gbrank.cv(OURS, dataset(), 3, metrics=["ndcg@5", "err"])
    assert found["valid ndcg@5-mean"] != plain["valid ndcg@5-mean"]
    by_rows = gbrank.cv(OURS, X, Y, group=GROUP, num_boost_round=3, metrics="ndcg@5", seed=2)
    assert by_rows["valid ndcg@5-mean"] == pytest.approx(found["valid ndcg@5-mean"], abs=1e-12)


def test_a_metric_in_params_is_computed_also_for_rows():
    found = gbrank.cv({**OURS, "metric": "ndcg", "eval_at": 3}, X, Y, group=GROUP, nfold=2)
    assert list(found) == ["valid ndcg@3-mean", "valid ndcg@3-stdv"]
    assert list(gbrank.cv(OURS, dataset(), 2, nfold=2)) == [
        "valid ndcg@10-mean", "valid ndcg@10-stdv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gbrank.cv(OURS, dataset(), 3, stratified=True), "stratified=True cannot be"),
        (lambda: gbrank.cv(OURS, dataset(), 3, folds=KFold(3)), "tears query"),
        (lambda: gbrank.cv(OURS, dataset(), Y), r"\['y'\] given"),
        (lambda: gbrank.cv(OURS, dataset(), train_set=dataset()), "give one of them"),
        (lambda: gbrank.cv({**OURS, "objective": LambdaMART}, dataset()), r"LambdaMART\(\)"),
    ],
)
def test_what_cannot_be_honoured_is_refused_in_words(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
