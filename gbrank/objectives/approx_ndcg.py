"""ApproxNDCG: one minus NDCG at ranks that depend smoothly on scores.

With T the temperature, the rank of document i is counted by sigmoids instead of steps::

    rank_i = 1 + sum_{j != i} 1 / (1 + e^((s_i - s_j) / T))
    loss = 1 - sum_i u_i / log2(1 + rank_i)

u = G / Z. As T goes to 0 this becomes 1 - NDCG, where scores differ. With ``c_i`` = u_i times the
slope of the discount at rank_i, and ``q_ij`` the derivative ``p (1 - p)`` of the sigmoid, which is
the same for both of a pair::

    g_i = - sum_j q_ij (c_i - c_j) / T,    h_i = sum_j q_ij |c_i - c_j| / T^2

The loss is not convex. The hessian is not a bound of it: it has the size that the second
derivative has near the middle of a sigmoid, and as ``|g| <= T h`` the step of every leaf lies in
[-T, T]. Pairs far apart, relative to T, ask for nothing, in the wrong order too.

Reference: Qin, Liu, Li, A general approximation framework for direct optimization of information
retrieval measures, Information Retrieval 2010.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, GainSpec, IntArray, QueryLayout, check_number, kernel, log
from gbrank.core import sigmoid as logistic
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import RelevanceObjective

_LN_2 = float(np.log(2.0))


@kernel()
def _approx_ndcg_block(
    first, last, bounds, scores, target, used, temperature, iteration, scratch, grad, hess
):
    pulls, ranks = scratch[0], scratch[1]
    forces, hessians = scratch[2], scratch[3]
    inverse = 1.0 / temperature
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if not used[q]:
            zero_step(grad[a:b], hess[a:b])
            continue
        m = b - a
        s, u = scores[a:b], target[a:b]
        ranks[:m] = 1.0
        forces[:m] = 0.0
        hessians[:m] = 0.0
        for i in range(m):
            for j in range(i + 1, m):
                behind = logistic((s[j] - s[i]) * inverse)
                ranks[i] += behind
                ranks[j] += 1.0 - behind
        for i in range(m):
            natural = log(1.0 + ranks[i])
            pulls[i] = u[i] * _LN_2 / ((1.0 + ranks[i]) * natural * natural)
        for i in range(m):
            for j in range(i + 1, m):
                behind = logistic((s[j] - s[i]) * inverse)
                g = behind * (1.0 - behind) * (pulls[i] - pulls[j])
                forces[i] -= g
                forces[j] += g
                hessians[i] += abs(g)
                hessians[j] += abs(g)
        for i in range(m):
            grad[a + i] = np.float32(forces[i] * inverse)
            hess[a + i] = np.float32(hessians[i] * inverse * inverse)


class ApproxNDCG(RelevanceObjective):
    """NDCG at smooth ranks: ``1 - sum u_i / log2(1 + rank_i)``, ranks being sums of sigmoids.

    A query of one document or of equal gains has nothing to rank and is left out.

    Parameters
    ----------
    temperature : float in [1e-3, 1000], default=1.0
        Difference of scores at which a sigmoid has done most of its way. Small ones are closer to
        NDCG and have gradients of nearly 0 in most places; no step of a leaf is larger.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Qin, Liu, Li, A general approximation framework for direct optimization of information retrieval
    measures, Information Retrieval 2010.

    Examples
    --------
    >>> from gbrank import ApproxNDCG
    >>> ApproxNDCG().loss([1, 0], [0.0, 0.0], group=[2]).round(4)  # 1 - 1 / log2(1 + 1.5)
    array([0.2435])
    >>> ApproxNDCG(temperature=0.01).loss([1, 0], [0.0, 1.0], group=[2]).round(4)  # 1 - 1 / log2(3)
    array([0.3691])
    """

    formula = "`1 - sum u_i / log2(1 + rank_i)`, `rank_i = 1 + sum_j sigmoid((s_j - s_i) / T)`"
    consistent_with = "NDCG in the limit `T -> 0`, where it is not convex and hard to minimise"
    cost = "`m^2`"
    when = "TensorFlow Ranking's loss of that name"

    kernel = staticmethod(_approx_ndcg_block)
    shift_invariant: ClassVar[bool] = True
    scratch_rows: ClassVar[int] = 4

    def __init__(
        self,
        temperature: float = 1.0,
        gain: GainSpec | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.temperature = temperature
        self.gain = gain
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_number("temperature", self.temperature, low=1e-3, high=1000.0)
        super().check_params()

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return self.relevance(labels, layout)

    def kernel_params(self) -> tuple[Any, ...]:
        return (float(self.temperature),)

    def query_cost(self, sizes: IntArray) -> IntArray:
        return sizes * (1 + sizes // 2)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        u = self.relevance_of_query(labels)
        if u is None:
            return 0.0
        with np.errstate(over="ignore"):  # of distances of scores beyond 1e308: infinite is right
            ahead = (scores[None, :] - scores[:, None]) / self.temperature
            ranks = 0.5 + np.sum(1.0 / (1.0 + np.exp(-ahead)), axis=1)  # its own sigmoid is 1/2
        return float(1.0 - np.sum(u / np.log2(1.0 + ranks)))


register_objective("approx_ndcg", ApproxNDCG)
