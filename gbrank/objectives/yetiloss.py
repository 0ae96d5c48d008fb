r"""YetiLoss: pairs weighted by what their swap changes in a metric, in orders drawn with noise.

At every boosting iteration ``permutations`` = T orders of a query are drawn, by scores with noise
:math:`s + \mathrm{scale} \, z`. A pair of documents that stand at places p < q <= p + ``neighbors``
of such an order, p within the cut-off of the metric, gets the weight

.. math:: w_{ij} \mathrel{+}= \tfrac{1}{T} |M(\text{order}) - M(\text{order with the two swapped})|,

where i is the one that is worth more (:mod:`gbrank.objectives._swap_weights`). The loss is that of
the scores *without* noise,

.. math:: \sum w_{ij} \log(1 + e^{-(s_i - s_j)}),

convex as long as the weights are fixed, which they are in one iteration. Gradient and hessian, the
exact diagonal of the Hessian, are of this loss; that weights jump where two noisy scores cross is
left out. This is not :class:`gbrank.Smoothed`, whose gradients are those at noisy scores.

Of precision and recall only pairs across the cut-off count: place k + 1 - j is compared with place
k + j, or with places less than ``neighbors`` from there.

References: Gulin, Kuralenok, Pavlov, Winning the transfer learning track of Yahoo!'s learning to
rank challenge with YetiRank, 2011; Lyzhin, Ustimenko, Gulin, Prokhorenkova, Which tricks are
important for learning to rank?, ICML 2023.
"""

from __future__ import annotations

import copy
import sys
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_choice,
    check_integer,
    check_number,
    check_seed,
)
from gbrank.metrics import Metric
from gbrank.objectives._noise import NOISES
from gbrank.objectives._noisy_orders import LANES, orders_of_query
from gbrank.objectives._registry import register_objective
from gbrank.objectives._swap_weights import (
    ACROSS,
    FORMS,
    Swaps,
    bind_swaps,
    can_be_optimised,
    metric_to_optimise,
    swap_changes,
)
from gbrank.objectives._yeti_step import SCRATCH_ROWS, yetiloss_block
from gbrank.objectives.base import Objective


