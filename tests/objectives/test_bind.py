"""An objective bound to data once, for many steps; and what a class must say to be an objective."""

import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART, Objective, Squared, UStatistic
from gbrank.objectives import Training, describe_objectives, markdown_table
from gbrank.objectives._registry import _REGISTRY, register_objective

LABELS, GROUP = np.array([2.0, 0.0, 1.0, 0.0, 3.0]), [3, 2]


@pytest.mark.parametrize("objective", [XENDCG(), LambdaMART(), UStatistic("labels")], ids=repr)
def test_every_step_is_that_of_grad_hess(objective):
    weight = [1.0, 2.0, 0.5, 3.0, 1.0]
    training = objective.bind(LABELS, GROUP, weight, iteration=5)
    assert isinstance(training, Training)
    for seed in range(3):
        scores = np.random.default_rng(seed).normal(size=5)
        for iteration in (5, 8):
            training.iteration = iteration
            wanted = objective.grad_hess(LABELS, scores, GROUP, weight, iteration=iteration)
            np.testing.assert_array_equal(training.grad_hess(scores), wanted)
            assert training.iteration == iteration


def test_labels_are_prepared_once():
    class Counted(Squared):
        prepared = 0

        def prepare(self, labels, layout):
            Counted.prepared += 1
            return super().prepare(labels, layout)

    training = Counted().bind(LABELS, GROUP)
    for _ in range(5):
        training.grad_hess(np.zeros(5))
    assert Counted.prepared == 1


def test_what_is_kept_is_not_written_again():
    training = Squared(norm=None, gain="linear").bind(LABELS, GROUP)
    first, _ = training.grad_hess(np.zeros(5))
    training.grad_hess(np.ones(5))
    np.testing.assert_array_equal(first, -2.0 * LABELS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LABELS, None), "no queries"),
        ((LABELS, [3, 3]), "sum to 6"),
        ((-LABELS, GROUP), "labels must be"),
        ((LABELS, GROUP, [1.0]), "weights must have"),
        ((LABELS, GROUP, [1.0, 1.0, -1.0, 1.0, 1.0]), "weights must be"),
    ],
)
def test_bad_data_are_refused_before_any_work(arguments, message, monkeypatch):
    monkeypatch.setattr(Squared, "prepare", lambda *_: pytest.fail("labels were prepared"))
    with pytest.raises(ValueError, match=message):
        Squared().bind(*arguments)


@pytest.mark.parametrize("scores", [[0.0] * 4, [0.0, 0.0, np.nan, 0.0, 0.0]])
def test_bad_scores_are_refused(scores):
    with pytest.raises(ValueError, match="scores"):
        Squared().bind(LABELS, GROUP).grad_hess(scores)


def test_an_objective_without_a_kernel_cannot_be_made():
    class Unfinished(Objective):
        def prepare(self, labels, layout):
            return ()

    with pytest.raises(TypeError, match="kernel"):
        Unfinished()


def test_a_loss_that_describes_itself_has_a_line_in_the_table(monkeypatch):
    class Described(Squared):
        formula, consistent_with, cost, when = "`|s|`", "nothing", "`m`", "never"

    class Silent(Squared):
        formula = consistent_with = cost = when = ""

    before = markdown_table()
    monkeypatch.setattr("gbrank.objectives._registry._REGISTRY", dict(_REGISTRY))
    register_objective("described", Described)
    register_objective("silent", Silent)
    assert markdown_table() == before + "\n| `described` | `\\|s\\|` | nothing | `m` | never |"
    assert describe_objectives()[-1] == {"name": "silent"}


@pytest.mark.parametrize(("what", "at"), [("gradient", 0), ("hessian", 1)])
def test_a_loss_of_ones_own_that_is_not_finite_ends_training(what, at):
    """LightGBM would grow constant trees and say nothing."""

    def block(first, last, bounds, scores, labels, iteration, scratch, grad, hess):
        rows = slice(bounds[first], bounds[last])
        grad[rows], hess[rows] = labels[rows], 1.0
        (grad, hess)[at][rows][-1] = np.nan

    class Own(Objective):
        kernel = staticmethod(block)

        def prepare(self, labels, layout):
            return (labels,)

    with pytest.raises(ValueError, match=f"the {what} of Own must be finite, but at row 4"):
        Own()(LABELS, np.zeros(5), None, GROUP)
