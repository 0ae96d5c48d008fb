"""ListNet: cross entropy between the softmax of labels and the softmax of scores.

Loss of a query::

    - sum_i phi_i log rho_i,   phi = softmax(psi(r) / temperature),   rho = softmax(s)

the top-one form of Cao et al. A lower temperature puts more of the target on the best grades.
``psi(r) = r`` is the original; with ``k`` it is the top-k map (:mod:`gbrank.objectives._topk`),
which makes the loss top-k order sensitive. (The top-k probability model of Cao et al. does not.)
Gradient ``rho - phi``; numerator and hessian: see :mod:`gbrank.objectives._softmax`.

Reference: Cao, Qin, Liu, Tsai, Li, Learning to rank: from pairwise approach to listwise approach,
ICML 2007; Bruch, The Web Conference 2021, equations 2 and 3; Xia, Liu, Li, Statistical consistency
of top-k ranking, NIPS 2009, section 4.3.3.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gbrank.core import FloatArray, QueryLayout, check_integer, check_number
from gbrank.objectives._registry import register_objective
from gbrank.objectives._softmax import (
    SoftmaxObjective,
    check_neumann_order,
    log_partition,
)
from gbrank.objectives._softmax_blocks import drawn_block, short_drawn_block
from gbrank.objectives._topk import keep_top


class ListNet(SoftmaxObjective):
    """Cross entropy of two softmaxes: ``- sum softmax(r / temperature)_i log softmax(s)_i``.

    Parameters
    ----------
    temperature : float >= 1e-6, default=1.0
        Divides the labels; 1.0 is the original.
    neumann_order : {0, 2, 4, "exact"}, default=2
        Off-diagonal hessian carried by the gradient; 0 gives the plain gradient, "exact"
        Newton's step with the full Hessian.
    k : int >= 1, default=None
        Count labels below the k-th largest of a query as 0; ``None`` takes all as they are.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Cao et al., Learning to rank: from pairwise approach to listwise approach, ICML 2007.
    Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009.

    Examples
    --------
    >>> from gbrank import ListNet
    >>> grad, hess = ListNet().grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad  # 1/2 - e / (1 + e)
    array([-0.23105858,  0.23105858], dtype=float32)
    """

    formula = "`-sum softmax(r)_i log rho_i`"
    consistent_with = "the order of `E[softmax(r)]`; not NDCG"
    cost = "`m`"
    when = "a baseline"

    kernel = staticmethod(drawn_block)

    def __init__(
        self,
        temperature: float = 1.0,
        neumann_order: int | str = 2,
        k: int | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.temperature = temperature
        self.neumann_order = neumann_order
        self.k = k
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_number("temperature", self.temperature, low=1e-6)
        check_neumann_order(self.neumann_order)
        if self.k is not None:
            check_integer("k", self.k, low=1, also="None")

    @property
    def short_kernel(self) -> Callable[..., Any] | None:  # type: ignore[override]
        """The kernel for short lists, which has no bounded and no exact form."""
        return short_drawn_block if self.has_short_form else None

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        labels = keep_top(labels, layout.bounds, self.k)
        starts = layout.bounds[:-1][layout.sizes > 0]
        sizes = layout.sizes[layout.sizes > 0]
        top = np.repeat(np.maximum.reduceat(labels, starts), sizes) if len(labels) else labels
        mass = np.exp((labels - top) / self.temperature)
        if len(mass):
            mass /= np.repeat(np.add.reduceat(mass, starts), sizes)
        return mass, *self.query_state(layout.sizes)

    def kernel_params(self) -> tuple[Any, ...]:
        seed, middle, spread, anneal = 0, 0.0, 0.0, np.inf  # the target is the mass itself
        return 0.0, self.kernel_order(), seed, middle, spread, anneal, 1.0

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if len(labels) < 2:
            return 0.0
        if self.k is not None and self.k < len(labels):
            labels = np.where(labels >= np.sort(labels)[-self.k], labels, 0.0)
        mass = np.exp((labels - labels.max()) / self.temperature)
        return float(mass @ (log_partition(scores) - scores) / mass.sum())


register_objective("listnet", ListNet)