class YetiLoss(Objective):
    """The metric you report: pairs weighted by what a swap changes in it, in noisy orders.

    Parameters
    ----------
    metric : str, default=None
        "ndcg", "dcg", "map", "mrr", "err", "precision" or "recall", with or without a cut-off, as
        in "map@10"; the last two need one. Blank queries, which the metric leaves out, are left out
        here too. ``None`` stands for "ndcg", and in a :class:`gbrank.Ranker` for its first
        ``eval_metric``, if that is one of these.
    top : int >= 1, default=None
        The cut-off, where ``metric`` names none; ``None`` for the whole list.
    permutations : int >= 1, default=10
        Orders that are drawn for a query at each iteration.
    neighbors : int >= 1, default=1
        Documents up to so many places apart are compared; ``None`` for all. Of precision and
        recall, documents as far from the cut-off on one side as on the other, or less than so many
        places from there.
    noise : {"logistic", "gumbel", "normal"}, default="logistic"
        Distribution of the noise, of scale 1. Gumbel noise makes orders those of the Plackett-Luce
        model. Other noise than logistic takes several times as long.
    scale : float, default=1.0
        Factor of the noise. With 0 there is one order, that of the scores.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth in DCG and NDCG: see :func:`gbrank.gains.compute_gains`. Of ERR, a
        table or function that gives the chance to satisfy. ``None`` takes LightGBM's
        ``label_gain`` where that is given and visible, else "exp".
    threshold : float, default=0.0
        Documents whose label is greater are relevant, for MAP, MRR, precision and recall.
    max_grade : float, default=None
        Of ERR, the largest label that can be given; ``None`` takes the largest of the data.
    random_state : int, default=None
        Seed of the noise. ``None`` takes the ``objective_seed`` that LightGBM's parameters say or
        imply, where they are visible, else 0.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Lyzhin, Ustimenko, Gulin, Prokhorenkova, Which tricks are important for learning to rank?, ICML
    2023.

    Examples
    --------
    >>> from gbrank import YetiLoss
    >>> grad, hess = YetiLoss("mrr").grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad, hess  # (1 - 1/2) / 2, as in both orders the swap costs a half; (1 - 1/2) / 4
    (array([-0.25,  0.25], dtype=float32), array([0.125, 0.125], dtype=float32))
    """

    formula = (
        "`sum_ij w_ij log(1 + e^-(s_i - s_j))`, `w_ij` = mean change of the metric when the two "
        "swap, over neighbours in orders with noise, drawn again for each tree"
    )
    consistent_with = "nothing is proved"
    cost = "`T m log m` for `permutations=T`"
    when = "the metric that you report: NDCG, MAP, MRR, ERR, precision or recall, at any cut-off"

    kernel = staticmethod(yetiloss_block)
    exact_hessian: ClassVar[bool] = True
    scratch_rows: ClassVar[int] = SCRATCH_ROWS

    def __init__(
        self,
        metric: str | None = None,
        top: int | None = None,
        permutations: int = 10,
        neighbors: int | None = 1,
        noise: str = "logistic",
        scale: float = 1.0,
        gain: GainSpec | None = None,
        threshold: float = 0.0,
        max_grade: float | None = None,
        random_state: int | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.top = top
        self.permutations = permutations
        self.neighbors = neighbors
        self.noise = noise
        self.scale = scale
        self.gain = gain
        self.threshold = threshold
        self.max_grade = max_grade
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether orders are drawn."""
        return self.scale > 0

    def check_params(self) -> None:
        self.optimised()
        check_integer("permutations", self.permutations, low=1)
        if self.neighbors is not None:
            check_integer("neighbors", self.neighbors, low=1, also="None")
        check_choice("noise", self.noise, tuple(NOISES))
        check_number("scale", self.scale, low=0.0)
        check_seed(self.value_of("random_state"))

    def optimised(self) -> Metric:
        """Return the metric that is optimised.

        Examples
        --------
        >>> from gbrank import YetiLoss
        >>> YetiLoss("map", top=10).optimised().full_name
        'map@10'
        """
        name = "ndcg" if self.metric is None else self.metric
        gain = self.value_of("gain")
        return metric_to_optimise(name, self.top, gain, self.threshold, self.max_grade)

    def take_metric(self, metric: Metric) -> None:
        """Optimise a metric, with its cut-off and options, if none was given and it is one of ours.

        A Ranker calls this with the first of its ``eval_metric``.

        Parameters
        ----------
        metric : what models are judged by.

        Examples
        --------
        >>> from gbrank import YetiLoss
        >>> from gbrank.metrics import get_metric
        >>> objective = YetiLoss()
        >>> objective.take_metric(get_metric("map@10", threshold=1))
        >>> objective
        YetiLoss(metric='map@10', threshold=1.0)
        """
        if self.metric is not None or not can_be_optimised(metric):
            return
        options = metric.options
        self.metric = metric.full_name if self.top is None else metric.name
        if self.gain is None and "gain" in options:
            gain = options["gain"]
            self.gain = str(gain) if isinstance(gain, str) else gain
        if "threshold" in options and self.threshold == 0:
            self.threshold = float(options["threshold"])
        if "max_grade" in options and self.max_grade is None:
            self.max_grade = options["max_grade"]

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        bind_swaps(self.optimised(), labels, layout)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        swaps = bind_swaps(self.optimised(), labels, layout)
        lane_discounts = np.repeat(swaps.discounts.astype(np.float32), LANES)
        return swaps.worth.astype(np.float32), swaps.units, swaps.used, lane_discounts

    def kernel_params(self) -> tuple[Any, ...]:
        metric = self.optimised()
        return (
            FORMS[metric.name],
            _as_places(metric.k),
            self._n_orders(),
            _as_places(self.neighbors),
            metric.name in ACROSS,
            NOISES[self.noise],
            float(self.scale),
            int(self.value_of("random_state")),
        )

    def query_cost(self, sizes: IntArray) -> IntArray:
        cost: IntArray = sizes * (self._n_orders() * 2)
        return cost

    def _n_orders(self) -> int:
        return int(self.permutations) if self.scale > 0 else 1

    def with_weights_at(self, scores: ArrayLike) -> Self:
        twin = copy.copy(self)
        twin._weights_at = np.asarray(scores, dtype=np.float64)
        return twin

    _weights_at: FloatArray | None = None

    def query_losses(
        self, labels: FloatArray, scores: FloatArray, layout: QueryLayout, iteration: int
    ) -> FloatArray:
        swaps = bind_swaps(self.optimised(), labels, layout)
        drawn_at = scores if self._weights_at is None else self._weights_at
        losses = np.zeros(layout.n_queries)
        for query in np.flatnonzero(swaps.used).tolist():
            rows = slice(layout.bounds[query], layout.bounds[query + 1])
            losses[query] = swaps.units[query] * self._loss_of_pairs(
                swaps, swaps.worth[rows], scores[rows], drawn_at[rows], query, iteration
            )
        return losses

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        """Return the loss of one query; of ERR, the largest label is then that of this query."""
        swaps = bind_swaps(self.optimised(), labels, QueryLayout.from_group([len(labels)]))
        if not swaps.used[0]:
            return 0.0
        pairs = self._loss_of_pairs(swaps, swaps.worth, scores, scores, query, iteration)
        return float(swaps.units[0] * pairs)

    def _loss_of_pairs(
        self,
        swaps: Swaps,
        worth: FloatArray,
        scores: FloatArray,
        drawn_at: FloatArray,
        query: int,
        iteration: int,
    ) -> float:
        m, n_orders = len(worth), self._n_orders()
        metric = self.optimised()
        top, neighbors = _as_places(metric.k), _as_places(self.neighbors)
        orders = np.empty((n_orders, m), dtype=np.int64)
        orders_of_query(
            np.ascontiguousarray(drawn_at),
            NOISES[self.noise],
            float(self.scale),
            int(self.value_of("random_state")),
            iteration * n_orders,
            query,
            orders,
        )
        pairs = []
        for apart in range(1, m):
            p = np.arange(min(m - apart, top))
            if metric.name in ACROSS:
                p = p[(p + apart >= top) & (np.abs(2 * p + apart + 1 - 2 * top) < neighbors)]
            if len(p) and (metric.name in ACROSS or apart <= neighbors):
                pairs.append((apart, p))
        total = 0.0
        for order in orders:
            value, s = worth[order], scores[order]
            for apart, p in pairs:
                changes = swap_changes(swaps.form, value, swaps.discounts, apart)[p]
                gap, margin = value[p] - value[p + apart], s[p] - s[p + apart]
                losses = np.logaddexp(0.0, -np.sign(gap) * margin)
                total += float(np.sum(np.abs(gap) * changes * losses))
        return total / n_orders


def _as_places(number: int | float | None) -> int:
    # a sum of two of them is still an integer of 64 bits
    return sys.maxsize // 8 if number is None else min(int(number), sys.maxsize // 8)


register_objective("yetiloss", YetiLoss)
