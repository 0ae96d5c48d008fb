"""Every objective at a learning rate of 1, with leaves of a few rows: no training falls apart.

Also why: the bounded hessian of softmax losses and of ListMLE, against arbitrary steps and trees.
"""

import itertools

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.base import clone

from gbrank import (
    XENDCG,
    LambdaMART,
    ListMLE,
    ListNet,
    Objective,
    Smoothed,
    get_objective,
    list_objectives,
)
from gbrank.data import make_ranking
from gbrank.metrics import ndcg_score

# long lists: a document whose share is a hundredth may ask for a step of a hundred
DATA = make_ranking(n_queries=8, list_length=(20, 50), n_features=10, random_state=1)
#: Fewest rows of a leaf.
LEAVES = (1, 5, 20)
#: Its targets are 0 and 1 as it comes, so that NDCG of grades cannot tell whether it learns.
PARAMS = {"regression_compatible": {"max_label": 4.0}}


def train_hard(objective: Objective, rows_per_leaf: int, judged=DATA.y) -> tuple[float, float]:
    """Return the highest and the last training NDCG of 300 trees at a rate of 1."""
    if objective.needs_observations:
        objective = clone(objective).set_params(observations="labels")
    dataset = lgb.Dataset(DATA.X, DATA.y, group=DATA.group, params={"min_data_in_bin": 1})
    seen = []

    def training_ndcg(scores, _):
        seen.append(float(np.mean(ndcg_score(judged, scores, qid=DATA.qid))))
        return "ndcg", seen[-1], True

    params = {"objective": objective, "learning_rate": 1.0, "min_data_in_leaf": rows_per_leaf,
              "num_leaves": 15, "metric": "None", "verbose": -1, "num_threads": 1}  # fmt: skip
    lgb.train(params, dataset, 300, valid_sets=[dataset], feval=training_ndcg)
    assert len(seen) == 300
    return max(seen), seen[-1]


@pytest.mark.parametrize("rows_per_leaf", LEAVES)
@pytest.mark.parametrize("name", list_objectives())
def test_losses_that_diverge(name, rows_per_leaf):
    # one that tells only relevant from irrelevant is not judged by grades
    judged = np.minimum(DATA.y, 1) if name == "sigmoid_cross_entropy" else DATA.y
    objective = get_objective(name, **PARAMS.get(name, {}))
    highest, last = train_hard(objective, rows_per_leaf, judged)
    assert highest > 0.9  # it learnt
    assert last > highest - 0.02, f"{name} fell from {highest:.3f} to {last:.3f}"


def test_what_the_exact_hessian_does_instead():
    """The exact hessian of a softmax at every step, as if no query were ever lost."""

    def newton(scores, dataset):
        grad, hess = np.empty(len(scores)), np.empty(len(scores))
        bounds = np.concatenate(([0], np.cumsum(DATA.group)))
        for a, b in itertools.pairwise(bounds):
            rho = np.exp(scores[a:b] - scores[a:b].max())
            rho /= rho.sum()
            phi = np.exp(DATA.y[a:b]) / np.exp(DATA.y[a:b]).sum()
            grad[a:b], hess[a:b] = rho - phi, rho * (1 - rho)
        return grad, hess

    newton.needs_observations = False
    highest, last = train_hard(newton, 1)
    assert last < highest - 0.1


# --- the bound behind it -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective",
    [ListMLE(), ListMLE(k=2), ListNet().bounded(), XENDCG(gamma=0.3).bounded(),
     XENDCG(eps=0.5, gamma=0.0).bounded()],
    ids=["listmle", "listmle k=2", "listnet", "xendcg", "xendcg eps"],
)  # fmt: skip
def test_no_tree_of_a_bounded_loss_raises_it(objective):
    rng = np.random.default_rng(0)
    group = rng.integers(2, 9, 80)
    labels = rng.integers(0, 4, group.sum()).astype(float)
    for spread in (0.0, 1.0, 5.0, 50.0):
        scores = spread * rng.normal(size=len(labels))
        for n_leaves in (1, 2, 8, 64, len(labels)):
            for rate in (0.3, 1.0):
                leaf = rng.integers(0, n_leaves, len(labels))
                grad, hess = (a.astype(float) for a in objective.grad_hess(labels, scores, group))
                total = np.maximum(np.bincount(leaf, hess, n_leaves), 1e-30)
                step = -rate * (np.bincount(leaf, grad, n_leaves) / total)[leaf]
                assert np.abs(step).max() <= 2.0 * rate + 1e-5
                before = objective.loss(labels, scores, group).sum()
                after = objective.loss(labels, scores + step, group).sum()
                assert after <= before + 1e-5 * abs(before)
                scores = scores + step


