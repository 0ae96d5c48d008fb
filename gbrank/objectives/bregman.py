"""A Bregman divergence of normalised gains, with logistic link.

Any strictly convex psi whose gradient keeps the order of its argument gives the loss
``D_psi(u, (grad psi)^-1(s))``, convex in s and consistent with NDCG, u = G / Z being the gains
divided by the best DCG. With ``psi(u) = sum u log u + (1 - u) log(1 - u)``, whose gradient is the
logit, that loss is, up to what does not depend on s::

    sum_i log(1 + e^(s_i + b)) - (s_i + b) u_i,    b = logit(mean of the list's u)

Boosting starts at s = 0, where b makes the gradients of every list sum to 0: the first trees tell
documents apart. Without it they would tell every document of a long list that u is small, and a
leaf that only says so often wins over one that ranks. b is one number a list and changes no order
of scores. It depends on the labels, and yet takes nothing from the guarantee: the expectation over
labels is least where ``F(s_i) = E[u_i]`` with ``F(t) = E[1 / (1 + e^-(t + b))]``, an increasing
function that is the same for all documents of the list; and as the hessian is at most 1/4, scores
that miss the least expectation by r have ``sum (F(s_i) - E[u_i])^2 <= r / 2``, what the bound of
theorem 10 is made from. Where all labels that may occur have the same mean u, the least is at
``s = logit(E[u]) - b``.

u must lie in [0, 1], so discounts count relative to that of the first rank, which the logarithmic
one has 1 for anyway.

With p = 1 / (1 + e^-(s + b)) the gradient is ``p - u``, in [-1, 1], and the exact hessian
``p (1 - p)``, which vanishes where p is far from u as well: p = 1 - 1e-9 with u = 0 asks for a step
of 1e9. The hessian used is ::

    h_i = (a_i + b_i) / 2,    a_i = u_i (1 - p_i),    b_i = p_i (1 - u_i)

which equals the exact one where p = u, and gives every step of a leaf in [-2, 2], because
``p - u = b - a``. For one document ``2 (a - b) / (a + b)`` never passes the best step,
``logit(u) - logit(p) = log(a / b)``, by the inequality between logarithmic and arithmetic mean. For
a whole leaf, with sums A and B, the step ``v = 2 (A - B) / (A + B)`` never raises the loss. Let
v > 0 (the other sign is the mirror image), and take ``lambda`` with ::

    (e^v - 1) / (1 + v/2)  <=  lambda  <=  (1 - e^-v) / (1 - v/2)

which exists because ``e^v <= (1 + v/2) / (1 - v/2)`` for 0 <= v < 2. Every document's change of
loss, ``log(1 + p (e^v - 1)) - u v``, is then at most ``lambda (b - a + (a + b) v/2)``: both are
linear in u, for u = 0 it reads ``log(1 + p (e^v - 1)) <= lambda p (1 + v/2)``, for u = 1
``log(1 - (1 - p)(1 - e^-v)) <= -lambda (1 - p)(1 - v/2)``, and both follow from
``log(1 + x) <= x``. Summed over the leaf the right-hand side is 0. (v = 2 only where B = 0, where
all u are 1 and every step upwards lowers the loss.) The loss is convex, so with a learning rate
below 1 it falls.

Reference: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
theorems 8 to 10 (the definition of the divergence there should have the gradient of psi, not its
inverse).
"""

from typing import Any

import numpy as np

from gbrank.core import (
    DiscountSpec,
    Float32Array,
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_choice,
    compute_discounts,
    kernel,
    sigmoid,
)
from gbrank.objectives.relevance import RelevanceObjective, mean_of_queries

_NEARLY_0 = 1e-12


@kernel()
def _bregman_rows(scores, target, base, weight, grad, hess):
    for i in range(len(scores)):
        p, u = sigmoid(scores[i] + base[i]), target[i]
        grad[i] = np.float32(weight[i] * (p - u))
        hess[i] = np.float32(weight[i] * 0.5 * (u * (1.0 - p) + p * (1.0 - u)))


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
    gain : "exp", "linear", table or callable, default="exp"
        What a label is worth: see :func:`gbrank.gains.compute_gains`.
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

    def __init__(
        self,
        link: str = "logistic",
        norm_at: int | None = None,
        gain: GainSpec = "exp",
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

    def step(
        self,
        first: int,
        last: int,
        bounds: IntArray,
        scores: FloatArray,
        prepared: tuple[Any, ...],
        iteration: int,
        scratch: FloatArray,
        grad: Float32Array,
        hess: Float32Array,
    ) -> None:
        rows = slice(bounds[first], bounds[last])  # documents do not depend on one another
        _bregman_rows(scores[rows], *(values[rows] for values in prepared), grad[rows], hess[rows])

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        relevance = self.relevance_of_query(labels)
        if relevance is None:
            return 0.0
        target = self._in_unit_interval(relevance)
        moved = scores + _base(np.mean(target))
        return float(np.sum(np.logaddexp(0.0, moved) - moved * target))
