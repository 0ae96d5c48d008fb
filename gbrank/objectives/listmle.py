"""ListMLE: likelihood of the label order under the Plackett-Luce model.

With y the documents in descending order of their labels, the loss of a query is::

    sum_{i <= K} [ log sum_{t >= i} e^s_y(t)  -  s_y(i) ],    K = min(k, m)

the negative logarithm of the chance that documents drawn one after another, each with odds e^s
among those left, come out as y in the first K places. Equal labels say nothing about their order:
they stand in a random one, drawn again at every boosting iteration. All K factors with
``k=None``; with ``k < m`` the loss is top-k order sensitive, the full one is not.

With ``P_ij = e^s_j / sum_{t >= i} e^s_y(t)``, the chance that factor i draws document j::

    g_j = p_j - u_j,    h_j = (p_j + u_j) / 2,    p_j = sum_i P_ij,  u_j = [j is among the first K]

over the factors in which j is still there. With this hessian no tree of a learning rate up to 1
raises the loss (proof in docs/theory/listmle.md). With the exact diagonal, of ``P_ij (1 - P_ij)``,
leaves of few documents go too far, and the next ones farther. One pass from the end of the list
gives all sums over t, one from its front all sums over i. Each sum is kept relative to the largest
score it holds, so scores of any size neither overflow nor vanish, and one exponential per document
is enough: that of minus its distance to the largest score behind it.

References: Xia, Liu, Wang, Zhang, Li, Listwise approach to learning to rank: theory and algorithm,
ICML 2008; Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009, equations 9 and 10.
"""

import sys
from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    check_integer,
    check_seed,
    exp,
    kernel,
    random_key,
    random_uniform,
)
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._label_order import order_by_label
from gbrank.objectives._registry import register_objective
from gbrank.objectives.base import Objective

_INT32 = np.int32


@kernel()
def _shuffle_ties(order, tie_ends, factors, low, high, partners, places):
    """Write ``order`` with equal labels shuffled, as far as the first ``factors`` places need it.

    Every place takes one of the documents from itself to the end of its tie (Fisher and Yates).
    """
    for i in range(len(order)):
        places[i] = order[i]
    for i in range(factors):
        place = np.float64(_INT32(i))  # conversions of 64-bit integers do not vectorise
        partners[i] = _INT32(place + random_uniform(low, high, i) * (tie_ends[i] - place))
    for i in range(factors):
        j = partners[i]
        places[i], places[j] = places[j], places[i]


@kernel()
def _listmle_query(scores, places, factors, scratch, grad, hess):
    m = len(scores)
    sorted_scores, top, share, decay = scratch[0], scratch[1], scratch[2], scratch[3]
    totals, inverse, rest = scratch[4], scratch[0], scratch[1]  # two rows serve twice
    for i in range(m):
        sorted_scores[i] = scores[places[i]]
    # the largest score from each place on
    highest = sorted_scores[m - 1]
    top[m - 1] = highest
    for i in range(m - 2, -1, -1):
        highest = max(highest, sorted_scores[i])
        top[i] = highest
    # e^(s_i - top_i), and e^(top_(i+1) - top_i): one of the two is 1
    for i in range(m - 1):
        gap = sorted_scores[i] - top[i + 1]
        e = exp(-abs(gap))
        share[i] = 1.0 if gap > 0.0 else e
        decay[i] = e if gap > 0.0 else 1.0
    share[m - 1] = 1.0
    decay[m - 1] = 0.0
    # sum_{t >= i} e^(s_t - top_i)
    total = 0.0
    totals[m] = 0.0
    for i in range(m - 1, -1, -1):
        total = total * decay[i] + share[i]
        totals[i] = total
    # 1 / sum, and the part of the sum that does not belong to document i
    for i in range(m):
        inverse[i] = 1.0 / totals[i]
        rest[i] = decay[i] * totals[i + 1] * inverse[i]
    # sums of P / e^(s_j - top_j) over the factors before place j; of its own, P - 1 = -rest
    drawn = 0.0
    for j in range(factors):
        g = share[j] * drawn - rest[j]
        grad[places[j]] = np.float32(g)
        hess[places[j]] = np.float32(1.0 + 0.5 * g)
        # as products, whose sum is one operation in the chain from place to place
        drawn = drawn * decay[j] + inverse[j] * decay[j]
    for j in range(factors, m):
        p = share[j] * drawn
        grad[places[j]] = np.float32(p)
        hess[places[j]] = np.float32(0.5 * p)
        drawn *= decay[j]


