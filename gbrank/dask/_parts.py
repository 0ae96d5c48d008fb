"""The rows of one partition, on the worker that holds them: checked, moved, put in query order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    as_lightgbm_input,
    check_labels,
    check_scores,
    check_weights,
    is_table,
    one_column,
    take_rows,
)
from gbrank.dask._blocks import rows_of, without_column
from gbrank.dask._cuts import QueryCounts, count_queries
from gbrank.objectives import Objective


@dataclass(frozen=True)
class Part:
    """Rows of a partition, in the user's order: everything is known to be right."""

    X: Any
    labels: FloatArray
    qid: Any
    weight: FloatArray | None
    init_score: FloatArray | None

    def take(self, rows: IntArray) -> "Part":
        """Return these rows, in this order."""
        return Part(
            take_rows(self.X, rows),
            self.labels[rows],
            np.asarray(self.qid)[rows],
            None if self.weight is None else self.weight[rows],
            None if self.init_score is None else self.init_score[rows],
        )


@dataclass(frozen=True)
class Description:
    """What the client has to know of a partition."""

    queries: QueryCounts
    names: list[Any] | None
    n_features: int
    categories: dict[Any, list[Any]]
    has_weight: bool

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.queries.rows.sum())


def make_part(
    number: int,
    X: Any,
    y: Any,
    qid: Any,
    weight: Any,
    init_score: Any,
    column: str | None,
    objective: Objective | None,
) -> Part:
    """Check a partition; errors name it. ``y`` is ``None`` where there are no labels."""
    try:
        n_rows = rows_of(X)
        layout = QueryLayout.from_qid(qid, n_rows)
        if y is None:
            labels = np.full(n_rows, float(number))
        else:
            labels = check_labels(one_column(y), layout)
            if objective is not None:
                objective.check_labels(labels, layout)
        X = as_lightgbm_input(without_column(X, column))
        _refuse_text(X)
        return Part(
            X,
            labels,
            qid,
            None if weight is None else check_weights(one_column(weight), layout),
            None if init_score is None else check_scores(one_column(init_score), layout),
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number}: {error}") from None


def describe_part(part: Part) -> Description:
    """Return what the client has to know."""
    names = list(part.X.columns) if is_table(part.X) else None
    categories = {}
    for name in names or []:
        found = getattr(part.X[name].dtype, "categories", None)
        if found is not None:
            categories[name] = list(found)
    has_weight = part.weight is None or bool(np.any(part.weight))
    return Description(count_queries(part.qid), names, part.X.shape[1], categories, has_weight)


def check_descriptions(described: list[Description]) -> None:
    """Refuse partitions that do not fit together, or hold nothing to learn from."""
    if not any(each.n_rows for each in described):
        raise ValueError("X must have rows, but all its partitions are empty")
    if not any(each.has_weight for each in described if each.n_rows):
        raise ValueError("sample weights must contain at least one non-zero number")
    first = described[0]
    for number, each in enumerate(described):
        if each.n_features != first.n_features:
            raise ValueError(
                f"all partitions must have the same features: partition 0 has {first.n_features}, "
                f"partition {number} has {each.n_features}"
            )
        for name, categories in each.categories.items():
            if categories != first.categories.get(name):
                raise ValueError(
                    f"column {name!r} must have the same categories in all partitions, but those "
                    f"of partitions 0 and {number} differ: call X.categorize() first"
                )


def split_part(part: Part, number: int, homes: dict[Any, int]) -> dict[int, Part]:
    """Return the rows of a partition by the partition that they belong to."""
    layout = QueryLayout.from_qid(part.qid)
    ids = count_queries(part.qid).ids.tolist()
    home = np.array([homes.get(id_, number) for id_ in ids], dtype=np.int64)
    of_row = layout.unsort(np.repeat(home, layout.sizes))
    return {int(place): part.take(np.flatnonzero(of_row == place)) for place in np.unique(home)}


def join_parts(pieces: list[Part | None]) -> Part:
    """Return one part of several, rows in their order."""
    parts = [piece for piece in pieces if piece is not None and len(piece.labels)]
    if not parts:
        return next(piece for piece in pieces if piece is not None)
    if len(parts) == 1:
        return parts[0]
    return Part(
        join_rows([part.X for part in parts]),
        np.concatenate([part.labels for part in parts]),
        _join_queries([np.asarray(part.qid) for part in parts]),
        _join_optional([part.weight for part in parts]),
        _join_optional([part.init_score for part in parts]),
    )


def arrange(part: Part) -> dict[str, Any]:
    """Return what LightGBM takes: rows of each query together, and their number."""
    layout = QueryLayout.from_qid(part.qid)
    X = part.X if layout.order is None else take_rows(part.X, layout.order)
    return {
        "data": X,
        "label": layout.sort(part.labels),
        "group": layout.sizes,
        "weight": None if part.weight is None else layout.sort(part.weight),
        "init_score": None if part.init_score is None else layout.sort(part.init_score),
    }


def join_rows(blocks: list[Any]) -> Any:
    """Return features of several blocks as one of their kind."""
    if is_table(blocks[0]):
        import pandas as pd

        return pd.concat(blocks, axis=0)
    return vstack(blocks, format="csr") if issparse(blocks[0]) else np.concatenate(blocks)


def _join_queries(ids: list[Any]) -> Any:
    if len({each.dtype.kind for each in ids}) > 1:  # 1 and "1" must stay apart
        ids = [each.astype(object) for each in ids]
    return np.concatenate(ids)


def _join_optional(values: list[FloatArray | None]) -> FloatArray | None:
    given = [value for value in values if value is not None]
    return np.concatenate(given) if given else None


def _refuse_text(X: Any) -> None:
    """Refuse columns that LightGBM refuses, before workers wait for each other."""
    if not is_table(X):
        return
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        is_number = getattr(dtype, "kind", "O") in "biuf"
        if not is_number and getattr(dtype, "categories", None) is None:
            raise ValueError(f"column {name!r} must be numbers or categories, got dtype {dtype}")
