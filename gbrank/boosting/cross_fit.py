"""Cross-fitting: boosters in step, each judged on whole queries that it does not see.

Queries are cut into parts; a member, which is a loss and a start, has one booster per part, grown
on the queries outside it, and one grown on all queries in step with these. After every tree all
held-out queries together, scored by the boosters that did not see them, say how good the member is,
and it stops growing when that has not improved for long. Features are binned once, for all
boosters.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import lightgbm as lgb
import numpy as np
from lightgbm.callback import CallbackEnv, EarlyStopException

from gbrank.boosting.callbacks import InterruptAfterTree, ShowProgress, StopEarly
from gbrank.boosting.datasets import check_splittable, make_dataset
from gbrank.boosting.documents import in_lightgbm_units, mean_hessian
from gbrank.boosting.held_out import HeldOut, rows_of
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
#: Queries that a part needs.
FEWEST_QUERIES = 5

#: The numbers of the queries that a booster is grown on, and of those that judge it.
Part = tuple[IntArray, IntArray]


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
) -> list[GrownMember]:
    """Grow all members in step; each stops at its best.

    Several parts are grown on several threads, each booster on one, so that the model is the same
    for any number of threads; a single part is grown by LightGBM's own threads. Ctrl-C ends
    training, with a warning, and every member is at its best so far.

    Parameters
    ----------
    params : parameters of LightGBM, for the data set that all boosters share.
    members : what to grow.
    data : rows in query order.
    parts : what each booster of a member sees, and what judges it.
    held_out : all rows that judge.
    options : how many trees, and how long to wait for a better one.
    verbatim : which of ``params`` are in LightGBM's own units.
    """
    if not {"force_col_wise", "force_row_wise"} & params.keys():
        # else LightGBM takes the time of both for every booster, and chance decides
        params = {**params, "force_col_wise": True}
        members = [
            replace(each, params={**each.params, "force_col_wise": True}) for each in members
        ]
    by_order = all(each.by_order for member in members for each in member.objectives)
    whole = make_dataset(data.with_init_score(None), params, by_order=by_order)
    check_splittable(whole, options.min_child_samples)
    growing = []
    for number, member in enumerate(members):
        own = {**member.params, "seed": params["seed"] + number * len(parts)}
        boosters = [
            _make_booster(own, member, place, data, whole, parts, held_out, verbatim)
            for place in range(len(parts))
        ]
        growing.append(_Growing(member.name, boosters, held_out, options))
    try:
        _grow_all(growing, options, params["num_threads"] if len(parts) > 1 else 1)
    except KeyboardInterrupt:
        if any(one.n_grown == 0 for one in growing):
            raise
        done = max(one.n_grown for one in growing)
        warnings.warn(
            f"training was interrupted after {done} of {options.n_trees} trees; these are kept",
            stacklevel=5,
        )
    return [one.best() for one in growing]


@dataclass(frozen=True)
class _PartBooster:
    """One booster while it grows.

    Attributes
    ----------
    booster, objective, training : with its loss, on these rows.
    places : of the rows that judge it among all that are held out.
    verbosity : LightGBM's parameter.
    """

    booster: lgb.Booster
    objective: Objective
    training: lgb.Dataset
    places: IntArray
    verbosity: int

    def grow(self, held_out_scores: FloatArray) -> None:
        """Add a tree, and write the scores of the rows that judge it."""

        def write(scores: FloatArray, _: lgb.Dataset) -> tuple[str, float, bool]:
            held_out_scores[self.places] = scores
            return "", 0.0, True

        # LightGBM has a log level for each thread, which is set with parameters; threads are new
        self.training._update_params({"verbosity": self.verbosity})
        self.booster.update(fobj=self.objective)
        if len(self.places):
            self.booster.eval_valid(feval=write)


def _make_booster(
    params: dict[str, Any],
    member: Member,
    place: int,
    data: RankingData,
    whole: lgb.Dataset,
    parts: Sequence[Part],
    held_out: HeldOut,
    verbatim: Mapping[str, Any] | None,
) -> _PartBooster:
    """Return the booster of a part, without trees."""
    queries, judges = parts[place]
    inside, outside = rows_of(data, queries), rows_of(data, judges)
    objective = member.objectives[place]
    own = {**params, "seed": params["seed"] + place}
    if len(parts) > 1:
        own["num_threads"] = 1
        objective.set_params(n_jobs=1)
    training = whole.subset(inside).construct()
    given = [each for each in (member.starts[place], data.init_score) if each is not None]
    scores = sum(given, np.zeros(data.n_rows))
    if given:
        training.set_init_score(scores[inside])
    weight = None if data.sample_weight is None else data.sample_weight[inside]
    rows = RankingData.checked(
        inside[:, None],
        data.y[inside],
        group=data.layout.sizes[queries],
        sample_weight=weight,
        init_score=scores[inside],
    )
    own = in_lightgbm_units(own, mean_hessian(objective, rows), verbatim)
    booster = lgb.Booster({**own, "objective": "none"}, training)
    if len(outside):
        judging = whole.subset(outside).construct()
        if given:
            judging.set_init_score(scores[outside])
        booster.add_valid(judging, "held out")
    places = np.searchsorted(held_out.rows, outside)
    return _PartBooster(booster, objective, training, places, params["verbosity"])


class _Growing:
    """A member while it grows."""

    def __init__(
        self, name: str, boosters: list[_PartBooster], held_out: HeldOut, options: TrainingOptions
    ) -> None:
        self.name, self.boosters, self.held_out, self.options = name, boosters, held_out, options
        self.scores = np.zeros(len(held_out.rows))
        self.stopped, self.n_grown = False, 0
        self._stop = StopEarly(options.early_stopping_rounds or options.n_trees)
        self._results: dict[str, list[float]] = {name: [] for name in held_out.names}

    def judge(self) -> CallbackEnv:
        """Judge the tree that all boosters have grown, and decide whether it is the last."""
        means = [self.held_out.mean(values)[0] for values in self.held_out.values(self.scores)]
        for curve, mean in zip(self._results.values(), means, strict=True):
            curve.append(mean)
        boosters = [each.booster for each in self.boosters]
        # a tree without a split is none, so that boosters may have fewer than were tried
        counts = [booster.current_iteration() for booster in boosters]
        names = [f"{self.name}: {name}" for name in self.held_out.names]
        sets = zip(names, means, self.held_out.greater_is_better, strict=True)
        now = CallbackEnv(
            model=None,
            params={},
            iteration=self.n_grown,
            begin_iteration=0,
            end_iteration=self.options.n_trees,
            evaluation_result_list=[("held out", *each) for each in sets],
        )
        self.n_grown += 1
        try:
            self._stop(now)
        except EarlyStopException:
            self.stopped = True
        if self._stop.best_iteration == self.n_grown:
            self._best = GrownMember(boosters, counts, self.scores.copy(), self._results)
        return now

    def best(self) -> GrownMember:
        """Return the member at its best so far."""
        return self._best


def _grow_all(growing: list[_Growing], options: TrainingOptions, n_threads: int) -> None:
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
                judged = [member.judge() for member in active]
                if progress is not None:
                    progress(judged[0])
                interrupt(None)
    finally:
        if progress is not None:
            progress.close()
