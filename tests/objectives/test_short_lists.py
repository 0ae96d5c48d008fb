"""Lists side by side against the same lists one after the other: the long path is the oracle."""

import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART, ListNet

OBJECTIVES = [
    XENDCG(),
    XENDCG(gamma=0.3, neumann_order=0),
    XENDCG(gamma="annealed", anneal=2.0),
    XENDCG(gamma=1.0),
    ListNet(temperature=0.5),
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
    """Softmax: at most one unit in the last place of float32, or of a float64 where it cancels.

    LambdaMART adds up to 64 float32 terms in another order, so that a sum may move by a few
    units in the last place of its largest partial sum: 1e-6 of the largest value of the query.
    """
    labels, scores, group, weight = layout(seed, longest)
    assert objective.longest_short >= 24
    ours = objective.grad_hess(labels, scores, group, weight, iteration=3)
    expected = along_the_long_path(objective).grad_hess(labels, scores, group, weight, iteration=3)
    starts = np.cumsum(group) - group
    for values, theirs in zip(ours, expected, strict=True):
        assert np.isfinite(values).all()
        difference = np.abs(values.astype(float) - theirs)
        if isinstance(objective, LambdaMART):
            largest = np.repeat(np.maximum.reduceat(np.abs(theirs / weight), starts), group)
            assert (difference <= 1e-6 * largest * weight).all()
        else:
            assert (difference <= np.maximum(np.spacing(np.abs(theirs)), 1e-15)).all()
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
    if objective.uses_random_numbers:  # which depend on the number of the query
        return
    rng = np.random.default_rng(0)
    for size in (1, 3, 9, 200):
        picked = rng.choice(len(group), size, replace=False)
        rows = np.concatenate([np.arange(bounds[q], bounds[q + 1]) for q in picked])
        apart = objective.grad_hess(labels[rows], scores[rows], group[picked])
        for values, expected in zip(apart, together, strict=True):
            np.testing.assert_array_equal(values, expected[rows])


def test_only_the_kernels_that_lists_need():
    objective = LambdaMART()
    sizes = np.array([2, objective.longest_short, objective.longest_short + 1])
    assert objective._kernels_for(sizes[:2]) == (objective.short_kernel, False)
    assert objective._kernels_for(sizes[2:]) == (None, True)
    assert objective._kernels_for(sizes) == (objective.short_kernel, True)
    for rare in (XENDCG(gamma="tight"), XENDCG(generator="lightgbm"), XENDCG(eps=1.0)):
        assert rare._kernels_for(sizes) == (None, True), "there is one path only"


@pytest.mark.parametrize("objective", [XENDCG(), ListNet()], ids=repr)
def test_a_list_once_lost_stays_so_on_both_paths(objective):
    """Bounded steps, also at scores that are no longer lost, and none in the iteration before."""
    labels, scores, group, _ = layout(5, 30)
    thrown = np.where(labels > 0, -9.0, 9.0) + 0.1 * scores / (1.0 + np.abs(scores))
    trainings = [o.bind(labels, group) for o in (objective, along_the_long_path(objective))]
    gentle = trainings[0].grad_hess(np.zeros(len(labels)))[1].copy()
    for at in (np.zeros(len(labels)), thrown, np.zeros(len(labels))):
        (_, hess), (_, expected) = [training.advance(at) for training in trainings]
        np.testing.assert_allclose(hess, expected, rtol=2e-7)
    query = np.repeat(np.arange(len(group)), group)
    wide = (np.bincount(query, labels > 0) > 0) & (np.bincount(query, labels == 0) > 0)
    changed = np.bincount(query, hess != gentle) > 0
    assert (changed[wide & (group <= 30)]).mean() > 0.5
    assert not changed[~wide].any()
