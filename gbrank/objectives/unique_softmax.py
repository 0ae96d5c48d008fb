"""Unique softmax: every document against those that are less relevant, weighted by its gain.

Loss of a query, with ``w_i = G_i / sum G`` the share that document i has of the gains::

    sum_i w_i log(1 + sum_{j: r_j < r_i} e^(s_j - s_i))

a softmax for each document, over itself and the documents of lower labels. With ``p_ij`` the part
that document j has in the softmax of i::

    g_j = sum_i w_i p_ij - w_j,    h_j = (sum_i w_i p_ij + w_j) / 2

over the softmaxes that j takes part in. The hessian is the one of :mod:`gbrank.objectives.listmle`,
a sum of softmaxes too: with it no tree of a learning rate up to 1 raises the loss. Documents are
sorted by label once per training; sums of ``e^s`` from the lowest label upwards, and of
``w_i / sum`` from the highest downwards, give all of it in O(m). Scores more than 600 below the
best of their list count as 600 below.

Reference: Zhuang et al., Are neural rankers still outperformed by gradient boosted decision trees?
ICLR 2021 (the loss "unique softmax" of TensorFlow Ranking, which does not divide by the sum of
gains).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, GainSpec, QueryLayout, compute_gains, exp, extremes, kernel
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._label_order import order_by_label
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import mean_of_queries
from gbrank.objectives.base import Objective

_LOWEST = -600.0


@kernel()
def _unique_softmax_block(
    first, last, bounds, scores, weights, order, tie_ends, used, iteration, scratch, grad, hess
):
    e, inverse = scratch[0], scratch[1]
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if not used[q]:
            zero_step(grad[a:b], hess[a:b])
            continue
        m = b - a
        _, top = extremes(scores[a:b])
        for place in range(m):
            e[place] = exp(max(scores[a + order[a + place]] - top, _LOWEST))
        # from the lowest label upwards: the sum over those with lower labels
        below, place = 0.0, m - 1
        while place >= 0:
            end, total = tie_ends[a + place], 0.0
            while place >= 0 and tie_ends[a + place] == end:
                inverse[place] = weights[a + order[a + place]] / (below + e[place])
                total += e[place]
                place -= 1
            below += total
        # from the highest label downwards: what the softmaxes of higher labels ask for
        above, place = 0.0, 0
        while place < m:
            end, total = tie_ends[a + place], 0.0
            while place < end:
                row = a + order[a + place]
                total += inverse[place]
                asked = e[place] * (above + inverse[place])
                grad[row] = np.float32(asked - weights[row])
                hess[row] = np.float32(0.5 * (asked + weights[row]))
                place += 1
            above += total


class UniqueSoftmax(Objective):
    """Softmaxes over lower labels: ``sum_i w_i log(1 + sum_{r_j < r_i} e^(s_j - s_i))``.

    ``w_i = G_i / sum G``. A document competes with those of lower labels only, so that equal labels
    do not push each other. A query of one document or of equal labels is left out.

    Parameters
    ----------
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Zhuang et al., Are neural rankers still outperformed by gradient boosted decision trees?, ICLR
    2021.

    Examples
    --------
    >>> from gbrank import UniqueSoftmax
    >>> grad, hess = UniqueSoftmax().grad_hess([1, 0, 0], [0.0, 0.0, 0.0], group=[3])
    >>> grad  # 1/3, less 1 for the relevant document
    array([-0.6666667 ,  0.33333334,  0.33333334], dtype=float32)
    """

    formula = "`sum_i w_i log(1 + sum_{r_j < r_i} exp(s_j - s_i))`, `w = G / sum G`"
    consistent_with = "none that is proved; not NDCG"
    cost = "`m`"
    when = "TensorFlow Ranking's loss of that name; the top of the list"

    kernel = staticmethod(_unique_softmax_block)
    scratch_rows: ClassVar[int] = 2

    def __init__(self, gain: GainSpec | None = None, *, n_jobs: int | None = None) -> None:
        self.gain = gain
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        if not callable(self.gain):
            compute_gains(np.zeros(1), self.value_of("gain"))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        gains = compute_gains(labels, self.value_of("gain"), layout)
        order, tie_ends, used = order_by_label(labels, layout)
        means = mean_of_queries(gains, layout)
        used &= means > 0
        totals = np.where(used, means, 1.0) * np.maximum(layout.sizes, 1)
        return gains / np.repeat(totals, layout.sizes), order, tie_ends, used

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        gains = compute_gains(labels, self.value_of("gain"))
        if len(labels) < 2 or labels.min() == labels.max() or gains.max() == 0:
            return 0.0
        s = np.maximum(scores - scores.max(), _LOWEST)
        lower = labels[:, None] > labels[None, :]
        ahead = np.where(lower, s[None, :] - s[:, None], -np.inf)
        losses = np.logaddexp(0.0, np.logaddexp.reduce(ahead, axis=1))
        return float(losses @ (gains / gains.sum()))


register_objective("unique_softmax", UniqueSoftmax)
