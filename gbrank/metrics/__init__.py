"""Metrics of a ranking: stated choices, exact ties, one sort for many.

Every function takes ``(labels, scores, *, qid or group, k, sample_weight, empty, ties, per_query)``
and returns the mean over queries, or one value for each.
"""

from gbrank.metrics.base import Metric
from gbrank.metrics.dcg import dcg_score
from gbrank.metrics.feval import feval
from gbrank.metrics.ndcg import ndcg_score
from gbrank.metrics.registry import get_metric, list_metrics

__all__ = ["Metric", "dcg_score", "feval", "get_metric", "list_metrics", "ndcg_score"]
