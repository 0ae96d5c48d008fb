r"""Any objective beside a bias of positions, which is learned while trees grow.

Users click what stands at the top. If rows are lists that were shown, labels are clicks and each
row says at which position it was, then ``s'_i = s_i + b_{position(i)}`` explains the clicks: trees
learn what positions do not, and the bias is no part of what they predict. Per tree, gradients ``g``
and hessians ``h`` of the objective are taken at ``s'``, and afterwards, for each position ``k``
with ``n_k`` rows,

.. math:: b_k \leftarrow b_k + \eta \frac{-\sum g_i - \lambda n_k b_k}
    {|\sum h_i + \lambda n_k| + 0.001}

which is the rule that LightGBM has for its own ``lambdarank``, here for every objective. It takes
for position what is relevance where good documents stand at the top and trees have not explained
them yet. If it is known which rows are the same item, the bias is learned from what differs between
rows of the same item (``_within_items``), where relevance does not.

References
----------
LightGBM, "Support for position bias in lambdarank", 2023; P. Hager, R. Deffayet, J.-M. Renders,
O. Zoeter, M. de Rijke, Unbiased learning to rank meets reality, 2024, on what it does not do.
"""

from typing import Any

import numpy as np

from gbrank.core import Float32Array, FloatArray, IntArray, QueryLayout, check_number
from gbrank.objectives._learned_bias import LearnedBias, LearnsBias
from gbrank.objectives._training import Adjustment, Step
from gbrank.objectives._within_items import ItemsAtPositions
from gbrank.objectives._wrapped import WrappedObjective
from gbrank.objectives.base import Objective


def _base_block(first, last, bounds, scores, step, iteration, scratch, grad, hess):
    step(first, last, bounds, scores, iteration, scratch, grad, hess)


class PositionBias(LearnsBias, WrappedObjective):
    """Any objective, with a bias of each position that is learned beside the trees.

    Positions come with ``lightgbm.Dataset(position=)`` or ``Ranker.fit(position=)``. After training
    ``bias_`` and ``positions_`` are what was learned; predictions are without it.

    Parameters
    ----------
    base : str or Objective
        The objective.
    regularization : float, default=0.0
        L2 penalty on the bias, per row; LightGBM's ``lambdarank_position_bias_regularization``.
    learning_rate : float or "auto", default="auto"
        Share of a Newton step that the bias takes per tree; "auto" for LightGBM's, or 0.1 where
        that is not visible. Whole steps diverge beside softmax losses, as positions share a list.
    items : array of integers, shape (n_rows,), default=None
        Which rows of the Dataset are the same document for the same query: rows with equal numbers.
        The bias is then learned from items that were seen at several positions, as far as there
        are any; without, by LightGBM's rule, which takes relevance for position where good
        documents stand at the top.
    n_jobs : int, default=None
        Threads of a step.

    Attributes
    ----------
    bias_ : array of shape (n_positions,)
        The bias that the last training has learned.
    positions_ : array of shape (n_positions,)
        The positions it is of.
    trainings_ : list
        The same of every training: objects with ``positions`` and ``bias``.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbrank import PositionBias
    >>> rng = np.random.default_rng(0)
    >>> X, position = rng.normal(size=(3000, 2)), np.tile(np.arange(3), 1000)
    >>> clicks = rng.random(3000) < np.array([0.9, 0.45, 0.3])[position]  # whatever is shown
    >>> data = lgb.Dataset(X, clicks, group=[3] * 1000, position=position)
    >>> objective = PositionBias("lambdamart")
    >>> booster = lgb.train({"objective": objective, "verbose": -1}, data, 40)
    >>> bool(objective.bias_[0] > objective.bias_[1] > objective.bias_[2])
    True
    """

    wraps = "base"
    kernel = staticmethod(_base_block)

    def __init__(
        self,
        base: str | Objective,
        regularization: float = 0.0,
        learning_rate: str | float = "auto",
        *,
        items: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__()
        self.base = base
        self.regularization = regularization
        self.learning_rate = learning_rate
        self.items = items
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.uses_random_numbers

    def check_params(self) -> None:
        super().check_params()
        if self.inner.needs_position or self.inner.needs_observations:
            raise ValueError(
                f"base must learn from labels alone, which {type(self.inner).__name__} does not"
            )
        check_number("regularization", self.regularization, low=0.0)
        if self.learning_rate != "auto":
            check_number("learning_rate", self.learning_rate, low=0.0, also='"auto"')

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        return (self.inner.make_step(labels, layout),)

    def make_step_with_positions(
        self, labels: FloatArray, layout: QueryLayout, position: IntArray
    ) -> tuple[Step, Adjustment]:
        positions, places = np.unique(position, return_inverse=True)
        learned = self.new_bias(positions, np.float32)
        penalty: FloatArray = float(self.regularization) * np.bincount(places).astype(np.float64)
        together = None
        if self.items is not None:
            together = ItemsAtPositions(self._items_of(layout), places)
        adjustment = _AdditiveBias(learned, places, penalty, self.rate(), together)
        return self.make_step(labels, layout), adjustment

    def sort_items(self, layout: QueryLayout) -> None:
        """Put items into the order of a Dataset whose rows have been sorted by query.

        Parameters
        ----------
        layout : how they were sorted.
        """
        if self.items is not None:
            self.set_params(items=layout.sort(self._items_of(layout)))

    def _items_of(self, layout: QueryLayout) -> IntArray:
        items = np.asarray(self.items)
        if items.shape != (layout.n_rows,) or items.dtype.kind not in "iu":
            raise ValueError(
                "items must be an array of integers, one per row of the training data: got "
                f"{items.dtype} of shape {items.shape} for {layout.n_rows} rows"
            )
        return items

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        return self.inner.query_loss(labels, scores, query=query, iteration=iteration)


class _AdditiveBias(Adjustment):
    def __init__(
        self,
        learned: LearnedBias,
        places: IntArray,
        penalty: FloatArray,
        rate: float,
        items: ItemsAtPositions | None,
    ) -> None:
        self.learned, self.places, self.penalty, self.rate = learned, places, penalty, rate
        self.items = items

    def before(self, scores: FloatArray) -> FloatArray:
        shifted: FloatArray = scores + self.learned.bias[self.places]
        return shifted

    def after(self, scores: FloatArray, grad: Float32Array, hess: Float32Array) -> None:
        if self.items is not None:
            self.learned.joint_newton_step(
                *self.items.derivatives(grad, hess), self.rate, self.penalty
            )
            return
        n = len(self.penalty)
        gradient: Any = np.bincount(self.places, grad, n)
        hessian: Any = np.bincount(self.places, hess, n)
        self.learned.newton_step(gradient, hessian, self.rate, self.penalty)
