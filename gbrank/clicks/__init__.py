"""Clicks with positions: what a log can tell, propensities, labels and metrics without their bias.

Users look at what stands at the top. A :class:`ClickLog` merges what was shown and clicked;
:func:`report` says what it can tell; :func:`estimate_propensities` finds out how likely users look
at each position.
"""

from gbrank.clicks.estimators import METHODS as METHODS
from gbrank.clicks.estimators import estimate_propensities
from gbrank.clicks.log import ClickLog
from gbrank.clicks.propensities import Propensities
from gbrank.clicks.report import ClickReport, report

__all__ = [
    "ClickLog",
    "ClickReport",
    "Propensities",
    "estimate_propensities",
    "report",
]
