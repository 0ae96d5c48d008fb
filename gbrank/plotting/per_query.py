"""Differences between two models, query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import FloatArray
from gbrank.metrics import Metric, compare, get_metric
from gbrank.plotting._base import BETTER, NEUTRAL, WORSE, Display, one_row


class PerQueryDisplay(Display):
    """The difference between two models in each query, sorted: who wins where, and by how much.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Model ``a`` minus model ``b``.
    names : pair of str, default=("a", "b")
        The names of ``a`` and ``b``.
    mean : float, default=None
        Mean difference; None leaves it out.
    interval : pair of float, default=None
        Its confidence interval; None leaves it out.
    metric : str, default="metric"
        Name of the metric.
    confidence : float, default=0.95
        Level of the interval.
    greater_is_better : bool, default=True
        Whether a positive difference is a win of ``a``.

    Attributes
    ----------
    differences : ndarray of shape (n_queries,)
        As given, but sorted, largest first.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    won_, lost_ : matplotlib StepPatch
        The queries in which ``a`` wins, or loses.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbrank.plotting import PerQueryDisplay
    >>> labels, qid = [1, 0, 1, 0, 2, 0], [1, 1, 2, 2, 3, 3]
    >>> models = {"a": [2, 1, 2, 1, 1, 2], "b": [1, 2, 2, 1, 2, 1]}
    >>> display = PerQueryDisplay.from_scores(labels, models, qid=qid, metric="ndcg@1")
    >>> display.differences
    array([ 1.,  0., -1.])
    """

    won_: Any
    lost_: Any

    def __init__(
        self,
        differences: ArrayLike,
        names: Sequence[str] = ("a", "b"),
        *,
        mean: float | None = None,
        interval: tuple[float, float] | None = None,
        metric: str = "metric",
        confidence: float = 0.95,
        greater_is_better: bool = True,
    ) -> None:
        self.differences: FloatArray = np.sort(one_row("differences", differences))[::-1]
        self.names = tuple(names)
        if len(self.names) != 2:
            raise ValueError(f"names must be two, got {list(names)}")
        self.mean = mean
        self.interval = interval
        self.metric = metric
        self.confidence = confidence
        self.greater_is_better = greater_is_better

    @classmethod
    def from_scores(
        cls,
        labels: ArrayLike,
        scores: Mapping[str, ArrayLike],
        *,
        qid: Any = None,
        group: Any = None,
        metric: str | Metric = "ndcg@10",
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        n_resamples: int = 9_999,
        random_state: int = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> PerQueryDisplay:
        """Measure two models and draw the first minus the second.

        Parameters
        ----------
        labels, qid, group, sample_weight, confidence, n_resamples, random_state :
            As in :func:`gbrank.metrics.compare`.
        scores : dict of two array-like of shape (n_rows,)
            Scores, one per row, by the names of models.
        metric : str or Metric, default="ndcg@10"
            The name of a metric, or a metric object.
        ax : matplotlib Axes, default=None
            Where to draw; None for new axes.
        **kwargs : keyword arguments
            For matplotlib's ``stairs``.
        """
        if not isinstance(scores, Mapping) or len(scores) != 2:
            got = list(scores) if isinstance(scores, Mapping) else type(scores).__name__
            raise ValueError(f"scores must be a dict of two models, got {got}")
        compared = compare(
            labels,
            scores,
            qid=qid,
            group=group,
            metric=get_metric(metric),
            sample_weight=sample_weight,
            confidence=confidence,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        (pair,) = compared.pairs
        display = cls(
            pair.differences,
            (pair.a, pair.b),
            mean=pair.difference,
            interval=pair.interval,
            metric=compared.metric,
            confidence=confidence,
            greater_is_better=compared.greater_is_better,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> PerQueryDisplay:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to matplotlib's ``stairs``."""
        ax = self.draw_on(ax)
        edges = np.arange(len(self.differences) + 1) + 0.5
        above, below = np.maximum(self.differences, 0.0), np.minimum(self.differences, 0.0)
        won, lost = (above, below) if self.greater_is_better else (below, above)
        self.won_, self.lost_ = (
            ax.stairs(
                part,
                edges,
                **{
                    "fill": True,
                    "color": color,
                    "label": f"{name} better: {np.count_nonzero(part)} queries",
                    **kwargs,
                },
            )
            for part, color, name in zip((won, lost), (BETTER, WORSE), self.names, strict=True)
        )
        ax.axhline(0.0, color=NEUTRAL, linewidth=0.8)
        if self.mean is not None:
            label = f"mean {self.mean:+.4f}"
            if self.interval is not None:
                ax.axhspan(*self.interval, color=NEUTRAL, alpha=0.2, linewidth=0)
                label += f", {100 * self.confidence:g}% interval"
            ax.axhline(self.mean, color=NEUTRAL, linestyle="--", linewidth=1.2, label=label)
        ax.set_xlim(edges[0], edges[-1])
        ax.set_xlabel(f"queries, sorted ({np.count_nonzero(self.differences == 0)} tied)")
        ax.set_ylabel(f"{self.metric}: {self.names[0]} - {self.names[1]}")
        ax.legend(frameon=False)
        return self
