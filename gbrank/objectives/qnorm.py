"""Scores against normalised gains, with a q-norm as penalty or as normaliser.

Loss of a query, with u = G / Z the gains divided by the best DCG and t = s + c::

    |t|_q^2 - 2 <t, u>                                               form="penalized"
    - <t, u> / N + (penalty / 2) (N^2 - 1),  N = (sum |t|^q + 1)^(1/q)    form="normalized"

c is where boosting starts: in the first form the best constant of the list, ``sum u / m^(2/q)``,
at which gradients sum to 0. In the second, which has none and would not be consistent with one that
depends on labels, it is 1, at which they nearly do. At t = 0 documents without relevance have
gradient 0 and the gain of a split is little more than a sum over documents, whichever leaf they are
in: models of sparse labels would be constants.

q = 2 gives squared error and cosine. A larger q brings the scores of large and small gains closer
together: with p = q / (q - 1) the loss is least where ``t_i`` is proportional to ``u_i^(p-1)``.
``q="auto"`` is ``ln(m) + 2`` for m documents. The penalty (``scale_penalty``) of the second form
keeps scores from growing without end.

First form, with ``a_i = t_i / |t|_q``, powers that keep the sign, Y_p the dual norm of u,
``b_i = (u_i / Y_p)^(1/(q-1))`` and k = q / 2::

    g_i = 2 |t|_q a_i^(q-1) - 2 u_i
    h_i = max(2 D_i, psi(|a_i|) / 10),    D_i = (a_i^(q-1) - b_i^(q-1)) / (a_i - b_i)
    psi(a) = 1 + k a^2 (1 - a^(q-2))^2 / (a^q - 1 - k (a^2 - 1))

The exact hessian is 0 at t_i = 0. D_i is its mean on the way to the minimiser, where a = b;
``sum psi_i v_i^2`` bounds what the gradient leaves out of any step v.

Second form, with a = t / N, Y_2 the 2-norm of u and p = <t, u> / N::

    g_i = -u_i / N + (p / N + penalty N) a_i^(q-1)
    h_i = max((Y_p / N^2 + penalty) D_i, psi_i / 10),    psi_i = B / N^2 + C psi(|a_i|)
    C = (max(p, 0) / N^2 + penalty) / 2
    B = min(Y_2 + Y_p, N (Y_2 - p))                                              for p < 0
    B = min(Y_2 + Y_p - p / 2, ((z Y_2 - p) N - p / 2) / z^2)                    for p >= 0
    z Y_2 = min(max((2 + 1/N) p, Y_2), p + (p + Y_p) / (N - 1))

With either, no tree raises the loss up to a learning rate of 0.1. t beyond +-1e15 counts as
+-1e15.

The derivation is in the documentation, theory page.

Reference: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
section 4, equation 4; q = log(m) + 2 is that of its experiments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    DiscountSpec,
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_choice,
    check_number,
    exp,
    kernel,
    log,
)
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._registry import register_objective
from gbrank.objectives._relevance import RelevanceObjective, mean_of_queries

_LARGEST_SCORE = 1e15
_TINY = 1e-300
# Below this the denominator of psi is rounding error, and psi within 0.2 % of its limit q - 1.
_SMALLEST_GAP = 1e-6
# Up to this learning rate no tree raises the loss.
_SAFE_RATE = 0.1
# Numbers closer than this, relative to their size, are too close for a quotient of differences.
_SAME = 1e-6


@kernel(wide=False)
def _powers(scores, base, q, floor, limited, powers):
    """Write limited ``t = s + base`` and ``(|t| / top)^q``; return log(top) and the latter's sum.

    top is the largest ``|t|`` and at least ``floor``: no power overflows.
    """
    m = len(scores)
    top = floor
    for i in range(m):
        t = min(max(scores[i] + base, -_LARGEST_SCORE), _LARGEST_SCORE)
        limited[i] = t
        top = max(top, abs(t))
    log_top = log(top)
    for i in range(m):  # one loop for both functions runs out of registers
        powers[i] = log(abs(limited[i]))
    total = 0.0
    for i in range(m):
        powers[i] = exp(q * (powers[i] - log_top))
        total += powers[i]
    return log_top, total


@kernel(wide=False)
def _write(
    limited, powers, target, goal, dual_norm, q, norm, total, inward, outward, steep, flat, bent,
    grad, hess,
):  # fmt: skip
    """Write ``g = inward a^(q-1) - outward u``, ``h = max(steep D, (flat + bent psi) / 10)``."""
    k, inverse_norm, inverse_total = 0.5 * q, 1.0 / norm, 1.0 / total
    inverse_dual = 1.0 / dual_norm
    at_zero = 1.0 if q == 2.0 else 0.0
    for i in range(len(target)):
        a = limited[i] * inverse_norm
        squared = a * a
        power = powers[i] * inverse_total  # |a|^q
        omega = power / squared if squared > _TINY else at_zero  # |a|^(q-2)
        gap = power + (k - 1.0) - k * squared
        psi = 1.0 + k * squared * (1.0 - omega) * (1.0 - omega) / max(gap, _SMALLEST_GAP)
        psi = min(psi, q - 1.0) if gap > _SMALLEST_GAP else q - 1.0
        away = a - goal[i]
        apart = abs(away) > _SAME * (abs(a) + goal[i])
        mean = (omega * a - target[i] * inverse_dual) / (away if apart else 1.0)
        mean = mean if apart else (q - 1.0) * omega
        grad[i] = np.float32(inward * omega * a - outward * target[i])
        hess[i] = np.float32(max(steep * mean, _SAFE_RATE * (flat + bent * psi)))


@kernel(wide=False)
def _bend(p, norm, target_norm, dual_norm):
    """Return B of the normalized form."""
    if p < 0.0:
        return min(target_norm + dual_norm, norm * (target_norm - p))
    z = min(
        max((2.0 + 1.0 / norm) * p, target_norm),
        p + (p + dual_norm) / max(norm - 1.0, 1e-12),
    )
    second_branch = ((z - p) * norm - 0.5 * p) * (target_norm / z) * (target_norm / z)
    return min(target_norm + dual_norm - 0.5 * p, second_branch)


@kernel(wide=False)
def _penalized_block(
    first, last, bounds, scores, target, goals, exponents, dual_norms, norms, bases, penalty,
    iteration, scratch, grad, hess,
):  # fmt: skip
    for query in range(first, last):
        start, stop = bounds[query], bounds[query + 1]
        u, b = target[start:stop], goals[start:stop]
        g, h = grad[start:stop], hess[start:stop]
        limited, powers, q = scratch[0], scratch[1], exponents[query]
        if q > 0.0:
            log_top, total = _powers(scores[start:stop], bases[query], q, _TINY, limited, powers)
            total = max(total, 1.0)  # all t are 0
            norm = exp(log_top + log(total) / q)
            _write(
                limited, powers, u, b, dual_norms[query], q, norm, total,
                2.0 * norm, 2.0, 2.0, 0.0, 1.0, g, h,
            )  # fmt: skip
        else:
            zero_step(g, h)


@kernel(wide=False)
def _normalized_block(
    first, last, bounds, scores, target, goals, exponents, dual_norms, norms, bases, penalty,
    iteration, scratch, grad, hess,
):  # fmt: skip
    for query in range(first, last):
        start, stop = bounds[query], bounds[query + 1]
        u, b = target[start:stop], goals[start:stop]
        g, h = grad[start:stop], hess[start:stop]
        limited, powers, q = scratch[0], scratch[1], exponents[query]
        if q > 0.0:
            log_top, total = _powers(scores[start:stop], bases[query], q, 1.0, limited, powers)
            total += exp(-q * log_top)
            norm = exp(log_top + log(total) / q)
            similarity = 0.0
            for i in range(len(u)):
                similarity += limited[i] * u[i]
            similarity /= norm
            inward = similarity / norm + penalty * norm
            bend = _bend(similarity, norm, norms[query], dual_norms[query])
            flat = bend / (norm * norm)
            bent = 0.5 * (max(similarity, 0.0) / (norm * norm) + penalty)
            steep = dual_norms[query] / (norm * norm) + penalty
            _write(
                limited, powers, u, b, dual_norms[query], q, norm, total,
                inward, 1.0 / norm, steep, flat, bent, g, h,
            )  # fmt: skip
        else:
            zero_step(g, h)


class QNorm(RelevanceObjective):
    """Losses ``|t|_q^2 - 2 <t, u>`` and ``- <t, u> / |t|_q``, ``u = G / Z``: NDCG consistent.

    Least in expectation in the order of ``E[u]``, which is the best for expected NDCG. The first
    form is convex, sees the scale of scores and counts them from the list's best constant,
    ``t = s + sum u / m^(2/q)``. The second does not see their scale, takes
    ``N = (sum |t|^q + 1)^(1/q)`` for the norm and ``(scale_penalty / 2) (N^2 - 1)`` on top, and
    counts from 1, ``t = s + 1``. A query of one document or of equal gains has nothing to rank and
    is left out.

    Parameters
    ----------
    q : "auto" or float in [2, 1000], default="auto"
        Exponent of the norm; "auto" is ``ln(m) + 2`` in a query of m documents.
    form : {"penalized", "normalized"}, default="penalized"
        The first or the second of the losses above.
    norm_at : int >= 1, default=None
        Cut-off of the best DCG that gains are divided by; ``None`` for none. A truncated one is
        consistent no longer.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    discount : "log", "power", "zipf", "exp" or callable, default="log"
        What a rank is worth: see :func:`gbrank.gains.compute_discounts`.
    scale_penalty : float in [0, 1], default=0.001
        Keeps scores from growing without end in the normalized form; the other needs none.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011.

    Examples
    --------
    >>> from gbrank import QNorm
    >>> grad, hess = QNorm(q=4, norm_at=1).grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad  # 2 |t| a^3 - 2 u, where t = 2^(-1/2) for both, a = 2^(-1/4) and u = (1, 0)
    array([-1.,  1.], dtype=float32)
    >>> hess  # 2 (a^3 - b^3) / (a - b), where b = (1, 0)
    array([5.0960064, 1.4142135], dtype=float32)
    """

    formula = "`|t|_q^2 - 2 <t, u>`, `t = s + sum u / m^(2/q)`, `q = ln(m) + 2`"
    consistent_with = "NDCG"
    cost = "`m`"
    when = "long lists with few relevant documents"

    scratch_rows: ClassVar[int] = 2

    def __init__(
        self,
        q: str | float = "auto",
        form: str = "penalized",
        norm_at: int | None = None,
        gain: GainSpec | None = None,
        discount: DiscountSpec = "log",
        scale_penalty: float = 1e-3,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.q = q
        self.form = form
        self.norm_at = norm_at
        self.gain = gain
        self.discount = discount
        self.scale_penalty = scale_penalty
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        if isinstance(self.q, str):
            check_choice("q", self.q, ("auto",), also="a number in [2, 1000]")
        else:
            check_number("q", self.q, low=2.0, high=1000.0, also='"auto"')
        check_choice("form", self.form, ("penalized", "normalized"))
        check_number("scale_penalty", self.scale_penalty, low=0.0, high=1.0)
        super().check_params()

    @property
    def kernel(self) -> Callable[..., None]:
        """That of the form."""
        return _penalized_block if self.form == "penalized" else _normalized_block

    def kernel_params(self) -> tuple[Any, ...]:
        return (float(self.scale_penalty),)

    def _exponents(self, sizes: IntArray) -> FloatArray:
        if isinstance(self.q, str):
            exponents: FloatArray = np.log(np.maximum(sizes, 1)) + 2.0
            return exponents
        return np.full(len(sizes), float(self.q))

    def _base(self, mean: Any, m: Any, q: Any) -> Any:
        """Return what scores count from in lists of m documents whose u have this mean."""
        if self.form == "penalized":
            return mean * np.maximum(m, 1) ** (1.0 - 2.0 / q)
        return np.ones_like(mean)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        target, used = self.relevance(labels, layout)
        exponents = self._exponents(layout.sizes)
        dual = exponents / (exponents - 1.0)
        norms, dual_norms = np.zeros(layout.n_queries), np.zeros(layout.n_queries)
        bases = self._base(mean_of_queries(target, layout), layout.sizes, exponents)
        filled = layout.sizes > 0
        if filled.any():
            starts = layout.bounds[:-1][filled]
            norms[filled] = np.sqrt(np.add.reduceat(target**2, starts))
            powers = target ** np.repeat(dual, layout.sizes)
            dual_norms[filled] = np.add.reduceat(powers, starts) ** (1.0 / dual[filled])
        scale = np.repeat(np.where(used, dual_norms, 1.0), layout.sizes)
        goals = (target / scale) ** np.repeat(dual - 1.0, layout.sizes)
        return target, goals, np.where(used, exponents, 0.0), dual_norms, norms, bases

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        u = self.relevance_of_query(labels)
        if u is None:
            return 0.0
        q = float(np.log(len(labels)) + 2.0) if isinstance(self.q, str) else float(self.q)
        moved = scores + self._base(u.mean(), len(u), q)
        t = np.clip(moved, -_LARGEST_SCORE, _LARGEST_SCORE)
        if self.form == "penalized":
            return _q_norm(t, q) ** 2 - 2.0 * float(t @ u)
        norm = _q_norm(np.append(t, 1.0), q)
        return -float(t @ u) / norm + 0.5 * self.scale_penalty * (norm**2 - 1.0)


def _q_norm(x: FloatArray, q: float) -> float:
    """Return ``|x|_q`` in plain NumPy, from ratios to the largest entry: powers may overflow."""
    top = float(np.abs(x).max())
    return top * float(np.sum((np.abs(x) / top) ** q)) ** (1.0 / q) if top > 0 else 0.0


register_objective("qnorm", QNorm)
