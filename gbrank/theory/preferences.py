"""Why single comparisons mislead convex pairwise losses, and why aggregated ones do not.

A population prefers document i to j with weight ``a_ij``, the mean of its observed preferences. The
order to learn is that of the difference graph, which has an edge from i to j of weight
``[a_ij - a_ji]_+``. Even where that graph is low-noise, the scores that minimise the expected loss
over single preferences can be in another order, for any convex phi::

    sum_ij a_ij phi(s_i - s_j)                              (equation 12, theorem 2)
    E sum_{ij: Y_ij > 0} phi(s_i - s_j - h(Y_ij))           (equation 13, theorem 3)

Averaging first cures that: one of the two directions of a pair has no weight left::

    sum_ij [a_ij - a_ji]_+ phi(s_i - s_j)                   (equation 23)

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
sections 3.2 and 5.3. The theory page of the documentation says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from gbrank.core import (
    FloatArray,
    check_choice,
    check_integer,
    check_number,
    check_probabilities,
    check_seed,
)
from gbrank.theory._minimize import minimize_all

_EQUAL = 1e-12  # weights of a graph that differ by less are equal

Phi = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]


def _logistic(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return np.logaddexp(0.0, -x), -expit(-x), expit(x) * expit(-x)


def _exponential(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    value = np.exp(np.minimum(-x, 500.0))
    return value, -value, value


def _squared_hinge(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    short = np.maximum(1.0 - x, 0.0)
    return np.square(short), -2.0 * short, np.where(short > 0, 2.0, 0.0)


PHI: dict[str, Phi] = {
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
    preferences : array-like of shape (m, m)
        Numbers >= 0; entry (i, j) says how much i is preferred to j.

    Examples
    --------
    >>> from gbrank.theory import difference_graph
    >>> difference_graph([[0, 3, 2], [1, 0, 5], [2, 1, 0]])
    array([[0., 2., 0.], [0., 0., 4.], [0., 0., 0.]])
    """
    matrix = check_matrix(preferences)
    difference: FloatArray = np.maximum(matrix - matrix.T, 0.0)
    return difference


def is_low_noise(preferences: ArrayLike) -> bool:
    """Return whether preferences are low-noise (definition 4 of Duchi, Mackey and Jordan).

    That is: whenever there are edges from i to j and from j to k in the difference graph, the edge
    from i to k weighs at least as much as both together. Such a graph has no cycles.

    Parameters
    ----------
    preferences : array-like of shape (m, m)
        See :func:`difference_graph`.

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
    preferences : array-like of shape (m, m)
        See :func:`difference_graph`.
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
    matrix = check_matrix(preferences)
    check_choice("aggregate", aggregate, (False, True))
    check_choice("phi", phi, tuple(PHI))
    check_number("ridge", ridge, low=0.0, low_open=True)
    weights = difference_graph(matrix) if aggregate else matrix
    minimum: FloatArray = _minimize(weights[None, None], 0.0, phi, ridge)[0]
    return minimum


def check_preferences(
    preferences: ArrayLike,
    *,
    aggregate: bool = False,
    phi: str = "logistic",
    ridge: float = 1e-6,
) -> PreferenceCheck:
    """Return whether minimising a pairwise loss puts a population's preferences in their order.

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
    return _judge(check_matrix(preferences), scores)


def misleading_margins() -> tuple[FloatArray, FloatArray]:
    """Return graphs and probabilities, low-noise, whose order equation 13 gets wrong.

    The mean prefers document 1 to 2 by 0.13, and both to document 0 by far. Scores with margins
    put 2 first: the large margins against document 0 pull both up, and 2 has more of them.

    Examples
    --------
    >>> from gbrank.theory import check_margins, misleading_margins
    >>> check = check_margins(*misleading_margins())
    >>> check.low_noise, check.wrong_pairs, round(check.risk, 3)
    (True, ((1, 2),), 0.13)
    """
    graphs = np.zeros((3, 3, 3))
    graphs[0, 0, 1], graphs[0, 1, 2] = 0.5, 1.0
    graphs[1, 1, 0], graphs[1, 2, 0], graphs[1, 2, 1] = 8.0, 8.0, 1.0
    graphs[2, 1, 0] = 4.0
    return graphs, np.array([0.49, 0.36, 0.15])


