"""The step that all softmax losses share: cross entropy of a target against softmax(scores).

With ``rho = softmax(s)`` and a target distribution ``phi`` the gradient is ``rho - phi`` and the
Hessian is ``diag(rho) - rho rho^T = D (I - S)`` with ``D = diag(rho (1 - rho))`` and
``S_ij = rho_j / (1 - rho_i)`` off the diagonal (Bruch 2021, section 4.3). Trees take one numerator
and one denominator per document, so the denominator is ``D`` and the numerator carries the first
terms of the Neumann series of ``(I - S)^-1``::

    g = D (I + S + ... + S^K) D^-1 (rho - phi)

``D S D^-1`` times a vector ``v`` is ``rho_i (sum_j w_j - w_i)`` with ``w = v / (1 - rho)``. Two
terms are one pass over the list: with ``odds_i = rho_i / (1 - rho_i)`` the w of the second are
``odds_i (sum w - w_i)``, whose sum ``sum w sum odds - sum odds w`` is known beforehand. Odd K is
refused, because for two documents S has eigenvalue -1 and the numerator would be exactly zero. At
every order the numerators of a query sum to zero. From three documents on the series converges, as
gradients sum to zero, and its limit is known::

    (1 - rho) (rho - phi) - c rho (1 - rho),
    c = sum (1 - rho) (rho - phi) / sum rho (1 - rho)

which is Newton's step for two documents too, where every even order takes twice that
(``neumann_order="exact"``; docs/theory/softmax.md has the proof, and how close orders come).

Where one document holds nearly all the probability, ``1 - rho`` and ``sum_j w_j - w_i`` of that
document are differences of nearly equal numbers. Its sums are then taken over the others alone.

A leaf of few documents asks for a step of ``(phi - rho) / (rho (1 - rho))``, which for small rho is
far more than the ``log(phi / rho)`` that would be best. At a high learning rate that throws a query
away, and the next steps, over hessians of nearly 0, throw it further. A query whose loss exceeds
that of equal scores by more than :data:`LOST` therefore takes bounded steps from then on::

    g = rho - phi,    h = (rho + phi) / 2

with which no tree of a learning rate up to 1 raises the loss (proof in docs/theory/softmax.md).
What trainings with ordinary steps see is far below that excess: their numbers stay as they are.
"""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from gbrank.core import (
    EXACT_MATH,
    BoolArray,
    FloatArray,
    IntArray,
    exp,
    extremes,
    kernel,
)
from gbrank.objectives._kernels import PADDING
from gbrank.objectives.base import Objective

NEUMANN_ORDERS = (0, 2, 4)
#: In place of an order: bounded steps for every query, and the limit of all orders.
BOUNDED, EXACT = -1, 1
#: Excess of a query's loss over that of equal scores, log m, from which on its steps are bounded.
LOST = 5.0
_NEVER = np.iinfo(np.int64).max
#: Scratch rows that :func:`softmax_step` needs: rho, 1 / (1 - rho), gradient. One more is for a
#: target.
SOFTMAX_ROWS = 3
#: Up to here lists side by side are faster than one after the other, if they hold at least this
#: share of the documents: else they lie far apart in memory.
LONGEST_SHORT, LEAST_SHARE = 64, 1 / 3
#: Up to here they always are.
LONGEST_APART = 16
#: What the others may hold, relative to the top document, for its sums to be taken without it.
DOMINATED = 1e-4
# 1 - rho is at least this: a document that holds all the probability still gets finite numbers.
_SMALLEST_REST = 1e-300
#: Distances of scores count up to this: their sum stays finite.
FARTHEST = 1e300
#: A score that counts for nothing, where a list has ended.
BEYOND = -1.7976931348623157e308


def check_neumann_order(order: Any) -> None:
    """Refuse any order but 0, 2, 4 and "exact"."""
    if isinstance(order, str) and order == "exact":
        return
    if isinstance(order, bool) or not isinstance(order, Integral) or order not in NEUMANN_ORDERS:
        raise ValueError(
            f'neumann_order must be one of {NEUMANN_ORDERS} or "exact", got {order!r}; odd orders '
            "give a zero or reversed step for two documents"
        )


