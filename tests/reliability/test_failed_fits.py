"""Fits that fail by an argument: no model after the first, the old one after a second.

A fit that fails leaves nothing half done, whichever argument is wrong and whatever is trained.
"""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from lightgbm.basic import LightGBMError
from sklearn.exceptions import NotFittedError

from gbrank import Ranker
from gbrank.data import make_ranking
from gbrank.preferences import Comparisons

DATA = make_ranking(n_queries=24, n_features=4, n_informative=3, random_state=3)
FRAME = pd.DataFrame(DATA.X.astype(float), columns=list("abcd"))
REVERSED = FRAME[FRAME.columns[::-1]]
N = len(DATA.y)
EVALUATION = {"eval_X": REVERSED, "eval_y": DATA.y, "eval_qid": DATA.qid}
SETTINGS = {"n_estimators": 3, "num_leaves": 5, "n_jobs": 1, "min_child_samples": 5}


class CallbackError(Exception):
    pass


def fail(env):
    if env.iteration == 1:
        raise CallbackError


def changed(values, at, value):
    copied = np.array(values, dtype=float)
    copied[at] = value
    return copied


#: By argument of fit, values that are refused, with what else must be given. ``None`` takes an
#: argument away.
WRONG = {
    "X": [
        {"X": REVERSED.iloc[:-1]},
        {"X": "text"},
        {"X": np.zeros(5)},
        {"X": REVERSED.assign(a="word")},
        {"X": REVERSED.assign(a=REVERSED["b"]).rename(columns={"a": "b"})},
        {"X": REVERSED * 0.0},
    ],
    "y": [{"y": changed(DATA.y, 5, v)} for v in (-1.0, np.nan, np.inf)]
    + [{"y": DATA.y[:-1]}, {"y": ["a"] * N}, {"y": None}],
    "qid": [{"qid": DATA.qid[:-1]}, {"qid": None}, {"qid": "no such column"}, {"qid": 3}],
    "group": [{"qid": None, "group": g} for g in ([1, 2], [-1, N + 1], [0.5, N - 0.5], [[N]])]
    + [{"group": [N]}],
    "sample_weight": [
        {"sample_weight": w}
        for w in (
            changed(np.ones(N), 3, -1.0),
            changed(np.ones(N), 3, np.nan),
            [1.0, 2.0],
            ["a"] * N,
        )
    ],
    "init_score": [{"init_score": s} for s in (DATA.y[:-1], changed(DATA.y, 0, np.nan), ["a"] * N)],
    "preferences": [
        {"preferences": Comparisons(None, [0], [1])},  # an objective that learns from labels
        {"preferences": [(0, 1)]},
        {"preferences": Comparisons(None, [0], [N + 7]), "objective": "preference_logistic"},
        {"preferences": Comparisons(None, [0], [N - 1]), "objective": "preference_logistic"},
    ],
    "keys": [
        {
            "keys": ["a", "b"],
            "preferences": Comparisons(DATA.qid[:1], ["a"], ["b"], items="key"),
            "objective": "preference_logistic",
        }
    ],
    "eval_X": [EVALUATION | {"eval_X": v} for v in (FRAME.iloc[:, :2], FRAME.iloc[:-1], "text")],
    "eval_y": [EVALUATION | {"eval_y": v} for v in (None, DATA.y[:-1], changed(DATA.y, 0, np.nan))],
    "eval_qid": [EVALUATION | {"eval_qid": v} for v in (None, DATA.qid[:-1], "no such column")],
    "eval_sample_weight": [
        EVALUATION | {"eval_sample_weight": v} for v in ([1.0, 2.0], -DATA.y - 1)
    ],
    "eval_init_score": [EVALUATION | {"eval_init_score": v} for v in (DATA.y[:-1], ["a"] * N)],
    "eval_set": [
        {"eval_set": v, "eval_group": [DATA.group]} for v in ([FRAME], 3, [(FRAME, 1, 2)])
    ],
    "eval_group": [{"eval_set": [(REVERSED, DATA.y)], "eval_group": v} for v in (None, [[1, 2]])],
    "init_model": [{"init_model": v} for v in (3, "no such file", Ranker(), object())],
    "callbacks": [{"callbacks": [fail]}, {"callbacks": [3]}],
    "position": [{"position": np.zeros(N, dtype=int)}, {"unbiased": "additive", "position": [0]}],
    "propensity": [
        {"propensity": np.ones(N)},
        {"unbiased": "ips", "position": np.zeros(N, dtype=int), "propensity": np.zeros(N)},
    ],
    "unbiased": [
        {"unbiased": v, "position": np.zeros(N, dtype=int)} for v in ("no such way", "ips")
    ],
    "clip": [
        {"unbiased": "ips", "position": np.zeros(N, int), "propensity": np.ones(N), "clip": v}
        for v in (-1.0, 7.0, "a")
    ],
    "eval_position": [EVALUATION | {"eval_position": np.zeros(N, dtype=int)}],
    # and by parameters of the estimator
    "lgb_params": [
        {"lgb_params": v}
        for v in (
            {"no_such": 1},
            {"tree_learner": "no such"},
            {"max_bin": -5},
            {"num_leaves": 1},
            3,
        )
    ],
    "objective": [{"objective": "no such"}, {"objective": 3}],
    "start": [
        {"start": v}
        for v in ("no such", 3, lambda X: X["no such"], lambda X: np.full(len(X), np.nan))
    ],
    "eval_metric": [{"eval_metric": "no such"}],
    "n_estimators": [{"n_estimators": v} for v in (0, -1, 2.5)],
    "learning_rate": [{"learning_rate": v} for v in (-1.0, np.nan, "a")],
    "n_jobs": [{"n_jobs": 10**6}],
    "preset": [{"preset": "no such"}],
}
CASES = [
    pytest.param(case, id=f"{name} {at}")
    for name, all_ in WRONG.items()
    for at, case in enumerate(all_)
]
PARAMETERS = set(Ranker().get_params())


def fit_wrongly(ranker, case):
    arguments = {"X": REVERSED, "y": DATA.y, "qid": DATA.qid}
    arguments |= {name: value for name, value in case.items() if name not in PARAMETERS - {"qid"}}
    given = {name: value for name, value in case.items() if name in PARAMETERS - {"qid"}}
    before = {name: ranker.get_params()[name] for name in given}
    with pytest.raises((ValueError, TypeError, OSError, KeyError, LightGBMError, CallbackError)):
        ranker.set_params(**given).fit(**arguments)
    ranker.set_params(**before)


def make(preset):
    return Ranker("listnet", preset=preset, start="linear", **SETTINGS)


@pytest.fixture(scope="module", params=["fast", "balanced"])
def trained(request):
    ranker = make(request.param).fit(FRAME, DATA.y, qid=DATA.qid)
    return request.param, pickle.dumps(ranker), ranker.predict(FRAME)


def test_every_argument_has_a_way_to_fail():
    assert set(inspect.signature(Ranker.fit).parameters) - {"self"} <= WRONG.keys()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_after_a_failed_fit(trained, case):
    preset, pickled, expected = trained
    first = make(preset)
    fit_wrongly(first, case)
    assert [name for name in vars(first) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        first.predict(FRAME)
    second = pickle.loads(pickled)
    attributes = set(vars(second))
    fit_wrongly(second, case)
    assert set(vars(second)) == attributes
    assert second.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(second.predict(FRAME), expected)
    np.testing.assert_array_equal(second.predict(REVERSED), expected)  # matched by name
