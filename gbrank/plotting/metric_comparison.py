"""Means of a metric for several models, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.metrics import Metric, compare, get_metric, mean_intervals
from gbrank.plotting._base import BETTER, NEUTRAL, Display


class MetricComparisonDisplay(Display):
    """The mean of a metric for each model, with a bootstrap interval over queries.

    Intervals of means say how far they would vary with other queries, which all models share: to
    see whether models differ, give a ``baseline``, and differences from it are drawn instead.

    Parameters
    ----------
    means : dict of float
        Means (or differences from the baseline) by model.
    intervals : dict of pairs of float
        Low and high end by model.
    metric : str, default="metric"
        Name of the metric.
    confidence : float, default=0.95
        Level of the intervals.
    baseline : str, default=None
        Model from which the others are shown as differences; None for means.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    errorbar_ : matplotlib container
        Markers and intervals.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from gbrank.plotting import MetricComparisonDisplay
    >>> rng = np.random.default_rng(0)
    >>> labels, group = rng.integers(0, 3, 1000), [10] * 100
    >>> models = {"good": labels + rng.normal(size=1000), "random": rng.normal(size=1000)}
    >>> display = MetricComparisonDisplay.from_scores(labels, models, group=group)
    >>> low, high = display.intervals["good"]
    >>> bool(low < display.means["good"] < high)
    True
    """

    errorbar_: Any

    def __init__(
        self,
        means: Mapping[str, float],
        intervals: Mapping[str, tuple[float, float]],
        *,
        metric: str = "metric",
        confidence: float = 0.95,
        baseline: str | None = None,
    ) -> None:
        if not means or set(means) != set(intervals):
            raise ValueError(
                f"means and intervals must name the same models, at least one: got {list(means)} "
                f"and {list(intervals)}"
            )
        self.means = dict(means)
        self.intervals = dict(intervals)
        self.metric = metric
        self.confidence = confidence
        self.baseline = baseline

    @classmethod
    def from_scores(
        cls,
        labels: ArrayLike,
        scores: Mapping[str, ArrayLike],
        *,
        qid: Any = None,
        group: Any = None,
        metric: str | Metric = "ndcg@10",
        baseline: str | None = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        n_resamples: int = 9_999,
        random_state: int = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> MetricComparisonDisplay:
        """Measure models and draw their means.

        Parameters
        ----------
        labels, qid, group, sample_weight, confidence, n_resamples, random_state :
            As in :func:`gbrank.metrics.compare`.
        scores : dict of array-like of shape (n_rows,)
            Scores, one per row, by the names of models.
        metric : str or Metric, default="ndcg@10"
            The name of a metric, or a metric object.
        baseline : str, default=None
            Draw the differences of the other models from this one.
        ax : matplotlib Axes, default=None
            Where to draw; None for new axes.
        **kwargs : keyword arguments
            For matplotlib's ``errorbar``.
        """
        if not isinstance(scores, Mapping):
            raise TypeError(f"scores must be a dict of models, got {type(scores).__name__}")
        chosen = get_metric(metric)
        options: dict[str, Any] = {
            "qid": qid,
            "group": group,
            "metric": chosen,
            "sample_weight": sample_weight,
            "confidence": confidence,
            "n_resamples": n_resamples,
            "random_state": random_state,
        }
        if baseline is None:
            found = mean_intervals(labels, scores, **options)
            means = {name: mean for name, (mean, _, _) in found.items()}
            intervals = {name: (low, high) for name, (_, low, high) in found.items()}
        else:
            if baseline not in scores:
                raise ValueError(f"baseline must be one of {list(scores)}, got {baseline!r}")
            others = [name for name in scores if name != baseline]
            compared = compare(
                labels,
                {name: scores[name] for name in [*others, baseline]},  # others minus baseline
                **options,
            )
            pairs = {name: compared[str(name), str(baseline)] for name in others}
            means = {str(name): pair.difference for name, pair in pairs.items()}
            intervals = {str(name): pair.interval for name, pair in pairs.items()}
        display = cls(
            means, intervals, metric=chosen.full_name, confidence=confidence, baseline=baseline
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> MetricComparisonDisplay:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to matplotlib's ``errorbar``."""
        ax = self.draw_on(ax)
        names = list(self.means)
        centres = np.array([self.means[name] for name in names])
        ends = np.array([self.intervals[name] for name in names])
        # a percentile interval may, rarely, lie on one side of the mean
        reach = np.maximum([centres - ends[:, 0], ends[:, 1] - centres], 0.0)
        places = np.arange(len(names))[::-1]
        style = {"fmt": "o", "capsize": 4, "color": BETTER, **kwargs}
        self.errorbar_ = ax.errorbar(centres, places, xerr=reach, **style)
        ax.set_yticks(places, names)
        ax.set_ylim(-0.6, len(names) - 0.4)
        level = f"mean and {100 * self.confidence:g}% interval"
        if self.baseline is None:
            ax.set_xlabel(f"{self.metric}, {level}")
        else:
            ax.axvline(0.0, color=NEUTRAL, linewidth=1)
            ax.set_xlabel(f"difference of {self.metric} from {self.baseline}, {level}")
        ax.grid(axis="x", alpha=0.3)
        return self
