"""Learning from comparisons, clicks and partial orders instead of labels."""

from gbrank.preferences.aggregation import METHODS, aggregate, get_method
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.methods._method import Method
from gbrank.preferences.methods._pairs import make_workspace
from gbrank.preferences.methods.borda import borda
from gbrank.preferences.methods.bradley_terry import bradley_terry
from gbrank.preferences.methods.cascade import cascade
from gbrank.preferences.methods.log_odds import log_odds
from gbrank.preferences.methods.mean_adjacency import mean_adjacency
from gbrank.preferences.methods.principal_eigenvector import principal_eigenvector
from gbrank.preferences.methods.thurstone_mosteller import thurstone_mosteller
from gbrank.preferences.methods.win_rate import win_rate
from gbrank.preferences.observations import Comparisons, PartialOrders, Selections
from gbrank.preferences.readers import read_catboost_pairs
from gbrank.preferences.summary import Summary, summarize

__all__ = [
    "METHODS",
    "BoundObservations",
    "Comparisons",
    "Method",
    "Observations",
    "PartialOrders",
    "Selections",
    "Summary",
    "aggregate",
    "borda",
    "bradley_terry",
    "cascade",
    "get_method",
    "log_odds",
    "make_workspace",
    "mean_adjacency",
    "principal_eigenvector",
    "read_catboost_pairs",
    "summarize",
    "thurstone_mosteller",
    "win_rate",
]
