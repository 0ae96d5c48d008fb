"""Trains points of the space on folds that are cut, and binned, once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting import (
    FoldDatasets,
    GrownMember,
    HeldOut,
    Member,
    Part,
    TrainingOptions,
    cross_fit,
    first_trees_of,
    grow_part,
    lightgbm_params,
    linear_limits,
    resolve_preset,
)
from gbrank.core import FloatArray, RankingData, has_negative_gains
from gbrank.metrics import Metric
from gbrank.objectives import Objective, get_objective
from gbrank.ranker import Ranker, make_member, resolve_objective
from gbrank.start import Start, fit_starts, rescaled
from gbrank.tuning.space import make_ranker

#: Queries that judge a group of folds: fewer say neither when to stop nor who is behind.
GROUP_QUERIES = 50


@dataclass(frozen=True)
class Grown:
    """The boosters of a trial, fold by fold.

    Attributes
    ----------
    boosters : one for each fold, cut at its best number of trees.
    n_trees : of each.
    scores : of all held-out rows.
    """

    boosters: list[lgb.Booster]
    n_trees: list[int]
    scores: FloatArray


class WhenAsked(Sequence[Any]):
    """Things that are made when they are first asked for.

    Parameters
    ----------
    n : how many.
    make : called with the number of one, from 0.
    """

    def __init__(self, n: int, make: Callable[[int], Any]) -> None:
        self._n, self._make = n, make
        self._made: dict[int, Any] = {}

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, at: Any) -> Any:
        if not 0 <= at < self._n:
            raise IndexError(at)
        if at not in self._made:
            self._made[at] = self._make(at)
        return self._made[at]


class FoldTrainer:
    """Trains any point of the space on the same folds.

    Parameters
    ----------
    ranker : whose parameters hold in all trials.
    losses : by what they are called in a point.
    data : rows in query order.
    parts : what each booster sees, and what judges it; of several, the last is the whole.
    metric : that judges and stops.

    Attributes
    ----------
    groups : the numbers of the folds that are grown in step, group by group.
    held_out : all rows that judge.
    queries : the numbers of the held-out queries, increasing.
    fold_of_query : of each held-out query, the fold that it judges.
    n_fold_trainings : how many boosters of folds were trained to their end.
    """

    def __init__(
        self,
        ranker: Ranker,
        losses: Mapping[str, Objective],
        data: RankingData,
        parts: Sequence[Part],
        metric: Metric,
    ) -> None:
        self.ranker, self.losses, self.data, self.parts = ranker, losses, data, parts
        own = resolve_preset({**ranker.get_params(deep=False), "preset": "balanced"})
        # else features that no leaf of one trial could use would be missing in all others
        self._params = {**lightgbm_params(own), "feature_pre_filter": False}
        by_order = all(each.by_order for each in losses.values())
        self.datasets = FoldDatasets(
            data, self._params, parts, own["min_child_samples"], by_order=by_order
        )
        self._options = TrainingOptions(
            own["n_estimators"],
            own["min_child_samples"],
            early_stopping_rounds=own["early_stopping_rounds"],
        )
        self.n_folds = max(len(parts) - 1, 1)
        judges = [outside for _, outside in parts[: self.n_folds]]
        n_groups = min(max(sum(map(len, judges)) // GROUP_QUERIES, 1), self.n_folds)
        self.groups = [each.tolist() for each in np.array_split(np.arange(self.n_folds), n_groups)]
        n_jobs = self._params["num_threads"]
        queries = self.queries = np.sort(np.concatenate(judges))
        self.held_out = HeldOut(data, queries, [metric], n_jobs)
        self._groups_held_out = [
            HeldOut(
                data, np.sort(np.concatenate([judges[fold] for fold in group])), [metric], n_jobs
            )
            for group in self.groups
        ]
        self.fold_of_query = np.empty(len(queries), dtype=np.int64)
        for fold, outside in enumerate(judges):
            self.fold_of_query[np.searchsorted(queries, outside)] = fold
        self._linear: dict[str, tuple[list[Start], list[FloatArray], list[RankingData]]] = {}
        self.n_fold_trainings = 0

    def make(self, point: Mapping[str, Any]) -> tuple[Member, Sequence[Start]]:
        """Return what a point grows, and where each booster starts, found when it is asked for.

        Parameters
        ----------
        point : values by name.
        """
        ranker = make_ranker(point, self.losses, self.ranker)
        objective = resolve_objective(ranker)
        objective.check_labels(self.data.y, self.data.layout)
        starts, scores = self._starts(str(ranker.start), objective)
        member = make_member(ranker, objective, starts[0].kind, scores)
        member.params["feature_pre_filter"] = False
        return member, starts

    def grow(
        self, member: Member, group: int, after_tree: Callable[[], None]
    ) -> tuple[Grown, FloatArray]:
        """Grow the folds of a group in step; return them, and the metric of each held-out query.

        Parameters
        ----------
        member : of :meth:`make`.
        group : number of the group.
        after_tree : called after each tree; what it raises ends training.
        """
        held_out, folds = self._groups_held_out[group], self.groups[group]
        (grown,) = cross_fit(
            {**member.params, "seed": self._params["seed"]},
            [member],
            self.data,
            self.parts,
            held_out,
            self._options,
            self.ranker.lgb_params,
            datasets=self.datasets,
            places=folds,
            after_tree=after_tree,
        )
        self.n_fold_trainings += len(folds)
        scores = np.full(len(self.held_out.rows), np.nan)
        scores[np.searchsorted(self.held_out.rows, held_out.rows)] = grown.held_out
        values = np.full(len(self.fold_of_query), np.nan)
        values[np.isin(self.fold_of_query, folds)] = held_out.values(grown.held_out)[0]
        return Grown(list(grown.boosters), list(grown.n_trees), scores), values

    def grow_whole(self, member: Member, grown: Grown) -> GrownMember:
        """Return the boosters of all parts, the whole grown to the mean number of trees.

        Parameters
        ----------
        member : of :meth:`make`.
        grown : its folds.
        """
        boosters, n_trees = list(grown.boosters), list(grown.n_trees)
        if len(self.parts) > 1:
            count = max(round(float(np.mean(n_trees))), 1)
            place = len(self.parts) - 1
            verbatim = self.ranker.lgb_params
            own = replace(member, params={**member.params, "seed": self._params["seed"]})
            booster = grow_part(own, place, count, self.data, self.datasets, verbatim)
            boosters.append(booster)
            n_trees.append(int(booster.current_iteration()))
        return GrownMember(boosters, n_trees, grown.scores, {})

    def linear_scores(self) -> FloatArray | None:
        """Return scores of the held-out rows by a linear start; ``None`` if no trial had one."""
        for fitted, scores, _ in self._linear.values():
            if fitted[0].kind == "linear":
                found = np.empty(self.data.n_rows)
                for fold in range(self.n_folds):
                    _, outside = self.datasets.rows(fold)
                    found[outside] = scores[fold][outside]
                return found[self.held_out.rows]
        return None

    def _starts(
        self, start: str, objective: Objective
    ) -> tuple[Sequence[Start], Sequence[FloatArray | None]]:
        """Return where the booster of each part starts, and the scores of all rows there.

        Linear rankers are fitted once a gain; a loss only has a scale of its own, which is found
        when a part is first grown: a trial that is dropped grows few.
        """
        if start == "zero":
            return [Start() for _ in self.parts], [None for _ in self.parts]
        gain = getattr(objective, "gain", None)
        key = repr(gain)
        if key not in self._linear:
            plain = get_objective("squared").set_params(gain=gain)
            if gain is not None and has_negative_gains(gain):  # which only this form takes
                plain.set_params(norm=None)
            queries = [inside for inside, _ in self.parts]
            fitted = fit_starts(
                start,
                self.data,
                queries,
                [plain] * len(queries),
                seed=self._params["seed"],
                **linear_limits(self._params, self.data.X),
            )
            of_all = [each.scores(self.data.X, self.data.layout) for each in fitted]
            self._linear[key] = (fitted, of_all, [self.data.take(each) for each in queries])
        fitted, known, rows = self._linear[key]
        if fitted[0].kind != "linear":
            return fitted, [None for _ in self.parts]

        def scaled(place: int) -> tuple[Start, FloatArray]:
            inside, _ = self.datasets.rows(place)
            scores = known[place]
            own, factor = rescaled(fitted[place], rows[place], scores[inside], objective)
            return own, factor * scores

        both = WhenAsked(len(fitted), scaled)
        return (
            WhenAsked(len(fitted), lambda place: both[place][0]),
            WhenAsked(len(fitted), lambda place: both[place][1]),
        )


def join(groups: Sequence[Grown]) -> Grown:
    """Return the folds of all groups together.

    Parameters
    ----------
    groups : in order.
    """
    scores = groups[0].scores.copy()
    for each in groups[1:]:
        known = ~np.isnan(each.scores)
        scores[known] = each.scores[known]
    return Grown(
        [booster for each in groups for booster in each.boosters],
        [count for each in groups for count in each.n_trees],
        scores,
    )


def without_data(grown: Grown) -> Grown:
    """Return the boosters cut at their best, without the data and histograms of training.

    Parameters
    ----------
    grown : all folds of a trial.
    """
    boosters = [
        first_trees_of(booster, count)
        for booster, count in zip(grown.boosters, grown.n_trees, strict=True)
    ]
    return replace(grown, boosters=boosters)
