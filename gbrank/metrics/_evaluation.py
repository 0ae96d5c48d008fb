"""Many metrics of many models at once, with one sort for each model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import FloatArray, QueryLayout, check_labels, check_query_weights, check_scores
from gbrank.metrics._base import (
    EmptySpec,
    Metric,
    layout_of,
    measure_all,
    weighted_mean,
)
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._registry import get_metric
from gbrank.metrics.conventions import AVERAGE, SKIP

#: What ``metrics=`` takes: names or metric objects, or a dict of them under names of your own.
MetricsSpec = str | Metric | Iterable[str | Metric] | Mapping[str, str | Metric]


class MetricTable(Mapping[str, FloatArray]):
    """The values of several metrics for several models: a dict of arrays that prints as a table.

    Attributes
    ----------
    models : list of str
        Names of the models, in the order of the entries of each array.
    queries : ndarray or None
        Ids of the queries (numbers where they were given by group) if the arrays hold one value per
        query, of shape (models, queries); else None.
    """

    def __init__(
        self,
        values: dict[str, FloatArray],
        models: list[str],
        queries: NDArray[Any] | None = None,
    ) -> None:
        self._values = values
        self.models = models
        self.queries = queries

    def __getitem__(self, metric: str) -> FloatArray:
        return self._values[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        means = {name: self._means(values) for name, values in self.items()}
        rows = [
            [model, *(f"{means[name][i]:.4f}" for name in self)]
            for i, model in enumerate(self.models)
        ]
        return text_table(["model", *self], rows)

    __repr__ = __str__

    def _means(self, values: FloatArray) -> FloatArray:
        if self.queries is None:
            return values
        return np.array(
            [np.mean(row[~np.isnan(row)]) if (~np.isnan(row)).any() else np.nan for row in values]
        )

    def to_pandas(self) -> Any:
        """Return a DataFrame: a row per model (and query), a column per metric."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_pandas needs pandas: pip install "gbrank[pandas]"') from error
        if self.queries is None:
            return pd.DataFrame(dict(self), index=pd.Index(self.models, name="model"))
        index = pd.MultiIndex.from_product([self.models, self.queries], names=["model", "query"])
        return pd.DataFrame({name: values.ravel() for name, values in self.items()}, index=index)


def evaluate(
    labels: ArrayLike,
    scores: ArrayLike | Mapping[str, ArrayLike],
    *,
    qid: Any = None,
    group: Any = None,
    metrics: MetricsSpec = ("ndcg@10", "err", "map"),
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    per_query: bool = False,
    convention: str | None = None,
    n_jobs: int | None = None,
) -> MetricTable:
    """Return several metrics of one model or of several, sorting the scores of each only once.

    Parameters
    ----------
    labels, qid, group, sample_weight, n_jobs :
        As in :func:`gbrank.metrics.ndcg_score`.
    scores : array-like of shape (n_rows,), or dict of them
        One score per row, or a dict of such arrays by the names of models.
    metrics : str, Metric, or list or dict of them
        Names such as "ndcg@10" (see :func:`gbrank.metrics.list_metrics`) or metric objects made by
        :func:`gbrank.metrics.get_metric`; or a dict of these under names of your own.
    empty, ties, convention :
        As in :func:`gbrank.metrics.ndcg_score`, for metrics given by name; an object has its own.
    per_query : bool, default=False
        Return one value per query instead of means.

    Returns
    -------
    MetricTable
        A dict of arrays, one entry per model (shape (models, queries) with ``per_query``), that
        prints as a table; its ``to_pandas()`` makes a DataFrame.

    Examples
    --------
    >>> from gbrank.metrics import evaluate
    >>> labels, qid = [2, 0, 1, 0, 1, 1], [1, 1, 1, 2, 2, 2]
    >>> models = {"good": [3, 1, 2, 1, 2, 3], "bad": [1, 2, 3, 3, 2, 1]}
    >>> evaluate(labels, models, qid=qid, metrics=["ndcg@2", "map", "mrr"])
    model  ndcg@2     map     mrr
    -----  ------  ------  ------
    good   1.0000  1.0000  1.0000
    bad    0.3311  0.7083  0.7500
    """
    chosen = choose_metrics(metrics, empty=empty, ties=ties, convention=convention, n_jobs=n_jobs)
    layout = layout_of(labels, qid, group)
    signed = all(metric.signed_labels for metric in chosen.values())
    checked_labels = check_labels(labels, layout, signed=signed)
    models = check_models(scores, layout)
    weights = None if sample_weight is None else check_query_weights(sample_weight, layout)

    judgments = Judgments(checked_labels, layout)
    bound = [metric.bind(judgments) for metric in chosen.values()]
    per_model = [measure_all(bound, layout.sort(model), n_jobs) for model in models.values()]
    values = {name: np.array([found[i] for found in per_model]) for i, name in enumerate(chosen)}
    if not per_query:
        values = {
            name: np.array([weighted_mean(row, weights, name) for row in rows])
            for name, rows in values.items()
        }
        return MetricTable(values, list(models))
    return MetricTable(values, list(models), query_names(layout))


