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

from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, QueryLayout, check_integer, check_number, kernel
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._registry import register_objective
from gbrank.objectives._short_lists import (
    LANES,
    WINDOW,
    by_length,
    load_tile,
    open_tile,
    zero_others,
)
from gbrank.objectives._softmax import (
    SOFTMAX_ROWS,
    check_neumann_order,
    log_partition,
    softmax_step,
)
from gbrank.objectives._softmax_short import (
    BEYOND,
    DOUBLES,
    LANE_ROWS,
    LONGEST_SHORT,
    SINGLES,
    softmax_tile,
)
from gbrank.objectives._topk import keep_top
from gbrank.objectives.base import Objective


@kernel()
def _listnet_block(
    first, last, bounds, scores, target, counts, order, longest_short, iteration, scratch, grad,
    hess,
):  # fmt: skip
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if b - a <= longest_short:
            continue
        if counts[q]:
            softmax_step(scores[a:b], target[a:b], 1.0, 0.0, order, scratch, grad[a:b], hess[a:b])
        else:
            zero_step(grad[a:b], hess[a:b])


@kernel()
def _short_listnet_block(
    first, last, bounds, scores, target, counts, order, longest, iteration, scratch, grad, hess
):
    tile, kept = np.empty(longest * DOUBLES * LANES), np.empty(longest * LANES)
    singles = np.empty(longest * SINGLES * LANES, np.float32)
    lanes = np.empty(LANE_ROWS * LANES)
    queries, ends = np.empty(WINDOW, np.int64), np.empty(longest + 2, np.int64)
    starts, sizes = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for window in range(first, last, WINDOW):
        window_end = min(window + WINDOW, last)
        n_short = by_length(window, window_end, bounds, counts, longest, queries, ends)
        for begin in range(0, n_short, LANES):
            chosen = queries[begin : min(begin + LANES, n_short)]
            length = open_tile(chosen, LANES, bounds, starts, sizes)
            load_tile(scores, starts, sizes, LANES, length, BEYOND, tile, DOUBLES * LANES)
            load_tile(target, starts, sizes, LANES, length, 0.0, tile[LANES:], DOUBLES * LANES)
            lanes[:LANES] = 1.0  # the sums of targets
            softmax_tile(
                length, len(chosen), starts, sizes, scores, 0.0, order, tile, lanes, singles,
                kept, scratch, grad, hess,
            )  # fmt: skip
        zero_others(window, window_end, bounds, counts, longest, grad, hess)


class ListNet(Objective):
    """Cross entropy of two softmaxes: ``- sum softmax(r / temperature)_i log softmax(s)_i``.

    Parameters
    ----------
    temperature : float >= 1e-6, default=1.0
        Divides the labels; 1.0 is the original.
    neumann_order : {0, 2, 4}, default=2
        Off-diagonal hessian carried by the gradient; 0 gives the plain gradient.
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

    kernel = staticmethod(_listnet_block)
    short_kernel = staticmethod(_short_listnet_block)
    longest_short = LONGEST_SHORT
    scratch_rows: ClassVar[int] = SOFTMAX_ROWS + 1
    exact_hessian: ClassVar[bool] = True

    def __init__(
        self,
        temperature: float = 1.0,
        neumann_order: int = 2,
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

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        labels = keep_top(labels, layout.bounds, self.k)
        starts = layout.bounds[:-1][layout.sizes > 0]
        sizes = layout.sizes[layout.sizes > 0]
        top = np.repeat(np.maximum.reduceat(labels, starts), sizes) if len(labels) else labels
        mass = np.exp((labels - top) / self.temperature)
        total = np.repeat(np.add.reduceat(mass, starts), sizes) if len(labels) else mass
        return mass / total, layout.sizes > 1

    def kernel_params(self) -> tuple[Any, ...]:
        return int(self.neumann_order), self.longest_short

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if len(labels) < 2:
            return 0.0
        if self.k is not None and self.k < len(labels):
            labels = np.where(labels >= np.sort(labels)[-self.k], labels, 0.0)
        mass = np.exp((labels - labels.max()) / self.temperature)
        return float(mass @ (log_partition(scores) - scores) / mass.sum())

    def plain_gradient(self) -> "ListNet":
        return type(self)(**{**self.get_params(), "neumann_order": 0})


register_objective("listnet", ListNet)
