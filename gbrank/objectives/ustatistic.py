r"""Aggregation before learning: consistent training from comparisons, clicks and partial orders.

Of the observations :math:`Y_1, \dots, Y_{n_q}` of a query, k are drawn without replacement and
aggregated into one score per document, :math:`s(Y_{i_1}, \dots, Y_{i_k})`; these scores, counted
from the lowest of the query, are the labels of a listwise objective :math:`\varphi`. Drawn again at
every boosting iteration, gradients are in expectation those of the U-statistic of order k

.. math:: \frac{1}{n} \sum_q n_q \binom{n_q}{k}^{-1} \sum_{i_1 < \dots < i_k}
          \varphi\bigl(f(q), s(Y_{i_1}, \dots, Y_{i_k})\bigr),

here times the number of queries, so that a query counts 1 in the mean. A query with fewer than k
observations uses all of them, and ``order=None`` is complete aggregation of every query.

Losses on single comparisons are not consistent even when there is little noise; a loss that is
consistent for complete data, such as :class:`~gbrank.Squared`, on aggregates of growing order is.

The random numbers are functions of seed, iteration and query: gradients are the same for any number
of threads and after a restart.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
sections 4 to 6, equations 17 to 19 and 28.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    FloatArray,
    QueryLayout,
    check_choice,
    check_integer,
    check_seed,
    kernel,
)
from gbrank.objectives._drawn_labels import DrawnLabels
from gbrank.objectives._observed import bind_observations, check_observations, query_weights
from gbrank.objectives._registry import register_objective
from gbrank.objectives._wrapped import WrappedObjective
from gbrank.objectives.base import Objective
from gbrank.preferences import aggregation_order, get_method


@kernel()
def _scale_queries(first, last, bounds, weights, grad, hess):
    for q in range(first, last):
        weight = np.float32(weights[q])
        for row in range(bounds[q], bounds[q + 1]):
            grad[row] *= weight
            hess[row] *= weight


def _ustatistic_block(
    first, last, bounds, scores, base, weights, step, drawn_labels, iteration, scratch, grad, hess
):
    if step is not None:
        step(first, last, bounds, scores, iteration, scratch, grad, hess)
    else:
        labels = drawn_labels.run(first, last, iteration)
        rows = slice(bounds[first], bounds[last])
        # queries before the first are empty here, so that all others keep their numbers, on which
        # random numbers of the base depend
        own = np.zeros(last + 1, dtype=np.int64)
        own[first:] = bounds[first : last + 1] - bounds[first]
        step = base.make_step(labels, QueryLayout(own))
        step(first, last, own, scores[rows], iteration, scratch, grad[rows], hess[rows])
    _scale_queries(first, last, bounds, weights, grad, hess)


class UStatistic(WrappedObjective):
    """A listwise objective on labels that are aggregated from preferences.

    Every boosting iteration draws ``order`` observations of each query without replacement,
    aggregates them into one score per document and hands these, counted from the query's lowest, as
    labels to ``base``. A query counts ``Q n_q / n``, where it has n_q of n observations (by weight)
    and Q is the number of queries; one without observations is left out. The labels of the data set
    are not used: they may be zeros.

    Parameters
    ----------
    observations : Comparisons, Selections, PartialOrders or "labels", default=None
        What was preferred: see :mod:`gbrank.preferences`. Rows are those of the data set, or, in
        :class:`gbrank.Ranker`, those of X. "labels" takes the labels of each query as one partial
        order of its documents. ``None`` must be replaced before training, as
        ``Ranker.fit(preferences=)`` does.
    base : str or Objective, default="qnorm"
        The listwise objective, by name or as an instance. "qnorm" is consistent with NDCG, and the
        best of seven on comparisons drawn from three sets of real data, with "kl",
        "bregman_logistic" and "gain_pairwise" close behind; "squared", which the paper has, is far
        behind, because it learns the level of each query too (``Squared(center=True)`` does not).
    order : int >= 1 or "auto", default=None
        How many observations are drawn; ``None`` aggregates all of them, once; "auto" takes
        :func:`gbrank.preferences.aggregation_order` of the number of all observations.
    method : str, default="log_odds"
        How observations become scores: a name of :data:`gbrank.preferences.METHODS`.
    random_state : int, default=None
        Seed of the draws.
        ``None`` takes the ``objective_seed`` that LightGBM's parameters say or imply, where they
        are visible, else 0.
    method_params : dict, default=None
        Parameters of the method, such as ``{"smoothing": 1.0}``; ``None`` for its defaults.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013.

    Examples
    --------
    >>> from gbrank import UStatistic
    >>> from gbrank.preferences import Comparisons
    >>> comparisons = Comparisons(None, winner=[0, 0, 2], loser=[1, 1, 1])
    >>> objective = UStatistic(comparisons)
    >>> objective
    UStatistic(observations=Comparisons(n=3))
    >>> grad, hess = objective.grad_hess([0, 0, 0], [0.0, 0.0, 0.0], group=[3])
    >>> grad.argsort().tolist()  # the most negative gradient belongs to the best document
    [0, 2, 1]
    """

    formula = (
        "any other loss, on labels aggregated from `k` observed preferences drawn again for each "
        "tree"
    )
    consistent_with = "what its base is, as `k` grows with the number of observations"
    cost = "its base, and `k`"
    when = "comparisons and clicks instead of labels"

    kernel = staticmethod(_ustatistic_block)
    wraps: ClassVar[str] = "base"
    needs_observations: ClassVar[bool] = True

    def __init__(
        self,
        observations: Any = None,
        *,
        base: str | Objective = "qnorm",
        order: int | str | None = None,
        method: str = "log_odds",
        random_state: int | None = None,
        method_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.observations = observations
        self.base = base
        self.order = order
        self.method = method
        self.random_state = random_state
        self.method_params = method_params
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether anything is drawn: observations, or what the base draws."""
        drawn = self.order is not None and not isinstance(self.observations, str)
        return drawn or self.inner.uses_random_numbers

    def check_params(self) -> None:
        check_observations(self.observations)
        super().check_params()
        base = self.inner
        if base.needs_observations or getattr(base, "observations", None) is not None:
            raise ValueError(f"base must be an objective that learns from labels, got {base!r}")
        gain = getattr(base, "gain", None)
        if not (gain is None or isinstance(gain, str) or callable(gain)):
            raise ValueError(
                "base must have a gain for fractional labels, which aggregates are, but its gain "
                f"is a table: {gain!r}"
            )
        if isinstance(self.order, str):
            check_choice("order", self.order, ("auto",), also="an integer >= 1 or None")
        elif self.order is not None:
            check_integer("order", self.order, low=1, also='"auto" or None')
        get_method(self.method).read_parameters(**self._method_params())
        check_seed(self.value_of("random_state"))

    def _method_params(self) -> dict[str, Any]:
        if self.method_params is None:
            return {}
        if not isinstance(self.method_params, Mapping):
            raise TypeError(f"method_params must be a dict or None, got {self.method_params!r}")
        return dict(self.method_params)

    def fill_in(self, said: Mapping[str, Any]) -> None:
        # the base's labels are aggregates, for which LightGBM's table of gains has no entries
        super().fill_in({name: value for name, value in said.items() if name != "label_gain"})

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        if self.observations is None:
            bind_observations(None, labels, layout, type(self).__name__)

    def _drawn_labels(self, labels: FloatArray, layout: QueryLayout) -> DrawnLabels:
        bound = bind_observations(self.observations, labels, layout, type(self).__name__)
        method = get_method(self.method)
        numbers = method.read_parameters(**self._method_params())
        order = self.order
        if isinstance(order, str):
            order = aggregation_order(max(1, len(bound.observation_weight)))
        drawn = None if order is None else int(order)
        return DrawnLabels(bound, method, numbers, drawn, int(self.value_of("random_state")))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        base, drawn_labels = self.inner, self._drawn_labels(labels, layout)
        step = None
        if not drawn_labels.draws:  # the labels of all iterations are the same
            step = base.make_step(drawn_labels.run(0, layout.n_queries, 0), layout)
        return base, query_weights(drawn_labels.bound), step, drawn_labels

    def query_losses(
        self, labels: FloatArray, scores: FloatArray, layout: QueryLayout, iteration: int
    ) -> FloatArray:
        """Return the base's loss of every query on the labels of this iteration, weighted."""
        drawn_labels = self._drawn_labels(labels, layout)
        drawn = drawn_labels.run(0, layout.n_queries, iteration)
        self.inner.check_labels(drawn, layout)
        of_base = self.inner.query_losses(drawn, scores, layout, iteration)
        weighted: FloatArray = query_weights(drawn_labels.bound) * of_base
        return weighted


register_objective("ustatistic", UStatistic)