def check_models(
    scores: ArrayLike | Mapping[str, ArrayLike], layout: QueryLayout
) -> dict[str, FloatArray]:
    """Return the scores of each model, checked; a single array is a model named "model"."""
    if not isinstance(scores, Mapping):
        return {"model": check_scores(scores, layout)}
    if not scores:
        raise ValueError("scores must hold at least one model, got an empty dict")
    checked = {}
    for name, model in scores.items():
        try:
            checked[str(name)] = check_scores(model, layout)
        except (TypeError, ValueError) as error:
            raise type(error)(f"model {name!r}: {error}") from None
    return checked


def query_names(layout: QueryLayout) -> NDArray[Any]:
    """Return the ids of the queries, or their numbers where there are none."""
    return np.arange(layout.n_queries) if layout.query_ids is None else layout.query_ids


def text_table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table in plain text: the first column to the left, the others to the right.

    Parameters
    ----------
    header : list of str
        Names of the columns.
    rows : list of lists of str
        The cells, row by row.

    Examples
    --------
    >>> from gbrank.metrics import text_table
    >>> print(text_table(["model", "ndcg"], [["a", "0.5"], ["b", "0.25"]]))
    model  ndcg
    -----  ----
    a       0.5
    b      0.25
    """
    lines = [
        header,
        ["-" * max(len(row[i]) for row in [header, *rows]) for i in range(len(header))],
    ]
    widths = [len(dashes) for dashes in lines[1]]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [*lines, *rows]
    )


def choose_metrics(metrics: MetricsSpec, **options: Any) -> dict[str, Metric]:
    """Return metrics by the names under which their values are listed.

    Parameters
    ----------
    metrics : str, Metric, or list or dict of them
        As in :func:`gbrank.metrics.evaluate`.
    **options : keyword arguments
        Options of those that are given by name.

    Examples
    --------
    >>> from gbrank.metrics import choose_metrics
    >>> list(choose_metrics(["ndcg@5", "map"], ties="worst"))
    ['ndcg@5', 'map']
    """
    if isinstance(metrics, str | Metric) or not isinstance(metrics, Iterable):
        metrics = [metrics]  # get_metric says what is wrong with anything else
    named = metrics.items() if isinstance(metrics, Mapping) else ((None, each) for each in metrics)
    chosen: dict[str, Metric] = {}
    for name, each in named:
        metric = each if isinstance(each, Metric) else get_metric(each, **options)
        name = metric.full_name if name is None else name
        if name in chosen:
            raise ValueError(
                f"metrics must have different names, but {name!r} comes twice; give a dict to name "
                "variants of one metric"
            )
        chosen[name] = metric
    if not chosen:
        raise ValueError("metrics must name at least one metric, got none")
    return chosen
