"""A linear start on Dask: fitted to a sample of queries here, added to every partition there."""

from dataclasses import replace
from typing import Any

from dask import delayed

from gbrank.boosting import check_rows, merge_models
from gbrank.core import FloatArray, QueryLayout, numeric_matrix
from gbrank.dask._blocks import rows_of, without_column
from gbrank.dask._sample import sample_queries
from gbrank.dask._training import Columns
from gbrank.linear import LinearRanker
from gbrank.objectives import Objective
from gbrank.ranker import Ranker
from gbrank.start import explained, fit_linear, linear_scores, start_trees

#: Queries that the linear ranker is fitted to.
SAMPLE = 2000


def fit_start(
    columns: Columns, column: str | None, objective: Objective, seed: int
) -> LinearRanker:
    """Return a linear ranker of a sample of whole queries."""
    drawn = sample_queries(
        columns.X, columns.y, columns.queries, columns.weight, column, SAMPLE, seed
    )
    rows = check_rows(drawn.X, drawn.labels, drawn.qid, None, drawn.weight)
    linear, _ = fit_linear("linear", rows, objective, seed)
    return linear


def with_start(columns: Columns, column: str | None, linear: LinearRanker) -> Columns:
    """Return the blocks with the scores of the start in front of those to start from."""
    shared = delayed(linear)
    scores = [
        delayed(_start_block)(shared, X, column, before)
        for X, before in zip(columns.X, columns.init_score, strict=True)
    ]
    return replace(columns, init_score=scores)


def _start_block(linear: LinearRanker, X: Any, column: str | None, before: Any) -> FloatArray:
    values = numeric_matrix(without_column(X, column))
    n_rows = rows_of(X)
    scores = linear_scores(linear, values, QueryLayout.from_group([n_rows], n_rows))
    return scores if before is None else scores + before


def put_start_into(local: Ranker, linear: LinearRanker) -> None:
    """Make the start part of a trained model."""
    trees = start_trees(linear)
    n_trees = local.booster_.current_iteration()
    local.booster_ = merge_models([local.booster_], [n_trees], trees)
    local.start_kind_, local.linear_coef_ = "linear", explained(linear)
    local.best_iteration_, local.n_start_trees_ = n_trees, len(trees)
