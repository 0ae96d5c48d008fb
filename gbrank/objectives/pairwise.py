"""Pairwise logistic loss: every pair of documents with different labels, weighted alike.

Loss of a query::

    sum_{r_i > r_j} log(1 + e^-(s_i - s_j))

the loss of RankNet. With ``p_ij = 1 / (1 + e^(s_i - s_j))`` each pair adds ``-p_ij`` to the
gradient of i, ``p_ij`` to that of j and ``p_ij max(1 - p_ij, 1/5)`` to both hessians: the exact
diagonal of the Hessian as far as a leaf can be trusted with it. Documents are sorted by label once
per training, so that each meets one run of documents with strictly lower labels; the pairs
themselves: see :mod:`gbrank.objectives._pairs`.

With ``observations=`` the sum is over observed comparisons, edges of partial orders or clicks, each
with its weight, and labels are not used: see :mod:`gbrank.objectives._observed_pairs`.

Sums over pairs, each counted alike, are not consistent with NDCG, and from single comparisons not
even with the number of pairs in the wrong order when there is little noise (Duchi, Mackey and
Jordan, theorem 2): this loss is the baseline that the others are compared with.

References: Burges et al., Learning to rank using gradient descent, ICML 2005; Duchi, Mackey,
Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013, equations 12 and 29.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout, kernel
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._label_order import order_by_label
from gbrank.objectives._observed import bind_observations, check_observations
from gbrank.objectives._observed_pairs import merge_pairs, observed_pairs_block, observed_pairs_loss
from gbrank.objectives._pairs import logistic_pairs
from gbrank.objectives._registry import register_objective
from gbrank.objectives.base import Objective


@kernel(wide=False)
def _pairwise_block(
    first, last, bounds, scores, order, tie_ends, used, iteration, scratch, grad, hess
):
    sorted_scores, ones, zeros = scratch[0], scratch[1], scratch[2]
    xs, forces, hessians = scratch[3], scratch[4], scratch[5]
    ones[:] = 1.0
    zeros[:] = 0.0
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if not used[q]:
            zero_step(grad[a:b], hess[a:b])
            continue
        m = b - a
        for i in range(m):
            sorted_scores[i] = scores[a + order[a + i]]
        ends = tie_ends[a:b]
        n_above = m
        while ends[n_above - 1] == m:  # the lowest label wins nothing
            n_above -= 1
        logistic_pairs(sorted_scores, ones, zeros, ends, n_above, xs, forces, hessians)
        for i in range(m):
            grad[a + order[a + i]] = np.float32(forces[i])
            hess[a + order[a + i]] = np.float32(hessians[i])


class PairwiseLogistic(Objective):
    """Logistic loss of all pairs: ``sum_{r_i > r_j} log(1 + exp(-(s_i - s_j)))``.

    A query whose labels are all equal has no pairs and is left out. With ``observations`` the
    sum is over observed preferences instead, each with its weight, which is not consistent with the
    preferences of a population: :class:`gbrank.PreferenceLogistic` and :class:`gbrank.UStatistic`
    are.

    Parameters
    ----------
    observations : Comparisons, Selections, PartialOrders or "labels", default=None
        What was preferred: see :class:`gbrank.UStatistic`. ``None`` takes all pairs with different
        labels.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Burges et al., Learning to rank using gradient descent, ICML 2005.
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013.

    Examples
    --------
    >>> from gbrank import PairwiseLogistic
    >>> grad, hess = PairwiseLogistic().grad_hess([2, 0, 1], [0.0, 0.0, 0.0], group=[3])
    >>> grad, hess  # 1/2 and 1/4 for each of three pairs
    (array([-1.,  1.,  0.], dtype=float32), array([0.5, 0.5, 0.5], dtype=float32))
    """

    formula = "`sum_{r_i > r_j} log(1 + exp(-(s_i - s_j)))`"
    consistent_with = "none that scores whole lists"
    cost = "pairs of different labels"
    by_order = True
    when = "a baseline; RankNet's loss"

    scratch_rows: ClassVar[int] = 6

    def __init__(self, observations: Any = None, *, n_jobs: int | None = None) -> None:
        self.observations = observations
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_observations(self.observations)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        if self.observations is None:
            return order_by_label(labels, layout)
        return merge_pairs(
            bind_observations(self.observations, labels, layout, type(self).__name__)
        )

    def query_cost(self, sizes: IntArray) -> IntArray:
        if self.observations is not None:
            return sizes
        # about a third of all pairs have different labels, and eight cost as much as a document
        return sizes * (1 + sizes // 8)

    @property
    def kernel(self) -> Callable[..., None]:
        """That of labels, or that of observations."""
        return _pairwise_block if self.observations is None else observed_pairs_block

    def query_losses(
        self, labels: FloatArray, scores: FloatArray, layout: QueryLayout, iteration: int
    ) -> FloatArray:
        if self.observations is None:
            return super().query_losses(labels, scores, layout, iteration)
        return observed_pairs_loss(scores, layout.bounds, self.prepare(labels, layout))

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        should_win = labels[:, None] > labels[None, :]
        margins = (scores[:, None] - scores[None, :])[should_win]
        return float(np.logaddexp(0.0, -margins).sum())


register_objective("pairwise_logistic", PairwiseLogistic)
