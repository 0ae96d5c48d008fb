"""The rows of one partition, on the worker that holds them: checked, moved, drawn from.

Each partition is a :class:`gbrank.core.RankingData` whose rows are in query order.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from dask import delayed
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.utils import check_array

from gbrank.boosting import check_columns
from gbrank.core import (
    IntArray,
    QueryLayout,
    RankingData,
    as_lightgbm_input,
    check_weights,
    is_table,
    one_column,
    plain_features,
    single_labels,
    take_rows,
)
from gbrank.dask._blocks import blocks_of, column_blocks, without_column
from gbrank.dask._queries import QueryMap
from gbrank.objectives import Objective


class Summary(NamedTuple):
    """What the client has to know of a partition.

    Attributes
    ----------
    queries : its queries and their sizes.
    columns : its features without rows.
    has_weight : whether a row has a weight above 0.
    """

    queries: QueryLayout
    columns: Any
    has_weight: bool


def make_partitions(
    X: Any,
    y: Any,
    queries: list[Any],
    sample_weight: Any,
    init_score: Any,
    *,
    column: str | None,
    objective: Objective | None = None,
) -> list[Any]:
    """Return each partition as checked rows in query order, delayed.

    Parameters
    ----------
    X, y, sample_weight, init_score : Dask collections; all but X may be ``None``.
    queries : query ids of each partition, delayed.
    column : name of the column of X that holds query ids, and is not a feature.
    objective : what the labels must suit.
    """
    named = {"y": y, "sample_weight": sample_weight, "init_score": init_score}
    columns = [
        [None] * len(queries) if values is None else column_blocks(values, X, name)
        for name, values in named.items()
    ]
    shared = delayed(objective)
    rows = enumerate(zip(blocks_of(X), queries, *columns, strict=True))
    return [
        delayed(_make_partition, pure=False)(number, *blocks, column, shared)
        for number, blocks in rows
    ]


def _make_partition(
    number: int,
    X: Any,
    qid: Any,
    y: Any,
    sample_weight: Any,
    init_score: Any,
    column: str | None,
    objective: Objective | None,
) -> RankingData:
    """Check a partition; errors name it. Without labels they are the number of the partition."""
    try:
        X = _check_features(without_column(X, column))
        data = RankingData.checked(X, y, qid, init_score=init_score)
        if y is None:
            data = replace(data, y=np.full(data.n_rows, float(number)))
        elif objective is not None:
            objective.check_labels(data.y, data.layout)
            single_labels(data.y, data.layout, by_order=False)  # warns of labels that are merged
        if sample_weight is not None:  # all of one partition may be 0
            weight = check_weights(one_column(sample_weight, "sample_weight"), data.layout)
            data = replace(data, sample_weight=weight)
        return _in_query_order(data)
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number}: {error}") from None


def _check_features(X: Any) -> Any:
    """Return features as the Ranker takes them; raise what LightGBM would, but before it waits."""
    if issparse(X):
        X = csr_matrix(X)  # LightGBM knows how to join these only
    if not is_table(X):
        return check_array(
            plain_features(X),
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            ensure_min_samples=0,
        )
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        is_number = getattr(dtype, "kind", "O") in "biuf"
        if not is_number and getattr(dtype, "categories", None) is None:
            raise ValueError(f"column {name!r} must be numbers or categories, got dtype {dtype}")
    return as_lightgbm_input(X)


def _in_query_order(data: RankingData) -> RankingData:
    return data if data.layout.order is None else data.take(np.arange(data.n_queries))


def summarize(data: RankingData) -> Summary:
    """Return what the client has to know.

    Parameters
    ----------
    data : rows of a partition.
    """
    has_weight = data.sample_weight is None or bool(np.any(data.sample_weight))
    return Summary(data.layout, take_rows(data.X, np.empty(0, dtype=np.int64)), has_weight)


def check_summaries(summaries: Sequence[Summary]) -> Any:
    """Return the features of all partitions, without rows.

    Partitions that do not fit together, or hold nothing to learn from, raise a ``ValueError``.

    Parameters
    ----------
    summaries : those of all partitions.
    """
    filled = [each for each in summaries if each.queries.n_rows]
    if not filled:
        raise ValueError("X must have rows, but all its partitions are empty")
    if not any(each.has_weight for each in filled):
        raise ValueError("sample weights must contain at least one non-zero number")
    first = summaries[0].columns
    check_columns(first)
    categories = _categories(first)
    for number, each in enumerate(summaries):
        if each.columns.shape[1] != first.shape[1]:
            raise ValueError(
                "all partitions must have the same features: partition 0 has "
                f"{first.shape[1]}, partition {number} has {each.columns.shape[1]}"
            )
        for name, found in _categories(each.columns).items():
            if found != categories.get(name):
                raise ValueError(
                    f"column {name!r} must have the same categories in all partitions, but those "
                    f"of partitions 0 and {number} differ: call X.categorize() first"
                )
    return first


def _categories(X: Any) -> dict[Any, list[Any]]:
    if not is_table(X):
        return {}
    dtypes = zip(X.columns, X.dtypes, strict=True)
    return {name: list(dtype.categories) for name, dtype in dtypes if hasattr(dtype, "categories")}


def join(pieces: Sequence[RankingData]) -> RankingData:
    """Return the rows of several pieces as one, in query order.

    Parameters
    ----------
    pieces : at least one; without rows, too.
    """
    filled = [piece for piece in pieces if piece.n_rows] or list(pieces[:1])
    if len(filled) == 1:
        return filled[0]
    qids = [np.asarray(piece.qid) for piece in filled]
    if len({qid.dtype.kind for qid in qids}) > 1:  # 1 and "1" must stay apart
        qids = [qid.astype(object) for qid in qids]
    optional = [
        None
        if getattr(filled[0], name) is None
        else np.concatenate([getattr(p, name) for p in filled])
        for name in ("sample_weight", "init_score")
    ]
    data = RankingData(
        _join_features([piece.X for piece in filled]),
        np.concatenate([piece.y for piece in filled]),
        np.concatenate(qids),
        *optional,
    )
    return _in_query_order(data)


def _join_features(blocks: list[Any]) -> Any:
    if is_table(blocks[0]):
        import pandas as pd

        return pd.concat(blocks, axis=0)
    return vstack(blocks, format="csr") if issparse(blocks[0]) else np.concatenate(blocks)


def without_features(data: RankingData) -> RankingData:
    """Return rows without what makes them large.

    Parameters
    ----------
    data : rows of a partition.
    """
    return replace(data, X=np.empty((data.n_rows, 0)))


def take_drawn(partitions: list[Any], drawn: Sequence[IntArray]) -> Any:
    """Return the rows of some queries in one place, delayed.

    Parameters
    ----------
    partitions : delayed rows.
    drawn : numbers of queries of each partition.
    """
    return delayed(join)(
        [
            delayed(RankingData.take)(data, each)
            for data, each in zip(partitions, drawn, strict=True)
        ]
    )


def bring_together(partitions: list[Any], queries: QueryMap, destinations: IntArray) -> list[Any]:
    """Return partitions of whole queries, delayed; other rows stay where they are.

    Parameters
    ----------
    partitions : delayed rows.
    queries : where the queries lie.
    destinations : the partition that each of its entries is to be in.
    """
    pieces: list[list[Any]] = [[] for _ in partitions]
    for number, targets in enumerate(queries.by_partition(destinations)):
        places = {number, *targets.tolist()}
        for place in sorted(places):
            moving = np.flatnonzero(targets == place)
            whole = len(places) == 1
            data = partitions[number]
            pieces[place].append(data if whole else delayed(RankingData.take)(data, moving))
    return [each[0] if len(each) == 1 else delayed(join)(each) for each in pieces]
