"""LightGBM's ``rank_xendcg`` gradients, to the last bit.

For one query, with ``rho = softmax(s)``, ``gamma`` one random number per document and
``phi = (2^r - gamma) / sum(2^r - gamma)``, the gradient is a sum of three terms, the first two of
which are also divided by ``1 - rho`` and summed up over the query::

    first_i  = rho_i - phi_i
    second_i = rho_i (sum_j first_j  / (1 - rho_j) - first_i  / (1 - rho_i))
    third_i  = rho_i (sum_j second_j / (1 - rho_j) - second_i / (1 - rho_i))
    g_i      = first_i + second_i + third_i,   h_i = rho_i (1 - rho_i)

Equal to the last bit means: each term is rounded to single precision before it is added, all else
is in double precision, sums go through the documents in order, and gamma comes from LightGBM's own
generator, one per query, whose state lives on from step to step. A query of one document draws
nothing and gets zeros. Labels are cut to integers, as LightGBM does; nothing is checked.
"""

import itertools
import math

import numpy as np
from numba import njit


class XendcgOracle:
    """The gradients of one training: call :meth:`step` once per boosting iteration.

    Parameters
    ----------
    labels : one number per row; rows of a query are consecutive.
    group : rows per query.
    seed : LightGBM's ``objective_seed``.
    weight : one number per row, or None.

    Examples
    --------
    >>> from oracles.lightgbm_xendcg import XendcgOracle
    >>> oracle = XendcgOracle([1, 0], [2], seed=5)
    >>> gradients, hessians = oracle.step([0.0, 0.0])
    >>> gradients.dtype, hessians
    (dtype('float32'), array([0.25, 0.25], dtype=float32))
    >>> again, _ = oracle.step([0.0, 0.0])
    >>> bool((gradients != again).all())
    True
    """

    def __init__(self, labels, group, seed, weight=None):
        self.labels = np.asarray(labels).astype(np.int64)
        self.bounds = np.concatenate(([0], np.cumsum(group))).astype(np.int64)
        self.weight = None if weight is None else np.asarray(weight, dtype=np.float32)
        self.random_states = (seed + np.arange(len(group), dtype=np.int64)) % 2**32

    def step(self, scores):
        """Return float32 gradients and hessians of the next iteration."""
        scores = np.asarray(scores, dtype=np.float64)
        gradients = np.zeros(len(self.labels), dtype=np.float32)
        hessians = np.zeros(len(self.labels), dtype=np.float32)
        for q, (start, stop) in enumerate(itertools.pairwise(self.bounds)):
            query = slice(start, stop)
            if stop - start > 1:
                gamma = np.empty(stop - start)
                self.random_states[q] = _draw(self.random_states[q], gamma)
                phi = 2.0 ** self.labels[query] - gamma  # exact; divided by its sum later
                _one_query(phi, scores[query], gradients[query], hessians[query])
        if self.weight is not None:
            gradients *= self.weight
            hessians *= self.weight
        return gradients, hessians


@njit
def _draw(state, numbers):
    """Fill with multiples of 2^-15 in [0, 1) from a linear congruence; return its new state."""
    for i in range(len(numbers)):
        state = (214013 * state + 2531011) % 2**32  # below 2^50, so int64 holds it
        numbers[i] = ((state >> 16) % 2**15) / 2**15
    return state


@njit(error_model="numpy")  # 1 - rho may be 0: C++ then divides by it
def _one_query(phi, scores, gradients, hessians):
    n = len(scores)
    rho = _softmax(scores)
    phi_scale = 1.0 / _sum_in_order(phi)
    first = np.empty(n)
    for i in range(n):
        first[i] = rho[i] - phi[i] * phi_scale
    second = _next_term(rho, first)
    third = _next_term(rho, second)
    for i in range(n):
        gradients[i] = np.float32(first[i])
        gradients[i] += np.float32(second[i])
        gradients[i] += np.float32(third[i])
        hessians[i] = np.float32(rho[i] * (1.0 - rho[i]))


@njit(error_model="numpy")
def _next_term(rho, term):
    quotient = term / (1.0 - rho)
    return rho * (_sum_in_order(quotient) - quotient)


@njit
def _softmax(scores):
    largest = scores.max()
    exponentials = np.empty(len(scores))
    for i in range(len(scores)):
        exponentials[i] = math.exp(scores[i] - largest)
    return exponentials / _sum_in_order(exponentials)


@njit
def _sum_in_order(values):
    """Return the sum, added from left to right; ``values.sum()`` may add in pairs."""
    total = 0.0
    for value in values:
        total += value
    return total
