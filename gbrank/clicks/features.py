"""Expectation maximisation with features: relevance as a function of what is known of an item.

Items that were each seen at one position only say nothing about positions by themselves; items
alike in their features do. Given ``theta`` and ``gamma``, an impression without a click was
looked at with probability ``theta (1 - gamma) / (1 - theta gamma)`` and is relevant with
``(1 - theta) gamma / (1 - theta gamma)``; ``theta_k`` becomes the mean of the first over position
``k`` (a click counts 1), and a regressor is fitted to the means of the second over each item.

Reference: X. Wang, N. Golbandi, M. Bendersky, D. Metzler and M. Najork (2018). Position bias
estimation for unbiased learning to rank in personal search.
"""

from typing import Any

import numpy as np

from gbrank.clicks.log import ClickLog
from gbrank.core import (
    BoolArray,
    FloatArray,
    IntArray,
    as_lightgbm_input,
    check_random_state,
    count_rows_of,
    take_rows,
)

_ROUNDS = 30
_THETA_STEPS = 20
_SMALLEST = 1e-4


def fit_with_features(
    log: ClickLog,
    X: Any,
    regressor: Any,
    linked: BoolArray,
    n_bootstrap: int,
    random_state: Any,
) -> FloatArray:
    """Return propensities, and those of resamples of queries, a row each.

    Parameters
    ----------
    log, X, regressor, n_bootstrap, random_state : as in
        :func:`gbrank.clicks.estimate_propensities`.
    linked : which positions can be told; with features, all.
    """
    if X is None:
        raise ValueError("method='em_features' needs X: the features of the rows of the log")
    if count_rows_of(X) != log.n_rows:
        raise ValueError(
            f"X must have one row per row of the log: got {count_rows_of(X)} for {log.n_rows} rows"
        )
    features = as_lightgbm_input(take_rows(X, log.first_rows))
    generator = check_random_state(random_state)
    rows = [_fit(log, features, regressor, np.ones(log.n_items))]
    for _ in range(n_bootstrap):
        drawn = generator.poisson(1.0, log.n_queries).astype(np.float64)
        rows.append(_fit(log, features, regressor, drawn[log.queries_of_items]))
    return np.array(rows)


def _fit(log: ClickLog, features: Any, regressor: Any, weight: FloatArray) -> FloatArray:
    from sklearn.base import clone

    if regressor is None:
        from lightgbm import LGBMRegressor

        regressor = LGBMRegressor(
            objective="cross_entropy", n_estimators=60, num_leaves=15, n_jobs=1, verbose=-1
        )
    items, shown = log.items_of_entries, log.impressions * weight[log.items_of_entries]
    clicked = log.clicks * weight[items]
    total = np.maximum(np.bincount(items, shown, log.n_items), 1e-12)
    used = np.flatnonzero(weight > 0)
    theta = np.maximum(log.per_position(log.clicks) / log.per_position(log.impressions), _SMALLEST)
    theta = np.minimum(theta / theta[0], 1.0)
    gamma = np.clip(np.bincount(items, clicked, log.n_items) / total, _SMALLEST, 1 - _SMALLEST)
    for _ in range(_ROUNDS):
        target = _posterior(log, theta, gamma, items, shown, clicked) / total
        model = clone(regressor)
        model.fit(
            take_rows(features, used),
            np.clip(target[used], 0.0, 1.0),
            sample_weight=total[used],
        )
        gamma = np.clip(model.predict(features), _SMALLEST, 1.0 - _SMALLEST)
        before, theta = theta, _update_theta(log, theta, gamma[items], shown, clicked)
        if np.abs(theta - before).max() < 1e-4:
            break
    return theta


def _posterior(
    log: ClickLog,
    theta: FloatArray,
    gamma: FloatArray,
    items: IntArray,
    shown: FloatArray,
    clicked: FloatArray,
) -> FloatArray:
    """Return the expected number of impressions of each item in which it was relevant."""
    seen, relevant = theta[log.places], gamma[items]
    hidden = (1.0 - seen) * relevant / np.maximum(1.0 - seen * relevant, 1e-12)
    sums: FloatArray = np.bincount(items, clicked + (shown - clicked) * hidden, log.n_items)  # type: ignore[assignment]
    return sums


def _update_theta(
    log: ClickLog, theta: FloatArray, relevant: FloatArray, shown: FloatArray, clicked: FloatArray
) -> FloatArray:
    """Return propensities after several steps with relevances as they are; they cost little."""
    n_shown = np.maximum(log.per_position(shown), 1e-12)
    for _ in range(_THETA_STEPS):
        seen = theta[log.places]
        looked = seen * (1.0 - relevant) / np.maximum(1.0 - seen * relevant, 1e-12)
        theta = log.per_position(clicked + (shown - clicked) * looked) / n_shown
        theta[0] = 1.0
    return theta
