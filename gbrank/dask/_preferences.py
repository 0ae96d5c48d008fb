"""Preferences on many machines: observations of each partition, joined where LightGBM trains.

A worker trains on several partitions and is not told on which. So the labels, which preferences do
not need, carry the number of the partition, and each worker picks the observations of its own.
"""

from typing import Any

import numpy as np
from dask import delayed

from gbrank.core import FloatArray, IntArray, QueryLayout
from gbrank.dask._cluster import FitClient
from gbrank.objectives import Objective, observed_totals
from gbrank.preferences import BoundObservations, Observations

#: LightGBM keeps labels as float32, which counts up to here.
MOST_PARTITIONS = 2**24


def check_preferences(objective: Objective, preferences: Any, n_partitions: int) -> None:
    """Raise an error unless there is one set of observations per partition, or none is needed.

    Parameters
    ----------
    objective : what is to learn from them.
    preferences : what :meth:`gbrank.dask.DaskRanker.fit` got.
    n_partitions : number of partitions of the rows.
    """
    if preferences is None:
        if objective.needs_observations or getattr(objective, "observations", None) is not None:
            raise ValueError(
                f"{type(objective).__name__} learns from observations, which must be given "
                "partition by partition: DaskRanker.fit(X, qid=qid, preferences=[...])"
            )
        return
    if "observations" not in objective.get_params(deep=False):
        raise ValueError(
            f"{type(objective).__name__} learns from labels, not from preferences; use "
            "objective='ustatistic', 'preference_logistic' or 'pairwise_logistic'"
        )
    if isinstance(preferences, Observations) or not isinstance(preferences, list | tuple):
        raise TypeError(
            "preferences must be a list with the observations of each partition (Comparisons, "
            f"Selections or PartialOrders), got {type(preferences).__name__}"
        )
    wrong = [each for each in preferences if not isinstance(each, Observations)]
    if wrong:
        raise TypeError(
            "preferences must hold Comparisons, Selections or PartialOrders, got "
            f"{type(wrong[0]).__name__}"
        )
    if len(preferences) != n_partitions or n_partitions > MOST_PARTITIONS:
        raise ValueError(
            f"preferences must have one entry for each of the {n_partitions} partitions of X, got "
            f"{len(preferences)}"
        )


def bind_preferences(
    client: FitClient,
    objective: Objective,
    queries: list[Any],
    preferences: list[Observations],
    keys: list[Any] | None,
) -> "PartitionedObservations":
    """Return the objective with the observations of all partitions, bound to their rows.

    Parameters
    ----------
    client : where the rows are.
    objective : what learns from them.
    queries, keys : blocks of each partition, delayed.
    preferences : observations of each partition.
    """
    named = keys or [None] * len(queries)
    each = enumerate(zip(queries, preferences, named, strict=True))
    bound = client.results([delayed(bind_part)(number, *blocks) for number, blocks in each])
    return PartitionedObservations(objective, bound, n_jobs=objective.n_jobs)


def bind_part(number: int, qid: Any, observations: Observations, keys: Any) -> BoundObservations:
    """Find the rows of a partition that its observations name.

    Parameters
    ----------
    number : of the partition, for error messages.
    qid, keys : of each row.
    observations : those of the partition.
    """
    try:
        return observations.bind(QueryLayout.from_qid(qid), keys=keys)
    except (TypeError, ValueError) as error:
        raise type(error)(f"preferences of partition {number}: {error}") from None


def _scaled_block(first, last, bounds, scores, step, scale, iteration, scratch, grad, hess):
    step(first, last, bounds, scores, iteration, scratch, grad, hess)
    grad[bounds[first] : bounds[last]] *= scale
    hess[bounds[first] : bounds[last]] *= scale


class PartitionedObservations(Objective):
    """An objective that learns from observations, on whatever partitions a worker has.

    Queries count ``Q n_q / n`` as on one machine: Q and n are those of all partitions together,
    which a worker alone would not know.

    Parameters
    ----------
    objective : Objective
        One that learns from observations.
    bound : list of BoundObservations
        Those of each partition.
    n_jobs : int, default=None
        Threads of a step.
    """

    has_loss = False
    kernel = staticmethod(_scaled_block)

    def __init__(
        self, objective: Objective, bound: list[BoundObservations], *, n_jobs: int | None = None
    ) -> None:
        self.objective = objective
        self.bound = bound
        self.n_jobs = n_jobs

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.objective.uses_random_numbers

    @property
    def scratch_rows(self) -> int:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.objective.scratch_rows

    def check_params(self) -> None:
        self.objective.check_params()

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        filled = layout.bounds[:-1][layout.sizes > 0]
        numbers = labels[filled].astype(np.int64)
        present = numbers[np.concatenate(([True], numbers[1:] != numbers[:-1]))]
        mine = join_bound([self.bound[number] for number in present.tolist()], layout)
        scale = 1.0
        if self.objective.needs_observations:  # then queries count by the mean of all of them
            scale = _mean_total([mine]) / _mean_total(self.bound)
        inner = type(self.objective)(**self.objective.get_params(deep=False))
        inner.set_params(observations=mine)
        return inner.make_step(np.zeros(layout.n_rows), layout), np.float32(scale)

    def query_cost(self, sizes: IntArray) -> IntArray:
        return self.objective.query_cost(sizes)


def join_bound(parts: list[BoundObservations], layout: QueryLayout) -> BoundObservations:
    """Return the observations of several partitions, whose queries follow each other."""
    selections = [part for part in parts if part.shown is not None]
    lists: list[Any] = [None, None, None]
    if selections and len(selections) == len(parts):
        lists = [
            _join_bounds([part.shown_bounds for part in parts]),
            np.concatenate([part.shown for part in parts]),
            np.concatenate([part.clicked for part in parts]),
        ]
    elif selections:
        raise ValueError("preferences must be of one kind, got selections and others")
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return BoundObservations(
        layout,
        _join_bounds([part.query_bounds for part in parts]),
        _join_bounds([part.edge_bounds for part in parts]),
        np.concatenate([part.winner for part in parts]),
        np.concatenate([part.loser for part in parts]),
        np.concatenate([part.edge_weight for part in parts]),
        np.concatenate([part.observation_weight for part in parts]),
        np.concatenate([part.source + start for part, start in zip(parts, starts, strict=False)]),
        *lists,
    )


def _join_bounds(bounds: list[Any]) -> IntArray:
    joined = [np.zeros(1, dtype=np.int64)]
    for each in bounds:
        joined.append(each[1:] + joined[-1][-1])
    return np.concatenate(joined)


def _mean_total(parts: list[BoundObservations]) -> float:
    totals = np.concatenate([observed_totals(part) for part in parts])
    return float(totals.mean()) if len(totals) and totals.any() else 1.0
