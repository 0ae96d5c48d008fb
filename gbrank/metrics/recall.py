"""Recall at a cut-off: the share of a query's relevant documents found among the first k.

``recall@k = (relevant documents among the first k) / (relevant documents of the query)``.
Reference: C. Manning, P. Raghavan and H. Schutze, "Introduction to information retrieval", 2008,
chapter 8.
"""

from typing import Any

import numpy as np

from gbrank.core import BoolArray, IntArray
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._relevance import RelevanceMetric
from gbrank.metrics.ndcg import share_of_best_block


class Recall(RelevanceMetric):
    """Share of a query's relevant documents found among its first k, mean over queries.

    A query is blank when it has no relevant document.

    Parameters
    ----------
    threshold : float, default=0.0
        Documents whose label is greater are relevant.

    Examples
    --------
    >>> from gbrank.metrics import recall_at_k
    >>> recall_at_k([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4], k=2)
    0.5
    """

    name = "recall"
    kernel = staticmethod(share_of_best_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        relevant = self.relevance(judgments)
        ones = np.ones(int(np.minimum(cutoffs, judgments.layout.sizes).max()))
        n_relevant = judgments.sum_in_query(relevant)
        return (relevant, ones, n_relevant), n_relevant == 0.0


recall_at_k = metric_function("recall_at_k", Recall)