def test_the_exact_diagonal_of_listmle_does_raise_it():
    """A relevant document far behind: its second derivative is nearly 0, its step enormous."""
    labels, scores, group = np.array([0.0, 1.0, 0.0]), np.array([0.0, -8.0, 0.0]), [3]
    p = np.exp(scores) / np.exp(scores).sum()
    grad, hess = (a.astype(float) for a in ListMLE(k=1).grad_hess(labels, scores, group))
    np.testing.assert_allclose(grad, p - labels, rtol=1e-6)
    np.testing.assert_allclose(hess, (p + labels) / 2, rtol=1e-6)
    # a leaf with the relevant document of this query and, in another one, an irrelevant document
    # as far behind: best for both is a step of less than log(1 / p)
    two, twice, groups = np.concatenate([labels, 1 - labels]), np.tile(scores, 2), [3, 3]
    leaf = np.array([1, 4])
    before = ListMLE(k=1).loss(two, twice, groups).sum()
    grad, hess = (a.astype(float) for a in ListMLE(k=1).grad_hess(two, twice, groups))
    exact = np.tile(p * (1 - p), 2)
    after = []
    for denominators in (hess, exact):
        moved = twice.copy()
        moved[leaf] -= grad[leaf].sum() / denominators[leaf].sum()
        after.append(ListMLE(k=1).loss(two, moved, groups).sum())
    assert after[0] < before < after[1]


# --- lost queries ---------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", [ListNet(), XENDCG(gamma=0.5)], ids=repr)
def test_a_query_that_is_lost_takes_bounded_steps_from_then_on(objective):
    labels, group = np.array([2.0, 0.0, 1.0, 2.0, 0.0, 1.0]), [3, 3]
    wild = np.array([0.0, 0.0, 0.0, -40.0, 0.0, -40.0])  # the second query puts its worst on top
    tame = np.array([0.3, 0.0, 0.1, 0.3, 0.0, 0.1])
    training, fresh = objective.bind(labels, group), objective.bind(labels, group)
    for buffer in (tame, wild, tame):
        grad, hess = (a.copy() for a in training.advance(buffer))
        expected_grad, expected_hess = objective.bounded().grad_hess(labels, buffer, group)
        newton_grad, newton_hess = fresh.grad_hess(tame)
        if buffer is wild:
            lost = True
        elif training.iteration == 1:
            lost = False
        second = slice(3, 6)
        if lost:
            np.testing.assert_array_equal(grad[second], expected_grad[second])
            np.testing.assert_array_equal(hess[second], expected_hess[second])
        else:
            np.testing.assert_array_equal(grad, newton_grad)
            np.testing.assert_array_equal(hess, newton_hess)
    np.testing.assert_array_equal(grad[:3], newton_grad[:3])  # the first query was never lost
    np.testing.assert_array_equal(hess[:3], newton_hess[:3])
    training.iteration = 0  # a training that begins again has lost nothing
    np.testing.assert_array_equal(training.grad_hess(tame)[1], newton_hess)


def test_the_steps_of_a_smoothed_loss_shrink():
    labels, scores = [2.0, 0.0, 1.0], [0.1, 0.0, 0.2]
    for samples in (1, 4):
        objective = Smoothed(LambdaMART(norm=False), scale=1e-9, samples=samples)
        first = objective.grad_hess(labels, scores, [3], iteration=0)
        late = objective.grad_hess(labels, scores, [3], iteration=60)
        np.testing.assert_allclose(late[0], first[0], rtol=1e-5)
        np.testing.assert_allclose(late[1], (1 + 2 / samples) * first[1], rtol=1e-5)
