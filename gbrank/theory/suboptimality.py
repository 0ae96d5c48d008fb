"""How much of a loss is left to gain while the order is still wrong: the function H(epsilon).

For a loss and a measure of quality, H(epsilon) is the least excess of the expected loss over its
minimum among scores whose expected quality falls short of the best by at least epsilon. It is
positive for every epsilon > 0 exactly where minimising the loss leads to the best quality; an
excess loss below H(epsilon) then means a shortfall below epsilon.

Scores of one order form a cone, on which quality is constant and the loss, being convex, has a
minimum that is easily found: all m! orders are tried.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
equations 8 and 9, propositions 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from gbrank.core import (
    FloatArray,
    check_choice,
    check_integer,
    check_number,
    compute_discounts,
)
from gbrank.objectives import Objective
from gbrank.theory.consistency import bayes_scores, check_distribution, plain_gradients, with_loss
from gbrank.theory.preferences import PHI, check_matrix, difference_graph

_LARGEST_M = 5  # 120 orders
_EQUAL = 1e-12

#: A function from scores to an expected loss and its gradient.
Risk = Callable[[FloatArray], tuple[float, FloatArray]]


def ndcg_suboptimality(
    objective: str | Objective,
    epsilon: float,
    label_vectors: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    steps: int = 20,
) -> float:
    """Return H(epsilon) of an objective for expected NDCG.

    Parameters
    ----------
    objective : Objective or str
        An objective with a convex loss that draws no random numbers, or the name of one.
    epsilon : float > 0
        By how much expected NDCG falls short.
    label_vectors : array-like of shape (vectors, m)
        Labels >= 0 of at most 5 documents.
    probabilities : array-like, default=None
        One probability per vector (equation 9); None for the least H of all distributions over the
        vectors (equation 8), of which those are tried whose probabilities are multiples of
        ``1 / steps``.
    steps : int, default=20
        See ``probabilities``.

    Returns
    -------
    float
        H(epsilon); infinite if no order falls short that much.

    Examples
    --------
    Two documents, one of which is relevant. Squared error is ``|s - E u|^2`` up to a constant, and
    a wrong order comes nearest with equal scores: ``(E u_0 - E u_1)^2 / 2``.

    >>> from gbrank import Squared
    >>> from gbrank.theory import ndcg_suboptimality
    >>> round(ndcg_suboptimality(Squared(), 0.05, [[1, 0], [0, 1]], [0.7, 0.3]), 6)
    0.08
    """
    loss = with_loss(objective)
    check_number("epsilon", epsilon, low=0.0, low_open=True)
    if loss.uses_random_numbers:
        raise ValueError(f"objective must not draw random numbers, got {loss!r}")
    if probabilities is None:
        check_integer("steps", steps, low=1)
        n_vectors = len(np.asarray(label_vectors))
        return min(
            ndcg_suboptimality(loss, epsilon, label_vectors, chances)
            for chances in _simplex(n_vectors, steps)
        )
    vectors, chances = check_distribution(label_vectors, probabilities)
    m = vectors.shape[1]
    _check_size("label_vectors", m)
    gain = loss.value_of("gain") if hasattr(loss, "gain") else "exp"
    discount = getattr(loss, "discount", "log")
    relevance = bayes_scores(vectors, chances, gain, discount)
    discounts = compute_discounts(m, discount)
    rows, group = vectors.ravel(), [m] * len(vectors)
    gradients = plain_gradients(loss, rows, m)

    def risk(scores: FloatArray) -> tuple[float, FloatArray]:
        tiled = np.tile(scores, len(vectors))
        grad = gradients(tiled)[0].reshape(vectors.shape).astype(np.float64)
        return float(chances @ loss.loss(rows, tiled, group)), chances @ grad

    qualities = {order: float(relevance[list(order)] @ discounts) for order in _orders(m)}
    return _least_excess(risk, qualities, epsilon)


def preference_suboptimality(
    preferences: ArrayLike, epsilon: float, *, aggregate: bool = False, phi: str = "logistic"
) -> float:
    """Return H(epsilon) of a pairwise loss for the pairwise risk of a population (equation 9).

    The risk of an order is the weight of the preferences that contradict it (equation 11).

    Parameters
    ----------
    preferences : array-like of shape (m, m)
        See :func:`gbrank.theory.difference_graph`; at most 5 documents.
    epsilon : float > 0
        By how much the risk exceeds its least value.
    aggregate, phi : see :func:`gbrank.theory.preference_minimizer`.

    Returns
    -------
    float
        H(epsilon); infinite if no order exceeds the least risk that much.

    Examples
    --------
    >>> from gbrank.theory import misleading_preferences, preference_suboptimality
    >>> round(preference_suboptimality(misleading_preferences(), 0.1), 6)  # inconsistent
    0.0
    >>> preference_suboptimality(misleading_preferences(), 0.1, aggregate=True) > 0.05
    True
    """
    matrix = check_matrix(preferences)
    check_number("epsilon", epsilon, low=0.0, low_open=True)
    check_choice("aggregate", aggregate, (False, True))
    check_choice("phi", phi, tuple(PHI))
    m = len(matrix)
    _check_size("preferences", m)
    weights = difference_graph(matrix) if aggregate else matrix

    def risk(scores: FloatArray) -> tuple[float, FloatArray]:
        value, first, _ = PHI[phi](scores[:, None] - scores[None, :])
        force = weights * first
        off_diagonal = weights * value * (1.0 - np.eye(m))
        return float(off_diagonal.sum()), force.sum(axis=1) - force.sum(axis=0)

    qualities = {}
    for order in _orders(m):
        ranked = matrix[np.ix_(order, order)]
        qualities[order] = -float(np.tril(ranked, -1).sum())
    return _least_excess(risk, qualities, epsilon)


def _least_excess(risk: Risk, qualities: dict[Any, float], epsilon: float) -> float:
    """Return the least excess risk over orders whose quality falls short by epsilon or more."""
    best = max(qualities.values())
    least = {order: _least_in_order(risk, order) for order in qualities}
    minimum = min(least.values())
    short = [
        least[order] - minimum
        for order, quality in qualities.items()
        if best - quality >= epsilon - _EQUAL
    ]
    return min(short, default=np.inf)


def _least_in_order(risk: Risk, order: tuple[int, ...]) -> float:
    """Minimise over scores that do not increase along an order: a first one, and drops >= 0."""
    places = list(order)

    def of_drops(variables: FloatArray) -> tuple[float, FloatArray]:
        scores = np.empty(len(places))
        scores[places] = np.cumsum(np.concatenate((variables[:1], -variables[1:])))
        value, grad = risk(scores)
        behind = np.cumsum(grad[places][::-1])[::-1]
        return value, np.concatenate((behind[:1], -behind[1:]))

    found = minimize(
        of_drops,
        np.zeros(len(places)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None), *[(0.0, None)] * (len(places) - 1)],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
    )
    return float(found.fun)


def _orders(m: int) -> list[tuple[int, ...]]:
    return list(permutations(range(m)))


def _simplex(n: int, steps: int) -> list[FloatArray]:
    """Return all probabilities of n outcomes that are multiples of 1 / steps."""
    edges = combinations(range(steps + n - 1), n - 1)
    bars = np.array([(-1, *each, steps + n - 1) for each in edges])
    return list((np.diff(bars, axis=1) - 1) / steps)


def _check_size(name: str, m: int) -> None:
    if not 2 <= m <= _LARGEST_M:
        raise ValueError(
            f"{name} must be of 2 to {_LARGEST_M} documents, as all orders are tried, got {m}"
        )
