"""Metrics of a ranking that lies on many machines: only sums over queries travel.

Each worker computes the values of the queries it holds and sends their sum. Rows of queries that
lie in more than one partition, labels and scores only, are brought together in one place.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from dask import compute, delayed
from numpy.typing import NDArray

from gbrank.core import FloatArray, QueryLayout, check_choice, check_query_weights, one_column
from gbrank.dask._blocks import blocks_of, column_blocks
from gbrank.dask._cuts import QueryCounts, QueryMap, count_queries, rows_in
from gbrank.metrics import (
    AVERAGE,
    SKIP,
    EmptySpec,
    Metric,
    MetricsSpec,
    MetricTable,
    choose_metrics,
)
from gbrank.metrics import evaluate as evaluate_locally


class Judged(NamedTuple):
    """Labels, scores by model, queries and weights of some rows."""

    labels: FloatArray
    scores: dict[str, FloatArray]
    qid: Any
    weight: FloatArray | None


class Sums(NamedTuple):
    """Sums over queries, of shape (metrics, models): of weight times value, and of weight."""

    values: FloatArray
    weights: FloatArray


def evaluate(
    labels: Any,
    scores: Any,
    *,
    qid: Any,
    metrics: MetricsSpec = ("ndcg@10", "err", "map"),
    sample_weight: Any = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    convention: str | None = None,
    repartition: str = "auto",
) -> MetricTable:
    """Return several metrics of one model or of several, as :func:`gbrank.metrics.evaluate` does.

    Parameters
    ----------
    labels : Dask array or series, relevance of each row.
    scores : Dask array or series, or a dict of them by the names of models.
    qid : Dask array or series, query of each row.
    metrics, empty, ties, convention : as in :func:`gbrank.metrics.evaluate`.
    sample_weight : Dask array or series, one weight per row that is constant within each query.
    repartition : {"auto", "never"}, default="auto"
        Queries that lie in more than one partition are brought together, or refused.

    Returns
    -------
    A dict of arrays, one entry per model, that prints as a table.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from gbrank.dask import evaluate
    >>> labels, qid = np.array([2, 0, 1, 0, 1, 1]), np.array([1, 1, 1, 2, 2, 2])
    >>> scores = np.array([1.0, 2, 3, 3, 2, 1])
    >>> parts = [da.from_array(each, chunks=2) for each in (labels, scores, qid)]  # cut queries
    >>> evaluate(parts[0], parts[1], qid=parts[2], metrics=["ndcg@2", "map", "mrr"])
    model  ndcg@2     map     mrr
    -----  ------  ------  ------
    model  0.3311  0.7083  0.7500
    """
    check_choice("repartition", repartition, ("auto", "never"))
    chosen = choose_metrics(metrics, empty=empty, ties=ties, convention=convention, n_jobs=1)
    models = dict(scores) if isinstance(scores, Mapping) else {"model": scores}
    if not models:
        raise ValueError("scores must hold at least one model, got an empty dict")
    queries = column_blocks(qid, labels, "qid")
    weights = [None] * len(queries)
    if sample_weight is not None:
        weights = column_blocks(sample_weight, labels, "sample_weight")
    by_model = {str(name): column_blocks(each, labels, "scores") for name, each in models.items()}
    cut = delayed(find_cut, pure=False)(
        [delayed(count_queries)(block) for block in queries], repartition
    )
    judged = [
        delayed(Judged)(
            block, {name: blocks[at] for name, blocks in by_model.items()}, queries[at], weights[at]
        )
        for at, block in enumerate(blocks_of(labels))
    ]
    partial = [delayed(_sum_whole)(at, each, cut[at], chosen) for at, each in enumerate(judged)]
    strewn = [delayed(_rows_of_cut)(each, cut[at]) for at, each in enumerate(judged)]
    total = delayed(_add_up)(partial, strewn, chosen)
    sums: Sums = compute(total)[0]
    if not sums.weights.any() and not np.isnan(sums.weights).any():
        _warn_of_nothing(chosen)
    with np.errstate(invalid="ignore"):
        means = np.where(sums.weights > 0, sums.values / np.maximum(sums.weights, 1e-300), np.nan)
    return MetricTable(dict(zip(chosen, means, strict=True)), list(by_model))


def ndcg_score(
    labels: Any,
    scores: Any,
    *,
    qid: Any,
    k: int | float | None = None,
    sample_weight: Any = None,
    repartition: str = "auto",
    **options: Any,
) -> float:
    """Return the mean NDCG of Dask arrays or series, as :func:`gbrank.metrics.ndcg_score` does.

    Parameters
    ----------
    labels, scores, qid, sample_weight, repartition : as in :func:`evaluate`; one model.
    k : int or float, default=None
        Cut-off; ``None`` looks at the whole list.
    **options : ``gain``, ``discount``, ``empty``, ``ties``, ``convention`` of the metric.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbrank.dask import ndcg_score
    >>> labels, scores, qid = (
    ...     da.from_array(each, chunks=2) for each in ([1, 0, 1, 0], [1.0, 2, 2, 1], [1, 1, 2, 2])
    ... )
    >>> round(ndcg_score(labels, scores, qid=qid), 4)
    0.8155
    """
    from gbrank.metrics import get_metric

    name = "ndcg" if k is None else f"ndcg@{k!r}"
    table = evaluate(
        labels,
        scores,
        qid=qid,
        metrics={"ndcg": get_metric(name, n_jobs=1, **options)},
        sample_weight=sample_weight,
        repartition=repartition,
    )
    return float(table["ndcg"][0])


def find_cut(counts: list[QueryCounts], repartition: str) -> list[NDArray[Any]]:
    """Return the ids of cut queries that each partition holds rows of, or refuse them."""
    found = QueryMap.of(counts)
    if repartition == "never":
        found.refuse_cut()
    return found.cut_by_partition()


def _sum_whole(
    number: int, judged: Judged, cut: NDArray[Any], metrics: dict[str, Metric]
) -> Sums | None:
    try:
        QueryLayout.from_qid(judged.qid, len(judged.labels))
        for scores in judged.scores.values():
            if len(scores) != len(judged.labels):
                raise ValueError(
                    f"scores must have one entry per row: got {len(scores)} for "
                    f"{len(judged.labels)} rows"
                )
        return _sum(_take(judged, ~rows_in(judged.qid, cut)), metrics)
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number}: {error}") from None


def _rows_of_cut(judged: Judged, cut: NDArray[Any]) -> Judged | None:
    return _take(judged, rows_in(judged.qid, cut)) if len(cut) else None


def _take(judged: Judged, rows: NDArray[np.bool_]) -> Judged:
    return Judged(
        one_column(judged.labels)[rows],
        {name: one_column(scores)[rows] for name, scores in judged.scores.items()},
        np.asarray(judged.qid)[rows],
        None if judged.weight is None else one_column(judged.weight)[rows],
    )


def _sum(judged: Judged, metrics: dict[str, Metric]) -> Sums | None:
    if len(judged.labels) == 0:
        return None
    weights = np.ones(1)
    if judged.weight is not None:
        weights = check_query_weights(judged.weight, QueryLayout.from_qid(judged.qid))
    table = evaluate_locally(
        judged.labels, judged.scores, qid=judged.qid, metrics=metrics, per_query=True
    )
    found = np.array([table[name] for name in metrics])  # metrics, models, queries
    kept = ~np.isnan(found)
    by_query = np.broadcast_to(weights, found.shape)
    return Sums(np.sum(found * by_query, axis=2, where=kept), np.sum(by_query, axis=2, where=kept))


def _add_up(
    partial: list[Sums | None], strewn: list[Judged | None], metrics: dict[str, Metric]
) -> Sums:
    pieces = [piece for piece in strewn if piece is not None and len(piece.labels)]
    if pieces:
        partial = [*partial, _sum(_join(pieces), metrics)]
    sums = [each for each in partial if each is not None]
    if not sums:
        raise ValueError("labels must have at least one row, got none")
    return Sums(
        np.sum([each.values for each in sums], axis=0),
        np.sum([each.weights for each in sums], axis=0),
    )


def _join(pieces: list[Judged]) -> Judged:
    first = pieces[0]
    weight = None
    if first.weight is not None:
        weight = np.concatenate([piece.weight for piece in pieces if piece.weight is not None])
    return Judged(
        np.concatenate([piece.labels for piece in pieces]),
        {name: np.concatenate([piece.scores[name] for piece in pieces]) for name in first.scores},
        np.concatenate([np.asarray(piece.qid) for piece in pieces]),
        weight,
    )


def _warn_of_nothing(metrics: dict[str, Metric]) -> None:
    import warnings

    warnings.warn(
        f"{', '.join(metrics)} is NaN: every query is blank, or the weights of all sum to 0",
        UserWarning,
        stacklevel=3,
    )
