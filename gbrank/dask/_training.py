"""From Dask collections to trees: partitions checked, repaired, and handed to LightGBM."""

import warnings
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from dask import delayed

from gbrank.boosting import replace_parameters
from gbrank.dask._blocks import blocks_of, column_blocks
from gbrank.dask._cuts import QueryMap
from gbrank.dask._parts import (
    Description,
    arrange,
    check_descriptions,
    describe_part,
    join_parts,
    make_part,
    split_part,
)
from gbrank.dask._watch import WatchedClient
from gbrank.objectives import Objective

# What a worker was told about its network has no place in a model.
_NETWORK_LINES = {
    "machines": "",
    "num_machines": "1",
    "local_listen_port": "12400",
    "tree_learner": "serial",
}


@dataclass(frozen=True)
class Columns:
    """The blocks of everything that comes by row; ``None`` in place of what was not given."""

    X: list[Any]
    y: list[Any]
    queries: list[Any]
    weight: list[Any]
    init_score: list[Any]

    @classmethod
    def of(cls, X: Any, queries: list[Any], y: Any, weight: Any, init_score: Any) -> "Columns":
        """Cut all collections as X is cut."""
        named = {"y": y, "sample_weight": weight, "init_score": init_score}
        blocks = [
            [None] * len(queries) if value is None else column_blocks(value, X, name)
            for name, value in named.items()
        ]
        return cls(blocks_of(X), blocks[0], queries, blocks[1], blocks[2])

    def parts(self, client: Any, column: str | None, objective: Objective) -> list[Any]:
        """Return the checked partitions, computed where the workers keep them."""
        rows = zip(self.X, self.y, self.queries, self.weight, self.init_score, strict=True)
        shared = delayed(objective)
        made = [
            delayed(make_part, pure=False)(number, *blocks, column, shared)
            for number, blocks in enumerate(rows)
        ]
        persisted: list[Any] = client.persist(made)
        return persisted


def describe(client: Any, parts: list[Any]) -> list[Description]:
    """Return what the client has to know of all partitions; errors of any of them come up here."""
    described: list[Description] = client.gather(
        client.compute([delayed(describe_part)(part) for part in parts])
    )
    check_descriptions(described)
    return described


def repair(client: Any, parts: list[Any], queries: QueryMap) -> list[Any]:
    """Bring the rows of each cut query together, in one shuffle; other rows stay where they are."""
    homes = queries.homes()
    cut = queries.cut_by_partition()
    moving: dict[int, Any] = {}
    goes_to: dict[int, set[int]] = {}
    for number, ids in enumerate(cut):
        if len(ids):
            mine = {id_: homes[id_] for id_ in ids.tolist()}
            moving[number] = delayed(split_part)(parts[number], number, mine)
            goes_to[number] = {*mine.values(), number}
    repaired = []
    for number, part in enumerate(parts):
        pieces = [
            delayed(_piece)(moving[source], number)
            for source in sorted(moving)
            if number in goes_to[source]
        ]
        empty = delayed(_no_rows)(part)
        repaired.append(delayed(join_parts)([*pieces, empty]) if pieces else part)
    persisted: list[Any] = client.persist(repaired)
    return persisted


class Blocks:
    """A list of delayed blocks, in the place where LightGBM expects a Dask collection."""

    def __init__(self, arranged: list[Any], name: str) -> None:
        self._blocks = [each[name] for each in arranged]

    def to_delayed(self) -> list[Any]:
        """Return the blocks."""
        return self._blocks


class Gradients:
    """An objective without parameters: LightGBM would take those of an objective for its own."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def __call__(self, labels: Any, scores: Any, weight: Any, group: Any) -> Any:
        return self.objective(labels, scores, weight, group)


def train(
    client: Any,
    parts: list[Any],
    objective: Objective,
    params: dict[str, Any],
    *,
    weighted: bool,
    with_init_score: bool,
) -> lgb.Booster:
    """Return the trees that the workers grow together."""
    arranged = [delayed(arrange)(part) for part in parts]
    ranker = lgb.DaskLGBMRanker(
        client=WatchedClient(client), objective=Gradients(objective), **params
    )
    with warnings.catch_warnings():
        # LightGBM says so of a parameter that its own estimator always has.
        warnings.filterwarnings("ignore", message="Parameter n_jobs will be ignored")
        ranker.fit(
            Blocks(arranged, "data"),
            Blocks(arranged, "label"),
            group=Blocks(arranged, "group"),
            sample_weight=Blocks(arranged, "weight") if weighted else None,
            init_score=Blocks(arranged, "init_score") if with_init_score else None,
        )
    return replace_parameters(ranker.booster_, _NETWORK_LINES)


def _piece(moved: dict[int, Any], number: int) -> Any:
    return moved.get(number)


def _no_rows(part: Any) -> Any:
    return part.take(np.empty(0, dtype=np.int64))
