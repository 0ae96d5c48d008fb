"""The two objectives that LightGBM ships, held against LightGBM's own C++."""

import lightgbm as lgb
import numpy as np
import pytest
from oracles.lightgbm_lambdarank import lambdarank_gradients

from gbrank import XENDCG, LambdaMART

N_TREES = 20
PARAMS = {
    "num_threads": 1,
    "force_col_wise": True,
    "num_leaves": 15,
    "min_data_in_leaf": 5,
    "learning_rate": 0.1,
    "metric": "None",
    "verbose": -1,
}


def synthetic() -> dict[str, np.ndarray]:
    """Queries of 1 to 60 documents, some with equal labels, some without a relevant document."""
    rng = np.random.default_rng(7)
    group = np.concatenate([[1, 1, 2], rng.integers(2, 60, 80)])
    X = rng.normal(size=(group.sum(), 6)).astype(np.float32)
    y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))), 0, 4)
    starts = np.cumsum(group) - group
    y[starts[10] : starts[11]] = 0
    y[starts[12] : starts[13]] = 2
    return {"X": X, "y": y.astype(np.float32), "group": group}


@pytest.fixture(params=["synthetic", "MQ2008"])
def data(request, real_data):
    if request.param == "synthetic":
        return synthetic()
    arrays = real_data("MQ2008")
    group = np.diff(np.flatnonzero(np.diff(arrays["qid"], prepend=-1, append=-1)))
    return {"X": arrays["X"], "y": arrays["y"].astype(np.float32), "group": group}


def weights_for(data: dict[str, np.ndarray]) -> np.ndarray:
    return np.random.default_rng(3).uniform(0.1, 3.0, len(data["y"])).astype(np.float32)


def dataset(data, weight):
    return lgb.Dataset(data["X"], data["y"], group=data["group"], weight=weight, params=PARAMS)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [5, 2024])
def test_xendcg_equals_rank_xendcg(data, weighted, seed):
    weight = weights_for(data) if weighted else None
    native = lgb.train(
        {**PARAMS, "objective": "rank_xendcg", "objective_seed": seed},
        dataset(data, weight),
        N_TREES,
    )
    ours = lgb.train(
        {**PARAMS, "objective": XENDCG(generator="lightgbm", random_state=seed)},
        dataset(data, weight),
        N_TREES,
    )
    expected = native.predict(data["X"])
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(ours.predict(data["X"]), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("norm", "truncation_level", "sigmoid"),
    [(True, 30, 1.0), (False, 30, 1.0), (True, 5, 2.0), (False, 5, 1.0), (True, 1000, 1.0),
     (False, 1000, 2.0)],
)  # fmt: skip
def test_lambdamart_gradients_equal_lambdarank_all_along(
    data, weighted, norm, truncation_level, sigmoid
):
    """At every iteration of a training: equal to 5e-6 of the query's largest value.

    A row's weight multiplies its own error, so the largest is taken before weights.
    """
    weight = weights_for(data) if weighted else None
    options = {"sigmoid": sigmoid, "truncation_level": truncation_level, "norm": norm}
    ours = LambdaMART(**options)
    starts = np.cumsum(data["group"]) - data["group"]
    checked = 0

    def compare(scores, dataset):
        nonlocal checked
        unweighted = lambdarank_gradients(data["y"], scores, data["group"], **options)
        expected = lambdarank_gradients(data["y"], scores, data["group"], weight, **options)
        mine = ours(scores, dataset)
        for values, theirs, plain in zip(mine, expected, unweighted, strict=True):
            largest = np.repeat(np.maximum.reduceat(np.abs(plain), starts), data["group"])
            allowed = 5e-6 * largest * (1.0 if weight is None else weight)
            assert (np.abs(values - theirs) <= allowed).all()
        checked += 1
        return expected

    lgb.train({**PARAMS, "objective": compare}, dataset(data, weight), N_TREES)
    assert checked == N_TREES
