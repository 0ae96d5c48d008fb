"""A training takes its gradient arrays again, and nobody who kept them can tell."""

import copy
import os
import pickle
import sys
import threading

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import (
    XENDCG,
    LambdaMART,
    QuerySubsampled,
    Smoothed,
    Squared,
    UStatistic,
    get_objective,
    list_objectives,
)
from gbrank.objectives import _reuse

WRAPPERS = [
    Smoothed(LambdaMART(), samples=3),
    Smoothed("xendcg"),
    QuerySubsampled("squared", 0.5),
    UStatistic("labels", order=2),
]


def objective_by(name):
    objective = get_objective(name)
    return (
        objective.set_params(observations="labels") if objective.needs_observations else objective
    )


OBJECTIVES = [*map(objective_by, list_objectives()), *WRAPPERS]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    group = rng.integers(1, 60, 300)
    X = rng.normal(size=(group.sum(), 4))
    return X, rng.integers(0, 5, len(X)).astype(np.float32), group


def score_sets(n, steps=6):
    return np.random.default_rng(4).normal(size=(steps, n))


def steps_of(objective, data, use, weight=None):
    """Return ``use(i, gradients)`` of each step of one training; nothing here holds on to them.

    The scores are changed in place, as LightGBM does.
    """
    _, y, group = data
    buffer, used = np.zeros(len(y)), []
    for i, scores in enumerate(score_sets(len(y))):
        buffer[:] = scores
        used.append(use(i, objective(y, buffer, weight, group)))
    return used


def address(array):
    return array.ctypes.data


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_same_numbers_as_from_fresh_arrays(objective, weighted, data):
    _, y, group = data
    weight = np.random.default_rng(5).random(len(y)) if weighted else None

    def check(i, gradients):
        scores = score_sets(len(y))[i]
        wanted = objective.grad_hess(y, scores, group, weight, iteration=i)
        np.testing.assert_array_equal(gradients, wanted)
        return address(gradients[0])

    # of six steps; with threads, one that comes late may hold on once
    assert len(set(steps_of(objective, data, check, weight))) < 6


def test_let_go_is_taken_again(data):
    used = steps_of(Squared(n_jobs=1), data, lambda _, arrays: tuple(map(address, arrays)))
    assert len(set(used)) == 1


KEEPERS = {
    "the arrays": lambda grad, hess: (grad, hess),
    "the gradient": lambda grad, hess: (grad, None),
    "the hessian": lambda grad, hess: (None, hess),
    "a view": lambda grad, hess: (grad[3:], None),
    "a view of a view": lambda grad, hess: (grad[3:][::2].reshape(-1, 1), None),
    "a buffer": lambda grad, hess: (memoryview(grad), memoryview(hess)),
    "another type": lambda grad, hess: (grad.view(np.int32), None),
    "ctypes": lambda grad, hess: (np.ctypeslib.as_array(np.ctypeslib.as_ctypes(grad)), None),
    "dlpack": lambda grad, hess: (np.from_dlpack(grad), None),
    "an attribute": lambda grad, hess: (type("Holder", (), {"it": grad}).it, None),
}


@pytest.mark.parametrize("how", KEEPERS)
def test_kept_is_left_alone(how, data):
    copies = []

    def use(_, arrays):
        kept = KEEPERS[how](*arrays)
        copies.append([None if one is None else np.array(one) for one in kept])
        return kept

    kept = steps_of(Squared(n_jobs=1), data, use)
    for held, wanted in zip(kept, copies, strict=True):
        for one, other in zip(held, wanted, strict=True):
            assert (one is None) == (other is None)
            assert one is None or np.array_equal(np.array(one), other)


def test_two_in_turn_do_not_share(data):
    _, y, group = data
    objective = Squared(n_jobs=1)
    buffers = score_sets(len(y), 2)
    one, other = list(buffers)  # two trainings
    first = objective(y, one, None, group)
    second = objective(y, other, None, group)
    assert not np.shares_memory(first[0], second[0])
    np.testing.assert_array_equal(first, Squared().grad_hess(y, one, group))


def test_grad_hess_is_always_fresh(data):
    _, y, group = data
    objective, scores = Squared(), np.zeros(len(y))
    ours = objective(y, scores, None, group)
    again = objective.grad_hess(y, scores, group)
    assert not np.shares_memory(ours[0], again[0])
    assert not np.shares_memory(ours[1], again[1])


def test_copies_do_not_take_them_along(data):
    _, y, group = data
    objective, scores = Squared(n_jobs=1), np.zeros(len(y))
    objective(y, scores, None, group)
    before = len(pickle.dumps(Squared(n_jobs=1)))
    assert len(pickle.dumps(objective)) == before
    for twin in (copy.deepcopy(objective), copy.copy(objective)):
        assert not twin._trainings()


def test_a_forked_child_has_its_own(data):
    _, y, group = data
    objective, scores = Squared(n_jobs=1), np.zeros(len(y))
    grad, _ = objective(y, scores, None, group)
    wanted = grad.copy()
    del grad
    child = os.fork()
    if child == 0:
        scores += 1.0
        objective(y, scores, None, group)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(objective(y, scores, None, group)[0], wanted)


def test_threads_with_one_buffer_do_not_share(data):
    """Two steps of one training at once, which nobody should ask for, still get two arrays."""
    arrays = _reuse.ReusedArrays()
    arrays.keep(*arrays.take(5))
    barrier, taken = threading.Barrier(8), []

    def take():
        barrier.wait()
        taken.append(arrays.take(5))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({address(pair[0]) for pair in taken}) == 8


@pytest.mark.parametrize("objective", [XENDCG(), LambdaMART(), Squared(), WRAPPERS[0]], ids=repr)
def test_models_are_those_of_fresh_arrays(objective, data, monkeypatch):
    X, y, group = data
    params = {"objective": objective, "num_leaves": 7, "verbose": -1, "num_threads": 2}

    def trees():
        dataset = lgb.Dataset(X, y, group=group)
        return lgb.train(params, dataset, 10).model_to_string().split("end of trees")[0]

    reused = trees()
    monkeypatch.setattr(_reuse, "_counts_tell", lambda: False)
    assert trees() == reused


def test_without_exact_counts_arrays_are_not_taken_again(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    arrays = _reuse.ReusedArrays()
    first = arrays.take(5)
    arrays.keep(*first)
    before = address(first[0])
    del first
    assert address(arrays.take(5)[0]) != before


class FailsAtTimes(Squared):
    """Squared error, whose kernel writes half of a step and then fails, as often as asked to."""

    fails_left = 0

    @staticmethod
    def kernel(*arguments):
        Squared.kernel(*arguments)
        if FailsAtTimes.fails_left:
            FailsAtTimes.fails_left -= 1
            arguments[-2][::2] = np.nan
            raise RuntimeError("in a step")


def test_an_error_in_a_step_leaves_nothing_behind(data, monkeypatch):
    _, y, group = data
    objective, scores = FailsAtTimes(n_jobs=1), np.zeros(len(y))
    objective(y, scores, None, group)
    monkeypatch.setattr(FailsAtTimes, "fails_left", 1)
    with pytest.raises(RuntimeError, match="in a step"):
        objective(y, scores, None, group)
    got = objective(y, scores, None, group)
    np.testing.assert_array_equal(got, Squared().grad_hess(y, scores, group))
