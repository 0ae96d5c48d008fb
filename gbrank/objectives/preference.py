"""Logistic loss of the averaged difference graph: pairwise, and consistent all the same.

With ``a_ij`` the average, over the observations of a query, of how much they prefer i to j::

    sum_ij [a_ij - a_ji]_+ log(1 + e^-(s_i - s_j))

Of the two directions of a pair only the one that prevails counts, with its lead. That is what the
sum over single comparisons lacks (:class:`~gbrank.PairwiseLogistic` with ``observations=``), whose
minimiser can be in another order than the preferences of the population even when these have no
cycles and little noise: see :func:`gbrank.theory.check_preferences`.

Queries are weighted by ``Q n_q / n``, as in equation 17. Each pair adds its weight times
``-p`` to the gradient of i and ``p max(1 - p, 1/5)`` to both hessians, where
``p = 1 / (1 + e^(s_i - s_j))``: see :mod:`gbrank.objectives._pairs`.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
section 5.3, equation 23.
"""

from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, QueryLayout
from gbrank.objectives._observed import (
    bind_observations,
    check_observations,
    observed_totals,
    query_weights,
)
from gbrank.objectives._observed_pairs import (
    Pairs,
    merge_pairs,
    observed_pairs_block,
    observed_pairs_loss,
)
from gbrank.objectives._registry import register_objective
from gbrank.objectives.base import Objective
from gbrank.preferences import BoundObservations


def difference_pairs(bound: BoundObservations) -> Pairs:
    """Return the pairs of each query with ``[a_ij - a_ji]_+`` times the weight of the query."""
    pair_bounds, first, second, wins, losses = merge_pairs(bound)
    totals = observed_totals(bound)
    scale = query_weights(bound) / np.where(totals > 0, totals, 1.0)
    lead = (wins - losses) * np.repeat(scale, np.diff(pair_bounds))
    decided = lead != 0.0
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(decided)))
    lead = lead[decided]
    return (
        before[pair_bounds],
        first[decided],
        second[decided],
        np.maximum(lead, 0.0),
        np.maximum(-lead, 0.0),
    )


class PreferenceLogistic(Objective):
    """Logistic loss of averaged preferences: ``sum_ij [a_ij - a_ji]_+ log(1 + e^-(s_i - s_j))``.

    ``a_ij`` is the mean, by weight, of how much the observations of a query prefer i to j. A query
    counts ``Q n_q / n``, where it has n_q of n observations (by weight) and Q is the number of
    queries. The labels of the data set are not used: they may be zeros.

    Parameters
    ----------
    observations : Comparisons, Selections, PartialOrders or "labels", default=None
        What was preferred: see :class:`gbrank.UStatistic`. ``None`` must be replaced before
        training, as ``Ranker.fit(preferences=)`` does.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013.

    Examples
    --------
    >>> from gbrank import PreferenceLogistic
    >>> from gbrank.preferences import Comparisons
    >>> comparisons = Comparisons(None, winner=[0, 0, 1, 0], loser=[1, 1, 0, 2])
    >>> grad, hess = PreferenceLogistic(comparisons).grad_hess([0, 0, 0], [0.0] * 3, group=[3])
    >>> grad  # 0 leads by 1/4 over 1 and over 2; each times 1/2
    array([-0.25 ,  0.125,  0.125], dtype=float32)
    """

    formula = (
        "`sum_ij [a_ij - a_ji]_+ log(1 + exp(-(s_i - s_j)))`, `a` the average of observed "
        "preferences"
    )
    consistent_with = "the pairwise risk, where average preferences have no cycles"
    cost = "pairs ever compared"
    when = "comparisons and clicks instead of labels"

    kernel = staticmethod(observed_pairs_block)
    needs_observations: ClassVar[bool] = True
    scratch_rows: ClassVar[int] = 2

    def __init__(self, observations: Any = None, *, n_jobs: int | None = None) -> None:
        self.observations = observations
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_observations(self.observations)

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        if self.observations is None:
            bind_observations(None, labels, layout, type(self).__name__)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return difference_pairs(
            bind_observations(self.observations, labels, layout, type(self).__name__)
        )

    def query_losses(
        self, labels: FloatArray, scores: FloatArray, layout: QueryLayout, iteration: int
    ) -> FloatArray:
        return observed_pairs_loss(scores, layout.bounds, self.prepare(labels, layout))


register_objective("preference_logistic", PreferenceLogistic)
