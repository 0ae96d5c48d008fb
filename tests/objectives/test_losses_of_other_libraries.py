"""Losses that TensorFlow Ranking and Rax have too, by arithmetic and by loops."""

from math import exp, log, log2

import numpy as np
import pytest

from gbrank import (
    XENDCG,
    ApproxNDCG,
    ListMLE,
    ListNet,
    PairwiseHinge,
    PairwiseLogistic,
    SigmoidCrossEntropy,
    Squared,
    UniqueSoftmax,
)
from gbrank.testing import check_objective
from gbrank.theory import find_counterexample

SCORES = [0.0, 3.0, 1.0, 2.0]


def total(objective, labels, scores=SCORES):
    return objective.loss(labels, scores, [len(labels)])[0]


# --- the examples of Rax's and TensorFlow Ranking's tests, values spelled out ---------------------


def test_unique_softmax_of_their_examples():
    # labels 2 and 1, gains as in Rax the labels; Rax adds up, here shares of the gains count
    expected = 2 * log((1 + exp(3) + exp(1) + exp(2)) / exp(1)) + log(
        (1 + exp(3) + exp(2)) / exp(2)
    )
    assert 3 * total(UniqueSoftmax(gain="linear"), [0, 0, 2, 1]) == pytest.approx(expected)
    # TensorFlow Ranking's gains are 2^r - 1
    expected = 3 * log((exp(1) + exp(2) + exp(3)) / exp(3)) + log((exp(1) + exp(2)) / exp(2))
    assert 4 * total(UniqueSoftmax(), [0, 1, 2], [1.0, 2.0, 3.0]) == pytest.approx(expected)
    one_relevant = log((exp(1) + exp(3) + exp(2)) / exp(2))
    assert total(UniqueSoftmax(), [0, 0, 1], [1.0, 3.0, 2.0]) == pytest.approx(one_relevant)
    assert total(UniqueSoftmax(), [0, 0, 0], [1.0, 3.0, 2.0]) == 0.0


def test_softmax_of_their_examples():
    # one relevant document: ListNet at a low temperature has all of the target on it
    expected = log((1 + exp(3) + exp(1) + exp(2)) / exp(1))
    assert total(ListNet(temperature=1e-3), [0, 0, 1, 0]) == pytest.approx(expected)


def test_listmle_of_their_examples():
    expected = (
        log((1 + exp(3) + exp(1) + exp(2)) / exp(1))
        + log((1 + exp(3) + exp(2)) / exp(2))
        + log((1 + exp(3)) / exp(3))
    )
    assert total(ListMLE(), [0, 1, 3, 2]) == pytest.approx(expected)


def test_pairs_of_their_examples():
    expected = log(1 + exp(0 - 1)) + log(1 + exp(3 - 1)) + log(1 + exp(2 - 1))
    assert total(PairwiseLogistic(), [0, 0, 1, 0]) == pytest.approx(expected)
    assert total(PairwiseHinge(weights=None), [0, 0, 1, 0]) == pytest.approx(0 + 3 + 2)
    # labels 2 and 1: (2 > 0): 0, 3; (2 > 1): 2; (1 > 0): 0, 2
    assert total(PairwiseHinge(weights=None), [0, 0, 2, 1]) == pytest.approx(0 + 3 + 2 + 0 + 2)


def test_documents_of_their_examples():
    expected = log(1 + exp(0)) + log(1 + exp(3)) + log(1 + exp(-1)) + log(1 + exp(2))
    assert total(SigmoidCrossEntropy(), [0, 0, 1, 0]) == pytest.approx(expected)
    squares = (0 - 0) ** 2 + (3 - 0) ** 2 + (1 - 1) ** 2 + (2 - 0) ** 2
    assert total(Squared(norm=None), [0, 0, 1, 0]) == pytest.approx(squares)


def test_approx_ndcg_of_their_example():
    # TensorFlow Ranking: at a temperature of 0.1 the ranks are 1, 3, 2 to four digits
    value = total(ApproxNDCG(temperature=0.1), [0, 2, 1], [1.4, -2.8, -0.4])
    best = 3 / log2(2) + 1 / log2(3)
    assert value == pytest.approx(1 - (3 / log2(4) + 1 / log2(3)) / best, abs=1e-4)


def logloss(x):
    return log(1 + exp(-x))


# --- Rax, losses_test.py: two relevant documents, a batch of lists, extreme scores ---------------

