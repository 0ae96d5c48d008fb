"""Pairwise losses weighted by relevance: consistent with NDCG, or with ERR.

Loss of a query::

    sum_j u_j sum_{l != j} phi(s_j - s_l),    u = G(r) / Z(r)

with phi one of ``log(1 + e^-x)`` (logistic), ``e^-x`` (exponential) and ``max(0, 1 - x)^2``
(squared hinge). The scores that minimise the expected loss are ordered as E[u], the order that is
best for NDCG. ``norm=None`` takes ``u = G``, whose expectation orders documents best for ERR where
their relevances are independent of one another, and not otherwise
(:func:`gbrank.theory.dependent_relevances`).

The paper prints ``phi(s_l - s_j)``. With a phi that does not increase this rewards a relevant
document for falling behind: its minimiser is in reverse order. The orientation here is the one
that its theorem is about.

Gradient and hessian, the exact diagonal of the Hessian (of the squared hinge, where there is one:
not where a margin is 1; of the logistic loss with the bound of :mod:`gbrank.objectives._pairs`)::

    g_j = u_j sum_l phi'(s_j - s_l) - sum_l u_l phi'(s_l - s_j)
    h_j = u_j sum_l phi''(s_j - s_l) + sum_l u_l phi''(s_l - s_j)

- logistic: only pairs with a relevant document count, so documents are sorted by u once per
  training; the pairs themselves: see :mod:`gbrank.objectives._pairs`.
Negative gains (``norm=None``): gradient of the positive ones minus that of the absolute negative
ones, and the sum of both hessians, which bounds the exact one.

- exponential: ``e^-(s_j - s_l)`` is a product, so with ``A = sum_l u_l e^-s_l`` and
  ``B = sum_l e^s_l`` there remain ``g_j = e^s_j A - u_j e^-s_j B`` and
  ``h_j = e^s_j A + u_j e^-s_j B - 2 u_j``: O(m).
- squared hinge: the documents that count for j are those less than 1 below it, or less than 1
  above it. In the order of scores these are a beginning and an end of the list, so sums of 1, s, u
  and u s from either side are enough: O(m log m), and about O(m) because orders change little.

Clipped so that all numbers stay finite in float32: gradients and hessians at +-1e30; for the
exponential, scores farther than 300 from the middle of those of the query.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
section 3.3; Zhang, Statistical analysis of some multi-category large margin classification
methods, JMLR 2004, theorem 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gbrank.core import (
    DiscountSpec,
    Float32Array,
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_choice,
    exp,
    extremes,
    has_negative_gains,
    kernel,
    sort_by_score,
)
from gbrank.objectives._kernels import middle_of, zero_step
from gbrank.objectives._label_order import order_by_label
from gbrank.objectives._pairs import logistic_pairs
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import RelevanceObjective
from gbrank.objectives._training import Step

_LIMIT = 1e30  # of gradients and hessians, and of score distances of the squared hinge
_REACH = 300.0  # of the exponential on either side of the middle score


def _exponential(margins: FloatArray) -> FloatArray:
    return np.exp(-margins)


def _logistic(margins: FloatArray) -> FloatArray:
    return np.logaddexp(0.0, -margins)


def _squared_hinge(margins: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # the loss of scores beyond 1e154 is infinite
        return np.maximum(0.0, 1.0 - margins) ** 2


_PHI: dict[str, Callable[[FloatArray], FloatArray]] = {
    "logistic": _logistic,
    "exponential": _exponential,
    "squared_hinge": _squared_hinge,
}
_CODES = {name: code for code, name in enumerate(_PHI)}
_LOGISTIC, _EXPONENTIAL = _CODES["logistic"], _CODES["exponential"]


@kernel(wide=False)
def _write(g, h, scale, grad, hess):
    for i in range(len(grad)):
        grad[i] = np.float32(min(max(scale * g[i], -_LIMIT), _LIMIT))
        hess[i] = np.float32(min(max(scale * h[i], 0.0), _LIMIT))


@kernel(wide=False)
def _logistic_query(scores, weights, order, g, h, scratch):
    m = len(scores)
    sorted_scores, sorted_weights, xs = scratch[0], scratch[1], scratch[2]
    forces, hessians, starts = scratch[3], scratch[4], scratch[5].view(np.int32)[:m]
    n_relevant = 0
    for i in range(m):
        sorted_scores[i] = scores[order[i]]
        sorted_weights[i] = weights[order[i]]
        starts[i] = i + 1
        n_relevant += weights[i] > 0.0
    logistic_pairs(
        sorted_scores, sorted_weights, sorted_weights, starts, n_relevant, xs, forces, hessians
    )
    for i in range(m):
        g[order[i]] = forces[i]
        h[order[i]] = hessians[i]


@kernel(wide=False)
def _exponential_query(scores, weights, g, h):
    m = len(scores)
    lowest, highest = extremes(scores)
    middle = middle_of(lowest, highest)
    upwards, downwards = 0.0, 0.0
    for i in range(m):
        centred = min(max(scores[i] - middle, -_REACH), _REACH)
        g[i] = exp(centred)
        h[i] = weights[i] / g[i]
        upwards += g[i]
        downwards += h[i]
    for i in range(m):
        pushed_down, pushed_up = g[i] * downwards, h[i] * upwards
        g[i] = pushed_down - pushed_up
        h[i] = pushed_down + pushed_up - 2.0 * weights[i]


@kernel(wide=False)
def _squared_hinge_query(scores, weights, order, g, h, scratch):
    m = len(scores)
    keys, weight_below, moment_below = scratch[0], scratch[1], scratch[2]
    sort_by_score(scores, order, keys[:m], scratch[1], scratch[2].view(np.int64))
    highest = keys[0]
    for i in range(m):  # relative to the best score, from 0 downwards
        keys[i] = max(keys[i] - highest, -_LIMIT)
    weight, moment = 0.0, 0.0
    for i in range(m - 1, -1, -1):
        weight += weights[order[i]]
        moment += weights[order[i]] * keys[i]
        weight_below[i], moment_below[i] = weight, moment
    # documents before n_near are less than 1 below i or above it, those from first on the reverse
    n_near, first, sum_near = 0, 0, 0.0
    for i in range(m):
        key, u = keys[i], weights[order[i]]
        while n_near < m and key - keys[n_near] < 1.0:
            sum_near += keys[n_near]
            n_near += 1
        while keys[first] - key >= 1.0:
            first += 1
        pushed_up = u * (n_near * (1.0 - key) + sum_near)
        pushed_down = weight_below[first] * (1.0 + key) - moment_below[first]
        g[order[i]] = 2.0 * (pushed_down - pushed_up)
        h[order[i]] = 2.0 * (u * (n_near - 2) + weight_below[first])


@kernel(wide=False)
def _gain_pairwise_block(
    first, last, bounds, scores, weights, scales, used, order, phi, iteration, scratch, grad, hess
):
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if not used[q]:
            zero_step(grad[a:b], hess[a:b])
            continue
        g, h, rows = scratch[0], scratch[1], scratch[2:]
        if phi == _LOGISTIC:
            _logistic_query(scores[a:b], weights[a:b], order[a:b], g, h, rows)
        elif phi == _EXPONENTIAL:
            _exponential_query(scores[a:b], weights[a:b], g, h)
        else:
            _squared_hinge_query(scores[a:b], weights[a:b], order[a:b], g, h, rows)
        _write(g, h, scales[q], grad[a:b], hess[a:b])


class GainPairwise(RelevanceObjective):
    """Relevance-weighted pairs: ``sum_j u_j sum_{l != j} phi(s_j - s_l)``, ``u = G / Z``.

    Consistent with NDCG; with ``norm=None``, which takes ``u = G``, with ERR instead, if the
    relevances of documents are independent. A query of one document or of equal gains is left out.

    Parameters
    ----------
    phi : {"logistic", "exponential", "squared_hinge"}, default="logistic"
        Loss of a margin. The first costs O(m) for every relevant document of a list of m, the
        exponential O(m) a list, the squared hinge O(m log m).
    norm : {"dcg", None}, default="dcg"
        Divide the gains of a query by its best DCG, or not. ``None`` takes negative gains: see
        :func:`gbrank.gains.corrected_gain`.
    norm_at : int >= 1, default=None
        Cut-off of the best DCG; only ``None`` is consistent with NDCG without a cut-off.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    discount : "log", "power", "zipf", "exp" or callable, default="log"
        What a rank is worth: see :func:`gbrank.gains.compute_discounts`.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013.

    Examples
    --------
    >>> from gbrank import GainPairwise
    >>> grad, hess = GainPairwise().grad_hess([2, 0, 0], [0.0, 0.0, 0.0], group=[3])
    >>> grad, hess  # u = (1, 0, 0): 1/2 and 1/4 for each of two pairs
    (array([-1. ,  0.5,  0.5], dtype=float32), array([0.5 , 0.25, 0.25], dtype=float32))
    """

    formula = "`sum_j u_j sum_l phi(s_j - s_l)`, `u = G(r) / Z(r)`, `phi` logistic"
    consistent_with = "NDCG; with `norm=None` ERR, if relevances are independent"
    cost = "relevant documents times `m`; about `m` with `phi` exponential or squared hinge"
    when = "a guarantee for noisy labels"

    kernel = staticmethod(_gain_pairwise_block)
    scratch_rows: ClassVar[int] = 8
    shift_invariant: ClassVar[bool] = True

    def __init__(
        self,
        phi: str = "logistic",
        norm: str | None = "dcg",
        norm_at: int | None = None,
        gain: GainSpec | None = None,
        discount: DiscountSpec = "log",
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.phi = phi
        self.norm = norm
        self.norm_at = norm_at
        self.gain = gain
        self.discount = discount
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def exact_hessian(self) -> bool:  # type: ignore[override]
        """Whether it is the second derivative: a hinge has none where a margin is 1."""
        return self.phi == "exponential" and not has_negative_gains(self.gain)

    @property
    def takes_signed_gains(self) -> bool:  # type: ignore[override]
        """Whether gains may be negative: where they are not divided by the best DCG."""
        return self.norm is None

    def check_params(self) -> None:
        check_choice("phi", self.phi, tuple(_PHI))
        check_choice("norm", self.norm, ("dcg", None))
        super().check_params()

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return self._prepare(*self.relevance(labels, layout), layout)

    def _prepare(
        self, relevance: FloatArray, used: NDArray[np.bool_], layout: QueryLayout
    ) -> tuple[Any, ...]:
        largest = np.ones(layout.n_queries)
        if used.any():
            filled = layout.sizes > 0
            highest = np.maximum.reduceat(relevance, layout.bounds[:-1][filled])
            largest[filled] = np.where(used[filled] & (highest > 0), highest, 1.0)
        # relative to the largest, so that gains up to 2^1000 do not overflow on the way
        weights = relevance / np.repeat(largest, layout.sizes)
        order, _, _ = order_by_label(weights, layout)
        return weights, largest, used, order.astype(np.int64)

    def make_step(self, labels: FloatArray, layout: QueryLayout) -> Step:
        if not has_negative_gains(self.gain):
            return super().make_step(labels, layout)
        relevance, used = self.relevance(labels, layout)
        up = self._prepare(np.maximum(relevance, 0.0), used, layout)
        down = self._prepare(np.maximum(-relevance, 0.0), used, layout)
        phi = self.kernel_params()
        # threads write into pieces of their own
        other_grad, other_hess = np.empty((2, layout.n_rows), dtype=np.float32)

        def step(
            first: int,
            last: int,
            bounds: IntArray,
            scores: FloatArray,
            iteration: int,
            scratch: FloatArray,
            grad: Float32Array,
            hess: Float32Array,
        ) -> None:
            rows = slice(bounds[first], bounds[last])
            for part, g, h in ((up, grad, hess), (down, other_grad, other_hess)):
                _gain_pairwise_block(
                    first, last, bounds, scores, *part, *phi, iteration, scratch, g, h
                )
            grad[rows] -= other_grad[rows]
            hess[rows] += other_hess[rows]

        return step

    def query_cost(self, sizes: IntArray) -> IntArray:
        # about half of the documents meet all others, and eight pairs cost as much as a document
        return sizes * (1 + sizes // 8) if self.phi == "logistic" else sizes

    def kernel_params(self) -> tuple[Any, ...]:
        return (_CODES[self.phi],)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        relevance = self.relevance_of_query(labels)
        if relevance is None:
            return 0.0
        if self.phi == "exponential":
            middle = 0.5 * scores.min() + 0.5 * scores.max()
            scores = np.clip(scores, middle - _REACH, middle + _REACH)
        total = 0.0
        for j in np.flatnonzero(relevance):
            margins = scores[j] - np.delete(scores, j)
            total += relevance[j] * float(_PHI[self.phi](margins).sum())
        return total


register_objective("gain_pairwise", GainPairwise)
