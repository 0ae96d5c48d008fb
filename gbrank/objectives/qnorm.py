"""DOC"""

from typing import Any, ClassVar

import numpy as np

from gbrank._compile import kernel
from gbrank.fastmath import exp, log
from gbrank.gains import DiscountSpec, GainSpec
from gbrank.layout import FloatArray, IntArray, QueryLayout
from gbrank.objectives.base import Float32Array
from gbrank.objectives.params import check_choice, check_number
from gbrank.objectives.relevance import RelevanceObjective
from gbrank.objectives.softmax import zero_step

_LARGEST_SCORE = 1e15
_TINY = 1e-300
_NEAR_ONE = 1e-6


@kernel()
def _powers(scores, q, floor, signed, powers):
    """Write scores, limited, and ``|s|^q`` relative to the largest, at least ``floor``.

    Return that largest and the sum.
    """
    m = len(scores)
    top = floor
    for i in range(m):
        s = min(max(scores[i], -_LARGEST_SCORE), _LARGEST_SCORE)
        signed[i] = s
        top = max(top, abs(s))
    log_top = log(top)
    total = 0.0
    for i in range(m):  # two loops: one that does both runs out of registers
        powers[i] = log(abs(signed[i]))
    for i in range(m):
        powers[i] = exp(q * (powers[i] - log_top))
        total += powers[i]
    return top, log_top, total


@kernel()
def _qnorm_rows(signed, powers, target, q, inverse_norm, inverse_total, pull, push, flat, round_, grad, hess):
    """Write ``g = pull a^(q-1) sign(s) - push u`` and ``h = flat + round psi(a)``, a = |s| / N."""
    k = 0.5 * q
    for i in range(len(target)):
        a = signed[i] * inverse_norm
        y = a * a
        power = powers[i] * inverse_total  # |a|^q
        omega = power / y if y > _TINY else 0.0  # |a|^(q-2)
        gap = power + (k - 1.0) - k * y
        rest = 1.0 - omega
        excess = min(k * y * rest * rest / max(gap, _NEAR_ONE), q - 2.0)
        excess = excess if gap > _NEAR_ONE else q - 2.0
        grad[i] = np.float32(pull * omega * a - push * target[i])
        hess[i] = np.float32(flat + round_ * excess)


@kernel()
def _penalized_block(first, last, bounds, scores, target, exponents, scratch, grad, hess):
    for query in range(first, last):
        a, b = bounds[query], bounds[query + 1]
        q = exponents[query]
        if q > 0.0:
            signed, powers = scratch[0][: b - a], scratch[1][: b - a]
            top, log_top, total = _powers(scores[a:b], q, _TINY, signed, powers)
            total = max(total, 1.0)
            norm = top * exp(log(total) / q)
            _qnorm_rows(
                signed, powers, target[a:b], q, 1.0 / norm, 1.0 / total,
                2.0 * norm, 2.0, 2.0, 2.0, grad[a:b], hess[a:b],
            )
        else:
            zero_step(grad[a:b], hess[a:b])


@kernel()
def _normalized_block(
    first, last, bounds, scores, target, exponents, bends, penalty, scratch, grad, hess
):
    for query in range(first, last):
        a, b = bounds[query], bounds[query + 1]
        q = exponents[query]
        if q > 0.0:
            signed, powers = scratch[0][: b - a], scratch[1][: b - a]
            top, log_top, total = _powers(scores[a:b], q, 1.0, signed, powers)
            total += exp(-q * log_top)
            norm = top * exp(log(total) / q)
            inverse = 1.0 / norm
            dot = 0.0
            for i in range(b - a):
                dot += signed[i] * target[a + i]
            similarity = dot * inverse
            _qnorm_rows(
                signed, powers, target[a:b], q, inverse, 1.0 / total,
                similarity * inverse + penalty * norm, inverse,
                bends[query] * inverse * inverse + penalty,
                max(similarity, 0.0) * inverse * inverse + penalty,
                grad[a:b], hess[a:b],
            )
        else:
            zero_step(grad[a:b], hess[a:b])


def _norm(x: FloatArray, q: float) -> float:
    """Return ``|x|_q`` in plain NumPy, from ratios to the largest entry: powers may overflow."""
    top = float(np.abs(x).max())
    return top * float(np.sum((np.abs(x) / top) ** q)) ** (1.0 / q) if top > 0 else 0.0


class QNorm(RelevanceObjective):
    """TODO"""

    scratch_rows: ClassVar[int] = 2

    def __init__(
        self,
        q: str | float = "auto",
        form: str = "penalized",
        norm_at: int | None = None,
        gain: GainSpec = "exp",
        discount: DiscountSpec = "log",
        penalty: float = 1e-3,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.q = q
        self.form = form
        self.norm_at = norm_at
        self.gain = gain
        self.discount = discount
        self.penalty = penalty
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        if isinstance(self.q, str):
            check_choice("q", self.q, ("auto",), also="a number in [2, 1000]")
        else:
            check_number("q", self.q, low=2.0, high=1000.0, also='"auto"')
        check_choice("form", self.form, ("penalized", "normalized"))
        check_number("penalty", self.penalty, low=0.0, high=1.0)
        super().check_params()

    def _exponents(self, sizes: IntArray) -> FloatArray:
        if isinstance(self.q, str):
            return np.log(np.maximum(sizes, 1)) + 2.0
        return np.full(len(sizes), float(self.q))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        target, counts = self.relevance(labels, layout)
        exponents = self._exponents(layout.sizes)
        bends = np.zeros(layout.n_queries)
        for query in np.flatnonzero(counts):
            u = target[layout.bounds[query]:layout.bounds[query+1]]
            p = exponents[query] / (exponents[query] - 1.0)
            bends[query] = np.sqrt(u @ u) + (u**p).sum() ** (1 / p)
        return target, np.where(counts, exponents, 0.0), bends

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
        target, exponents, bends = prepared
        if self.form == "penalized":
            _penalized_block(first, last, bounds, scores, target, exponents, scratch, grad, hess)
        else:
            _normalized_block(first, last, bounds, scores, target, exponents, bends, float(self.penalty), scratch, grad, hess)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        u = self.relevance_of_query(labels)
        if u is None:
            return 0.0
        q = float(self._exponents(np.array([len(labels)]))[0])
        s = np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)
        if self.form == "penalized":
            return _norm(s, q) ** 2 - 2.0 * float(s @ u)
        norm = _norm(np.append(s, 1.0), q)
        return float(-(s @ u) / norm + 0.5 * self.penalty * (norm**2 - 1.0))
