"""LightGBM's ``lambdarank`` gradients, to the last bit.

For every pair of documents with different labels, at least one of them among the first
``truncation_level`` by score (rank i < truncation_level, rank j > i), with "high" the one of the
larger label::

    delta  = (gain_high - gain_low) |D(i) - D(j)| / maxDCG@truncation_level
    delta /= 0.01 + |s_high - s_low|                 if norm and not all scores are equal
    p      = 1 / (1 + exp(sigmoid (s_high - s_low)))
    lambda = sigmoid delta p                         -lambda to high, +lambda to low
    h      = sigmoid^2 delta p (1 - p)               to both

and, with ``norm``, all of a query is multiplied by ``log2(1 + S) / S``, S the sum of 2 lambda.

Equal to the last bit means: ``p`` from a table, ``0.01`` the single precision number, gradients and
hessians added up in single precision, i before j, everything else in double precision and in the
order of operations below. ``math.exp`` and ``math.log2`` are the C library's, as LightGBM's are;
NumPy has its own, which differ in the last bit.

Scores must be finite and labels integers from 0; nothing is checked.
"""

import functools
import itertools
import math

import numpy as np
from numba import njit

TABLE_BINS = 1024 * 1024
NORM_OFFSET = float(np.float32(0.01))
DEFAULT_LABEL_GAIN = 2.0 ** np.arange(31) - 1.0


def lambdarank_gradients(
    labels,
    scores,
    group,
    weight=None,
    *,
    sigmoid=1.0,
    truncation_level=30,
    norm=True,
    label_gain=None,
):
    """Return float32 gradients and hessians, one per row; rows of a query are consecutive.

    >>> from oracles.lightgbm_lambdarank import lambdarank_gradients
    >>> gradients, hessians = lambdarank_gradients([1, 0], [0.0, 0.0], [2], norm=False)
    >>> gradients  # (2^1 - 1) (1 - 1 / log2(3)) / 2
    array([-0.18453512,  0.18453512], dtype=float32)
    >>> hessians
    array([0.09226756, 0.09226756], dtype=float32)
    """
    labels = np.asarray(labels).astype(np.int64)
    scores = np.asarray(scores, dtype=np.float64)
    bounds = np.concatenate(([0], np.cumsum(group))).astype(np.int64)
    gain_of_label = DEFAULT_LABEL_GAIN if label_gain is None else np.array(label_gain, dtype=float)
    table = _sigmoid_table(float(sigmoid))
    gradients = np.zeros(len(labels), dtype=np.float32)
    hessians = np.zeros(len(labels), dtype=np.float32)
    for start, stop in itertools.pairwise(bounds):
        query = slice(start, stop)
        order = np.argsort(-scores[query], kind="stable")  # equal scores stay in row order
        _add_pairs(
            gain_of_label[labels[query]],
            labels[query],
            scores[query],
            order,
            _inverse_max_dcg(labels[query], gain_of_label, truncation_level),
            float(sigmoid),
            truncation_level,
            norm,
            table,
            gradients[query],
            hessians[query],
        )
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float32)
        gradients *= weight
        hessians *= weight
    return gradients, hessians


def _inverse_max_dcg(labels, gain_of_label, k):
    best_first = np.sort(labels)[::-1]
    dcg = 0.0
    for rank, label in enumerate(best_first[:k]):
        dcg += float(gain_of_label[label]) * _discount(rank)
    return 1.0 / dcg if dcg > 0.0 else 0.0


@njit
def _add_pairs(
    gains,
    labels,
    scores,
    order,
    inverse_max_dcg,
    sigmoid,
    truncation_level,
    norm,
    table,
    gradients,
    hessians,
):
    """Add the pairs of one query to its gradients and hessians, which are float32 zeros."""
    n = len(order)
    if n < 2:
        return
    scores_differ = scores[order[0]] != scores[order[n - 1]]
    sum_lambdas = 0.0
    for i in range(min(n - 1, truncation_level)):
        for j in range(i + 1, n):
            a, b = order[i], order[j]
            if labels[a] == labels[b]:
                continue
            high, low = (a, b) if labels[a] > labels[b] else (b, a)
            difference = scores[high] - scores[low]
            gap = abs(_discount(i) - _discount(j))
            delta = (gains[high] - gains[low]) * gap * inverse_max_dcg
            if norm and scores_differ:
                delta /= NORM_OFFSET + abs(difference)
            p = _look_up(table, sigmoid, difference)
            pair_lambda = p * (sigmoid * delta)
            pair_hessian = p * (1.0 - p) * (sigmoid * sigmoid * delta)
            gradients[high] -= np.float32(pair_lambda)
            gradients[low] += np.float32(pair_lambda)
            hessians[high] += np.float32(pair_hessian)
            hessians[low] += np.float32(pair_hessian)
            sum_lambdas += 2.0 * pair_lambda
    if norm and sum_lambdas > 0.0:
        factor = math.log2(1.0 + sum_lambdas) / sum_lambdas
        for i in range(n):
            gradients[i] = np.float32(gradients[i] * factor)  # the product is a double
            hessians[i] = np.float32(hessians[i] * factor)


@njit
def _discount(rank):
    """Return the discount of a rank that counts from 0."""
    return 1.0 / math.log2(2.0 + rank)


@functools.cache
@njit
def _sigmoid_table(sigmoid):
    """Return 1 / (1 + exp(sigmoid x)) at the lower edges of equal bins of [-25, 25] / sigmoid."""
    lowest = -25.0 / sigmoid
    bins_per_unit = TABLE_BINS / (-lowest - lowest)
    table = np.empty(TABLE_BINS)
    for i in range(TABLE_BINS):
        table[i] = 1.0 / (1.0 + math.exp((i / bins_per_unit + lowest) * sigmoid))
    return table


@njit
def _look_up(table, sigmoid, x):
    lowest = -25.0 / sigmoid
    if x <= lowest:
        return table[0]
    if x >= -lowest:
        return table[TABLE_BINS - 1]
    return table[int((x - lowest) * (TABLE_BINS / (-lowest - lowest)))]
