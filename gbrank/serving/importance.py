"""How much a metric loses when the values of a feature are shuffled within queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    as_lightgbm_input,
    check_integer,
    check_random_state,
    column_names,
    count_rows_of,
    permute_column,
    take_column,
    unnamed,
)
from gbrank.metrics import Metric, get_metric


@dataclass(frozen=True)
class PermutationImportance:
    """What :func:`permutation_importance` found.

    Attributes
    ----------
    names : list of str
        Of the features.
    importances : ndarray of shape (n_features, n_repeats)
        How much worse the metric is with a feature shuffled, for each shuffle.
    baseline : float
        The metric as it is.
    metric : str
        Its name.
    """

    names: list[str]
    importances: FloatArray
    baseline: float
    metric: str

    @property
    def mean(self) -> FloatArray:
        """The mean over shuffles, one number a feature."""
        means: FloatArray = self.importances.mean(axis=1)
        return means


def permutation_importance(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    metric: str | Metric = "ndcg@10",
    n_repeats: int = 5,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> PermutationImportance:
    """Return how much a metric suffers when one feature is shuffled within every query.

    Shuffled across all rows, a feature that tells queries apart looks important although it cannot
    change any order. Within queries it keeps all that it says of the query, and loses what it says
    of the documents.

    Parameters
    ----------
    model : estimator or lightgbm.Booster
        Anything whose ``predict`` scores rows.
    X : array-like, sparse matrix or table of shape (n_rows, n_features)
        Documents that the model was not trained on.
    y : array-like of shape (n_rows,)
        Their labels.
    qid : array-like of shape (n_rows,) or str, default=None
        Query of each row, or the column of X that has it.
    group : array-like of shape (n_queries,), default=None
        Rows of each query, instead of ``qid``.
    metric : str or Metric, default="ndcg@10"
        What is measured.
    n_repeats : int, default=5
        How often each feature is shuffled.
    random_state : int, Generator or None, default=0
        Decides the shuffles.
    sample_weight : array-like, default=None
        Weight of each query, or of each row if constant within queries.

    Returns
    -------
    PermutationImportance
        Positive where the feature is of use, whatever way the metric points.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.serving import permutation_importance
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = Ranker.lightgbm_defaults(n_estimators=10).fit(data.X, data.y, qid=data.qid)
    >>> found = permutation_importance(ranker, data.X, data.y, qid=data.qid)
    >>> found.importances.shape
    (20, 5)
    """
    check_integer("n_repeats", n_repeats, low=1)
    rng = check_random_state(random_state)
    measure = get_metric(metric)
    column = qid if isinstance(qid, str) else None
    if column is not None:
        if column not in column_names(X):
            raise ValueError(f"X has no column {column!r} of query ids")
        qid, X = take_column(X, column)
    layout = QueryLayout.from_either(qid, group, count_rows_of(X))

    def value_of(features: Any) -> float:
        if hasattr(model, "dump_model"):  # a Booster takes fewer kinds of tables
            features = as_lightgbm_input(features)
        queries = {"qid": qid} if group is None else {"group": group}
        own = queries if getattr(model, "start_kind_", "") == "query_linear" else {}
        scores = model.predict(features, **own)
        return float(measure(y, scores, **queries, sample_weight=sample_weight))  # type: ignore[arg-type]

    baseline = value_of(X)
    names = [str(name) for name in column_names(X)]
    if not names:
        names = unnamed(X.shape[1])
    importances = np.empty((len(names), n_repeats))
    for feature in range(len(names)):
        for repeat in range(n_repeats):
            shuffled = permute_column(X, feature, _shuffled_rows(layout, rng))
            importances[feature, repeat] = baseline - value_of(shuffled)
    if not measure.greater_is_better:
        importances = 0.0 - importances
    return PermutationImportance(names, importances, baseline, measure.full_name)


def _shuffled_rows(layout: QueryLayout, rng: np.random.Generator) -> IntArray:
    """Return for each row another one of its query, each one once."""
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    place = np.lexsort((rng.random(layout.n_rows), query))  # in the order of queries
    rows = np.arange(layout.n_rows) if layout.order is None else layout.order
    shuffled: IntArray = layout.unsort(rows[place])
    return shuffled
