"""How much each feature counts in a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import check_integer
from gbrank.plotting._base import BETTER, Display, one_row


class FeatureImportanceDisplay(Display):
    """The importances of features as bars, the most important on top.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        How much each feature counts.
    names : sequence of str, default=None
        Names of the features; None for their numbers.
    max_features : int, default=20
        Draw at most so many, the most important ones.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        The bars, from the most important feature on.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbrank.plotting import FeatureImportanceDisplay
    >>> display = FeatureImportanceDisplay([1, 5, 2], ["age", "clicks", "length"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['clicks', 'length', 'age']
    """

    bars_: Any

    def __init__(
        self,
        importances: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        max_features: int = 20,
    ) -> None:
        self.importances = one_row("importances", importances)
        check_integer("max_features", max_features, low=1)
        self.max_features = max_features
        if names is None:
            names = [f"feature {number}" for number in range(len(self.importances))]
        self.names = [str(name) for name in names]
        if len(self.names) != len(self.importances):
            raise ValueError(
                f"names must be as many as importances, {len(self.importances)}, got "
                f"{len(self.names)}"
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_features: int = 20, ax: Any = None, **kwargs: Any
    ) -> FeatureImportanceDisplay:
        """Draw the importances of a fitted estimator.

        Parameters
        ----------
        estimator : Ranker, Pipeline or any estimator with ``feature_importances_``
            Names come from ``feature_names_in_``, where it has that. Of a Pipeline the last step is
            meant.
        max_features : int, default=20
            Draw at most so many, the most important ones.
        ax : matplotlib Axes, default=None
            Where to draw; None for new axes.
        **kwargs : keyword arguments
            For matplotlib's ``barh``.
        """
        while hasattr(estimator, "steps"):  # a Pipeline
            estimator = estimator.steps[-1][1]
        importances = getattr(estimator, "feature_importances_", None)
        if importances is None:
            raise ValueError(
                f"{type(estimator).__name__} has no feature_importances_: it must be fitted, and "
                "of a kind that has them"
            )
        names = getattr(estimator, "feature_names_in_", None)
        if names is not None and len(names) != len(importances):  # named, but not all are features
            names = getattr(estimator, "feature_name_", None)
        return cls(importances, names, max_features=max_features).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> FeatureImportanceDisplay:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to matplotlib's ``barh``."""
        ax = self.draw_on(ax)
        shown = np.argsort(-self.importances, kind="stable")[: self.max_features]
        places = np.arange(len(shown))
        self.bars_ = ax.barh(places, self.importances[shown], **{"color": BETTER, **kwargs})
        ax.set_yticks(places, [self.names[at] for at in shown])
        ax.invert_yaxis()  # the first on top
        left_out = len(self.importances) - len(shown)
        ax.set_xlabel("importance" + (f" ({left_out} more features)" if left_out else ""))
        ax.grid(axis="x", alpha=0.3)
        return self
