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
from typing import Any

import numpy as np

from gbrank.core import (
    EXACT_MATH,
    FloatArray,
    QueryLayout,
    check_choice,
    check_number,
    check_seed,
    compute_gains,
    kernel,
)
from gbrank.objectives._kernels import zero_step
from gbrank.objectives._registry import register_objective
from gbrank.objectives._softmax import (
    SOFTMAX_ROWS,
    SoftmaxObjective,
    check_neumann_order,
    log_partition,
    softmax_step,
)
from gbrank.objectives._softmax_blocks import drawn_block, drawn_target, short_drawn_block

# LightGBM's default of objective_seed
_LIGHTGBM_SEED = 5
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


# A kernel for each source of gamma: a training compiles the one that it needs.


@kernel()
def _tight_block(
    first,
    last,
    bounds,
    scores,
    powers,
    used,
    lost_at,
    _left,
    _longest_short,
    eps,
    order,
    iteration,
    scratch,
    grad,
    hess,
):
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if used[q]:
            target = scratch[SOFTMAX_ROWS]
            total = _tight_target(powers[a:b], scores[a:b], target)
            if total > 0.0:
                softmax_step(
                    scores[a:b], target, total, eps, order, lost_at, q, iteration, scratch,
                    grad[a:b], hess[a:b],
                )  # fmt: skip
                continue
        zero_step(grad[a:b], hess[a:b])


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


@kernel()
def _lightgbm_block(
    first, last, bounds, scores, powers, used, lost_at, _left, _longest_short, eps, order, seed,
    iteration, scratch, grad, hess,
):  # fmt: skip
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if used[q]:
            target = scratch[SOFTMAX_ROWS]
            total = _lightgbm_target(powers[a:b], seed, iteration, q, target)
            softmax_step(
                scores[a:b], target, total, eps, order, lost_at, q, iteration, scratch,
                grad[a:b], hess[a:b],
            )  # fmt: skip
        else:
            zero_step(grad[a:b], hess[a:b])


