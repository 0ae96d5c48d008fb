"""Linear rankers: a floor that boosting should beat, and a place for it to start from."""

from gbrank.linear.columns import RELATIVE as RELATIVE
from gbrank.linear.ranker import LinearRanker
from gbrank.linear.ranker import relative_scores as relative_scores

__all__ = [
    "LinearRanker",
]
