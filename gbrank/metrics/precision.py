"""Precision at a cut-off: the share of relevant documents among the first k.

With ``normalized=True`` the sum of labels among the first k, divided by the largest such sum: the
NDCG of gain ``G(r) = r`` and discount 1 up to k, equation 14 of J. Duchi, L. Mackey and M. Jordan,
"The asymptotics of ranking algorithms", 2013. Both are linear in what each document adds, so tied
ones share their mean.
"""

from typing import Any, ClassVar

import numpy as np

from gbrank.core import BoolArray, IntArray
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._relevance import RelevanceMetric
from gbrank.metrics.ndcg import best_dcg, share_of_best_block


class Precision(RelevanceMetric):
    """Share of relevant documents among the first k, mean over queries.

    A list of fewer than ``k`` documents counts as filled up with documents that are not relevant.
    A query is blank when it has no relevant document.

    Parameters
    ----------
    threshold : float, default=0.0
        Documents whose label is greater are relevant.
    normalized : bool, default=False
        Divide by what the best order reaches instead of by ``k``, and let a relevant document count
        its label instead of 1.

    Examples
    --------
    >>> from gbrank.metrics import precision_at_k
    >>> precision_at_k([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4], k=2)
    0.5
    >>> precision_at_k([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4], k=2, normalized=True)  # 1 / 3
    0.3333333333333333
    """

    name = "precision"
    own_options: ClassVar = {**RelevanceMetric.own_options, "normalized": False}
    kernel = staticmethod(share_of_best_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        worth = self.relevance(judgments)
        ones = np.ones(int(np.minimum(cutoffs, judgments.layout.sizes).max()))
        best = cutoffs.astype(np.float64)
        if self.options["normalized"]:
            worth = worth * judgments.labels_of_codes
            best = best_dcg(judgments, worth, ones, cutoffs, gains_grow=True)
        return (worth, ones, best), judgments.sum_in_query(worth) == 0.0


precision_at_k = metric_function("precision_at_k", Precision)
