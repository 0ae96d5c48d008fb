"""Logistic loss of a list of observed pairs: what the losses on comparisons share.

For each pair of documents i, j of a query, of which i should win with weight ``v`` and j with
weight ``w``::

    v log(1 + e^-(s_i - s_j)) + w log(1 + e^(s_i - s_j))

Its hessian is bounded as that of all pairs: see :mod:`gbrank.objectives._pairs`. Comparisons of the
same two documents are merged once per training, so a step costs one exponential per pair that was
ever compared, however often it was.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import FloatArray, IntArray, exp, kernel, stable_argsort
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._pairs import LEAST_REST
from gbrank.preferences import BoundObservations

#: Beyond this distance of scores the chance of an upset is 0 in float64.
_FAR = 745.0

Pairs = tuple[IntArray, NDArray[np.int32], NDArray[np.int32], FloatArray, FloatArray]


def merge_pairs(bound: BoundObservations) -> Pairs:
    """Return the distinct pairs of each query with the total weight of both outcomes.

    Returns
    -------
    pair_bounds : int64 array, first pair of each query, and last their number.
    first, second : int32 arrays, the documents of each pair, ``first < second``.
    for_first, for_second : float64 arrays, how much weight says that the first, or the second, won.

    Examples
    --------
    >>> from gbrank.core.queries import QueryLayout
    >>> from gbrank.objectives._observed_pairs import merge_pairs
    >>> from gbrank.preferences import Comparisons
    >>> comparisons = Comparisons(None, winner=[0, 1, 0, 2], loser=[1, 0, 1, 1])
    >>> merge_pairs(comparisons.bind(QueryLayout.from_group([3])))[1:]
    (array([0, 1], dtype=int32), array([1, 2], dtype=int32), array([2., 0.]), array([1., 1.]))
    """
    observations = np.diff(bound.edge_bounds)
    edges_of_query = np.diff(bound.edge_bounds[bound.query_bounds])
    weights = bound.edge_weight * np.repeat(bound.observation_weight, observations)
    first = np.minimum(bound.winner, bound.loser)
    second = np.maximum(bound.winner, bound.loser)
    longest = int(bound.layout.sizes.max(initial=1))
    starts = np.repeat(bound.layout.bounds[:-1], edges_of_query)
    keys = (starts + first) * longest + second  # by query, then pair
    order = stable_argsort(keys)
    keys, first, second = keys[order], first[order], second[order]
    wins = np.where(bound.winner[order] == first, weights[order], 0.0)
    losses = weights[order] - wins
    heads = np.flatnonzero(np.concatenate((np.ones(min(len(keys), 1), bool), np.diff(keys) != 0)))
    if len(keys):
        wins, losses = np.add.reduceat(wins, heads), np.add.reduceat(losses, heads)
    queries = np.repeat(np.arange(len(edges_of_query)), edges_of_query)[order][heads]
    pair_bounds = np.zeros(len(edges_of_query) + 1, dtype=np.int64)
    np.cumsum(np.bincount(queries, minlength=len(edges_of_query)), out=pair_bounds[1:])
    return pair_bounds, first[heads], second[heads], wins, losses


@kernel()
def observed_pairs_block(
    first_query, last_query, bounds, scores, pair_bounds, first, second, for_first, for_second,
    iteration, scratch, grad, hess,
):  # fmt: skip
    """Write gradient and hessian of a range of queries; needs two rows of ``scratch``."""
    forces, hessians = scratch[0], scratch[1]
    for q in range(first_query, last_query):
        a, b = bounds[q], bounds[q + 1]
        if pair_bounds[q] == pair_bounds[q + 1]:
            zero_step(grad[a:b], hess[a:b])
            continue
        forces[: b - a] = 0.0
        hessians[: b - a] = 0.0
        for pair in range(pair_bounds[q], pair_bounds[q + 1]):
            i, j, v, w = first[pair], second[pair], for_first[pair], for_second[pair]
            distance = scores[a + i] - scores[a + j]
            upset = exp(-min(abs(distance), _FAR))
            likely = 1.0 / (1.0 + upset)
            unlikely = upset * likely
            ahead = distance >= 0.0  # the chance that the first one wins is the likely one
            wins = likely if ahead else unlikely
            loses = unlikely if ahead else likely
            g = w * wins - v * loses
            h = v * loses * max(wins, LEAST_REST) + w * wins * max(loses, LEAST_REST)
            forces[i] += g
            forces[j] -= g
            hessians[i] += h
            hessians[j] += h
        for i in range(b - a):
            grad[a + i] = np.float32(forces[i])
            hess[a + i] = np.float32(hessians[i])


def observed_pairs_loss(scores: FloatArray, bounds: IntArray, pairs: tuple[Any, ...]) -> FloatArray:
    """Return the loss of every query in plain NumPy, as the formula reads."""
    pair_bounds, first, second, for_first, for_second = pairs
    losses = np.zeros(len(bounds) - 1)
    for query in range(len(losses)):
        here = slice(pair_bounds[query], pair_bounds[query + 1])
        of_query = scores[bounds[query] : bounds[query + 1]]
        margins = of_query[first[here]] - of_query[second[here]]
        losses[query] = for_first[here] @ np.logaddexp(0.0, -margins)
        losses[query] += for_second[here] @ np.logaddexp(0.0, margins)
    return losses
