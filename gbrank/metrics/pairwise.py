"""Pairwise disagreement: the share of pairs of unequal labels that the scores order wrongly.

A tied pair counts 1/2. (Printed as sums of ``s_i <= s_j`` for i < j and ``s_i < s_j`` for i > j,
as in J. Duchi, L. Mackey and M. Jordan, "The asymptotics of ranking algorithms", 2013, equation 10,
a constant model would score by the order of its rows.) Pairs are counted going down the ranking,
with the labels seen so far in a Fenwick tree: O(m log m) for a list of m.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank._compile import kernel
from gbrank.layout import FloatArray, IntArray
from gbrank.metrics.base import (
    AVERAGE,
    SKIP,
    BoolArray,
    EmptySpec,
    Judgments,
    Metric,
    Score,
    documented,
)
from gbrank.metrics.ranks import Ranking


@kernel()
def _levels_block(bounds, order, tied, counts, levels, n_levels, n_pairs):
    """Number the distinct labels of each query from 1, the smallest; count its unequal pairs."""
    for q in range(len(bounds) - 1):
        start, size = bounds[q], bounds[q + 1] - bounds[q]
        level = 0
        unequal = 0
        in_level = 0
        for i in range(size - 1, -1, -1):
            if i == size - 1 or not tied[start + i]:
                level += 1
                in_level = 0
            levels[order[start + i]] = level
            unequal += (size - 1 - i) - in_level
            in_level += 1
        n_levels[q] = level
        n_pairs[q] = unequal


@kernel()
def _disagreement_of_query(levels, order, tied, start, size, n_levels, seen, in_group):
    """Return twice the number of pairs in the wrong order, tied ones counted once."""
    seen[: n_levels + 1] = 0  # a Fenwick tree over levels
    in_group[: n_levels + 1] = 0
    wrong = 0
    low = 0
    while low < size:
        high = low + 1
        while tied[start + high - 1]:
            high += 1
        for i in range(low, high):
            at = levels[order[start + i]] - 1  # those below this level that are ranked above
            while at > 0:
                wrong += 2 * seen[at]
                at -= at & -at
        for i in range(low, high):
            level = levels[order[start + i]]
            wrong += i - low - in_group[level]
            in_group[level] += 1
            while level <= n_levels:
                seen[level] += 1
                level += level & -level
        for i in range(low, high):
            in_group[levels[order[start + i]]] = 0
        low = high
    return wrong


@kernel()
def _disagreement_block(
    levels, n_levels, n_pairs, bounds, order, tied, counts, first, last, values
):
    most = 0
    for q in range(first, last):
        most = max(most, n_levels[q])
    seen, in_group = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    for q in range(first, last):
        wrong = _disagreement_of_query(
            levels, order, tied, bounds[q], counts[q], n_levels[q], seen, in_group
        )
        values[q] = wrong / (2 * n_pairs[q]) if n_pairs[q] > 0 else 0.0


class PairwiseDisagreement(Metric):
    """Pairwise disagreement: see :func:`pairwise_disagreement`."""

    name = "pairwise_disagreement"
    greater_is_better = False
    signed_labels = True
    no_cutoff = "it counts pairs of the whole list"

    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        layout = judgments.layout
        levels = np.empty(layout.n_rows, dtype=np.int64)
        n_levels = np.empty(layout.n_queries, dtype=np.int64)
        n_pairs = np.empty(layout.n_queries, dtype=np.int64)
        _levels_block(layout.bounds, *judgments.by_label, levels, n_levels, n_pairs)
        return (levels, n_levels, n_pairs), n_pairs == 0

    @staticmethod
    def _measure(
        data: tuple[Any, ...],
        ranks: IntArray,
        bounds: IntArray,
        ranking: Ranking,
        first: int,
        last: int,
        values: FloatArray,
    ) -> None:
        _disagreement_block(*data, bounds, *ranking, first, last, values)


@documented
def pairwise_disagreement(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | float | None = None,
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    per_query: bool = False,
    convention: str | None = None,
    n_jobs: int | None = None,
) -> Score:
    """Return the mean share of pairs of unequal labels in the wrong order; smaller is better.

    Tied pairs count 1/2 (with ``ties="worst"`` 1). A query is blank when all its labels are equal.
    Labels may be negative; there is no cut-off, so ``k`` must be None.

    Parameters
    ----------
    {common}

    References
    ----------
    J. Duchi, L. Mackey and M. Jordan, "The asymptotics of ranking algorithms", 2013, equation 10.

    Examples
    --------
    >>> from gbrank.metrics import pairwise_disagreement
    >>> pairwise_disagreement([0, 1, 2], [0.3, 0.1, 0.5], group=[3])  # one pair of three
    0.3333333333333333
    """
    metric = PairwiseDisagreement(k, empty=empty, ties=ties, convention=convention, n_jobs=n_jobs)
    return metric(
        labels, scores, qid=qid, group=group, sample_weight=sample_weight, per_query=per_query
    )
