"""Dask collections as lists of blocks that belong together, and back."""

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np

from gbrank.core import is_table


def check_features(X: Any) -> Any:
    """Return X with all columns in one block; raise an error for what is no table of Dask.

    Parameters
    ----------
    X : what the user gave.
    """
    if isinstance(X, dd.DataFrame):
        return X
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}; for data in memory use "
            "gbrank.Ranker, or make it one with dask.array.from_array"
        )
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got a Dask array of shape {X.shape}")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def blocks_of(collection: Any) -> list[Any]:
    """Return the partitions of a collection, delayed.

    Parameters
    ----------
    collection : Dask array, series or data frame.
    """
    delayed = collection.to_delayed()
    return list(delayed.ravel()) if isinstance(delayed, np.ndarray) else list(delayed)


def column_blocks(column: Any, like: Any, name: str) -> list[Any]:
    """Return the partitions of one value per row, cut as those of another collection.

    Parameters
    ----------
    column : what the user gave.
    like : Dask collection of the same rows.
    name : of the argument, for error messages.
    """
    if not isinstance(column, da.Array | dd.Series | dd.DataFrame):
        raise TypeError(
            f"{name} must be a Dask array or series, cut like X, got {type(column).__name__}"
        )
    if _has_known_rows(column) and _has_known_rows(like):
        if column.shape[0] != like.shape[0]:
            raise ValueError(
                f"{name} must have one entry per row: got {column.shape[0]} for "
                f"{like.shape[0]} rows"
            )
        if column.chunks[0] != like.chunks[0]:
            column = column.rechunk({0: like.chunks[0]})
    if isinstance(column, da.Array) and column.ndim > 1 and column.numblocks[1] > 1:
        column = column.rechunk({1: -1})
    if column.npartitions != like.npartitions:
        raise ValueError(
            f"{name} must be cut into partitions like X, which has {like.npartitions}: got "
            f"{column.npartitions}"
        )
    return blocks_of(column)


def query_blocks(X: Any, qid: Any, caller: str) -> list[Any]:
    """Return the query ids of each partition.

    Parameters
    ----------
    X, qid, caller : as in :func:`query_column`.
    """
    return column_blocks(query_column(X, qid, caller), X, "qid")


def query_column(X: Any, qid: Any, caller: str) -> Any:
    """Return query ids: those given, or the column of X that is named.

    Parameters
    ----------
    X : features.
    qid : Dask array or series, name of a column, or ``None``, which is an error.
    caller : what the error says needs them.
    """
    if qid is None:
        raise ValueError(
            f"{caller} needs to know the queries: pass qid= (a Dask array or series, or the name "
            "of a column of X), or name the column with DaskRanker(qid=...)"
        )
    if not isinstance(qid, str):
        return qid
    if not isinstance(X, dd.DataFrame):
        raise ValueError(
            f"qid={qid!r} names a column, but X has no names: it is of type {type(X).__name__}. "
            "Pass a Dask data frame, or the query id of each row"
        )
    if qid not in X.columns:
        raise ValueError(f"X has no column {qid!r} of query ids; it has {list(X.columns)}")
    return X[qid]


def without_column(X: Any, name: Any) -> Any:
    """Return a block without its column of query ids, if it has one.

    Parameters
    ----------
    X : features of a partition.
    name : of the column; ``None`` if there is none.
    """
    if name is None or not is_table(X) or name not in X.columns:
        return X
    return X.drop(columns=name)


def like_features(blocks: list[Any], X: Any, dtype: Any, name: str) -> Any:
    """Return one value per row as a collection cut like X: an array, or a series with its index.

    Parameters
    ----------
    blocks : values of each partition, delayed.
    X : Dask array or data frame.
    dtype, name : of the values.
    """
    if isinstance(X, dd.DataFrame):
        meta = X._meta.iloc[:0, 0].astype(dtype).rename(name)
        return dd.from_delayed(blocks, meta=meta, divisions=X.divisions, verify_meta=False)
    arrays = [
        da.from_delayed(block, shape=(size,), dtype=dtype)
        for block, size in zip(blocks, X.chunks[0], strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def as_column_of(X: Any, values: Any, name: str) -> Any:
    """Return the values of a block as a series with its index, where X is a data frame.

    Parameters
    ----------
    X : features of a partition.
    values : one per row.
    name : of the series.
    """
    if not is_table(X):
        return values
    import pandas as pd

    return pd.Series(values, index=X.index, name=name)


def _has_known_rows(collection: Any) -> bool:
    return isinstance(collection, da.Array) and bool(np.isfinite(collection.shape[0]))
