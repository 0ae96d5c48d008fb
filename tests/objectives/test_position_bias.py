"""A bias of positions beside the trees: LightGBM's own for LambdaMART, the same rule elsewhere."""

import copy
import pickle
import re

import lightgbm as lgb
import numpy as np
import pytest
from oracles.lightgbm_lambdarank import lambdarank_gradients
from sklearn.base import clone

from gbrank import (
    ClickSoftmax,
    DualSoftmax,
    GainPairwise,
    LambdaMART,
    PositionBias,
    Ranker,
    Squared,
)
from gbrank.plotting import PropensityDisplay

N_TREES = 12
PARAMS = {
    "num_threads": 1,
    "force_col_wise": True,
    "num_leaves": 7,
    "min_data_in_leaf": 5,
    "learning_rate": 0.2,
    "lambda_l2": 0.5,
    "metric": "None",
    "verbose": -1,
}
TRUTH = np.array([1.0, 0.6, 0.4, 0.3, 0.2])


@pytest.fixture(scope="module")
def clicks():
    """Lists of five in random order, clicked by a position-based model; relevance is X[:, 0]."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    position = np.tile(np.arange(5), 600)
    relevance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = (rng.random(3000) < TRUTH[position] * relevance).astype(float)
    weight = rng.uniform(0.5, 2.0, 3000)
    return {"X": X, "y": y, "position": position, "weight": weight, "relevance": relevance}


def dataset(data, weight=None):
    return lgb.Dataset(
        data["X"], data["y"], group=[5] * 600, position=data["position"], weight=weight
    )


class Log:
    """Collects what LightGBM logs."""

    def __init__(self):
        self.lines = []

    def info(self, text):
        self.lines.append(text)

    warning = info


@pytest.fixture
def native_log():
    log = Log()
    lgb.register_logger(log)
    yield log
    lgb.register_logger(_Print())


class _Print:
    info = warning = staticmethod(print)


def logged_biases(log):
    """Return the bias of each position that LightGBM's log has, tree by tree."""
    text = "\n".join(log.lines)
    found = re.findall(r"^(?:\[LightGBM\] \[Debug\])?\s+(\d+)\s+(-?[\d.e+-]+)\s*$", text, re.M)
    rows = np.array([float(bias) for _, bias in found]).reshape(-1, len(TRUTH))
    assert [int(name) for name, _ in found[:5]] == [0, 1, 2, 3, 4]
    return rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("regularization", [0.0, 0.05])
def test_lambdamart_is_as_lightgbm(clicks, native_log, weighted, regularization):
    """Leaf by leaf: what LightGBM's trees say is what our gradients, at our bias, add up to."""
    weight = clicks["weight"] if weighted else None
    own = {"lambdarank_position_bias_regularization": regularization, "objective": "lambdarank"}
    native = lgb.train({**PARAMS, **own, "verbose": 2}, dataset(clicks, weight), N_TREES)
    biases = logged_biases(native_log)
    assert len(biases) >= N_TREES
    objective = PositionBias(LambdaMART(), regularization, learning_rate=0.2)
    training = objective.bind(clicks["y"], [5] * 600, weight, position=clicks["position"])
    leaves = native.predict(clicks["X"], pred_leaf=True)
    dumped = native.dump_model()["tree_info"]
    scores = np.zeros(3000)
    for tree in range(N_TREES):
        before = objective.bias_ if tree else np.zeros(5)
        grad, hess = (each.copy() for each in training.advance(scores))
        expected = lambdarank_gradients(
            clicks["y"], scores + before[clicks["position"]], [5] * 600, weight
        )
        assert np.abs(grad - expected[0]).max() < 1e-6
        assert np.abs(hess - expected[1]).max() < 1e-6
        assert dumped[tree]["tree_index"] == tree
        for leaf in np.unique(leaves[:, tree]):
            rows = leaves[:, tree] == leaf
            value = -0.2 * grad[rows].sum(dtype=float) / (hess[rows].sum(dtype=float) + 0.5)
            assert native.get_leaf_output(tree, leaf) == pytest.approx(value, rel=1e-4, abs=1e-6)
        assert objective.bias_ == pytest.approx(biases[tree], rel=1e-4, abs=2e-6)
        scores = native.predict(clicks["X"], num_iteration=tree + 1)


def test_in_lightgbm_train(clicks):
    """The same trees as LightGBM's; the learning rate comes from its parameters."""
    native = lgb.train({**PARAMS, "objective": "lambdarank"}, dataset(clicks), N_TREES)
    objective = PositionBias("lambdamart")
    ours = lgb.train({**PARAMS, "objective": objective}, dataset(clicks), N_TREES)
    assert ours.predict(clicks["X"]) == pytest.approx(native.predict(clicks["X"]), abs=1e-5)
    assert (np.diff(objective.bias_) < 0).all()
    assert objective.positions_.tolist() == [0, 1, 2, 3, 4]
    again = lgb.train({**PARAMS, "objective": objective}, dataset(clicks), 3)
    assert len(objective.trainings_) == 2
    assert again.num_trees() == 3
    assert not np.array_equal(objective.trainings_[0].bias, objective.trainings_[1].bias)


