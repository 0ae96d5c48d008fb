"""The linear model of Duchi, Mackey and Jordan (2013), for ``benchmarks/preferences.py``.

Scores are <theta, x>, and the empirical risk plus lambda / 2 |theta|^2 is minimised: for squared
error by solving the normal equations, in which the labels of many draws are averaged (the risk of
the U-statistic is their mean), for logistic losses by L-BFGS. Features go through a signed
logarithm and are standardised.
"""

from typing import Any

import numpy as np
from preferences import BASES, Row, Task
from scipy.optimize import minimize
from scipy.special import expit

from gbrank import Objective, Squared, UStatistic
from gbrank.data import RankingData

DRAWS = 100
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def standardised(parts: tuple[RankingData, ...]) -> tuple[RankingData, ...]:
    """Return the parts with tamed features and a constant one; the training rows set the scale."""
    tamed = [np.sign(p.X) * np.log1p(np.abs(np.nan_to_num(p.X, nan=0.0))) for p in parts]
    centre, scale = tamed[0].mean(axis=0), tamed[0].std(axis=0)
    varies = scale > 1e-8
    return tuple(
        RankingData(
            np.column_stack(
                (np.clip((X - centre)[:, varies] / scale[varies], -10, 10), np.ones(len(X)))
            ).astype(np.float64),
            part.y,
            part.qid,
        )
        for X, part in zip(tamed, parts, strict=True)
    )


class LinearTask(Task):
    """A task whose models are linear; instead of the number of trees, lambda is chosen."""

    def __init__(self, name: str, parts: tuple[RankingData, ...], trees: Any = ()) -> None:
        super().__init__(name, standardised(parts), trees)
        self.drawn: tuple[Any, Any, Any] = (None, None, None)

    def risk(self, objective: Objective, labels: np.ndarray, seed: int, **params: float) -> Row:
        ridges = (params["lambda_l2"],) if params else RIDGES
        squared = isinstance(objective, UStatistic | Squared)
        solve = self.least_squares if squared else self.descend
        thetas = dict(zip(ridges, solve(objective, labels, ridges), strict=True))
        valid = {ridge: self.linear_risk(theta, 1) for ridge, theta in thetas.items()}
        best = min(valid, key=valid.__getitem__)
        return {"risk": round(self.linear_risk(thetas[best], 2), 6), "chosen": best}

    def linear_risk(self, theta: np.ndarray, part: int) -> float:
        rows = (self.train, self.valid, self.test)[part]
        return self.risk_of_scores(rows.X @ theta, part)

    def least_squares(
        self, objective: Objective, labels: np.ndarray, ridges: tuple[float, ...]
    ) -> list[np.ndarray]:
        X = self.train.X
        gradients, curvatures = self.at_zero(objective, labels)
        total = curvatures.sum()
        gram, force = X.T @ (X * curvatures[:, None]) / total, X.T @ gradients / total
        penalty = np.eye(X.shape[1])
        penalty[-1, -1] = 0.0  # not on the constant
        return [np.linalg.solve(gram + ridge * penalty, -force) for ridge in ridges]

    def at_zero(self, objective: Objective, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums, over draws, of gradients and hessians at scores of 0.

        The gradient there is minus the hessian times the target, and a query has one hessian:
        counted from the mean of the list, targets are what the gradients are from theirs. The draws
        therefore serve both forms of the loss, and every lambda: those of the last call are kept.
        """
        zeros, group = np.zeros(len(labels)), self.layout.sizes
        if not isinstance(objective, UStatistic):
            return objective.grad_hess(labels, zeros, group)
        seen, *others = objective.observations, objective.order, objective.method
        if self.drawn[0] is not seen or self.drawn[1] != others:
            draws = DRAWS if objective.uses_random_numbers else 1
            printed = UStatistic(
                seen, base=BASES[""], order=objective.order, method=objective.method,
                random_state=objective.random_state,
            )  # fmt: skip
            # called as LightGBM does, so that observations are bound once
            each = (printed(labels, zeros, None, group) for _ in range(draws))
            self.drawn = seen, others, np.sum([np.array(pair, float) for pair in each], axis=0)
        gradients, curvatures = self.drawn[2]
        if objective.inner.center:
            sums = np.add.reduceat(gradients, self.layout.bounds[:-1])
            gradients = gradients - np.repeat(sums / group, group)
        return gradients, curvatures

    def descend(
        self, objective: Objective, labels: np.ndarray, ridges: tuple[float, ...]
    ) -> list[np.ndarray]:
        X, n = self.train.X, len(labels)
        pair_bounds, first, second, for_first, for_second = objective.prepare(labels, self.layout)
        starts = np.repeat(self.layout.bounds[:-1], np.diff(pair_bounds))
        first, second = starts + first, starts + second
        total = for_first.sum() + for_second.sum()

        def value(theta: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
            scores = X @ theta
            margins = scores[first] - scores[second]
            loss = for_first @ np.logaddexp(0, -margins) + for_second @ np.logaddexp(0, margins)
            force = for_second * expit(margins) - for_first * expit(-margins)
            by_row = np.bincount(first, force, n) - np.bincount(second, force, n)
            return loss / total + ridge / 2 * theta @ theta, X.T @ by_row / total + ridge * theta

        thetas, theta = {}, np.zeros(X.shape[1])
        for ridge in sorted(ridges, reverse=True):
            found = minimize(
                value, theta, (ridge,), jac=True, method="L-BFGS-B", options={"maxiter": 40}
            )
            theta = found.x
            thetas[ridge] = theta
        return [thetas[ridge] for ridge in ridges]
