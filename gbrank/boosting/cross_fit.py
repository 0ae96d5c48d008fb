"""Cross-fitting: boosters in step, each judged on whole queries that it does not see.

Queries are cut into parts; a member, which is a loss and a start, has one booster per part, grown
on the queries outside it, and one grown on all queries in step with these. After every tree all
held-out queries together, scored by the boosters that did not see them, say how good the member is,
and it stops growing when that has not improved for long. Features are binned once, for all
boosters.
"""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import lightgbm as lgb
import numpy as np
from lightgbm.callback import CallbackEnv, EarlyStopException

from gbrank.boosting.callbacks import InterruptAfterTree, ShowProgress, StopEarly
from gbrank.boosting.documents import in_lightgbm_units, mean_hessian
from gbrank.boosting.fold_datasets import FoldDatasets, Part
from gbrank.boosting.held_out import HeldOut
from gbrank.boosting.train import TrainingOptions, memory_errors
from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    hold_out_queries,
    query_folds,
    share_pieces,
)
from gbrank.objectives import Objective

#: Rows above which one part is held out instead of every query once: one booster a member, not
#: several. So many rows say well enough when to stop.
MOST_ROWS = 100_000
#: What the booster that sees all queries counts for, next to those of the folds.
WHOLE_SHARE = 0.5
#: Up to how many rows times features, and from which share of features in a tree, histograms are
#: made by rows: on eight real sets, none larger, that grew the same trees in 66% to 103% of the
#: time (benchmarks/histograms.py). With a smaller share by columns is mostly faster.
LARGEST_BY_ROWS, LEAST_FEATURES_BY_ROWS = 2_000_000, 0.7
#: Queries that a part needs.
FEWEST_QUERIES = 5
#: Trees that wait to be judged, at most, and numbers that their held-out scores may be in all.
MOST_WAITING, MOST_WAITING_SCORES = 32, 1_000_000


