"""Metrics as LightGBM and XGBoost call them: ``feval``, ``eval_metric`` and ``custom_metric``."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np

from gbrank.core import (
    DMatrixData,
    FloatArray,
    QueryLayout,
    TrainingData,
    calling_training,
    check_labels,
    check_scores,
    check_weights,
    is_same_array,
    read_dataset,
    training_params,
)
from gbrank.metrics._base import Metric, measure_all, weighted_mean
from gbrank.metrics._evaluation import MetricsSpec, choose_metrics
from gbrank.metrics._judgments import Judgments

#: Metrics of LightGBM that have a cut-off, by the names under which they can be asked for.
_RANKING = {
    **dict.fromkeys(("ndcg", "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg"), "ndcg"),
    **dict.fromkeys(("xe_ndcg_mart", "xendcg_mart"), "ndcg"),
    **dict.fromkeys(("map", "mean_average_precision"), "map"),
}
_CUTOFFS = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")

#: What LightGBM expects, with whether more is better at its end; XGBoost expects no such thing.
Result = tuple[str, float, bool] | tuple[str, float]


class Feval:
    """Metrics that LightGBM can call, in either of its forms, and XGBoost: see :func:`feval`.

    What the labels decide is computed at the first call and kept as long as the label array lives;
    copies and pickles start without it.
    """

    def __init__(self, metrics: dict[str, Metric], *, several: bool) -> None:
        self.metrics = metrics
        self.several = several
        self._bound: dict[int, _Binding] = {}

    @property
    def metric(self) -> Metric:
        """The metric, or the first of several."""
        return next(iter(self.metrics.values()))

    @property
    def name(self) -> str:
        """The name under which LightGBM lists the results, or the first one."""
        return next(iter(self.metrics))

    @property
    def greater_is_better(self) -> bool:
        """Whether early stopping waits for larger values."""
        return self.metric.greater_is_better

    def __repr__(self) -> str:
        shown = list(self.metrics.values())
        return f"feval({shown if self.several else shown[0]!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_bound": {}}

    def __call__(
        self, a: Any, b: Any, weight: Any = None, group: Any = None
    ) -> Result | list[Result]:
        """Return (name, value, is higher better) for (preds, dataset) or (labels, scores, ...).

        For XGBoost's (preds, dmatrix): (name, value).
        """
        data = read_dataset(b)
        if data is not None:  # the form of lgb.train and xgb.train
            labels, scores = data.labels, data.scores(a)
            weight, group = data.weight, data.group
        else:
            labels, scores, data = a, b, calling_training()
        if group is None:
            raise ValueError(
                f"{self.name} needs to know the queries: give group to the lgb.Dataset, "
                "eval_group to LGBMRanker.fit, or qid to XGBoost's DMatrix, for every set that is "
                "evaluated"
            )
        of_xgboost = isinstance(data, DMatrixData)
        owner = b if of_xgboost else labels  # XGBoost's labels are another copy each time
        binding = self._bound.get(id(owner))
        if binding is None or not binding.is_of(owner, labels, weight, group):
            if isinstance(data, DMatrixData):
                self._check_direction(data)
            else:
                self._check_own_metrics(training_params(b))
            binding = self._bind(owner, labels, weight, group)
        checked = check_scores(scores, binding.layout, finite=False)
        of_library = None if data is None else data.n_threads
        own = (metric.n_jobs for metric in self.metrics.values())
        n_jobs = next((each for each in own if each is not None), of_library)
        in_lightgbm = isinstance(data, TrainingData) and n_jobs == of_library
        results: list[Result] = []
        every = measure_all(
            binding.bound, checked, n_jobs, in_lightgbm=in_lightgbm, are_finite=False
        )
        for (name, metric), values in zip(self.metrics.items(), every, strict=True):
            mean = weighted_mean(values, binding.weights, name)
            results.append((name, mean) if of_xgboost else (name, mean, metric.greater_is_better))
        return results if self.several else results[0]

    def _bind(self, owner: Any, labels: Any, weight: Any, group: Any) -> _Binding:
        """Bind to these arrays.

        Their owner, the label array or XGBoost's DMatrix, is held weakly: once it is gone its entry
        goes too, so that another object at the same address is never taken for it.
        """
        binding = _Binding(list(self.metrics.values()), labels, weight, group)
        if owner is not labels or isinstance(labels, np.ndarray):
            key, bound = id(owner), self._bound
            binding.owner = weakref.ref(owner, lambda _: bound.pop(key, None))
            binding.labels = None if owner is labels else labels
            bound[key] = binding
        return binding

    def _check_direction(self, data: DMatrixData) -> None:
        """Raise an error where XGBoost's early stopping goes the wrong way."""
        better = [metric.greater_is_better for metric in self.metrics.values()]
        wrong = data.stops_at_the_wrong_end(list(self.metrics), better)
        if wrong is not None:
            maximize = self.metrics[wrong].greater_is_better
            raise ValueError(
                f"XGBoost's early stopping would {'min' if maximize else 'max'}imize {wrong!r}: "
                f"give maximize={maximize} to xgb.train or to EarlyStopping"
            )

    def _check_own_metrics(self, params: dict[str, Any]) -> None:
        """Raise an error, or warn, where LightGBM evaluates metrics of its own besides."""
        theirs = _own_metrics(params)
        if not theirs:
            return
        remedy = (
            'metric="None" (of LGBMRanker, or in the parameters of lgb.train) leaves these metrics '
            "alone"
        )
        twice = [name for name in self.metrics if name in theirs]
        if twice:
            raise ValueError(
                f"LightGBM evaluates a metric {twice[0]!r} of its own, and cannot list two of one "
                f"name: {remedy}"
            )
        warnings.warn(
            f"LightGBM evaluates its own {', '.join(theirs)} besides {', '.join(self.metrics)}, "
            f"and early stopping ends training as soon as any of them stalls: {remedy}",
            UserWarning,
            stacklevel=3,
        )


