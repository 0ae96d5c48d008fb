"""How objectives come by their observations, and how much each query counts.

An objective may get observations that name rows of its data set, or observations that are bound to
these rows already (:class:`gbrank.Ranker` binds them, because it puts rows into another order).
"""

from typing import Any

import numpy as np

from gbrank.core import FloatArray, QueryLayout, kernel
from gbrank.preferences import BoundObservations, Observations

#: Stands for observations that labels make: one partial order of the documents of each query.
FROM_LABELS = "labels"


def check_observations(observations: Any) -> None:
    """Refuse what is neither observations, bound or not, nor ``"labels"``, nor ``None``."""
    if observations is None or isinstance(observations, Observations | BoundObservations):
        return
    if isinstance(observations, str) and observations == FROM_LABELS:
        return
    raise TypeError(
        "observations must be gbrank.preferences.Comparisons, Selections or PartialOrders, "
        f'"labels" or None, got {observations!r}'
    )


def bind_observations(
    observations: Any, labels: FloatArray, layout: QueryLayout, name: str
) -> BoundObservations:
    """Return the observations of the objective ``name`` bound to the rows it trains on."""
    check_observations(observations)
    if observations is None:
        raise ValueError(
            f"{name} needs observations: give {name}(observations=...) comparisons, selections or "
            "partial orders of gbrank.preferences, or fit gbrank.Ranker with preferences="
        )
    if isinstance(observations, Observations):
        return observations.bind(layout)
    if isinstance(observations, BoundObservations):
        if not np.array_equal(observations.layout.bounds, layout.bounds):
            raise ValueError(
                f"observations of {name} were bound to {observations.layout!r}, but the training "
                f"data are {layout!r}, or have queries of other lengths"
            )
        return observations
    return orders_of_labels(labels, layout)


def query_weights(bound: BoundObservations) -> FloatArray:
    """Return ``Q n_q / n``, the weight of each query: 1 in the mean over all Q queries.

    ``n_q`` is the total weight of the query's observations. The empirical risk weighs queries by
    how often they were seen (Duchi, Mackey and Jordan 2013, equation 19); times Q, so that
    hessians do not sink below what LightGBM takes for nothing.
    """
    totals = observed_totals(bound)
    mean = float(totals.mean()) if len(totals) else 0.0
    return totals / mean if mean > 0 else np.zeros_like(totals)


def observed_totals(bound: BoundObservations) -> FloatArray:
    """Return the total weight of the observations of each query.

    Parameters
    ----------
    bound : observations, bound to rows.

    Examples
    --------
    >>> from gbrank.core import QueryLayout
    >>> from gbrank.objectives import observed_totals
    >>> from gbrank.preferences import Comparisons
    >>> comparisons = Comparisons(None, winner=[0, 0, 3], loser=[1, 1, 2], weight=[1.0, 0.5, 2.0])
    >>> observed_totals(comparisons.bind(QueryLayout.from_group([2, 2, 1])))
    array([1.5, 2. , 0. ])
    """
    weights, bounds = bound.observation_weight, bound.query_bounds
    totals = np.zeros(len(bounds) - 1)
    seen = np.diff(bounds) > 0
    if seen.any():
        totals[seen] = np.add.reduceat(weights, bounds[:-1][seen])
    return totals


@kernel()
def _count_label_pairs(bounds, labels, counts):
    for q in range(len(bounds) - 1):
        for i in range(bounds[q], bounds[q + 1]):
            for j in range(bounds[q], bounds[q + 1]):
                counts[q] += labels[i] > labels[j]


@kernel()
def _write_label_pairs(bounds, labels, winner, loser):
    edge = 0
    for q in range(len(bounds) - 1):
        a = bounds[q]
        for i in range(a, bounds[q + 1]):
            for j in range(a, bounds[q + 1]):
                if labels[i] > labels[j]:
                    winner[edge], loser[edge] = i - a, j - a
                    edge += 1


def orders_of_labels(labels: FloatArray, layout: QueryLayout) -> BoundObservations:
    """Return one partial order per query: a document is preferred to those with smaller labels.

    Every pair is written out, so this is for short lists.

    >>> import numpy as np
    >>> from gbrank.core.queries import QueryLayout
    >>> from gbrank.objectives._observed import orders_of_labels
    >>> orders_of_labels(np.array([2.0, 0.0, 1.0, 1.0, 1.0]), QueryLayout.from_group([3, 2]))
    BoundObservations(n=2, edges=3, queries=2 of 2)
    """
    counts = np.zeros(layout.n_queries, dtype=np.int64)
    _count_label_pairs(layout.bounds, labels, counts)
    edge_bounds = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    winner, loser = (np.empty(edge_bounds[-1], dtype=np.int32) for _ in range(2))
    _write_label_pairs(layout.bounds, labels, winner, loser)
    numbers = np.arange(layout.n_queries + 1)
    return BoundObservations(
        layout,
        numbers,
        edge_bounds,
        winner,
        loser,
        np.ones(len(winner)),
        np.ones(layout.n_queries),
        numbers[:-1].copy(),
    )
