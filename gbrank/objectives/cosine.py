"""Cosine similarity of scores and normalised gains.

Loss of a query with scores s and target t, the gains over the best DCG or over their own Euclidean
norm::

    1 - <s, t> / n + (penalty / 2) |s|^2,    n = sqrt(|s|^2 + 1)

The similarity alone is not defined at s = 0, where boosting starts, and better scores can always be
had by longer ones. The 1 in n does away with the first, the penalty (``scale_penalty``) with the
second. Both see only the length of s, so the expectation is least in the direction of ``E[t]``.

Gradient ``-t / n + (<s, t> / n^3 + penalty) s``. The exact hessian is 0 at s = 0 and negative
elsewhere. The hessian used, the same for all documents of a query, is a bound::

    h = |t| K / n^2 + penalty,    K = min(2, n / sqrt(2 n + 1))
    loss(s + v)  <=  loss(s) + <g, v> + sum_i h v_i^2    for every step v

so that at a learning rate up to 1 no tree raises the loss. Scores beyond +-1e15 count as +-1e15.

The derivation is in the documentation, theory page.

References: Qin, Zhang, Tsai, Wang, Liu, Li, Query-level loss functions for information retrieval,
Information Processing and Management 2007 (the original, ``norm="l2"``); Ravikumar, Tewari, Yang,
On NDCG consistency of listwise ranking methods, AISTATS 2011, section 3.3; Xia, Liu, Li,
Statistical consistency of top-k ranking, NIPS 2009, section 4.3 (top k).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbrank.core import (
    DiscountSpec,
    FloatArray,
    GainSpec,
    QueryLayout,
    check_choice,
    check_integer,
    check_number,
    kernel,
)
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import RelevanceObjective

_LARGEST_SCORE = 1e15


@kernel(wide=False)
def _cosine_query(scores, target, target_norm, penalty, grad, hess):
    dot, squares = 0.0, 1.0
    for i in range(len(scores)):
        s = min(max(scores[i], -_LARGEST_SCORE), _LARGEST_SCORE)
        dot += s * target[i]
        squares += s * s
    length = np.sqrt(squares)
    inverse = 1.0 / length
    along = dot * inverse * inverse * inverse + penalty
    bend = min(2.0, length / np.sqrt(2.0 * length + 1.0))
    hessian = np.float32(target_norm * bend * inverse * inverse + penalty)
    for i in range(len(scores)):
        s = min(max(scores[i], -_LARGEST_SCORE), _LARGEST_SCORE)
        grad[i] = np.float32(along * s - inverse * target[i])
        hess[i] = hessian


@kernel(wide=False)
def _cosine_block(
    first, last, bounds, scores, target, target_norms, penalty, iteration, scratch, grad, hess
):
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if target_norms[q] > 0.0:
            _cosine_query(scores[a:b], target[a:b], target_norms[q], penalty, grad[a:b], hess[a:b])
        else:
            zero_step(grad[a:b], hess[a:b])


class Cosine(RelevanceObjective):
    """Cosine loss ``1 - <s, t> / n`` with ``t = G / Z``, consistent with NDCG.

    ``n = sqrt(|s|^2 + 1)``, and ``(scale_penalty / 2) |s|^2`` is added. The expectation is least in
    the direction of ``E[t]``, whose order is the best for expected NDCG. With ``k`` the loss is
    top-k order sensitive. It is not convex in the scores. A query of one document or of equal gains
    has nothing to rank and is left out.

    Parameters
    ----------
    norm : {"dcg", "l2"}, default="dcg"
        What gains are divided by: the best DCG of the query, or their Euclidean norm (the original
        loss, which is not consistent with NDCG).
    norm_at : int >= 1, default=None
        Cut-off of that DCG; ``None`` for none. A truncated one is consistent no longer.
    k : int >= 1, default=None
        Gains below the k-th largest of a query count as 0, before anything else; ``None`` keeps
        all.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    discount : "log", "power", "zipf", "exp" or callable, default="log"
        What a rank is worth: see :func:`gbrank.gains.compute_discounts`.
    scale_penalty : float in [0, 1], default=0.001
        Keeps scores from growing without end, which the cosine itself does not see.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011.
    Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009.

    Examples
    --------
    >>> from gbrank import Cosine
    >>> grad, hess = Cosine(norm_at=1).grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad  # -t, t = (1, 0)
    array([-1.,  0.], dtype=float32)
    >>> hess  # 1 / sqrt(3) + 0.001
    array([0.57835025, 0.57835025], dtype=float32)
    """

    formula = "`1 - <s, u> / sqrt(|s|^2 + 1)` and a small penalty on the length of `s`"
    consistent_with = 'NDCG; not with `norm="l2"`'
    cost = "`m`"
    when = "queries that should count alike whatever their scale"

    kernel = staticmethod(_cosine_block)

    def __init__(
        self,
        norm: str = "dcg",
        norm_at: int | None = None,
        k: int | None = None,
        gain: GainSpec | None = None,
        discount: DiscountSpec = "log",
        scale_penalty: float = 1e-3,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.norm = norm
        self.norm_at = norm_at
        self.k = k
        self.gain = gain
        self.discount = discount
        self.scale_penalty = scale_penalty
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_choice("norm", self.norm, ("dcg", "l2"))
        if self.k is not None:
            check_integer("k", self.k, low=1, also="None")
        check_number("scale_penalty", self.scale_penalty, low=0.0, high=1.0)
        super().check_params()

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        target, used = self.relevance(labels, layout)
        norms = np.zeros(layout.n_queries)
        filled = layout.sizes > 0
        if filled.any():
            norms[filled] = np.sqrt(np.add.reduceat(target**2, layout.bounds[:-1][filled]))
        return target, np.where(used, norms, 0.0)

    def kernel_params(self) -> tuple[Any, ...]:
        return (float(self.scale_penalty),)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        target = self.relevance_of_query(labels)
        if target is None:
            return 0.0
        s = np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)
        squares = float(s @ s)
        similarity = float(s @ target) / float(np.sqrt(squares + 1.0))
        return 1.0 - similarity + 0.5 * self.scale_penalty * squares


register_objective("cosine", Cosine)