class SoftmaxObjective(Objective):
    """What the softmax losses share: orders of the numerator, and a form with bounded steps."""

    scratch_rows: ClassVar[int] = SOFTMAX_ROWS + 1
    longest_short = LONGEST_SHORT
    neumann_order: int | str
    _bounded = False

    @property
    def exact_hessian(self) -> bool:  # type: ignore[override]
        """Whether the hessian is the exact diagonal: not that of the bounded form."""
        return not self._bounded

    def plain_gradient(self) -> Self:
        return type(self)(**{**self.get_params(), "neumann_order": 0})

    def bounded(self) -> Self:
        twin = type(self)(**self.get_params())
        twin._bounded = True
        return twin

    @property
    def has_short_form(self) -> bool:
        """Whether the kernel for short lists has steps of this kind."""
        return not self._bounded and self.neumann_order in (0, 2)

    def longest_short_of(self, sizes: IntArray) -> int:
        if self.short_kernel is None:
            return 0
        share = sizes[sizes <= self.longest_short].sum() / max(sizes.sum(), 1)
        if share >= LEAST_SHARE:
            return self.longest_short
        return min(self.longest_short, LONGEST_APART)

    def query_state(self, sizes: IntArray) -> tuple[BoolArray, IntArray, BoolArray, int]:
        """Return what a step knows of each query, and up to which length they are short.

        Of each query: whether it counts, when it was found lost, and whether it was left. The
        iteration in which a query was found lost, none yet, is all that a training remembers from
        step to step. A step looks at earlier iterations only, so that one iteration can be computed
        any number of times. What the kernel for short lists leaves to the other one it says at each
        step.

        Parameters
        ----------
        sizes : number of documents of each query.
        """
        n_queries = len(sizes)
        return (
            sizes > 1,
            np.full(n_queries, _NEVER, dtype=np.int64),
            np.zeros(n_queries, dtype=np.bool_),
            self.longest_short_of(sizes),
        )

    def kernel_order(self) -> int:
        """Return the order as the step takes it."""
        if self._bounded:
            return BOUNDED
        return EXACT if self.neumann_order == "exact" else int(self.neumann_order)


def log_partition(scores: FloatArray, eps: float = 0.0) -> float:
    """Return ``log(sum e^s + eps)`` in plain NumPy."""
    if eps > 0:
        scores = np.append(scores, np.log(eps))
    top = scores.max()
    return float(top + np.log(np.exp(scores - top).sum()))


@kernel(EXACT_MATH)
def _normalised(e, scale, target, target_scale):
    """Return rho and ``rho - phi``, by products: where sums may be reordered, LLVM divides."""
    p = e * scale
    return p, p - target * target_scale


