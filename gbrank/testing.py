"""The contract that every objective keeps, as one function for yours and for ours.

>>> from gbrank import XENDCG
>>> from gbrank.testing import check_objective
>>> check_objective(XENDCG())
"""

import copy
import pickle
from itertools import pairwise

import numpy as np
from sklearn.base import clone

from gbrank.core import Float32Array, FloatArray, IntArray
from gbrank.objectives import Objective

__all__ = ["check_objective"]

_SIZES = (1, 2, 3, 7, 20, 50)
_STEP = 1e-5  # of finite differences: error about 1e-10 for third derivatives around 1


def check_objective(objective: Objective) -> None:
    """Raise an ``AssertionError`` that says what is wrong if an objective breaks the contract.

    Checked: shapes and types; the gradient, and the hessian where it is declared exact, against
    finite differences of :meth:`~gbrank.Objective.loss`; that a common shift of scores changes
    nothing, where declared; permutation of documents; independence of queries; weights; finite
    numbers for extreme scores and degenerate queries; that a step leaves nothing behind which the
    next one of the same training would notice; equal bits for any number of threads, after
    ``pickle``, ``deepcopy`` and ``clone``; the two forms in which LightGBM calls.

    An objective that needs observations and has none is checked with ``observations="labels"``: the
    labels of each query are one partial order of its documents.

    Parameters
    ----------
    objective : the objective to check; it is not changed.
    """
    if objective.needs_observations and objective.get_params(deep=False)["observations"] is None:
        objective = clone(objective).set_params(observations="labels")
    name = repr(objective)
    labels, scores, group = _example()
    grad, hess = objective.grad_hess(labels, scores, group)
    _check_numbers(grad, hess, len(labels), name)
    assert np.abs(grad).max() > 0, f"{name}: all gradients are zero on an ordinary example"
    assert np.abs(hess).max() > 0, f"{name}: all hessians are zero on an ordinary example"
    if objective.has_loss:
        _check_against_differences(objective, labels, scores, group, name)
    _check_shift(objective, labels, scores, group, name)
    _check_permutation(objective, labels, scores, group, name)
    _check_independence(objective, labels, scores, group, name)
    _check_weights(objective, labels, scores, group, name)
    _check_extremes(objective, labels, group, name)
    _check_second_step(objective, labels, scores, group, name)
    _check_copies_and_threads(objective, labels, scores, group, name)
    _check_call(objective, labels, scores, group, name)


def _example() -> tuple[FloatArray, FloatArray, IntArray]:
    """Return queries of several sizes: graded labels, equal labels, no relevant document."""
    rng = np.random.default_rng(0)
    group = np.array([*_SIZES, 5, 5], dtype=np.int64)
    labels = rng.choice(5, size=group.sum(), p=[0.4, 0.2, 0.2, 0.1, 0.1]).astype(np.float64)
    labels[-10:-5] = 2.0
    labels[-5:] = 0.0
    labels[1:3] = (0.0, 3.0)  # a query of two documents with something to learn
    return labels, rng.normal(size=len(labels)), group


def _check_numbers(grad: Float32Array, hess: Float32Array, n_rows: int, name: str) -> None:
    for values, what in ((grad, "gradients"), (hess, "hessians")):
        assert values.dtype == np.float32, f"{name}: {what} must be float32, got {values.dtype}"
        assert values.shape == (n_rows,), f"{name}: {what} have shape {values.shape}"
        assert values.flags.c_contiguous, f"{name}: {what} must be contiguous"
        assert np.isfinite(values).all(), f"{name}: {what} must be finite"
    assert (hess >= 0).all(), f"{name}: hessians must be >= 0"


