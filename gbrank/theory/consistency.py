"""Consistency with NDCG: whether minimising an objective gives the order that is best for NDCG.

One query, whose label vector r is random: r is one of a few vectors with given probabilities. The
order that maximises expected NDCG is that of ``E[G(r) / Z(r)]`` (:func:`bayes_scores`). An
objective is consistent with NDCG if, for every such distribution, the scores that minimise its
expected loss (:func:`minimizer`) are in that order. :func:`check_consistency` tests one
distribution, :func:`find_counterexample` looks for one on which an objective fails.

The expected loss is minimised with the gradients that LightGBM would receive, so what is judged is
the objective as it trains and not a formula for it. They come in float32, so the judgement is by
how much expected NDCG is lost, and not by the order itself: two documents whose expected relevance
differs by less than float32 can tell cost next to nothing in either order.

Reference: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
lemmas 3 and 4; Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics
2013, corollary 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import (
    DiscountSpec,
    FloatArray,
    GainSpec,
    QueryLayout,
    check_integer,
    check_labels,
    check_probabilities,
    check_seed,
    compute_discounts,
    compute_gains,
)
from gbrank.objectives import Objective, get_objective
from gbrank.theory._minimize import minimize_all

#: Expected NDCG may fall short of the best by this much before an objective counts as inconsistent.
TOLERANCE = 1e-6
# Expected gradients of this size, relative to the gradients that they are the mean of, are zero to
# float32.
_ROUNDING = 1e-7
# Scores this close, relative to the largest, count as tied: ten times the rounding of float32.
_TIED = 1e-6


@dataclass(frozen=True)
class ConsistencyCheck:
    """What :func:`check_consistency` found for one distribution of labels.

    Attributes
    ----------
    consistent : whether expected NDCG falls short of the best by no more than 1e-6.
    shortfall : by how much it does. Tied scores count in their worst order.
    expected_ndcg : of the order of ``scores``.
    best_ndcg : the largest expected NDCG of any order.
    scores : the minimiser of the expected loss.
    bayes : ``E[G / Z]``, whose order is the best.
    label_vectors, probabilities : the distribution.
    """

    consistent: bool
    shortfall: float
    expected_ndcg: float
    best_ndcg: float
    scores: FloatArray
    bayes: FloatArray
    label_vectors: FloatArray
    probabilities: FloatArray


def bayes_scores(
    label_vectors: ArrayLike,
    probabilities: ArrayLike,
    gain: GainSpec = "exp",
    discount: DiscountSpec = "log",
) -> FloatArray:
    """Return ``E[G(r) / Z(r)]``, the scores whose order maximises expected NDCG.

    Parameters
    ----------
    label_vectors : array (vectors, documents) of labels >= 0.
    probabilities : one probability per vector.
    gain, discount : see :mod:`gbrank.gains`.

    Examples
    --------
    Document 1 usually beats document 0, which on rare occasions has a very large gain:

    >>> from gbrank.theory import bayes_scores
    >>> bayes_scores([[5, 4], [1, 3]], [0.3, 0.7]).round(4)
    array([0.3216, 0.7533])
    """
    vectors, chances = check_distribution(label_vectors, probabilities)
    scores: FloatArray = _expected_relevance(vectors[None], chances[None], gain, discount)[0]
    return scores


def minimizer(
    objective: str | Objective,
    label_vectors: ArrayLike,
    probabilities: ArrayLike,
    *,
    draws: int = 100,
) -> FloatArray:
    """Return the scores that minimise the expected loss, found with the objective's gradients.

    Where the minimum lies at infinity, the scores are those at which gradients have all but
    vanished on the way there. Scores of objectives that do not see a common shift sum to 0.

    Parameters
    ----------
    objective : an objective with a loss, or the name of one.
    label_vectors : array (vectors, documents) of labels >= 0.
    probabilities : one probability per vector.
    draws : over how many draws of its random numbers an objective that uses some is averaged.

    Examples
    --------
    >>> from gbrank import Squared
    >>> from gbrank.theory import minimizer
    >>> minimizer(Squared(), [[5, 4], [1, 3]], [0.3, 0.7]).round(4)
    array([0.3216, 0.7533])
    >>> minimizer(Squared(norm=None), [[5, 4], [1, 3]], [0.3, 0.7]).round(4)
    array([10. ,  9.4])
    """
    vectors, chances = check_distribution(label_vectors, probabilities)
    scores: FloatArray = _minimize(with_loss(objective), vectors[None], chances[None], draws)[0]
    return scores


def check_consistency(
    objective: str | Objective,
    label_vectors: ArrayLike,
    probabilities: ArrayLike,
    gain: GainSpec | None = None,
    discount: DiscountSpec | None = None,
    *,
    draws: int = 100,
) -> ConsistencyCheck:
    """Return whether the minimiser of an objective is in the best order for expected NDCG.

    Parameters
    ----------
    objective, label_vectors, probabilities, draws : see :func:`minimizer`.
    gain, discount : of the NDCG; ``None`` takes those of the objective, or "exp" and "log" where it
        has none.

    Examples
    --------
    >>> from gbrank import ListNet
    >>> from gbrank.theory import check_consistency
    >>> check = check_consistency(ListNet(), [[1, 5], [2, 1]], [0.35, 0.65])
    >>> check.consistent, round(check.shortfall, 4)
    (False, 0.0096)
    """
    vectors, chances = check_distribution(label_vectors, probabilities)
    return _check_all(
        with_loss(objective), vectors[None], chances[None], gain, discount, draws
    ).worst()


def find_counterexample(
    objective: str | Objective,
    m: int = 2,
    grades: int = 5,
    trials: int = 1000,
    n_vectors: int = 3,
    gain: GainSpec | None = None,
    discount: DiscountSpec | None = None,
    *,
    draws: int = 100,
    random_state: int = 0,
) -> ConsistencyCheck | None:
    """Search random distributions of labels for one on which an objective is inconsistent.

    Parameters
    ----------
    objective, draws : see :func:`minimizer`.
    m : number of documents.
    grades : labels are 0, 1, ..., grades - 1.
    trials : number of distributions.
    n_vectors : number of label vectors in each; their probabilities are uniform on the simplex.
    gain, discount : see :func:`check_consistency`.
    random_state : seed of the distributions.

    Returns
    -------
    The distribution that costs most NDCG, or ``None`` if none costs more than 1e-6.

    Examples
    --------
    >>> from gbrank import Squared
    >>> from gbrank.theory import find_counterexample
    >>> find_counterexample(Squared(), trials=200) is None
    True
    >>> find_counterexample(Squared(norm=None), trials=200).consistent
    False
    """
    for name, value, low in (("m", m, 2), ("grades", grades, 2), ("trials", trials, 1)):
        check_integer(name, value, low=low)
    check_integer("n_vectors", n_vectors, low=1)
    check_seed(random_state)
    rng = np.random.default_rng(random_state)
    labels = rng.integers(0, grades, size=(trials, n_vectors, m)).astype(np.float64)
    chances = rng.dirichlet(np.ones(n_vectors), size=trials)
    worst = _check_all(with_loss(objective), labels, chances, gain, discount, draws).worst()
    return None if worst.consistent else worst


def check_distribution(
    label_vectors: ArrayLike, probabilities: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return label vectors and probabilities as float64, or say what is wrong with them."""
    vectors = np.asarray(label_vectors)
    if vectors.ndim != 2 or vectors.size == 0:
        raise ValueError(
            f"label_vectors must be an array (vectors, documents), got shape {vectors.shape}"
        )
    layout = QueryLayout.from_group([vectors.shape[1]] * len(vectors))
    vectors = check_labels(vectors.ravel(), layout).reshape(vectors.shape)
    chances = check_probabilities(probabilities, "probabilities")
    if len(chances) != len(vectors):
        raise ValueError(
            f"probabilities must have one entry per label vector: got {len(chances)} for "
            f"{len(vectors)} vectors"
        )
    return vectors, chances


