"""The bias of positions that trainings have learned, where the user's objective can find it.

LightGBM trains with copies of an objective. The copies share one record, to which each training
adds an entry of its own.
"""

from typing import Any, ClassVar

import numpy as np

from gbrank.core import FloatArray, IntArray
from gbrank.objectives.base import Objective

#: Added to the sum of hessians, as LightGBM does.
_FLOOR = 0.001


class LearnedBias:
    """The bias of each position, in one training.

    Attributes
    ----------
    positions : the positions, as the Dataset has them.
    bias : what the score of a position is higher by, tree after tree.
    """

    def __init__(self, positions: IntArray, dtype: Any) -> None:
        self.positions = positions
        self.bias = np.zeros(len(positions), dtype=dtype)

    def newton_step(
        self, gradient: FloatArray, hessian: FloatArray, rate: float, penalty: FloatArray
    ) -> None:
        """Move against the sum of gradients of each position, as LightGBM's lambdarank does.

        Parameters
        ----------
        gradient, hessian : sums over the rows of each position.
        rate : share of the step that is taken.
        penalty : L2 penalty of each position.
        """
        downhill = -gradient - penalty * self.bias
        self.bias += (rate * downhill / (np.abs(hessian + penalty) + _FLOOR)).astype(
            self.bias.dtype
        )

    def joint_newton_step(
        self, gradient: FloatArray, hessian: FloatArray, rate: float, penalty: FloatArray
    ) -> None:
        """Move all positions together.

        Parameters
        ----------
        gradient : of each position.
        hessian : a matrix, of all pairs of positions; constants may cost nothing.
        rate, penalty : as in :meth:`newton_step`.
        """
        downhill = -gradient - penalty * self.bias
        step = np.linalg.solve(hessian + np.diag(penalty + _FLOOR), downhill)
        # what all positions share is as good in the trees
        self.bias += (rate * (step - step.mean())).astype(self.bias.dtype)


class LearnsBias(Objective):
    """An objective that learns a bias of positions while trees grow."""

    needs_position: ClassVar[bool] = True
    learning_rate: str | float

    def __init__(self) -> None:
        # not a parameter: copies of a training share it, clones have their own
        self._record: list[LearnedBias] = []

    @property
    def trainings_(self) -> list[LearnedBias]:
        """What each training has learned, in the order in which they began."""
        return list(self._record)

    @property
    def positions_(self) -> IntArray:
        """The positions of the last training.

        LightGBM numbers positions by first appearance in the Dataset: so do these. Of a Ranker they
        are what was given to ``fit``.
        """
        return self._last().positions

    @property
    def bias_(self) -> FloatArray:
        """The bias of each of these positions that the last training has learned."""
        return self._last().bias.astype(np.float64)

    def _last(self) -> LearnedBias:
        if not self._record:
            raise AttributeError(
                f"this {type(self).__name__} has learned no bias yet: it must be trained first"
            )
        return self._record[-1]

    def bias_by_position(self, position: IntArray) -> tuple[IntArray, FloatArray]:
        """Return positions, in order, and the bias that the last training has learned of each.

        Parameters
        ----------
        position : of the rows of the Dataset, in their order: LightGBM numbers them by first
            appearance.
        """
        values, first = np.unique(position, return_index=True)
        number = np.empty(len(values), dtype=np.int64)
        number[np.argsort(first)] = np.arange(len(values))
        return values, self.bias_[number]

    def new_bias(self, positions: IntArray, dtype: Any) -> LearnedBias:
        """Return the entry of a new training.

        Parameters
        ----------
        positions : the distinct positions.
        dtype : of the bias.
        """
        entry = LearnedBias(positions, dtype)
        self._record.append(entry)
        return entry

    def rate(self) -> float:
        """Return the learning rate that a number, or "auto" without LightGBM's, stands for."""
        return 0.1 if isinstance(self.learning_rate, str) else float(self.learning_rate)

    def with_lightgbm_params(self, params: Any) -> Any:
        twin = super().with_lightgbm_params(params)
        if twin.learning_rate == "auto":
            for name in ("learning_rate", "shrinkage_rate", "eta"):
                if params.get(name) is not None:
                    twin.learning_rate = float(params[name])
                    break
        return twin
