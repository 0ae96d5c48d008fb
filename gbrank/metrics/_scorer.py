"""Metrics for scikit-learn's ``scoring=``."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from gbrank.core import column_names, take_column, warn_of_seen_queries
from gbrank.metrics._base import Metric
from gbrank.metrics._registry import get_metric


class RankingScorer(BaseEstimator):
    """A metric called as ``scorer(estimator, X, y, qid=...)``: see :func:`get_scorer`.

    Parameters
    ----------
    metric : Metric
        The metric object.
    qid : str, default=None
        The column of X that holds query ids.
    """

    # What metadata routing passes on: query ids always, weights where asked for. The estimator is
    # an argument like X, not metadata.
    __metadata_request__score: ClassVar = {"qid": True, "sample_weight": None, "estimator": UNUSED}

    def __init__(self, metric: Metric, qid: str | None = None) -> None:
        self.metric = metric
        self.qid = qid

    def __repr__(self) -> str:
        column = "" if self.qid is None else f", qid={self.qid!r}"
        return f"get_scorer({self.metric!r}{column})"

    def score(
        self, estimator: Any, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the metric of what ``estimator`` predicts; that of a loss is negated."""
        if qid is None:
            qid = self._take_queries(estimator, X)
        last = _last_step(estimator)
        warn_of_seen_queries(last, qid)
        # the one kind of model whose scores depend on the queries
        queries = {"qid": qid} if getattr(last, "start_kind_", "") == "query_linear" else {}
        scores = estimator.predict(X, **queries)
        value = self.metric(y, scores, qid=qid, sample_weight=sample_weight)
        return float(value) if self.metric.greater_is_better else -float(value)

    __call__ = score

    def _take_queries(self, estimator: Any, X: Any) -> Any:
        """Return the column of query ids that this scorer or the estimator names."""
        last = _last_step(estimator)
        column = self.qid
        for name in ("qid_column_", "qid"):  # as fitted, or as given to the constructor
            column = getattr(last, name, None) if column is None else column
        if column is None:
            raise ValueError(
                f"the scorer of {self.metric.full_name} needs qid, the query id of each row: name "
                "the column of X that holds it, Ranker(qid=...) or get_scorer(..., qid=...); or in "
                "scikit-learn's cross-validation call "
                "sklearn.set_config(enable_metadata_routing=True) and pass params={'qid': qid}"
            )
        known = column_names(X)
        if column not in known:
            found = f"the columns {known}" if known else f"no names: it is {type(X).__name__}"
            raise ValueError(f"qid={column!r} must be a column of X, but X has {found}")
        return take_column(X, column)[0]


def _last_step(estimator: Any) -> Any:
    """Return the estimator, or the one at the end of a Pipeline."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return estimator


def get_scorer(name: str | Metric, *, qid: str | None = None, **options: Any) -> RankingScorer:
    """Return a metric as a scorer for scikit-learn's ``scoring=``.

    It takes query ids from the column of X that the estimator names, ``Ranker(qid="column")`` alone
    or at the end of a Pipeline, or from the one named here. Without such a column cross-validation
    must hand the query ids over: enable metadata routing and pass ``qid``, which the scorer
    requests of its own accord; ``set_score_request(sample_weight=True)`` makes it ask for weights
    too. Losses, such as "pairwise_disagreement", are negated, so that greater is better for every
    scorer.

    Parameters
    ----------
    name : str or Metric
        A name of :func:`gbrank.metrics.list_metrics`, or a metric object.
    qid : str, default=None
        The column of X that holds query ids; None for that of the estimator. The estimator sees
        this column, too.
    **options : keyword arguments
        Options of the metric.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from lightgbm import LGBMRegressor
    >>> from sklearn.model_selection import GroupKFold, cross_validate
    >>> from gbrank.metrics import get_scorer
    >>> rng = np.random.default_rng(0)
    >>> X, y, qid = rng.normal(size=(200, 2)), rng.integers(0, 3, 200), np.repeat(np.arange(20), 10)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     results = cross_validate(
    ...         LGBMRegressor(n_estimators=2, verbosity=-1), X, y, cv=GroupKFold(2),
    ...         scoring=get_scorer("ndcg@10"), params={"qid": qid, "groups": qid})
    >>> results["test_score"].shape
    (2,)
    """
    return RankingScorer(get_metric(name, **options), qid)
