"""Some whole queries of a large collection, in memory, to choose the number of trees by."""

from typing import Any

import numpy as np
from dask import compute, delayed
from numpy.typing import NDArray

from gbrank.dask._blocks import rows_of
from gbrank.dask._cuts import QueryMap, count_queries, rows_in
from gbrank.dask._parts import Part, join_parts, make_part


def sample_queries(
    X: list[Any],
    y: list[Any],
    queries: list[Any],
    weights: list[Any],
    column: str | None,
    n_queries: int,
    seed: int,
) -> Part:
    """Return the rows of so many queries, drawn at random; cut queries come whole."""
    counts = compute(*(delayed(count_queries)(block) for block in queries))
    found = QueryMap.of(list(counts))
    total = found.entries.n_queries
    if total == 0:
        raise ValueError("X must have rows, but all its partitions are empty")
    chosen = np.random.default_rng(seed).permutation(total)[:n_queries]
    ids = np.asarray(found.entries.query_ids)[np.sort(chosen)]
    pieces = compute(
        *(
            delayed(_take_queries)(number, *blocks, column, ids)
            for number, blocks in enumerate(zip(X, y, queries, weights, strict=True))
        )
    )
    return join_parts(list(pieces))


def _take_queries(
    number: int, X: Any, y: Any, qid: Any, weight: Any, column: str | None, ids: NDArray[Any]
) -> Part:
    part = make_part(number, X, y, qid, weight, None, column, None)
    rows = np.flatnonzero(rows_in(qid, ids))
    if len(rows) == rows_of(part.X):
        return part
    return part.take(rows) if len(rows) else part.take(np.empty(0, dtype=np.int64))
