"""What objectives share that change another objective: they are what that one is."""

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

from gbrank.core import FloatArray, IntArray, QueryLayout
from gbrank.objectives._registry import get_objective
from gbrank.objectives.base import Objective


class WrappedObjective(Objective):
    """An objective with another one, or the name of one, as a parameter, whose properties it has.

    Its ``prepare`` hands the step of the other (:meth:`Objective.make_step`) to its kernel.
    """

    #: Name of that parameter.
    wraps: ClassVar[str] = "objective"

    @property
    def inner(self) -> Objective:
        """The wrapped objective, also where it was given by name."""
        return get_objective(getattr(self, self.wraps))

    def check_params(self) -> None:
        given = getattr(self, self.wraps)
        if not isinstance(given, str | Objective):
            raise TypeError(
                f"{self.wraps} must be a name or an instance of gbrank.Objective, got "
                f"{type(given).__name__}"
            )
        self.inner.check_params()

    def lightgbm_names(self) -> set[str]:
        return super().lightgbm_names() | self.inner.lightgbm_names()

    def fill_in(self, said: Mapping[str, Any]) -> None:
        super().fill_in(said)
        inner = copy.deepcopy(self.inner)
        inner.fill_in(said)
        setattr(self, self.wraps, inner)

    @property
    def has_loss(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.has_loss

    @property
    def exact_hessian(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective; not where its weights follow the scores."""
        follows = type(self.inner).with_weights_at is not Objective.with_weights_at
        return self.inner.exact_hessian and not follows

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.shift_invariant

    @property
    def by_order(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.by_order

    @property
    def scratch_rows(self) -> int:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.scratch_rows

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        self.inner.check_labels(labels, layout)

    def query_cost(self, sizes: IntArray) -> IntArray:
        return self.inner.query_cost(sizes)

    def plain_gradient(self) -> "WrappedObjective":
        params = self.get_params(deep=False)
        return type(self)(**{**params, self.wraps: self.inner.plain_gradient()})
