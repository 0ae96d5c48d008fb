"""Pairwise hinge loss, with the weights of LambdaRank or without.

Loss of a query, over pairs of documents with different labels::

    sum_{r_i > r_j} w_ij max(0, 1 - (s_i - s_j))

``w_ij`` is 1 (``weights=None``) or what NDCG changes by when the two change places
(``weights="ndcg"``), ``|G_i - G_j| |D(rank_i) - D(rank_j)| / Z`` at the ranks of the current
scores, which count as given: there is no loss of which these are the gradients.

Each pair with a margin below 1 adds ``-w`` to the gradient of i, ``w`` to that of j, and ``w`` to
both hessians. The second derivative is 0; with this hessian the step of every leaf lies in [-1, 1],
the width of the margin.

References: Herbrich, Graepel, Obermayer, Large margin rank boundaries for ordinal regression, 2000;
Burges, Ragno, Le, Learning to rank with nonsmooth cost functions, NIPS 2006 (the weights).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_choice,
    compute_discounts,
    compute_gains,
    ideal_dcg,
    kernel,
    sort_by_score,
)
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._label_order import order_by_label
from gbrank.objectives._registry import register_objective
from gbrank.objectives.base import Objective


@kernel()
def _pairwise_hinge_block(
    first, last, bounds, scores, labels, gains, discounts, used, iteration, scratch, grad, hess
):
    weighted = len(discounts) > 0
    order, discount = scratch[0].view(np.int64), scratch[1]
    forces, hessians = scratch[2], scratch[3]
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if not used[q]:
            zero_step(grad[a:b], hess[a:b])
            continue
        m = b - a
        s = scores[a:b]
        forces[:m] = 0.0
        hessians[:m] = 0.0
        if weighted:
            for i in range(m):
                order[i] = i
            sort_by_score(s, order[:m], scratch[4][:m], scratch[5], scratch[6].view(np.int64))
            for place in range(m):
                discount[order[place]] = discounts[place]
        for i in range(m):
            for j in range(m):
                if labels[a + i] > labels[a + j] and s[i] - s[j] < 1.0:
                    w = 1.0
                    if weighted:
                        w = abs((gains[a + i] - gains[a + j]) * (discount[i] - discount[j]))
                    forces[i] -= w
                    forces[j] += w
                    hessians[i] += w
                    hessians[j] += w
        for i in range(m):
            grad[a + i] = np.float32(forces[i])
            hess[a + i] = np.float32(hessians[i])


class PairwiseHinge(Objective):
    """Hinge loss of pairs: ``sum_{r_i > r_j} w_ij max(0, 1 - (s_i - s_j))``.

    A query whose labels are all equal has no pairs and is left out.

    Parameters
    ----------
    weights : {"ndcg", None}, default="ndcg"
        Weight of a pair: what NDCG changes by when the two documents change places, as in
        LambdaRank, or 1.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Herbrich, Graepel, Obermayer, Large margin rank boundaries for ordinal regression, 2000.
    Burges, Ragno, Le, Learning to rank with nonsmooth cost functions, NIPS 2006.

    Examples
    --------
    >>> from gbrank import PairwiseHinge
    >>> PairwiseHinge(weights=None).loss([1, 0, 0], [0.0, 0.5, -2.0], group=[3])
    array([1.5])
    >>> PairwiseHinge(weights=None).grad_hess([1, 0, 0], [0.0, 0.5, -2.0], group=[3])[0]
    array([-1.,  1.,  0.], dtype=float32)
    """

    formula = "`sum_{r_i > r_j} w_ij max(0, 1 - (s_i - s_j))`, `w` what a swap changes NDCG by"
    consistent_with = "nothing is proved"
    cost = "`m^2`"
    when = "margins; the loss of ranking SVMs"

    kernel = staticmethod(_pairwise_hinge_block)
    scratch_rows: ClassVar[int] = 7

    def __init__(
        self,
        weights: str | None = "ndcg",
        gain: GainSpec | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.weights = weights
        self.gain = gain
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def has_loss(self) -> bool:  # type: ignore[override]
        """Whether weights stay what they are when scores change."""
        return self.weights is None

    def check_params(self) -> None:
        check_choice("weights", self.weights, ("ndcg", None))
        if not callable(self.gain):
            compute_gains(np.zeros(1), self.value_of("gain"))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        used = order_by_label(labels, layout)[2]
        if self.weights is None:
            return labels, np.zeros(0), np.zeros(0), used
        gains = compute_gains(labels, self.value_of("gain"), layout)
        discounts = compute_discounts(int(layout.sizes.max(initial=1)))
        best = ideal_dcg(gains, layout.bounds, discounts)
        used &= best > 0
        shares = gains / np.repeat(np.where(used, best, np.inf), layout.sizes)
        return labels, shares, discounts, used

    def query_cost(self, sizes: IntArray) -> IntArray:
        return sizes * (1 + sizes // 4)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if self.weights is not None:
            return super().query_loss(labels, scores, query=query, iteration=iteration)
        margins = (scores[:, None] - scores[None, :])[labels[:, None] > labels[None, :]]
        return float(np.maximum(0.0, 1.0 - margins).sum())


register_objective("pairwise_hinge", PairwiseHinge)
