"""Judges held-out rows: metrics query by query, their mean and how far chance may move it."""

from collections.abc import Sequence

import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout, RankingData
from gbrank.metrics import Judgments, Metric, measure_all


class HeldOut:
    """Rows that are judged by scores of models which did not see them.

    As everywhere in LightGBM, a query counts with the mean weight of its rows. Queries that a
    metric says nothing about, of which no document is relevant, do not count.

    Parameters
    ----------
    data : rows in query order.
    queries : the numbers of the queries that are held out, increasing.
    metrics : the first is the one that decides.
    n_jobs : threads.

    Attributes
    ----------
    rows : the numbers of the held-out rows in ``data``.
    bounds : where each query begins among the held-out rows, and at last their number.
    names : the metrics' names.
    greater_is_better : of each metric.
    """

    def __init__(
        self, data: RankingData, queries: IntArray, metrics: Sequence[Metric], n_jobs: int
    ) -> None:
        self.rows = rows_of(data, queries)
        layout = QueryLayout.from_group(data.layout.sizes[queries])
        self.bounds = layout.bounds
        judgments = Judgments(data.y[self.rows], layout)
        self._bound = [metric.bind(judgments) for metric in metrics]
        self._n_jobs = n_jobs
        self.names = [metric.full_name for metric in metrics]
        self.greater_is_better = [metric.greater_is_better for metric in metrics]
        self._weight = np.ones(len(queries))
        if data.sample_weight is not None:
            self._weight = self._means(data.sample_weight[self.rows])
        judged = ~np.isnan(self.values(np.zeros(len(self.rows)))[0])
        if not self._weight[judged].any():
            raise ValueError(
                f"no held-out query can be judged by {self.names[0]}: none with a weight has a "
                "relevant document; use preset='fast', which judges nothing"
            )

    def values(self, scores: FloatArray) -> list[FloatArray]:
        """Return each metric's value of every query, NaN where it says nothing.

        Parameters
        ----------
        scores : of the held-out rows.
        """
        return measure_all(self._bound, scores, self._n_jobs)

    def average(self, values: FloatArray) -> float:
        """Return the mean over queries alone, for callers after every tree.

        Parameters
        ----------
        values : one per query, NaN where there is none.
        """
        kept = ~np.isnan(values)
        weight = self._weight[kept]
        return float(weight / weight.sum() @ values[kept])

    def mean(self, values: FloatArray) -> tuple[float, float]:
        """Return the mean over queries and its standard error; that of one query is infinite.

        Parameters
        ----------
        values : one per query, NaN where there is none.
        """
        kept = ~np.isnan(values)
        mean, values, weight = self.average(values), values[kept], self._weight[kept]
        share = weight / weight.sum()
        n_counted = int(np.count_nonzero(share))
        if n_counted < 2:
            return mean, np.inf
        variance = share**2 @ (values - mean) ** 2 * n_counted / (n_counted - 1)
        return mean, float(np.sqrt(variance))

    def spread(self, scores: FloatArray) -> float:
        """Return the root mean square of scores after the mean of each query is taken from them.

        Parameters
        ----------
        scores : of the held-out rows.
        """
        centred = scores - np.repeat(self._means(scores), np.diff(self.bounds))
        return float(np.sqrt(np.mean(centred**2)))

    def _means(self, values: FloatArray) -> FloatArray:
        means: FloatArray = np.add.reduceat(values, self.bounds[:-1]) / np.diff(self.bounds)
        return means


def rows_of(data: RankingData, queries: IntArray) -> IntArray:
    """Return the rows of some queries, increasing.

    Parameters
    ----------
    data : rows in query order.
    queries : numbers of queries.
    """
    chosen = np.zeros(data.n_queries, dtype=bool)
    chosen[queries] = True
    return np.flatnonzero(np.repeat(chosen, data.layout.sizes))