FIRST, SECOND = ([0, 0, 1, 1], [0.0, 3.0, 1.0, 2.0]), ([2, 0, 1, 0], [3.0, 1.0, 4.0, 2.0])
LEFT, RIGHT = ([1, 0, 0], [2.0, 1.0, 3.0]), ([0, 0, 1], [1.0, 0.5, 1.5])
BLANK = ([0, 0, 0, 0], [0.0, 3.0, 1.0, 2.0])
FAR = ([0, 1, 1, 0], [0.0, -2.1e26, 3.4e37, 42.0])
ALL = exp(0) + exp(3) + exp(1) + exp(2)
SOFTMAX, HINGE = ListNet(temperature=1e-3), PairwiseHinge(weights=None)
LOGISTIC, SIGMOID = PairwiseLogistic(), SigmoidCrossEntropy()
SQUARES = Squared(norm=None, gain="linear")


@pytest.mark.parametrize(
    ("objective", "query", "value"),
    [
        (SOFTMAX, FIRST, -(0.5 * log(exp(2) / ALL) + 0.5 * log(exp(1) / ALL))),
        (HINGE, FIRST, (3 - 1 + 1) + (3 - 2 + 1)),
        (LOGISTIC, FIRST, logloss(1 - 0) + logloss(1 - 3) + logloss(2 - 3) + logloss(2 - 0)),
        (SIGMOID, FIRST, logloss(0) + logloss(-3) + logloss(1) + logloss(2)),
        (SQUARES, FIRST, (0 - 0) ** 2 + (3 - 0) ** 2 + (1 - 1) ** 2 + (2 - 1) ** 2),
        (HINGE, SECOND, 4 - 3 + 1),
        (
            LOGISTIC,
            SECOND,
            logloss(3 - 1) + logloss(3 - 4) + logloss(3 - 2) + logloss(4 - 1) + logloss(4 - 2),
        ),
        (SIGMOID, SECOND, logloss(3) + logloss(-1) + logloss(4) + logloss(-2)),
        (SQUARES, SECOND, (3 - 2) ** 2 + (1 - 0) ** 2 + (4 - 1) ** 2 + (2 - 0) ** 2),
        (SOFTMAX, LEFT, -log(exp(2) / (exp(2) + exp(1) + exp(3)))),
        (SOFTMAX, RIGHT, -log(exp(1.5) / (exp(1) + exp(0.5) + exp(1.5)))),
        (HINGE, LEFT, 2),
        (HINGE, RIGHT, 0.5),
        (LOGISTIC, LEFT, logloss(2 - 1) + logloss(2 - 3)),
        (LOGISTIC, RIGHT, logloss(1.5 - 1) + logloss(1.5 - 0.5)),
        (SIGMOID, LEFT, logloss(2) + logloss(-1) + logloss(-3)),
        (SIGMOID, RIGHT, logloss(1.5) + logloss(-1) + logloss(-0.5)),
        (SQUARES, LEFT, (2 - 1) ** 2 + (1 - 0) ** 2 + (3 - 0) ** 2),
        (SQUARES, RIGHT, (1 - 0) ** 2 + (0.5 - 0) ** 2 + (1.5 - 1) ** 2),
        (HINGE, BLANK, 0),
        (LOGISTIC, BLANK, 0),
        (SIGMOID, BLANK, logloss(0) + logloss(-3) + logloss(-1) + logloss(-2)),
        (SQUARES, BLANK, 0**2 + 3**2 + 1**2 + 2**2),
        (HINGE, FAR, (1 + 2.1e26 + 0) + (1 + 2.1e26 + 42)),
        (LOGISTIC, FAR, 2.1e26 + 2.1e26),
        (SIGMOID, FAR, 2.1e26 + log(2) + 42),
        # TensorFlow Ranking, losses_impl_test.py, whose means are sums over four pairs here
        (LOGISTIC, ([0, 0, 1], [1.0, 3.0, 2.0]), logloss(2 - 3) + logloss(2 - 1)),
        (LOGISTIC, ([0, 0, 2], [1.0, 2.0, 3.0]), logloss(3 - 1) + logloss(3 - 2)),
        (LOGISTIC, ([1, 0], [1.0, 2.0]), logloss(1 - 2)),
        (HINGE, ([0, 0, 1], [1.0, 3.0, 2.0]), (1 - (2 - 3)) + 0),
        (HINGE, ([0, 0, 2], [1.0, 2.0, 3.0]), 0),
        (HINGE, ([1, 0], [1.0, 2.0]), 1 - (1 - 2)),
    ],
)
def test_published_values(objective, query, value):
    assert total(objective, *query) == pytest.approx(value, rel=1e-12, abs=1e-12)


