"""Whatever comes in: finite gradients, or an error of ours."""

import numpy as np
import pytest
from hypothesis import given
from odd_input import fuzzed, ours_or_fine, ranking_input

from gbrank import get_objective, list_objectives


def objective_by(name):
    objective = get_objective(name)
    return (
        objective.set_params(observations="labels") if objective.needs_observations else objective
    )


@pytest.mark.parametrize("name", list_objectives())
@fuzzed
@given(given_input=ranking_input())
def test_gradients(name, given_input):
    labels, scores, group, weight = given_input
    with ours_or_fine():
        grad, hess = objective_by(name).grad_hess(labels, scores, group, weight)
        for values in (grad, hess):
            assert values.dtype == np.float32
            assert values.shape == np.asarray(labels).shape
            assert np.isfinite(values).all()
        assert (hess >= 0).all()


@pytest.mark.parametrize("name", list_objectives())
@fuzzed
@given(given_input=ranking_input())
def test_losses(name, given_input):
    labels, scores, group, _ = given_input
    objective = objective_by(name)
    if not objective.has_loss:
        with pytest.raises(NotImplementedError):
            objective.loss([1.0], [0.0], [1])
        return
    with ours_or_fine(), np.errstate(all="ignore"):
        losses = objective.loss(labels, scores, group)
        assert losses.dtype == np.float64
        assert losses.shape == (len(group),)
        assert not np.isnan(losses).any()
