"""A metric of one's own: a function of the labels of one ranked list."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

from gbrank.core import BoolArray, FloatArray, IntArray
from gbrank.metrics._base import Metric
from gbrank.metrics._judgments import Judgments

#: Ties that allow up to this many orders are averaged over all, others over as many at random.
N_ORDERS = 100


class SimpleMetric(Metric):
    """A metric that is written as a function of the labels of one list, best document first.

    A subclass gives a ``name`` and :meth:`value`, and :meth:`is_blank` where other queries are
    blank than those without a label above 0. :func:`gbrank.metrics.register_metric` makes it known
    by its name. It is plain Python, so slower than the metrics of gbrank.

    With ``ties="average"`` a list with equal scores is valued in every order that they allow; where
    there are more than 100, in 100 orders drawn at random, the same ones in each call.

    Parameters
    ----------
    k, empty, ties, convention, n_jobs :
        As in :func:`gbrank.metrics.ndcg_score`.
    **own : keyword arguments
        Options that only this metric has: those for which the class has a default in
        ``own_options``, a dict. Their values are in ``self.options``.

    Examples
    --------
    >>> from gbrank.metrics import SimpleMetric, evaluate
    >>> class Success(SimpleMetric):
    ...     name = "success"
    ...     def value(self, labels, k):
    ...         return float((labels[:k] > 0).any())
    >>> labels, scores, group = [1, 0, 0, 1], [2, 1, 2, 1], [2, 2]
    >>> evaluate(labels, scores, group=group, metrics=[Success(1), Success(2)])
    model  success@1  success@2
    -----  ---------  ---------
    model     0.5000     1.0000
    """

    whole_list = True

    @abstractmethod
    def value(self, labels: FloatArray, k: int) -> float:
        """Return the value of one list.

        Parameters
        ----------
        labels : ndarray
            The labels of all its documents, best rank first.
        k : int
            Cut-off, which may lie beyond the end of the list; without one the length of the list.
        """

    def is_blank(self, labels: FloatArray) -> bool:
        """Return whether a query with these labels is blank."""
        return not (labels > 0).any()

    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        labels, codes, bounds = judgments.labels_of_codes, judgments.codes, judgments.layout.bounds
        blank = np.array(
            [
                first == last or bool(self.is_blank(labels[codes[first:last]]))
                for first, last in pairwise(bounds)
            ],
            dtype=np.bool_,
        )
        return (self, labels, blank), blank

    @staticmethod
    def kernel(
        metric: SimpleMetric,
        labels_of_codes: FloatArray,
        blank: BoolArray,
        cutoffs: IntArray,
        bounds: IntArray,
        codes: IntArray,
        tied: BoolArray,
        counts: IntArray,
        first: int,
        last: int,
        values: FloatArray,
    ) -> None:
        """Write the values of queries ``first`` to ``last``."""
        for q in range(first, last):
            if blank[q]:
                continue
            rows = slice(bounds[q], bounds[q + 1])
            orders = _orders(labels_of_codes[codes[rows]], tied[rows])
            found = [float(metric.value(order, int(cutoffs[q]))) for order in orders]
            values[q] = sum(found) / len(found)
            if not math.isfinite(values[q]):
                raise ValueError(
                    f"{metric.full_name} must give finite numbers, got {values[q]} for query {q}"
                )


def _orders(labels: FloatArray, tied: BoolArray) -> Iterator[FloatArray]:
    """Yield the labels in every order that ties allow, or in some at random if these are many."""
    starts = np.flatnonzero(np.concatenate(([True], ~tied[:-1])))
    groups = [np.sort(group) for group in np.split(labels, starts[1:])]
    if math.prod(map(_count_orders, groups)) <= N_ORDERS:
        for parts in product(*(list(_arrange(group.tolist())) for group in groups)):
            yield np.concatenate(parts)
    else:
        rng = np.random.default_rng(0)
        for _ in range(N_ORDERS):
            yield np.concatenate([rng.permutation(group) for group in groups])


def _count_orders(group: FloatArray) -> int:
    """Return in how many ways labels can be ordered; equal ones are not told apart."""
    equal = math.prod(math.factorial(count) for count in Counter(group.tolist()).values())
    return math.factorial(len(group)) // equal


def _arrange(items: list[float]) -> Iterator[list[float]]:
    """Yield the different orders of sorted items."""
    if not items:
        yield []
    for at, item in enumerate(items):
        if at == 0 or items[at - 1] != item:
            for rest in _arrange(items[:at] + items[at + 1 :]):
                yield [item, *rest]
