"""Ranks within queries, computed lazily, partition by partition."""

from typing import Any

import numpy as np
from dask import delayed

from gbrank.core import FloatArray, IntArray, QueryLayout
from gbrank.dask._blocks import as_column_of
from gbrank.dask._queries import find_cut, rows_of_queries


def rank_blocks(
    features: list[Any], scores: list[Any], queries: list[Any], repartition: str
) -> list[Any]:
    """Return the ranks of the rows of each partition, delayed.

    Of queries that lie in more than one partition, scores and ids go to one place and ranks come
    back; no other row moves.

    Parameters
    ----------
    features, scores, queries : blocks of each partition, delayed.
    repartition : as in :class:`gbrank.dask.DaskRanker`.
    """
    cut = find_cut(queries, repartition)
    pieces = [
        delayed(_cut_rows)(score, query, cut[at])
        for at, (score, query) in enumerate(zip(scores, queries, strict=True))
    ]
    of_cut = delayed(_rank_together)(pieces)
    return [
        delayed(_rank_block)(X, score, query, cut[at], of_cut[at])
        for at, (X, score, query) in enumerate(zip(features, scores, queries, strict=True))
    ]


def _rank_rows(scores: FloatArray, layout: QueryLayout) -> IntArray:
    """Return the rank of each row within its query: 1 is the best; ties go by row order."""
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    best_first = np.lexsort((-layout.sort(scores), query))
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[best_first] = np.arange(len(scores)) - np.repeat(layout.bounds[:-1], layout.sizes) + 1
    original: IntArray = layout.unsort(ranks)
    return original


def _cut_rows(scores: Any, qid: Any, cut: IntArray) -> tuple[Any, Any]:
    rows = rows_of_queries(QueryLayout.from_qid(qid), cut)
    return np.asarray(scores)[rows], np.asarray(qid)[rows]


def _rank_together(pieces: list[tuple[Any, Any]]) -> list[IntArray]:
    filled = [piece for piece in pieces if len(piece[0])] or pieces[:1]
    scores = np.concatenate([piece[0] for piece in filled])
    ranks = _rank_rows(scores, QueryLayout.from_qid(np.concatenate([p[1] for p in filled])))
    return np.split(ranks, np.cumsum([len(scores) for scores, _ in pieces])[:-1])


def _rank_block(X: Any, scores: Any, qid: Any, cut: IntArray, of_cut: IntArray) -> Any:
    layout = QueryLayout.from_qid(qid, len(scores))
    ranks = _rank_rows(np.asarray(scores), layout)
    ranks[rows_of_queries(layout, cut)] = of_cut
    return as_column_of(X, ranks, "rank")