def _differences(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return first and second central differences of the loss by each score.

    Queries do not share scores, so one evaluation moves a document of every query at once.
    """
    starts = np.cumsum(group) - group
    middle = objective.loss(labels, scores, group)
    first, second = np.zeros(len(labels)), np.zeros(len(labels))
    for place in range(int(group.max())):
        queries = np.flatnonzero(group > place)
        rows = starts[queries] + place
        moved = scores.copy()
        moved[rows] = scores[rows] + _STEP
        above = objective.loss(labels, moved, group)
        moved[rows] = scores[rows] - _STEP
        below = objective.loss(labels, moved, group)
        first[rows] = ((above - below) / (2 * _STEP))[queries]
        wide = 100 * _STEP  # second differences need a larger step
        moved[rows] = scores[rows] + wide
        far_above = objective.loss(labels, moved, group)
        moved[rows] = scores[rows] - wide
        far_below = objective.loss(labels, moved, group)
        second[rows] = ((far_above - 2 * middle + far_below) / wide**2)[queries]
    return first, second


def _check_against_differences(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    plain = objective.plain_gradient()
    for shift in (0.0, 1.0):
        moved = scores * (1.0 + shift) + shift
        first, second = _differences(plain.with_weights_at(moved), labels, moved, group)
        grad, hess = plain.grad_hess(labels, moved, group)
        scale = max(1.0, float(np.abs(first).max()))
        error = np.abs(grad - first).max() / scale
        assert error < 1e-6, f"{name}: gradient is {error:.1e} off the differences of its loss"
        if objective.exact_hessian:
            scale = max(1.0, float(np.abs(second).max()))
            error = np.abs(hess - second).max() / scale
            assert error < 1e-5, f"{name}: hessian is {error:.1e} off the differences of its loss"


def _check_shift(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    grad, _ = objective.grad_hess(labels, scores, group)
    shifted, _ = objective.grad_hess(labels, scores + 8.0, group)
    same = np.allclose(grad, shifted, rtol=0, atol=1e-5 * max(1.0, float(np.abs(grad).max())))
    if objective.shift_invariant:
        assert same, (
            f"{name}: declared shift invariant, but a shift of all scores changes gradients"
        )
    else:
        assert not same, f"{name}: declared not shift invariant, but a shift changes nothing"


def _check_permutation(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    if objective.uses_random_numbers:
        return  # random numbers belong to places in the list
    bounds = np.concatenate(([0], np.cumsum(group)))
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(bounds)])
    straight = objective.grad_hess(labels, scores, group)
    permuted = objective.grad_hess(labels[order], scores[order], group)
    for before, after, what in zip(straight, permuted, ("gradients", "hessians"), strict=True):
        tolerance = 1e-5 * max(1e-3, float(np.abs(before).max()))
        assert np.allclose(before[order], after, rtol=0, atol=tolerance), (
            f"{name}: permuting the documents of a query does not permute its {what}"
        )


def _check_independence(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    # the first queries alone: their random numbers, if any, are the same
    kept = int(group[:4].sum())
    alone = objective.grad_hess(labels[:kept], scores[:kept], group[:4])
    together = objective.grad_hess(labels, scores, group)
    for part, whole in zip(alone, together, strict=True):
        assert np.array_equal(part, whole[:kept]), f"{name}: a query's numbers depend on others"


def _check_weights(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    weight = np.random.default_rng(1).uniform(0.0, 3.0, len(labels)).astype(np.float32)
    plain = objective.grad_hess(labels, scores, group)
    weighted = objective.grad_hess(labels, scores, group, weight)
    for before, after in zip(plain, weighted, strict=True):
        assert np.array_equal(before * weight, after), f"{name}: weights must multiply exactly once"


def _check_extremes(objective: Objective, labels: FloatArray, group: IntArray, name: str) -> None:
    rng = np.random.default_rng(2)
    signs = rng.choice([-1.0, 1.0], size=len(labels))
    candidates = [
        np.zeros(len(labels)),
        *(size * signs for size in (1e-300, 1e3, 1e300)),
        *(size * np.ones(len(labels)) for size in (1e3, -1e3, 1e300, -1e300, 1.7e308, -1.7e308)),
        1e3 * rng.normal(size=len(labels)),
    ]
    training = objective.bind(labels, group)
    for scores in candidates:
        grad, hess = training.grad_hess(scores)
        where = f"{name} at scores around {scores[0]:g}"
        _check_numbers(grad, hess, len(labels), where)
        if objective.has_loss and np.abs(scores).max() <= 1e300:  # beyond, sums in NumPy overflow
            assert np.isfinite(objective.loss(labels, scores, group)).all() or (
                np.abs(scores).max() > 1e3
            ), f"{where}: loss must be finite"
    for few in ([0.0], [3.0], [0.0, 0.0], [4.0, 4.0, 4.0]):
        grad, hess = objective.grad_hess(few, [0.5] * len(few), [len(few)])
        _check_numbers(grad, hess, len(few), f"{name} on one query with labels {few}")


def _check_second_step(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    training = objective.bind(labels, group, n_jobs=1)
    training.grad_hess(1.0 - scores)  # nobody keeps these arrays: they are taken again, as they are
    second = training.grad_hess(scores)
    for before, after in zip(objective.grad_hess(labels, scores, group), second, strict=True):
        assert np.array_equal(before, after), (
            f"{name}: a second step of one training differs from a first one at the same scores; "
            "the kernel must write every row and leave alone what prepare returned"
        )


def _check_copies_and_threads(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    many = 400  # enough documents for several threads to get some
    arguments = (np.tile(labels, many), np.tile(scores, many), np.tile(group, many))
    single = clone(objective).set_params(n_jobs=1)
    expected = single.grad_hess(*arguments, iteration=3)
    copies = {
        "with two threads": clone(objective).set_params(n_jobs=2),
        "with five threads": clone(objective).set_params(n_jobs=5),
        "after pickle": pickle.loads(pickle.dumps(single)),
        "after deepcopy": copy.deepcopy(single),
        "after clone": clone(single),
    }
    for how, twin in copies.items():
        for before, after in zip(expected, twin.grad_hess(*arguments, iteration=3), strict=True):
            assert np.array_equal(before, after), f"{name}: other numbers {how}"
    if objective.uses_random_numbers:
        other, _ = single.grad_hess(*arguments, iteration=4)
        assert not np.array_equal(expected[0], other), f"{name}: the same numbers are drawn again"


def _check_call(
    objective: Objective, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    buffer = scores.copy()  # as LightGBM's: one array, read at every step
    twin = clone(objective)
    for iteration in range(3):
        stepped = twin(labels, buffer, None, group)
        direct = objective.grad_hess(labels, buffer, group, iteration=iteration)
        for before, after in zip(stepped, direct, strict=True):
            assert np.array_equal(before, after), (
                f"{name}: iteration {iteration} of a training differs from grad_hess"
            )
        buffer += 0.25 * np.sin(np.arange(len(buffer)) + iteration)
