"""Plots of what was trained and measured, in the manner of scikit-learn's Display classes.

A ``from_...`` method computes and draws; the object it returns keeps the numbers, ``ax_``,
``figure_`` and the artists, and its ``plot`` draws them again elsewhere. They need matplotlib:
``pip install "gbrank[plot]"``.
"""

from gbrank.plotting._pictures import save_png as save_png
from gbrank.plotting.explanation import ExplanationDisplay
from gbrank.plotting.feature_importance import FeatureImportanceDisplay
from gbrank.plotting.learning_curve import LearningCurveDisplay
from gbrank.plotting.metric_comparison import MetricComparisonDisplay
from gbrank.plotting.per_query import PerQueryDisplay
from gbrank.plotting.propensity import PropensityDisplay
from gbrank.plotting.reliability import ReliabilityDisplay
from gbrank.plotting.tuning import TuningDisplay

__all__ = [
    "ExplanationDisplay",
    "FeatureImportanceDisplay",
    "LearningCurveDisplay",
    "MetricComparisonDisplay",
    "PerQueryDisplay",
    "PropensityDisplay",
    "ReliabilityDisplay",
    "TuningDisplay",
]
