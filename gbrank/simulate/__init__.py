"""Noise of known strength, put into clean data.

The same every time, unless ``random_state=None`` asks for other numbers in every call.
"""

from gbrank.simulate.clicks import Clicks, as_selections, cascade_clicks, position_based_clicks
from gbrank.simulate.confusion import careless_judge, confuse_labels, noise_matrix
from gbrank.simulate.labels import perturb_labels
from gbrank.simulate.negatives import PaddedData, add_negatives
from gbrank.simulate.preferences import bradley_terry, partial_orders, selections
from gbrank.simulate.report import NoiseReport, noise_report

__all__ = [
    "Clicks",
    "NoiseReport",
    "PaddedData",
    "add_negatives",
    "as_selections",
    "bradley_terry",
    "careless_judge",
    "cascade_clicks",
    "confuse_labels",
    "noise_matrix",
    "noise_report",
    "partial_orders",
    "perturb_labels",
    "position_based_clicks",
    "selections",
]
