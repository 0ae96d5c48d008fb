"""What all metrics share: their options, the way from user input to one number per query.

A metric is a small object that holds its options. Binding it to labels does, once, all the work
that the labels alone decide (gains, the best possible DCG, the number of relevant documents); what
is left for each array of scores is to rank and to add up.
"""

from __future__ import annotations

import math
import numbers
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    BoolArray,
    FloatArray,
    IntArray,
    QueryLayout,
    check_labels,
    check_query_weights,
    check_scores,
    count_rows,
    cut_queries,
    did_you_mean,
    resolve_n_jobs,
    share_pieces,
)
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._ranks import TIES, check_cutoff, cutoffs, empty_ranking, rank_block
from gbrank.metrics.conventions import (
    AVERAGE,
    SINGLE_PRECISION,
    SKIP,
    apply_convention,
    as_read_by,
)

#: What ``empty=`` takes: leave blank queries out, or give them this value.
EmptySpec = str | float
#: What every metric returns: the mean over queries, or with ``per_query=True`` one value for each.
Score = float | FloatArray
#: Writes the values of a range of queries without ranking them; its arguments are ``scores, ties,
#: first, last, values``.
Shortcut = Callable[..., None]


class Metric(ABC):
    """A metric with its options; call it as ``metric(labels, scores, qid=...)``.

    :func:`gbrank.metrics.get_metric` makes one by its name. A metric of your own is easiest to
    write as a :class:`gbrank.metrics.SimpleMetric`. A direct subclass gives a ``name``, defaults of
    the options that it alone has (``own_options``), :meth:`prepare` and a ``kernel``; the cut-off,
    blank queries, ties, weights, threads and all checks of input are looked after here.

    Parameters
    ----------
    k, empty, ties, convention, n_jobs :
        As in :func:`gbrank.metrics.ndcg_score`.
    **own : keyword arguments
        Options that only this metric has.

    Attributes
    ----------
    name : str
        Of the class: what :func:`get_metric` knows it by.
    greater_is_better : bool
        Of the class: False for a loss.
    signed_labels : bool
        Of the class: whether labels may be negative, as only their order counts.
    no_cutoff : str
        Of the class: why there is no cut-off, for the error message; empty where there is one.
    whole_list : bool
        Of the class: whether the kernel looks at documents beyond the cut-off.
    own_options : dict
        Of the class: the defaults of its own options.
    kernel : callable
        Of the class: ``kernel(*data, cutoffs, bounds, codes, tied, counts, first, last, values)``
        writes the values of queries ``first`` to ``last``, of what :meth:`prepare` returned, the
        cut-off of each query and the ranked lists (:class:`Ranking`). Those of blank queries are
        replaced afterwards.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    signed_labels: ClassVar[bool] = False
    no_cutoff: ClassVar[str] = ""
    whole_list: ClassVar[bool] = False
    own_options: ClassVar[Mapping[str, Any]] = {}
    kernel: ClassVar[Callable[..., None]]

    def __init__(
        self,
        k: int | float | None = None,
        *,
        empty: EmptySpec = SKIP,
        ties: str = AVERAGE,
        convention: str | None = None,
        n_jobs: int | None = None,
        **own: Any,
    ) -> None:
        for option in own:
            if option not in self.own_options:
                known = ["k", *self.own_options, "empty", "ties", "convention", "n_jobs"]
                raise TypeError(
                    f"{self.name} has no option {option!r}{did_you_mean(option, known)}; it has "
                    f"{', '.join(known)}"
                )
        self.k = check_cutoff(k)
        if self.no_cutoff and k is not None:
            raise ValueError(f"{self.name} has no cut-off, as {self.no_cutoff}; got k={k!r}")
        given = {"empty": empty, "ties": ties, **self.own_options, **own}
        chosen = apply_convention(convention, given)
        self.empty = _check_empty(chosen.pop("empty"))
        self.ties = _check_ties(chosen.pop("ties"))
        self.options = chosen
        self.convention = convention
        resolve_n_jobs(n_jobs)  # raises for what is no number of threads
        self.n_jobs = n_jobs
        self.check_options()

    @property
    def full_name(self) -> str:
        """The name with its cut-off, as ``get_metric`` takes it: "ndcg@10"."""
        return self.name if self.k is None else f"{self.name}@{self.k!r}"

    def __repr__(self) -> str:
        shown = {"empty": self.empty, "ties": self.ties, **self.options}
        return f"<{self.full_name}: {', '.join(f'{key}={shown[key]!r}' for key in shown)}>"

    def __call__(
        self,
        labels: ArrayLike,
        scores: ArrayLike,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: ArrayLike | None = None,
        per_query: bool = False,
    ) -> Score:
        """Return the mean over queries, or one value per query."""
        layout = layout_of(labels, qid, group)
        checked_labels = check_labels(labels, layout, signed=self.signed_labels)
        checked_scores = check_scores(scores, layout)
        weights = None if sample_weight is None else check_query_weights(sample_weight, layout)
        bound = self.bind(Judgments(checked_labels, layout))
        (values,) = measure_all([bound], layout.sort(checked_scores), self.n_jobs)
        return values if per_query else weighted_mean(values, weights, self.full_name)

    def bind(self, judgments: Judgments) -> BoundMetric:
        """Do what the labels alone decide."""
        return BoundMetric(self, judgments)

    def check_options(self) -> None:  # noqa: B027, most have none to check
        """Raise an error for values of its own options (``self.options``) that make no sense."""

    def worst_by(self, judgments: Judgments, data: tuple[Any, ...]) -> FloatArray:
        """Return a table of codes by which, in ascending order, tied documents are worst."""
        return judgments.labels_of_codes

    def shortcut(self, judgments: Judgments, data: tuple[Any, ...]) -> Shortcut | None:
        """Return a quicker way than ranking, where these lists have one.

        Parameters
        ----------
        judgments : Judgments
            The labels.
        data : tuple
            What :meth:`prepare` returned.
        """
        return None

    @abstractmethod
    def prepare(self, judgments: Judgments, cutoffs: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        """Return what the kernel needs to know of the labels, and which queries are blank.

        Parameters
        ----------
        judgments : Judgments
            The labels: their codes, tables by code and sums within queries.
        cutoffs : ndarray of shape (n_queries,)
            Cut-off of each query.
        """


class BoundMetric:
    """A metric bound to labels: see :meth:`Metric.bind`."""

    def __init__(self, metric: Metric, judgments: Judgments) -> None:
        self.metric = metric
        self.layout = judgments.layout
        self.codes = judgments.codes
        sizes = self.layout.sizes
        self.cutoffs = cutoffs(sizes, metric.k)
        self.depths = sizes if metric.whole_list else self.cutoffs
        self.data, blank = metric.prepare(judgments, self.cutoffs)
        self.blank: BoolArray = blank | (sizes == 0)
        self._blank_at = np.flatnonzero(self.blank)
        self.worst_by = metric.worst_by(judgments, self.data)
        self.shortcut = metric.shortcut(judgments, self.data)
        self._cuts: dict[int, IntArray] = {}

    def cuts(self, n_threads: int) -> IntArray:
        """Return where the queries are cut for so many threads."""
        if n_threads not in self._cuts:
            self._cuts[n_threads] = cut_queries(self.layout.sizes, n_threads)
        return self._cuts[n_threads]

    def fill_blanks(self, values: FloatArray) -> FloatArray:
        """Give blank queries the value that ``empty`` says."""
        values[self._blank_at] = np.nan if self.metric.empty == "skip" else self.metric.empty
        return values


def measure_all(
    bound: Sequence[BoundMetric],
    scores: FloatArray,
    n_jobs: int | None,
    *,
    in_lightgbm: bool = False,
    are_finite: bool = True,
) -> list[FloatArray]:
    """Return the values per query of several metrics bound to the same labels; NaN if left out.

    Metrics that see the same ranking share its sort; other policies for ties need their own.
    ``scores`` are checked, and in the order of queries; ``in_lightgbm`` is as for ``share_pieces``.
    Unless they ``are_finite`` for sure, each thread looks at its own before it ranks them.
    """
    sharing: dict[tuple[Any, ...], list[int]] = {}
    for at, each in enumerate(bound):
        worst_by = id(each.worst_by) if each.metric.ties == "worst" else None
        single = each.metric.convention in SINGLE_PRECISION
        sharing.setdefault((each.metric.ties, worst_by, single), []).append(at)
    values = [np.empty(each.layout.n_queries) for each in bound]
    for members in sharing.values():
        together, found = [bound[at] for at in members], [values[at] for at in members]
        _measure_together(together, scores, n_jobs, in_lightgbm, are_finite, found)
    return [each.fill_blanks(found) for each, found in zip(bound, values, strict=True)]


def _measure_together(
    bound: list[BoundMetric],
    scores: FloatArray,
    n_jobs: int | None,
    in_lightgbm: bool,
    are_finite: bool,
    values: list[FloatArray],
) -> None:
    """Rank once, as deep as any of the metrics looks, and let each write its values.

    Those that have a shortcut take it, whatever the others do, and give the same bits.
    """
    first_bound, layout = bound[0], bound[0].layout
    bounds, codes = layout.bounds, first_bound.codes
    keys = as_read_by(first_bound.metric.convention, scores)
    ties = TIES[first_bound.metric.ties]
    n_threads = resolve_n_jobs(n_jobs)
    cuts = first_bound.cuts(n_threads)
    found = list(zip(bound, values, strict=True))
    quick = [(each.shortcut, into) for each, into in found if each.shortcut is not None]
    ranked = [(each, into) for each, into in found if each.shortcut is None]
    if ranked:
        depths = np.maximum.reduce([each.depths for each, _ in ranked])
        ranking = empty_ranking(codes, layout.n_queries)

    def work(_: int, piece: int) -> None:
        first, last = cuts[piece], cuts[piece + 1]
        if not are_finite and not np.isfinite(scores[bounds[first] : bounds[last]]).all():
            check_scores(scores, layout)  # says where
        for write, into in quick:
            write(keys, ties, first, last, into)
        if ranked:
            worst_by = first_bound.worst_by
            rank_block(keys, bounds, depths, ties, codes, worst_by, first, last, *ranking)
        for each, into in ranked:
            each.metric.kernel(*each.data, each.cutoffs, bounds, *ranking, first, last, into)

    share_pieces(work, len(cuts) - 1, n_threads, in_lightgbm=in_lightgbm)


def layout_of(labels: ArrayLike, qid: Any, group: Any) -> QueryLayout:
    """Return the layout of the rows that ``labels`` has; raise an error if there are none."""
    n_rows = count_rows(labels, "labels")
    if n_rows == 0:
        raise ValueError("labels must have at least one row, got none")
    return QueryLayout.from_either(qid, group, n_rows)


def weighted_mean(values: FloatArray, weights: FloatArray | None, name: str) -> float:
    """Return the mean of the values that are not NaN; NaN, with a warning, where there is none."""
    mean = float(values.mean()) if weights is None else math.nan
    if not math.isnan(mean):  # every query counts
        return mean
    kept = ~np.isnan(values)
    if weights is None:
        total = float(np.count_nonzero(kept))
        summed = float(np.sum(values, where=kept))
    else:
        largest = float(np.max(weights, where=kept, initial=0.0))
        if largest > 0 and not 1e-200 < largest < 1e200:  # sums would overflow, or lose digits
            weights = weights / largest
        total = float(np.sum(weights, where=kept))
        summed = float(np.sum(values * weights, where=kept))
    if total > 0:
        return summed / total
    warnings.warn(
        f"{name} is NaN: "
        + ("every query is blank" if not kept.any() else "the weights of all queries sum to 0"),
        UserWarning,
        stacklevel=3,
    )
    return float("nan")


def _check_empty(empty: Any) -> EmptySpec:
    if isinstance(empty, str):
        if empty == "skip":
            return str(empty)
    elif isinstance(empty, numbers.Real) and not isinstance(empty, bool) and math.isfinite(empty):
        return float(empty)
    raise ValueError(f'empty must be "skip" or a finite number such as 0.0 or 1.0, got {empty!r}')


def _check_ties(ties: Any) -> str:
    if isinstance(ties, str) and ties in TIES:
        return str(ties)
    raise ValueError(f"ties must be one of {sorted(TIES)}, got {ties!r}")
