"""A metric against the number of trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.plotting._base import Display, one_row


class LearningCurveDisplay(Display):
    """A metric against the number of trees, for one model or several.

    Make one with :meth:`from_ranker` or :meth:`from_results`.

    Parameters
    ----------
    curves : dict of array-like
        The values after 1, 2, ... trees, by the name of the curve.
    metric : str, default="metric"
        Name of the metric, for the axis.
    best_iterations : dict of int, default=None
        The number of trees at which a curve gets a dot, by its name.
    starts : dict of float, default=None
        The value before the first tree, by the name of the curve: such a curve begins at tree 0.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        One per curve.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.plotting import LearningCurveDisplay
    >>> train, test = make_ranking(n_queries=60, random_state=0).split(0.5)
    >>> models = {
    ...     name: Ranker(name, n_estimators=5).fit(
    ...         train.X, train.y, qid=train.qid, eval_X=test.X, eval_y=test.y, eval_qid=test.qid
    ...     )
    ...     for name in ("xendcg", "lambdamart")
    ... }
    >>> display = LearningCurveDisplay.from_ranker(models)
    >>> [line.get_label() for line in display.lines_]
    ['xendcg', 'lambdamart']
    """

    lines_: list[Any]

    def __init__(
        self,
        curves: Mapping[str, ArrayLike],
        *,
        metric: str = "metric",
        best_iterations: Mapping[str, int] | None = None,
        starts: Mapping[str, float] | None = None,
    ) -> None:
        if not curves:
            raise ValueError("curves must hold at least one curve, got none")
        self.curves = {str(name): one_row(name, values) for name, values in curves.items()}
        self.metric = metric
        self.best_iterations = dict(best_iterations or {})
        self.starts = {name: float(value) for name, value in (starts or {}).items()}

    @classmethod
    def from_ranker(
        cls,
        ranker: Any,
        *,
        metric: str | None = None,
        dataset: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> LearningCurveDisplay:
        """Draw what fitted rankers recorded on their evaluation sets.

        Parameters
        ----------
        ranker : Ranker, or dict of them
            A fitted :class:`gbrank.Ranker`, or several by name: anything with ``evals_result_``. A
            dot marks where early stopping found the best number of trees (``best_iteration_``) of
            one booster; of a cross-fit each member is a curve, on the queries held out. A curve
            begins at tree 0 where ``evals_start_``, a dict ``{dataset: {metric: value}}``,
            says what the start alone reached.
        metric, dataset, ax, **kwargs :
            As in :meth:`from_results`.
        """
        rankers = ranker if isinstance(ranker, Mapping) else {type(ranker).__name__: ranker}
        if not rankers:
            raise ValueError("ranker must hold at least one model, got an empty dict")
        results, starts = {}, {}
        for name, model in rankers.items():
            recorded = getattr(model, "evals_result_", None)
            if not recorded:
                raise ValueError(
                    f"ranker {name!r} has no evals_result_: fit it with an evaluation set "
                    "(eval_X, eval_y, eval_qid)"
                )
            results[str(name)] = recorded
            starts[str(name)] = getattr(model, "evals_start_", None) or {}
        curves, metric = _choose_curves(results, metric, dataset, named=len(rankers) > 1)
        # the trees of a cross-fit are those of all members together, at no place of a curve
        trees = {
            str(name): 0 if hasattr(model, "members_") else getattr(model, "best_iteration_", 0)
            for name, model in rankers.items()
        }
        best = {
            label: int(trees[name])
            for (name, label), values in curves.items()
            if 0 < trees[name] < len(values)
        }
        display = cls(
            {label: values for (_, label), values in curves.items()},
            metric=metric,
            best_iterations=best,
            starts=_choose_starts(starts, metric, dataset, named=len(rankers) > 1),
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, Any],
        *,
        metric: str | None = None,
        dataset: str | None = None,
        starts: Mapping[str, Any] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> LearningCurveDisplay:
        """Draw recorded values.

        Parameters
        ----------
        results : dict
            One of ``{curve: values}``; ``{dataset: {metric: values}}``, as LightGBM records them;
            ``{model: {dataset: {metric: values}}}``.
        metric : str, default=None
            The metric to draw; None for the first one.
        dataset : str, default=None
            The evaluation set to draw; None for all.
        starts : dict, default=None
            What was reached before the first tree: as ``results``, with one value each.
        ax : matplotlib Axes, default=None
            Where to draw; None for new axes.
        **kwargs : keyword arguments
            For matplotlib's ``plot``.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from gbrank.plotting import LearningCurveDisplay
        >>> display = LearningCurveDisplay.from_results({"valid": {"ndcg@10": [0.3, 0.4]}})
        >>> display.ax_.get_ylabel(), display.curves["valid"]
        ('ndcg@10', array([0.3, 0.4]))
        """
        depth = _depth(results)
        if depth == 1:
            if dataset is not None:
                raise ValueError("dataset cannot be chosen: results hold one curve per name")
            return cls(results, metric=metric or "metric", starts=starts).plot(ax, **kwargs)
        models = {"model": results} if depth == 2 else results
        begun = {"model": starts or {}} if depth == 2 else starts or {}
        curves, metric = _choose_curves(models, metric, dataset, named=depth == 3)
        display = cls(
            {label: values for (_, label), values in curves.items()},
            metric=metric,
            starts=_choose_starts(begun, metric, dataset, named=depth == 3),
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> LearningCurveDisplay:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to matplotlib's ``plot``."""
        ax = self.draw_on(ax)
        self.lines_ = []
        for name, values in self.curves.items():
            trees, drawn = np.arange(1, len(values) + 1), values
            if name in self.starts:
                trees, drawn = np.append(0, trees), np.append(self.starts[name], values)
            (line,) = ax.plot(trees, drawn, **{"label": name, **kwargs})
            self.lines_.append(line)
            if name in self.best_iterations:
                best = self.best_iterations[name]
                ax.plot([best], [values[best - 1]], "o", color=line.get_color())
        ax.set_xlabel("number of trees")
        ax.set_ylabel(self.metric)
        ax.legend(frameon=False)
        ax.grid(alpha=0.3)
        return self