# --- many distributions at once: arrays (distributions, vectors, documents) ---------------------


@dataclass(frozen=True)
class _Checks:
    """The outcome for many distributions."""

    labels: FloatArray
    chances: FloatArray
    scores: FloatArray
    bayes: FloatArray
    reached: FloatArray
    best: FloatArray

    def worst(self) -> ConsistencyCheck:
        at = int(np.argmax(self.best - self.reached))
        shortfall = float(self.best[at] - self.reached[at])
        return ConsistencyCheck(
            consistent=shortfall <= TOLERANCE,
            shortfall=shortfall,
            expected_ndcg=float(self.reached[at]),
            best_ndcg=float(self.best[at]),
            scores=self.scores[at],
            bayes=self.bayes[at],
            label_vectors=self.labels[at],
            probabilities=self.chances[at],
        )


def _check_all(
    objective: Objective,
    labels: FloatArray,
    chances: FloatArray,
    gain: GainSpec | None,
    discount: DiscountSpec | None,
    draws: int,
) -> _Checks:
    own = getattr(objective, "gain", None)
    gain = gain if gain is not None else "exp" if own is None else own
    discount = getattr(objective, "discount", "log") if discount is None else discount
    scores = _minimize(objective, labels, chances, draws)
    bayes = _expected_relevance(labels, chances, gain, discount)
    discounts = compute_discounts(labels.shape[2], discount)
    best = np.sort(bayes)[:, ::-1] @ discounts
    worst_order = _worst_order(scores, bayes)
    reached = np.take_along_axis(bayes, worst_order, axis=1) @ discounts
    return _Checks(labels, chances, scores, bayes, reached, best)


