"""What a swap changes in a metric, against the metric of the list before and after the swap.

The metrics are written here once more, as plainly as they can be.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from gbrank import LambdaMART, YetiLoss
from gbrank.core import QueryLayout, kernel
from gbrank.objectives._noisy_orders import orders_of_query
from gbrank.objectives._swap_weights import (
    FORMS,
    bind_swaps,
    metric_to_optimise,
    next_above,
    row_of_changes,
    swap_changes,
)

N_LISTS = 10_000
CUTOFFS = (None, 1, 2, 3, 5, 9, 12)
MAX_GRADE = 4


@kernel()
def matrix_of_changes(form, worth, discounts, changes):
    """Write the changes of all pairs of a list in the order of places above the diagonal."""
    m = len(worth)
    above = 1.0
    for place in range(m):
        row_of_changes(form, above, place, worth, discounts, changes[place, place + 1 : m])
        above = next_above(form, above, worth[place])


def gain_at(labels, rank):
    return (2.0 ** labels[rank - 1] - 1.0) / math.log2(1 + rank)


def dcg(labels, k):
    return sum(gain_at(labels, rank) for rank in range(1, k + 1))


def ndcg(labels, k):
    best = dcg(sorted(labels, reverse=True), k)
    return dcg(labels, k) / best if best else 0.0


def average_precision(labels, k):
    found, total = 0, 0.0
    for rank in range(1, k + 1):
        if labels[rank - 1] > 0:
            found += 1
            total += found / rank
    n_relevant = sum(label > 0 for label in labels)
    return total / n_relevant if n_relevant else 0.0


def reciprocal_rank(labels, k):
    return next((1 / rank for rank in range(1, k + 1) if labels[rank - 1] > 0), 0.0)


def err(labels, k):
    reading, total = 1.0, 0.0
    for rank in range(1, k + 1):
        stop = (2.0 ** labels[rank - 1] - 1.0) / 2.0**MAX_GRADE
        total += reading * stop / rank
        reading *= 1.0 - stop
    return total


def recall(labels, k):
    n_relevant = sum(label > 0 for label in labels)
    return sum(label > 0 for label in labels[:k]) / n_relevant if n_relevant else 0.0


METRICS = {
    "dcg": dcg,
    "ndcg": ndcg,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "err": err,
    "recall": recall,
}


def value_of(name, labels, top):
    """Return a metric of labels in the order of ranks."""
    if name == "precision":
        return sum(label > 0 for label in labels[:top]) / top
    return METRICS[name](labels, len(labels) if top is None else min(top, len(labels)))


def cases(name):
    return [top for top in CUTOFFS if top is not None or name not in ("precision", "recall")]


@pytest.mark.parametrize("name", sorted(FORMS))
def test_change_is_metric_before_less_metric_after(name):
    rng = np.random.default_rng(len(name))
    cutoffs = cases(name)
    worst = 0.0
    for number in range(N_LISTS):
        m = int(rng.integers(2, 10))
        labels = rng.integers(0, rng.integers(1, MAX_GRADE + 1) + 1, size=m).astype(float)
        top = cutoffs[number % len(cutoffs)]
        metric = metric_to_optimise(name, top, "exp", 0.0, MAX_GRADE)
        swaps = bind_swaps(metric, labels, QueryLayout.from_group([m]))
        changes = np.zeros((m, m))
        matrix_of_changes(swaps.form, swaps.worth, swaps.discounts, changes)
        in_order = labels.tolist()
        before = value_of(name, in_order, top)
        for p, q in itertools.combinations(range(m), 2):
            swapped = in_order.copy()
            swapped[p], swapped[q] = in_order[q], in_order[p]
            expected = abs(before - value_of(name, swapped, top))
            gap = abs(swaps.worth[p] - swaps.worth[q]) * swaps.units[0]
            plain = swap_changes(swaps.form, swaps.worth, swaps.discounts, q - p)[p]
            worst = max(worst, abs(gap * changes[p, q] - expected), abs(gap * plain - expected))
    assert worst < 1e-12


@pytest.mark.parametrize("name", ["ndcg@5", "ndcg", "dcg", "map", "map@4", "mrr", "err@6", "err",
                                  "precision@3", "recall@4"])  # fmt: skip
def test_gradients_are_those_of_the_weighted_pairs(name):
    """Both losses at the clean order, all pairs, against sums over brute-force weights."""
    rng = np.random.default_rng(1)
    base, _, k = name.partition("@")
    top = int(k) if k else None
    sizes = [2, 3, 9, 17, 40, 70]
    yeti = YetiLoss(name, scale=0.0, neighbors=None, max_grade=MAX_GRADE)
    plain = {"norm": False, "truncation_level": 100, "max_grade": MAX_GRADE}
    lambdamart = LambdaMART(metric=name, **plain)
    for m in sizes:
        labels = rng.integers(0, 5, m).astype(float)
        labels[0], labels[-1] = 0.0, 2.0
        scores = rng.normal(size=m)
        order = np.argsort(-scores)
        ranked = labels[order].tolist()
        before = value_of(base, ranked, top)
        gradient, hessian = np.zeros(m), np.zeros(m)
        for p, q in itertools.combinations(range(m), 2):
            swapped = ranked.copy()
            swapped[p], swapped[q] = ranked[q], ranked[p]
            weight = abs(before - value_of(base, swapped, top))
            better, worse = (p, q) if ranked[p] > ranked[q] else (q, p)
            i, j = order[better], order[worse]
            wrong = 1.0 / (1.0 + math.exp(scores[i] - scores[j]))
            gradient[i] -= weight * wrong
            gradient[j] += weight * wrong
            hessian[[i, j]] += weight * wrong * (1.0 - wrong)
        # LambdaMART reads the logistic function at the edges of bins of 5e-5
        for objective, tolerance in ((yeti, 2e-6), (lambdamart, 5e-5)):
            if objective is lambdamart and name == "ndcg":
                continue  # LightGBM's: its own oracle has it
            grad, hess = objective.grad_hess(labels, scores, [m])
            scale = np.abs(gradient).max() + 1e-3
            np.testing.assert_allclose(grad, gradient, rtol=0, atol=tolerance * scale)
            np.testing.assert_allclose(hess, hessian, rtol=0, atol=tolerance * scale)


def mean_weights(objective, labels, scores, n_draws):
    """Return the mean weight of each pair of neighbours and its standard error, from the orders."""
    m = len(labels)
    metric = objective.optimised()
    swaps = bind_swaps(metric, labels, QueryLayout.from_group([m]))
    kind = {"gumbel": 0, "logistic": 1, "normal": 2}[objective.noise]
    orders = np.empty((n_draws, m), dtype=np.int64)
    orders_of_query(scores, kind, float(objective.scale), 5, 0, 0, orders)
    drawn = np.zeros((n_draws, m, m))
    rows = np.arange(n_draws)
    for p in range(m - 1):
        a, b = orders[:, p], orders[:, p + 1]
        change = np.array(
            [swap_changes(swaps.form, swaps.worth[o], swaps.discounts, 1)[p] for o in orders]
        )
        weight = change * np.abs(swaps.worth[a] - swaps.worth[b]) * swaps.units[0]
        drawn[rows, np.minimum(a, b), np.maximum(a, b)] = weight
    return drawn.mean(axis=0), drawn.std(axis=0) / math.sqrt(n_draws)


def expected_weights(name, labels, chances):
    """Return the exact mean weights: of every order, its chance times the changes in it."""
    m = len(labels)
    base, _, k = name.partition("@")
    top = int(k) if k else None
    weights = np.zeros((m, m))
    for order, chance in chances.items():
        ranked = [labels[i] for i in order]
        before = value_of(base, ranked, top)
        for p in range(m - 1):
            if top is not None and p + 1 > top:
                continue
            swapped = ranked.copy()
            swapped[p], swapped[p + 1] = ranked[p + 1], ranked[p]
            i, j = sorted((order[p], order[p + 1]))
            weights[i, j] += chance * abs(before - value_of(base, swapped, top))
    return weights


def plackett_luce(scores):
    chances = {}
    for order in itertools.permutations(range(len(scores))):
        x = np.exp(scores[list(order)])
        chances[order] = float(np.prod(x / np.cumsum(x[::-1])[::-1]))
    return chances


def logistic_orders(scores, scale):
    """Return the chance of every order under logistic noise: nested integrals on a fine grid.

    F_k(t) is the chance that the last k of the order are in order and the highest of them below t.
    In ``u = F(t)`` with F the standard logistic function everything is smooth.
    """
    t = np.linspace(-40.0, 40.0, 40_001) * scale
    chances = {}
    for order in itertools.permutations(range(len(scores))):
        below = np.ones(len(t))
        for i in reversed(order):
            z = (t - scores[i]) / scale
            density = np.exp(-np.abs(z)) / (1.0 + np.exp(-np.abs(z))) ** 2 / scale
            below = integrate.cumulative_simpson(density * below, x=t, initial=0.0)
        chances[order] = float(below[-1])
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-9)
    return chances


@pytest.mark.parametrize("name", ["ndcg", "map", "mrr@2", "err"])
@pytest.mark.parametrize("noise", ["gumbel", "logistic"])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_mean_weights_are_the_exact_expectation(name, noise, m):
    labels = np.array([1.0, 4.0, 0.0, 2.0])[-m:]
    scores = np.array([0.8, 0.1, -0.5, -0.2])[-m:]
    objective = YetiLoss(name, noise=noise, max_grade=MAX_GRADE)
    chances = plackett_luce(scores) if noise == "gumbel" else logistic_orders(scores, 1.0)
    expected = expected_weights(name, labels.tolist(), chances)
    mean, error = mean_weights(objective, labels, scores, 4_000)
    assert (np.abs(mean - expected) <= 4.5 * error + 1e-12).all()
    assert expected.max() > 0


@pytest.mark.parametrize(("scale", "far"), [(0.5, 0.0), (2.0, 0.0), (1.0, 500.0)])
def test_orders_have_their_chances(scale, far):
    """Also with another scale, and in lists whose scores lie too far apart for the quick way."""
    scores = np.array([0.3, 0.0, -0.4])
    chances = logistic_orders(scores, scale)
    drawn_from = np.append(scores, -far) if far else scores
    n = 20_000
    orders = np.empty((n, len(drawn_from)), dtype=np.int64)
    orders_of_query(drawn_from, 1, scale, 3, 0, 0, orders)
    assert (np.sort(orders, axis=1) == np.arange(len(drawn_from))).all()
    for order, chance in chances.items():
        share = (orders[:, :3] == order).all(axis=1).mean()
        assert abs(share - chance) < 4.5 * math.sqrt(chance * (1 - chance) / n)


@pytest.mark.parametrize("m", [1, 7, 8, 9, 31, 64, 100, 129, 1000, 4096, 5000])
def test_long_lists_are_put_in_order(m):
    """With little noise the order is that of the scores: the network sorts lists of any length."""
    scores = np.random.default_rng(m).permutation(m) * (40.0 / m)
    orders = np.empty((20, m), dtype=np.int64)
    orders_of_query(scores, 1, 0.35, 0, 7, 3, orders)
    assert (np.sort(orders, axis=1) == np.arange(m)).all()
    assert len(np.unique(orders, axis=0)) == (20 if m > 30 else 1)
    moved = np.abs(scores[orders] - np.sort(scores)[::-1]).max()
    assert moved < 0.35 * 2 * 22  # logistic noise of this generator is at most 22 in size
    clean = np.empty((2, m), dtype=np.int64)
    orders_of_query(scores, 1, 0.0, 0, 7, 3, clean)
    assert (clean == np.argsort(-scores)).all()
