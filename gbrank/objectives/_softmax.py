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
# What the others may hold, relative to the top document, for its sums to be taken without it.
_DOMINATED = 1e-4
# 1 - rho is at least this: a document that holds all the probability still gets finite numbers.
_SMALLEST_REST = 1e-300


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
    """Write numerator and hessian of one query; ``target / target_sum`` is phi."""
    m = len(scores)
    rho, inverse_rest, w = scratch[0], scratch[1], scratch[2]
    top = scores[0]
    for i in range(m):
        top = max(top, scores[i])
    total = eps * exp(-top) if eps > 0.0 else 0.0
    for i in range(m):
        rho[i] = exp(scores[i] - top)
        total += rho[i]
    if total < 1.0 + _DOMINATED:
        _dominated_step(scores, top, eps, target, target_sum, order, rho, w, grad, hess)
        return
    scale, target_scale = 1.0 / total, 1.0 / target_sum
    sum_w = 0.0
    for i in range(m):
        p = rho[i] * scale
        first = p - target[i] * target_scale
        rho[i] = p
        inverse_rest[i] = 1.0 / (1.0 - p)
        w[i] = first * inverse_rest[i]
        sum_w += w[i]
        grad[i] = np.float32(first)
        hess[i] = np.float32(p * (1.0 - p))
    for _ in range(order):
        next_sum = 0.0
        for i in range(m):
            term = rho[i] * (sum_w - w[i])
            grad[i] += np.float32(term)  # summed in float32, as LightGBM does
            w[i] = term * inverse_rest[i]
            next_sum += w[i]
        sum_w = next_sum


@kernel()
def _dominated_step(scores, top, eps, target, target_sum, order, rho, w, grad, hess):
    """Do the same for a list whose top document holds nearly all; rho is not yet divided."""
    m = len(scores)
    at = 0
    while scores[at] != top:
        at += 1
    others = eps * exp(-top) if eps > 0.0 else 0.0
    others_target = 0.0
    for i in range(m):
        if i != at:
            others += rho[i]
            others_target += target[i]
    scale = 1.0 / (1.0 + others)
    rest = max(others * scale, _SMALLEST_REST)  # 1 - rho of the top document
    sum_others = 0.0
    for i in range(m):
        rho[i] *= scale
        first = rho[i] - target[i] / target_sum
        if i == at:
            first = others_target / target_sum - rest
        grad[i] = np.float32(first)
        hess[i] = np.float32(rho[i] * (rest if i == at else 1.0 - rho[i]))
        w[i] = first / (rest if i == at else 1.0 - rho[i])
        if i != at:
            sum_others += w[i]
    for _ in range(order):
        sum_w, next_sum = sum_others + w[at], 0.0
        for i in range(m):
            term = rho[i] * (sum_others if i == at else sum_w - w[i])
            grad[i] += np.float32(term)
            w[i] = term / (rest if i == at else 1.0 - rho[i])
            if i != at:
                next_sum += w[i]
        sum_others = next_sum
