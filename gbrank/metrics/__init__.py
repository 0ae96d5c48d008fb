"""Metrics of a ranking: stated choices, exact ties, one sort for many.

Every function takes ``(labels, scores, *, qid or group, k, sample_weight, empty, ties, per_query)``
and returns the mean over queries, or one value for each. Nothing is decided silently: a blank query
is left out of the mean unless ``empty`` says what it counts, equal scores stand for their random
order unless ``ties`` says otherwise, and :mod:`gbrank.metrics.conventions` has the choices of other
systems by name.

The same metrics have names ("ndcg@10", "err", "map", see :func:`list_metrics`) under which
:func:`evaluate` computes many with one sort, :func:`compare` says whether the difference between
models is real, :func:`feval` hands them to LightGBM and :func:`get_scorer` to scikit-learn.
"""

from gbrank.metrics._base import EmptySpec as EmptySpec
from gbrank.metrics._base import Metric
from gbrank.metrics._base import measure_all as measure_all
from gbrank.metrics._check import check_metric
from gbrank.metrics._comparison import ROUNDING as ROUNDING
from gbrank.metrics._comparison import bootstrap_intervals as bootstrap_intervals
from gbrank.metrics._comparison import compare
from gbrank.metrics._comparison import holm as holm
from gbrank.metrics._comparison import mean_intervals as mean_intervals
from gbrank.metrics._comparison import sign_flip_test as sign_flip_test
from gbrank.metrics._evaluation import MetricsSpec as MetricsSpec
from gbrank.metrics._evaluation import MetricTable, evaluate
from gbrank.metrics._evaluation import choose_metrics as choose_metrics
from gbrank.metrics._evaluation import text_table as text_table
from gbrank.metrics._feval import feval
from gbrank.metrics._judgments import Judgments as Judgments
from gbrank.metrics._ranks import check_cutoff as check_cutoff
from gbrank.metrics._ranks import cutoffs as cutoffs
from gbrank.metrics._registry import find_metric as find_metric
from gbrank.metrics._registry import get_metric, list_metrics, register_metric
from gbrank.metrics._scorer import get_scorer
from gbrank.metrics._simple import SimpleMetric
from gbrank.metrics.average_precision import average_precision_score
from gbrank.metrics.conventions import AVERAGE as AVERAGE
from gbrank.metrics.conventions import SKIP as SKIP
from gbrank.metrics.dcg import dcg_score
from gbrank.metrics.err import err_score
from gbrank.metrics.ndcg import ndcg_score
from gbrank.metrics.observed import observed_disagreement, observed_feval, observed_scorer
from gbrank.metrics.pairwise import pairwise_disagreement
from gbrank.metrics.precision import precision_at_k
from gbrank.metrics.recall import recall_at_k
from gbrank.metrics.reciprocal_rank import reciprocal_rank_score
from gbrank.metrics.spearman import spearman_score
from gbrank.metrics.topk import topk_zero_one_loss

__all__ = [
    "Metric",
    "MetricTable",
    "SimpleMetric",
    "average_precision_score",
    "check_metric",
    "compare",
    "dcg_score",
    "err_score",
    "evaluate",
    "feval",
    "get_metric",
    "get_scorer",
    "list_metrics",
    "ndcg_score",
    "observed_disagreement",
    "observed_feval",
    "observed_scorer",
    "pairwise_disagreement",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank_score",
    "register_metric",
    "spearman_score",
    "topk_zero_one_loss",
]
