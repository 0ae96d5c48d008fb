"""A curve over positions: propensities, or a bias that was learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.plotting._base import BETTER, Display, one_row


class PropensityDisplay(Display):
    """Propensities, or a learned bias, by position, with intervals where there are some.

    Parameters
    ----------
    positions : array-like of integers
        The positions.
    values : array-like of the same shape
        What is drawn.
    lower, upper : array-like of the same shape, default=None
        Limits of intervals.
    name : str, default=None
        What the legend calls the curve.
    ylabel : str, default="propensity"
        What the values are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib ErrorbarContainer
        The curve.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbrank.plotting import PropensityDisplay
    >>> display = PropensityDisplay([1, 2, 3], [1.0, 0.5, 0.3], name="pivot").plot()
    >>> display.line_[0].get_ydata()
    array([1. , 0.5, 0.3])
    """

    line_: Any

    def __init__(
        self,
        positions: ArrayLike,
        values: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        name: str | None = None,
        ylabel: str = "propensity",
    ) -> None:
        self.positions = one_row("positions", positions)
        self.values = one_row("values", values)
        if len(self.values) != len(self.positions):
            raise ValueError(
                f"values must be as many as positions, {len(self.positions)}, got "
                f"{len(self.values)}"
            )
        self.lower = None if lower is None else one_row("lower", lower)
        self.upper = None if upper is None else one_row("upper", upper)
        self.name, self.ylabel = name, ylabel

    @classmethod
    def from_bias(cls, trained: Any, *, ax: Any = None, **kwargs: Any) -> PropensityDisplay:
        """Draw the bias of positions that training found.

        Parameters
        ----------
        trained : Ranker or objective
            A Ranker that was fitted with ``unbiased="additive"`` or ``"dual"``, or the
            ``PositionBias`` or ``DualSoftmax`` that a training used.
        ax : matplotlib Axes, default=None
            Where to draw; None for new axes.
        **kwargs : keyword arguments
            For matplotlib's ``errorbar``.
        """
        positions, bias = getattr(trained, "positions_", None), getattr(trained, "bias_", None)
        if positions is None or bias is None:
            raise ValueError(
                f"{type(trained).__name__} has no bias_: it must be trained, and with positions"
            )
        return cls(positions, bias, ylabel="bias (score)").plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> PropensityDisplay:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to matplotlib's ``errorbar``."""
        ax = self.draw_on(ax)
        spread = None
        if self.lower is not None and self.upper is not None:
            spread = np.maximum([self.values - self.lower, self.upper - self.values], 0.0)
        style = {"marker": "o", "markersize": 4, "capsize": 2, "label": self.name, **kwargs}
        if not ax.lines:
            style.setdefault("color", BETTER)
        self.line_ = ax.errorbar(self.positions, self.values, spread, **style)
        ax.set_xlabel("position")
        ax.set_ylabel(self.ylabel)
        ax.grid(alpha=0.3)
        if self.name is not None:
            ax.legend()
        return self
