"""A linear start on Dask: fitted to a sample of queries here, added to every partition there."""

from dataclasses import replace
from typing import Any

from dask import delayed

from gbrank.core import FloatArray, QueryLayout, RankingData
from gbrank.dask._blocks import rows_of, without_column
from gbrank.dask._sample import sample_queries
from gbrank.dask._training import Columns
from gbrank.objectives import Objective
from gbrank.start import Start

#: Queries that the linear ranker is fitted to.
SAMPLE = 2000


def fit_start(columns: Columns, column: str | None, objective: Objective, seed: int) -> Start:
    """Return a linear start, fitted to a sample of whole queries."""
    drawn = sample_queries(
        columns.X, columns.y, columns.queries, columns.weight, column, SAMPLE, seed
    )
    data = RankingData.checked(drawn.X, drawn.labels, drawn.qid, None, drawn.weight)
    return replace(Start.fit("linear", data, objective, seed=seed), training_scores=None)


def with_start(columns: Columns, column: str | None, start: Start) -> Columns:
    """Return the blocks with the scores of the start in front of those to start from."""
    shared = delayed(start)
    scores = [
        delayed(_start_block)(shared, X, column, before)
        for X, before in zip(columns.X, columns.init_score, strict=True)
    ]
    return replace(columns, init_score=scores)


def _start_block(start: Start, X: Any, column: str | None, before: Any) -> FloatArray:
    scores = start.scores(without_column(X, column), QueryLayout.from_group([rows_of(X)]))
    return scores if before is None else scores + before
