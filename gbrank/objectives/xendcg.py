"""The cross entropy that bounds NDCG.

Loss of a query with labels r and scores s::

    - sum_i phi_i log rho_i
    phi_i = (2^r_i - gamma_i) / sum_j (2^r_j - gamma_j)
    rho_i = e^s_i / (sum_j e^s_j + eps)

with gamma_i one of

- "uniform": uniform in [0, 1), drawn again for every document at every boosting iteration t;
- "annealed": 1/2 + (u - 1/2) e^(-t/anneal) with such a u, from uniform towards the constant 1/2;
- "tight": the gamma in [0, 1]^m that makes the loss, and so the bound on NDCG that it gives
  (theorem 1), smallest at the current scores. The loss is a ratio of sums that are linear in gamma,
  so gamma_i is 1 where ``-log rho_i`` is above the loss and 0 where it is below, found by
  fixed-point passes (Dinkelbach 1967). The gradient is that of the least loss, which need not be
  convex;
- one constant.

Gradient ``rho - phi``; numerator and hessian: see :mod:`gbrank.objectives._softmax`.

It is a convex bound on (minus, translated, log-transformed) NDCG, and consistent with NDCG when
each query has one fixed label vector or single clicks; in general it is not.

Reference: Bruch, An alternative cross entropy loss for learning-to-rank, The Web Conference 2021,
definition 1 and section 4.3 (eps is that section's epsilon).
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    EXACT_MATH,
    FloatArray,
    QueryLayout,
    check_choice,
    check_number,
    check_seed,
    compute_gains,
    exp,
    kernel,
    random_key,
    random_uniform,
)
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
from gbrank.objectives.base import Objective

# The fixed point is a vertex of the cube and is reached exactly; this many passes have always done.
_TIGHT_PASSES = 50


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
def _tight_target(powers, scores, target):
    """Write ``2^r - gamma`` for the gamma of the least loss, and return its sum.

    Costs are taken without the constant ``log sum e^s``, which all documents share.
    """
    m = len(powers)
    threshold, total = 0.0, 0.0
    for i in range(m):
        target[i] = powers[i] - 0.5
        total += target[i]
        threshold -= target[i] * scores[i]
    threshold /= total
    for _ in range(_TIGHT_PASSES):
        weighted, total = 0.0, 0.0
        for i in range(m):
            target[i] = powers[i] - (1.0 if -scores[i] > threshold else 0.0)
            total += target[i]
            weighted -= target[i] * scores[i]
        if total <= 0.0 or weighted / total >= threshold:
            break
        threshold = weighted / total
    return total


@kernel()
def _drawn_target(powers, middle, spread, seed, iteration, query, target):
    """Write ``2^r - gamma`` and return its sum: gamma is uniform about ``middle``."""
    total = 0.0
    if spread > 0.0:
        low, high = random_key(seed, iteration, query)
        for i in range(len(powers)):
            gamma = middle + spread * (random_uniform(low, high, i) - middle)
            target[i] = powers[i] - gamma
            total += target[i]
    else:
        for i in range(len(powers)):
            target[i] = powers[i] - middle
            total += target[i]
    return total


@kernel()
def _lightgbm_target(powers, seed, iteration, query, target):
    """Write ``2^r - gamma`` and return its sum: gamma is what LightGBM draws."""
    total = 0.0
    state = _lightgbm_state(seed, query, iteration * len(powers))
    for i in range(len(powers)):
        state = np.uint32(np.uint32(state * np.uint32(214013)) + np.uint32(2531011))
        target[i] = powers[i] - np.float64((state >> np.uint32(16)) & np.uint32(0x7FFF)) / 32768.0
        total += target[i]
    return total


# A kernel for each source of gamma: a training compiles the one that it needs. Lists of one
# document have targets too, but nothing to learn.


@kernel()
def _drawn_block(
    first, last, bounds, scores, powers, counts, eps, order, longest_short, seed, middle, spread,
    anneal, iteration, scratch, grad, hess,
):  # fmt: skip
    spread_now = spread * exp(-iteration / anneal)
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if b - a <= longest_short:
            continue
        target = scratch[SOFTMAX_ROWS][: b - a]
        total = _drawn_target(powers[a:b], middle, spread_now, seed, iteration, q, target)
        if counts[q] and total > 0.0:
            softmax_step(scores[a:b], target, total, eps, order, scratch, grad[a:b], hess[a:b])
        else:
            zero_step(grad[a:b], hess[a:b])


@kernel()
def _lightgbm_block(
    first, last, bounds, scores, powers, counts, eps, order, longest_short, seed, iteration,
    scratch, grad, hess,
):  # fmt: skip
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        target = scratch[SOFTMAX_ROWS][: b - a]
        total = _lightgbm_target(powers[a:b], seed, iteration, q, target)
        if counts[q] and total > 0.0:
            softmax_step(scores[a:b], target, total, eps, order, scratch, grad[a:b], hess[a:b])
        else:
            zero_step(grad[a:b], hess[a:b])


@kernel()
def _tight_block(
    first, last, bounds, scores, powers, counts, eps, order, longest_short, iteration, scratch,
    grad, hess,
):  # fmt: skip
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        target = scratch[SOFTMAX_ROWS][: b - a]
        total = _tight_target(powers[a:b], scores[a:b], target)
        if counts[q] and total > 0.0:
            softmax_step(scores[a:b], target, total, eps, order, scratch, grad[a:b], hess[a:b])
        else:
            zero_step(grad[a:b], hess[a:b])


@kernel(part=True)
def _draw_tile(length, queries, sizes, middle, spread, seed, iteration, keys, tile, totals):
    """Subtract gamma from the powers in a tile; write the sums."""
    for lane in range(LANES):
        query = queries[min(lane, len(queries) - 1)]
        keys[lane], keys[LANES + lane] = random_key(seed, iteration, query)
        totals[lane] = 0.0
    first = 0
    for i in range(length):
        row = tile[(DOUBLES * i + 1) * LANES : (DOUBLES * i + 2) * LANES]
        for lane in range(LANES):
            uniform = random_uniform(keys[lane], keys[LANES + lane], i)
            row[lane] -= middle + spread * (uniform - middle)
        while sizes[first] <= i:
            first += 1
        row[:first] = 0.0  # where a list has ended
        for lane in range(LANES):
            totals[lane] += row[lane]


@kernel()
def _short_drawn_block(
    first, last, bounds, scores, powers, counts, eps, order, longest, seed, middle, spread, anneal,
    iteration, scratch, grad, hess,
):  # fmt: skip
    spread_now = spread * exp(-iteration / anneal)
    tile, kept = np.empty(longest * DOUBLES * LANES), np.empty(longest * LANES)
    singles = np.empty(longest * SINGLES * LANES, np.float32)
    lanes, keys = np.empty(LANE_ROWS * LANES), np.empty(2 * LANES, np.uint32)
    queries, ends = np.empty(WINDOW, np.int64), np.empty(longest + 2, np.int64)
    starts, sizes = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for window in range(first, last, WINDOW):
        window_end = min(window + WINDOW, last)
        n_short = by_length(window, window_end, bounds, counts, longest, queries, ends)
        for begin in range(0, n_short, LANES):
            chosen = queries[begin : min(begin + LANES, n_short)]
            length = open_tile(chosen, LANES, bounds, starts, sizes)
            load_tile(scores, starts, sizes, LANES, length, BEYOND, tile, DOUBLES * LANES)
            load_tile(powers, starts, sizes, LANES, length, 0.0, tile[LANES:], DOUBLES * LANES)
            _draw_tile(
                length, chosen, sizes, middle, spread_now, seed, iteration, keys, tile, lanes
            )
            softmax_tile(
                length, len(chosen), starts, sizes, scores, eps, order, tile, lanes, singles,
                kept, scratch, grad, hess,
            )  # fmt: skip
        zero_others(window, window_end, bounds, counts, longest, grad, hess)


class XENDCG(Objective):
    """Cross entropy that bounds NDCG: ``- sum phi_i log softmax(s)_i``, ``phi ~ 2^r - gamma``.

    Parameters
    ----------
    gamma : {"uniform", "annealed", "tight"} or float in [0, 1], default="uniform"
        Drawn per document at every iteration; drawn with less and less spread; chosen so that the
        bound is tightest; or a constant. With 1.0 a query without a relevant document has no target
        and is left out.
    neumann_order : {0, 2, 4}, default=2
        Off-diagonal hessian carried by the gradient; 0 gives the plain gradient, 2 is what
        LightGBM's ``rank_xendcg`` does.
    eps : float, default=0.0
        Weight of a nonexistent document that takes probability from the others.
    random_state : int, default=0
        Seed of gamma; with ``generator="lightgbm"`` it is LightGBM's ``objective_seed``.
    anneal : float, default=50.0
        Iterations in which the spread of an annealed gamma falls by a factor of e.
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

    formula = (
        "`-sum phi_i log rho_i`, `phi_i = (2^r_i - gamma_i) / sum_j (2^r_j - gamma_j)`, `gamma` "
        "uniform in [0, 1), drawn again for each tree"
    )
    consistent_with = (
        "NDCG, if each query has one fixed label vector or single clicks; not in general. A convex "
        "bound on NDCG"
    )
    cost = "`m`"
    when = "the default; cheap, also on long lists"

    longest_short = LONGEST_SHORT
    scratch_rows: ClassVar[int] = SOFTMAX_ROWS + 1
    exact_hessian: ClassVar[bool] = True

    def __init__(
        self,
        gamma: str | float = "uniform",
        neumann_order: int = 2,
        eps: float = 0.0,
        random_state: int = 0,
        generator: str = "counter",
        *,
        anneal: float = 50.0,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.neumann_order = neumann_order
        self.eps = eps
        self.random_state = random_state
        self.generator = generator
        self.anneal = anneal
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def kernel(self) -> Callable[..., None]:
        """The kernel of the source of gamma."""
        if self.gamma == "tight":
            return _tight_block
        return _lightgbm_block if self._draws_as_lightgbm else _drawn_block

    @property
    def short_kernel(self) -> Callable[..., None] | None:  # type: ignore[override]
        """The kernel for short lists, which the rarer sources of gamma do without."""
        return _short_drawn_block if self.kernel is _drawn_block else None

    @property
    def _draws_as_lightgbm(self) -> bool:
        return self.gamma == "uniform" and self.generator == "lightgbm"

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether gamma is drawn."""
        return self.gamma in ("uniform", "annealed")

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether only differences of scores count: not with the extra document of eps."""
        return self.eps == 0

    def check_params(self) -> None:
        if isinstance(self.gamma, str):
            check_choice(
                "gamma", self.gamma, ("uniform", "annealed", "tight"), also="a number in [0, 1]"
            )
        else:
            check_number(
                "gamma", self.gamma, low=0.0, high=1.0, also='"uniform", "annealed" or "tight"'
            )
        check_neumann_order(self.neumann_order)
        check_number("eps", self.eps, low=0.0)
        check_seed(self.random_state)
        check_number("anneal", self.anneal, low=0.0, low_open=True)
        check_choice("generator", self.generator, ("counter", "lightgbm"))

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        compute_gains(labels, "exp", layout)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return compute_gains(labels, "exp", layout) + 1.0, layout.sizes > 1

    def kernel_params(self) -> tuple[Any, ...]:
        shared = (float(self.eps), int(self.neumann_order), self.longest_short)
        if self.gamma == "tight":
            return shared
        if self._draws_as_lightgbm:
            return *shared, int(self.random_state)
        return *shared, int(self.random_state), *self._interval()

    def _interval(self) -> tuple[float, float, float]:
        """Return middle and width of gamma's interval, and the trees in which it shrinks by e."""
        if not isinstance(self.gamma, str):
            return float(self.gamma), 0.0, np.inf
        return 0.5, 1.0, float(self.anneal) if self.gamma == "annealed" else np.inf

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        costs = log_partition(scores, self.eps) - scores
        if len(labels) < 2:
            return 0.0
        if self.gamma == "tight":
            return _least_loss(2.0**labels, costs)
        target = np.empty(len(labels))
        powers, seed = 2.0**labels, int(self.random_state)
        if self._draws_as_lightgbm:
            _lightgbm_target(powers, seed, iteration, query, target)
        else:
            middle, spread, anneal = self._interval()
            spread *= float(np.exp(-iteration / anneal))
            _drawn_target(powers, middle, spread, seed, iteration, query, target)
        return float(target @ costs / target.sum()) if target.sum() > 0 else 0.0

    def plain_gradient(self) -> "XENDCG":
        return type(self)(**{**self.get_params(), "neumann_order": 0})


def _least_loss(powers: FloatArray, costs: FloatArray) -> float:
    """Return the least loss over gamma in [0, 1]^m: the best of all thresholds on the costs."""
    targets = powers[None, :] - (costs[None, :] >= np.append(costs, np.inf)[:, None])
    targets = targets[targets.sum(axis=1) > 0]
    return float((targets @ costs / targets.sum(axis=1)).min())


register_objective("xendcg", XENDCG)
