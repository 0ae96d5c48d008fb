"""The step that all softmax losses share: cross entropy of a target against softmax(scores).

With ``rho = softmax(s)`` and a target distribution ``phi`` the gradient is ``rho - phi`` and the
Hessian is ``diag(rho) - rho rho^T = D (I - S)`` with ``D = diag(rho (1 - rho))`` and
``S_ij = rho_j / (1 - rho_i)`` off the diagonal (Bruch 2021, section 4.3). Trees take one numerator
and one denominator per document, so the denominator is ``D`` and the numerator carries the first
terms of the Neumann series of ``(I - S)^-1``::

    g = D (I + S + ... + S^K) D^-1 (rho - phi)

Each term is one pass over the list, because ``D S D^-1`` times a vector ``v`` is
``rho_i (sum_j w_j - w_i)`` with ``w = v / (1 - rho)``. S is row-stochastic, so the series does not
converge and K is small by design; odd K is refused, because for two documents S has eigenvalue -1
and the numerator would be exactly zero. At every order the numerators of a query sum to zero.

Where one document holds nearly all the probability, ``1 - rho`` and ``sum_j w_j - w_i`` of that
document are differences of nearly equal numbers. Its sums are then taken over the others alone.
"""

from numbers import Integral
from typing import Any

import numpy as np

from gbrank.core import FloatArray, exp, kernel

NEUMANN_ORDERS = (0, 2, 4)
#: Scratch rows that :func:`softmax_step` needs: rho, 1 / (1 - rho) and w.
SOFTMAX_ROWS = 3
#: What the others may hold, relative to the top document, for its sums to be taken without it.
DOMINATED = 1e-4
#: 1 - rho is at least this: a document that holds all the probability still gets finite numbers.
SMALLEST_REST = 1e-300


def check_neumann_order(order: Any) -> None:
    """Refuse any order but 0, 2 and 4."""
    if isinstance(order, bool) or not isinstance(order, Integral) or order not in NEUMANN_ORDERS:
        raise ValueError(
            f"neumann_order must be one of {NEUMANN_ORDERS}, got {order!r}; odd orders give a zero "
            "or reversed step for two documents"
        )


def log_partition(scores: FloatArray, eps: float = 0.0) -> float:
    """Return ``log(sum e^s + eps)`` in plain NumPy."""
    if eps > 0:
        scores = np.append(scores, np.log(eps))
    top = scores.max()
    return float(top + np.log(np.exp(scores - top).sum()))


@kernel()
def softmax_step(scores, target, target_sum, eps, order, scratch, grad, hess):
    """Write numerator and hessian of one query; ``target / target_sum`` is phi.

    A document ``at`` that holds nearly all the probability stands apart: the rows hold zeros for
    it, so that sums over them are sums over the others.
    """
    m = len(scores)
    rho, inverse_rest, w = scratch[0], scratch[1], scratch[2]
    top = scores[0]
    for i in range(m):
        top = max(top, scores[i])
    total = eps * exp(-top) if eps > 0.0 else 0.0
    for i in range(m):
        rho[i] = exp(scores[i] - top)
        total += rho[i]
    at, others, others_target = -1, 0.0, 0.0
    if total < 1.0 + DOMINATED:
        at, others = 0, eps * exp(-top) if eps > 0.0 else 0.0
        while scores[at] != top:
            at += 1
        rho[at] = 0.0
        for i in range(m):
            others += rho[i]
            others_target += target[i] if i != at else 0.0
        total = 1.0 + others
    scale, target_scale = 1.0 / total, 1.0 / target_sum
    sum_w, top_w, rest = 0.0, 0.0, 1.0
    for i in range(m):
        p = rho[i] * scale
        first = p - (target[i] if i != at else 0.0) * target_scale
        rho[i] = p
        inverse_rest[i] = 1.0 / (1.0 - p)
        w[i] = first * inverse_rest[i]
        sum_w += w[i]
        grad[i] = np.float32(first)
        hess[i] = np.float32(p * (1.0 - p))
    if at >= 0:
        rest = max(others * scale, SMALLEST_REST)  # 1 - rho of the top document
        first = others_target * target_scale - rest
        grad[at], hess[at], top_w = np.float32(first), np.float32(scale * rest), first / rest
    for _ in range(order):
        all_w, next_sum = sum_w + top_w, 0.0
        for i in range(m):
            term = rho[i] * (all_w - w[i])
            grad[i] += np.float32(term)  # summed in float32, as LightGBM does
            w[i] = term * inverse_rest[i]
            next_sum += w[i]
        if at >= 0:
            grad[at] += np.float32(scale * sum_w)
            top_w = scale * sum_w / rest
        sum_w = next_sum
