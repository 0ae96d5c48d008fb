"""One suite for every registered objective, and proof that the suite can fail."""

from typing import ClassVar

import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART, ListNet, Objective, get_objective, list_objectives
from gbrank.testing import check_objective

VARIANTS = [
    XENDCG(gamma=0.0),
    XENDCG(gamma=1.0, neumann_order=4),
    XENDCG(neumann_order=0, eps=0.5),
    XENDCG(generator="lightgbm", random_state=5),
    XENDCG(gamma="annealed", anneal=3.0),
    XENDCG(gamma="tight"),
    ListNet(temperature=0.3, neumann_order=4),
    ListNet(neumann_order="exact"),
    LambdaMART(norm=False, truncation_level=3, sigmoid=2.0),
    LambdaMART(gain="linear"),
    LambdaMART(gain=[0, 1, 3, 7, 15]),
]


@pytest.mark.parametrize("name", list_objectives())
def test_registered_objective_keeps_the_contract(name):
    check_objective(get_objective(name))


@pytest.mark.parametrize("objective", VARIANTS, ids=repr)
def test_variant_keeps_the_contract(objective):
    check_objective(objective)


def logistic_block(first, last, bounds, scores, target, fault, iteration, scratch, grad, hess):
    rows = slice(bounds[first], bounds[last])
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(-scores[rows]))
    grad[rows] = p - target[rows]
    hess[rows] = p * (1 - p)
    match fault:
        case "gradient":
            grad[rows] *= 1.001
        case "hessian":
            hess[rows] *= 1.01
        case "negative":
            hess[rows] -= 0.3
        case "nan":
            grad[rows][np.abs(scores[rows]) > 1e100] = np.nan
        case "threads":
            grad[rows] += 1e-3 * (first == 0)
        case "position":
            grad[rows][0] += 1e-3
        case "stateful":
            grad[rows] += np.float32(iteration)
        case "leftovers":
            target[rows] *= 0.9999


class Logistic(Objective):
    """Pointwise logistic loss, in plain NumPy, with a fault to choose."""

    kernel = staticmethod(logistic_block)
    exact_hessian: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = False

    def __init__(self, fault=None, *, n_jobs=None):
        self.fault = fault
        self.n_jobs = n_jobs

    def prepare(self, labels, layout):
        target = (labels > labels.mean()) if self.fault == "dependent" else (labels > 0)
        return (target.astype(float),)

    def kernel_params(self):
        return (self.fault,)

    def query_loss(self, labels, scores, *, query, iteration):
        value = np.logaddexp(0.0, scores) - scores * (labels > 0)
        return float(value.sum()) + (iteration * scores.sum() if self.fault == "stateful" else 0)


def test_a_users_objective_in_plain_numpy_keeps_the_contract():
    check_objective(Logistic())


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("gradient", "gradient is"),
        ("hessian", "hessian is"),
        ("negative", "must be >= 0"),
        ("nan", "must be finite"),
        ("dependent", "gradient is|depend on others"),
        ("threads", "gradient is|other numbers with two threads"),
        ("position", "gradient is|does not permute"),
        ("leftovers", "a second step of one training"),
    ],
)
def test_the_contract_catches(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_objective(Logistic(fault))


def test_declarations_are_held_against_the_objective():
    class WronglyInvariant(Logistic):
        shift_invariant: ClassVar[bool] = True

    with pytest.raises(AssertionError, match="declared shift invariant"):
        check_objective(WronglyInvariant())


class TwiceWeighted(Logistic):
    def grad_hess(self, labels, scores, group, weight=None, *, iteration=0):
        grad, hess = super().grad_hess(labels, scores, group, weight, iteration=iteration)
        return (grad, hess) if weight is None else (grad * weight, hess)


def test_the_contract_catches_weights_applied_twice():
    with pytest.raises(AssertionError, match="exactly once"):
        check_objective(TwiceWeighted())
