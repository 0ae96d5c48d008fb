"""H(epsilon) against closed forms, isotonic regression, bounds, and scores drawn at random."""

from itertools import permutations
from math import log, log2

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from gbrank import KL, XENDCG, GainPairwise, ListNet, QNorm, Squared
from gbrank.theory import (
    bayes_scores,
    excess_risk_bound,
    minimizer,
    misleading_preferences,
    ndcg_suboptimality,
    preference_suboptimality,
)

STEP = 1 - 1 / log2(3)  # D(1) - D(2)
VECTORS, CHANCES = [[3, 0, 1], [0, 2, 1], [1, 4, 2]], [0.5, 0.2, 0.3]


# --- two documents, by hand ---------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.55, 0.7, 0.95])
def test_single_comparisons_of_two_documents(p):
    """p log(1 + e^-x) + (1 - p) log(1 + e^x): entropy of p at best, log 2 in the wrong order."""
    entropy = -p * log(p) - (1 - p) * log(1 - p)
    a = [[0, p], [1 - p, 0]]
    found = preference_suboptimality(a, 0.9 * (2 * p - 1))
    assert found == pytest.approx(log(2) - entropy, abs=1e-8)
    assert preference_suboptimality(a, 1.1 * (2 * p - 1)) == np.inf


@pytest.mark.parametrize(("phi", "at_zero"), [("logistic", log(2)), ("squared_hinge", 1.0)])
def test_aggregated_comparisons_of_two_documents(phi, at_zero):
    """One direction is left, of weight epsilon: H is linear, epsilon phi(0)."""
    for epsilon in (0.1, 0.4):
        a = [[0, 0.5 + epsilon], [0.5, 0]]
        found = preference_suboptimality(a, epsilon, aggregate=True, phi=phi)
        assert found == pytest.approx(epsilon * at_zero, rel=1e-4)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_squared_error_of_two_documents(reduction):
    """H(epsilon) = (epsilon / (D(1) - D(2)))^2 / 2, over all distributions, to the grid."""
    factor = 1.0 if reduction == "sum" else 1 / 4  # divided by 2 m
    objective, vectors = Squared(reduction=reduction), [[1, 0], [0, 1]]
    one = ndcg_suboptimality(objective, 0.1, vectors, [0.8, 0.2])
    assert one == pytest.approx(factor * 0.6**2 / 2, rel=1e-5)
    least = ndcg_suboptimality(objective, 0.3 * STEP, vectors, steps=20)
    assert least == pytest.approx(factor * 0.3**2 / 2, rel=1e-5)
    for chances in ([0.6, 0.4], [0.35, 0.65], [0.1, 0.9]):
        assert least <= ndcg_suboptimality(objective, 0.3 * STEP, vectors, chances) + 1e-9


# --- more documents -----------------------------------------------------------------------------


def shortfalls(vectors, chances):
    """Return by how much expected NDCG falls short of the best, for each order."""
    u = bayes_scores(vectors, chances)
    discounts = 1 / np.log2(2 + np.arange(len(u)))
    best = np.sort(u)[::-1] @ discounts
    orders = permutations(range(len(u)))
    return {order: best - u[list(order)] @ discounts for order in orders}


@pytest.mark.parametrize("m", [3, 4])
def test_squared_error_is_isotonic_regression(m):
    """Of E u on each order that falls short: the least squares under monotonicity."""
    rng = np.random.default_rng(m)
    vectors, chances = rng.integers(0, 4, size=(4, m)), rng.dirichlet([1] * 4)
    u, short = bayes_scores(vectors, chances), shortfalls(vectors, chances)
    for epsilon in np.quantile(list(short.values()), [0.3, 0.7, 1.0]):
        distances = []
        for order, value in short.items():
            if value >= epsilon - 1e-12:
                ranked = u[list(order)]
                distances.append(
                    ((ranked - isotonic_regression(ranked, increasing=False)) ** 2).sum()
                )
        found = ndcg_suboptimality(Squared(), epsilon, vectors, chances)
        assert found == pytest.approx(min(distances), abs=1e-7)
        # theorem 10 of Ravikumar et al.: a shortfall epsilon costs at least (epsilon / c)^2
        assert found >= (epsilon / excess_risk_bound(Squared(), 1.0, m)) ** 2