# --- losses that share out what theirs add up ----------------------------------------------------
# Their softmax weighs documents by their labels l; here phi is (2^r - 1) / sum (2^r - 1), which is
# l / sum l for r = log2(1 + l). Their ListMLE takes equal labels in the order of the rows.

THIRD = ([0, 0, 1], [1.0, 3.0, 2.0])
GRADE_TWO = ([0, 0, 2], [1.0, 2.0, 3.0])
LN2, LN3 = log(2), log(3)


def share(scores, i):
    return exp(scores[i]) / sum(exp(s) for s in scores)


def softmax_total(labels, scores):
    """The softmax loss of a list as theirs: a sum over documents, weighted by labels."""
    return sum(labels) * total(XENDCG(gamma=1.0), [log2(1 + label) for label in labels], scores)


def unique_total(labels, scores):
    return sum(2**label - 1 for label in labels) * total(UniqueSoftmax(), labels, scores)


def of_order(*order):
    """Return labels of which ListMLE takes the documents in this order."""
    return [len(order) - order.index(d) for d in range(len(order))]


@pytest.mark.parametrize(
    ("query", "value"),
    [
        # Rax
        (FIRST, -(log(exp(2) / ALL) + log(exp(1) / ALL))),
        (SECOND, -(2 * log(share(SECOND[1], 0)) + log(share(SECOND[1], 2)))),
        (LEFT, -log(exp(2) / (exp(2) + exp(1) + exp(3)))),
        (RIGHT, -log(exp(1.5) / (exp(1) + exp(0.5) + exp(1.5)))),
        (FAR, -((-2.1e26 - 3.4e37) + (3.4e37 - 3.4e37))),
        (BLANK, 0.0),
        (([0, 0, 1, 1], [0.0, 3.0, 2.0, 1.0]), -(log(exp(2) / ALL) + log(exp(1) / ALL))),
        # TensorFlow Ranking
        (THIRD, -log(share(THIRD[1], 2))),
        (GRADE_TWO, -2 * log(share(GRADE_TWO[1], 2))),
        (
            ([1, 2, 1], [1.0, 3.0, 2.0]),
            -(log(share(THIRD[1], 0)) + 2 * log(share(THIRD[1], 1)) + log(share(THIRD[1], 2))),
        ),
        (
            ([1, 1, 2], [1.0, 2.0, 3.0]),
            -(
                log(share([1.0, 2.0, 3.0], 0))
                + log(share([1.0, 2.0, 3.0], 1))
                + 2 * log(share([1.0, 2.0, 3.0], 2))
            ),
        ),
        (([0, 1], [1.0, 2.0]), -log(share([1, 2], 1))),
        (([0, 1], [1.0, 3.0]), -log(share([1, 3], 1))),
    ],
)
def test_published_values_of_the_softmax(query, value):
    assert softmax_total(*query) == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_published_digits_of_the_softmax():
    assert softmax_total(*THIRD) == pytest.approx(1.407606, abs=5e-7)
    assert softmax_total(*GRADE_TWO) / 2 == pytest.approx(0.407606, abs=5e-7)
    assert unique_total(*THIRD) == pytest.approx(1.407606, abs=5e-7)
    assert unique_total(*GRADE_TWO) == pytest.approx(1.222818, abs=5e-7)
    # Rax, with weight 2 on the first of two relevant documents: 5.320569
    pairs = [total(LOGISTIC, [0, 0, 1], [0.0, 3.0, s]) for s in (2.0, 1.0)]
    assert 2 * pairs[0] + pairs[1] == pytest.approx(5.320569, abs=5e-7)
    pairs = [total(HINGE, [0, 0, 1], [0.0, 3.0, s]) for s in (2.0, 1.0)]
    assert 2 * pairs[0] + pairs[1] == pytest.approx(7.0, abs=1e-12)


