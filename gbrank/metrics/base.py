"""What all metrics share: their options, the way from user input to one number per query.

A metric is a small object that holds its options. Binding it to labels does, once, all the work
that the labels alone decide (gains, the best possible DCG, the number of relevant documents); what
is left for each array of scores is to rank and to add up.
"""

import math
import numbers
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    check_labels,
    check_query_weights,
    check_scores,
    count_rows,
    cut_queries,
    resolve_n_jobs,
    run_blocks,
)
from gbrank.metrics.conventions import (
    SINGLE_PRECISION,
    Default,
    DefaultNumber,
    apply_convention,
    as_read_by,
)
from gbrank.metrics.judgments import Judgments
from gbrank.metrics.ranks import TIES, Ranking, check_cutoff, cutoffs, empty_ranking, rank_block

#: What ``empty=`` takes: leave blank queries out, or give them this value.
EmptySpec = str | float
BoolArray = NDArray[np.bool_]
#: What every metric returns: the mean over queries, or with ``per_query=True`` one value for each.
Score = float | FloatArray

SKIP = Default("skip")
AVERAGE = Default("average")
EXP = Default("exp")
LOG = Default("log")
ZERO = DefaultNumber(0.0)

_COMMON_PARAMETERS = """labels : one relevance label per row, finite and >= 0.
    scores : one score per row, finite; the larger, the better the rank.
    qid : one query id per row, in any order; or
    group : the number of rows of each query, in order. Exactly one of the two must be given.
    k : cut-off: an integer of documents, or a fraction in (0, 1] of each list (a float: 1.0 is
        the whole list, 1 its first document). None looks at the whole list.
    sample_weight : one weight >= 0 per query, or one per row that is constant within each query.
        The result is the weighted mean over queries.
    empty : what a blank query counts: "skip" leaves it out of the mean, a number stands for it.
    ties : order of equal scores: "average" is the exact expectation over random order, "stable"
        keeps the order of rows, "reverse" puts later rows first, "worst" takes the order with the
        worst result.
    per_query : return one value per query, in the order of their first rows (NaN for those that
        are left out), instead of the mean.
    convention : None, "lightgbm", "sklearn", "letor" or "trec": defaults of the options above as
        that system has them, see :mod:`gbrank.metrics.conventions`. Options given here win.
    n_jobs : number of threads; None for ``OMP_NUM_THREADS`` or else all CPUs."""

Function = TypeVar("Function", bound=Callable[..., Any])


def documented(function: Function) -> Function:
    """Write the parameters that all metrics share into the place ``{common}`` of a docstring."""
    if function.__doc__:  # there is none under python -OO
        function.__doc__ = function.__doc__.replace("{common}", _COMMON_PARAMETERS)
    return function


class Metric(ABC):
    """A metric with its options; call it as ``metric(labels, scores, qid=...)``.

    Subclasses define ``name``, :meth:`_bind` and :meth:`_measure`; the cut-off, blank queries,
    ties, weights, threads and all checks of input are looked after here.

    Parameters
    ----------
    k, empty, ties, convention, n_jobs : as in :func:`gbrank.metrics.ndcg_score`.
    own : the options that only this metric has; a convention may set them too.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    #: Whether labels may be negative: only where nothing but their order counts.
    signed_labels: ClassVar[bool] = False
    #: Why there is no cut-off, for the error message; empty where there is one.
    no_cutoff: ClassVar[str] = ""

    def __init__(
        self,
        k: int | float | None = None,
        *,
        empty: EmptySpec = SKIP,
        ties: str = AVERAGE,
        convention: str | None = None,
        n_jobs: int | None = None,
        own: dict[str, Any] | None = None,
    ) -> None:
        self.k = check_cutoff(k)
        if self.no_cutoff and k is not None:
            raise ValueError(f"{self.name} has no cut-off, as {self.no_cutoff}; got k={k!r}")
        chosen = apply_convention(convention, {"empty": empty, "ties": ties, **(own or {})})
        self.empty = _check_empty(chosen.pop("empty"))
        self.ties = _check_ties(chosen.pop("ties"))
        self.options = chosen
        self.convention = convention
        resolve_n_jobs(n_jobs)  # refuses what is no number of threads
        self.n_jobs = n_jobs

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
        values = bound.measure(layout.sort(checked_scores))
        return values if per_query else weighted_mean(values, weights, self.full_name)

    def bind(self, judgments: Judgments) -> "BoundMetric":
        """Do what the labels alone decide."""
        sizes = judgments.layout.sizes
        ranks = cutoffs(sizes, self.k)
        data, blank = self._bind(judgments, ranks)
        return BoundMetric(self, judgments, ranks, data, blank | (sizes == 0))

    def worst_by(self, judgments: Judgments, data: tuple[Any, ...]) -> FloatArray:
        """Return a table of codes by which, in ascending order, tied documents are worst."""
        return judgments.labels_of_codes

    @abstractmethod
    def _bind(self, judgments: Judgments, ranks: IntArray) -> tuple[tuple[Any, ...], BoolArray]:
        """Return what :meth:`_measure` needs, and which queries are blank."""

    @staticmethod
    @abstractmethod
    def _measure(
        data: tuple[Any, ...],
        ranks: IntArray,
        bounds: IntArray,
        ranking: Ranking,
        first: int,
        last: int,
        values: FloatArray,
    ) -> None:
        """Write the values of queries ``first`` to ``last``; those of blank ones are replaced."""


class BoundMetric:
    """A metric bound to labels: see :meth:`Metric.bind`."""

    def __init__(
        self,
        metric: Metric,
        judgments: Judgments,
        ranks: IntArray,
        data: tuple[Any, ...],
        blank: BoolArray,
    ) -> None:
        self.metric = metric
        self.layout = judgments.layout
        self.codes = judgments.codes
        self.ranks = ranks
        self.data = data
        self.blank = blank
        self.worst_by = metric.worst_by(judgments, data)

    def measure(self, scores: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return one value per query for checked scores in query order; NaN where left out."""
        n_jobs = self.metric.n_jobs if n_jobs is None else n_jobs
        return measure_all([self], scores, n_jobs)[0]

    def fill_blanks(self, values: FloatArray) -> FloatArray:
        """Give blank queries the value that ``empty`` says."""
        values[self.blank] = np.nan if self.metric.empty == "skip" else self.metric.empty
        return values


