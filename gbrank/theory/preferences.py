"""Why single comparisons mislead convex pairwise losses, and why aggregated ones do not.

A population prefers document i to j with weight ``a_ij``, the mean of its observed preferences.
The order to learn is that of the difference graph, which has an edge from i to j of weight
``[a_ij - a_ji]_+`` (:func:`difference_graph`). When that graph is low-noise (:func:`is_low_noise`:
no edge is weaker than a path beside it), the order is plain to see. Even then the scores that
minimise the expected loss over single preferences, for any convex phi,::

    sum_ij a_ij phi(s_i - s_j)                (equation 12)

can be in another order (theorem 2): a pair that is compared often pulls both its documents towards
each other, in which direction is decided by the rest. Averaging first and then taking::

    sum_ij [a_ij - a_ji]_+ phi(s_i - s_j)     (equation 23)

cures that: one of the two directions has no weight left, and the loss vanishes only in the order of
the graph. :func:`check_preferences` shows both for one matrix, :func:`find_misleading_preferences`
looks for matrices on which equation 12 fails.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
sections 3.2 and 5.3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from gbrank.core import FloatArray, check_choice, check_integer, check_number, check_seed

_EQUAL = 1e-12  # weights of a graph that differ by less are equal
_STEPS = 500

Phi = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]


def _logistic(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return np.logaddexp(0.0, -x), -expit(-x), expit(x) * expit(-x)


def _exponential(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    value = np.exp(np.minimum(-x, 500.0))
    return value, -value, value


def _squared_hinge(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    short = np.maximum(1.0 - x, 0.0)
    return np.square(short), -2.0 * short, np.where(short > 0, 2.0, 0.0)


_PHI: dict[str, Phi] = {
    "logistic": _logistic,
    "exponential": _exponential,
    "squared_hinge": _squared_hinge,
}


@dataclass(frozen=True)
class PreferenceCheck:
    """What :func:`check_preferences` found for one matrix of preferences.

    Attributes
    ----------
    consistent : whether the scores put every edge of the difference graph in its direction.
    low_noise : whether the difference graph is low-noise.
    scores : minimiser of the expected loss; they sum to 0.
    wrong_pairs : tuple of pairs (i, j) with an edge from i to j, but ``s_i <= s_j``.
    risk : weight of the edges in the wrong direction: the excess of the pairwise risk
        (equation 11) over its least value, where the graph has no cycle.
    """

    consistent: bool
    low_noise: bool
    scores: FloatArray
    wrong_pairs: tuple[tuple[int, int], ...]
    risk: float


def difference_graph(preferences: ArrayLike) -> FloatArray:
    """Return ``[a_ij - a_ji]_+``, the weights of the edges of the difference graph.

    Parameters
    ----------
    preferences : square array of numbers >= 0; entry (i, j) says how much i is preferred to j.

    Examples
    --------
    >>> from gbrank.theory import difference_graph
    >>> difference_graph([[0, 3, 2], [1, 0, 5], [2, 1, 0]])
    array([[0., 2., 0.], [0., 0., 4.], [0., 0., 0.]])
    """
    matrix = _check_preferences(preferences)
    difference: FloatArray = np.maximum(matrix - matrix.T, 0.0)
    return difference


def is_low_noise(preferences: ArrayLike) -> bool:
    """Say whether preferences are low-noise (definition 4 of Duchi, Mackey and Jordan).

    That is: whenever there are edges from i to j and from j to k in the difference graph, the edge
    from i to k weighs at least as much as both together. Such a graph has no cycles.

    Parameters
    ----------
    preferences : see :func:`difference_graph`.

    Examples
    --------
    >>> from gbrank.theory import is_low_noise
    >>> is_low_noise([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    True
    >>> is_low_noise([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    False
    """
    difference = difference_graph(preferences)
    edges = difference > _EQUAL
    through = difference[:, :, None] + difference[None, :, :]  # i to j, j to k
    direct = difference[:, None, :] >= through - _EQUAL * (1.0 + through)
    return bool((direct | ~(edges[:, :, None] & edges[None, :, :])).all())


def misleading_preferences() -> FloatArray:
    """Return a low-noise matrix, best document first, whose order equation 12 gets wrong.

    The first document is ahead of both others by more than they are apart, but the last one is
    compared with them, and wins, very often.

    Examples
    --------
    >>> from gbrank.theory import check_preferences, misleading_preferences
    >>> a = misleading_preferences()
    >>> check_preferences(a).wrong_pairs, check_preferences(a, aggregate=True).wrong_pairs
    (((1, 2),), ())
    """
    return np.array([[0.0, 0.3, 1.5], [0.1, 0.0, 1.0], [1.2, 0.9, 0.0]])


def preference_minimizer(
    preferences: ArrayLike,
    *,
    aggregate: bool = False,
    phi: str = "logistic",
    ridge: float = 1e-6,
) -> FloatArray:
    """Return the scores that minimise the expected pairwise loss of a population.

    Parameters
    ----------
    preferences : see :func:`difference_graph`.
    aggregate : bool, default=False
        Minimise the loss of the averaged difference graph (equation 23), and not the average of
        the losses of single preferences (equation 12).
    phi : {"logistic", "exponential", "squared_hinge"}, default="logistic"
        Convex loss of a margin.
    ridge : float > 0, default=1e-6
        Times half the sum of squared scores, added to the loss. Equation 23 has its minimum at
        infinity; the ridge picks the scores on the way there, and those that sum to 0.

    Examples
    --------
    >>> from gbrank.theory import misleading_preferences, preference_minimizer
    >>> preference_minimizer(misleading_preferences()).round(3)
    array([ 0.225, -0.128, -0.097])
    """
    matrix = _check_preferences(preferences)
    check_choice("aggregate", aggregate, (False, True))
    check_choice("phi", phi, tuple(_PHI))
    check_number("ridge", ridge, low=0.0, low_open=True)
    weights = difference_graph(matrix) if aggregate else matrix
    return _minimize(weights, _PHI[phi], float(ridge))


def check_preferences(
    preferences: ArrayLike,
    *,
    aggregate: bool = False,
    phi: str = "logistic",
    ridge: float = 1e-6,
) -> PreferenceCheck:
    """Say whether minimising a pairwise loss puts a population's preferences in their order.

    Parameters
    ----------
    preferences, aggregate, phi, ridge : see :func:`preference_minimizer`.

    Examples
    --------
    >>> from gbrank.theory import check_preferences, misleading_preferences
    >>> check = check_preferences(misleading_preferences())
    >>> check.low_noise, check.consistent, round(check.risk, 3)
    (True, False, 0.1)
    >>> check_preferences(misleading_preferences(), aggregate=True).consistent
    True
    """
    scores = preference_minimizer(preferences, aggregate=aggregate, phi=phi, ridge=ridge)
    difference = difference_graph(preferences)
    margins = scores[:, None] - scores[None, :]
    wrong = (difference > _EQUAL) & (margins <= 0)
    pairs = tuple((int(i), int(j)) for i, j in zip(*np.nonzero(wrong), strict=True))
    return PreferenceCheck(
        not pairs, is_low_noise(preferences), scores, pairs, float(difference[wrong].sum())
    )


def find_misleading_preferences(
    m: int = 3,
    trials: int = 1000,
    *,
    aggregate: bool = False,
    phi: str = "logistic",
    random_state: int = 0,
) -> tuple[FloatArray, PreferenceCheck] | None:
    """Search random low-noise preferences for those that mislead a pairwise loss most.

    The difference graph of a trial has weights ``(j - i) d + e_ij``, which is low-noise; on top
    each pair has a random number of comparisons that cancel out.

    Parameters
    ----------
    m : int, default=3
        Number of documents.
    trials : int, default=1000
        Number of matrices.
    aggregate, phi : see :func:`preference_minimizer`.
    random_state : int, default=0
        Seed of the matrices.

    Returns
    -------
    The matrix with the largest risk and its :class:`PreferenceCheck`, or ``None`` if all trials
    come out in the right order.

    Examples
    --------
    >>> from gbrank.theory import find_misleading_preferences
    >>> find_misleading_preferences(trials=50) is None
    False
    >>> find_misleading_preferences(trials=50, aggregate=True) is None
    True
    """
    check_integer("m", m, low=3)
    check_integer("trials", trials, low=1)
    check_seed(random_state)
    rng = np.random.default_rng(random_state)
    worst: tuple[FloatArray, PreferenceCheck] | None = None
    for _ in range(trials):
        matrix = _random_low_noise(m, rng)
        check = check_preferences(matrix, aggregate=aggregate, phi=phi)
        if not check.consistent and (worst is None or check.risk > worst[1].risk):
            worst = matrix, check
    return worst


def _random_low_noise(m: int, rng: np.random.Generator) -> FloatArray:
    difference = np.zeros((m, m))
    for length in range(1, m):  # a longer edge is at least as heavy as any two that span it
        for i in range(m - length):
            k = i + length
            paths = [difference[i, j] + difference[j, k] for j in range(i + 1, k)]
            difference[i, k] = max(paths, default=0.0) + rng.exponential(0.1)
    common = np.triu(rng.exponential(size=(m, m)) ** 2, 1)
    matrix: FloatArray = difference + common + common.T
    order = rng.permutation(m)
    return matrix[np.ix_(order, order)]


def _minimize(weights: FloatArray, phi: Phi, ridge: float) -> FloatArray:
    """Newton's method with halved steps: the function is strictly convex."""
    scores = np.zeros(len(weights))

    def total(point: FloatArray) -> float:
        values = phi(point[:, None] - point[None, :])[0]
        return float((weights * values).sum() + 0.5 * ridge * point @ point)

    value = total(scores)
    for _ in range(_STEPS):
        _, first, second = phi(scores[:, None] - scores[None, :])
        force, hessian = weights * first, weights * second
        grad = force.sum(axis=1) - force.sum(axis=0) + ridge * scores
        both = hessian + hessian.T
        hess = np.diag(both.sum(axis=1) + ridge) - both
        step = -np.linalg.solve(hess, grad)
        slope = float(step @ grad)
        if -slope <= 1e-15 * (1.0 + value):
            break
        size = 1.0
        while total(scores + size * step) > value + 1e-4 * size * slope and size > 1e-10:
            size *= 0.5
        scores = scores + size * step
        value = total(scores)
    centred: FloatArray = scores - scores.mean()
    return centred


def _check_preferences(preferences: Any) -> FloatArray:
    try:
        matrix = np.array(preferences, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"preferences must be a matrix of numbers, got {preferences!r}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise ValueError(f"preferences must be a square matrix, got shape {matrix.shape}")
    wrong = ~(np.isfinite(matrix) & (matrix >= 0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"preferences must be finite and >= 0, but entry ({i}, {j}) is {matrix[i, j]:g}"
        )
    return matrix
