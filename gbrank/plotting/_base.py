"""What all displays share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import FloatArray

BETTER, WORSE, NEUTRAL = "#1f5fa8", "#c8553d", "#444444"


class Display:
    """Something that can be drawn; remembers where."""

    ax_: Any
    figure_: Any

    def draw_on(self, ax: Any) -> Any:
        """Take the given axes, or make some, and remember them."""
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError('plots need matplotlib: pip install "gbrank[plot]"') from error
            _, ax = pyplot.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def one_row(name: Any, values: ArrayLike) -> FloatArray:
    """Return numbers as an array; raise an error for none, or rows of them."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or len(found) == 0:
        raise ValueError(f"{name!s} must be one row of numbers, got shape {found.shape}")
    return found
