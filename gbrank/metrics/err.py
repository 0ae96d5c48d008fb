"""Expected reciprocal rank: the mean of 1/rank at which a user, reading downwards, is satisfied.

``ERR@k = sum_{i <= k} D(i) R_i prod_{j < i} (1 - R_j)``, where a document of label r satisfies with
probability ``R = (2^r - 1) / 2^max_grade`` and ``D(i) = 1/i``.

Over the random order of t tied documents, the chance to be satisfied exactly at place p of the
group is ``E_{p-1} - E_p``, where E_p is the mean of ``prod (1 - R)`` over all choices of p of the
documents (an elementary symmetric mean). Documents with R = 0 never satisfy: the means are taken
over the n others, and the places of those are drawn step by step. The cost is O(t J): J <= n is
where E_J falls below 1e-18, the number of useful documents that practically nobody reads beyond.

Reference: O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan, "Expected reciprocal rank for graded
relevance", 2009; as a family of losses: J. Duchi, L. Mackey and M. Jordan, "The asymptotics of
ranking algorithms", 2013, equation 16.
"""

import math
from typing import ClassVar

import numpy as np

from gbrank.core import (
    FloatArray,
    QueryLayout,
    check_number,
    compute_gains,
    kernel,
)
from gbrank.metrics._function import metric_function
from gbrank.metrics._judgments import Judgments
from gbrank.metrics.dcg import DCG

_NOBODY = 1e-18  # the share of users below which the rest of a tied group is left out


@kernel()
def _err_of_query(stops, ranked, tied, start, count, cutoff, discounts):
    total = 0.0
    reading = 1.0  # the share of users that read on
    low = 0
    while low < min(count, cutoff) and reading > 0.0:
        if not tied[start + low]:
            stop = stops[ranked[start + low]]
            total += reading * stop * discounts[low]
            reading *= 1.0 - stop
            low += 1
            continue
        high = low + 1
        while tied[start + high - 1]:
            high += 1
        here, left = _err_of_ties(stops, ranked, start, low, high, min(high, cutoff), discounts)
        total += reading * here
        reading *= left
        low = high
    return total


@kernel()
def _err_of_ties(stops, ranked, start, low, high, cutoff, discounts):
    """Return the expectation over one tied group, and the share of users that read beyond it."""
    reads_on = np.empty(high - low)  # 1 - R of the documents that can satisfy
    n = 0
    for i in range(low, high):
        stop = stops[ranked[start + i]]
        if stop > 0.0:
            reads_on[n] = 1.0 - stop
            n += 1
    if n == 0:
        return 0.0, 1.0
    beyond = 1.0
    for i in range(n):
        beyond *= reads_on[i]
    means = _symmetric_means(reads_on, n, min(n, cutoff - low))
    last = len(means) - 1
    # place by place: seen[j] is the chance that j useful documents came before
    seen = np.zeros(last + 1)
    seen[0] = 1.0
    total = 0.0
    for place in range(low, cutoff):
        for j in range(min(last - 1, place - low), -1, -1):
            useful = seen[j] * min(1.0, (n - j) / (high - place))
            total += useful * (means[j] - means[j + 1]) * discounts[place]
            seen[j] -= useful
            seen[j + 1] += useful
        seen[last] = 0.0
    return total, beyond


@kernel()
def _symmetric_means(x, n, depth):
    """Return E_0 to E_depth of ``x``, in [0, 1]; fewer where E falls below ``_NOBODY``.

    E_p of n numbers is (1 - p/n) E_p + p/n x_n E_{p-1} of the first n - 1: no cancellation.
    """
    average = 0.0
    for i in range(n):
        average += x[i] / n
    if average < 1.0:  # Maclaurin: E_p <= average^p
        enough = 1.0 + math.log(_NOBODY) / math.log(average) if average > 0.0 else 1.0
        if enough < depth:
            depth = math.ceil(enough)
    means = np.zeros(depth + 1)
    means[0] = 1.0
    for i in range(n):
        for p in range(min(depth, i + 1), 0, -1):
            share = p / (i + 1)
            means[p] = (1.0 - share) * means[p] + share * x[i] * means[p - 1]
    return means


@kernel()
def _err_block(stops, discounts, cutoffs, bounds, ranked, tied, counts, first, last, values):
    for q in range(first, last):
        values[q] = _err_of_query(stops, ranked, tied, bounds[q], counts[q], cutoffs[q], discounts)


class ERR(DCG):
    """Expected reciprocal rank (ERR), mean over queries.

    ``ERR@k = sum_{i <= k} 1/i R_i prod_{j < i} (1 - R_j)``, where ``R = (2^label - 1) /
    2^max_grade`` is the chance that a document satisfies the user, who reads downwards and stops
    when satisfied. A query is blank when no document can satisfy.

    Parameters
    ----------
    max_grade : float, default=None
        The largest label that can be given. None takes the largest label of the whole call, so give
        it explicitly where results on several sets are compared.
    gain : "exp", array-like or callable, default="exp"
        "exp" for the probabilities above, or a table indexed by label or a function of the labels
        that gives probabilities itself.
    discount : str or callable, default="zipf"
        What satisfaction at a rank is worth, as in :func:`ndcg_score`; "zipf" is ``1/rank``.

    References
    ----------
    O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan, "Expected reciprocal rank for graded
    relevance", 2009.

    Examples
    --------
    >>> from gbrank.metrics import err_score
    >>> err_score([0, 1, 2], [0.1, 0.2, 0.3], group=[3])  # 3/4 + 1/4 * 1/4 / 2
    0.78125
    """

    name = "err"
    own_options: ClassVar = {"max_grade": None, "gain": "exp", "discount": "zipf"}
    kernel = staticmethod(_err_block)

    def check_options(self) -> None:
        max_grade, gain = self.options["max_grade"], self.options["gain"]
        if max_grade is not None:
            check_number("max_grade", max_grade, low=0.0, low_open=True, also="None")
        if isinstance(gain, str) and gain != "exp":
            raise ValueError(
                f'gain must be "exp", or a table or function that gives probabilities, got {gain!r}'
            )

    def gain_table(self, judgments: Judgments) -> FloatArray:
        """Return the chance that a document of each code satisfies."""
        gain, max_grade = self.options["gain"], self.options["max_grade"]
        if max_grade is None:
            max_grade = float(judgments.rows.max())

        def probabilities(labels: FloatArray, layout: QueryLayout | None) -> FloatArray:
            if isinstance(gain, str):
                wrong = labels > max_grade
                stops = np.exp2(np.minimum(labels, max_grade) - max_grade) - np.exp2(-max_grade)
                expected = f"labels must be at most max_grade = {max_grade:g}"
            else:
                stops = compute_gains(labels, gain, layout)
                wrong = stops > 1.0
                expected = "gain must give probabilities, at most 1"
            if wrong.any():
                row = int(np.argmax(wrong))
                where = f"row {row}" if layout is None else layout.describe_row(row)
                raise ValueError(f"{expected}, but {where} has label {labels[row]:g}")
            return np.asarray(stops)

        return judgments.tabulate(probabilities)


err_score = metric_function("err_score", ERR)
