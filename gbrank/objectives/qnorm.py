"""Scores against normalised gains, with a q-norm as penalty or as normaliser.

Loss of a query, with u = G / Z the gains divided by the best DCG::

    |s|_q^2 - 2 <s, u>                                               form="penalized"
    - <s, u> / N + (penalty / 2) (N^2 - 1),  N = (sum |s|^q + 1)^(1/q)    form="normalized"

q = 2 gives squared error and cosine. A larger q brings the scores of large and small gains closer
together: with p = q / (q - 1) the expectation is least where ``s_i`` is proportional to
``E[u_i]^(p-1)``. ``q="auto"`` is ``ln(m) + 2`` for m documents. The 1 in N makes the second form
smooth at s = 0, where boosting starts, and its penalty (``scale_penalty``) keeps scores from
growing without end; both see only ``|s|_q``, and do not turn the minimiser.

With ``a_i = s_i / |s|_q`` and powers that keep the sign, the gradient of the first form is
``2 |s|_q a_i^(q-1) - 2 u_i``. Its minimiser has ``a = b`` and ``|s|_q = Y_p``, where Y_p is the
dual norm of u and ``b_i = (u_i / Y_p)^(1/(q-1))``. The exact hessian is no good for boosting,
being 0 at s_i = 0. The one used is, with k = q / 2::

    h_i = max(2 D_i, psi(|a_i|) / 10),    D_i = (a_i^(q-1) - b_i^(q-1)) / (a_i - b_i)
    psi(a) = 1 + k a^2 (1 - a^(q-2))^2 / (a^q - 1 - k (a^2 - 1))

D_i is the mean of ``(q-1) |x|^(q-2)`` over x between a_i and b_i: the diagonal of the Hessian on
the way to the minimiser, without the part that all documents share. It is 1 for q = 2, q - 1 at
most, and ``b_i^(q-2) <= 1`` at s = 0, from where a document in a leaf of its own gets to its
minimiser in one step. ``D_i >= max(a_i, b_i)^(q-2)`` for a_i >= 0, so that from anywhere such a
document goes to ``(1 - x) s_i + y Y_p b_i`` with x and y in [0, 1], below 2 for a_i < 0. A leaf
moves by the mean of the steps of its documents weighted by h, never farther than the longest.

The second part is for documents with u = 0: at s = 0 their D_i is 0, and a leaf would move them as
if they were not there. psi goes from 1 for documents that are small in their list to q - 1 for one
that stands alone, and bounds all that may come: for every step v, however large ::

    |s + v|_q^2  <=  |s|_q^2 + <gradient, v> + sum_i psi(|a_i|) v_i^2                    (1)

A tree's leaf moves its documents by ``v = -sum g / sum h``, so that over all queries ``<g, v>``
sums to minus the sum of ``h v^2``: at a learning rate eta the loss falls by at least
``eta sum (h - eta psi) v^2``. Up to a rate of 0.1 no tree raises it. At larger rates a tree may,
and only the length of steps is bounded. With ``h = psi`` none would at rates up to 1, at the price
of several times as many trees: psi allows for leaves with one document of each query, but n
documents of one query that rise together from 0 by v cost ``n^(2/q) v^2`` and not ``n v^2``.

Proof of (1). In units of |s|_q, with r = q / (q - 2), ``|x|_q^2`` is the largest ``sum w_i x_i^2``
over weights w >= 0 with ``sum w^r <= 1``; at x = s these are ``omega = |a|^(q-2)``. With w those of
s + v, the difference of the sides of (1) is
``sum w (s + v)^2 - 1 - 2 sum omega s v - sum psi v^2``, and the v that is worst for given w leaves
to be shown ::

    sum s^2 (w - omega)^2 / (psi - w)  <=  sum s^2 (omega - w)

Here ``s^2 = omega^(r-1)``, and because ``sum w^r <= 1 = sum omega^r`` the right-hand side is at
least ``sum [w^r - omega^r - r omega^(r-1) (w - omega)] / r``. It suffices that the terms obey the
inequality one by one, that is, with x = w / omega in [0, 1 / omega]::

    psi >= omega phi(x),    phi(x) = x + r (x - 1)^2 / (x^r - 1 - r (x - 1))

phi increases: ``phi' >= 0`` says ``(x^r - 1)^2 >= r^2 (x - 1)^2 x^(r-1)``, which for x = e^(2t) is
``sinh(r t) / sinh(t) >= r``. So x = 1 / omega is the worst, and that is psi.

Second form: gradient ``-u / N + (p / N + penalty N) a^(q-1)`` with p = <s, u> / N the similarity,
and now a = s / N. With Y_2 the 2-norm of u the hessian used is::

    h_i = max((Y_p / N^2 + penalty) D_i, psi_i / 10),    psi_i = B / N^2 + C psi(|a_i|)
    C = (max(p, 0) / N^2 + penalty) / 2
    B = min(Y_2 + Y_p, N (Y_2 - p))                                              for p < 0
    B = min(Y_2 + Y_p - p / 2, ((z Y_2 - p) N - p / 2) / z^2)                    for p >= 0
    z Y_2 = min(max((2 + 1/N) p, Y_2), p + (p + Y_p) / (N - 1))

The first part is as above: where p is Y_p, the largest it can be, and without penalty, a document
alone goes to ``N b_i``, its best place at the present length of the scores; from 0 it goes to b_i.
The second bounds all that may come: for every step v ::

    loss(s + v)  <=  loss(s) + <g, v> + sum_i psi_i v_i^2                                (2)

so that up to a learning rate of 0.1 no tree raises the loss. The penalty then bounds the scores for
good, however long training goes on: ``(penalty / 2) (N^2 - 1)``, summed over queries, cannot exceed
the sum of their Y_p.

Proof of (2). The penalty obeys (1). For the rest let N' and p' be what N and p become,
e = N' / N - 1 and d = |v|_2 / N, so that |e| <= d. The change of the loss less ``<g, v>`` is
``e (p' - p) - p e^2 / 2 + p D / 2`` with D the remainder that (1) bounds, over N^2. For p < 0 the
last two terms together are <= 0. The first two must be shown to be at most ``B d^2``.
``p' - p = (<u, v> / N - p e) / (1 + e)``, and |p'| <= Y_p.

- p < 0, e >= 0: ``p' - p <= (Y_2 + |p|) d``.
- p < 0, e = -f < 0: p - p' is at most ``p + Y_p``, and at most ``(Y_2 d - p f) / (1 - f)``, hence
  at most f times the one plus 1 - f times the other, ``Y_2 d + Y_p f``. Also 1 - f = N' / N is at
  least 1 / N, which makes the second bound ``N (Y_2 + |p|) d``.
- p >= 0: take units in which Y_2 = 1. e = -f < 0 leaves
  ``f min(p + Y_p, (d - p f) / (1 - f)) - p f^2 / 2``. Divided by d^2 this is largest for d = z f,
  z the larger of 1, below which d cannot be, and of the zero p (3 - f) of the derivative of the
  second branch, but no more than ``p + (p + Y_p) (1 - f) / f``, where the first one takes over;
  there it is ``((z - p) / (1 - f) - p / 2) / z^2``. In all these cases that grows with f, so that
  1 - f = 1 / N is the worst. Where the first branch holds for all d >= f the quotient is at most
  ``(p + Y_p) / f - p / 2``, largest for the least such f, ``(p + Y_p) / (1 + Y_p)``. For e >= 0 the
  quotient is that of the second branch with f = -e, less than for f = 0.

Scores beyond +-1e15 count as +-1e15.

Reference: Ravikumar, Tewari, Yang, On NDCG consistency of listwise ranking methods, AISTATS 2011,
section 4, equation 4; q = log(m) + 2 is that of its experiments.
"""

