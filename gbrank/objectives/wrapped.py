"""What objectives share that change another objective: they are what that one is."""

from typing import Any

from gbrank.core import FloatArray, IntArray, QueryLayout
from gbrank.objectives.base import Objective


class WrappedObjective(Objective):
    """An objective with a parameter ``objective``, whose properties it has."""

    objective: Any

    @property
    def inner(self) -> Objective:
        """The wrapped objective, also where it was given by name."""
        if isinstance(self.objective, Objective):
            return self.objective
        from gbrank.objectives import get_objective

        return get_objective(self.objective)

    def check_params(self) -> None:
        if not isinstance(self.objective, str | Objective):
            raise TypeError(
                "objective must be a name or an instance of gbrank.Objective, got "
                f"{type(self.objective).__name__}"
            )
        self.inner.check_params()

    @property
    def has_loss(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.has_loss

    @property
    def exact_hessian(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.exact_hessian

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """As of the wrapped objective."""
        return self.inner.shift_invariant

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
        return type(self)(**{**params, "objective": self.inner.plain_gradient()})