class _Binding:
    """Metrics bound to the labels, weights and groups of one training or validation set."""

    def __init__(self, metrics: list[Metric], labels: Any, weight: Any, group: Any) -> None:
        self.owner: Any = None
        #: ``None`` where they are the owner, and so the same as long as it is
        self.labels: Any = None
        self.weight = weight
        self.group = group
        self.layout = QueryLayout.from_group(group, len(labels))
        signed = all(metric.signed_labels for metric in metrics)
        judgments = Judgments(check_labels(labels, self.layout, signed=signed), self.layout)
        self.bound = [metric.bind(judgments) for metric in metrics]
        self.weights = None if weight is None else _query_weights(weight, self.layout)

    def is_of(self, owner: Any, labels: Any, weight: Any, group: Any) -> bool:
        """Return whether this was made for this very owner (and equal groups and weights)."""
        return (
            self.owner is not None
            and self.owner() is owner
            and (self.labels is None or is_same_array(self.labels, labels))
            and is_same_array(self.weight, weight)
            and is_same_array(self.group, group)
        )


def feval(name: MetricsSpec, *, convention: str | None = None, **options: Any) -> Feval:
    """Return a metric for LightGBM or XGBoost, by its name; or several.

    The object serves as ``feval`` of ``lgb.train`` and ``lgb.cv``, as ``eval_metric`` of
    ``LGBMRanker.fit`` and as ``custom_metric`` of ``xgb.train``. It can be pickled and copied.

    Set ``metric="None"`` besides: ``LGBMRanker(objective=XENDCG(), metric="None")``. Without it
    ``LGBMRanker``, and ``lgb.train`` with one of LightGBM's ranking objectives, evaluate LightGBM's
    own ``ndcg`` at 1 to 5 as well, and early stopping ends training as soon as one of these stalls,
    mostly ndcg@1. That is a warning here, and an error where two metrics have one name ("ndcg@5").

    XGBoost's early stopping knows of metrics whose names begin with "ndcg", "map" or "pre" that
    more is better; for others say ``maximize=True``, without which there is an error.

    LightGBM's weights are per row. As in LightGBM, the weight of a query is the mean of the weights
    of its rows, which need not be equal here.

    Parameters
    ----------
    name : str, Metric, or list or dict of them
        A name of :func:`gbrank.metrics.list_metrics`, with a cut-off where there is one
        ("ndcg@10", "ndcg@0.2"), or a metric object. Several, as a list or as a dict by names of
        your own, share one sort; early stopping looks at all of them, or with
        ``first_metric_only=True`` at the first.
    convention : str, default=None
        As in :func:`gbrank.metrics.ndcg_score`.
    **options : keyword arguments
        Other options of metrics that are given by name: ``gain``, ``empty``, ``ties``, ``n_jobs``.

    Examples
    --------
    >>> import numpy as np, lightgbm as lgb
    >>> from gbrank.metrics import feval
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    >>> data = lgb.Dataset(X, y, group=[20] * 10)
    >>> params = {"objective": "lambdarank", "metric": "None", "verbosity": -1}
    >>> seen = {}
    >>> _ = lgb.train(params, data, 3, valid_sets=[data], feval=feval(["ndcg@5", "ndcg@10"]),
    ...               callbacks=[lgb.record_evaluation(seen)])
    >>> list(seen["training"])
    ['ndcg@5', 'ndcg@10']
    """
    if convention is not None:
        options["convention"] = convention
    return Feval(choose_metrics(name, **options), several=not isinstance(name, str | Metric | type))


def _own_metrics(params: dict[str, Any]) -> list[str]:
    """Return the names of the metrics that LightGBM evaluates with these parameters."""
    names = ("metric", "metrics", "metric_types")
    wanted: Any = next((params[name] for name in names if name in params), None)
    if wanted in (None, "", [], [""]):  # then that of the objective
        objective = params.get("objective")
        wanted = objective if isinstance(objective, str) and objective in _RANKING else []
    chosen = wanted.split(",") if isinstance(wanted, str) else [str(each) for each in wanted]
    cutoffs = next((params[key] for key in _CUTOFFS if key in params), (1, 2, 3, 4, 5))
    if isinstance(cutoffs, str):
        cutoffs = cutoffs.split(",")
    elif isinstance(cutoffs, int):
        cutoffs = (cutoffs,)
    found: list[str] = []
    for name in chosen:
        if name.lower() in ("none", "null", "na", "custom"):
            continue
        ranking = _RANKING.get(name)
        found += [f"{ranking}@{k}" for k in cutoffs] if ranking else [name]
    return found


def _query_weights(weight: Any, layout: QueryLayout) -> FloatArray:
    """Return the mean of the row weights of each query; 0 for a query without rows."""
    total = np.concatenate(([0.0], np.cumsum(check_weights(weight, layout))))
    sums: FloatArray = np.diff(total[layout.bounds])
    return sums / np.maximum(layout.sizes, 1)
