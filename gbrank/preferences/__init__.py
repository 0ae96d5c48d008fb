"""Learning from comparisons, clicks and partial orders instead of labels."""

from gbrank.preferences._ids import read_ids as read_ids
from gbrank.preferences._ids import read_integers as read_integers
from gbrank.preferences._method import METHODS, Method
from gbrank.preferences._pairs import make_workspace
from gbrank.preferences.aggregation import aggregate, get_method
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.borda import borda as borda
from gbrank.preferences.bradley_terry import bradley_terry as bradley_terry
from gbrank.preferences.cascade import cascade as cascade
from gbrank.preferences.log_odds import log_odds as log_odds
from gbrank.preferences.mean_adjacency import mean_adjacency as mean_adjacency
from gbrank.preferences.observations import Comparisons, PartialOrders, Selections
from gbrank.preferences.order import aggregation_order
from gbrank.preferences.principal_eigenvector import principal_eigenvector as principal_eigenvector
from gbrank.preferences.readers import read_catboost_pairs
from gbrank.preferences.summary import Summary, summarize
from gbrank.preferences.thurstone_mosteller import thurstone_mosteller as thurstone_mosteller
from gbrank.preferences.win_rate import win_rate as win_rate

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
    "aggregation_order",
    "get_method",
    "make_workspace",
    "read_catboost_pairs",
    "summarize",
    *METHODS,
]

# doctest looks for functions that are written in a file; those of methods are made from one
__test__ = {name: globals()[name].__doc__ for name in METHODS}