def _worst_order(scores: FloatArray, bayes: FloatArray) -> NDArray[np.int64]:
    """Return the documents of each row by score downwards, near ties by ``bayes`` upwards."""
    order = np.argsort(-scores, axis=1, kind="stable")
    downwards = np.take_along_axis(scores, order, axis=1)
    closeness = _TIED * np.maximum(1.0, np.abs(scores).max(axis=1, keepdims=True))
    level = np.zeros_like(order)
    np.cumsum(downwards[:, :-1] - downwards[:, 1:] > closeness, axis=1, out=level[:, 1:])
    within = np.lexsort((np.take_along_axis(bayes, order, axis=1), level), axis=1)
    return np.take_along_axis(order, within, axis=1)


def _expected_relevance(
    labels: FloatArray, chances: FloatArray, gain: GainSpec, discount: DiscountSpec
) -> FloatArray:
    gains = compute_gains(labels.ravel(), gain).reshape(labels.shape)
    best = np.sort(gains, axis=2)[:, :, ::-1] @ compute_discounts(labels.shape[2], discount)
    relevance = gains / np.where(best > 0, best, 1.0)[:, :, None]
    expected: FloatArray = np.einsum("dvm,dv->dm", relevance, chances)
    return expected


def _minimize(
    objective: Objective, labels: FloatArray, chances: FloatArray, draws: int
) -> FloatArray:
    """Minimise the expected loss of every distribution, all of them in each step."""
    check_integer("draws", draws, low=1)
    n_distributions, n_vectors, m = labels.shape
    # every label vector is a query of its own, or as many as there are draws
    copies = draws if objective.uses_random_numbers else 1
    shape = (n_distributions, n_vectors, copies, m)
    rows = np.array(np.broadcast_to(labels[:, :, None, :], shape)).ravel()
    gradients = plain_gradients(objective, rows, m)
    weights = chances / copies

    def derivatives(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        of_rows = np.array(np.broadcast_to(scores[:, None, None, :], shape)).ravel()
        grad, hess = gradients(of_rows)
        return _average(grad, shape, weights), _average(hess, shape, weights)

    start = np.zeros((n_distributions, m))
    sizes = np.abs(gradients(np.zeros(len(rows)))[0])
    rounding = _ROUNDING * _average(sizes, shape, weights).max(axis=1)
    scores = minimize_all(derivatives, start, rounding)
    if objective.shift_invariant:
        scores = scores - scores.mean(axis=1, keepdims=True)
    return scores


def plain_gradients(
    objective: Objective, labels: FloatArray, m: int
) -> Callable[[FloatArray], tuple[Any, Any]]:
    """Return the function from scores to gradient and hessian, for queries of m documents each."""
    training = objective.plain_gradient().bind(labels, np.full(len(labels) // m, m))
    return training.grad_hess


def _average(values: Any, shape: tuple[int, ...], weights: FloatArray) -> FloatArray:
    result: FloatArray = np.einsum("dvcm,dv->dm", values.reshape(shape).astype(float), weights)
    return result


def with_loss(objective: str | Objective) -> Objective:
    """Return the objective; one without a loss is an error."""
    found = get_objective(objective)
    if not found.has_loss:
        raise ValueError(f"{found!r} has no loss, only gradients, so there is nothing to minimise")
    return found
