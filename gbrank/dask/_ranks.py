"""Ranks within queries, computed lazily, partition by partition."""

from typing import Any

import numpy as np
from dask import delayed
from numpy.typing import NDArray

from gbrank.core import FloatArray, IntArray, QueryLayout
from gbrank.dask._blocks import as_column_of
from gbrank.dask._cuts import count_queries, rows_in
from gbrank.dask.metrics import find_cut


def rank_blocks(
    features: list[Any], scores: list[Any], queries: list[Any], repartition: str
) -> list[Any]:
    """Return the ranks of the rows of each partition, delayed.

    Of queries that lie in more than one partition, scores and ids go to one place and ranks come
    back; no other row moves.
    """
    counts = [delayed(count_queries)(block) for block in queries]
    cut = delayed(find_cut, pure=False)(counts, repartition)
    strewn = [
        delayed(_cut_rows)(score, query, cut[at])
        for at, (score, query) in enumerate(zip(scores, queries, strict=True))
    ]
    of_cut = delayed(_rank_together)(strewn)
    return [
        delayed(_rank_block)(X, score, query, cut[at], of_cut[at])
        for at, (X, score, query) in enumerate(zip(features, scores, queries, strict=True))
    ]


def rank_rows(scores: FloatArray, qid: Any) -> IntArray:
    """Return the rank of each row within its query: 1 is the best; ties go by row order."""
    layout = QueryLayout.from_qid(qid, len(scores))
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    best_first = np.lexsort((-layout.sort(scores), query))
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[best_first] = np.arange(len(scores)) - np.repeat(layout.bounds[:-1], layout.sizes) + 1
    original: IntArray = layout.unsort(ranks)
    return original


def _cut_rows(scores: Any, qid: Any, cut: NDArray[Any]) -> tuple[Any, Any]:
    rows = rows_in(qid, cut)
    return np.asarray(scores)[rows], np.asarray(qid)[rows]


def _rank_together(strewn: list[tuple[Any, Any]]) -> list[IntArray]:
    sizes = [len(scores) for scores, _ in strewn]
    if sum(sizes) == 0:
        return [np.empty(0, dtype=np.int64)] * len(strewn)
    filled = [piece for piece in strewn if len(piece[0])]
    scores = np.concatenate([piece[0] for piece in filled])
    ranks = rank_rows(scores, np.concatenate([piece[1] for piece in filled]))
    return np.split(ranks, np.cumsum(sizes)[:-1])


def _rank_block(X: Any, scores: Any, qid: Any, cut: NDArray[Any], of_cut: IntArray) -> Any:
    ranks = rank_rows(np.asarray(scores), qid)
    if len(cut):
        ranks[rows_in(qid, cut)] = of_cut
    return as_column_of(X, ranks, "rank")
