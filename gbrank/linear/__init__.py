"""Linear rankers: a floor that boosting should beat, and a place for it to start from."""

from gbrank.linear.columns import RELATIVE
from gbrank.linear.ranker import LinearRanker, relative_scores

__all__ = ["RELATIVE", "LinearRanker", "relative_scores"]
