"""Metrics as LightGBM calls them: ``feval`` of ``lgb.train`` and ``eval_metric`` of LGBMRanker."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gbrank.core import (
    FloatArray,
    QueryLayout,
    TrainingData,
    check_labels,
    check_scores,
    check_weights,
)
from gbrank.metrics._base import Metric, measure_all, weighted_mean
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._registry import get_metric


class Feval:
    """A metric that LightGBM can call, in either of its forms: see :func:`feval`.

    What the labels decide is computed at the first call and kept as long as the label array lives;
    copies and pickles start without it.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._bound: dict[int, _Binding] = {}

    @property
    def name(self) -> str:
        """The name under which LightGBM lists the results."""
        return self.metric.full_name

    @property
    def greater_is_better(self) -> bool:
        """Whether early stopping waits for larger values."""
        return self.metric.greater_is_better

    def __repr__(self) -> str:
        return f"feval({self.metric!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"metric": self.metric, "_bound": {}}

    def __call__(
        self, a: Any, b: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Return (name, value, is higher better) for (preds, dataset) or (labels, scores, ...)."""
        n_jobs = None
        if TrainingData.is_dataset(b):  # the form of lgb.train
            data = TrainingData(b)
            labels, scores, weight, group = data.labels, a, data.weight, data.group
            n_jobs = data.n_threads
        else:
            labels, scores = a, b
        if group is None:
            raise ValueError(
                f"{self.name} needs to know the queries: give group to the lgb.Dataset, or "
                "eval_group to LGBMRanker.fit, for every set that is evaluated"
            )
        binding = self._bind(labels, weight, group)
        checked = check_scores(scores, binding.layout)
        (values,) = measure_all([binding.bound], checked, self.metric.n_jobs or n_jobs)
        value = weighted_mean(values, binding.weights, self.name)
        return self.name, value, self.greater_is_better

    def _bind(self, labels: Any, weight: Any, group: Any) -> _Binding:
        """Return the binding to these arrays, made at their first use.

        The label array is held weakly: once it is gone its entry goes too, so that another array at
        the same address is never taken for it.
        """
        found = self._bound.get(id(labels))
        if found is not None and found.is_of(labels, weight, group):
            return found
        binding = _Binding(self.metric, labels, weight, group)
        if isinstance(labels, np.ndarray):
            key, bound = id(labels), self._bound
            binding.labels = weakref.ref(labels, lambda _: bound.pop(key, None))
            bound[key] = binding
        return binding


class _Binding:
    """A metric bound to the labels, weights and groups of one training or validation set."""

    def __init__(self, metric: Metric, labels: Any, weight: Any, group: Any) -> None:
        self.labels: Any = None
        self.weight = weight
        self.group = group
        self.layout = QueryLayout.from_group(group, len(labels))
        checked = check_labels(labels, self.layout, signed=metric.signed_labels)
        self.bound = metric.bind(Judgments(checked, self.layout))
        self.weights = None if weight is None else _query_weights(weight, self.layout)

    def is_of(self, labels: Any, weight: Any, group: Any) -> bool:
        """Return whether this was made for these very arrays (or equal groups and weights)."""
        return (
            self.labels is not None
            and self.labels() is labels
            and _same(self.weight, weight)
            and _same(self.group, group)
        )


def feval(name: str | Metric, *, convention: str | None = None, **options: Any) -> Feval:
    """Return a metric for LightGBM, by its name.

    The object serves as ``feval`` of ``lgb.train`` and ``lgb.cv`` and as ``eval_metric`` of
    ``LGBMRanker.fit``. Set ``metric="None"`` besides, so that early stopping watches one metric
    only. It can be pickled and copied.

    LightGBM's weights are per row. As in LightGBM, the weight of a query is the mean of the weights
    of its rows, which need not be equal here.

    Parameters
    ----------
    name : a name of :func:`gbrank.metrics.list_metrics`, with a cut-off where there is one
        ("ndcg@10", "ndcg@0.2"), or a metric object.
    convention : as in :func:`gbrank.metrics.ndcg_score`.
    options : other options of the metric: ``gain``, ``empty``, ``ties``, ``n_jobs``, ...

    Examples
    --------
    >>> import numpy as np, lightgbm as lgb
    >>> from gbrank.metrics import feval
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    >>> data = lgb.Dataset(X, y, group=[20] * 10)
    >>> params = {"objective": "lambdarank", "metric": "None", "verbosity": -1}
    >>> seen = {}
    >>> _ = lgb.train(params, data, 3, valid_sets=[data], feval=feval("ndcg@10"),
    ...               callbacks=[lgb.record_evaluation(seen)])
    >>> list(seen["training"])
    ['ndcg@10']
    """
    if convention is not None:
        options["convention"] = convention
    return Feval(get_metric(name, **options))


def _query_weights(weight: Any, layout: QueryLayout) -> FloatArray:
    """Return the mean of the row weights of each query; 0 for a query without rows."""
    total = np.concatenate(([0.0], np.cumsum(check_weights(weight, layout))))
    sums: FloatArray = np.diff(total[layout.bounds])
    return sums / np.maximum(layout.sizes, 1)


def _same(kept: Any, given: Any) -> bool:
    if kept is given:
        return True
    return kept is not None and given is not None and np.array_equal(kept, given)
