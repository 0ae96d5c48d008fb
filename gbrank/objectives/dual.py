r"""Dual learning: ranker and propensities by one softmax loss, each weighted by the other.

Of a list that was shown, with clicks ``c``, scores ``s`` and a bias ``b`` of each position, and 1
the document at the position that is looked at most,

.. math:: -\sum_i c_i \frac{e^{b_1}}{e^{b_{k(i)}}} \log \mathrm{softmax}(s)_i
    \qquad -\sum_i c_i \frac{e^{s_1}}{e^{s_i}} \log \mathrm{softmax}(b)_{k(i)}

the first is what trees lower, with clicks weighted by inverse propensities, the second what the
bias lowers, by a Newton step per tree, with clicks weighted by inverse relevance. Weights end at
``largest_weight``. The gradient of the first is ``W rho - l``, with ``l`` the weighted clicks and
``W`` their sum, its hessian ``W rho (1 - rho)``.

References
----------
Q. Ai, K. Bi, C. Luo, J. Guo and W. B. Croft, Unbiased learning to rank with unbiased propensity
estimation, 2018.
"""

import numpy as np

from gbrank.core import (
    Float32Array,
    FloatArray,
    IntArray,
    QueryLayout,
    check_number,
    kernel,
)
from gbrank.objectives._learned_bias import LearnedBias, LearnsBias
from gbrank.objectives._training import Adjustment, Step
from gbrank.objectives.click_softmax import ClickSoftmax


@kernel()
def _propensity_block(bounds, scores, labels, places, bias, largest, gradient, hessian):
    """Add up the derivatives of the loss of propensities, by position."""
    for q in range(len(bounds) - 1):
        a, b = bounds[q], bounds[q + 1]
        top, total, highest = a, 0.0, -np.inf
        for i in range(a, b):
            if bias[places[i]] > bias[places[top]]:
                top = i
            highest = max(highest, bias[places[i]])
        for i in range(a, b):
            if labels[i] > 0.0:
                ratio = np.exp(min(scores[top] - scores[i], 700.0))
                total += labels[i] * min(ratio, largest)
        if total <= 0.0 or b - a < 2:
            continue
        mass = 0.0
        for i in range(a, b):
            mass += np.exp(bias[places[i]] - highest)
        for i in range(a, b):
            share = np.exp(bias[places[i]] - highest) / mass
            gradient[places[i]] += total * share
            hessian[places[i]] += total * share * (1.0 - share)
            if labels[i] > 0.0:
                ratio = np.exp(min(scores[top] - scores[i], 700.0))
                gradient[places[i]] -= labels[i] * min(ratio, largest)


class DualSoftmax(LearnsBias, ClickSoftmax):
    """Softmax cross entropy of clicks, weighted by propensities that it learns itself.

    Positions come with ``lightgbm.Dataset(position=)`` or ``Ranker.fit(position=)``; labels are
    clicks. After training ``exp(bias_)`` are the propensities, the largest being 1. Weights of rows
    count in the loss of the trees alone.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        Share of a Newton step that the bias takes per tree; "auto" for LightGBM's, or 0.1 where
        that is not visible.
    largest_weight : float, default=10.0
        The most that a click is weighted by, in either loss.
    n_jobs : int, default=None
        Threads of a step.

    Attributes
    ----------
    bias_, positions_, trainings_ : as of :class:`gbrank.PositionBias`.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbrank import DualSoftmax
    >>> rng = np.random.default_rng(0)
    >>> X, position = rng.normal(size=(3000, 2)), np.tile(np.arange(3), 1000)
    >>> clicks = rng.random(3000) < np.array([0.8, 0.4, 0.2])[position]  # whatever is shown
    >>> data = lgb.Dataset(X, clicks, group=[3] * 1000, position=position)
    >>> objective = DualSoftmax()
    >>> booster = lgb.train({"objective": objective, "verbose": -1}, data, 40)
    >>> np.exp(objective.bias_).round(1)
    array([1. , 0.4, 0.2])
    """

    formula = "`-sum_i c_i w_i log rho_i`, `w` the inverse of propensities that are learned too"
    consistent_with = "the order of relevance, if clicks follow the position-based model"
    cost = "`m`"
    when = "clicks with positions, and no propensities"

    def __init__(
        self,
        learning_rate: str | float = "auto",
        largest_weight: float = 10.0,
        *,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__()
        self.learning_rate = learning_rate
        self.largest_weight = largest_weight
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_number("largest_weight", self.largest_weight, low=1.0)
        if self.learning_rate != "auto":
            check_number("learning_rate", self.learning_rate, low=0.0, also='"auto"')

    def make_step_with_positions(
        self, labels: FloatArray, layout: QueryLayout, position: IntArray
    ) -> tuple[Step, Adjustment]:
        positions, places = np.unique(position, return_inverse=True)
        learned = self.new_bias(positions, np.float64)
        targets = labels.copy()
        dual = _Dual(
            learned, layout, labels, places, targets, self.rate(), float(self.largest_weight)
        )
        return self.make_step(targets, layout), dual


class _Dual(Adjustment):
    """Propensities after each tree, and the clicks that trees are to explain, weighted by them."""

    def __init__(
        self,
        learned: LearnedBias,
        layout: QueryLayout,
        labels: FloatArray,
        places: IntArray,
        targets: FloatArray,
        rate: float,
        largest: float,
    ) -> None:
        self.learned, self.bounds = learned, layout.bounds
        self.labels, self.places, self.targets = labels, places, targets
        self.rate, self.largest = rate, largest

    def after(self, scores: FloatArray, grad: Float32Array, hess: Float32Array) -> None:
        bias = self.learned.bias
        gradient, hessian = np.zeros(len(bias)), np.zeros(len(bias))
        _propensity_block(
            self.bounds, scores, self.labels, self.places, bias, self.largest,
            gradient, hessian,
        )  # fmt: skip
        self.learned.newton_step(gradient, hessian, self.rate, np.zeros(len(bias)))
        bias -= bias.max()
        weights = np.minimum(np.exp(-bias), self.largest)
        # in place: the step of the objective reads them
        np.multiply(self.labels, weights[self.places], out=self.targets)
