r"""Composite stochastic gradient: a linear model on the U-statistic of aggregated preferences.

The risk of a linear model, ``f = X theta``, on the aggregates of all collections of k observations
of each query is a sum of more terms than can be written down::

    R(theta) = sum_q n_q / n  mean over collections of  phi(X_q theta, s(Y_1, ..., Y_k))
               + lambda / 2 |theta|^2

A step draws a query with probability n_q / n and k of its observations, takes the gradient g of
that one term, and moves to the theta that minimises

    <theta, g> + lambda / 2 |theta|^2 + |theta - theta_t|^2 / (2 eta_t),

which is ``(theta_t - eta_t g) / (1 + eta_t lambda)``. Its cost does not depend on n. With steps
``eta_t`` that fall as 1 / t and lambda > 0 the risk of the mean of all theta nears its minimum as
1 / t (up to a logarithm), with 1 / sqrt(t) as 1 / sqrt(t).

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
section 6.1, equations 24 and 25.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import FloatArray, QueryLayout, check_integer, check_number, check_seed
from gbrank.objectives import DrawnLabels, Objective, observed_totals
from gbrank.preferences import BoundObservations, Observations, get_method
from gbrank.theory.consistency import with_loss

_BATCH = 1000  # steps whose labels are drawn and aggregated at once


@dataclass(frozen=True)
class CompositeGradient:
    """What :func:`composite_gradient` came to.

    Attributes
    ----------
    theta : the last theta.
    mean : the mean of the thetas of all steps, which the guarantees are about.
    losses : the loss of each step's query, before its step and without the penalty.
    kept : after which steps the following are.
    path, mean_path : theta and the mean so far, a row for each number in ``kept``.
    """

    theta: FloatArray
    mean: FloatArray
    losses: FloatArray
    kept: tuple[int, ...]
    path: FloatArray
    mean_path: FloatArray


def composite_gradient(
    X: ArrayLike,
    observations: Observations,
    *,
    qid: ArrayLike,
    base: str | Objective = "squared",
    order: int | None = None,
    method: str = "log_odds",
    ridge: float = 0.0,
    steps: int = 10_000,
    step_size: float = 0.1,
    decay: float = 0.5,
    keep: Iterable[int] = (),
    random_state: int = 0,
) -> CompositeGradient:
    """Fit a linear model to aggregated preferences by composite stochastic gradient.

    The reference algorithm of the paper, for comparison: :class:`gbrank.UStatistic` takes the
    gradients of all queries at once.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Features, without missing values.
    observations : Comparisons, Selections or PartialOrders
        What was preferred, by rows of X.
    qid : array-like of length n_rows
        Query id of each row.
    base : str or Objective, default="squared"
        The loss on aggregates; the paper has ``Squared(reduction="mean")``.
    order : int >= 1, default=None
        How many observations are drawn; a query with fewer, and ``None``, takes all.
    method : str, default="log_odds"
        How observations become scores: a name of :data:`gbrank.preferences.METHODS`.
    ridge : float >= 0, default=0.0
        The penalty's lambda.
    steps : int, default=10000
        Number of steps.
    step_size : float > 0, default=0.1
        The first eta.
    decay : float between 0 and 1, default=0.5
        The t-th eta is ``step_size / t^decay``.
    keep : numbers of steps, default=()
        After which theta and its mean are kept, from 1 to ``steps``.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    CompositeGradient

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
    equation 25.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons
    >>> from gbrank.theory import composite_gradient
    >>> X = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    >>> seen = Comparisons(None, winner=[0, 0, 0, 2], loser=[1, 1, 1, 3])
    >>> found = composite_gradient(X, seen, qid=["a", "a", "b", "b"], steps=3000)
    >>> found.theta.round(2)  # the better document of each pair has gain G / Z = 1
    array([1., 1.])
    """
    loss = with_loss(base).plain_gradient()
    check_integer("steps", steps, low=1)
    check_number("ridge", ridge, low=0.0)
    check_number("step_size", step_size, low=0.0, low_open=True)
    check_number("decay", decay, low=0.0, high=1.0)
    check_seed(random_state)
    if order is not None:
        check_integer("order", order, low=1, also="None")
    kept = tuple(sorted({int(step) for step in keep}))
    if kept and not 1 <= kept[0] <= kept[-1] <= steps:
        raise ValueError(f"keep must be numbers of steps from 1 to {steps}, got {kept}")
    layout = QueryLayout.from_qid(qid)
    features = layout.sort(_features(X, layout.n_rows))
    bound = observations.bind(layout)

    theta = np.zeros(features.shape[1])
    total, losses, path, mean_path = np.zeros_like(theta), [], [], []
    step = 0
    for queries, labels, drawn in _batches(bound, order, method, int(steps), random_state):
        training = loss.bind(labels, drawn.sizes, iteration=step, n_jobs=1)
        scores = np.zeros(drawn.n_rows)
        grad, hess = np.zeros((2, drawn.n_rows), dtype=np.float32)
        for copy, query in enumerate(queries):
            step += 1
            rows = features[layout.bounds[query] : layout.bounds[query + 1]]
            own = slice(drawn.bounds[copy], drawn.bounds[copy + 1])
            scores[own] = rows @ theta
            training.write_query(copy, scores, grad, hess)
            slope = grad[own].astype(np.float64) @ rows
            total += theta
            eta = step_size / step**decay
            theta = (theta - eta * slope) / (1.0 + eta * ridge)
            if step in kept:
                path.append(theta)
                mean_path.append(total / step)
        losses.append(loss.loss(labels, scores, drawn.sizes))
    shape = (len(kept), len(theta))
    return CompositeGradient(
        theta,
        total / step,
        np.concatenate(losses),
        kept,
        np.reshape(path, shape),
        np.reshape(mean_path, shape),
    )


def _batches(
    bound: BoundObservations, order: int | None, method: str, steps: int, seed: int
) -> Iterator[tuple[Any, FloatArray, QueryLayout]]:
    """Yield drawn queries, the labels of their rows, and the layout of these."""
    totals = observed_totals(bound)
    if not totals.sum() > 0:
        raise ValueError("observations must have some of positive weight, got none")
    chances = totals / totals.sum()
    rng, method_of = np.random.default_rng(seed), get_method(method)
    for first in range(0, steps, _BATCH):
        # copies of the drawn queries, each of which has draws of its own
        queries = rng.choice(len(chances), min(_BATCH, steps - first), p=chances)
        copies = bound.take(queries)
        own_seed = int(rng.integers(2**31))
        drawn = DrawnLabels(copies, method_of, method_of.read_parameters(), order, own_seed)
        yield queries, drawn.run(0, len(queries), 0), copies.layout


def _features(X: ArrayLike, n_rows: int) -> FloatArray:
    features = np.asarray(X, dtype=np.float64)
    if features.ndim != 2 or len(features) != n_rows:
        raise ValueError(
            f"X must have two dimensions and a row for each of the {n_rows} entries of qid, got "
            f"shape {features.shape}"
        )
    if not np.isfinite(features).all():
        row = int(np.argmax(~np.isfinite(features).all(axis=1)))
        raise ValueError(f"X must be finite, but row {row} is not")
    return features