@pytest.mark.parametrize(
    ("query", "value"),
    [
        # Rax
        (
            FIRST,
            -(log(exp(2) / (exp(0) + exp(3) + exp(2))) + log(exp(1) / (exp(0) + exp(3) + exp(1)))),
        ),
        (
            SECOND,
            -(
                3 * log(exp(3) / (exp(3) + exp(1) + exp(4) + exp(2)))
                + log(exp(4) / (exp(1) + exp(4) + exp(2)))
            ),
        ),
        (LEFT, -log(exp(2) / (exp(2) + exp(1) + exp(3)))),
        (RIGHT, -log(exp(1.5) / (exp(1) + exp(0.5) + exp(1.5)))),
        (BLANK, 0.0),
        # TensorFlow Ranking
        (([0, 1, 2], [1.0, 2.0, 3.0]), -(log(share([1, 2], 1)) + 3 * log(share([1, 2, 3], 2)))),
        (([0, 1, 0], [1.0, 3.0, 2.0]), -log(share([1, 3, 2], 1))),
    ],
)
def test_published_values_of_the_unique_softmax(query, value):
    assert unique_total(*query) == pytest.approx(value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("order", "scores", "value"),
    [
        # Rax
        (
            (0, 2, 1, 3),
            SECOND[1],
            -(
                log(exp(3) / (exp(3) + exp(4) + exp(1) + exp(2)))
                + log(exp(4) / (exp(4) + exp(1) + exp(2)))
                + log(exp(1) / (exp(1) + exp(2)))
            ),
        ),
        (
            (0, 1, 2, 3),
            BLANK[1],
            -(
                log(exp(0) / ALL)
                + log(exp(3) / (exp(3) + exp(1) + exp(2)))
                + log(exp(1) / (exp(1) + exp(2)))
            ),
        ),
        (
            (0, 1, 2),
            LEFT[1],
            -(log(exp(2) / (exp(2) + exp(1) + exp(3))) + log(exp(1) / (exp(1) + exp(3)))),
        ),
        (
            (2, 0, 1),
            RIGHT[1],
            -(log(exp(1.5) / (exp(1.5) + exp(1) + exp(0.5))) + log(exp(1) / (exp(1) + exp(0.5)))),
        ),
        ((1, 2, 0, 3), FAR[1], 3.4e37),
        # TensorFlow Ranking
        ((1, 2, 0), [0.0, LN3, LN2], -(log(3 / (3 + 2 + 1)) + log(2 / (2 + 1)) + log(1 / 1))),
        ((2, 0, 1), [0.0, LN2, LN3], -(log(3 / (3 + 2 + 1)) + log(1 / (1 + 2)) + log(2 / 2))),
        ((2, 1, 0), [0.0, LN2, LN3], -(log(3 / (3 + 2 + 1)) + log(2 / (2 + 1)) + log(1 / 1))),
        ((1, 0), [0.0, LN3], -(log(3 / (3 + 1)) + log(1 / 1))),
    ],
)
def test_published_values_of_listmle(order, scores, value):
    digits = 1e-7 if scores is FAR[1] else 1e-12  # theirs: 3.4e37 of 3.4e37 + 2.1e26
    assert total(ListMLE(), of_order(*order), scores) == pytest.approx(value, rel=digits, abs=1e-12)


def cross_entropy(labels, scores):
    """Theirs of labels 0 and 1, as they write it."""
    return sum(
        max(x, 0) - x * label + log(1 + exp(-abs(x)))
        for x, label in zip(scores, labels, strict=True)
    )


@pytest.mark.parametrize(
    ("objective", "query", "value"),
    [
        (SIGMOID, ([0, 0, 1], [0.2, 0.5, 0.3]), cross_entropy([0, 0, 1], [0.2, 0.5, 0.3])),
        (SIGMOID, ([0, 0, 0], [0.2, 0.3, 0.5]), cross_entropy([0, 0, 0], [0.2, 0.3, 0.5])),
        (SIGMOID, ([0, 1], [1.0, 2.0]), log(1 + exp(-2)) + log(1 + exp(1))),
        (SQUARES, ([0, 0, 1], [0.2, 0.5, 0.3]), 0.2**2 + 0.5**2 + (0.3 - 1) ** 2),
        (SQUARES, ([0, 0, 2], [0.2, 0.3, 0.5]), 0.2**2 + 0.3**2 + (0.5 - 2) ** 2),
        (SQUARES, ([0, 0, 0], [0.2, 0.3, 0.5]), 0.2**2 + 0.3**2 + 0.5**2),
        (SQUARES, ([0, 1], [1.0, 2.0]), 1.0 + 1.0),
        (LOGISTIC, ([0, 1], [1.0, 2.0]), logloss(2 - 1)),
        (HINGE, ([0, 1], [1.0, 2.0]), 0.0),
        # 1 plus how often another is above, softly
        (
            ApproxNDCG(temperature=1.0),
            ([0, 1], [1.0, 2.0]),
            1 - log(2) / log(1 + 1 + 1 / (1 + exp(-(1.0 - 2.0)))),
        ),
    ],
)
def test_published_values_of_tensorflow_ranking(objective, query, value):
    assert total(objective, *query) == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_approx_ndcg_of_a_list_with_a_padded_document():
    value = total(ApproxNDCG(temperature=0.1), [1, 0], [0.0, 1.8])
    assert value == pytest.approx(1 - LN2 / LN3, abs=1e-6)


