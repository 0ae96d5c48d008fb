"""Composite stochastic gradient against all collections of k observations, written out."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from gbrank import KL, Squared
from gbrank.preferences import Comparisons, aggregate
from gbrank.theory import composite_gradient

QID = np.array([1, 0, 1, 0, 0, 1, 0])  # rows of a query anywhere
X = np.random.default_rng(5).normal(size=(7, 2))
WINNER = [1, 3, 4, 4, 6, 0, 2, 0]  # five comparisons of query 0, three of query 1
LOSER = [3, 1, 1, 6, 3, 2, 5, 5]
MEAN = Squared(reduction="mean")


def seen():
    return Comparisons(None, WINNER, LOSER)


def gains(rows, pairs):
    """Return G / Z of the labels that pairs aggregate to: mean log-odds from the lowest.

    None where all are equal, as of two pairs that contradict each other: such a query is left out.
    """
    m = len(rows)
    wins = np.zeros((m, m))
    for winner, loser in pairs:
        wins[rows.index(winner), rows.index(loser)] += 1
    scores = np.log((wins + 0.5) / (wins.T + 0.5)).sum(axis=1) / (m - 1)
    if np.ptp(scores) < 1e-9:
        return None
    gain = 2.0 ** (scores - scores.min()) - 1
    return gain / (np.sort(gain)[::-1] / np.log2(np.arange(2, m + 2))).sum()


def terms(k):
    """Return probability, features and target of every term of the risk."""
    found = []
    for query in (0, 1):
        rows = np.flatnonzero(np.equal(QID, query)).tolist()
        pairs = [pair for pair in zip(WINNER, LOSER, strict=True) if pair[0] in rows]
        chosen = list(combinations(pairs, min(k, len(pairs))))
        chance = len(pairs) / len(WINNER) / len(chosen)
        targets = [gains(rows, each) for each in chosen]
        found += [(chance, X[rows], target) for target in targets if target is not None]
    return found


def normal_equations(k):
    """Return A and b: the gradient of the risk is ``A theta - b``."""
    A = sum(p * rows.T @ rows / len(rows) for p, rows, _ in terms(k))
    return A, sum(p * rows.T @ target / len(rows) for p, rows, target in terms(k))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_gradients_are_those_of_the_risk_in_the_mean(k):
    steps, tiny = 20_000, 1e-9  # so that theta stays at 0
    found = composite_gradient(
        X, seen(), qid=QID, base=MEAN, order=k, steps=steps, step_size=tiny, decay=0.0
    )
    each = np.array([rows.T @ target / len(rows) for _, rows, target in terms(k)])
    chances = np.array([p for p, _, _ in terms(k)])
    assert 0.9 < chances.sum() <= 1 + 1e-12  # the rest is left out
    mean = chances @ each
    error = np.sqrt((chances @ (each - mean) ** 2) / steps)
    assert np.all(np.abs(found.theta / tiny / steps - mean) < 4 * error + 1e-6)
    assert np.linalg.norm(mean) > 20 * np.linalg.norm(error)
    # losses there are |u|^2 / 2m
    expected = sum(p * target @ target / (2 * len(target)) for p, _, target in terms(k))
    assert found.losses.mean() == pytest.approx(expected, rel=0.02)


def test_the_risk_nears_its_minimum():
    k, ridge, steps = 2, 0.1, (200, 2000, 20_000)
    A, b = normal_equations(k)
    best = np.linalg.solve(A + ridge * np.eye(2), b)

    def gap(theta):
        return (theta - best) @ (A + ridge * np.eye(2)) @ (theta - best) / 2

    gaps = []
    for seed in range(5):
        found = composite_gradient(
            X, seen(), qid=QID, base=MEAN, order=k, ridge=ridge, steps=steps[-1], step_size=4.0,
            decay=1.0, keep=steps, random_state=seed,
        )  # fmt: skip
        assert found.kept == steps
        np.testing.assert_array_equal(found.path[-1], found.theta)
        np.testing.assert_array_equal(found.mean_path[-1], found.mean)
        gaps.append([gap(theta) for theta in found.mean_path])
    early, middle, late = np.mean(gaps, axis=0)
    assert late < 0.2 * middle < 0.2**2 * early  # 1 / t is a tenth each
    assert late < 1e-3 * gap(np.zeros(2))


@pytest.mark.parametrize("base", [MEAN, KL()])
def test_each_step_solves_equation_25(base):
    """With all observations of one query nothing is drawn: every step can be checked."""
    rows, group = np.flatnonzero(QID == 0), [4]
    winner, loser = [0, 1, 2, 2, 3], [1, 2, 1, 3, 1]
    pairs = Comparisons(None, winner, loser)
    ridge, c = 0.7, 0.4
    found = composite_gradient(
        X[rows], pairs, qid=[0] * 4, base=base, ridge=ridge, steps=3, step_size=c, keep=(1, 2, 3)
    )
    target = gains([0, 1, 2, 3], list(zip(winner, loser, strict=True)))
    labels = aggregate(pairs, qid=[0] * 4)
    labels -= labels.min()
    theta = np.zeros(2)
    for step in range(3):
        if isinstance(base, Squared):
            slope = X[rows].T @ (X[rows] @ theta - target) / 4
        else:
            slope = X[rows].T @ base.grad_hess(labels, X[rows] @ theta, group)[0].astype(float)
        eta, before = c / np.sqrt(step + 1), theta

        def surrogate(new, slope=slope, eta=eta, before=before):
            return new @ slope + ridge / 2 * new @ new + (new - before) @ (new - before) / (2 * eta)

        theta = minimize(surrogate, np.zeros(2), options={"gtol": 1e-10}).x
        np.testing.assert_allclose(found.path[step], theta, atol=2e-6)
        np.testing.assert_allclose(
            found.mean_path[step], np.mean([[0.0, 0.0], *found.path[:step]], axis=0), atol=1e-12
        )


def test_seeds():
    options = {"qid": QID, "base": MEAN, "order": 1, "steps": 1500}
    first = composite_gradient(X, seen(), **options)
    np.testing.assert_array_equal(first.theta, composite_gradient(X, seen(), **options).theta)
    assert np.any(first.theta != composite_gradient(X, seen(), random_state=1, **options).theta)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": X[:3]}, r"X must have two dimensions and a row for each of the 7 .*\(3, 2\)"),
        (
            {"X": np.where(np.arange(7)[:, None] == 2, np.nan, X)},
            "X must be finite, but row 2 is not",
        ),
        ({"base": "lambdamart"}, "has no loss"),
        ({"order": 0}, "order must be an integer >= 1 or None, got 0"),
        ({"steps": 0}, "steps must be an integer >= 1, got 0"),
        ({"step_size": 0}, "step_size must be a number > 0, got 0"),
        ({"decay": 2}, r"decay must be a number in \[0, 1\], got 2"),
        ({"ridge": -1.0}, "ridge must be a number >= 0, got -1.0"),
        ({"keep": [0, 5]}, r"keep must be numbers of steps from 1 to 10000, got \(0, 5\)"),
        ({"method": "mean"}, "method must be"),
        ({"observations": Comparisons(None, [], [])}, "some of positive weight, got none"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    arguments = {"X": X, "observations": seen(), "qid": QID, **changes}
    with pytest.raises(ValueError, match=message):
        composite_gradient(arguments.pop("X"), arguments.pop("observations"), **arguments)
