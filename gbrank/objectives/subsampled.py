r"""Subsampling by query: every tree sees some of the queries, each of them whole.

Row subsampling tears lists apart, and LightGBM's own ``bagging_by_query`` pairs gradients with the
wrong rows when the objective is a callable. Here queries are dropped where gradients are made: a
query :math:`q` is kept at an iteration :math:`t` if :math:`u(t, q) <` ``fraction``, with :math:`u`
uniform and a function of seed, iteration and query alone; the gradients and hessians of all rows
of a dropped query are 0, so that they move neither splits nor leaf values. They still count as rows
in ``min_data_in_leaf``.
"""

from typing import Any

from gbrank.core import (
    FloatArray,
    QueryLayout,
    check_number,
    check_seed,
    kernel,
    random_key,
    random_uniform,
)
from gbrank.objectives._wrapped import WrappedObjective
from gbrank.objectives.base import Objective

# A stream of its own: the wrapped objective may have the same seed.
_STREAM = 0x51BEEF


@kernel()
def _is_kept(fraction, seed, iteration, query):
    low, high = random_key(seed + _STREAM, iteration, query)
    return random_uniform(low, high, 0) < fraction


@kernel()
def _zero_dropped(first, last, bounds, fraction, seed, iteration, grad, hess):
    for q in range(first, last):
        if not _is_kept(fraction, seed, iteration, q):
            grad[bounds[q] : bounds[q + 1]] = 0.0
            hess[bounds[q] : bounds[q + 1]] = 0.0


def _subsampled_block(
    first, last, bounds, scores, step, fraction, seed, iteration, scratch, grad, hess
):
    step(first, last, bounds, scores, iteration, scratch, grad, hess)
    _zero_dropped(first, last, bounds, fraction, seed, iteration, grad, hess)


class QuerySubsampled(WrappedObjective):
    """Any objective, on a part of the queries that is drawn again for each tree.

    Parameters
    ----------
    objective : str or Objective
        The objective of the queries that are kept.
    fraction : float in (0, 1], default=0.5
        Probability of a query to be kept.
    random_state : int, default=None
        Seed of the draws.
        ``None`` takes the ``objective_seed`` that LightGBM's parameters say or imply, where they
        are visible, else 0.
    n_jobs : int, default=None
        Threads of a step.

    Examples
    --------
    >>> from gbrank import QuerySubsampled, Squared
    >>> objective = QuerySubsampled(Squared(), fraction=0.5)
    >>> grad, hess = objective.grad_hess([1, 0] * 4, [0.0] * 8, group=[2] * 4)
    >>> hess.reshape(4, 2)[:, 0]  # two of the four queries are dropped in this iteration
    array([..., dtype=float32)
    """

    kernel = staticmethod(_subsampled_block)

    def __init__(
        self,
        objective: str | Objective,
        fraction: float = 0.5,
        random_state: int | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.objective = objective
        self.fraction = fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether anything is drawn: queries, or what the wrapped objective draws."""
        return self.fraction < 1 or self.inner.uses_random_numbers

    def check_params(self) -> None:
        super().check_params()
        check_number("fraction", self.fraction, low=0.0, high=1.0, low_open=True)
        check_seed(self.value_of("random_state"))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return (self.inner.make_step(labels, layout),)

    def kernel_params(self) -> tuple[Any, ...]:
        return float(self.fraction), int(self.value_of("random_state"))

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        if not _is_kept(float(self.fraction), int(self.value_of("random_state")), iteration, query):
            return 0.0
        return self.inner.query_loss(labels, scores, query=query, iteration=iteration)
