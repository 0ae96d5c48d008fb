"""A Bregman divergence of normalised gains, with logistic link.

Loss of a query, with u = G / Z the gains divided by the best DCG::

    sum_i log(1 + e^(s_i + b)) - (s_i + b) u_i,    b = logit(mean of the list's u)

the divergence that ``sum u log u + (1 - u) log(1 - u)`` defines, up to what does not depend on s.
b is one number a list and changes no order of scores; with it the gradients of every list sum to 0
at s = 0, where boosting starts, so that the first trees tell documents apart. u must lie in [0, 1],
so discounts count relative to that of the first rank.

With p = 1 / (1 + e^-(s + b)) the gradient is ``p - u`` and the exact hessian ``p (1 - p)``. The
hessian used is ::

    h_i = (u_i (1 - p_i) + p_i (1 - u_i)) / 2

It equals the exact one where p = u, and with it the step of every leaf lies in [-2, 2] and, with
any learning rate up to 1, never raises the loss.

The derivation is in the documentation, theory page.

Reference: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
theorems 8 to 10 (the definition of the divergence there should have the gradient of psi, not its
inverse).
"""

from typing import Any

import numpy as np

from gbrank.core import (
    DiscountSpec,
    FloatArray,
    GainSpec,
    QueryLayout,
    check_choice,
    compute_discounts,
    kernel,
    sigmoid,
)
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import RelevanceObjective, mean_of_queries

_NEARLY_0 = 1e-12


@kernel()
def _bregman_block(
    first, last, bounds, scores, target, base, counts, iteration, scratch, grad, hess
):
    start, stop = bounds[first], bounds[last]  # documents do not depend on one another
    s, t, b, c = scores[start:stop], target[start:stop], base[start:stop], counts[start:stop]
    g, h = grad[start:stop], hess[start:stop]
    for i in range(len(s)):
        p, u = sigmoid(s[i] + b[i]), t[i]
        g[i] = np.float32(c[i] * (p - u))
        h[i] = np.float32(c[i] * 0.5 * (u * (1.0 - p) + p * (1.0 - u)))


def _base(mean: Any) -> Any:
    """Logit of a list's mean u, which rounding may bring to 1; it is 0 in lists left out."""
    inside = np.clip(mean, _NEARLY_0, 1.0 - _NEARLY_0)
    return np.log(inside / (1.0 - inside))


class Bregman(RelevanceObjective):
    """Bregman divergence with logistic link, ``sum log(1 + e^s) - s u``: consistent with NDCG.

    ``u = G / Z`` lies in [0, 1], and scores count from the logit of the list's mean u, so that
    equal scores fit a list as well as equal scores can. Convex, with gradients in [-1, 1], whatever
    the scores: a good fit for trees. A query of one document or of equal gains has nothing to rank
    and is left out.

    Parameters
    ----------
    link : {"logistic"}, default="logistic"
        The order-preserving map from relevance to scores.
    norm_at : int >= 1, default=None
        Cut-off of the best DCG that gains are divided by; ``None`` for none. A truncated one is
        consistent no longer.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    discount : "log", "power", "zipf", "exp" or callable, default="log"
        What a rank is worth, relative to the first: see :func:`gbrank.gains.compute_discounts`.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011.

    Examples
    --------
    >>> from gbrank import Bregman
    >>> grad, hess = Bregman(norm_at=1).grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad, hess  # p = 1/2 for both, u = (1, 0)
    (array([-0.5,  0.5], dtype=float32), array([0.25, 0.25], dtype=float32))
    """

    formula = "`sum log(1 + e^t_i) - t_i u_i`, `t = s + logit(mean u)`"
    consistent_with = "NDCG"
    cost = "`m`"
    when = "a guarantee, with bounded gradients"

    kernel = staticmethod(_bregman_block)

    def __init__(
        self,
        link: str = "logistic",
        norm_at: int | None = None,
        gain: GainSpec | None = None,
        discount: DiscountSpec = "log",
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.link = link
        self.norm_at = norm_at
        self.gain = gain
        self.discount = discount
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_choice("link", self.link, ("logistic",))
        super().check_params()

    def _in_unit_interval(self, relevance: FloatArray) -> FloatArray:
        scaled: FloatArray = relevance * compute_discounts(1, self.discount)[0]
        return np.minimum(scaled, 1.0)  # above 1 by rounding only

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        relevance, counts = self.relevance(labels, layout)
        target, sizes = self._in_unit_interval(relevance), layout.sizes
        base = _base(mean_of_queries(target, layout))
        return target, np.repeat(base, sizes), np.repeat(counts.astype(np.float64), sizes)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        relevance = self.relevance_of_query(labels)
        if relevance is None:
            return 0.0
        target = self._in_unit_interval(relevance)
        moved = scores + _base(np.mean(target))
        return float(np.sum(np.logaddexp(0.0, moved) - moved * target))


register_objective("bregman_logistic", Bregman)