@pytest.mark.parametrize("base", [Squared(), GainPairwise(), "xendcg", "kl", "listmle"])
def test_the_rule_for_any_objective(clicks, base):
    """One step by hand: gradients at shifted scores, then Newton's step of each position."""
    y, position = clicks["y"][:50], clicks["position"][:50]
    objective = PositionBias(base, regularization=0.3, learning_rate=0.5)
    training = objective.bind(y, [5] * 10, position=position)
    scores, bias = np.linspace(-1, 1, 50), np.zeros(5)
    for step in range(3):
        plain = objective.inner.grad_hess(y, scores + bias[position], [5] * 10, iteration=step)
        found = training.advance(scores)
        for one, other in zip(found, plain, strict=True):
            assert one == pytest.approx(other, rel=1e-5, abs=1e-6)
        for k in range(5):
            g, h = (each[position == k].sum(dtype=float) for each in plain)
            bias[k] += 0.5 * (-g - 0.3 * 10 * bias[k]) / (h + 0.3 * 10 + 0.001)
        assert objective.bias_ == pytest.approx(bias, rel=1e-4, abs=1e-6)
        scores = scores + 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_with_items_it_is_newtons_step_of_bias_and_levels(clicks, weighted):
    """Solved densely, a column for each position and item, a tenth of a row as prior on levels."""
    y, position = clicks["y"][:100], clicks["position"][:100]
    weight = clicks["weight"][:100] if weighted else None
    items = np.random.default_rng(0).integers(5, 35, 100)
    seen_at = [len(set(position[items == item])) for item in np.unique(items)]
    assert min(seen_at) == 1
    assert max(seen_at) > 3
    objective = PositionBias("gain_pairwise", 0.2, learning_rate=0.5, items=items)
    training = objective.bind(y, [5] * 20, weight, position=position)
    columns = np.column_stack(
        (position[:, None] == np.arange(5), items[:, None] == np.unique(items))
    ).astype(float)  # fmt: skip
    scores, bias = np.linspace(-1, 1, 100), np.zeros(5)
    for step in range(3):
        grad, hess = (each.astype(float) for each in training.advance(scores))
        plain = objective.inner.grad_hess(
            y, scores + bias[position], [5] * 20, weight, iteration=step
        )
        assert grad == pytest.approx(plain[0], abs=1e-5)
        matrix = columns.T @ (columns * hess[:, None])
        penalty = np.full(columns.shape[1], 0.1 * hess.mean())
        penalty[:5] = 0.2 * 20 + 0.001
        down = -columns.T @ grad
        down[:5] -= 0.2 * 20 * bias
        moved = np.linalg.solve(matrix + np.diag(penalty), down)[:5]
        bias += 0.5 * (moved - moved.mean())
        assert objective.bias_ == pytest.approx(bias, rel=1e-4, abs=1e-5)
        assert np.abs(bias).max() > 0.01
        scores = scores + 0.1


@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_items_tell_position_from_relevance(eta):
    """Good documents stand at the top, and trees learn nothing: the worst case for the bias.

    200 queries of five documents, each shown in 60 orders; clicks of a known curve.
    """
    rng = np.random.default_rng(0)
    relevance = rng.beta(1, 2, (200, 5))
    shown = np.repeat(np.arange(200), 60)
    order = np.argsort(-(relevance[shown] + 0.3 * rng.normal(size=(12_000, 5))), axis=1)
    truth = np.arange(1, 6) ** -eta
    clicked = rng.random(order.shape) < truth * relevance[shown[:, None], order]
    items = (5 * shown[:, None] + order).ravel()
    data = clicked.ravel().astype(float), [5] * 12_000

    def learned(items):
        objective = PositionBias(ClickSoftmax(), learning_rate=0.3, items=items)
        training = objective.bind(*data, position=np.tile(np.arange(5), 12_000))
        for _ in range(60):
            training.advance(np.zeros(60_000))
        return np.exp(objective.bias_ - objective.bias_[0])

    without, with_items = learned(None), learned(items)
    assert without[-1] < 0.7 * truth[-1]
    assert np.abs(np.log(with_items / truth)).max() < 0.5 * np.abs(np.log(without / truth)).max()


def test_without_positions_it_is_the_base(clicks):
    y, scores = clicks["y"][:50], np.linspace(-1, 1, 50)
    for one, other in zip(
        PositionBias(Squared()).grad_hess(y, scores, [5] * 10),
        Squared().grad_hess(y, scores, [5] * 10),
        strict=True,
    ):
        assert (one == other).all()
    assert PositionBias(Squared()).loss(y, scores, [5] * 10).shape == (10,)


