"""Estimates that others published: Bradley-Terry, Plackett-Luce and conditional logit."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from gbrank import ListMLE
from gbrank.preferences import Comparisons, bradley_terry

FOLDER = Path(os.environ.get("GBRANK_DATA", "no such folder")) / "preferences"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="GBRANK_DATA must name a folder with preferences/"
)


def load(name):
    return np.load(FOLDER / f"{name}.npz", allow_pickle=False)


def worth(wins):
    """Return the Bradley-Terry scores of a matrix of wins, the first document being 0."""
    winner, loser = np.nonzero(wins)
    seen = Comparisons(None, winner, loser, weight=wins[winner, loser])
    scores = bradley_terry(seen, qid=[0] * len(wins), penalty=1e-9)
    return scores - scores[0]


class TestBradleyTerry:
    def test_baseball(self):
        """Agresti, Categorical data analysis, 2002, p. 438; Turner, Firth, BradleyTerry2, 2012."""
        data = load("paired_comparisons")
        wins = np.zeros((7, 7))
        np.add.at(wins, (data["baseball_home"], data["baseball_away"]), data["baseball_home_wins"])
        np.add.at(wins, (data["baseball_away"], data["baseball_home"]), data["baseball_away_wins"])
        published = {
            "Baltimore": 0.0,
            "Boston": 1.1077,
            "Cleveland": 0.6839,
            "Detroit": 1.4364,
            "Milwaukee": 1.5814,
            "New York": 1.2476,
        }
        found = dict(zip(data["baseball_teams"].tolist(), worth(wins).round(4), strict=True))
        assert {team: found[team] for team in published} == published

    def test_citations(self):
        """Stigler, Citation patterns in the journals of statistics, 1994: rows cited by columns."""
        data = load("paired_comparisons")
        wins = data["citations"].astype(float)
        np.fill_diagonal(wins, 0.0)
        expected = [0.0, -2.9491, -0.4796, 0.2690]
        assert worth(wins).round(4).tolist() == expected


class TestPlackettLuce:
    """NASCAR 2002: Hunter, MM algorithms for generalized Bradley-Terry models, 2004, table 2."""

    def races(self):
        """Return who came in, first to last, of each race; four who were always last are out."""
        data = load("nascar2002")
        orders = data["orders"].astype(int) - 1  # drivers count from 1
        return [order[order < 83] for order in orders], data["drivers"].tolist()

    def likelihood(self, entrants):
        drivers = np.concatenate(entrants)
        group = [len(order) for order in entrants]
        labels = np.concatenate([np.arange(m, 0, -1) for m in group])
        objective = ListMLE()

        def minus_log(scores):
            of_rows = scores[drivers]
            grad, _ = objective.grad_hess(labels, of_rows, group)
            slopes = np.bincount(drivers, grad.astype(float), minlength=83)
            return objective.loss(labels, of_rows, group).sum(), slopes

        return minus_log

    def test_maximum_likelihood(self):
        entrants, names = self.races()
        options = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-6, "maxcor": 50}
        found = minimize(
            self.likelihood(entrants), np.zeros(83), jac=True, method="L-BFGS-B", options=options
        )
        assert round(-found.fun, 4) == -4191.0973
        scores = dict(zip(names, (found.x - found.x[0]).round(2), strict=False))
        published = {
            "PJ Jones": 4.15,
            "Scott Pruett": 3.62,
            "Mark Martin": 2.08,
            "Dave Marcis": 0.03,
            "Dick Trickle": -0.31,
            "Joe Varde": -0.15,
        }
        assert {name: scores[name] for name in published} == published


def conditional_logit(X, y, group):
    """Fit a linear model on the top-1 likelihood: its gradient is the chances less the choice."""
    objective, theta = ListMLE(k=1), np.zeros(X.shape[1])
    bounds = np.concatenate(([0], np.cumsum(group)))[:-1]
    for _ in range(20):
        residual = objective.grad_hess(y, X @ theta, group)[0].astype(float)
        chances = residual + y
        mean = np.add.reduceat(chances[:, None] * X, bounds)
        hessian = (X * chances[:, None]).T @ X - mean.T @ mean
        theta = theta - np.linalg.solve(hessian, X.T @ residual)
    return theta, -objective.loss(y, X @ theta, group).sum()


def test_travel_mode():
    """Greene, Econometric analysis, 2003, table 21.11: intercepts, cost, waiting time, income."""
    data = load("choice_travelmode")
    column = dict(zip(data["feature_names"].tolist(), data["X"].T.astype(float), strict=True))
    X = np.column_stack(
        [column[name] for name in ("is_air", "is_train", "is_bus", "gcost", "wait")]
        + [column["is_air"] * column["income"]]
    )
    y, group = data["y"].astype(float), [4] * 210
    theta, likelihood = conditional_logit(X, y, group)
    published = np.array([5.207433, 3.869036, 3.163190, -0.015501, -0.096125, 0.013287])
    # the published digits are those of an optimiser that stopped 1e-5 before the maximum
    np.testing.assert_allclose(theta, published, rtol=0, atol=1.1e-5)
    assert likelihood > -ListMLE(k=1).loss(y, X @ published, group).sum()
    assert round(likelihood, 2) == -199.13


def test_mode_canada():
    """Croissant, mlogit, Journal of Statistical Software 2020: car, train and air.

    Cost and frequency count alike for all, income and time (in the vehicle and outside) do not.
    """
    data = load("choice_modecanada")
    column = dict(zip(data["feature_names"].tolist(), data["X"].T.astype(float), strict=True))
    y, qid = data["y"].astype(float), data["qid"]
    by_bus = np.isin(qid, qid[(column["is_bus"] == 1) & (y == 1)])
    kept = (column["is_bus"] == 0) & ~by_bus
    train, air = column["is_train"], column["is_air"]
    time = column["ivt"] + column["ovt"]
    cost = column["cost"].round(2)  # which single precision does not hold exactly
    X = np.column_stack(
        [train, air, cost, column["freq"], train * column["income"], air * column["income"]]
        + [which * time for which in (1.0 - train - air, train, air)]
    )[kept]
    theta, likelihood = conditional_logit(X, y[kept], [3] * (kept.sum() // 3))
    published = [-0.97034440, -1.89856552, -0.02849715, 0.07402902, -0.00646892]
    published += [0.02824632, -0.01402405, -0.01096877, -0.01755120]
    np.testing.assert_allclose(theta[2:], published[2:], rtol=0, atol=6e-9)  # all digits
    np.testing.assert_allclose(theta[:2], published[:2], rtol=0, atol=6e-8)  # all but the last one
    assert round(likelihood, 1) == -1951.3