# --- the rest by loops ----------------------------------------------------------------------------

LABELS = np.array([2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 3.0])
VALUES = np.array([0.3, 0.9, -0.4, 1.2, -1.0, 0.35, 0.1])


def test_unique_softmax_gradient_by_loops():
    gains = 2**LABELS - 1
    grad, hess = np.zeros(7), np.zeros(7)
    for i, weight in enumerate(gains / gains.sum()):
        rivals = [j for j in range(7) if j == i or LABELS[j] < LABELS[i]]
        shares = np.exp(VALUES[rivals]) / np.exp(VALUES[rivals]).sum()
        for j, p in zip(rivals, shares, strict=True):
            grad[j] += weight * (p - (j == i))
            hess[j] += weight * (p + (j == i)) / 2
    found = UniqueSoftmax().grad_hess(LABELS, VALUES, [7])
    np.testing.assert_allclose(found[0], grad, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[1], hess, rtol=1e-5)


def test_weights_of_the_hinge_are_what_a_swap_changes_ndcg_by():
    gains = 2**LABELS - 1
    best = sum(g / log2(2 + place) for place, g in enumerate(sorted(gains)[::-1]))

    def ndcg(order):
        return sum(gains[d] / log2(2 + place) for place, d in enumerate(order)) / best

    order = list(np.argsort(-VALUES))
    grad, hess = np.zeros(7), np.zeros(7)
    for i in range(7):
        for j in range(7):
            if LABELS[i] > LABELS[j] and VALUES[i] - VALUES[j] < 1:
                swapped = list(order)
                a, b = swapped.index(i), swapped.index(j)
                swapped[a], swapped[b] = swapped[b], swapped[a]
                change = abs(ndcg(swapped) - ndcg(order))
                grad[i] -= change
                grad[j] += change
                hess[[i, j]] += change
    found = PairwiseHinge().grad_hess(LABELS, VALUES, [7])
    np.testing.assert_allclose(found[0], grad, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[1], hess, rtol=1e-5)


@pytest.mark.parametrize(
    ("objective", "longest"),
    [
        (UniqueSoftmax(), 2.0),
        (SigmoidCrossEntropy(), 2.0),
        (PairwiseHinge(), 1.0),
        (ApproxNDCG(temperature=0.5), 0.5),
    ],
    ids=repr,
)
def test_no_leaf_goes_too_far(objective, longest):
    rng = np.random.default_rng(0)
    group = rng.integers(2, 9, 60)
    labels = rng.integers(0, 4, group.sum()).astype(float)
    for spread in (0.0, 1.0, 20.0):
        scores = spread * rng.normal(size=len(labels))
        for n_leaves in (1, 8, len(labels)):
            leaf = rng.integers(0, n_leaves, len(labels))
            grad, hess = (a.astype(float) for a in objective.grad_hess(labels, scores, group))
            sums = np.bincount(leaf, grad, n_leaves), np.bincount(leaf, hess, n_leaves)
            step = np.where(sums[1] > 0, -sums[0] / np.maximum(sums[1], 1e-300), 0.0)[leaf]
            assert np.abs(step).max() <= longest * (1 + 1e-5)
            if isinstance(objective, UniqueSoftmax | SigmoidCrossEntropy):
                before = objective.loss(labels, scores, group).sum()
                after = objective.loss(labels, scores + step, group).sum()
                assert after <= before + 1e-5 * abs(before)


@pytest.mark.parametrize(
    "objective",
    [
        UniqueSoftmax(gain="linear"),
        ApproxNDCG(temperature=0.3),
        PairwiseHinge(weights=None),
        SigmoidCrossEntropy(threshold=1.0),
    ],
    ids=repr,
)
def test_variants_keep_the_contract(objective):
    check_objective(objective)


def test_unique_softmax_is_not_consistent():
    assert find_counterexample(UniqueSoftmax(), m=3, trials=100).shortfall > 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ApproxNDCG(temperature=0.0), r"temperature must be a number in \[0.001, 1000\]"),
        (lambda: PairwiseHinge(weights="dcg"), "weights must be 'ndcg' or None, got 'dcg'"),
        (lambda: SigmoidCrossEntropy(threshold=-1.0), "threshold must be a number >= 0, got -1.0"),
        (lambda: UniqueSoftmax(gain="cubic"), 'gain must be "exp", "linear"'),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
