"""Bounds against what they bound, computed by enumeration; constants spelled out."""

from itertools import permutations
from math import exp, log2, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from gbrank import KL, XENDCG, Bregman, Cosine, LambdaMART, ListNet, QNorm, Squared
from gbrank.theory import (
    bayes_scores,
    excess_risk_bound,
    generalization_probability,
    lipschitz_constant,
    low_noise_bound,
    minimizer,
    ndcg_margin,
    xendcg_bound,
)

D = 1 / np.log2(2 + np.arange(10))


def worst_ndcg(labels, scores, k=None):
    """NDCG of one query; tied scores in their worst order."""
    gains = 2.0 ** np.asarray(labels) - 1
    order = np.lexsort((gains, -np.asarray(scores)))
    k = len(gains) if k is None else k
    return gains[order][:k] @ D[:k] / (np.sort(gains)[::-1][:k] @ D[:k])


def queries(seed, n=6, m=5):
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, size=(n, m), p=[0.6, 0.2, 0.1, 0.1]).astype(float)
    labels[:, 0] = rng.integers(1, 4, n)  # every query has a relevant document
    scores = rng.choice([0.1, 1.0, 5.0]) * rng.normal(size=(n, m)) + rng.uniform() * labels
    return labels, scores.round(1), [m] * n


# --- XENDCG -------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, "uniform"])
def test_ndcg_is_at_least_the_xendcg_bound(gamma):
    objective = XENDCG(gamma=gamma)
    bounds = []
    for seed in range(60):
        labels, scores, group = queries(seed)
        ndcg = np.mean([worst_ndcg(r, s) for r, s in zip(labels, scores, strict=True)])
        bound = xendcg_bound(labels.ravel(), scores.ravel(), group, objective)
        assert ndcg >= bound
        bounds.append(bound)
        # the theorem as printed
        losses = objective.loss(labels.ravel(), scores.ravel(), group)
        best = [np.sort(2**r - 1)[::-1] @ D[: len(r)] for r in labels]
        assert -np.log(ndcg + np.mean(1 / np.array(best))) <= losses.mean()
    assert max(bounds) > 0.0  # it says something


def test_xendcg_bound_spelled_out():
    labels, scores = [2, 0], [1.0, 0.0]
    rho = exp(1) / (1 + exp(1))
    assert xendcg_bound(labels, scores, [2]) == pytest.approx(rho, rel=1e-12)  # phi = (1, 0)
    half = XENDCG(gamma=0.5)
    phi = 3.5 / 4
    loss = -phi * np.log(rho) - (1 - phi) * np.log(1 - rho)
    expected = exp(-loss) - 0.5 / 3
    assert xendcg_bound(labels, scores, [2], half) == pytest.approx(expected, rel=1e-12)


def test_the_bound_is_not_one_on_ndcg_with_a_cutoff():
    labels, scores = [1, 1, 0], [0.0, 0.0, 0.01]  # an irrelevant document is just ahead
    assert worst_ndcg(labels, scores, k=1) == 0.0
    assert xendcg_bound(labels, scores, [3]) > 0.3


def test_xendcg_bound_refuses_what_the_theorem_does_not_cover():
    with pytest.raises(ValueError, match="query 1 has none"):
        xendcg_bound([1, 0, 0, 0], [0.0] * 4, [2, 2])
    with pytest.raises(ValueError, match="every query needs"):
        xendcg_bound([], [], [])
    with pytest.raises(ValueError, match="eps=0"):
        xendcg_bound([1, 0], [0.0, 0.0], [2], XENDCG(eps=0.1))
    with pytest.raises(ValueError, match="objective must be an XENDCG"):
        xendcg_bound([1, 0], [0.0, 0.0], [2], ListNet())


# --- excess risk --------------------------------------------------------------------------------


def regret(vectors, chances, scores):
    u = bayes_scores(vectors, chances)
    order = np.lexsort((u, -np.asarray(scores)))
    return np.sort(u)[::-1] @ D[: len(u)] - u[order] @ D[: len(u)]


def distribution(rng, m):
    vectors = rng.integers(0, 4, size=(3, m)).astype(float)
    vectors[:, 0] = rng.permutation([0.0, 1.0, 3.0])  # no vector of equal labels
    vectors[:, 1] = 2.0
    return vectors, rng.dirichlet([1, 1, 1])


def risk(objective, vectors, chances, scores):
    n, m = vectors.shape
    return chances @ objective.loss(vectors.ravel(), np.tile(scores, n), [m] * n)