def check_margins(
    graphs: ArrayLike,
    probabilities: ArrayLike,
    *,
    margin: Callable[[FloatArray], FloatArray] | None = None,
    phi: str = "logistic",
    ridge: float = 1e-6,
) -> PreferenceCheck:
    """Return whether a pairwise loss with margins puts the mean preferences in their order.

    The loss of scores s is the expectation of ``sum_{ij: Y_ij > 0} phi(s_i - s_j - h(Y_ij))``
    (equation 13) over weighted graphs Y. Whatever h and the convex phi, some low-noise
    distribution of graphs is ordered wrongly (theorem 3).

    Parameters
    ----------
    graphs : array-like of shape (graphs, m, m)
        Weights >= 0 of the edges of each graph, 0 for none.
    probabilities : array-like of shape (graphs,)
        Probability of each graph.
    margin : callable, default=None
        The function h, from an array of weights to one of margins; None for the weights themselves.
    phi, ridge : see :func:`preference_minimizer`.

    Examples
    --------
    >>> from gbrank.theory import check_margins, misleading_margins
    >>> check_margins(*misleading_margins()).scores.round(2)
    array([-4.85,  2.06,  2.79])
    """
    chances = check_probabilities(probabilities, "probabilities")
    if np.ndim(graphs) != 3 or len(np.asarray(graphs)) != len(chances):
        raise ValueError(
            f"graphs must be an array ({len(chances)}, m, m), one graph per probability, got shape "
            f"{np.shape(graphs)}"
        )
    weights = np.array([check_matrix(graph) for graph in np.asarray(graphs)])
    margins = np.asarray(weights if margin is None else margin(weights), dtype=np.float64)
    if margins.shape != weights.shape or not np.isfinite(margins).all():
        raise ValueError("margin must return one finite number for each weight")
    check_choice("phi", phi, tuple(PHI))
    check_number("ridge", ridge, low=0.0, low_open=True)
    edges = np.where(weights > 0, chances[:, None, None], 0.0)
    scores = _minimize(edges[None], margins, phi, ridge)[0]
    return _judge(np.einsum("g,gij->ij", chances, weights), scores)


def find_misleading_preferences(
    m: int = 3,
    trials: int = 1000,
    *,
    aggregate: bool = False,
    phi: str = "logistic",
    random_state: int = 0,
) -> tuple[FloatArray, PreferenceCheck] | None:
    """Search random low-noise preferences for those that mislead a pairwise loss most.

    In the difference graph of a trial an edge over a longer distance weighs more than any two that
    span it; on top each pair has a random number of comparisons that cancel out.

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
    tuple or None
        The matrix with the largest risk and its :class:`PreferenceCheck`; None if all trials come
        out in the right order.

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
    check_choice("aggregate", aggregate, (False, True))
    check_choice("phi", phi, tuple(PHI))
    check_seed(random_state)
    rng = np.random.default_rng(random_state)
    matrices = np.array([_random_low_noise(m, rng) for _ in range(trials)])
    weights = matrices
    if aggregate:
        weights = np.maximum(matrices - matrices.transpose(0, 2, 1), 0.0)
    scores = _minimize(weights[:, None], 0.0, phi, 1e-6)
    checks = [_judge(matrix, each) for matrix, each in zip(matrices, scores, strict=True)]
    worst = int(np.argmax([check.risk for check in checks]))
    return None if checks[worst].consistent else (matrices[worst], checks[worst])


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


def _judge(matrix: FloatArray, scores: FloatArray) -> PreferenceCheck:
    """Compare scores with the difference graph of preferences."""
    difference = difference_graph(matrix)
    wrong = (difference > _EQUAL) & (scores[:, None] - scores[None, :] <= 0)
    pairs = tuple((int(i), int(j)) for i, j in zip(*np.nonzero(wrong), strict=True))
    risk = float(difference[wrong].sum())
    return PreferenceCheck(not pairs, is_low_noise(matrix), scores, pairs, risk)


def _minimize(
    weights: FloatArray, margins: FloatArray | float, phi: str, ridge: float
) -> FloatArray:
    """Minimise ``sum_gij w_gij phi(s_i - s_j - h_gij)``, for each of many arrays w."""
    m = weights.shape[-1]

    def derivatives(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        _, first, second = PHI[phi]((scores[:, :, None] - scores[:, None, :])[:, None] - margins)
        force, stiffness = (weights * first).sum(axis=1), (weights * second).sum(axis=1)
        both = stiffness + stiffness.transpose(0, 2, 1)
        grad = force.sum(axis=2) - force.sum(axis=1) + ridge * scores
        return grad, np.eye(m) * (both.sum(axis=2)[:, None, :] + ridge) - both

    largest = np.maximum(weights.max(axis=(1, 2, 3)), ridge)
    scores = minimize_all(derivatives, np.zeros((len(weights), m)), 1e-12 * largest)
    centred: FloatArray = scores - scores.mean(axis=1, keepdims=True)
    return centred


def check_matrix(preferences: Any) -> FloatArray:
    """Return preferences as a square matrix of numbers >= 0."""
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
