"""What a search has tried: its history, which parameters matter, how losses compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbrank.core import check_choice
from gbrank.plotting._base import BETTER, NEUTRAL, WORSE, Display

KINDS = ("history", "importances", "losses")


class TuningDisplay(Display):
    """The trials of a search, in one of three pictures.

    Make one with :meth:`from_result`. "history": the value of each trial and the best so far;
    crosses are trials that were dropped, on the folds that they had. "importances": how much of
    the spread between trials each parameter explains. "losses": values of trials, a box a loss.

    Parameters
    ----------
    result : TuneResult
        What :func:`gbrank.tune` returned: anything with ``trials``, ``metric``,
        ``greater_is_better`` and ``importances()``.
    kind : {"history", "importances", "losses"}, default="history"
        The picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    values_ : dict
        The numbers drawn, by name.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import gbrank
    >>> from gbrank.data import make_ranking
    >>> from gbrank.plotting import TuningDisplay
    >>> data = make_ranking(n_queries=40, random_state=0)
    >>> small = gbrank.Ranker(n_estimators=5)
    >>> result = gbrank.tune(data.X, data.y, data.qid, n_trials=3, cv=2, ranker=small)
    >>> display = TuningDisplay.from_result(result)
    >>> len(display.values_["best"])
    3
    """

    values_: dict[str, Any]

    def __init__(self, result: Any, *, kind: str = "history") -> None:
        check_choice("kind", kind, KINDS)
        self.result, self.kind = result, kind

    @classmethod
    def from_result(cls, result: Any, *, kind: str = "history", ax: Any = None) -> TuningDisplay:
        """Draw what a search has found.

        Parameters
        ----------
        result : TuneResult
            What :func:`gbrank.tune` returned.
        kind : {"history", "importances", "losses"}, default="history"
            The picture.
        ax : matplotlib Axes, default=None
            Where to draw; None for new axes.
        """
        return cls(result, kind=kind).plot(ax)

    def plot(self, ax: Any = None) -> TuningDisplay:
        """Draw on ``ax``, or on new axes."""
        ax = self.draw_on(ax)
        draw = {"history": self._history, "importances": self._importances, "losses": self._losses}
        draw[self.kind](ax)
        ax.grid(alpha=0.3)
        return self

    def _history(self, ax: Any) -> None:
        trials = [each for each in self.result.trials if each.state != "failed"]
        numbers = np.array([each.number for each in trials])
        values = np.array([each.value for each in trials])
        complete = np.array([each.state == "complete" for each in trials])
        sign = 1.0 if self.result.greater_is_better else -1.0
        best = sign * np.maximum.accumulate(np.where(complete, sign * values, -np.inf))
        ax.plot(numbers[complete], values[complete], "o", color=BETTER, label="complete")
        ax.plot(numbers[~complete], values[~complete], "x", color=WORSE, label="dropped")
        ax.step(numbers, best, where="post", color=NEUTRAL, label="best so far")
        ax.set_xlabel("trial")
        ax.set_ylabel(self.result.metric)
        ax.legend(frameon=False)
        self.values_ = {"numbers": numbers, "values": values, "best": best}

    def _importances(self, ax: Any) -> None:
        self.values_ = self.result.importances()
        names = list(self.values_)[::-1]
        ax.barh(names, [self.values_[name] for name in names], color=BETTER)
        ax.set_xlabel(f"share of the spread of {self.result.metric} between trials")

    def _losses(self, ax: Any) -> None:
        boxes: dict[str, list[float]] = {}
        for each in self.result.trials:
            if each.state == "complete":
                boxes.setdefault(str(each.point["objective"]), []).append(each.value)
        self.values_ = dict(sorted(boxes.items(), key=lambda item: -float(np.median(item[1]))))
        ax.boxplot(list(self.values_.values()))
        ax.set_xticks(np.arange(1, len(self.values_) + 1), list(self.values_))
        ax.set_ylabel(f"{self.result.metric} of complete trials")
