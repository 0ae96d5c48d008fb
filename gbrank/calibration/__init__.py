"""Scores with a meaning: probabilities of grades, expected gains, and how far they come true."""

from gbrank.calibration.error import calibration_error
from gbrank.calibration.ranker import CalibratedRanker

__all__ = ["CalibratedRanker", "calibration_error"]
