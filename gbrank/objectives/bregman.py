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

``link=(function, derivative)`` takes any other convex function F in place of ``log(1 + e^t)`` and
its derivative f, which must increase, in place of the logistic curve; b is where ``f(b) = mean u``.
Its hessian is ``max(f', |f - u| / 2)`` with a numerical f': every step of a leaf lies in [-2, 2].

The derivation is in the documentation, theory page.

Reference: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
theorems 8 to 10 (the definition of the divergence there should have the gradient of psi, not its
inverse).
"""

from __future__ import annotations

from collections.abc import Callable
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
# Of numbers in float32, and of where a link's derivative is looked for.
_LARGEST, _FARTHEST = 1e30, 700.0


@kernel()
def _bregman_block(first, last, bounds, scores, target, base, used, iteration, scratch, grad, hess):
    start, stop = bounds[first], bounds[last]  # documents do not depend on one another
    s, t, b, c = scores[start:stop], target[start:stop], base[start:stop], used[start:stop]
    g, h = grad[start:stop], hess[start:stop]
    for i in range(len(s)):
        p, u = sigmoid(s[i] + b[i]), t[i]
        g[i] = np.float32(c[i] * (p - u))
        h[i] = np.float32(c[i] * 0.5 * (u * (1.0 - p) + p * (1.0 - u)))


def _own_link_block(
    first, last, bounds, scores, target, base, used, derivative, iteration, scratch, grad, hess
):
    """Do the same for a link of the user's, in NumPy."""
    rows = slice(bounds[first], bounds[last])
    t, u, c = _limited(scores[rows] + base[rows]), target[rows], used[rows]
    value, bend = derivative(t), _slope(derivative, t)
    grad[rows] = np.clip(c * (value - u), -_LARGEST, _LARGEST)
    hess[rows] = np.clip(c * np.maximum(bend, 0.5 * np.abs(value - u)), 0.0, _LARGEST)


def _limited(t: FloatArray) -> FloatArray:
    return np.clip(t, -_FARTHEST, _FARTHEST)


def _slope(function: Callable[[FloatArray], FloatArray], t: FloatArray) -> FloatArray:
    """Return a central difference."""
    step = 1e-5 * np.maximum(1.0, np.abs(t))
    slope: FloatArray = (function(t + step) - function(t - step)) / (2.0 * step)
    return np.where(np.isfinite(slope), slope, 0.0)


def _own_base(derivative: Callable[[FloatArray], FloatArray], means: FloatArray) -> FloatArray:
    """Return where the derivative equals each mean, by bisection; 0 for a mean of 0."""
    low, high = np.full(len(means), -_FARTHEST), np.full(len(means), _FARTHEST)
    wanted = means > 0
    outside = wanted & ((derivative(low) > means) | (derivative(high) < means))
    if outside.any():
        raise ValueError(
            f"link's derivative must reach the mean relevance of every list between -{_FARTHEST:g} "
            f"and {_FARTHEST:g}, but not {means[np.argmax(outside)]:g}"
        )
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = derivative(middle) < means
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(wanted, 0.5 * (low + high), 0.0)


def _check_link(link: Any) -> None:
    """Raise an error unless the functions are convex and derivative, as far as numbers can tell."""
    if not (isinstance(link, tuple) and len(link) == 2 and all(map(callable, link))):
        raise ValueError(
            "link must be 'logistic' or a tuple of two functions, a convex one and its derivative, "
            f"got {link!r}"
        )
    function = link[0]
    grid = np.linspace(-10.0, 10.0, 401)
    values, slopes = (np.asarray(each(grid), dtype=np.float64) for each in link)
    for name, found in (("function", values), ("derivative", slopes)):
        if found.shape != grid.shape or not np.isfinite(found).all():
            raise ValueError(
                f"link's {name} must return one finite number for each number of an array; it does "
                "not between -10 and 10"
            )
    rises = np.diff(slopes)
    if not (rises >= 0).all() or not rises.any():
        at = grid[int(np.argmin(rises))]
        raise ValueError(
            f"link's derivative must increase, or the loss is not convex: it does not at {at:g}"
        )
    off = np.abs(_slope(function, grid) - slopes) > 1e-3 * (1.0 + np.abs(slopes))
    if off.any():
        at = int(np.argmax(off))
        raise ValueError(
            f"link's derivative must be that of its function: at {grid[at]:g} it is "
            f"{slopes[at]:g}, but differences of the function say {_slope(function, grid)[at]:g}"
        )


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
    link : "logistic" or tuple of two functions, default="logistic"
        The convex function F of the loss ``sum F(t) - t u`` and its derivative: "logistic" for
        ``log(1 + e^t)``, or both as functions of an array, checked numerically on [-10, 10].
        ``(np.exp, np.exp)`` is the loss of :class:`gbrank.KL`. t beyond +-700 counts as +-700.
        Functions of a module can be pickled.
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

    def __init__(
        self,
        link: Any = "logistic",
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
        if isinstance(self.link, str):
            check_choice("link", self.link, ("logistic",), also="a tuple of two functions")
        else:
            _check_link(self.link)
        super().check_params()

    @property
    def kernel(self) -> Callable[..., None]:
        """That of the logistic link, or that of a link of the user's."""
        return _bregman_block if isinstance(self.link, str) else _own_link_block

    def kernel_params(self) -> tuple[Any, ...]:
        return () if isinstance(self.link, str) else (self.link[1],)

    def _bases(self, means: FloatArray) -> FloatArray:
        if isinstance(self.link, str):
            bases: FloatArray = _base(means)
            return bases
        return _own_base(self.link[1], means)

    def _in_unit_interval(self, relevance: FloatArray) -> FloatArray:
        scaled: FloatArray = relevance * compute_discounts(1, self.discount)[0]
        return np.minimum(scaled, 1.0)  # above 1 by rounding only

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        relevance, used = self.relevance(labels, layout)
        target, sizes = self._in_unit_interval(relevance), layout.sizes
        base = self._bases(mean_of_queries(target, layout))
        return target, np.repeat(base, sizes), np.repeat(used.astype(np.float64), sizes)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        relevance = self.relevance_of_query(labels)
        if relevance is None:
            return 0.0
        target = self._in_unit_interval(relevance)
        moved = scores + self._bases(np.array([np.mean(target)]))[0]
        if isinstance(self.link, str):
            return float(np.sum(np.logaddexp(0.0, moved) - moved * target))
        return float(np.sum(self.link[0](_limited(moved)) - _limited(moved) * target))


register_objective("bregman_logistic", Bregman)
