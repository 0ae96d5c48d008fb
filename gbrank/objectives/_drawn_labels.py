"""Aggregates of observations that are drawn again for each tree: the labels of a U-statistic."""

from typing import Any

import numpy as np

from gbrank.core import FloatArray, kernel, random_key, random_uniform
from gbrank.preferences import BoundObservations, make_workspace

# A stream of its own: the base objective may have the same seed.
_STREAM = 0xD12A75
# Aggregates that differ by less, relative to the largest, are equal but for the order of sums.
_ROUNDING = 1e-13


@kernel()
def _draw(first, last, query_bounds, chosen_bounds, seed, iteration, permutation, chosen):
    """Choose observations of each query: the first few of a random permutation of them.

    ``permutation`` holds 0, 1, 2, ... and does so again afterwards: the exchanges are undone, so
    that a draw costs no more than it draws.
    """
    for q in range(first, last):
        low = query_bounds[q]
        n, start = query_bounds[q + 1] - low, chosen_bounds[q]
        k = chosen_bounds[q + 1] - start
        if k == n:
            for i in range(n):
                chosen[start + i] = low + i
            continue
        key_low, key_high = random_key(seed + _STREAM, iteration, q)
        for i in range(k):
            other = i + np.int64(random_uniform(key_low, key_high, i) * (n - i))
            permutation[i], permutation[other] = permutation[other], permutation[i]
            chosen[start + i] = other  # for now: what was exchanged
        for i in range(k - 1, -1, -1):
            other = chosen[start + i]
            chosen[start + i] = low + permutation[i]
            permutation[i], permutation[other] = permutation[other], permutation[i]


@kernel()
def _count_from_lowest(first, last, bounds, labels):
    for q in range(first, last):
        lowest, largest = np.inf, 0.0
        for row in range(bounds[q], bounds[q + 1]):
            lowest = min(lowest, labels[row])
            largest = max(largest, abs(labels[row]))
        for row in range(bounds[q], bounds[q + 1]):
            above = labels[row] - lowest
            labels[row] = above if above > _ROUNDING * largest else 0.0


class DrawnLabels:
    """Aggregates of drawn observations, tree after tree: what one training keeps for it.

    Parameters
    ----------
    bound : the observations.
    method : how they are aggregated.
    numbers : parameters of the method.
    order : how many observations of each query are drawn; ``None`` for all.
    seed : of the draws.
    """

    def __init__(
        self,
        bound: BoundObservations,
        method: Any,
        numbers: tuple[float, float],
        order: int | None,
        seed: int,
    ) -> None:
        method.check_observations(bound)
        self.bound, self.method, self.numbers, self.seed = bound, method, numbers, seed
        counts = np.diff(bound.query_bounds)
        taken = counts if order is None else np.minimum(counts, order)
        self.chosen_bounds = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(taken)))
        self.chosen = np.empty(self.chosen_bounds[-1], dtype=np.int64)
        self.labels = np.zeros(bound.layout.n_rows)
        # no more edges of a query than it has, nor than its longest observations could have
        in_query = np.diff(bound.edge_bounds[bound.query_bounds])
        longest = int(np.diff(bound.edge_bounds).max(initial=0))
        self.most_edges = int(np.minimum(in_query, taken * longest).max(initial=1))
        self.draws = bool((taken < counts).any())

    def run(self, first: int, last: int, iteration: int) -> FloatArray:
        """Return the labels of the rows of queries ``first`` to ``last`` (exclusive)."""
        bound, bounds = self.bound, self.bound.layout.bounds
        n_observations = np.diff(bound.query_bounds[first : last + 1])
        permutation = np.arange(int(n_observations.max(initial=0)) if self.draws else 0)
        _draw(
            first,
            last,
            bound.query_bounds,
            self.chosen_bounds,
            self.seed,
            iteration,
            permutation,
            self.chosen,
        )
        workspace = make_workspace(bound, self.most_edges)
        chosen = (self.chosen_bounds, self.chosen)
        self.method.run(first, last, bound, *chosen, self.numbers, workspace, self.labels)
        _count_from_lowest(first, last, bounds, self.labels)
        return self.labels[bounds[first] : bounds[last]]