@kernel()
def _listmle_block(
    first, last, bounds, scores, order, tie_ends, used, k, seed, iteration, scratch, grad, hess
):
    places, partners = scratch[0].view(_INT32), scratch[1].view(_INT32)
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if used[q]:
            factors = min(k, b - a)
            low, high = random_key(seed, iteration, q)
            _shuffle_ties(order[a:b], tie_ends[a:b], factors, low, high, partners, places)
            _listmle_query(scores[a:b], places, factors, scratch[2:], grad[a:b], hess[a:b])
        else:
            zero_step(grad[a:b], hess[a:b])


class ListMLE(Objective):
    """Likelihood of the label order: ``- log P(y | s)``, P of Plackett and Luce.

    A query of one document or of equal labels has no order and is left out.

    Parameters
    ----------
    k : int >= 1, default=None
        Only the first k places of the order count; ``None`` takes all.
    random_state : int, default=None
        Seed of the order among equal labels, which is drawn again at every iteration.
        ``None`` takes the ``objective_seed`` that LightGBM's parameters say or imply, where they
        are visible, else 0.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Xia et al., Listwise approach to learning to rank: theory and algorithm, ICML 2008.
    Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009.

    Examples
    --------
    >>> from gbrank import ListMLE
    >>> grad, hess = ListMLE(k=1).grad_hess([1, 2, 0], [0.0, 0.0, 0.0], group=[3])
    >>> grad  # 1/3, less 1 for the best document
    array([ 0.33333334, -0.6666667 ,  0.33333334], dtype=float32)
    """

    formula = "`-log P(label order)` of the Plackett-Luce model; the first `k` factors with `k=`"
    consistent_with = (
        "the top-k 0-1 loss with `k=`, else the permutation 0-1 loss, for order-preserving label "
        "distributions"
    )
    cost = "`m`"
    by_order = True
    when = "labels that are orders; the top of the list"

    kernel = staticmethod(_listmle_block)
    scratch_rows: ClassVar[int] = 7
    uses_random_numbers: bool = True

    def __init__(
        self, k: int | None = None, random_state: int | None = None, *, n_jobs: int | None = None
    ) -> None:
        self.k = k
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        if self.k is not None:
            check_integer("k", self.k, low=1, also="None")
        check_seed(self.value_of("random_state"))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return order_by_label(labels, layout)

    def kernel_params(self) -> tuple[Any, ...]:
        return sys.maxsize if self.k is None else int(self.k), int(self.value_of("random_state"))

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if len(labels) < 2 or labels.min() == labels.max():
            return 0.0
        factors = len(labels) if self.k is None else min(self.k, len(labels))
        in_order = scores[self._drawn_order(labels, query, iteration, factors)]
        log_sums = np.logaddexp.accumulate(in_order[::-1])[::-1]  # of those from each place on
        return float((log_sums - in_order)[:factors].sum())

    def _drawn_order(
        self, labels: FloatArray, query: int, iteration: int, factors: int
    ) -> IntArray:
        key = random_key(self.value_of("random_state"), iteration, query)
        order = np.argsort(-labels, kind="stable")
        for i in range(factors):
            tied = np.count_nonzero(labels[order[i:]] == labels[order[i]])
            j = i + int(tied * random_uniform(*key, i))
            order[[i, j]] = order[[j, i]]
        return order


register_objective("listmle", ListMLE)
