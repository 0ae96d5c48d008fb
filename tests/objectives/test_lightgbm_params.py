"""Line 1 of "change the objective, keep the rest": LightGBM's parameters of its own losses."""

import copy
import pickle
import re

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.base import clone

from gbrank import (
    XENDCG,
    GainPairwise,
    LambdaMART,
    ListMLE,
    Objective,
    QuerySubsampled,
    Ranker,
    Smoothed,
    Squared,
    UStatistic,
    get_objective,
    list_objectives,
)
from gbrank.boosting import main_names
from gbrank.objectives._lightgbm_params import _SEEDS, read_lightgbm_params, seed_of_objective

RNG = np.random.default_rng(11)
GROUP = RNG.integers(2, 40, 60)
X = RNG.normal(size=(GROUP.sum(), 5))
Y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X))), 0, 3)
PARAMS = {
    "num_threads": 1,
    "force_col_wise": True,
    "num_leaves": 15,
    "min_data_in_leaf": 5,
    "metric": "None",
    "verbose": -1,
}
#: What is given to LightGBM, and to the objective instead, for the same model.
LAMBDARANK = [
    ({"label_gain": [0, 1, 2, 9]}, {"gain": [0, 1, 2, 9]}),
    ({"label_gain": "0,1,2,9"}, {"gain": [0, 1, 2, 9]}),
    ({"label_gain": np.array([0.0, 1.0, 2.0, 9.0])}, {"gain": [0, 1, 2, 9]}),
    ({"lambdarank_truncation_level": 3}, {"truncation_level": 3}),
    ({"lambdarank_truncation_level": "3"}, {"truncation_level": 3}),
    ({"lambdarank_norm": False}, {"norm": False}),
    ({"lambdarank_norm": "false"}, {"norm": False}),
    ({"sigmoid": 2.0}, {"sigmoid": 2.0}),
    (
        {"sigmoid": 0.5, "lambdarank_norm": "true", "lambdarank_truncation_level": 10},
        {"sigmoid": 0.5, "norm": True, "truncation_level": 10},
    ),
]
SEEDS = [
    {"seed": 7},
    {"random_seed": 7},
    {"random_state": "7"},
    {"objective_seed": 11},
    {"seed": 7, "objective_seed": 11},
    {"seed": -7},
    {"objective_seed": -7},
    {},
]


def dataset() -> lgb.Dataset:
    return lgb.Dataset(X, Y, group=GROUP)


def train(objective, data=None, n_trees: int = 10, **params) -> np.ndarray:
    booster = lgb.train({**PARAMS, "objective": objective, **params}, data or dataset(), n_trees)
    return booster.predict(X)


# --- as LightGBM's own objectives do -------------------------------------------------------------


@pytest.mark.parametrize("params", SEEDS, ids=str)
def test_seeds_of_params_make_xendcg_equal_rank_xendcg_to_the_bit(params):
    native = train("rank_xendcg", **params)
    assert np.ptp(native) > 0.1
    np.testing.assert_array_equal(train(XENDCG(generator="lightgbm"), **params), native)


