"""Average precision: the mean, over relevant documents, of the precision at their ranks.

For a group of t tied documents after ``low`` others, r of them relevant and R relevant ones before
the group: the document at place p of the group (p = 0, 1, ...) is relevant with probability r/t,
and then p (r-1)/(t-1) of the p before it in the group are expected to be. So the exact expectation
over random order is the sum over p of ``r/t (R + 1 + p (r-1)/(t-1)) / (low + p + 1)``: F. McSherry
and M. Najork, "Computing information retrieval performance measures efficiently in the presence of
tied scores", 2008.
"""

from typing import Any, ClassVar

import numpy as np

from gbrank.core import BoolArray, IntArray, check_choice, kernel
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._relevance import RelevanceMetric
from gbrank.metrics.conventions import RELEVANT, as_plain


@kernel()
def _average_precision_of_query(relevant, ranked, tied, start, count, cutoff):
    total = 0.0
    found = 0.0
    low = 0
    while low < min(count, cutoff):
        found_here = relevant[ranked[start + low]]
        if not tied[start + low]:
            low += 1
            found += found_here
            total += found_here * found / low
            continue
        high = low + 1
        while tied[start + high - 1]:
            found_here += relevant[ranked[start + high]]
            high += 1
        if found_here > 0:
            share = found_here / (high - low)
            more = (found_here - 1) / (high - low - 1)
            for p in range(min(high, cutoff) - low):
                total += share * (found + 1 + p * more) / (low + p + 1)
        found += found_here
        low = high
    return total


@kernel()
def _average_precision_block(
    relevant, divisors, cutoffs, bounds, ranked, tied, counts, first, last, values
):
    for q in range(first, last):
        total = _average_precision_of_query(
            relevant, ranked, tied, bounds[q], counts[q], cutoffs[q]
        )
        values[q] = total / divisors[q] if divisors[q] > 0.0 else 0.0


class AveragePrecision(RelevanceMetric):
    """Mean average precision (MAP).

    The average precision of a query is the sum of the precision at the rank of every relevant
    document among the first ``k``, divided by the number of all its relevant documents. A query is
    blank when it has none.

    Parameters
    ----------
    threshold : float, default=0.0
        Documents whose label is greater are relevant.
    divide_by : {"relevant", "reachable"}, default="relevant"
        "relevant" for the number of relevant documents; "reachable" for as many of them as fit into
        the first ``k``, as LightGBM does.

    Examples
    --------
    >>> from gbrank.metrics import average_precision_score
    >>> average_precision_score([1, 0, 2, 0], [0.4, 0.3, 0.2, 0.1], group=[4])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """

    name = "map"
    own_options: ClassVar = {**RelevanceMetric.own_options, "divide_by": RELEVANT}
    kernel = staticmethod(_average_precision_block)

    def check_options(self) -> None:
        super().check_options()
        check_choice("divide_by", as_plain(self.options["divide_by"]), ("relevant", "reachable"))

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        relevant = self.relevance(judgments)
        divisors = judgments.sum_in_query(relevant)
        blank = divisors == 0.0
        if self.options["divide_by"] == "reachable":
            divisors = np.minimum(divisors, cutoffs)
        return (relevant, divisors), blank


average_precision_score = metric_function("average_precision_score", AveragePrecision)
