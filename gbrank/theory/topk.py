"""Top-k consistency: whether a loss looks at the first k places only, and what if it does not.

The truth about m documents is here an order y: ``y[0]`` is the best document, ``y[1]`` the next.
Orders with the same first k documents form one top-k subgroup; only the subgroup matters to a user
who sees k places. An objective is given an order as labels m, m - 1, ..., 1.

Reference: Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import FloatArray, check_integer, check_number, check_scores, check_seed
from gbrank.objectives import Objective, get_objective
from gbrank.theory.consistency import minimizer

Order = tuple[int, ...]

#: A loss: an objective, its name, or a function of the labels and scores of one query.
LossSpec = str | Objective | Callable[[FloatArray, FloatArray], float]

_LARGEST_M = 6  # 720 orders, 15 pairs of documents
_CLOSE = 1e-9  # losses, in float64
_CLOSE_GRADIENTS = 1e-5  # in float32
_STEP = 1e-5  # of the differences that stand for derivatives of a function


@dataclass(frozen=True)
class OrderSensitivity:
    """What :func:`check_order_sensitivity` found.

    Attributes
    ----------
    sensitive : whether all conditions hold for all scores that were tried.
    reason : the first condition that failed, in words; empty if none did.
    scores : the scores at which it failed, or ``None``.
    order : the order at which it failed, or ``None``.
    documents : the two documents, or ``None``.
    """

    sensitive: bool
    reason: str = ""
    scores: FloatArray | None = None
    order: Order | None = None
    documents: tuple[int, int] | None = None


def labels_of_order(order: Sequence[int]) -> FloatArray:
    """Return labels m, m - 1, ..., 1 that put documents into an order, best first.

    >>> from gbrank.theory.topk import labels_of_order
    >>> labels_of_order([2, 0, 1])
    array([2., 1., 3.])
    """
    m = len(order)
    if sorted(order) != list(range(m)):
        raise ValueError(f"an order must hold each of 0 to {m - 1} once, got {tuple(order)}")
    labels = np.empty(m)
    labels[list(order)] = np.arange(m, 0, -1)
    return labels


def check_order_sensitivity(
    objective: LossSpec,
    m: int,
    k: int,
    n_scores: int = 20,
    *,
    random_state: int = 0,
) -> OrderSensitivity:
    """Test top-k order sensitivity (Xia, Liu, Li 2009, definition 3) by enumeration.

    For all documents i and j, all orders y with i before j, y' the same with i and j exchanged:

    1. exchanging i and j in scores and order together leaves the loss as it is;
    2. where ``s_i < s_j``: if y and y' differ in their first k places, the loss of y is at least
       that of y', and larger for some y; if they do not, the losses are equal;
    3. where ``s_i = s_j``: for some y that differs from y' in the first k places, the derivative of
       the loss by ``s_i`` is larger for y' than for y.

    The loss must also be >= 0. Scores are drawn at random, and for condition 3 ``s_j`` is set to
    ``s_i``: a failure is proof, a success holds for the scores that were tried.

    Parameters
    ----------
    objective : Objective, str or callable
        An objective with a loss, the name of one, or a function ``(labels, scores) -> float`` of
        one query.
    m : int
        Number of documents, at most 6.
    k : int
        Number of places that matter.
    n_scores : int, default=20
        Number of score vectors.
    random_state : int, default=0
        Seed of the scores.

    Examples
    --------
    >>> from gbrank import ListMLE
    >>> from gbrank.theory import check_order_sensitivity
    >>> check_order_sensitivity(ListMLE(k=2), m=4, k=2).sensitive
    True
    >>> check_order_sensitivity(ListMLE(), m=4, k=2).reason
    'orders with the same first k places have different losses'
    """
    loss = get_objective(objective) if isinstance(objective, str | Objective) else objective
    check_integer("m", m, low=2)
    if m > _LARGEST_M:
        raise ValueError(f"m must be at most {_LARGEST_M}: all m! orders are tried, got {m}")
    check_integer("k", k, low=1)
    check_integer("n_scores", n_scores, low=1)
    check_seed(random_state)
    orders = list(permutations(range(m)))
    for scores in np.random.default_rng(random_state).normal(size=(n_scores, m)):
        losses = _losses(loss, orders, scores)
        if min(losses.values()) < -_CLOSE:
            worst = min(losses, key=losses.__getitem__)
            return OrderSensitivity(False, "the loss is negative", scores, worst)
        for i, j in permutations(range(m), 2):
            failure = (
                (i < j and _check_symmetry(loss, orders, losses, scores, i, j))
                or (scores[i] < scores[j] and _check_losses(orders, losses, scores, i, j, k))
                or (i < j and _check_derivatives(loss, orders, scores, i, j, k))
            )
            if failure:
                return failure
    return OrderSensitivity(True)


def _losses(loss: Any, orders: list[Order], scores: FloatArray) -> dict[Order, float]:
    if not isinstance(loss, Objective):
        return {order: float(loss(labels_of_order(order), scores)) for order in orders}
    labels = np.concatenate([labels_of_order(order) for order in orders])
    group = [len(scores)] * len(orders)
    values = loss.loss(labels, np.tile(scores, len(orders)), group)
    return dict(zip(orders, values.tolist(), strict=True))


def _derivatives(
    loss: Any, orders: list[Order], scores: FloatArray, document: int
) -> dict[Order, float]:
    """Return for each order the derivative of its loss by the score of one document."""
    if not isinstance(loss, Objective):
        step = _STEP * (np.arange(len(scores)) == document)
        above, below = _losses(loss, orders, scores + step), _losses(loss, orders, scores - step)
        return {order: (above[order] - below[order]) / (2 * _STEP) for order in orders}
    labels = np.concatenate([labels_of_order(order) for order in orders])
    group = [len(scores)] * len(orders)
    grad, _ = loss.plain_gradient().grad_hess(labels, np.tile(scores, len(orders)), group)
    of_document = grad.reshape(len(orders), -1)[:, document].tolist()
    return dict(zip(orders, of_document, strict=True))


def _exchange(order: Order, i: int, j: int) -> Order:
    other = {i: j, j: i}
    return tuple(other.get(document, document) for document in order)


def _orders_with_first(orders: list[Order], i: int, j: int) -> list[Order]:
    return [order for order in orders if order.index(i) < order.index(j)]


def _check_symmetry(
    loss: Any,
    orders: list[Order],
    losses: dict[Order, float],
    scores: FloatArray,
    i: int,
    j: int,
) -> OrderSensitivity | None:
    exchanged = scores.copy()
    exchanged[[i, j]] = scores[[j, i]]
    others = _losses(loss, orders, exchanged)
    for order in orders:
        if abs(losses[order] - others[_exchange(order, i, j)]) > _CLOSE:
            return OrderSensitivity(
                False, "exchanging two documents changes the loss", scores, order, (i, j)
            )
    return None


def _check_losses(
    orders: list[Order], losses: dict[Order, float], scores: FloatArray, i: int, j: int, k: int
) -> OrderSensitivity | None:
    some_larger = False
    for order in _orders_with_first(orders, i, j):
        right = _exchange(order, i, j)  # j, which has the larger score, comes first
        difference = losses[order] - losses[right]
        if order[:k] == right[:k]:
            if abs(difference) > _CLOSE:
                reason = "orders with the same first k places have different losses"
                return OrderSensitivity(False, reason, scores, order, (i, j))
        elif difference < -_CLOSE:
            reason = "the order that contradicts the scores has the smaller loss"
            return OrderSensitivity(False, reason, scores, order, (i, j))
        some_larger = some_larger or difference > _CLOSE
    if not some_larger:
        reason = "no order that contradicts the scores has a larger loss"
        return OrderSensitivity(False, reason, scores, None, (i, j))
    return None


def _check_derivatives(
    loss: Any, orders: list[Order], scores: FloatArray, i: int, j: int, k: int
) -> OrderSensitivity | None:
    tied = scores.copy()
    tied[j] = tied[i]
    by_order = _derivatives(loss, orders, tied, i)
    for order in _orders_with_first(orders, i, j):
        other = _exchange(order, i, j)
        if order[:k] != other[:k] and by_order[other] > by_order[order] + _CLOSE_GRADIENTS:
            return None
    reason = "no derivative tells apart two documents with equal scores"
    return OrderSensitivity(False, reason, tied, None, (i, j))


def is_order_preserving(
    orders: Sequence[Sequence[int]], probabilities: ArrayLike, i: int, j: int, k: int
) -> bool:
    """Return whether a distribution of orders prefers document i to j in the first k places.

    That is (definition 2): for every order y with i before j, y' the same with i and j exchanged,
    the subgroup of y is more probable than that of y', unless they are one.

    Parameters
    ----------
    orders, probabilities : orders of m documents, best first, and their probabilities.
    i, j : two documents.
    k : number of places that matter.

    Examples
    --------
    >>> from gbrank.theory import is_order_preserving, proposition_10
    >>> [is_order_preserving(*proposition_10(), 0, 1, k) for k in (1, 2)]
    [True, False]
    """
    chances = _subgroups(orders, probabilities, k)
    m = len(orders[0])
    for order in _orders_with_first(list(permutations(range(m))), i, j):
        right, wrong = order[:k], _exchange(order, i, j)[:k]
        if right != wrong and not chances.get(right, 0.0) > chances.get(wrong, 0.0):
            return False
    return True


def order_preserving_chain(
    orders: Sequence[Sequence[int]], probabilities: ArrayLike, k: int
) -> Order | None:
    """Return an order of documents that meets the condition of theorem 6, or None if none does.

    With documents named ``j_1, j_2, ..., j_m``, the distribution must prefer
    (:func:`is_order_preserving`) ``j_i`` to ``j_(i+1)`` for i up to k, and every later document to
    at least one that comes before it, from ``j_k`` on: m - 1 pairs of all. A loss that is top-k
    order sensitive (:func:`check_order_sensitivity`) then has its minimum where ``j_1`` to ``j_k``
    come first: it is consistent with the top-k 0-1 loss on this distribution. The smaller k, the
    weaker is the condition.

    Parameters
    ----------
    orders : sequence of sequences of int
        Orders of at most 6 documents, best first.
    probabilities : array-like
        One probability per order.
    k : int
        Number of places that matter.

    Examples
    --------
    >>> from gbrank.theory import order_preserving_chain, proposition_10
    >>> order_preserving_chain(*proposition_10(), k=1)
    (0, 1, 2)
    >>> order_preserving_chain(*proposition_10(), k=2) is None
    True
    """
    m = len(orders[0]) if len(orders) else 0
    if m > _LARGEST_M:
        raise ValueError(f"orders must have at most {_LARGEST_M} documents, got {m}")
    check_integer("k", k, low=1)
    preferred = {
        pair: is_order_preserving(orders, probabilities, *pair, k)
        for pair in permutations(range(m), 2)
    }
    for chain in permutations(range(m)):
        head = all(preferred[pair] for pair in pairwise(chain[: k + 1]))
        tail = all(
            any(preferred[before, chain[at]] for before in chain[k - 1 : at])
            for at in range(k + 1, m)
        )
        if head and tail:
            return chain
    return None


def topk_bayes_order(
    orders: Sequence[Sequence[int]], probabilities: ArrayLike, k: int
) -> list[Order]:
    """Return the most probable first k places: all of them, if several are equally probable.

    Parameters
    ----------
    orders : orders of the documents 0, 1, ..., each from the first place to the last.
    probabilities : one probability per order.
    k : number of places that matter.

    Examples
    --------
    >>> from gbrank.theory import proposition_10, topk_bayes_order
    >>> topk_bayes_order(*proposition_10(), k=1)
    [(0,)]
    """
    chances = _subgroups(orders, probabilities, k)
    best = max(chances.values())
    return sorted(first for first, chance in chances.items() if chance >= best - 1e-12)


def topk_minimizer_order(
    objective: str | Objective,
    orders: Sequence[Sequence[int]],
    probabilities: ArrayLike,
    k: int,
) -> Order:
    """Return the first k places by the scores that minimise the expected loss of an objective.

    Parameters
    ----------
    objective : an objective with a loss, or the name of one.
    orders, probabilities, k : as in :func:`topk_bayes_order`.

    Examples
    --------
    >>> from gbrank import ListMLE
    >>> from gbrank.theory import proposition_10, topk_minimizer_order
    >>> topk_minimizer_order(ListMLE(), *proposition_10(), k=1)
    (1,)
    >>> topk_minimizer_order(ListMLE(k=1), *proposition_10(), k=1)
    (0,)
    """
    check_integer("k", k, low=1)
    scores = minimizer(objective, [labels_of_order(order) for order in orders], probabilities)
    return tuple(np.argsort(-scores, kind="stable")[:k].tolist())


def proposition_10(p1: float = 0.4) -> tuple[list[Order], FloatArray]:
    """Return orders of three documents, and probabilities, that mislead losses of the whole order.

    Document 0 is the most probable best one. The order (2, 1, 0), which puts it last, is about as
    probable as (0, 1, 2) and (1, 0, 2): a loss that also looks behind the first place may learn
    from it that document 1 is better than 0. ListMLE does for p1 below 0.526, and not, as the
    proposition reads, for all p1 below 1: beyond that it puts document 0 first.

    Parameters
    ----------
    p1 : float in (1/3, 1), default=0.4
        Probability of (0, 1, 2); the other two share the rest.

    Examples
    --------
    >>> from gbrank.theory import proposition_10, topk_minimizer_order
    >>> orders, probabilities = proposition_10()
    >>> orders, probabilities.round(3)
    ([(0, 1, 2), (1, 0, 2), (2, 1, 0)], array([0.4, 0.3, 0.3]))
    >>> [topk_minimizer_order("listmle", *proposition_10(p1), k=1) for p1 in (0.52, 0.53)]
    [(1,), (0,)]
    """
    check_number("p1", p1, low=1.0 / 3.0, high=1.0, low_open=True, high_open=True)
    p2 = (1.0 - p1) / 2.0
    return [(0, 1, 2), (1, 0, 2), (2, 1, 0)], np.array([p1, p2, p2])


def _subgroups(
    orders: Sequence[Sequence[int]], probabilities: ArrayLike, k: int
) -> dict[Order, float]:
    check_integer("k", k, low=1)
    chances = check_scores(probabilities)
    if len(chances) != len(orders) or len(orders) == 0:
        raise ValueError(
            f"probabilities must have one entry per order: got {len(chances)} for {len(orders)}"
        )
    totals: dict[Order, float] = {}
    for order, chance in zip(orders, chances.tolist(), strict=True):
        labels_of_order(order)  # an error for what is no order
        first = tuple(order[:k])
        totals[first] = totals.get(first, 0.0) + chance
    return totals
