"""Data to rank: made up, with the truth known."""

from gbrank.data.synthetic import RankingData, make_ranking

__all__ = ["RankingData", "make_ranking"]