class XENDCG(SoftmaxObjective):
    """Cross entropy that bounds NDCG: ``- sum phi_i log softmax(s)_i``, ``phi ~ 2^r - gamma``.

    Parameters
    ----------
    gamma : {"uniform", "annealed", "tight"}, float in [0, 1] or callable, default="uniform"
        Drawn per document at every iteration; drawn with less and less spread; chosen so that the
        bound is tightest; a constant; or a function that returns a number in [0, 1] for each label
        of an array. With 1.0 a query without a relevant document has no target
        and is left out.
    neumann_order : {0, 2, 4, "exact"}, default=2
        Off-diagonal hessian carried by the gradient; 0 gives the plain gradient, 2 is what
        LightGBM's ``rank_xendcg`` does, "exact" is Newton's step
        with the full Hessian, of which 2 hardly differs.
    eps : float, default=0.0
        Weight of a nonexistent document that takes probability from the others.
    random_state : int, default=None
        Seed of gamma; with ``generator="lightgbm"`` it is LightGBM's ``objective_seed``. ``None``
        takes the ``objective_seed`` that LightGBM's parameters say or imply, where they are
        visible, else 0; or 5, LightGBM's default, with its generator.
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

    def __init__(
        self,
        gamma: str | float | Callable[[FloatArray], Any] = "uniform",
        neumann_order: int | str = 2,
        eps: float = 0.0,
        random_state: int | None = None,
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

    def value_of(self, name: str) -> Any:
        if name == "random_state" and self.random_state is None and self.generator == "lightgbm":
            return _LIGHTGBM_SEED
        return super().value_of(name)

    @property
    def kernel(self) -> Callable[..., None]:
        """The kernel of the source of gamma."""
        if self.gamma == "tight":
            return _tight_block
        return _lightgbm_block if self._draws_as_lightgbm else drawn_block

    @property
    def short_kernel(self) -> Callable[..., Any] | None:  # type: ignore[override]
        """The kernel for short lists, which rarer forms of the loss do without."""
        usual = self.kernel is drawn_block and self.eps == 0 and self.has_short_form
        return short_drawn_block if usual else None

    @property
    def _draws_as_lightgbm(self) -> bool:
        return self.gamma == "uniform" and self.generator == "lightgbm"

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether gamma is drawn."""
        return isinstance(self.gamma, str) and self.gamma in ("uniform", "annealed")

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether only differences of scores count: not with the extra document of eps."""
        return self.eps == 0

    def check_params(self) -> None:
        if isinstance(self.gamma, str):
            check_choice(
                "gamma", self.gamma, ("uniform", "annealed", "tight"), also="a number in [0, 1]"
            )
        elif not callable(self.gamma):
            check_number(
                "gamma", self.gamma, low=0.0, high=1.0, also='"uniform", "annealed" or "tight"'
            )
        check_neumann_order(self.neumann_order)
        check_number("eps", self.eps, low=0.0)
        if self.neumann_order == "exact" and self.eps > 0:
            raise ValueError(f'neumann_order="exact" goes with eps=0, got eps={self.eps!r}')
        check_seed(self.value_of("random_state"))
        check_number("anneal", self.anneal, low=0.0, low_open=True)
        check_choice("generator", self.generator, ("counter", "lightgbm"))

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        compute_gains(labels, "exp", layout)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        powers = compute_gains(labels, "exp", layout) + 1.0
        own = powers - self._own_gamma(labels)
        return own, *self.query_state(layout.sizes)

    def _own_gamma(self, labels: FloatArray) -> FloatArray | float:
        """Return gamma of a function, which is taken off ``2^r`` once for all; else 0."""
        if isinstance(self.gamma, str) or not callable(self.gamma):
            return 0.0
        values: FloatArray = np.asarray(self.gamma(labels), dtype=np.float64)
        if values.shape != labels.shape or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(
                "gamma must return a number in [0, 1] for each label, but for "
                f"{len(labels)} labels it returned shape {values.shape}, from "
                f"{values.min(initial=np.inf):g} to {values.max(initial=-np.inf):g}"
            )
        return values

    def kernel_params(self) -> tuple[Any, ...]:
        step, seed = (float(self.eps), self.kernel_order()), int(self.value_of("random_state"))
        if self.gamma == "tight":
            return step
        if self._draws_as_lightgbm:
            return *step, seed
        return *step, seed, *self._interval(), 0.0

    def _interval(self) -> tuple[float, float, float]:
        """Return middle and width of gamma's interval, and the trees in which it shrinks by e."""
        if not isinstance(self.gamma, str):
            return 0.0 if callable(self.gamma) else float(self.gamma), 0.0, np.inf
        return 0.5, 1.0, float(self.anneal) if self.gamma == "annealed" else np.inf

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        costs = log_partition(scores, self.eps) - scores
        if len(labels) < 2:
            return 0.0
        if isinstance(self.gamma, str) and self.gamma == "tight":
            return _least_loss(2.0**labels, costs)
        target = np.empty(len(labels))
        seed = int(self.value_of("random_state"))
        if self._draws_as_lightgbm:
            _lightgbm_target(2.0**labels, seed, iteration, query, target)
        else:
            powers = 2.0**labels - self._own_gamma(labels)
            middle, spread, anneal = self._interval()
            spread *= float(np.exp(-iteration / anneal))
            drawn_target(powers, middle, spread, seed, iteration, query, target)
        return float(target @ costs / target.sum()) if target.sum() > 0 else 0.0


def _least_loss(powers: FloatArray, costs: FloatArray) -> float:
    """Return the least loss over gamma in [0, 1]^m: the best of all thresholds on the costs."""
    targets = powers[None, :] - (costs[None, :] >= np.append(costs, np.inf)[:, None])
    targets = targets[targets.sum(axis=1) > 0]
    return float((targets @ costs / targets.sum(axis=1)).min())


register_objective("xendcg", XENDCG)