def test_records_are_shared_by_copies_alone(clicks):
    objective = PositionBias("xendcg")
    with pytest.raises(AttributeError, match="has learned no bias yet"):
        objective.bias_  # noqa: B018
    twin, other = copy.deepcopy(objective), clone(objective)
    lgb.train({**PARAMS, "objective": twin}, dataset(clicks), 2)
    assert len(objective.bias_) == 5
    assert not hasattr(other, "bias_")
    assert (pickle.loads(pickle.dumps(objective)).bias_ == objective.bias_).all()


def test_dual_step_by_hand(clicks):
    y, position = clicks["y"][:50], clicks["position"][:50]
    objective = DualSoftmax(learning_rate=0.5, largest_weight=1.5)
    training = objective.bind(y, [5] * 10, position=position)
    scores, bias = np.random.default_rng(0).normal(size=50), np.zeros(5)
    for _ in range(4):
        grad, hess = training.advance(scores)
        gradient, hessian = np.zeros(5), np.zeros(5)
        share = np.exp(bias) / np.exp(bias).sum()
        for q in range(10):
            rows = slice(5 * q, 5 * q + 5)
            s, c = scores[rows], y[rows]
            rho = np.exp(s) / np.exp(s).sum()
            target = c * np.minimum(np.exp(-bias), 1.5)
            assert grad[rows] == pytest.approx(target.sum() * rho - target, abs=1e-5)
            assert hess[rows] == pytest.approx(target.sum() * rho * (1 - rho), abs=1e-5)
            relevant = c * np.minimum(np.exp(s[np.argmax(bias)] - s), 1.5)
            gradient += relevant.sum() * share - relevant
            hessian += relevant.sum() * share * (1 - share)
        bias += 0.5 * -gradient / (hessian + 0.001)
        bias -= bias.max()
        assert objective.bias_ == pytest.approx(bias, rel=1e-6)


def test_dual_gradient_is_that_of_its_loss(clicks):
    y, scores, group = clicks["y"][:10], np.linspace(-1, 1, 10), [5, 5]
    objective = DualSoftmax()
    grad, hess = objective.grad_hess(y, scores, group)
    for at in range(10):
        step = np.zeros(10)
        step[at] = 1e-4
        up, mid, down = (
            objective.loss(y, scores + d, group).sum() for d in (step, 0 * step, -step)
        )
        assert grad[at] == pytest.approx((up - down) / 2e-4, abs=1e-4)
        assert hess[at] == pytest.approx((up - 2 * mid + down) / 1e-8, abs=1e-3)


def test_dual_learns_propensities(clicks):
    objective = DualSoftmax()
    booster = lgb.train({**PARAMS, "objective": objective}, dataset(clicks), 40)
    assert np.exp(objective.bias_) == pytest.approx(TRUTH, abs=0.15)
    assert np.corrcoef(booster.predict(clicks["X"]), clicks["relevance"])[0, 1] > 0.8


def test_refusals(clicks):
    plain = lgb.Dataset(clicks["X"], clicks["y"], group=[5] * 600)
    with pytest.raises(ValueError, match="PositionBias needs the position of each row"):
        lgb.train({**PARAMS, "objective": PositionBias("xendcg")}, plain, 1)
    with pytest.raises(ValueError, match=r"position=, which Squared does not read.*PositionBias"):
        lgb.train({**PARAMS, "objective": Squared()}, dataset(clicks), 1)
    with pytest.raises(ValueError, match="needs the position"):
        lgb.LGBMRanker(objective=DualSoftmax(), verbose=-1).fit(
            clicks["X"], clicks["y"], group=[5] * 600
        )
    with pytest.raises(ValueError, match="base must learn from labels alone"):
        PositionBias("preference_logistic")
    with pytest.raises(ValueError, match="regularization must be a number >= 0, got -1"):
        PositionBias("xendcg", -1)
    with pytest.raises(ValueError, match=r'learning_rate must be a number >= 0 or "auto"'):
        PositionBias("xendcg", learning_rate="fast")
    for items in ([0, 1], [0.5, 1.0, 2.0]):
        with pytest.raises(ValueError, match="items must be an array of integers, one per row"):
            PositionBias("xendcg", items=items).bind([1, 0, 0], [3], position=[0, 1, 2])
    with pytest.raises(ValueError, match="Squared cannot learn from positions"):
        Squared().bind([1, 0], [2], position=[0, 1])
    with pytest.raises(ValueError, match=r"position must be an integer >= 0, but row 1"):
        PositionBias("xendcg").bind([1, 0], [2], position=[0, -1])
    with pytest.raises(ValueError, match="has no bias_"):
        PropensityDisplay.from_bias(Ranker())