from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    DiscountSpec,
    Float32Array,
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
from gbrank.objectives.relevance import RelevanceObjective
from gbrank.objectives.softmax import zero_step

_LARGEST_SCORE = 1e15
_TINY = 1e-300
# Below this the denominator of psi is rounding error, and psi within 0.2 % of its limit q - 1.
_SMALLEST_GAP = 1e-6
# Up to this learning rate no tree raises the loss.
_SAFE_RATE = 0.1
# Numbers closer than this, relative to their size, are too close for a quotient of differences.
_SAME = 1e-6


@kernel()
def _powers(scores, q, floor, limited, powers):
    """Write limited scores and the ratios ``(|s| / top)^q``; return log(top) and their sum.

    top is the largest ``|s|`` and at least ``floor``: no power overflows.
    """
    m = len(scores)
    top = floor
    for i in range(m):
        s = min(max(scores[i], -_LARGEST_SCORE), _LARGEST_SCORE)
        limited[i] = s
        top = max(top, abs(s))
    log_top = log(top)
    for i in range(m):  # one loop for both functions runs out of registers
        powers[i] = log(abs(limited[i]))
    total = 0.0
    for i in range(m):
        powers[i] = exp(q * (powers[i] - log_top))
        total += powers[i]
    return log_top, total


@kernel()
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


@kernel()
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


@kernel()
def _penalized_block(
    first, last, bounds, scores, target, goals, exponents, dual_norms, scratch, grad, hess
):
    for query in range(first, last):
        start, stop = bounds[query], bounds[query + 1]
        u, b = target[start:stop], goals[start:stop]
        g, h = grad[start:stop], hess[start:stop]
        limited, powers, q = scratch[0], scratch[1], exponents[query]
        if q > 0.0:
            log_top, total = _powers(scores[start:stop], q, _TINY, limited, powers)
            total = max(total, 1.0)  # all scores are 0
            norm = exp(log_top + log(total) / q)
            _write(
                limited, powers, u, b, dual_norms[query], q, norm, total,
                2.0 * norm, 2.0, 2.0, 0.0, 1.0, g, h,
            )  # fmt: skip
        else:
            zero_step(g, h)


