"""The contract that every metric keeps, as one function for yours and for ours."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from gbrank.core import FloatArray, IntArray
from gbrank.metrics._base import Metric
from gbrank.metrics._feval import feval
from gbrank.metrics._registry import get_metric

_SIZES = (1, 2, 3, 4, 7, 20, 50)
_TOLERANCE = 1e-9


def check_metric(metric: str | Metric) -> None:
    """Raise an ``AssertionError`` that says what is wrong if a metric breaks the contract.

    Checked: its name; one finite number per query; that neither the order of rows, nor other
    queries, nor a monotone function of the scores changes it; that the order of labels is the best
    one; ties, against every order of short lists; blank queries and weights; cut-offs; equal bits
    for any number of threads, after ``pickle`` and ``deepcopy``; the form in which LightGBM calls.

    Parameters
    ----------
    metric : str or Metric
        The metric to check; it is not changed.

    Examples
    --------
    >>> from gbrank.metrics import check_metric, get_metric
    >>> check_metric("ndcg@3")
    >>> check_metric(get_metric("precision", threshold=1))
    """
    metric = get_metric(metric)
    name = repr(metric)
    assert isinstance(metric.name, str), f"{name}: the name must be text"
    assert metric.name, f"{name}: the name must not be empty"
    assert "@" not in metric.name, f"{name}: what follows an @ in a name is its cut-off"
    assert isinstance(metric.greater_is_better, bool), f"{name}: greater_is_better must be a bool"
    labels, scores, group = _example()
    _check_numbers(metric, labels, scores, group, name)
    _check_order_of_rows(metric, labels, scores, group, name)
    _check_independence(metric, labels, scores, group, name)
    _check_scale(metric, labels, scores, group, name)
    _check_best_order(metric, labels, scores, group, name)
    _check_ties(metric, name)
    _check_blank_queries_and_weights(metric, labels, scores, group, name)
    _check_cutoffs(metric, labels, scores, group, name)
    _check_copies_and_threads(metric, labels, scores, group, name)
    found = feval(metric)(labels, scores, None, group)
    expected = (metric.full_name, metric(labels, scores, group=group), metric.greater_is_better)
    assert found == expected, f"{name}: feval gives {found}, the metric itself {expected}"


def _example() -> tuple[FloatArray, FloatArray, IntArray]:
    """Return queries of several sizes, each with a label of 0 and, if it can, one of 4."""
    rng = np.random.default_rng(0)
    group = np.array(_SIZES, dtype=np.int64)
    labels = rng.choice(5, size=group.sum(), p=[0.4, 0.2, 0.2, 0.1, 0.1]).astype(np.float64)
    starts = np.cumsum(group) - group
    labels[starts] = 4.0
    labels[starts[1:] + 1] = 0.0
    return labels, rng.normal(size=len(labels)), group


def _with(metric: Metric, **changes: Any) -> Metric:
    twin = copy.copy(metric)
    for name, value in changes.items():
        setattr(twin, name, value)
    return twin


def _values(metric: Metric, labels: Any, scores: Any, group: Any) -> FloatArray:
    """Return one value per query, 0 for blank ones."""
    found = _with(metric, empty=0.0)(labels, scores, group=group, per_query=True)
    return np.asarray(found)


def _assert_equal(found: Any, expected: Any, message: str) -> None:
    assert np.allclose(found, expected, rtol=_TOLERANCE, atol=_TOLERANCE), (
        f"{message}: {found}, expected {expected}"
    )


def _check_numbers(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    values = _values(metric, labels, scores, group)
    assert values.shape == group.shape, f"{name}: {values.shape} values for {len(group)} queries"
    assert np.isfinite(values).all(), f"{name}: values must be finite, got {values}"
    if metric.k is None and not metric.no_cutoff:
        metric = _with(metric, k=2)  # the precision of whole lists does not depend on their order
    rare = np.where(labels == labels.max(), labels, 0.0)  # else any two documents may do as well
    changed = [
        not np.array_equal(_values(metric, y, scores, group), _values(metric, y, -scores, group))
        for y in (labels, rare)
    ]
    assert any(changed), f"{name}: reversing all lists changes nothing"


def _check_order_of_rows(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    metric = _with(metric, ties="average")
    bounds = np.concatenate(([0], np.cumsum(group)))
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(bounds)])
    for ranked in (scores, scores.round()):
        expected = _values(metric, labels, ranked, group)
        found = _values(metric, labels[order], ranked[order], group)
        _assert_equal(found, expected, f"{name}: the order of rows changes values")


def _check_independence(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    together = _values(metric, labels, scores, group)
    for at, end in enumerate(np.cumsum(group)):
        rows = slice(end - group[at], end)
        alone = _values(metric, labels[rows], scores[rows], group[at : at + 1])
        _assert_equal(alone, together[at], f"{name}: a query's value depends on other queries")


def _check_scale(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    ranked = scores.round(1)
    expected = _values(metric, labels, ranked, group)
    found = _values(metric, labels, np.exp(ranked), group)
    assert np.array_equal(found, expected), f"{name}: not the order of scores alone counts"


def _check_best_order(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    sign = 1.0 if metric.greater_is_better else -1.0
    best = sign * _values(metric, labels, labels, group)
    for other in (scores, -labels, np.zeros(len(labels))):
        worse = sign * _values(metric, labels, other, group)
        assert (worse <= best + _TOLERANCE).all(), (
            f"{name}: the order of labels is not the best: {sign * best} against {sign * worse}"
        )


def _check_ties(metric: Metric, name: str) -> None:
    """Compare each way to treat ties with the metric of lists that have none."""
    worst = min if metric.greater_is_better else max
    for labels in ([2.0, 0.0, 4.0], [4.0, 1.0, 0.0, 1.0], [0.0, 4.0, 4.0, 2.0]):
        for scores in ([1.0] * len(labels), [1.0, 1.0] + [0.0] * (len(labels) - 2)):
            rows = range(len(labels))
            orders = [
                order
                for order in permutations(rows)
                if all(scores[a] >= scores[b] for a, b in pairwise(order))
            ]
            untied = [_value_of_order(metric, labels, order) for order in orders]
            expected = {
                "average": sum(untied) / len(untied),
                "worst": worst(untied),
                "stable": untied[orders.index(tuple(sorted(rows, key=lambda i: -scores[i])))],
                "reverse": untied[
                    orders.index(tuple(sorted(rows, key=lambda i: (-scores[i], -i))))
                ],
            }
            for ties, value in expected.items():
                found = _values(_with(metric, ties=ties), labels, scores, [len(labels)])[0]
                _assert_equal(
                    found, value, f"{name} of labels {labels}, scores {scores}, ties={ties!r}"
                )


def _value_of_order(metric: Metric, labels: list[float], order: tuple[int, ...]) -> float:
    scores = np.empty(len(labels))
    scores[list(order)] = np.arange(len(labels), 0, -1)
    return float(_values(metric, labels, scores, [len(labels)])[0])


def _check_blank_queries_and_weights(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    labels = np.concatenate((labels, np.zeros(3)))
    scores = np.concatenate((scores, np.arange(3.0)))
    group = np.append(group, 3)
    skipped = np.asarray(_with(metric, empty="skip")(labels, scores, group=group, per_query=True))
    assert np.isnan(skipped[-1]), f"{name}: a query whose labels are all 0 must be blank"
    counted = np.asarray(_with(metric, empty=0.5)(labels, scores, group=group, per_query=True))
    assert counted[-1] == 0.5, f"{name}: a blank query must count what empty says"
    weights = np.arange(1.0, len(group) + 1)
    kept = ~np.isnan(skipped)
    found = _with(metric, empty="skip")(labels, scores, group=group, sample_weight=weights)
    expected = np.average(skipped[kept], weights=weights[kept])
    _assert_equal(found, expected, f"{name}: not the weighted mean of its values")


def _check_cutoffs(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    if metric.no_cutoff:
        return
    for k in (None, 1, 3, 1000, 0.3):
        values = _values(_with(metric, k=k), labels, scores, group)
        assert np.isfinite(values).all(), f"{name}: with k={k} values must be finite, got {values}"


def _check_copies_and_threads(
    metric: Metric, labels: FloatArray, scores: FloatArray, group: IntArray, name: str
) -> None:
    many = 400  # enough documents for several threads to get some
    arguments = (np.tile(labels, many), np.tile(scores.round(1), many), np.tile(group, many))
    single = _with(metric, n_jobs=1)
    expected = _values(single, *arguments)
    copies = {
        "with three threads": _with(metric, n_jobs=3),
        "after pickle": pickle.loads(pickle.dumps(single)),
        "after deepcopy": copy.deepcopy(single),
    }
    for how, twin in copies.items():
        found = _values(twin, *arguments)
        assert np.array_equal(found, expected), f"{name}: other numbers {how}"
