"""Linear rankers: a floor that boosting should beat, and a place for it to start from."""

from gbrank.linear.columns import RELATIVE
from gbrank.linear.ranker import LinearRanker, relative_scores
from gbrank.linear.step_trees import step_tree

__all__ = ["RELATIVE", "LinearRanker", "relative_scores", "step_tree"]
