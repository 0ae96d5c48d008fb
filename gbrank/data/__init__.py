"""Data to rank: the one record of rows, files of the LETOR kind, synthetic data."""

from gbrank.core import RankingData
from gbrank.data._text import open_to_write as open_to_write
from gbrank.data._writer import dump_letor
from gbrank.data.folds import LetorFold, LetorFolds, load_folds
from gbrank.data.letor import LetorData, load_letor
from gbrank.data.streaming import RowStream, letor_to_binary, stream_letor, stream_parquet
from gbrank.data.synthetic import SyntheticData, make_ranking

__all__ = [
    "LetorData",
    "LetorFold",
    "LetorFolds",
    "RankingData",
    "RowStream",
    "SyntheticData",
    "dump_letor",
    "letor_to_binary",
    "load_folds",
    "load_letor",
    "make_ranking",
    "stream_letor",
    "stream_parquet",
]
