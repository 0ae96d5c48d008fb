"""What features add to scores: a bar each for two documents, a heat map for a list."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbrank.core import FloatArray, check_integer
from gbrank.plotting._base import BETTER, WORSE, Display


class ExplanationDisplay(Display):
    """An explanation of an order, drawn.

    Of two documents (:meth:`gbrank.Ranker.explain_pair`) bars, the largest on top; of a list
    (:meth:`gbrank.Ranker.explain`) a heat map, documents from the best to the worst.

    Parameters
    ----------
    explanation : Explanation or PairExplanation
        What to draw. One of several queries is drawn as one list.
    max_features : int, default=15
        Draw at most so many features, those that matter most.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        Of two documents.
    image_ : matplotlib AxesImage
        Of a list.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.plotting import ExplanationDisplay
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = Ranker.lightgbm_defaults(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    >>> display = ExplanationDisplay(ranker.explain_pair(data.X, 0, 1), max_features=3).plot()
    >>> len(display.bars_)
    3
    """

    bars_: Any
    image_: Any

    def __init__(self, explanation: Any, *, max_features: int = 15) -> None:
        if not hasattr(explanation, "contributions") or not hasattr(explanation, "names"):
            raise TypeError(
                "explanation must come from explain or explain_pair, got "
                f"{type(explanation).__name__}"
            )
        check_integer("max_features", max_features, low=1)
        self.explanation = explanation
        self.max_features = max_features

    def plot(self, ax: Any = None, **kwargs: Any) -> ExplanationDisplay:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to matplotlib's ``barh`` or ``imshow``."""
        ax = self.draw_on(ax)
        contributions: FloatArray = np.asarray(self.explanation.contributions)
        weight = np.abs(contributions) if contributions.ndim == 1 else contributions.std(axis=0)
        shown = np.argsort(-weight, kind="stable")[: self.max_features]
        names = [self.explanation.names[at] for at in shown]
        if contributions.ndim == 1:
            self._draw_bars(ax, contributions[shown], names, kwargs)
        else:
            self._draw_list(ax, contributions[:, shown], names, kwargs)
        return self

    def _draw_bars(self, ax: Any, values: FloatArray, names: list[str], kwargs: Any) -> None:
        places = np.arange(len(values))
        colors = [BETTER if value >= 0 else WORSE for value in values]
        self.bars_ = ax.barh(places, values, **{"color": colors, **kwargs})
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.axvline(0.0, color="black", linewidth=0.8)
        (i, j), (of_i, of_j) = self.explanation.rows, self.explanation.scores
        ax.set_xlabel(f"row {i} minus row {j}: {of_i - of_j:+.3f} in all")
        ax.grid(axis="x", alpha=0.3)

    def _draw_list(self, ax: Any, values: FloatArray, names: list[str], kwargs: Any) -> None:
        best_first = np.argsort(-self.explanation.scores, kind="stable")
        limit = np.abs(values).max() or 1.0
        look = {"cmap": "RdBu", "vmin": -limit, "vmax": limit, "aspect": "auto", **kwargs}
        self.image_ = ax.imshow(values[best_first].T, **look)
        ax.set_yticks(np.arange(len(names)), names)
        ax.set_xlabel("documents, the best first")
        self.figure_.colorbar(self.image_, ax=ax, label="adds to the score")
