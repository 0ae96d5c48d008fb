r"""Softmax cross entropy of labels that are not normalised: ``-sum_i l_i log rho_i``.

Other softmax losses divide labels by their sum within the query, so that a list with a click counts
1 whatever the click is worth. Here labels are weights: the loss is affine in them, so that clicks
divided by propensities have the gradient of the clean labels on average. The gradient is
``W rho - l`` with ``W = sum l``, the hessian ``W rho (1 - rho)``, its exact diagonal.

References
----------
Q. Ai, K. Bi, C. Luo, J. Guo and W. B. Croft, Unbiased learning to rank with unbiased propensity
estimation, 2018. S. Bruch, X. Wang, M. Bendersky and M. Najork, An analysis of the softmax cross
entropy loss for learning-to-rank with binary relevance, 2019.
"""

from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, QueryLayout, kernel
from gbrank.objectives.base import Objective


@kernel()
def _softmax_block(first, last, bounds, scores, targets, iteration, scratch, grad, hess):
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        total, top = 0.0, -np.inf
        for i in range(a, b):
            total += targets[i]
            top = max(top, scores[i])
        if total <= 0.0 or b - a < 2:
            grad[a:b] = 0.0
            hess[a:b] = 0.0
            continue
        mass = 0.0
        for i in range(a, b):
            mass += np.exp(scores[i] - top)
        for i in range(a, b):
            rho = np.exp(scores[i] - top) / mass
            grad[i] = total * rho - targets[i]
            hess[i] = total * rho * (1.0 - rho)


class ClickSoftmax(Objective):
    """Softmax cross entropy with labels as weights, ``-sum l_i log softmax(s)_i``: for clicks.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads of a step.

    Examples
    --------
    >>> from gbrank import ClickSoftmax
    >>> grad, hess = ClickSoftmax().grad_hess([4, 0], [0.0, 0.0], group=[2])
    >>> grad, hess
    (array([-2.,  2.], dtype=float32), array([1., 1.], dtype=float32))
    """

    formula = "`-sum_i r_i log rho_i`"
    consistent_with = "the order of expected labels"
    cost = "`m`"
    when = "clicks divided by propensities"
    exact_hessian: ClassVar[bool] = True
    kernel = staticmethod(_softmax_block)

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return (labels,)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if len(labels) < 2:
            return 0.0
        top = scores.max()
        return float(labels @ (top + np.log(np.exp(scores - top).sum()) - scores))