@pytest.mark.parametrize(("params", "arguments"), LAMBDARANK, ids=str)
def test_params_of_lambdarank_reach_lambdamart(params, arguments):
    native = train("lambdarank", **params)
    ours = train(LambdaMART(), **params)
    assert np.abs(native - train("lambdarank")).max() > 0.01  # the parameter does something
    np.testing.assert_allclose(ours, native, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(ours, train(LambdaMART(**arguments)))


@pytest.mark.parametrize("objective", ["lgb.train", "LGBMRanker", "cv", "Booster.update"])
def test_params_are_seen_in_every_way_to_call_lightgbm(objective):
    params = {"sigmoid": 2.0, "seed": 3}
    expected = train(LambdaMART(sigmoid=2.0))
    if objective == "lgb.train":
        found = train(LambdaMART(), **params)
    elif objective == "LGBMRanker":
        ranker = lgb.LGBMRanker(
            objective=LambdaMART(), n_estimators=10, sigmoid=2.0, **PARAMS, random_state=3
        )
        found = ranker.fit(X, Y, group=GROUP).predict(X)
    elif objective == "cv":
        rows = np.arange(len(X))
        result = lgb.cv(
            {**PARAMS, "objective": LambdaMART(), **params},
            dataset(),
            10,
            folds=[(rows, rows)],
            return_cvbooster=True,
        )
        found = result["cvbooster"].boosters[0].predict(X)
    else:
        booster = lgb.Booster({**PARAMS, **params}, dataset())
        shared = LambdaMART()
        for _ in range(10):
            booster.update(fobj=shared)
        found = booster.predict(X)
    np.testing.assert_array_equal(found, expected)


def test_seed_of_lgbm_ranker_is_that_of_rank_xendcg():
    def fit(objective):
        model = lgb.LGBMRanker(objective=objective, n_estimators=10, random_state=7, **PARAMS)
        return model.fit(X, Y, group=GROUP).predict(X)

    np.testing.assert_array_equal(fit(XENDCG(generator="lightgbm")), fit("rank_xendcg"))


def test_a_dataset_used_again_does_not_bring_the_params_of_the_first_training():
    """LightGBM leaves ``Dataset.params`` as they were once the Dataset is constructed."""
    data = dataset()
    for seed in (1, 2):
        ours = train(XENDCG(generator="lightgbm"), data, seed=seed)
        np.testing.assert_array_equal(ours, train("rank_xendcg", seed=seed))
    train(LambdaMART(), data, sigmoid=2.0)
    np.testing.assert_array_equal(train(LambdaMART(), data), train(LambdaMART()))
    train(XENDCG(), data)  # would raise if it saw sigmoid


def test_one_object_in_two_trainings_at_once_has_the_params_of_each():
    shared = LambdaMART()
    boosters = [lgb.Booster({**PARAMS, "sigmoid": each}, dataset()) for each in (1.0, 2.0)]
    for _ in range(5):
        for booster in boosters:
            booster.update(fobj=shared)
    for booster, sigmoid in zip(boosters, (1.0, 2.0), strict=True):
        expected = train(LambdaMART(sigmoid=sigmoid), n_trees=5)
        np.testing.assert_array_equal(booster.predict(X), expected)


def test_seed_follows_lightgbms_generator():
    """The fifth of LightGBM's ``NextShort(0, 32767)``, as its text says of a native model."""
    for seed in (0, 1, 7, 2024, 2**31 - 1, -5):
        booster = lgb.train({**PARAMS, "objective": "rank_xendcg", "seed": seed}, dataset(), 1)
        said = re.search(r"\[objective_seed: (-?\d+)\]", booster.model_to_string())
        assert seed_of_objective(seed) == int(said[1])
    assert seed_of_objective(7) == 15521


# --- what was given explicitly -------------------------------------------------------------------


@pytest.mark.parametrize(("params", "arguments"), LAMBDARANK, ids=str)
def test_an_argument_that_was_given_wins(params, arguments):
    other = {"gain": "linear", "truncation_level": 5, "norm": True, "sigmoid": 3.0}
    found = train(LambdaMART(**other), **params)
    np.testing.assert_array_equal(found, train(LambdaMART(**other)))


def test_a_seed_that_was_given_wins():
    found = train(XENDCG(random_state=4), seed=7, objective_seed=8)
    np.testing.assert_array_equal(found, train(XENDCG(random_state=4)))


# --- losses without such a thing -----------------------------------------------------------------


@pytest.mark.parametrize("name", list_objectives(observations=False))
@pytest.mark.parametrize(
    "params",
    [{"sigmoid": 1.0}, {"lambdarank_norm": True}, {"lambdarank_truncation_level": 30}],
    ids=str,
)
def test_params_of_lambdarank_are_an_error_for_other_losses(name, params):
    objective = get_objective(name)
    if name == "lambdamart":
        objective.with_lightgbm_params(params)
        return
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' means nothing to .*LambdaMART"):
        train(objective, **params, n_trees=1)


def test_regularization_of_position_bias_is_an_error():
    with pytest.raises(ValueError, match="'lambdarank_position_bias_regularization'"):
        train(LambdaMART(), lambdarank_position_bias_regularization=0.1)


@pytest.mark.parametrize("name", list_objectives(observations=False))
def test_seed_and_label_gain_never_raise(name):
    train(get_objective(name), seed=3, objective_seed=4, label_gain=[0, 1, 2, 9], n_trees=1)


@pytest.mark.parametrize("name", list_objectives(observations=False))
def test_label_gain_is_the_gain_of_every_loss_that_has_one(name):
    objective = get_objective(name)
    found = objective.with_lightgbm_params({"label_gain": "0,1,2,9"})
    if "gain" in objective.get_params():
        assert found.gain == [0, 1, 2, 9]
    assert getattr(objective, "gain", None) is None  # the given object stays as it was


@pytest.mark.parametrize("wrapper", [Smoothed, QuerySubsampled])
def test_wrapped_objectives_get_them_too(wrapper):
    found = wrapper(LambdaMART()).with_lightgbm_params({"sigmoid": 2.0, "seed": 7})
    assert found.objective.sigmoid == 2.0
    assert found.random_state == 15521
    named = wrapper("listmle").with_lightgbm_params({"objective_seed": 3})
    assert (named.objective.random_state, named.random_state) == (3, 3)
    with pytest.raises(ValueError, match="'sigmoid' means nothing"):
        wrapper("listmle").with_lightgbm_params({"sigmoid": 2.0})


def test_a_table_of_gains_is_not_for_aggregated_labels():
    found = UStatistic("labels", base=Squared()).with_lightgbm_params({"label_gain": [0, 1, 2, 9]})
    assert found.base.gain is None
    train(UStatistic("labels"), label_gain=[0, 1, 2, 9], n_trees=1)


# --- the same through the Ranker -----------------------------------------------------------------


@pytest.mark.parametrize(("params", "arguments"), LAMBDARANK, ids=str)
def test_lgb_params_of_the_ranker_reach_the_objective(params, arguments):
    def fit(objective, **given):
        ranker = Ranker.lightgbm_defaults(objective, n_estimators=10, n_jobs=1, **given)
        return ranker.fit(X, Y, group=GROUP)

    by_name = fit("lambdamart", lgb_params=params)
    by_object = fit(LambdaMART(), lgb_params=params)
    expected = fit(LambdaMART(**arguments)).predict(X)
    np.testing.assert_array_equal(by_name.predict(X), expected)
    np.testing.assert_array_equal(by_object.predict(X), expected)
    for name, value in arguments.items():
        assert np.array_equal(getattr(by_name.objective_, name), value)


def test_lgb_params_of_the_ranker_are_checked_before_any_work():
    ranker = Ranker.lightgbm_defaults("xendcg", lgb_params={"sigmoid": 2.0})
    with pytest.raises(ValueError, match="'sigmoid' means nothing to XENDCG"):
        ranker.fit(None, None)


def test_objective_seed_and_random_state_of_the_ranker():
    def seed(objective, **params):
        ranker = Ranker.lightgbm_defaults(objective, n_estimators=1, **params)
        return ranker.fit(X, Y, group=GROUP).objective_.random_state

    assert seed("xendcg") == 0
    assert seed("xendcg", random_state=4) == 4
    assert seed(XENDCG(), random_state=4) == 4
    assert seed(XENDCG(random_state=2), random_state=4) == 2
    assert seed("xendcg", random_state=4, lgb_params={"objective_seed": 9}) == 9


# --- what objects stay ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_objectives())
def test_objects_stay_sensible(name):
    objective = get_objective(name)
    assert repr(clone(objective)) == repr(objective) == f"{type(objective).__name__}()"
    for same in (clone(objective), copy.deepcopy(objective), pickle.loads(pickle.dumps(objective))):
        assert same.get_params(deep=False) == objective.get_params(deep=False)
    for argument, (_, default) in type(objective).from_lightgbm.items():
        if argument in objective.get_params(deep=False):
            assert objective.get_params(deep=False)[argument] is None
            assert objective.value_of(argument) == default


@pytest.mark.parametrize(
    ("implicit", "explicit"),
    [
        (LambdaMART(), LambdaMART(1.0, 30, True, "exp")),
        (XENDCG(), XENDCG(random_state=0)),
        (ListMLE(), ListMLE(random_state=0)),
        (Squared(), Squared(gain="exp")),
        (GainPairwise(), GainPairwise(gain="exp")),
        (Smoothed(), Smoothed(XENDCG(random_state=0), random_state=0)),
    ],
    ids=repr,
)
def test_without_lightgbms_params_the_defaults_are_what_they_were(implicit, explicit):
    scores = RNG.normal(size=len(Y))
    for one, other in zip(
        implicit.grad_hess(Y, scores, GROUP), explicit.grad_hess(Y, scores, GROUP), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    if implicit.has_loss:
        np.testing.assert_array_equal(
            implicit.loss(Y, scores, GROUP), explicit.loss(Y, scores, GROUP)
        )


def test_an_objective_of_ones_own_with_other_defaults_is_left_alone():
    class Own(LambdaMART):
        def __init__(self, sigmoid: float = 3.0, gain="linear", *, n_jobs=None) -> None:
            super().__init__(sigmoid, gain=gain, n_jobs=n_jobs)

    params = {"sigmoid": 2.0, "label_gain": [0, 1, 2, 9]}
    assert isinstance(Own(), Objective)
    np.testing.assert_array_equal(train(Own(), **params), train(LambdaMART(3.0, gain="linear")))


def test_names_are_lightgbms_names():
    known = main_names()
    if not known:
        pytest.skip("this LightGBM has no table of aliases")
    assert {name for name, main in known.items() if main == "seed"} == set(_SEEDS)
    ours = {theirs for theirs, _ in LambdaMART.from_lightgbm.values()}
    theirs = {name for name in known if name.startswith("lambdarank_")}
    assert ours - known.keys() == set()
    assert theirs - ours == {"lambdarank_position_bias_regularization"}
    for name in ours:  # one name each: no alias is overlooked
        assert [alias for alias, main in known.items() if main == name] == [name]


def test_an_empty_label_gain_says_nothing():
    assert read_lightgbm_params({"label_gain": []}) == {}
    assert read_lightgbm_params({"label_gain": ""}) == {}
    assert read_lightgbm_params({"seed": None, "sigmoid": None}) == {}
