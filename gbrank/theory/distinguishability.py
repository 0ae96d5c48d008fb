"""Can a measure tell two rankers apart? Shown on samples that grow.

A measure distinguishes two rankers consistently (definition 5) if one of them is ahead on almost
every sample, and stays ahead at all sizes n >= N of the growing sample, N being large enough; it
distinguishes them in expectation (definition 18) if its mean has the same order at all n >= N.

What is known of NDCG, for independent documents and rankers whose relevance profiles
(:class:`~gbrank.theory.profile.RelevanceProfile`) are smooth and differ:

- The logarithmic discount distinguishes all such rankers, although every ranker's NDCG tends to 1
  (theorems 4 and 6), and so it does with a cut-off k = c n.
- ``rank^-beta``, beta < 1, distinguishes those whose limits differ (theorem 8, first condition).
  Those with the same limit it does not (:func:`~gbrank.theory.theorem_8_counterexample`),
  although the second condition of theorem 8 says so.
- Discounts with a finite sum, 2^-rank or a fixed cut-off among them, distinguish no two rankers
  (theorem 10).

:func:`distinguish` measures it; :mod:`gbrank.theory.limits` has the limits, and
:mod:`gbrank.theory.sample_size` the number of queries that a difference takes to be seen.

Reference: Wang, Wang, Li, He, Chen, Liu, A theoretical analysis of NDCG ranking measures, COLT
2013.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    DiscountSpec,
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_integer,
    check_labels,
    check_scores,
)
from gbrank.metrics import ROUNDING, Metric, evaluate, get_metric, text_table
from gbrank.theory.profile import single_or_many

#: What ``discounts=`` takes: discounts or metrics, or a dict of them under names of your own.
MeasuresSpec = (
    DiscountSpec | Metric | Iterable[DiscountSpec | Metric] | Mapping[str, DiscountSpec | Metric]
)

#: Lists that are measured if the number of orders is left open.
_DEFAULT_LISTS = 100
#: Documents that are measured in one go.
_BATCH = 2**21


@dataclass(frozen=True)
class MeasureVerdict:
    """How one measure orders rankers a and b as lists grow; arrays have one entry per size.

    Attributes
    ----------
    winner : "a" or "b": the ranker that is ahead in more lists at the largest size, or by its mean
        where these are equal; None if the measure never tells them apart.
    from_size : smallest size from which on the winner is ahead, at all sizes measured, in at least
        the share ``confidence`` of lists; None if it is not even at the largest (definition 5).
    from_size_in_expectation : the same for the means (definition 18).
    consistent : share of lists in which the winner is ahead at this size and at all larger ones.
    a_better, b_better : shares of lists in which a, or b, is ahead at this size.
    mean_a, mean_b : means of the measure over lists. Those without a relevant document are left
        out, and count for neither in the shares.
    std_a, std_b : standard deviations over lists, which do not shrink if the measure does not
        converge.
    """

    winner: str | None
    from_size: int | None
    from_size_in_expectation: int | None
    consistent: FloatArray = field(repr=False)
    a_better: FloatArray = field(repr=False)
    b_better: FloatArray = field(repr=False)
    mean_a: FloatArray = field(repr=False)
    mean_b: FloatArray = field(repr=False)
    std_a: FloatArray = field(repr=False)
    std_b: FloatArray = field(repr=False)


class Distinguishability:
    """What :func:`distinguish` found: ``result["log"]`` is the verdict of one measure.

    Attributes
    ----------
    sizes : int64 array, the list sizes.
    verdicts : dict of :class:`MeasureVerdict` by the name of the measure.
    n_lists : number of growing lists.
    confidence : share of lists from which on rankers count as distinguished.
    """

    def __init__(
        self, sizes: IntArray, verdicts: dict[str, MeasureVerdict], n_lists: int, confidence: float
    ) -> None:
        self.sizes = sizes
        self.verdicts = verdicts
        self.n_lists = n_lists
        self.confidence = confidence

    def __getitem__(self, measure: str) -> MeasureVerdict:
        if measure not in self.verdicts:
            raise KeyError(f"no measure {measure!r}; there are {', '.join(self.verdicts)}")
        return self.verdicts[measure]

    def __str__(self) -> str:
        rows = [
            [
                name,
                verdict.winner or "-",
                "-" if verdict.from_size is None else str(verdict.from_size),
                f"{verdict.consistent[-1]:.2f}",
                f"{verdict.mean_a[-1]:.4f}",
                f"{verdict.mean_b[-1]:.4f}",
            ]
            for name, verdict in self.verdicts.items()
        ]
        last = self.sizes[-1]
        header = ["measure", "ahead", "from n", f"share, n={last}", "mean a", "mean b"]
        return (
            f"{self.n_lists} lists of {self.sizes[0]} to {last} documents; ahead in "
            f"{self.confidence:.0%} of lists from n on\n\n{text_table(header, rows)}"
        )

    __repr__ = __str__


def distinguish(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    labels: ArrayLike,
    discounts: MeasuresSpec = ("log", "power", "zipf", "exp"),
    sizes: ArrayLike | None = None,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | float | None = None,
    gain: GainSpec = "exp",
    n_orders: int | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Distinguishability:
    """Measure how often NDCG orders two rankers the same way on growing lists, and from where on.

    The documents of each query are put in random order, and of each order the first n make the
    list of size n: lists grow as in definition 5. Near the size of the query all orders hold the
    same documents, so that their agreement says little: give many more documents than the largest
    size, or many queries. Nor does it say much that a ranker stays ahead from the last sizes on:
    there is little left to fail in.

    Parameters
    ----------
    scores_a, scores_b, labels : one per row.
    discounts : discounts of NDCG, "log", "power", "zipf", "exp", ``PowerDiscount(beta)`` or a
        function of the ranks; or any metric objects (:func:`gbrank.metrics.get_metric`); one, a
        list, or a dict under names of your own.
    sizes : increasing list sizes; None for ten from 10 up to the size of the smallest query.
    qid, group : the query of each row, or rows per query; neither if there is but one query.
    k : cut-off of NDCG: None, a number, or a fraction of the list in (0, 1].
    gain : gain of labels in NDCG.
    n_orders : random orders of each query; 0 takes rows as they come (documents by age, say). None
        for so many that there are at least 100 lists.
    confidence : share of lists in which the better ranker must stay ahead.
    random_state : seed of the orders.
    n_jobs : number of threads.

    Returns
    -------
    Distinguishability
        One :class:`MeasureVerdict` per measure; it prints as a table.

    References
    ----------
    Wang, Wang, Li, He, Chen and Liu, "A theoretical analysis of NDCG ranking measures", 2013,
    definitions 5 and 18, theorems 6, 8 and 10.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.theory import distinguish
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.random(20_000)
    >>> labels = (rng.random(20_000) < quality).astype(int)
    >>> fair, random = quality + rng.normal(size=20_000), rng.random(20_000)
    >>> found = distinguish(fair, random, labels, ["log", "exp"], [10, 100, 1000])
    >>> found["log"].winner, found["log"].from_size, found["exp"].from_size
    ('a', 1000, None)
    """
    layout = single_or_many(len(np.asarray(labels)), qid, group)
    columns = {
        "labels": check_labels(labels, layout),
        "a": _check_named_scores("scores_a", scores_a, layout),
        "b": _check_named_scores("scores_b", scores_b, layout),
    }
    rows = {name: layout.sort(column) for name, column in columns.items()}
    measures = _measures(discounts, k, gain)
    list_sizes = _check_sizes(sizes, layout)
    if not 0.5 < confidence <= 1:
        raise ValueError(f"confidence must be above 1/2 and at most 1, got {confidence!r}")
    n_lists = layout.n_queries * _repeats(n_orders, layout.n_queries)

    values = {name: np.empty((2, n_lists, len(list_sizes))) for name in measures}
    batch = max(1, _BATCH // int(list_sizes[-1]))
    for low in range(0, n_lists, batch):
        lists = range(low, min(low + batch, n_lists))
        drawn = np.array(
            [_draw(layout, at, int(list_sizes[-1]), n_orders, random_state) for at in lists]
        )
        for place, size in enumerate(list_sizes):
            chosen = drawn[:, :size].ravel()
            table = evaluate(
                rows["labels"][chosen],
                {"a": rows["a"][chosen], "b": rows["b"][chosen]},
                group=np.full(len(lists), size),
                metrics=measures,
                per_query=True,
                n_jobs=n_jobs,
            )
            for name in measures:
                values[name][:, lists.start : lists.stop, place] = table[name]
    verdicts = {
        name: _judge(values[name], list_sizes, confidence, metric.greater_is_better)
        for name, metric in measures.items()
    }
    return Distinguishability(list_sizes, verdicts, n_lists, confidence)


def _judge(
    values: FloatArray, sizes: IntArray, confidence: float, greater_is_better: bool
) -> MeasureVerdict:
    """Judge one measure by its values for (ranker, list, size)."""
    means = np.full((2, len(sizes)), np.nan)
    spreads = np.full((2, len(sizes)), np.nan)
    for at in range(len(sizes)):
        counted = values[:, ~np.isnan(values[0, :, at]), at]
        if counted.shape[1]:
            means[:, at] = counted.mean(axis=1)
            spreads[:, at] = counted.std(axis=1)
    lead = values[0] - values[1] if greater_is_better else values[1] - values[0]
    mean_lead = means[0] - means[1] if greater_is_better else means[1] - means[0]
    a_ahead, b_ahead = lead > ROUNDING, lead < -ROUNDING  # NaN is neither
    votes = np.count_nonzero(a_ahead[:, -1]) - np.count_nonzero(b_ahead[:, -1]) or mean_lead[-1]
    a_wins = bool(votes > 0)
    ahead = a_ahead if a_wins else b_ahead
    expected = mean_lead > ROUNDING if a_wins else mean_lead < -ROUNDING
    consistent = _from_here_on(ahead).mean(axis=0)
    return MeasureVerdict(
        winner=("a" if a_wins else "b") if abs(votes) > ROUNDING else None,
        from_size=_first(sizes, consistent >= confidence),
        from_size_in_expectation=_first(sizes, _from_here_on(expected)),
        consistent=consistent,
        a_better=a_ahead.mean(axis=0),
        b_better=b_ahead.mean(axis=0),
        mean_a=means[0],
        mean_b=means[1],
        std_a=spreads[0],
        std_b=spreads[1],
    )


def _from_here_on(holds: Any) -> Any:
    """Return where something holds at this size and at all larger ones, along the last axis."""
    return np.logical_and.accumulate(holds[..., ::-1], axis=-1)[..., ::-1]


def _first(sizes: IntArray, holds: Any) -> int | None:
    return int(sizes[np.argmax(holds)]) if holds.any() else None


def _draw(
    layout: QueryLayout, number: int, size: int, n_orders: int | None, random_state: int
) -> IntArray:
    """Return the rows of list ``number`` in the order in which it grows."""
    start, stop = layout.bounds[number % layout.n_queries :][:2]
    if n_orders == 0:
        return np.arange(start, start + size)
    rng = np.random.default_rng([random_state, number])
    picked: IntArray = start + rng.choice(stop - start, size, replace=False)  # in random order
    return picked


def _measures(discounts: MeasuresSpec, k: Any, gain: GainSpec) -> dict[str, Metric]:
    """Return the measures by name."""
    given: Any = discounts
    if isinstance(given, str) or callable(given):  # metrics and functions can be called
        given = [given]
    named = given.items() if isinstance(given, Mapping) else ((None, each) for each in given)
    measures: dict[str, Metric] = {}
    for name, each in named:
        if isinstance(each, Metric):
            metric, own_name = each, each.full_name
        else:
            metric = get_metric("ndcg", k=k, gain=gain, discount=each)
            shown = each if isinstance(each, str) else getattr(each, "__name__", repr(each))
            own_name = shown if k is None else f"{shown}@{k}"
        name = own_name if name is None else str(name)
        if name in measures:
            raise ValueError(
                f"discounts must have different names, but {name!r} comes twice; give a dict"
            )
        measures[name] = metric
    if not measures:
        raise ValueError("discounts must hold at least one discount or metric, got none")
    return measures


def _check_named_scores(name: str, scores: ArrayLike, layout: QueryLayout) -> FloatArray:
    try:
        return check_scores(scores, layout)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _check_sizes(sizes: Any, layout: QueryLayout) -> IntArray:
    smallest = int(np.argmin(layout.sizes))
    most = int(layout.sizes[smallest])
    if sizes is None:
        return np.unique(np.geomspace(min(10, most), most, 10).round().astype(np.int64))
    found = np.asarray(sizes)
    whole = found.ndim == 1 and len(found) > 0 and found.dtype.kind in "iu"
    if not whole or found[0] < 1 or (np.diff(found) <= 0).any():
        raise ValueError(f"sizes must be increasing integers >= 1, got {sizes!r}")
    if found[-1] > most:
        name = smallest if layout.query_ids is None else layout.query_ids[smallest]
        raise ValueError(
            f"sizes go up to {found[-1]}, but query {name!s} has only {most} documents"
        )
    return found.astype(np.int64)


def _repeats(n_orders: Any, n_queries: int) -> int:
    if n_orders is None:
        return -(-_DEFAULT_LISTS // n_queries)
    check_integer("n_orders", n_orders, low=0, also="None")
    return max(1, int(n_orders))