@kernel()
def _normalized_block(
    first, last, bounds, scores, target, goals, exponents, dual_norms, norms, penalty, scratch,
    grad, hess,
):  # fmt: skip
    for query in range(first, last):
        start, stop = bounds[query], bounds[query + 1]
        u, b = target[start:stop], goals[start:stop]
        g, h = grad[start:stop], hess[start:stop]
        limited, powers, q = scratch[0], scratch[1], exponents[query]
        if q > 0.0:
            log_top, total = _powers(scores[start:stop], q, 1.0, limited, powers)
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
    """Losses ``|s|_q^2 - 2 <s, u>`` and ``- <s, u> / |s|_q``, ``u = G / Z``: NDCG consistent.

    Least in expectation where the scores grow as ``E[u]^(p-1)``, p = q / (q - 1), whose order is
    the best for expected NDCG. The first form is convex and sees the scale of scores; the second
    does not, and takes ``N = (sum |s|^q + 1)^(1/q)`` for the norm and ``(scale_penalty / 2)
    (N^2 - 1)`` on top. A query of one document or of equal gains has nothing to rank and is left
    out.

    Parameters
    ----------
    q : "auto" or float in [2, 1000], default="auto"
        Exponent of the norm; "auto" is ``ln(m) + 2`` in a query of m documents.
    form : {"penalized", "normalized"}, default="penalized"
        The first or the second of the losses above.
    norm_at : int >= 1, default=None
        Cut-off of the best DCG that gains are divided by; ``None`` for none. A truncated one is
        consistent no longer.
    gain : "exp", "linear", table or callable, default="exp"
        What a label is worth: see :func:`gbrank.gains.compute_gains`.
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
    >>> grad, hess = QNorm(q=4, norm_at=1).grad_hess([1, 0], [1.0, 1.0], group=[2])
    >>> grad  # 2 |s| a^3 - 2 u, where |s| = 2^(1/4), a = 2^(-1/4) and u = (1, 0)
    array([-0.58578646,  1.4142135 ], dtype=float32)
    >>> hess  # 2 (a^3 - b^3) / (a - b), where b = (1, 0)
    array([5.0960064, 1.4142135], dtype=float32)
    """

    scratch_rows: ClassVar[int] = 2

    def __init__(
        self,
        q: str | float = "auto",
        form: str = "penalized",
        norm_at: int | None = None,
        gain: GainSpec = "exp",
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

    def _exponents(self, sizes: IntArray) -> FloatArray:
        if isinstance(self.q, str):
            exponents: FloatArray = np.log(np.maximum(sizes, 1)) + 2.0
            return exponents
        return np.full(len(sizes), float(self.q))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        target, counts = self.relevance(labels, layout)
        exponents = self._exponents(layout.sizes)
        dual = exponents / (exponents - 1.0)
        norms, dual_norms = np.zeros(layout.n_queries), np.zeros(layout.n_queries)
        filled = layout.sizes > 0
        if filled.any():
            starts = layout.bounds[:-1][filled]
            norms[filled] = np.sqrt(np.add.reduceat(target**2, starts))
            powers = target ** np.repeat(dual, layout.sizes)
            dual_norms[filled] = np.add.reduceat(powers, starts) ** (1.0 / dual[filled])
        scale = np.repeat(np.where(counts, dual_norms, 1.0), layout.sizes)
        goals = (target / scale) ** np.repeat(dual - 1.0, layout.sizes)
        return target, goals, np.where(counts, exponents, 0.0), dual_norms, norms

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
        *shared, norms = prepared
        if self.form == "penalized":
            _penalized_block(first, last, bounds, scores, *shared, scratch, grad, hess)
        else:
            penalty = float(self.scale_penalty)
            _normalized_block(
                first, last, bounds, scores, *shared, norms, penalty, scratch, grad, hess
            )

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        u = self.relevance_of_query(labels)
        if u is None:
            return 0.0
        q = float(np.log(len(labels)) + 2.0) if isinstance(self.q, str) else float(self.q)
        s = np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)
        if self.form == "penalized":
            return _q_norm(s, q) ** 2 - 2.0 * float(s @ u)
        norm = _q_norm(np.append(s, 1.0), q)
        return -float(s @ u) / norm + 0.5 * self.scale_penalty * (norm**2 - 1.0)


def _q_norm(x: FloatArray, q: float) -> float:
    """Return ``|x|_q`` in plain NumPy, from ratios to the largest entry: powers may overflow."""
    top = float(np.abs(x).max())
    return top * float(np.sum((np.abs(x) / top) ** q)) ** (1.0 / q) if top > 0 else 0.0