@pytest.mark.parametrize(
    "objective",
    [Squared(), Squared(reduction="mean"), KL(), Bregman(), QNorm(), QNorm(q=4.0)],
    ids=repr,
)
def test_ndcg_falls_short_by_no_more_than_the_excess_risk_allows(objective):
    rng = np.random.default_rng(5)
    tightest = 0.0
    for trial in range(200):
        m = 2 + trial % 4
        vectors, chances = distribution(rng, m)
        best = minimizer(objective, vectors, chances)
        scores = best + rng.choice([0.1, 0.5, 2.0]) * rng.normal(size=m)
        excess = risk(objective, vectors, chances, scores) - risk(objective, vectors, chances, best)
        mass = None
        if isinstance(objective, KL):
            u = np.array([bayes_scores([r], [1.0]) for r in vectors])
            q = np.exp(scores) * u.mean(axis=1, keepdims=True)
            mass = max(chances @ u.sum(axis=1), chances @ q.sum(axis=1))
        bound = excess_risk_bound(objective, max(excess, 0.0), m, mass)
        assert regret(vectors, chances, scores) <= bound + 1e-6
        tightest = max(tightest, regret(vectors, chances, scores) / bound)
    assert tightest > 0.02  # within two orders of magnitude of what happens


def test_constants_of_the_transform():
    norm_2, norm_inf = sqrt(1 + 1 / log2(3) ** 2 + 1 / 4), 1.0
    q = np.log(3) + 2
    norm_q = (1 + log2(3) ** -q + 2**-q) ** (1 / q)

    def constant(objective, mass=None):
        return excess_risk_bound(objective, 1.0, 3, mass)

    assert constant(Squared()) == pytest.approx(2 * norm_2)
    assert constant(Squared(reduction="mean")) == pytest.approx(2 * norm_2 * sqrt(6))
    assert constant(QNorm()) == pytest.approx(2 * norm_q * sqrt(q - 1))
    assert constant(QNorm(q=2.0)) == pytest.approx(2 * norm_2)
    assert constant(KL(), mass=1.5) == pytest.approx(2 * norm_inf * sqrt(2 * 1.5))
    assert constant(Bregman()) == pytest.approx(2 * norm_2 / sqrt(2))
    zipf = sqrt(1 + 1 / 4 + 1 / 9)
    assert constant(Squared(discount="zipf")) == pytest.approx(2 * zipf)
    assert excess_risk_bound(Squared(), 0.04, 3) == pytest.approx(2 * norm_2 * 0.2)


def test_low_noise_bound_holds_over_queries_and_begins_with_the_plain_one():
    assert low_noise_bound(Squared(), 0.01, 3, 0.0, 1.0) == pytest.approx(
        excess_risk_bound(Squared(), 0.01, 3)
    )
    rng = np.random.default_rng(6)
    for alpha in (0.5, 1.0, 3.0):
        regrets, excesses, moments = [], [], []
        for _ in range(50):
            vectors, chances = distribution(rng, 3)
            if ndcg_margin(vectors, chances) == 0:  # two documents with always equal labels
                continue
            best = bayes_scores(vectors, chances)
            scores = best + 0.2 * rng.normal(size=3)
            regrets.append(regret(vectors, chances, scores))
            excesses.append(((scores - best) ** 2).sum())
            moments.append(ndcg_margin(vectors, chances) ** -alpha)
        bound = low_noise_bound(Squared(), np.mean(excesses), 3, alpha, np.mean(moments))
        assert 0 < np.mean(regrets) <= bound
    # c^2 = 4 |D|^2
    by_hand = (4 * (1 + 1 / log2(3) ** 2) * 0.01) ** (2 / 3) * 7.0 ** (1 / 3)
    assert low_noise_bound(Squared(), 0.01, 2, 1.0, 7.0) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("objective", "mass", "message"),
    [
        (Cosine(), None, "must be Squared, QNorm, KL or Bregman"),
        (ListNet(), None, "must be Squared, QNorm, KL or Bregman"),
        (Squared(norm=None), None, "not consistent"),
        (Squared(norm_at=1), None, "not consistent"),
        (QNorm(form="normalized"), None, 'form="penalized"'),
        (KL(), None, "mass must be a number > 0"),
        (Squared(), 1.0, "mass goes with KL only"),
    ],
    ids=repr,
)
def test_the_transform_refuses_other_objectives(objective, mass, message):
    with pytest.raises(ValueError, match=message):
        excess_risk_bound(objective, 0.1, 3, mass)


