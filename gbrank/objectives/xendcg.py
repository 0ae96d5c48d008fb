"""The cross entropy that bounds NDCG.

Loss of a query with labels r and scores s::

    - sum_i phi_i log rho_i
    phi_i = (2^r_i - gamma_i) / sum_j (2^r_j - gamma_j)
    rho_i = e^s_i / (sum_j e^s_j + eps)

with gamma_i uniform in [0, 1), drawn anew for every document at every boosting iteration, or one
constant. Gradient ``rho - phi``; numerator and curvature: see :mod:`gbrank.objectives.softmax`.

It is a convex bound on (minus, translated, log-transformed) NDCG, and consistent with NDCG when
each query has one fixed label vector or single clicks; in general it is not.

Reference: Bruch, An alternative cross entropy loss for learning-to-rank, The Web Conference 2021,
definition 1 and section 4.3 (eps is that section's epsilon).
"""

from typing import Any, ClassVar

import numpy as np

from gbrank._compile import EXACT_MATH, kernel
from gbrank.fastmath import random_key, random_uniform
from gbrank.gains import compute_gains
from gbrank.layout import FloatArray, IntArray, QueryLayout
from gbrank.objectives.base import Float32Array, Objective
from gbrank.objectives.params import check_choice, check_number, check_seed
from gbrank.objectives.softmax import (
    SOFTMAX_ROWS,
    check_neumann_order,
    log_partition,
    softmax_step,
    zero_step,
)

_CONSTANT, _COUNTER, _LIGHTGBM = 0, 1, 2


@kernel(EXACT_MATH)
def _lightgbm_state(seed, query, steps):
    """Return LightGBM's generator for one query after ``steps`` draws, in log(steps) operations."""
    multiplier, increment = np.uint32(214013), np.uint32(2531011)
    total_multiplier, total_increment = np.uint32(1), np.uint32(0)
    remaining = steps
    while remaining > 0:
        if remaining & 1:
            total_multiplier = np.uint32(total_multiplier * multiplier)
            total_increment = np.uint32(total_increment * multiplier + increment)
        increment = np.uint32(np.uint32(multiplier + np.uint32(1)) * increment)
        multiplier = np.uint32(multiplier * multiplier)
        remaining >>= 1
    return np.uint32(total_multiplier * np.uint32(seed + query) + total_increment)


@kernel()
def _draw_target(powers, source, gamma, seed, iteration, query, target):
    """Write ``2^r - gamma`` of one query and return its sum."""
    m = len(powers)
    total = 0.0
    if source == _COUNTER:
        low, high = random_key(seed, iteration, query)
        for i in range(m):
            target[i] = powers[i] - random_uniform(low, high, i)
            total += target[i]
    elif source == _CONSTANT:
        for i in range(m):
            target[i] = powers[i] - gamma
            total += target[i]
    else:
        state = _lightgbm_state(seed, query, iteration * m)
        for i in range(m):
            state = np.uint32(np.uint32(state * np.uint32(214013)) + np.uint32(2531011))
            target[i] = (
                powers[i] - np.float64((state >> np.uint32(16)) & np.uint32(0x7FFF)) / 32768.0
            )
            total += target[i]
    return total


@kernel()
def _xendcg_block(
    first,
    last,
    bounds,
    scores,
    powers,
    source,
    gamma,
    eps,
    order,
    seed,
    iteration,
    scratch,
    grad,
    hess,
):
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if b - a > 1:
            target = scratch[SOFTMAX_ROWS][: b - a]
            total = _draw_target(powers[a:b], source, gamma, seed, iteration, q, target)
            if total > 0.0:
                softmax_step(scores[a:b], target, total, eps, order, scratch, grad[a:b], hess[a:b])
                continue
        zero_step(grad[a:b], hess[a:b])


class XENDCG(Objective):
    """Cross entropy that bounds NDCG: ``- sum phi_i log softmax(s)_i``, ``phi ~ 2^r - gamma``.

    Parameters
    ----------
    gamma : "uniform" or float in [0, 1], default="uniform"
        Drawn per document at every iteration, or a constant. With 1.0 a query without a relevant
        document has no target and is left out.
    neumann_order : {0, 2, 4}, default=2
        Off-diagonal curvature carried by the gradient; 0 gives the plain gradient, 2 is what
        LightGBM's ``rank_xendcg`` does.
    eps : float, default=0.0
        Weight of a nonexistent document that takes probability from the others.
    random_state : int, default=0
        Seed of gamma; with ``generator="lightgbm"`` it is LightGBM's ``objective_seed``.
    generator : {"counter", "lightgbm"}, default="counter"
        "lightgbm" draws the numbers of LightGBM's C++, so that training equals ``rank_xendcg``.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank, The Web Conference 2021.

    Examples
    --------
    >>> from gbrank import XENDCG
    >>> grad, hess = XENDCG(gamma=0.0).grad_hess([2, 0], [0.0, 0.0], group=[2])
    >>> grad, hess  # rho - phi = 1/2 - 4/5, carried through two orders; rho (1 - rho)
    (array([-0.3,  0.3], dtype=float32), array([0.25, 0.25], dtype=float32))
    """

    scratch_rows: ClassVar[int] = SOFTMAX_ROWS + 1
    exact_curvature: ClassVar[bool] = True

    def __init__(
        self,
        gamma: str | float = "uniform",
        neumann_order: int = 2,
        eps: float = 0.0,
        random_state: int = 0,
        generator: str = "counter",
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.neumann_order = neumann_order
        self.eps = eps
        self.random_state = random_state
        self.generator = generator
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether gamma is drawn."""
        return isinstance(self.gamma, str)

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether only differences of scores count: not with the extra document of eps."""
        return self.eps == 0

    def check_params(self) -> None:
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("uniform",), also="a number in [0, 1]")
        else:
            check_number("gamma", self.gamma, low=0.0, high=1.0, also='"uniform"')
        check_neumann_order(self.neumann_order)
        check_number("eps", self.eps, low=0.0)
        check_seed(self.random_state)
        check_choice("generator", self.generator, ("counter", "lightgbm"))

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        compute_gains(labels, "exp", layout)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return (compute_gains(labels, "exp", layout) + 1.0, *self._gamma_source())

    def _gamma_source(self) -> tuple[int, float]:
        if not isinstance(self.gamma, str):
            return _CONSTANT, float(self.gamma)
        return (_COUNTER if self.generator == "counter" else _LIGHTGBM), 0.0

    def step(
        self,
        first: int,
        last: int,
        bounds: IntArray,
        scores: FloatArray,
        prepared: tuple[Any, ...],
        iteration: int,
        scratch: FloatArray,
        grad: Float32Array,
        hess: Float32Array,
    ) -> None:
        _xendcg_block(
            first,
            last,
            bounds,
            scores,
            *prepared,
            float(self.eps),
            self.neumann_order,
            self.random_state,
            iteration,
            scratch,
            grad,
            hess,
        )

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        target = np.empty(len(labels))
        total = _draw_target(
            2.0**labels, *self._gamma_source(), self.random_state, iteration, query, target
        )
        if len(labels) < 2 or total <= 0:
            return 0.0
        phi = target / target.sum()
        return float(phi @ (log_partition(scores, self.eps) - scores))

    def plain_gradient(self) -> "XENDCG":
        return type(self)(**{**self.get_params(), "neumann_order": 0})