@kernel()
def softmax_step(
    scores, target, target_sum, eps, order, lost_at, query, iteration, scratch, grad, hess
):
    """Write numerator and hessian of one query; ``target / target_sum`` is phi.

    ``target`` is a row of scratch, longer than the list: loops over what is costly to compute run
    up to a multiple of :data:`PADDING`, with documents that count for nothing, so that they have no
    remainder of single ones.
    """
    m = len(scores)
    end = -(-m // PADDING) * PADDING
    rho, inverse_rest, first = scratch[0][:end], scratch[1][:end], scratch[2][:end]
    for i in range(m):
        rho[i] = scores[i]
    beyond, beyond_target = rho[m:], target[m:end]
    for i in range(len(beyond)):
        beyond[i] = BEYOND
        beyond_target[i] = 0.0
    _, top = extremes(rho)
    total = eps * exp(-top) if eps > 0.0 else 0.0
    distance = 0.0
    for i in range(end):
        below = min(top - rho[i], FARTHEST)
        rho[i] = exp(-below)
        total += rho[i]
        distance += target[i] * below
    distance /= target_sum
    bounded = order < 0 or lost_at[query] < iteration
    # the excess is at most that distance, unless eps has a part in the sum
    if not bounded and (not distance <= LOST or eps > 0.0):
        bounded = distance + np.log(total / m) > LOST
        if bounded:
            lost_at[query] = min(lost_at[query], iteration)
    if bounded:
        _bounded_step(total, target, target_sum, rho, grad, hess)
        return
    if total < 1.0 + DOMINATED or order > 2:  # what is rare, with loops for any order
        _dominated_step(scores, top, eps, target, target_sum, order, rho, first, grad, hess)
        return
    scale, target_scale = 1.0 / total, 1.0 / target_sum
    sum_odds, sum_w, sum_odds_w = 0.0, 0.0, 0.0
    for i in range(end):
        p, gradient = _normalised(rho[i], scale, target[i], target_scale)
        inverse = 1.0 / (1.0 - p)
        w, odds = gradient * inverse, p * inverse
        rho[i], first[i], inverse_rest[i] = p, gradient, inverse
        sum_odds += odds
        sum_w += w
        sum_odds_w += odds * w
    next_sum = sum_w * sum_odds - sum_odds_w
    carried = 1.0 if order == 2 else 0.0
    for i in range(m):
        p = rho[i]
        one = p * (sum_w - first[i] * inverse_rest[i]) * carried
        two = p * (next_sum - one * inverse_rest[i]) * carried
        # summed in float32, as LightGBM does
        grad[i] = np.float32(first[i]) + np.float32(one) + np.float32(two)
        hess[i] = np.float32(p * (1.0 - p))
    if order == EXACT:
        for i in range(m):
            first[i] *= inverse_rest[i]
        _exact_numerator(rho, first, -1, 0.0, grad)


@kernel()
def _exact_numerator(rho, w, at, rest_at, grad):
    """Write the limit of all orders; ``w`` is the gradient divided by ``1 - rho``.

    ``rest_at`` is ``1 - rho`` of document ``at``, where there is one that holds nearly all.
    """
    total, weight = 0.0, 0.0
    for i in range(len(grad)):
        rest = rest_at if i == at else 1.0 - rho[i]
        total += rest * rest * w[i]
        weight += rho[i] * rest
    c = total / max(weight, _SMALLEST_REST)
    for i in range(len(grad)):
        rest = rest_at if i == at else 1.0 - rho[i]
        grad[i] = np.float32(rest * (rest * w[i] - c * rho[i]))


@kernel()
def _bounded_step(total, target, target_sum, rho, grad, hess):
    """Write gradient and a hessian that bounds every step; rho is not yet divided."""
    for i in range(len(grad)):
        p, phi = rho[i] / total, target[i] / target_sum
        grad[i] = np.float32(p - phi)
        hess[i] = np.float32(0.5 * (p + phi))


@kernel()
def _dominated_step(scores, top, eps, target, target_sum, order, rho, w, grad, hess):
    """Do the same, of any order, also where the top document holds nearly all.

    Its sums are taken over the others alone; rho is not yet divided.
    """
    m = len(scores)
    at = 0
    while scores[at] != top:
        at += 1
    others = eps * exp(-top) if eps > 0.0 else 0.0
    others_target = 0.0
    for i in range(m):
        if i != at:
            others += rho[i]
            others_target += target[i]
    scale = 1.0 / (1.0 + others)
    rest = max(others * scale, _SMALLEST_REST)  # 1 - rho of the top document
    sum_others = 0.0
    for i in range(m):
        rho[i] *= scale
        first = rho[i] - target[i] / target_sum
        if i == at:
            first = others_target / target_sum - rest
        grad[i] = np.float32(first)
        hess[i] = np.float32(rho[i] * (rest if i == at else 1.0 - rho[i]))
        w[i] = first / (rest if i == at else 1.0 - rho[i])
        if i != at:
            sum_others += w[i]
    if order == EXACT:
        _exact_numerator(rho, w, at, rest, grad)
        return
    for _ in range(order):
        sum_w, next_sum = sum_others + w[at], 0.0
        for i in range(m):
            term = rho[i] * (sum_others if i == at else sum_w - w[i])
            grad[i] += np.float32(term)
            w[i] = term / (rest if i == at else 1.0 - rho[i])
            if i != at:
                next_sum += w[i]
        sum_others = next_sum
