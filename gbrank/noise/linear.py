"""A linear model trained by plain gradient descent, as the older papers have it.

Features are put to mean 0 and variance 1 within each query. The step length is found by
backtracking (halved until the loss falls, doubled after it did), so there is nothing to tune and
losses of different scale are treated alike.
"""

from typing import Any

import numpy as np

from gbrank.metrics import ndcg_score
from gbrank.noise.contestants import ObjectiveName
from gbrank.noise.floors import zscore_within
from gbrank.noise.learners import Fit
from gbrank.noise.sources import Lists


def fit_linear(
    objective: ObjectiveName,
    train: Lists,
    valid: Lists,
    test: Lists,
    settings: dict[str, Any],
    seed: int,
) -> Fit:
    """Descend ``steps`` times from weights 0; return the test scores."""
    loss = objective.make(seed).plain_gradient()
    features, judged, watched = (zscore_within(p.X, p.query) for p in (train, test, valid))
    sizes = train.group
    weights, step, curve = np.zeros(features.shape[1]), 1.0, []
    for iteration in range(settings["steps"]):
        scores = features @ weights
        gradient, _ = loss.grad_hess(train.y, scores, sizes, iteration=iteration)
        slope = features.T @ gradient.astype(np.float64) / len(sizes)
        before = loss.loss(train.y, scores, sizes, iteration=iteration).mean()
        for _ in range(40):
            moved = weights - step * slope
            after = loss.loss(train.y, features @ moved, sizes, iteration=iteration).mean()
            if after <= before - 1e-4 * step * (slope @ slope):
                weights, step = moved, 2.0 * step
                break
            step /= 2.0
        quality = ndcg_score(valid.y, watched @ weights, qid=valid.qid, k=5, n_jobs=1)
        curve.append(float(quality))
    return Fit(judged @ weights, settings["steps"], tuple(curve))
