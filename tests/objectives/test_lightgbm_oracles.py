"""The oracles of LightGBM's ranking objectives against LightGBM itself.

LightGBM does not give away the gradients of its own objectives, so a training with the native
objective is compared with one whose gradients come from the oracle. One gradient of one iteration
that is off by its last bit moves the predictions by 1e-11 to 1e-7.
"""

import itertools

import lightgbm as lgb
import numpy as np
import pytest
from oracles.lightgbm_lambdarank import lambdarank_gradients
from oracles.lightgbm_xendcg import XendcgOracle

TREES = 20
COMMON = {
    "num_threads": 1,
    "force_col_wise": True,
    "learning_rate": 0.1,
    "num_leaves": 15,
    "min_data_in_leaf": 5,
    "metric": "None",
    "verbosity": -1,
}


@pytest.fixture(scope="module")
def synthetic():
    """Grades 0 to 4, with queries of one document, of equal labels, and one of 200 documents."""
    rng = np.random.default_rng(0)
    group = np.concatenate((rng.integers(1, 40, size=60), [1, 200, 1, 2]))
    n = group.sum()
    X = rng.normal(size=(n, 6)).round(1)  # rounded, so that documents share leaves and scores tie
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n), [0.5, 1.0, 1.5, 2.5])
    query = np.repeat(np.arange(len(group)), group)
    y[np.isin(query, [3, 8])] = 0
    y[query == 13] = 2
    return {"X": X, "y": y, "group": group, "weight": rng.uniform(0.2, 3.0, size=n)}


@pytest.fixture(scope="module")
def mq2008(real_data):
    data = real_data("MQ2008")
    _, group = np.unique(data["qid"], return_counts=True)
    assert (np.diff(data["qid"]) != 0).sum() + 1 == len(group)  # each query is one run of rows
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=len(data["y"]))
    return {"X": data["X"], "y": data["y"], "group": group, "weight": weight}


def train(data, objective, weight=None, init_score=None, **params):
    dataset = lgb.Dataset(
        data["X"], data["y"], group=data["group"], weight=weight, init_score=init_score
    )
    booster = lgb.train({**COMMON, **params, "objective": objective}, dataset, TREES)
    leaves = [tree["num_leaves"] for tree in booster.dump_model()["tree_info"]]
    assert len(leaves) == TREES  # there is something to compare
    assert min(leaves) > 2
    return booster.predict(data["X"])


def compare_lambdarank(
    data, *, norm=True, truncation=30, sigmoid=1.0, weight=None, init_score=None, label_gain=None
):
    def oracle(scores, dataset):
        return lambdarank_gradients(
            data["y"],
            scores,
            data["group"],
            weight,
            sigmoid=sigmoid,
            truncation_level=truncation,
            norm=norm,
            label_gain=label_gain,
        )

    native_params = {
        "lambdarank_norm": norm,
        "lambdarank_truncation_level": truncation,
        "sigmoid": sigmoid,
    }
    if label_gain is not None:
        native_params["label_gain"] = label_gain
    native = train(data, "lambdarank", weight, init_score, **native_params)
    ours = train(data, oracle, weight, init_score)
    np.testing.assert_allclose(ours, native, rtol=0, atol=1e-12)


def compare_xendcg(data, seed, weight=None, init_score=None):
    oracle = XendcgOracle(data["y"], data["group"], seed, weight)
    native = train(data, "rank_xendcg", weight, init_score, objective_seed=seed)
    ours = train(data, lambda scores, dataset: oracle.step(scores), weight, init_score)
    np.testing.assert_allclose(ours, native, rtol=0, atol=1e-12)


LAMBDARANK_CASES = list(itertools.product([True, False], [5, 30, 1000], [1.0, 2.0], [False, True]))


@pytest.mark.parametrize(("norm", "truncation", "sigmoid", "weighted"), LAMBDARANK_CASES)
def test_lambdarank_synthetic(synthetic, norm, truncation, sigmoid, weighted):
    weight = synthetic["weight"] if weighted else None
    compare_lambdarank(synthetic, norm=norm, truncation=truncation, sigmoid=sigmoid, weight=weight)


@pytest.mark.parametrize(("norm", "truncation", "sigmoid", "weighted"), LAMBDARANK_CASES)
def test_lambdarank_mq2008(mq2008, norm, truncation, sigmoid, weighted):
    weight = mq2008["weight"] if weighted else None
    compare_lambdarank(mq2008, norm=norm, truncation=truncation, sigmoid=sigmoid, weight=weight)


@pytest.mark.parametrize("sigmoid", [1.0, 2.0])
def test_lambdarank_beyond_the_sigmoid_table(synthetic, sigmoid):
    scores = np.random.default_rng(2).normal(scale=25.0, size=len(synthetic["y"]))
    compare_lambdarank(synthetic, sigmoid=sigmoid, init_score=scores)


def test_lambdarank_label_gain(synthetic):
    compare_lambdarank(synthetic, label_gain=[0.0, 1.0, 2.5, 2.5, 10.0])


@pytest.mark.parametrize("seed", [5, 123456])
@pytest.mark.parametrize("weighted", [False, True])
def test_xendcg_synthetic(synthetic, seed, weighted):
    compare_xendcg(synthetic, seed, synthetic["weight"] if weighted else None)


@pytest.mark.parametrize("seed", [5, 123456])
@pytest.mark.parametrize("weighted", [False, True])
def test_xendcg_mq2008(mq2008, seed, weighted):
    compare_xendcg(mq2008, seed, mq2008["weight"] if weighted else None)


def test_xendcg_far_scores(synthetic):
    scores = np.random.default_rng(2).normal(scale=2.0, size=len(synthetic["y"]))
    compare_xendcg(synthetic, 5, init_score=scores)


def test_xendcg_fractional_labels(synthetic):
    labels = synthetic["y"] + np.random.default_rng(3).uniform(0.0, 0.99, size=len(synthetic["y"]))
    compare_xendcg({**synthetic, "y": labels}, 5)
