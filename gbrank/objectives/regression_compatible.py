"""Cross entropy per document plus a listwise part with the same minimiser: scores with a meaning.

Loss of a query, with y = min(r / max_label, 1), p = 1 / (1 + e^-s) and C = sum y::

    (1 - alpha) sum_i [log(1 + e^s_i) - y_i s_i]  -  alpha sum_i y_i log(p_i / sum_j p_j)

The first part is least where p_i = E[y_i], the second where p_i is proportional to E[y_i]: both at
once at p = E[y], so that ranking better does not cost calibration. A softmax of scores in the
second place would pull them elsewhere.

Gradient and hessian, with w = p / sum p, A = C w (1 - p) and B = y (1 - p)::

    g = (1 - alpha) (p - y)                          + alpha (A - B)
    h = (1 - alpha) (y (1 - p) + p (1 - y)) / 2      + alpha (A + B)

The Hessian of the second part is diag(p (1 - p) (y + C (1 - 2 p) / sum p)) less the outer product
of a vector with itself, so that diag(A + B) is above it; the first is bounded as in
:class:`gbrank.Bregman`. The step of every leaf lies in [-2, 2].

Reference: Bai, Jagerman, Qin, Yan, Kar, Lin, Wang, Bendersky, Najork, Regression compatible
listwise objectives for calibrated ranking with binary relevance, CIKM 2023. There the second part
is divided by C, which makes its minimiser E[y / C] where C varies; here it is not.
"""

from typing import Any

import numpy as np

from gbrank.core import FloatArray, QueryLayout, check_number, exp, kernel, sigmoid
from gbrank.objectives._registry import register_objective
from gbrank.objectives.base import Objective


@kernel()
def _regression_compatible_block(
    first, last, bounds, scores, target, alpha, iteration, scratch, grad, hess
):
    listwise = scratch[0]
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        s, y, g, h, w = scores[a:b], target[a:b], grad[a:b], hess[a:b], listwise[: b - a]
        highest, count = -np.inf, 0.0
        for i in range(len(s)):
            highest = max(highest, s[i])
            count += y[i]
        # p over its largest possible value: scores far below 0 still have a sum
        shift = min(highest, 0.0)
        total = 0.0
        for i in range(len(s)):
            w[i] = exp(min(s[i], 0.0) - shift) / (1.0 + exp(-abs(s[i])))
            total += w[i]
        for i in range(len(s)):
            p, r = sigmoid(s[i]), sigmoid(-s[i])
            up, down = count * w[i] / total * r, y[i] * r
            g[i] = np.float32((1.0 - alpha) * (p - y[i]) + alpha * (up - down))
            h[i] = np.float32(
                (1.0 - alpha) * 0.5 * (y[i] * r + p * (1.0 - y[i])) + alpha * (up + down)
            )


class RegressionCompatible(Objective):
    """Cross entropy per document plus a listwise cross entropy with the same minimiser.

    ``1 / (1 + exp(-score))`` estimates the probability of a label of at least 1, comparable across
    queries; the listwise part, whose minimiser is the same, ranks. All queries count, those of one
    document or of equal labels too.

    Parameters
    ----------
    alpha : float in [0, 1], default=0.5
        Share of the listwise part; 0 is the cross entropy of each document by itself.
    max_label : float > 0, default=1.0
        What labels are divided by; higher ones count as it. With 4 and labels 0 to 4 the target is
        the expected label over 4 instead of a probability.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Bai et al., Regression compatible listwise objectives for calibrated ranking with binary
    relevance, CIKM 2023.

    Examples
    --------
    >>> from gbrank import RegressionCompatible
    >>> grad, hess = RegressionCompatible(alpha=0.0).grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad  # p - y
    array([-0.5,  0.5], dtype=float32)
    """

    formula = "`(1-a) sum log(1+e^s_i) - y_i s_i - a sum y_i log(p_i / sum p)`, `p = 1/(1+e^-s)`"
    consistent_with = "the order of expected labels (precision; DCG with linear gain)"
    cost = "`m`"
    when = "scores that are to be probabilities, and a good order"

    kernel = staticmethod(_regression_compatible_block)
    shift_invariant = False
    scratch_rows = 1

    def __init__(
        self, alpha: float = 0.5, max_label: float = 1.0, *, n_jobs: int | None = None
    ) -> None:
        self.alpha = alpha
        self.max_label = max_label
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_number("alpha", self.alpha, low=0.0, high=1.0)
        check_number("max_label", self.max_label, low=0.0, low_open=True)

    def _target(self, labels: FloatArray) -> FloatArray:
        return np.minimum(labels / self.max_label, 1.0)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return (self._target(labels),)

    def kernel_params(self) -> tuple[Any, ...]:
        return (float(self.alpha),)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        y = self._target(labels)
        log_p = -np.logaddexp(0.0, -scores)
        by_document = np.sum(np.logaddexp(0.0, scores) - y * scores)
        listwise = -np.sum(y * (log_p - np.logaddexp.reduce(log_p)))
        return float((1.0 - self.alpha) * by_document + self.alpha * listwise)


register_objective("regression_compatible", RegressionCompatible)