@pytest.mark.parametrize("objective", [KL(), QNorm(q=2.5), GainPairwise(), ListNet()], ids=repr)
def test_no_scores_do_better(objective):
    """Of thousands of scores none that falls short by epsilon has a smaller excess than H says."""
    rng = np.random.default_rng(0)
    labels = np.ravel(VECTORS).astype(float)

    def risk(s):
        return CHANCES @ objective.loss(labels, np.tile(s, 3), [3, 3, 3])

    centre = minimizer(objective, VECTORS, CHANCES)
    points = [*(centre + rng.normal(size=(1500, 3))), *(centre + 0.3 * rng.normal(size=(500, 3)))]
    excess = np.array([risk(s) for s in points]) - risk(centre)
    by_order = shortfalls(VECTORS, CHANCES)
    short = np.array([by_order[tuple(np.argsort(-s).tolist())] for s in points])
    values = []
    for epsilon in sorted(by_order.values())[1:]:
        h = ndcg_suboptimality(objective, epsilon, VECTORS, CHANCES)
        nearest = excess[short >= epsilon - 1e-12].min()
        assert h - 1e-7 <= nearest < h + 0.05
        values.append(h)
    assert np.all(np.diff(values) >= -1e-9)
    assert values[-1] > 0.01


def test_inconsistent_losses_have_h_zero():
    example = [[1, 5], [2, 1]], [0.35, 0.65]  # Ravikumar et al. 2011, where ListNet fails
    short = 0.0261 * STEP  # (.5481 - .5220) (D(1) - D(2))
    assert ndcg_suboptimality(ListNet(), 0.9 * short, *example) == pytest.approx(0.0, abs=1e-9)
    assert ndcg_suboptimality(KL(), 0.9 * short, *example) > 1e-5
    a = misleading_preferences()
    assert preference_suboptimality(a, 0.1) == pytest.approx(0.0, abs=1e-9)
    assert preference_suboptimality(a, 0.1, aggregate=True) > 0.05
    assert preference_suboptimality(a, 0.11) > 1e-4  # that much the wrong minimiser does not cost


def test_pairwise_risk_by_enumeration():
    """The least excess, with orders and their risks written out, for the squared hinge."""
    rng = np.random.default_rng(3)
    a = rng.exponential(size=(3, 3))
    np.fill_diagonal(a, 0.0)

    def wrong(order):
        return sum(a[j, i] for at, i in enumerate(order) for j in order[at + 1 :])

    risks = sorted(wrong(order) for order in permutations(range(3)))
    values = [
        preference_suboptimality(a, each - risks[0], phi="squared_hinge") for each in risks[1:]
    ]
    assert np.all(np.diff(values) >= -1e-9)
    assert values[-1] < np.inf
    beyond = preference_suboptimality(a, risks[-1] - risks[0] + 1e-6, phi="squared_hinge")
    assert beyond == np.inf


def test_bad_arguments():
    with pytest.raises(ValueError, match="epsilon must be a number > 0"):
        ndcg_suboptimality(Squared(), 0.0, [[1, 0]], [1.0])
    with pytest.raises(ValueError, match="must not draw random numbers"):
        ndcg_suboptimality(XENDCG(), 0.1, [[1, 0]], [1.0])
    with pytest.raises(ValueError, match=r"label_vectors must be of 2 to 5 documents, .* got 6"):
        ndcg_suboptimality(Squared(), 0.1, [[1, 0, 0, 0, 0, 0]], [1.0])
    with pytest.raises(ValueError, match="phi must be"):
        preference_suboptimality([[0, 1], [0, 0]], 0.1, phi="hinge")
