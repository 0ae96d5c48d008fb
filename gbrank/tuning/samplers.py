"""Which point to try next: the defaults first, then what Optuna proposes, or random points."""

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

from gbrank.boosting import AUTO, PRESETS, resolve_preset, split_point
from gbrank.objectives import Objective
from gbrank.ranker import Ranker
from gbrank.tuning.space import Space, draw_point
from gbrank.tuning.trials import COMPLETE, DROPPED, FAILED, Trial

#: Random points before a model of what is promising.
N_RANDOM = 8


class Sampler(Protocol):
    """Proposes points."""

    #: Whether it needs successive halving, as it learns nothing from what was tried.
    halving: bool

    def propose(self, number: int, trials: Sequence[Trial]) -> dict[str, Any]:
        """Return the point of a trial, given those that are finished."""


class RandomSampler:
    """Random points: the same for a number, whatever came before.

    Parameters
    ----------
    space : what to draw from.
    seed : of the search.
    """

    halving = True

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._seed = space, seed

    def propose(self, number: int, trials: Sequence[Trial]) -> dict[str, Any]:
        """Return a random point."""
        return draw_point(self._space, self._seed, number)


class OptunaSampler:
    """Points that a sampler of Optuna proposes, told of all finished trials.

    Its own, a tree-structured Parzen estimator, is made anew for each trial with a seed of the
    trial's number: a search that was resumed goes on as if it had not been stopped.

    Parameters
    ----------
    space : what to draw from.
    seed : of the search.
    greater_is_better : of the metric.
    sampler : one of Optuna's; ``None`` for the one above.
    """

    halving = False

    def __init__(
        self, space: Space, seed: int, greater_is_better: bool, sampler: Any = None
    ) -> None:
        self._space, self._seed, self._given = space, seed, sampler
        self._greater_is_better = greater_is_better
        self._study: Any = None
        self._told: set[int] = set()

    def propose(self, number: int, trials: Sequence[Trial]) -> dict[str, Any]:
        """Return the point that Optuna asks for."""
        import optuna

        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                sampler = self._given or optuna.samplers.TPESampler(
                    seed=(self._seed * 100_003 + number) % 2**32,
                    n_startup_trials=N_RANDOM,
                    multivariate=True,
                    group=True,
                )
                if self._study is None:
                    direction = optuna.study.StudyDirection(2 if self._greater_is_better else 1)
                    self._study = optuna.create_study(direction=direction)
                new = [each for each in trials if each.number not in self._told]
                known = [frozen_trial(each, self._space) for each in new if self._is_known(each)]
                self._study.add_trials(known)
                self._told |= {each.number for each in new}
                self._study.sampler = sampler
                trial = self._study.ask()
                point = self._point(trial)
                self._study.tell(
                    trial, state=optuna.trial.TrialState.FAIL
                )  # it comes with its value
            return point
        finally:
            optuna.logging.set_verbosity(level)

    def _is_known(self, trial: Trial) -> bool:
        inside = all(
            name in self._space and self._space[name].contains(value)
            for name, value in trial.point.items()
        )
        return inside and trial.state in (COMPLETE, DROPPED)

    def _point(self, trial: Any) -> dict[str, Any]:
        point: dict[str, Any] = {}
        for name, dimension in self._space.items():
            if not dimension.counts(point):
                continue
            if dimension.kind == "choice":
                point[name] = trial.suggest_categorical(name, list(dimension.values))
            elif dimension.kind == "int":
                point[name] = trial.suggest_int(
                    name, int(dimension.low), int(dimension.high), log=dimension.log
                )
            else:
                point[name] = trial.suggest_float(
                    name, dimension.low, dimension.high, log=dimension.log
                )
        return point


def distributions(point: dict[str, Any], space: Space) -> dict[str, Any]:
    """Return Optuna's names of the dimensions of a point.

    Parameters
    ----------
    point : values by name.
    space : what they were drawn from.
    """
    from optuna import distributions as theirs

    found: dict[str, Any] = {}
    for name in point:
        one = space[name]
        if one.kind == "choice":
            found[name] = theirs.CategoricalDistribution(list(one.values))
        elif one.kind == "int":
            found[name] = theirs.IntDistribution(int(one.low), int(one.high), log=one.log)
        else:
            found[name] = theirs.FloatDistribution(one.low, one.high, log=one.log)
    return found


def frozen_trial(trial: Trial, space: Space) -> Any:
    """Return a finished trial as Optuna has it; one that was dropped is pruned.

    Parameters
    ----------
    trial : that is finished.
    space : what its point was drawn from.
    """
    from optuna.trial import TrialState, create_trial

    states = {COMPLETE: TrialState.COMPLETE, DROPPED: TrialState.PRUNED, FAILED: TrialState.FAIL}
    failed = trial.state == FAILED
    return create_trial(
        state=states[trial.state],
        value=None if failed else trial.value,
        params=trial.point,
        distributions=distributions(trial.point, space),
        intermediate_values={} if failed else {trial.n_folds: trial.value},
    )


def default_points(
    space: Space, losses: dict[str, Objective], ranker: Ranker
) -> list[dict[str, Any]]:
    """Return what the Ranker trains without tuning, as points: they are tried first.

    Parameters
    ----------
    space : names that a point needs.
    losses : by what they are called in a point.
    ranker : whose parameters hold.
    """
    members = [each for each in PRESETS[AUTO].members if each.objective in losses]
    if len(members) < len(PRESETS[AUTO].members):
        members = list(PRESETS[AUTO].members[:1])
    points = []
    for member in members:
        own = resolve_preset(ranker.get_params(deep=False), member)
        if own["subsample_freq"] == 0:
            own["subsample"] = 1.0
        label = member.objective if len(members) > 1 else next(iter(losses))
        start = "linear" if member.start == "auto" or len(members) == 1 else member.start
        point: dict[str, Any] = {"objective": label, "start": start}
        for name, dimension in space.items():
            owner, mark, parameter = name.partition("__")
            if name in point or not dimension.counts(point):
                continue
            if not mark:
                point[name] = own[name]
            elif owner == label:
                loss = split_point({"objective": label}, losses)[0]
                point[name] = _value_of(loss, parameter)
        points.append(point)
    return points


def _value_of(loss: Objective, parameter: str) -> Any:
    """Return the value of a parameter of a loss, also where it is LightGBM's default."""
    value = loss.get_params()[parameter]
    known = value is None and parameter in loss.from_lightgbm
    return loss.value_of(parameter) if known else value
