"""Squared error against normalised gains.

Loss of a query of m documents, with u = G / Z the gains divided by the best DCG::

    sum_i (s_i - u_i)^2                    reduction="sum"
    sum_i (s_i - u_i)^2 / (2 m)            reduction="mean"

Gradient ``2 (s - u)`` and hessian 2, both times ``1 / (2 m)`` for the mean: the exact Hessian,
so that a leaf takes its best value in one step. ``norm=None`` regresses on G itself, the original
loss, which is not consistent with NDCG. ``center=True`` counts targets from the mean of their
list, ``u_i - mean u``: trees then are not spent on how relevant a list is as a whole, which no
order depends on. A constant per list is taken off, so that the order of expectations, and with it
consistency, stays.

Differences ``s - u`` count as at most 1e30 in size, so that float32 holds every gradient.

References: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
section 3.3; Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics
2013, equation 28 (the mean).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    DiscountSpec,
    FloatArray,
    GainSpec,
    QueryLayout,
    check_choice,
    compute_gains,
    kernel,
)
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import RelevanceObjective, mean_of_queries

_FARTHEST = 1e30


@kernel(wide=False)
def _squared_block(first, last, bounds, scores, target, hessian, iteration, scratch, grad, hess):
    a, b = bounds[first], bounds[last]  # documents do not depend on one another
    s, u, c, g, h = scores[a:b], target[a:b], hessian[a:b], grad[a:b], hess[a:b]
    for i in range(len(s)):
        difference = min(max(s[i] - u[i], -_FARTHEST), _FARTHEST)
        g[i] = np.float32(c[i] * difference)
        h[i] = np.float32(c[i])


class Squared(RelevanceObjective):
    """Squared error ``sum (s - u)^2`` with ``u = G / Z``, consistent with NDCG.

    Its expectation is least at ``s = E[u]``, and the order of ``E[u]`` is the best for expected
    NDCG. A query of one document or of equal gains has nothing to rank and is left out, except with
    ``norm=None``, which is plain regression on all rows.

    Parameters
    ----------
    norm : "dcg" or None, default="dcg"
        What gains are divided by: the best DCG of the query, or nothing (the original loss, which
        is not consistent with NDCG, but takes negative gains: see
        :func:`gbrank.gains.corrected_gain`).
    norm_at : int >= 1, default=None
        Cut-off of that DCG; ``None`` for none. A truncated one is consistent no longer.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    discount : "log", "power", "zipf", "exp" or callable, default="log"
        What a rank is worth: see :func:`gbrank.gains.compute_discounts`.
    reduction : {"sum", "mean"}, default="sum"
        "mean" divides by twice the number of documents. Hessians then are 1 / m, and a query
        has total weight 1: mind LightGBM's ``min_sum_hessian_in_leaf``.
    center : bool, default=False
        Whether targets count from the mean of their list. Its level is then nothing to learn.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011.

    Examples
    --------
    >>> from gbrank import Squared
    >>> grad, hess = Squared(norm_at=1).grad_hess([2, 1, 0], [0.0, 0.0, 0.0], group=[3])
    >>> grad  # -2 u, u = (3, 1, 0) / 3
    array([-2.       , -0.6666667,  0.       ], dtype=float32)
    >>> hess
    array([2., 2., 2.], dtype=float32)
    """

    formula = "`sum (s_i - u_i)^2`, `u = G(r) / Z(r)`"
    consistent_with = "NDCG; not with `norm=None`"
    cost = "`m`"
    when = "a guarantee at the price of regression"

    kernel = staticmethod(_squared_block)
    exact_hessian: ClassVar[bool] = True

    def __init__(
        self,
        norm: str | None = "dcg",
        norm_at: int | None = None,
        gain: GainSpec | None = None,
        discount: DiscountSpec = "log",
        reduction: str = "sum",
        center: bool = False,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.norm = norm
        self.norm_at = norm_at
        self.gain = gain
        self.discount = discount
        self.reduction = reduction
        self.center = center
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def takes_signed_gains(self) -> bool:  # type: ignore[override]
        """Whether gains may be negative: where they are not divided by the best DCG."""
        return self.norm is None

    def check_params(self) -> None:
        check_choice("norm", self.norm, ("dcg", None))
        check_choice("reduction", self.reduction, ("sum", "mean"))
        check_choice("center", self.center, (True, False))
        super().check_params()

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        if self.norm is None:
            target = compute_gains(labels, self.value_of("gain"), layout, signed=True)
            used = np.ones(layout.n_queries, dtype=bool)
        else:
            target, used = self.relevance(labels, layout)
        if self.center:
            target = target - np.repeat(mean_of_queries(target, layout), layout.sizes)
        of_query = 2.0 / (2.0 * np.maximum(layout.sizes, 1) if self.reduction == "mean" else 1.0)
        return target, np.repeat(np.where(used, of_query, 0.0), layout.sizes)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if self.norm is None:
            target: FloatArray | None = compute_gains(labels, self.value_of("gain"), signed=True)
        else:
            target = self.relevance_of_query(labels)
        if target is None or len(labels) == 0:
            return 0.0
        if self.center:
            target = target - target.mean()
        total = float(np.sum(np.clip(scores - target, -_FARTHEST, _FARTHEST) ** 2))
        return total / (2 * len(labels)) if self.reduction == "mean" else total


register_objective("squared", Squared)
