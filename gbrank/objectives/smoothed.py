r"""Smoothing: any objective at scores that carry noise, drawn again at every iteration.

With :math:`z` noise of a fixed distribution, the loss of a query becomes

.. math:: E_z \, \ell(s + \sigma z) \approx \frac{1}{S} \sum_{j=1}^{S} \ell(s + \sigma z_j),

the gradient being the mean of those at the noisy scores. The hessian is the mean of those too, of
the form that bounds every step where a loss has one (:meth:`Objective.bounded`): noise makes the
exact one of a softmax all but zero. Noise that is drawn again for every tree makes boosting a
stochastic approximation, which settles only if its steps shrink (Robbins and Monro): at iteration
:math:`t` the hessian is multiplied by :math:`1 + t / (30 S)`. Lists that are all but tied are
then seen in many orders instead of one, so that a gradient that depends on the order, such as
LambdaMART's, does not jump, and single labels weigh less. It is the idea behind YetiRank (logistic
noise) and StochasticRank (normal noise). For Gumbel noise of scale 1 the order of noisy scores
follows the Plackett-Luce model of the scores themselves.

References: Gulin, Kuralenok, Pavlov, Winning the transfer learning track of Yahoo!'s learning to
rank challenge with YetiRank, 2011; Ustimenko, Prokhorenkova, StochasticRank, ICML 2020; Yellott,
The relationship between Luce's choice axiom, Thurstone's theory of comparative judgment, and the
double exponential distribution, 1977; Robbins, Monro, A stochastic approximation method, 1951.
"""

from typing import Any

import numpy as np

from gbrank.core import (
    EXACT_MATH,
    FloatArray,
    QueryLayout,
    check_choice,
    check_integer,
    check_number,
    check_seed,
    kernel,
    random_key,
)
from gbrank.objectives._noise import NOISES, draw_noise
from gbrank.objectives._registry import register_objective
from gbrank.objectives._wrapped import WrappedObjective
from gbrank.objectives.base import Objective

# A stream of its own: the wrapped objective may have the same seed.
_STREAM = 0x5A007
# Iterations, for each sample, after which steps are half as long.
_HALVED_AFTER = 30.0


@kernel(EXACT_MATH)
def _add_noise(first, last, bounds, scores, scale, kind, seed, draw, noisy):
    for q in range(first, last):
        low, high = random_key(seed + _STREAM, draw, q)
        for i in range(bounds[q], bounds[q + 1]):
            noisy[i] = scores[i] + scale * draw_noise(kind, low, high, i - bounds[q])


@kernel()
def _add_share(start, stop, share, growth, one_grad, one_hess, grad, hess):
    for i in range(start, stop):
        grad[i] += share * one_grad[i]
        hess[i] += share * growth * one_hess[i]


@kernel()
def _multiply(start, stop, factor, values):
    for i in range(start, stop):
        values[i] *= factor


def _smoothed_block(
    first, last, bounds, scores, step, noisy, one_grad, one_hess, scale, samples, kind, seed,
    iteration, scratch, grad, hess,
):  # fmt: skip
    start, stop = bounds[first], bounds[last]
    growth = np.float32(1.0 + iteration / (_HALVED_AFTER * samples) if scale > 0.0 else 1.0)
    if samples > 1:
        grad[start:stop] = 0.0
        hess[start:stop] = 0.0
    else:
        one_grad, one_hess = grad, hess
    for sample in range(samples):
        draw = iteration * samples + sample
        _add_noise(first, last, bounds, scores, scale, kind, seed, draw, noisy)
        step(first, last, bounds, noisy, draw, scratch, one_grad, one_hess)
        if samples > 1:
            share = np.float32(1.0 / samples)
            _add_share(start, stop, share, growth, one_grad, one_hess, grad, hess)
        elif growth != 1.0:
            _multiply(start, stop, growth, hess)


class Smoothed(WrappedObjective):
    """Any objective at scores with noise, averaged over samples.

    Parameters
    ----------
    objective : str or Objective, default="xendcg"
        The objective to smooth.
    scale : float, default=1.0
        Factor of the noise; 0 leaves the objective as it is.
    samples : int, default=1
        Number of draws whose gradients are averaged; a step costs as many steps.
    noise : {"gumbel", "logistic", "normal"}, default="gumbel"
        Distribution of the noise, of scale 1.
    random_state : int, default=None
        Seed of the noise.
        ``None`` takes the ``objective_seed`` that LightGBM's parameters say or imply, where they
        are visible, else 0.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    Examples
    --------
    >>> from gbrank import LambdaMART, Smoothed
    >>> objective = Smoothed(LambdaMART(), scale=0.5, samples=4)
    >>> grad, hess = objective.grad_hess([2, 0, 1], [0.1, 0.0, 0.0], group=[3])
    >>> bool(grad[0] < 0)
    True
    """

    formula = (
        "`E_z loss(s + scale z)` of any other objective, `z` Gumbel, logistic or normal noise, "
        "drawn again for each tree"
    )
    consistent_with = "what the other is, up to the noise"
    cost = "`samples` times the other's"
    when = "noisy labels, and gradients that jump with the order"

    kernel = staticmethod(_smoothed_block)

    def __init__(
        self,
        objective: str | Objective = "xendcg",
        scale: float = 1.0,
        samples: int = 1,
        noise: str = "gumbel",
        random_state: int | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.objective = objective
        self.scale = scale
        self.samples = samples
        self.noise = noise
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether anything is drawn: noise, or what the wrapped objective draws."""
        return self.scale > 0 or self.inner.uses_random_numbers

    @property
    def exact_hessian(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective without noise; with noise steps are bounded and shrink."""
        return self.scale == 0 and self.inner.exact_hessian

    def check_params(self) -> None:
        super().check_params()
        check_number("scale", self.scale, low=0.0)
        check_integer("samples", self.samples, low=1)
        check_choice("noise", self.noise, tuple(NOISES))
        check_seed(self.value_of("random_state"))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        one = np.empty((2, layout.n_rows if self.samples > 1 else 0), dtype=np.float32)
        inner = self.inner.bounded() if self.scale > 0 else self.inner
        return inner.make_step(labels, layout), np.empty(layout.n_rows), one[0], one[1]

    def kernel_params(self) -> tuple[Any, ...]:
        kind, seed = NOISES[self.noise], int(self.value_of("random_state"))
        return float(self.scale), int(self.samples), kind, seed

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        total, bounds = 0.0, np.array([0, len(scores)])
        for sample in range(self.samples):
            draw = iteration * self.samples + sample
            low, high = random_key(self.value_of("random_state") + _STREAM, draw, query)
            kind = NOISES[self.noise]
            noise = np.array([draw_noise(kind, low, high, i) for i in range(bounds[1])])
            noisy = scores + self.scale * noise
            total += self.inner.query_loss(labels, noisy, query=query, iteration=draw)
        return total / self.samples


register_objective("smoothed", Smoothed)
