"""Linear rankers: a floor that boosting should beat, and a place for it to start from."""

from gbrank.linear.ranker import LinearRanker

__all__ = ["LinearRanker"]
