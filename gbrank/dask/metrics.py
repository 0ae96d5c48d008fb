"""Metrics of a ranking that lies on many machines: only sums over queries travel.

Each worker computes the values of the queries it holds and sends their sum. Rows of queries that
lie in more than one partition, labels and scores only, are brought together in one place.
"""

import copy
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from dask import compute, delayed

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    check_choice,
    check_labels,
    check_query_weights,
    check_scores,
    one_column,
)
from gbrank.dask._blocks import blocks_of, column_blocks
from gbrank.dask._partitions import join
from gbrank.dask._queries import find_cut
from gbrank.metrics import (
    AVERAGE,
    SKIP,
    EmptySpec,
    Metric,
    MetricsSpec,
    MetricTable,
    choose_metrics,
    get_metric,
)
from gbrank.metrics import evaluate as evaluate_locally


class _Sums(NamedTuple):
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
    by_model = [column_blocks(each, labels, "scores") for each in models.values()]
    signed = all(metric.signed_labels for metric in chosen.values())
    judged = [
        delayed(_judge)(number, *blocks, signed)
        for number, blocks in enumerate(
            zip(blocks_of(labels), queries, weights, zip(*by_model, strict=True), strict=True)
        )
    ]
    cut = find_cut(queries, repartition)
    largest = delayed(max)([delayed(_largest_label)(each) for each in judged])
    fixed = delayed(_fix_grades)(chosen, largest)
    sums = [delayed(_sum_whole)(at, each, cut[at], fixed) for at, each in enumerate(judged)]
    pieces = [delayed(RankingData.take)(each, cut[at]) for at, each in enumerate(judged)]
    total: _Sums = compute(delayed(_add_up)(sums, pieces, fixed))[0]
    if not total.weights.any():
        warnings.warn(
            f"{', '.join(chosen)} is NaN: every query is blank, or the weights of all sum to 0",
            UserWarning,
            stacklevel=2,
        )
    with np.errstate(invalid="ignore"):
        means = np.where(total.weights > 0, total.values / total.weights, np.nan)
    return MetricTable(dict(zip(chosen, means, strict=True)), list(map(str, models)))


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


def _judge(
    number: int, labels: Any, qid: Any, weight: Any, scores: tuple[Any, ...], signed: bool
) -> RankingData:
    """Return labels and queries of a partition, with the scores of each model for features."""
    try:
        layout = QueryLayout.from_qid(qid, len(labels))
        labels = check_labels(one_column(labels), layout, signed=signed)
        models = [check_scores(one_column(each, "scores"), layout) for each in scores]
        weight = None if weight is None else one_column(weight, "sample_weight")
        return RankingData(np.stack(models, axis=1), labels, np.asarray(qid), weight)
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number}: {error}") from None


def _largest_label(judged: RankingData) -> float:
    return float(np.max(judged.y, initial=0.0))


def _fix_grades(metrics: dict[str, Metric], largest: float) -> dict[str, Metric]:
    """Return metrics whose highest grade is that of all labels, where it is to be found in them."""
    fixed = {}
    for name, metric in metrics.items():
        fixed[name] = copy.copy(metric)
        if metric.options.get("max_grade", largest) is None:
            fixed[name].options = {**metric.options, "max_grade": largest}
    return fixed


def _sum_whole(
    number: int, judged: RankingData, cut: IntArray, metrics: dict[str, Metric]
) -> _Sums | None:
    try:
        whole = np.setdiff1d(np.arange(judged.n_queries), cut)
        return _sum(judged if len(cut) == 0 else judged.take(whole), metrics)
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number}: {error}") from None


def _sum(judged: RankingData, metrics: dict[str, Metric]) -> _Sums | None:
    if judged.n_rows == 0:
        return None
    weights = np.ones(1)
    if judged.sample_weight is not None:
        weights = check_query_weights(judged.sample_weight, judged.layout)
    models = {str(at): scores for at, scores in enumerate(judged.X.T)}
    table = evaluate_locally(judged.y, models, qid=judged.qid, metrics=metrics, per_query=True)
    found = np.array([table[name] for name in metrics])  # metrics, models, queries
    kept = ~np.isnan(found)
    by_query = np.broadcast_to(weights, found.shape)
    return _Sums(np.sum(found * by_query, axis=2, where=kept), np.sum(by_query, axis=2, where=kept))


def _add_up(
    sums: list[_Sums | None], pieces: list[RankingData], metrics: dict[str, Metric]
) -> _Sums:
    filled = [each for each in [*sums, _sum(join(pieces), metrics)] if each is not None]
    if not filled:
        raise ValueError("labels must have at least one row, got none")
    return _Sums(
        np.sum([each.values for each in filled], axis=0),
        np.sum([each.weights for each in filled], axis=0),
    )
