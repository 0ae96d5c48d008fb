"""Metrics for scikit-learn's ``scoring=``."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from gbrank.metrics._base import Metric
from gbrank.metrics._registry import get_metric


class RankingScorer(BaseEstimator):
    """A metric called as ``scorer(estimator, X, y, qid=...)``: see :func:`get_scorer`.

    Parameters
    ----------
    metric : the metric object.
    """

    # What metadata routing passes on: query ids always, weights where asked for. The estimator is
    # an argument like X, not metadata.
    __metadata_request__score: ClassVar = {"qid": True, "sample_weight": None, "estimator": UNUSED}

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def __repr__(self) -> str:
        return f"get_scorer({self.metric!r})"

    def score(
        self, estimator: Any, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the metric of what ``estimator`` predicts; that of a loss is negated."""
        if qid is None:
            raise ValueError(
                f"the scorer of {self.metric.full_name} needs qid, the query id of each row; in "
                "scikit-learn's cross-validation call "
                "sklearn.set_config(enable_metadata_routing=True) and pass params={'qid': qid}"
            )
        value = self.metric(y, estimator.predict(X), qid=qid, sample_weight=sample_weight)
        return float(value) if self.metric.greater_is_better else -float(value)

    __call__ = score


def get_scorer(name: str | Metric, **options: Any) -> RankingScorer:
    """Return a metric as a scorer for scikit-learn's ``scoring=``.

    Cross-validation must hand the query ids over: enable metadata routing and pass ``qid``, which
    the scorer requests of its own accord; ``set_score_request(sample_weight=True)`` makes it ask
    for weights too. Losses, such as "pairwise_disagreement", are negated, so that greater is
    better for every scorer.

    Parameters
    ----------
    name : a name of :func:`gbrank.metrics.list_metrics`, or a metric object.
    options : options of the metric.

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
    return RankingScorer(get_metric(name, **options))
