"""Sigmoid cross entropy per document: logistic regression on whether a document is relevant.

Loss of a query, with ``t_i`` 1 for labels above ``threshold`` and 0 for the others::

    sum_i log(1 + e^s_i) - t_i s_i

The only loss here that knows nothing of lists: every row counts, whatever the others of its query
are. With ``p = 1 / (1 + e^-s)`` the gradient is ``p - t``. The hessian used is that of
:mod:`gbrank.objectives.bregman`::

    h_i = (t_i (1 - p_i) + p_i (1 - t_i)) / 2

which, t being 0 or 1, is half the absolute gradient: every step of a leaf lies in [-2, 2] and, with
any learning rate up to 1, never raises the loss.

Reference: Cox, The regression analysis of binary sequences, Journal of the Royal Statistical
Society B, 1958.
"""

from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, QueryLayout, check_number, kernel, sigmoid
from gbrank.objectives._registry import register_objective
from gbrank.objectives.base import Objective


@kernel()
def _sigmoid_block(first, last, bounds, scores, target, iteration, scratch, grad, hess):
    start, stop = bounds[first], bounds[last]  # documents do not depend on one another
    for row in range(start, stop):
        p, t = sigmoid(scores[row]), target[row]
        grad[row] = np.float32(p - t)
        hess[row] = np.float32(0.5 * (t * (1.0 - p) + p * (1.0 - t)))


class SigmoidCrossEntropy(Objective):
    """Logistic regression on relevance: ``sum log(1 + e^s) - t s``, t = 1 for relevant documents.

    Its expectation is least at the log-odds of each document's chance to be relevant.

    Parameters
    ----------
    threshold : float >= 0, default=0.0
        Documents with labels above it are relevant.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Cox, The regression analysis of binary sequences, Journal of the Royal Statistical Society B,
    1958.

    Examples
    --------
    >>> from gbrank import SigmoidCrossEntropy
    >>> grad, hess = SigmoidCrossEntropy().grad_hess([2, 0], [0.0, 0.0], group=[2])
    >>> grad, hess
    (array([-0.5,  0.5], dtype=float32), array([0.25, 0.25], dtype=float32))
    """

    formula = "`sum log(1 + e^s_i) - t_i s_i`, `t_i = [r_i > threshold]`"
    consistent_with = "precision and recall of relevant documents, at any cut-off"
    cost = "`m`"
    when = "chances instead of scores; lists that mean nothing"

    kernel = staticmethod(_sigmoid_block)
    shift_invariant: ClassVar[bool] = False

    def __init__(self, threshold: float = 0.0, *, n_jobs: int | None = None) -> None:
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_number("threshold", self.threshold, low=0.0)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return ((labels > self.threshold).astype(np.float64),)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        relevant = labels > self.threshold
        return float(np.sum(np.logaddexp(0.0, np.where(relevant, -scores, scores))))


register_objective("sigmoid_cross_entropy", SigmoidCrossEntropy)
