"""Linear rankers: a floor that boosting should beat, and a place for it to start from."""

from gbrank.linear.coarse import MOST_FEATURES as MOST_FEATURES
from gbrank.linear.coarse import coarsened as coarsened
from gbrank.linear.columns import RELATIVE as RELATIVE
from gbrank.linear.ranker import LinearRanker
from gbrank.linear.ranker import relative_scores as relative_scores
from gbrank.linear.step_sum import StepSum as StepSum

__all__ = [
    "LinearRanker",
]
