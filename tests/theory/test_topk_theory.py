"""Top-k order sensitivity by enumeration, and the propositions of Xia, Liu, Li 2009."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from gbrank import Cosine, ListMLE, ListNet, PairwiseLogistic
from gbrank.theory import (
    check_order_sensitivity,
    is_order_preserving,
    luce_cross_entropy,
    minimizer,
    order_preserving_chain,
    proposition_10,
    topk_bayes_order,
    topk_minimizer_order,
)
from gbrank.theory.topk import labels_of_order

SAME_FIRST = "orders with the same first k places have different losses"


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("objective_class", [ListMLE, Cosine, ListNet])
def test_losses_with_k_are_topk_order_sensitive(objective_class, k):
    found = check_order_sensitivity(objective_class(k=k), m=4, k=k)
    assert found.sensitive, found


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    "objective", [ListMLE(), Cosine(), ListNet(), PairwiseLogistic()], ids=repr
)
def test_losses_of_the_whole_order_are_not(objective, k):
    found = check_order_sensitivity(objective, m=4, k=k)
    assert not found.sensitive
    assert found.reason == SAME_FIRST


def test_three_of_four_places_are_the_whole_order():
    # the last factor of the likelihood is 1: with k = m - 1 nothing is left out
    labels, scores = [3.0, 1.0, 4.0, 2.0], [0.3, -1.0, 0.2, 0.5]
    full, three = ListMLE().loss(labels, scores, [4]), ListMLE(k=3).loss(labels, scores, [4])
    assert full == pytest.approx(three, rel=1e-14)
    assert check_order_sensitivity(ListMLE(), m=4, k=3).sensitive


def test_a_failure_can_be_looked_at():
    found = check_order_sensitivity(ListMLE(), m=4, k=1)
    i, j = found.documents
    exchanged = [{i: j, j: i}.get(document, document) for document in found.order]
    assert found.order[0] == exchanged[0]
    losses = [
        ListMLE().loss(labels_of_order(order), found.scores, [4])[0]
        for order in (found.order, exchanged)
    ]
    assert abs(losses[0] - losses[1]) > 1e-6


class Reversed(ListMLE):
    """The likelihood of the reverse order."""

    def query_loss(self, labels, scores, *, query, iteration):
        return super().query_loss(labels.max() - labels, scores, query=query, iteration=iteration)


class Flat(ListMLE):
    """No information at all."""

    def query_loss(self, labels, scores, *, query, iteration):
        return 1.0


class Shifted(ListMLE):
    def query_loss(self, labels, scores, *, query, iteration):
        return super().query_loss(labels, scores, query=query, iteration=iteration) - 100.0


class Positional(ListMLE):
    def query_loss(self, labels, scores, *, query, iteration):
        loss = super().query_loss(labels, scores, query=query, iteration=iteration)
        return loss + labels[0]


class FlatGradient(ListMLE):
    @staticmethod
    def kernel(first, last, bounds, scores, *others):
        grad, hess = others[-2:]
        grad[bounds[first] : bounds[last]] = 0.0
        hess[bounds[first] : bounds[last]] = 1.0


@pytest.mark.parametrize(
    ("objective", "reason"),
    [
        (Reversed(), "the order that contradicts the scores has the smaller loss"),
        (Flat(), "no order that contradicts the scores has a larger loss"),
        (Shifted(), "the loss is negative"),
        (Positional(), "exchanging two documents changes the loss"),
        (FlatGradient(), "no derivative tells apart two documents with equal scores"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_condition_can_fail(objective, reason):
    assert check_order_sensitivity(objective, m=3, k=3, n_scores=3).reason == reason


def test_sensitivity_at_k_implies_sensitivity_at_all_larger_k():
    for objective_class in (ListMLE, ListNet, Cosine):
        for k in (1, 2, 3):
            for wider in range(k, 5):
                found = check_order_sensitivity(objective_class(k=k), m=4, k=wider, n_scores=2)
                assert found.sensitive, (objective_class, k, wider, found)


# --- distributions of orders --------------------------------------------------------------------


def test_order_preserving_spelled_out_for_three_documents():
    orders = list(permutations(range(3)))  # 012 021 102 120 201 210
    chances = np.array([0.3, 0.2, 0.15, 0.1, 0.15, 0.1])
    for k in (1, 2, 3):
        assert is_order_preserving(orders, chances, 0, 1, k)
        assert not is_order_preserving(orders, chances, 1, 0, k)
    chances = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.15])  # 210 before 201
    assert is_order_preserving(orders, chances, 0, 1, 1)
    assert not is_order_preserving(orders, chances, 0, 1, 2)
    tied = np.full(6, 1 / 6)
    assert not is_order_preserving(orders, tied, 0, 1, 1)


def test_preserving_k_places_means_preserving_fewer():
    rng = np.random.default_rng(0)
    orders = list(permutations(range(4)))
    worth = np.array([1.0, 0.6, 0.3, 0.0])
    seen = set()
    for _ in range(300):
        chances = np.exp(
            [sum(w * worth[d] for w, d in zip((3, 2, 1, 0), o, strict=True)) for o in orders]
        )
        chances *= rng.uniform(0.3, 1.0, len(orders))
        chances /= chances.sum()
        answers = [is_order_preserving(orders, chances, 0, 1, k) for k in (1, 2, 3, 4)]
        seen.add(tuple(answers))
        for narrow, wide in pairwise(answers):
            assert narrow or not wide
    assert len(seen) > 2  # some distributions are preserving for small k only


def test_bayes_order_of_the_first_places():
    orders, chances = [(0, 1, 2), (0, 2, 1), (1, 0, 2)], [0.3, 0.3, 0.4]
    assert topk_bayes_order(orders, chances, 1) == [(0,)]
    assert topk_bayes_order(orders, chances, 2) == [(1, 0)]
    assert topk_bayes_order([(0, 1), (1, 0)], [0.5, 0.5], 1) == [(0,), (1,)]


# --- proposition 10 -----------------------------------------------------------------------------


def test_proposition_10_in_numbers():
    orders, chances = proposition_10()
    labels = [labels_of_order(order) for order in orders]
    full = minimizer(ListMLE(), labels, chances)
    np.testing.assert_allclose(full, [0.210, 0.560, -0.770], atol=6e-4)
    first = minimizer(ListMLE(k=1), labels, chances)
    log_odds = np.log([0.4, 0.3, 0.3])
    np.testing.assert_allclose(first, log_odds - log_odds.mean(), atol=1e-5)
    np.testing.assert_allclose(first, [0.192, -0.096, -0.096], atol=6e-4)


@pytest.mark.parametrize("p1", [0.34, 0.4, 0.45])
def test_losses_of_the_whole_order_miss_the_best_first_place(p1):
    orders, chances = proposition_10(p1)
    assert topk_bayes_order(orders, chances, 1) == [(0,)]
    assert is_order_preserving(orders, chances, 0, 1, 1)
    assert is_order_preserving(orders, chances, 0, 2, 1)
    for misled in (ListMLE(), PairwiseLogistic()):
        assert topk_minimizer_order(misled, orders, chances, 1) == (1,)
    for right in (ListMLE(k=1), ListNet(k=1), Cosine(k=1)):
        assert topk_minimizer_order(right, orders, chances, 1) == (0,)


def listmle_minimum(p1):
    """Minimise the likelihood of three orders, written out, by SciPy."""
    orders, chances = [(0, 1, 2), (1, 0, 2), (2, 1, 0)], [p1, (1 - p1) / 2, (1 - p1) / 2]

    def loss(s):
        total = 0.0
        for order, chance in zip(orders, chances, strict=True):
            ranked = s[list(order)]
            total += chance * sum(np.logaddexp.reduce(ranked[i:]) - ranked[i] for i in range(3))
        return total

    return minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x


def test_listmle_is_misled_up_to_526_thousandths_only():
    turn = brentq(lambda p1: listmle_minimum(p1)[0] - listmle_minimum(p1)[1], 0.4, 0.7, xtol=1e-6)
    assert round(turn, 3) == 0.526
    for p1, first in ((turn - 0.002, 1), (turn + 0.002, 0), (0.9, 0)):
        assert topk_minimizer_order(ListMLE(), *proposition_10(p1), 1) == (first,)


# --- theorem 6 ----------------------------------------------------------------------------------


def condition_of_theorem_6(orders, chances, k, chain):
    """Return whether the pairs of theorem 6 as printed are preserved for some choice of s_i."""
    m = len(chain)
    pairs = [[(chain[i], chain[i + 1])] for i in range(min(k, m - 1))]
    for i in range(2, m - k + 1):  # (j_{k + s_i}, j_{k + i}) for some 0 <= s_i < i
        pairs.append([(chain[k + s - 1], chain[k + i - 1]) for s in range(i)])
    return all(
        any(is_order_preserving(orders, chances, *pair, k) for pair in choice) for choice in pairs
    )


def random_orders(rng, m):
    """Return all orders with probabilities of Plackett and Luce, some of them disturbed."""
    orders, worth = list(permutations(range(m))), rng.exponential(size=m)
    chances = []
    for order in orders:
        left = worth[list(order)]
        chances.append(np.prod([left[i] / left[i:].sum() for i in range(m)]))
    chances = np.array(chances) * rng.choice([1.0, 1.0, 1.3], size=len(orders))
    return orders, chances / chances.sum()


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_order_preserving_chain_against_all_chains(k):
    rng = np.random.default_rng(k)
    found = []
    for _ in range(12):
        orders, chances = random_orders(rng, 4)
        chain = order_preserving_chain(orders, chances, k)
        good = [
            each
            for each in permutations(range(4))
            if condition_of_theorem_6(orders, chances, k, each)
        ]
        assert (chain is None) == (not good)
        assert chain is None or chain in good
        found.append(chain)
        if chain is not None:  # what the theorem promises
            assert topk_bayes_order(orders, chances, k) == [chain[:k]]
            assert topk_minimizer_order(ListMLE(k=k), orders, chances, k) == chain[:k]
    assert any(chain is not None for chain in found)
    if k > 1:
        assert any(chain is None for chain in found)


# --- equation 12 --------------------------------------------------------------------------------


def luce(scores, first):
    """Return the probability of the first places, draw by draw."""
    left, chance = list(range(len(scores))), 1.0
    for document in first:
        weights = {d: np.exp(scores[d]) for d in left}
        chance *= weights[document] / sum(weights.values())
        left.remove(document)
    return chance


@pytest.mark.parametrize("k", [1, 2, 3, None])
def test_luce_cross_entropy_by_enumeration(k):
    labels, scores = [2.0, 0.0, 1.0, 1.0], [0.3, -0.2, 1.1, 0.0]
    expected = 0.0
    for first in permutations(range(4), 4 if k is None else k):
        p, q = luce(labels, first), luce(scores, first)
        expected += p * np.log(p / q)
    assert luce_cross_entropy(labels, scores, k) == pytest.approx(expected, rel=1e-12)
    mapped = [2.0, 0.0, 1.0, 1.0]  # the second place is shared: all of it stays
    assert luce_cross_entropy(labels, scores, k, top=2) == pytest.approx(
        luce_cross_entropy(mapped, scores, k)
    )
    assert luce_cross_entropy(labels, scores, k, top=1) == pytest.approx(
        luce_cross_entropy([2.0, 0.0, 0.0, 0.0], scores, k)
    )


def test_the_top_one_form_is_listnet():
    labels, scores = np.array([2.0, 0.0, 1.0]), np.array([0.3, -0.2, 1.1])
    target = np.exp(labels) / np.exp(labels).sum()
    entropy = -(target @ np.log(target))
    listnet = ListNet().loss(labels, scores, [3])[0]
    assert luce_cross_entropy(labels, scores, 1) == pytest.approx(listnet - entropy, rel=1e-12)


@pytest.mark.parametrize("compared", [1, 2, None])
@pytest.mark.parametrize("k", [1, 2])
def test_equation_12_is_topk_order_sensitive_after_the_map_only(compared, k):
    mapped = check_order_sensitivity(
        lambda r, s: luce_cross_entropy(r, s, compared, top=k), m=4, k=k, n_scores=3
    )
    assert mapped.sensitive, mapped
    plain = check_order_sensitivity(
        lambda r, s: luce_cross_entropy(r, s, compared), m=4, k=k, n_scores=3
    )
    assert plain.reason == SAME_FIRST


def test_functions_are_checked_as_objectives_are():
    def listmle(labels, scores, k):
        ranked = scores[np.argsort(-labels)]
        return sum(np.logaddexp.reduce(ranked[i:]) - ranked[i] for i in range(k))

    assert check_order_sensitivity(lambda r, s: listmle(r, s, 2), m=4, k=2, n_scores=5).sensitive
    found = check_order_sensitivity(lambda r, s: listmle(r, s, 3), m=4, k=2, n_scores=5)
    assert found.reason == SAME_FIRST
    found = check_order_sensitivity(lambda r, s: 1.0, m=3, k=1, n_scores=1)
    assert not found.sensitive


# --- input --------------------------------------------------------------------------------------


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="must hold each of 0 to 2 once"):
        labels_of_order([0, 0, 2])
    with pytest.raises(ValueError, match="m must be at most 6"):
        check_order_sensitivity(ListMLE(), m=7, k=1)
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        check_order_sensitivity(ListMLE(), m=3, k=0)
    with pytest.raises(ValueError, match="one entry per order"):
        topk_bayes_order([(0, 1)], [0.5, 0.5], 1)
    with pytest.raises(ValueError, match=r"p1 must be a number in \(0.333333, 1\)"):
        proposition_10(0.2)
    with pytest.raises(ValueError, match="at most 6 documents, got 7"):
        order_preserving_chain([tuple(range(7))], [1.0], 1)
    with pytest.raises(ValueError, match="of one length, 1 to 8, got 2 and 3"):
        luce_cross_entropy([1, 0], [0, 0, 0])
    with pytest.raises(ValueError, match="top must be an integer >= 1 or None, got 0"):
        luce_cross_entropy([1, 0], [0, 0], top=0)
