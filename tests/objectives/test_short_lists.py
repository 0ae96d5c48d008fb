"""Lists side by side against the same lists one after the other: the long path is the oracle."""

import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART

OBJECTIVES = [
    LambdaMART(),
    LambdaMART(norm=False, sigmoid=2.0),
    LambdaMART(truncation_level=3),
]


def layout(seed, longest):
    """Lists of 1 to ``longest`` documents and some long ones, with ties and very unequal scores."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, longest + 1, size=700)
    group[::97] = 150
    n = int(group.sum())
    query = np.repeat(np.arange(len(group)), group)
    labels = rng.integers(0, 5, n).astype(float)
    labels[query % 7 == 0] = 0.0  # nothing to learn
    scores = rng.normal(size=n) * np.where(query % 5 == 0, 40.0, 1.0)
    scores[query % 3 == 0] = np.round(scores[query % 3 == 0])  # ties
    scores[query % 11 == 0] = 2.5  # nothing but ties
    scores[query % 13 == 0] *= 1e290  # distances beyond float32, and beyond float64
    return labels, scores, group, rng.uniform(0.1, 2.0, n)


def along_the_long_path(objective):
    class Long(type(objective)):
        longest_short = 0

    return Long(**objective.get_params())


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
@pytest.mark.parametrize(("seed", "longest"), [(0, 5), (1, 24), (2, 64), (3, 100)])
def test_short_path_equals_long_path(objective, seed, longest):
    """Up to 64 float32 terms are added in another order.

    So a sum may move by a few units in the last place of its largest partial sum: 1e-6 of the
    largest value of the query.
    """
    labels, scores, group, weight = layout(seed, longest)
    assert objective.longest_short >= 24
    ours = objective.grad_hess(labels, scores, group, weight, iteration=3)
    expected = along_the_long_path(objective).grad_hess(labels, scores, group, weight, iteration=3)
    starts = np.cumsum(group) - group
    for values, theirs in zip(ours, expected, strict=True):
        assert np.isfinite(values).all()
        difference = np.abs(values.astype(float) - theirs)
        largest = np.repeat(np.maximum.reduceat(np.abs(theirs / weight), starts), group)
        assert (difference <= 1e-6 * largest * weight).all()
    long = np.repeat(group > 100, group)
    assert (ours[0][long] == expected[0][long]).all()


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_a_query_has_its_own_bits(objective):
    """Whatever stands beside it, and however many threads share the queries."""
    labels, scores, group, _ = layout(4, 40)
    bounds = np.concatenate(([0], np.cumsum(group)))
    together = objective.bind(labels, group, n_jobs=1).grad_hess(scores)
    for n_jobs in (2, 3):
        shared = objective.bind(labels, group, n_jobs=n_jobs).grad_hess(scores)
        for values, expected in zip(shared, together, strict=True):
            np.testing.assert_array_equal(values, expected)
    rng = np.random.default_rng(0)
    for size in (1, 3, 9, 200):
        picked = rng.choice(len(group), size, replace=False)
        rows = np.concatenate([np.arange(bounds[q], bounds[q + 1]) for q in picked])
        apart = objective.grad_hess(labels[rows], scores[rows], group[picked])
        for values, expected in zip(apart, together, strict=True):
            np.testing.assert_array_equal(values, expected[rows])


def test_only_the_kernels_that_lists_need():
    objective = LambdaMART()
    short, long = objective.short_kernel, objective.kernel
    sizes = np.array([2, objective.longest_short, objective.longest_short + 1])
    assert objective._kernels_for(sizes[:2]) == [short]
    assert objective._kernels_for(sizes[2:]) == [long]
    assert objective._kernels_for(sizes) == [short, long]
    assert XENDCG()._kernels_for(sizes) == [XENDCG().kernel], "there is one path only"
