"""Clicks with positions: what a log can tell, propensities, labels and metrics without their bias.

Users look at what stands at the top. A :class:`ClickLog` merges what was shown and clicked;
:func:`report` says what it can tell; :func:`estimate_propensities` finds out how likely users look
at each position; :func:`ips_labels` divides clicks by it, and :func:`ips_ndcg` judges models with
clicks. :class:`gbrank.PositionBias` and :class:`gbrank.DualSoftmax` learn the bias beside trees.
"""

from gbrank.clicks.estimators import METHODS as METHODS
from gbrank.clicks.estimators import estimate_propensities
from gbrank.clicks.labels import ips_labels, why_biased
from gbrank.clicks.log import ClickLog
from gbrank.clicks.log import read_table as read_table
from gbrank.clicks.metrics import ClickEstimate, ips_ndcg
from gbrank.clicks.propensities import Propensities
from gbrank.clicks.propensities import as_propensities as as_propensities
from gbrank.clicks.report import ClickReport, report
from gbrank.clicks.training import WAYS as WAYS
from gbrank.clicks.training import judged_rows as judged_rows
from gbrank.clicks.training import judging_metric as judging_metric
from gbrank.clicks.training import plan_training as plan_training

__all__ = [
    "ClickEstimate",
    "ClickLog",
    "ClickReport",
    "Propensities",
    "estimate_propensities",
    "ips_labels",
    "ips_ndcg",
    "report",
    "why_biased",
]