def _choose_curves(
    results: Mapping[str, Any], metric: str | None, dataset: str | None, *, named: bool
) -> tuple[dict[tuple[str, str], Any], str]:
    """Return the values of the chosen metric by (model, label of the curve), and its name."""
    first = next(iter(next(iter(results.values())).values()))
    metric = next(iter(first)) if metric is None else metric
    curves = {}
    for model, by_dataset in results.items():
        wanted = by_dataset if dataset is None else [_known("dataset", dataset, by_dataset, model)]
        for name in wanted:
            values = by_dataset[name][_known("metric", metric, by_dataset[name], model)]
            curves[str(model), _label(model, name, len(wanted), named=named)] = values
    return curves, metric


def _choose_starts(
    starts: Mapping[str, Any], metric: str, dataset: str | None, *, named: bool
) -> dict[str, float]:
    """Return what is known of the starts by the label of the curve."""
    chosen = {}
    for model, by_dataset in starts.items():
        wanted = [name for name in by_dataset if dataset in (None, name)]
        for name in wanted:
            if metric in by_dataset[name]:
                label = _label(model, name, len(wanted), named=named)
                chosen[label] = by_dataset[name][metric]
    return chosen


def _label(model: Any, dataset: Any, n_datasets: int, *, named: bool) -> str:
    if not named:
        return str(dataset)
    return str(model) if n_datasets == 1 else f"{model}, {dataset}"


def _known(kind: str, name: str, known: Iterable[str], model: str) -> str:
    known = list(known)
    if name not in known:
        raise ValueError(f"{kind} must be one of {known} for {model!r}, got {name!r}")
    return name


def _depth(results: Any) -> int:
    """Return how deeply dicts are nested: 1 for curves, 2 for LightGBM's record, 3 for several."""
    depth, inner = 0, results
    while isinstance(inner, Mapping):
        if not inner:
            raise ValueError("results must hold at least one curve, got an empty dict")
        depth, inner = depth + 1, next(iter(inner.values()))
    if not 1 <= depth <= 3:
        raise ValueError(
            "results must be {curve: values}, {dataset: {metric: values}} or {model: {dataset: "
            f"{{metric: values}}}}, got {type(results).__name__} nested {depth} deep"
        )
    return depth
