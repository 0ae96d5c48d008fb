"""Propensities from logs: harvested from items seen at several positions, or by maximum likelihood.

All of them assume the position-based model, ``P(click) = theta_k gamma_(query, item)``: a user
looks at position ``k`` with probability ``theta_k`` and then clicks what is relevant. Only ratios
can be told, so ``theta`` of the first position is 1.

With ``c_k^{kl}`` the sum of click rates at ``k`` over the items seen at ``k`` and at ``l``:

- pivot: ``theta_k = c_k^{1k} / c_1^{1k}``;
- neighbours: ``theta_{k+1} / theta_k = c_{k+1}^{k,k+1} / c_k^{k,k+1}``, multiplied up;
- all pairs: ``theta`` and a symmetric ``r`` that maximise ``sum c_k^{kl} log(theta_k r_kl) +
  (n^{kl} - c_k^{kl}) log(1 - theta_k r_kl)``, ``n^{kl}`` the number of these items;
- em: the maximum likelihood of the model itself, with a relevance for each item. With few clicks an
  item it is too low by a percent or so; that bias is found on simulated logs, and taken off;
- em_features: the same with relevance as a function of features (:mod:`gbrank.clicks.features`).

References
----------
T. Joachims, A. Swaminathan and T. Schnabel (2017). Unbiased learning-to-rank with biased feedback.
A. Agarwal, I. Zaitsev, X. Wang, C. Li, M. Najork and T. Joachims (2019). Estimating position bias
without intrusive interventions. X. Wang, N. Golbandi, M. Bendersky, D. Metzler and M. Najork
(2018). Position bias estimation for unbiased learning to rank in personal search.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from gbrank.clicks._likelihood import most_likely
from gbrank.clicks._pairs import components, count_links, pair_tables
from gbrank.clicks.features import fit_with_features
from gbrank.clicks.log import ClickLog
from gbrank.clicks.propensities import Propensities
from gbrank.core import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    check_integer,
    check_number,
    check_random_state,
)

#: Logs that are simulated to find the bias of the maximum likelihood.
_SIMULATIONS = 20
#: Propensities beyond these are those of a likelihood without a maximum.
_LEAST, _MOST = 1e-6, 1e3
#: The ways to estimate propensities.
METHODS = ("all_pairs", "pivot", "neighbours", "em", "em_features")


def estimate_propensities(
    log: ClickLog,
    method: str = "all_pairs",
    *,
    X: Any = None,
    regressor: Any = None,
    monotone: bool = False,
    unconnected: str = "raise",
    n_bootstrap: int | None = None,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> Propensities:
    """Estimate the propensity of each position of a log, the first being 1, with intervals.

    Parameters
    ----------
    log : ClickLog
        What was shown and clicked.
    method : {"all_pairs", "pivot", "neighbours", "em", "em_features"}, default="all_pairs"
        How: see :mod:`gbrank.clicks.estimators`. "pivot" uses only items that were also shown at
        the first position, "neighbours" only those shown at two positions next to each other.
    X : array or table of shape (n_rows, n_features), default=None
        Features of the rows that the log was made from; with "em_features".
    regressor : estimator, default=None
        With "em_features": a regressor of scikit-learn's kind that predicts probabilities from
        fractional targets and takes ``sample_weight``; ``None`` for LightGBM's with cross entropy.
    monotone : bool, default=False
        Whether propensities may not rise from a position to the next: those that do are averaged.
    unconnected : {"raise", "interpolate"}, default="raise"
        What to do about positions that nothing links to the first one, so that the log does not
        say what theirs is: an error, or the propensity between those around them, with a warning.
    n_bootstrap : int, default=None
        Resamples of queries that intervals are made from; 0 for no intervals. ``None`` for 200, or
        0 with "em_features", where each takes as long as the estimate.
    confidence : float, default=0.95
        Probability of the intervals, position by position.
    random_state : int, Generator or None, default=0
        Of the resamples.

    Returns
    -------
    Propensities
        With intervals.

    Examples
    --------
    >>> from gbrank.clicks import ClickLog, estimate_propensities
    >>> log = ClickLog(
    ...     ["q"] * 4, ["a", "a", "b", "b"], [1, 2, 1, 2], [40, 20, 60, 30], impressions=[100] * 4
    ... )
    >>> estimate_propensities(log, "pivot", n_bootstrap=0).values
    array([1. , 0.5])
    """
    if not isinstance(log, ClickLog):
        raise TypeError(f"log must be a ClickLog, got {type(log).__name__}")
    check_choice("method", method, METHODS)
    check_choice("monotone", monotone, (True, False))
    check_choice("unconnected", unconnected, ("raise", "interpolate"))
    check_number("confidence", confidence, low=0.0, high=1.0, low_open=True, high_open=True)
    if n_bootstrap is None:
        n_bootstrap = 0 if method == "em_features" else 200
    check_integer("n_bootstrap", n_bootstrap, low=0)
    if method != "em_features" and (X is not None or regressor is not None):
        raise ValueError(f"X and regressor are for method='em_features', not for {method!r}")
    linked = linked_positions(log, method)
    if not linked.all():
        _complain(log, linked, method, unconnected)
    _check_clicked(log, linked)
    if method == "em_features":
        estimates = fit_with_features(log, X, regressor, linked, n_bootstrap, random_state)
    else:
        generator = check_random_state(random_state)
        estimates = _ESTIMATORS[method](log, linked, None, 1)
        if n_bootstrap:
            again = _ESTIMATORS[method](log, linked, generator, n_bootstrap)
            estimates = np.concatenate((estimates, again))
        if method == "em":
            estimates = estimates / _bias(log, estimates[0], linked, generator)
    # beyond these the few items that link a position were clicked at one of the two only
    told = linked & (estimates[0] > _LEAST) & (estimates[0] < _MOST)
    estimates = np.minimum(estimates, _MOST)
    if not told[linked].all():
        _complain(log, told, method, unconnected)
        linked = told
    estimates = np.array([_interpolate(each, linked, log.positions) for each in estimates])
    if monotone:
        shown = log.per_position(log.impressions)
        estimates = np.array([_decreasing(each, shown) for each in estimates])
    lower = upper = None
    if n_bootstrap:
        tail = 50.0 * (1.0 - confidence)
        lower, upper = np.percentile(estimates[1:], [tail, 100.0 - tail], axis=0)
    return Propensities(
        log.positions,
        estimates[0],
        lower,
        upper,
        confidence=confidence,
        method=method,
        interpolated=~linked,
    )


def linked_positions(log: ClickLog, method: str = "all_pairs") -> BoolArray:
    """Return which positions a method can relate to the first one.

    Parameters
    ----------
    log : the log.
    method : as in :func:`estimate_propensities`.
    """
    _, links = count_links(log)
    if method == "pivot":
        linked: BoolArray = links[0] > 0
        linked[0] = True
        return linked
    if method == "neighbours":
        chain = np.append(True, np.diagonal(links, 1) > 0)
        unbroken: BoolArray = np.logical_and.accumulate(chain)
        return unbroken
    if method == "em_features":  # features relate all items to each other
        return np.ones(log.n_positions, dtype=bool)
    groups = components(links)
    same: BoolArray = groups == groups[0]
    return same


# --- one function a method: resamples in, a row of propensities for each out ---------------------


def _pivot(
    log: ClickLog, linked: BoolArray, generator: np.random.Generator | None, n: int
) -> FloatArray:
    rates = pair_tables(log, generator, n)[:, 0]
    estimates = _ratio(rates[:, :, 0], rates[:, 0, :])
    estimates[:, 0] = 1.0
    return estimates


def _neighbours(
    log: ClickLog, linked: BoolArray, generator: np.random.Generator | None, n: int
) -> FloatArray:
    rates = pair_tables(log, generator, n)[:, 0]
    steps = _ratio(np.diagonal(rates, -1, 1, 2), np.diagonal(rates, 1, 1, 2))
    return np.concatenate((np.ones((n, 1)), np.cumprod(steps, axis=1)), axis=1)


def _all_pairs(
    log: ClickLog, linked: BoolArray, generator: np.random.Generator | None, n: int
) -> FloatArray:
    tables = pair_tables(log, generator, n)
    first, second = np.triu_indices(log.n_positions, 1)
    places = np.stack((first, second), axis=1).ravel()
    others = np.stack((second, first), axis=1).ravel()
    bounds = np.arange(0, len(places) + 1, 2)
    weight, start = np.ones(len(first)), _start_of(log)
    tolerance = _tolerance(generator)
    estimates = np.empty((n, log.n_positions))
    for at in range(n):
        clicks = tables[at, 0, places, others]
        misses = np.maximum(tables[at, 1, places, others] - clicks, 0.0)
        estimates[at] = most_likely(
            bounds, places, clicks, misses, weight, start, _free(linked), tolerance
        )
        if at == 0:
            start = np.where(estimates[0] > 0, estimates[0], start)
    return estimates


def _em(
    log: ClickLog, linked: BoolArray, generator: np.random.Generator | None, n: int
) -> FloatArray:
    misses, start = log.impressions - log.clicks, _start_of(log)
    queries, tolerance = log.queries_of_items, _tolerance(generator)
    estimates = np.empty((n, log.n_positions))
    arrays = log.item_bounds, log.places, log.clicks, misses
    for at in range(n):
        weight = np.ones(log.n_items)
        if generator is not None:
            weight = generator.poisson(1.0, log.n_queries).astype(np.float64)[queries]
        estimates[at] = most_likely(*arrays, weight, start, _free(linked), tolerance)
        if at == 0:
            start = np.where(estimates[0] > 0, estimates[0], start)
    return estimates


def _bias(
    log: ClickLog, theta: FloatArray, linked: BoolArray, generator: np.random.Generator
) -> FloatArray:
    """Return by what factor the maximum likelihood misses, on logs drawn from what it has found.

    Relevances of items are drawn towards their mean for it, as their maximum likelihood is spread
    out too far: a Beta distribution with the mean and the variance that the clicks have beyond
    what chance gives.
    """
    items, seen = log.items_of_entries, theta[log.places]
    clicks = np.bincount(items, log.clicks, log.n_items)
    looks = np.maximum(np.bincount(items, seen * log.impressions, log.n_items), 1e-12)
    mean = clicks.sum() / looks.sum()
    chance = np.bincount(
        items, log.impressions * seen * mean * np.maximum(1.0 - seen * mean, 0.0), log.n_items
    )
    spread = ((clicks - mean * looks) ** 2 - chance).sum() / (looks**2).sum()
    prior = max(mean * (1.0 - mean) / max(spread, 1e-9) - 1.0, 0.1)
    relevance = (clicks + prior * mean) / (looks + prior)
    chances = np.minimum(seen * relevance[items], 1.0)
    shown = np.maximum(np.rint(log.impressions), 1).astype(np.int64)
    total, weight = np.zeros(len(theta)), np.ones(log.n_items)
    for _ in range(_SIMULATIONS):
        drawn = generator.binomial(shown, chances).astype(np.float64)
        arrays = log.item_bounds, log.places, drawn, shown - drawn
        total += most_likely(*arrays, weight, theta, _free(linked), tolerance=1e-4)
    factor = _ratio(total / _SIMULATIONS, theta)
    return np.where(np.isfinite(factor) & (factor > 0), factor, 1.0)


_ESTIMATORS: dict[str, Callable[..., FloatArray]] = {
    "pivot": _pivot,
    "neighbours": _neighbours,
    "all_pairs": _all_pairs,
    "em": _em,
}


# --- what they share -----------------------------------------------------------------------------


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    ratio = np.full(above.shape, np.nan)
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio


def _tolerance(generator: np.random.Generator | None) -> float:
    """Return that of the likelihood: resamples need no more digits than their spread has."""
    return 1e-8 if generator is None else 1e-3


def _free(linked: BoolArray) -> BoolArray:
    free = linked.copy()
    free[0] = False
    return free


def _start_of(log: ClickLog) -> FloatArray:
    """Return click rates relative to the first position, where there are clicks, as a start."""
    rates = log.per_position(log.clicks) / log.per_position(log.impressions)
    start: FloatArray = np.clip(rates / max(rates[0], 1e-12), 1e-6, 1.0)
    return start


def _interpolate(theta: FloatArray, linked: BoolArray, positions: IntArray) -> FloatArray:
    """Fill in what is not linked: along a line through log propensities of those around it."""
    known = linked & np.isfinite(theta)
    if known.all():
        return theta
    filled = theta.copy()
    floor = np.log(np.maximum(theta[known], 1e-12))
    filled[~known] = np.exp(np.interp(positions[~known], positions[known], floor))
    return filled


def _decreasing(theta: FloatArray, shown: FloatArray) -> FloatArray:
    falling: FloatArray = isotonic_regression(theta, sample_weight=shown, increasing=False)
    return falling / falling[0] if falling[0] > 0 else falling


def _check_clicked(log: ClickLog, linked: BoolArray) -> None:
    without = (log.per_position(log.clicks) == 0) & linked
    if without.any():
        raise ValueError(
            f"every position needs a click, but {_names(log.positions[without])} have none, so "
            "that their propensity would be 0, which no weight makes up for: leave out what was "
            "shown there"
        )


def _complain(log: ClickLog, linked: BoolArray, method: str, unconnected: str) -> None:
    """Raise an error, or warn, that the log does not say what some propensities are."""
    how = {
        "pivot": "that was also seen at the first position was clicked there",
        "neighbours": "links them, clicked at both of two neighbours, all the way to the first",
    }.get(method, "links them to the first, directly or through other positions")
    what = (
        f"method={method!r} cannot tell the propensity of positions "
        f"{_names(log.positions[~linked])}: no item {how}"
    )
    if unconnected == "interpolate":
        warnings.warn(f"{what}. Theirs is interpolated from those around them", stacklevel=3)
        return
    other = "" if method in ("all_pairs", "em") else "method='all_pairs' may, or "
    raise ValueError(
        f"{what}. {other}unconnected='interpolate' takes the propensities around them; better, "
        "show some items at several positions"
    )


def _names(positions: IntArray) -> str:
    return ", ".join(map(str, positions[:20].tolist())) + (" ..." if len(positions) > 20 else "")