def cut_parts(layout: QueryLayout, n_folds: int, fraction: float | None, seed: int) -> list[Part]:
    """Return what each booster of a member is grown on and judged by; nothing for few queries.

    After the folds comes a part of all queries, which nothing judges: its booster grows in step.

    Parameters
    ----------
    layout : the queries, their rows in order, none of them empty.
    n_folds : into how many folds queries are cut, or fewer where these would be too small.
    fraction : of the queries held out where there are too many rows for folds.
    seed : of the draw.
    """
    n_queries = layout.n_queries
    if n_queries < 2 * FEWEST_QUERIES:
        return []
    if layout.n_rows > MOST_ROWS:
        if fraction is None:
            raise ValueError(
                f"validation_fraction must be a number with more than {MOST_ROWS:,} rows: folds "
                "are for fewer, so that one part of the queries is held out"
            )
        return [hold_out_queries(n_queries, max(fraction, FEWEST_QUERIES / n_queries), seed)]
    query = np.repeat(np.arange(n_queries), layout.sizes)
    folds = query_folds(
        layout,
        None,
        min(n_folds, n_queries // FEWEST_QUERIES),
        shuffle=True,
        stratify=None,
        seed=seed,
    )
    parts = [(np.unique(query[inside]), np.unique(query[outside])) for inside, outside in folds]
    return [*parts, (np.arange(n_queries), np.arange(0))]


def part_shares(parts: Sequence[Part]) -> FloatArray:
    """Return what the booster of each part counts for in the sum of a member, in all 1.

    Parameters
    ----------
    parts : of :func:`cut_parts`.
    """
    if len(parts) == 1:
        return np.ones(1)
    n_folds = len(parts) - 1
    return np.append(np.full(n_folds, (1 - WHOLE_SHARE) / n_folds), WHOLE_SHARE)


@dataclass(frozen=True)
class Member:
    """One way to boost, before it is grown.

    Attributes
    ----------
    name : for people.
    params : parameters of LightGBM, penalties in documents.
    objectives : one for each part, which it alone uses.
    starts : for each part, the scores of all rows that its booster starts from; ``None`` for 0.
    """

    name: str
    params: dict[str, Any]
    objectives: Sequence[Objective]
    starts: Sequence[FloatArray | None]


@dataclass(frozen=True)
class GrownMember:
    """A member at its best number of trees.

    Attributes
    ----------
    boosters : one for each part.
    n_trees : how many of the trees of each count.
    held_out : scores of the held-out rows, the start included.
    results : the metrics of the held-out rows, tree by tree.
    """

    boosters: list[lgb.Booster]
    n_trees: list[int]
    held_out: FloatArray
    results: dict[str, list[float]]


@memory_errors()
def cross_fit(
    params: dict[str, Any],
    members: Sequence[Member],
    data: RankingData,
    parts: Sequence[Part],
    held_out: HeldOut,
    options: TrainingOptions,
    verbatim: Mapping[str, Any] | None,
    *,
    datasets: FoldDatasets | None = None,
    places: Sequence[int] | None = None,
    after_tree: Callable[[], None] | None = None,
) -> list[GrownMember]:
    """Grow all members in step; each stops at its best.

    Several parts are grown on several threads, each booster on one, so that the model is the same
    for any number of threads; a single part is grown by LightGBM's own threads. Ctrl-C ends
    training, with a warning, and every member is at its best so far; with ``after_tree`` it is the
    caller's.

    Parameters
    ----------
    params : parameters of LightGBM, for the data set that all boosters share.
    members : what to grow.
    data : rows in query order.
    parts : what each booster of a member sees, and what judges it.
    held_out : all rows that judge.
    options : how many trees, and how long to wait for a better one.
    verbatim : which of ``params`` are in LightGBM's own units.
    datasets : of all parts, from an earlier call; ``None`` to bin features now.
    places : the numbers of the parts to grow; ``None`` for all.
    after_tree : called after each tree; what it raises ends training.
    """
    if datasets is None:
        by_order = all(each.by_order for member in members for each in member.objectives)
        datasets = FoldDatasets(data, params, parts, options.min_child_samples, by_order=by_order)
    growing = []
    for number, member in enumerate(members):
        own = {**member.params, "seed": params["seed"] + number * len(parts)}
        boosters = [
            _make_booster(own, member, place, data, datasets, verbatim).judged_by(held_out)
            for place in (range(len(parts)) if places is None else places)
        ]
        growing.append(_Growing(member.name, boosters, held_out, options))
    try:
        n_threads = params["num_threads"] if len(parts) > 1 else 1
        _grow_all(growing, options, n_threads, after_tree)
    except KeyboardInterrupt:
        if after_tree is not None or any(one.n_grown == 0 for one in growing):
            raise
        done = max(one.n_grown for one in growing)
        warnings.warn(
            f"training was interrupted after {done} of {options.n_trees} trees; these are kept",
            stacklevel=5,
        )
    return [one.best() for one in growing]


def with_histograms(params: dict[str, Any], size: int) -> dict[str, Any]:
    """Return parameters of LightGBM that say how histograms are made, by rows or by columns.

    Else LightGBM takes the time of both ways for every booster, and chance decides. By rows is
    faster where few rows meet most features, and the trees are the same on one thread; on several,
    only sums by columns do not depend on how many there are.

    Parameters
    ----------
    params : parameters of LightGBM, which may say so already.
    size : rows to train on, times features.

    Examples
    --------
    >>> from gbrank.boosting.cross_fit import with_histograms
    >>> with_histograms({"num_threads": 1, "feature_fraction": 0.5}, 1000)["force_col_wise"]
    True
    >>> with_histograms({"num_threads": 1}, 1000)["force_row_wise"]
    True
    """
    if {"force_col_wise", "force_row_wise"} & params.keys():
        return params
    is_small = params.get("num_threads") == 1 and size <= LARGEST_BY_ROWS
    by_rows = is_small and float(params.get("feature_fraction", 1.0)) >= LEAST_FEATURES_BY_ROWS
    return {**params, "force_row_wise" if by_rows else "force_col_wise": True}


@memory_errors()
def grow_part(
    member: Member,
    place: int,
    n_trees: int,
    data: RankingData,
    datasets: FoldDatasets,
    verbatim: Mapping[str, Any] | None,
) -> lgb.Booster:
    """Return the booster of one part with so many trees, whatever they are worth.

    Parameters
    ----------
    member : what to grow.
    place : number of the part.
    n_trees : how many trees.
    data : rows in query order.
    datasets : of all parts.
    verbatim : which of the member's parameters are in LightGBM's own units.
    """
    part = _make_booster(member.params, member, place, data, datasets, verbatim)
    with InterruptAfterTree() as interrupt:
        for _ in range(n_trees):
            part.grow(np.empty(0))
            interrupt(None)
    return part.booster


@dataclass(frozen=True)
class _PartBooster:
    """One booster while it grows.

    Attributes
    ----------
    booster, objective, training : with its loss, on these rows.
    outside : the rows that it does not see.
    verbosity : LightGBM's parameter.
    thread : the one that it was made in.
    places : of the rows that judge it among all that are held out.
    """

    booster: lgb.Booster
    objective: Objective
    training: lgb.Dataset
    outside: IntArray
    verbosity: int
    thread: int
    places: IntArray = field(default_factory=lambda: np.arange(0))

    def judged_by(self, held_out: HeldOut) -> "_PartBooster":
        """Return it with the places of its rows among those that are held out."""
        return replace(self, places=np.searchsorted(held_out.rows, self.outside))

    def grow(self, held_out_scores: FloatArray) -> None:
        """Add a tree, and write the scores of the rows that judge it."""

        def write(scores: FloatArray, _: lgb.Dataset) -> tuple[str, float, bool]:
            held_out_scores[self.places] = scores
            return "", 0.0, True

        # LightGBM has a log level for each thread, which is set with parameters, as when the
        # booster was made; other threads are new
        if threading.get_ident() != self.thread:
            self.training._update_params({"verbosity": self.verbosity})
        self.booster.update(fobj=self.objective)
        if len(self.places):
            self.booster.eval_valid(feval=write)


def _make_booster(
    params: dict[str, Any],
    member: Member,
    place: int,
    data: RankingData,
    datasets: FoldDatasets,
    verbatim: Mapping[str, Any] | None,
) -> _PartBooster:
    """Return the booster of a part, without trees."""
    inside, outside = datasets.rows(place)
    objective = member.objectives[place]
    own = {**params, "seed": params["seed"] + place}
    if len(datasets.parts) > 1:
        own["num_threads"] = 1
        objective.set_params(n_jobs=1)
    given = [each for each in (member.starts[place], data.init_score) if each is not None]
    scores = sum(given, np.zeros(data.n_rows))
    weight = None if data.sample_weight is None else data.sample_weight[inside]
    rows = RankingData.checked(
        inside[:, None],
        data.y[inside],
        group=data.layout.sizes[datasets.parts[place][0]],
        sample_weight=weight,
        init_score=scores[inside],
    )
    own = in_lightgbm_units(own, mean_hessian(objective, rows), verbatim)
    training, judging = datasets.of(place, scores if given else None)
    own = with_histograms(own, len(inside) * training.num_feature())
    booster = lgb.Booster({**own, "objective": "none"}, training)
    if judging is not None:
        booster.add_valid(judging, "held out")
    verbosity, thread = params["verbosity"], threading.get_ident()
    return _PartBooster(booster, objective, training, outside, verbosity, thread)


class _Growing:
    """A member while it grows.

    Trees wait until training may end with one of them, and are then judged one after the other: in
    between, growing would drive all that judging needs out of the caches, every time.
    """

    def __init__(
        self, name: str, boosters: list[_PartBooster], held_out: HeldOut, options: TrainingOptions
    ) -> None:
        self.name, self.boosters, self.held_out, self.options = name, boosters, held_out, options
        self.scores = np.zeros(len(held_out.rows))
        self.stopped, self.n_grown = False, 0
        self._patience = options.early_stopping_rounds or options.n_trees
        self._stop = StopEarly(self._patience)
        self._waiting: list[tuple[FloatArray, list[int]]] = []
        self._room = min(MOST_WAITING, MOST_WAITING_SCORES // len(held_out.rows))
        self._n_judged = 0
        self._results: dict[str, list[float]] = {name: [] for name in held_out.names}

    def add_tree(self) -> None:
        """Take the scores of a tree that all boosters have grown; judge it if it may be the last.

        It cannot be, while the best one known is younger than the patience.
        """
        self.n_grown += 1
        # a tree without a split is none, so that boosters may have fewer than were tried
        counts = [each.booster.current_iteration() for each in self.boosters]
        self._waiting.append((self.scores, counts))
        self.scores = np.zeros(len(self.scores))
        may_end = min(self._stop.best_iteration + self._patience, self.options.n_trees)
        if self.n_grown >= may_end or len(self._waiting) >= self._room:
            self.judge()

    def judge(self) -> None:
        """Judge the trees that wait, and decide whether the last of them ends training."""
        while self._waiting:
            scores, counts = self._waiting.pop(0)
            means = [self.held_out.average(values) for values in self.held_out.values(scores)]
            for curve, mean in zip(self._results.values(), means, strict=True):
                curve.append(mean)
            names = [f"{self.name}: {name}" for name in self.held_out.names]
            sets = zip(names, means, self.held_out.greater_is_better, strict=True)
            self.judged = CallbackEnv(
                model=None,
                params={},
                iteration=self._n_judged,
                begin_iteration=0,
                end_iteration=self.options.n_trees,
                evaluation_result_list=[("held out", *each) for each in sets],
            )
            self._n_judged += 1
            try:
                self._stop(self.judged)
            except EarlyStopException:
                self.stopped = True
            if self._stop.best_iteration == self._n_judged:
                boosters = [each.booster for each in self.boosters]
                self._best = GrownMember(boosters, counts, scores, self._results)

    def best(self) -> GrownMember:
        """Return the member at its best so far."""
        self.judge()
        return self._best


def _grow_all(
    growing: list[_Growing],
    options: TrainingOptions,
    n_threads: int,
    after_tree: Callable[[], None] | None,
) -> None:
    """Add a tree to every booster of every member that has not stopped, until all have."""
    progress = ShowProgress(options.n_trees) if options.show_progress else None
    try:
        with InterruptAfterTree() as interrupt:
            while active := [member for member in growing if not member.stopped]:
                pairs = [(each, one.scores) for one in active for each in one.boosters]

                def work(_: int, piece: int, pairs: Any = pairs) -> None:
                    booster, scores = pairs[piece]
                    booster.grow(scores)

                share_pieces(work, len(pairs), n_threads)
                for member in active:
                    member.add_tree()
                if progress is not None:
                    active[0].judge()
                    progress(active[0].judged)
                if after_tree is not None:
                    after_tree()
                interrupt(None)
    finally:
        if progress is not None:
            progress.close()
