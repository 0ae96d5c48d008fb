"""Extended Kullback-Leibler divergence between normalised gains and exponentials of scores.

Loss of a query, with u = G / Z the gains divided by the best DCG and ``b = log(mean u)``::

    sum_i [ u_i log(u_i / q_i) - u_i + q_i ],    q_i = e^(s_i + b)

the cross entropy that is consistent with NDCG: unlike softmax losses it does not normalise scores.
b is what scores start from: at s = 0 the q of a query sum to what its u sum to, so that no trees
are spent on a constant.

Gradient ``q - u``, exact hessian ``q``. The hessian used is the mean of q and u::

    h_i = (q_i + u_i) / 2

It equals the exact one where q = u, and with it the step of every leaf lies in [-2, 2] and, with
any learning rate up to 1, lowers the loss. Exponents ``s + b`` above 60 count as 60.

With ``norm=None`` there is neither Z nor b: ``u = G`` and ``q = e^s``. The gradient is then affine
in the gains and depends on nothing else that labels say, so that gains may be negative
(:func:`gbrank.gains.corrected_gain`); the hessian is ``(q + |u|) / 2``.

The derivation is in the documentation, theory page.

Reference: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
section 3.3. (It comes from ``h(x) = x log x - x`` in that paper's section 4.)
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
    compute_gains,
    exp,
    kernel,
)
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import RelevanceObjective, mean_of_queries

_HIGHEST = 60.0
_LARGEST = 1e30  # of gains that nothing divides, so that float32 holds every gradient


@kernel()
def _kl_block(first, last, bounds, scores, target, base, iteration, scratch, grad, hess):
    start, stop = bounds[first], bounds[last]  # documents do not depend on one another
    s, u, b = scores[start:stop], target[start:stop], base[start:stop]
    g, h = grad[start:stop], hess[start:stop]
    for i in range(len(s)):
        q = exp(min(s[i] + b[i], _HIGHEST))
        g[i] = np.float32(q - u[i])
        h[i] = np.float32(0.5 * (q + abs(u[i])))


class KL(RelevanceObjective):
    """Extended KL divergence ``sum u log(u / q) - u + q``, ``q = e^(s + b)``: NDCG consistent.

    Its expectation is least at ``s = log(E[u] / mean E[u])``: differences of scores are log ratios
    of expected relevance. ``b`` is the logarithm of the query's mean u, so scores start where the
    best constant is. A query of one document or of equal gains has nothing to rank and is left out,
    except with ``norm=None``.

    Parameters
    ----------
    norm_at : int >= 1, default=None
        Cut-off of the best DCG that gains are divided by; ``None`` for none. A truncated one is
        consistent no longer.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    discount : "log", "power", "zipf", "exp" or callable, default="log"
        What a rank is worth: see :func:`gbrank.gains.compute_discounts`.
    norm : {"dcg", None}, default="dcg"
        ``None`` takes ``u = G`` and ``q = e^s``: the best score is the logarithm of the expected
        gain. Not consistent with NDCG, but gains may be negative, as those that correct for label
        noise are: see :func:`gbrank.gains.corrected_gain`.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011.

    Examples
    --------
    >>> from gbrank import KL
    >>> grad, hess = KL(norm_at=1).grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad, hess  # q = 1/2 for both, u = (1, 0)
    (array([-0.5,  0.5], dtype=float32), array([0.75, 0.25], dtype=float32))
    """

    formula = "`sum u_i log(u_i / q_i) - u_i + q_i`, `q_i = exp(s_i + b)`"
    consistent_with = "NDCG; not with `norm=None`"
    cost = "`m`"
    when = "a cross entropy with a guarantee"

    kernel = staticmethod(_kl_block)

    def __init__(
        self,
        norm_at: int | None = None,
        gain: GainSpec | None = None,
        discount: DiscountSpec = "log",
        *,
        norm: str | None = "dcg",
        n_jobs: int | None = None,
    ) -> None:
        self.norm_at = norm_at
        self.gain = gain
        self.discount = discount
        self.norm = norm
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def takes_signed_gains(self) -> bool:  # type: ignore[override]
        """Whether gains may be negative: where they are not divided by the best DCG."""
        return self.norm is None

    def check_params(self) -> None:
        check_choice("norm", self.norm, ("dcg", None))
        super().check_params()

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        if self.norm is None:
            gains = compute_gains(labels, self.value_of("gain"), layout, signed=True)
            return np.clip(gains, -_LARGEST, _LARGEST), np.zeros(layout.n_rows)
        target, used = self.relevance(labels, layout)
        base = np.full(layout.n_queries, -np.inf)  # q = 0 in queries that do not count
        base[used] = np.log(mean_of_queries(target, layout)[used])
        return target, np.repeat(base, layout.sizes)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if self.norm is None:
            gains = compute_gains(labels, self.value_of("gain"), signed=True)
            u: FloatArray | None = np.clip(gains, -_LARGEST, _LARGEST)
        else:
            u = self.relevance_of_query(labels)
        if u is None:
            return 0.0
        base = 0.0 if self.norm is None else np.log(u.mean())
        log_q = np.minimum(scores + base, _HIGHEST)
        log_u = np.log(np.where(u > 0, u, 1.0))  # u log u is 0 at 0
        return float(np.sum(u * (log_u - log_q) - u + np.exp(log_q)))


register_objective("kl", KL)