def test_negative_excess_is_refused():
    with pytest.raises(ValueError, match="excess_loss must be"):
        excess_risk_bound(Squared(), -0.1, 3)


# --- margin -------------------------------------------------------------------------------------


def test_margin_is_the_least_cost_of_another_order():
    rng = np.random.default_rng(7)
    for m in (2, 3, 4):
        for _ in range(10):
            vectors, chances = distribution(rng, m)
            u = bayes_scores(vectors, chances)
            values = sorted(u[list(order)] @ D[:m] for order in permutations(range(m)))
            assert ndcg_margin(vectors, chances) == pytest.approx(values[-1] - values[-2], abs=1e-9)


def test_margin_of_equally_good_documents_is_zero():
    assert ndcg_margin([[1, 0, 2], [0, 1, 2]], [0.5, 0.5]) == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(ValueError, match="at least two documents"):
        ndcg_margin([[1]], [1.0])


# --- Lipschitz constants ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective",
    [XENDCG(neumann_order=0), XENDCG(gamma=1.0, neumann_order=0), ListNet(neumann_order=0)],
    ids=repr,
)
def test_gradients_of_cross_entropies_sum_to_at_most_two(objective):
    rng = np.random.default_rng(8)
    largest = 0.0
    for m in (2, 10, 100):
        for spread in (0.1, 1.0, 30.0):
            labels = rng.integers(0, 5, m)
            grad, _ = objective.grad_hess(labels, spread * rng.normal(size=m), [m])
            largest = max(largest, float(np.abs(grad).sum()))
    assert 1.5 < largest <= lipschitz_constant(objective, 100) + 1e-5 == 2.0 + 1e-5


@pytest.mark.parametrize("sigmoid", [0.5, 1.0, 2.0])
def test_lambdas_sum_to_at_most_the_square_of_the_list(sigmoid):
    rng = np.random.default_rng(9)
    objective = LambdaMART(sigmoid=sigmoid, norm=False, truncation_level=1000)
    for m in (2, 10, 50):
        for spread in (0.1, 1.0, 30.0):
            labels = rng.integers(0, 5, m)
            labels[0] = 4
            grad, _ = objective.grad_hess(labels, spread * rng.normal(size=m), [m])
            assert np.abs(grad).sum() <= lipschitz_constant(objective, m)
        assert lipschitz_constant(objective, m) == sigmoid * m * m


def test_constants_of_other_objectives_are_refused():
    for objective in (LambdaMART(), Squared()):
        with pytest.raises(ValueError, match="objective must be XENDCG, ListNet or LambdaMART"):
            lipschitz_constant(objective, 5)


def test_generalization_probability_spelled_out():
    value = generalization_probability(2000, 0.2, lipschitz=2.0, covering_number=10)
    assert value == pytest.approx(1 - 20 * exp(-2000 * 0.04 / (2 * 4)), rel=1e-12)
    assert generalization_probability(10, 0.2, lipschitz=2.0, covering_number=10) == 0.0
    # the same error of LambdaMART on lists of 10 documents needs (100 / 2)^2 times the queries
    value_10 = generalization_probability(2000 * 2500, 0.2, lipschitz=100.0, covering_number=10)
    assert value_10 == pytest.approx(value, rel=1e-9)
    with pytest.raises(ValueError, match="covering_number must be"):
        generalization_probability(10, 0.2, lipschitz=2.0, covering_number=0.5)


def test_the_generalization_bound_as_printed_does_not_hold():
    """One ball of functions around f(x) = b, x = (b, name), b = .05 or .95; the loss is L |f - 0|.

    Of the ball of radius d = error / (4 L) = .05 take the function that is b - d on the training
    names and b + d elsewhere: its expected loss is L (1/2 - mean b + 2 d) above its training loss.
    """
    n, error, lipschitz, d = 100, 0.2, 1.0, 0.05
    rng = np.random.default_rng(0)
    b = rng.choice([0.05, 0.95], size=(200_000, n))  # names are drawn from a continuum: all differ
    gap = lipschitz * ((0.5 + d) - (b - d).mean(axis=1))
    # equivalently: at most 38 of 100 fair coins
    failure = binom.cdf(38, 100, 0.5)
    assert (gap > error + 1e-12).mean() == pytest.approx(failure, abs=1e-3)
    printed = 2 * exp(-2 * n * error**2 / lipschitz**2)
    assert printed < 0.1 * failure
    assert 1 - generalization_probability(n, error, lipschitz, covering_number=1.0) >= failure
