"""Reciprocal rank: one over the rank of the first relevant document.

Where r of t tied documents are relevant and none before them is, the first of them is at place p of
the group (p = 0, 1, ...) with probability ``P(none before p) r / (t - p)``, which gives the exact
expectation over random order in one pass.

``RR = 1 / (rank of the first relevant document)``, 0 if there is none within the cut-off.
Reference: E. Voorhees, "The TREC-8 question answering track report", 1999.
"""

from typing import Any

from gbrank.core import BoolArray, IntArray, kernel
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._relevance import RelevanceMetric


@kernel()
def _reciprocal_rank_of_query(relevant, ranked, tied, start, count, cutoff):
    low = 0
    while low < min(count, cutoff):
        high = low + 1
        found = relevant[ranked[start + low]]
        while tied[start + high - 1]:
            found += relevant[ranked[start + high]]
            high += 1
        if found > 0:
            total = 0.0
            none_before = 1.0
            for place in range(low, min(high, cutoff)):
                here = none_before * min(1.0, found / (high - place))
                total += here / (place + 1)
                none_before -= here
            return total
        low = high
    return 0.0


@kernel()
def _reciprocal_rank_block(relevant, cutoffs, bounds, ranked, tied, counts, first, last, values):
    for q in range(first, last):
        values[q] = _reciprocal_rank_of_query(
            relevant, ranked, tied, bounds[q], counts[q], cutoffs[q]
        )


class ReciprocalRank(RelevanceMetric):
    """Mean reciprocal rank (MRR) of the first relevant document.

    It is 0 where the first ``k`` documents hold no relevant one; a query is blank when it has none
    at all.

    Parameters
    ----------
    threshold : float, default=0.0
        Documents whose label is greater are relevant.

    Examples
    --------
    >>> from gbrank.metrics import reciprocal_rank_score
    >>> reciprocal_rank_score([0, 1, 0, 1], [0.3, 0.2, 0.9, 0.4], qid=[1, 1, 2, 2])
    0.5
    """

    name = "mrr"
    kernel = staticmethod(_reciprocal_rank_block)

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        relevant = self.relevance(judgments)
        return (relevant,), judgments.sum_in_query(relevant) == 0.0


reciprocal_rank_score = metric_function("reciprocal_rank_score", ReciprocalRank)
