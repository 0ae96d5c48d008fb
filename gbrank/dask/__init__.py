"""Ranking beyond one machine: the Ranker and the metrics on Dask arrays and data frames.

LightGBM's own distributed engine grows the trees; each worker computes gradients of the queries it
holds. A query must lie within one partition for that: those that do not are found and, unless told
otherwise, brought together.

Nothing here replaces Dask's scheduler, so that dashboards and progress bars show what is going on.
"""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        'gbrank.dask needs Dask and distributed: pip install "gbrank[dask]"'
    ) from error

from gbrank.dask.metrics import evaluate, ndcg_score
from gbrank.dask.ranker import DaskRanker

__all__ = ["DaskRanker", "evaluate", "ndcg_score"]