def measure_all(
    bound: Sequence[BoundMetric], scores: FloatArray, n_jobs: int | None
) -> list[FloatArray]:
    """Return the values per query of several metrics bound to the same labels.

    Metrics that see the same ranking share its sort; other policies for ties need their own.
    """
    sharing: dict[tuple[Any, ...], list[int]] = {}
    for at, each in enumerate(bound):
        worst_by = id(each.worst_by) if each.metric.ties == "worst" else None
        single = each.metric.convention in SINGLE_PRECISION
        sharing.setdefault((each.metric.ties, worst_by, single), []).append(at)
    values = [np.empty(each.layout.n_queries) for each in bound]
    for members in sharing.values():
        _measure_together(
            [bound[at] for at in members], scores, n_jobs, [values[at] for at in members]
        )
    return [each.fill_blanks(found) for each, found in zip(bound, values, strict=True)]


def _measure_together(
    bound: list[BoundMetric], scores: FloatArray, n_jobs: int | None, values: list[FloatArray]
) -> None:
    """Rank once, as deep as any of the metrics looks, and let each write its values."""
    chief = bound[0]
    bounds, codes = chief.layout.bounds, chief.codes
    depths = np.maximum.reduce([each.ranks for each in bound])
    keys = as_read_by(chief.metric.convention, scores)
    ties = TIES[chief.metric.ties]
    ranking = empty_ranking(codes, chief.layout.n_queries)

    def work(block: int, first: int, last: int) -> None:
        rank_block(keys, bounds, depths, ties, codes, chief.worst_by, first, last, *ranking)
        for each, found in zip(bound, values, strict=True):
            each.metric._measure(each.data, each.ranks, bounds, ranking, first, last, found)

    run_blocks(work, cut_queries(chief.layout.sizes, resolve_n_jobs(n_jobs)))


def layout_of(labels: ArrayLike, qid: Any, group: Any) -> QueryLayout:
    """Return the layout of the rows that ``labels`` has; refuse none at all."""
    n_rows = count_rows(labels, "labels")
    if n_rows == 0:
        raise ValueError("labels must have at least one row, got none")
    return QueryLayout.from_either(qid, group, n_rows)


def weighted_mean(values: FloatArray, weights: FloatArray | None, name: str) -> float:
    """Return the mean of the values that are not NaN; NaN, with a warning, where there is none."""
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


def check_threshold(threshold: Any) -> None:
    """Refuse anything but a finite number."""
    if (
        isinstance(threshold, bool)
        or not isinstance(threshold, numbers.Real)
        or not math.isfinite(threshold)
    ):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}")


def tabulate_relevance(judgments: Judgments, threshold: float) -> FloatArray:
    """Return 1 for the codes of relevant labels, those above ``threshold``, and 0 for others."""
    return judgments.tabulate(lambda labels, _: (labels > threshold).astype(np.float64))
