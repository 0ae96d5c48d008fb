"""Whether probabilities come true: the share of outcomes against what was promised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import check_integer
from gbrank.plotting._base import BETTER, NEUTRAL, Display, one_row


class ReliabilityDisplay(Display):
    """Probabilities against the shares that came true, in bins of as many rows each.

    Points on the diagonal keep their promise; bars are 95% intervals of the share (Wilson's).

    Parameters
    ----------
    probability : array of shape (n_rows,)
        Probabilities, in [0, 1].
    outcome : array of shape (n_rows,)
        Whether it came true: 0 or 1.
    n_bins : int >= 1, default=10
        Number of bins.
    label : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    promised_, found_ : arrays
        Mean probability and share of outcomes of each bin.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbrank.plotting import ReliabilityDisplay
    >>> display = ReliabilityDisplay([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2).plot()
    >>> display.found_
    array([0., 1.])
    """

    def __init__(
        self,
        probability: ArrayLike,
        outcome: ArrayLike,
        *,
        n_bins: int = 10,
        label: str | None = None,
    ) -> None:
        p, came_true = one_row("probability", probability), one_row("outcome", outcome)
        if p.shape != came_true.shape:
            raise ValueError(
                f"outcome must have a value for each of {len(p)} probabilities, got "
                f"{len(came_true)}"
            )
        check_integer("n_bins", n_bins, low=1)
        bins = np.array_split(np.argsort(p, kind="stable"), min(n_bins, len(p)))
        self.promised_ = np.array([p[rows].mean() for rows in bins])
        self.found_ = np.array([came_true[rows].mean() for rows in bins])
        self.counts_ = np.array([len(rows) for rows in bins])
        self.label = label

    def plot(self, ax: Any = None, **kwargs: Any) -> ReliabilityDisplay:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to matplotlib's ``errorbar``."""
        ax = self.draw_on(ax)
        z2 = 1.96**2
        middle = (self.found_ + z2 / (2 * self.counts_)) / (1 + z2 / self.counts_)
        spread = self.found_ * (1 - self.found_) / self.counts_ + z2 / (4 * self.counts_**2)
        half = 1.96 * np.sqrt(spread) / (1 + z2 / self.counts_)
        ends = [
            np.maximum(self.found_ - (middle - half), 0),
            np.maximum(middle + half - self.found_, 0),
        ]
        ax.plot([0, 1], [0, 1], color=NEUTRAL, lw=0.8, ls=":")
        style = {"color": BETTER, "marker": "o", "capsize": 2, "label": self.label, **kwargs}
        ax.errorbar(self.promised_, self.found_, ends, **style)
        ax.set_xlabel("probability promised")
        ax.set_ylabel("share that came true")
        if style["label"] is not None:
            ax.legend()
        return self
