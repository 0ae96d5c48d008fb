"""Runs trials, one after the other, until there are enough or time is up."""

import hashlib
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gbrank.boosting import Part
from gbrank.core import RankingData
from gbrank.metrics import Metric
from gbrank.objectives import Objective
from gbrank.ranker import Ranker
from gbrank.tuning.progress import Progress
from gbrank.tuning.racing import why_drop
from gbrank.tuning.result import ranker_params
from gbrank.tuning.samplers import Sampler, default_points
from gbrank.tuning.space import Space
from gbrank.tuning.storage import BEAT
from gbrank.tuning.trainer import FoldTrainer, Grown, join, without_data
from gbrank.tuning.trials import COMPLETE, DROPPED, FAILED, Trial

#: The clock of budgets: benchmarks on busy machines put CPU seconds in its place.
clock = time.monotonic
#: Trials in a row that fail before the search gives up.
MOST_FAILURES = 5
#: Trials whose boosters are kept in memory, at most: others that are blended are trained again.
MOST_KEPT = 12


class OutOfTimeError(Exception):
    """The budget is spent in the middle of a trial."""


class Search:
    """Runs trials, and remembers the boosters of the best."""

    def __init__(
        self,
        trainer: FoldTrainer,
        sampler: Sampler,
        space: Space,
        losses: dict[str, Objective],
        base: Ranker,
        metric: Metric,
        race: float | None,
        callback: Callable[[Trial], None] | None,
        n_members: int,
    ) -> None:
        self.trainer, self.sampler, self.space = trainer, sampler, space
        self.losses, self.base, self.metric, self.race = losses, base, metric, race
        self.callback = callback
        self._n_kept = min(n_members, MOST_KEPT)
        self.sign = 1.0 if metric.greater_is_better else -1.0
        self.defaults = default_points(space, losses, base)
        self.trials: list[Trial] = []
        self.seconds = 0.0
        self.grown: dict[int, Grown] = {}
        only = None if len(self.defaults) > 1 else next(iter(losses))
        self.defaults_name = "Ranker()" if only is None else f"Ranker({only!r})"

    def identity(self, data: RankingData, parts: Sequence[Part], seed: int) -> dict[str, str]:
        """Return what makes trials comparable, by name."""
        digest = hashlib.sha256(np.ascontiguousarray(data.y, dtype=np.float64).tobytes())
        digest.update(np.ascontiguousarray(data.layout.sizes, dtype=np.int64).tobytes())
        for _, outside in parts:
            digest.update(np.ascontiguousarray(outside, dtype=np.int64).tobytes())
        base = ranker_params(self.base)
        base.pop("n_jobs", None)
        return {
            "metric": self.metric.full_name,
            "random_state": str(seed),
            "data or folds": digest.hexdigest()[:16],
            "space": repr(sorted((name, repr(each)) for name, each in self.space.items())),
            "ranker": repr(sorted((name, repr(value)) for name, value in base.items())),
        }

    def best(self) -> Trial:
        """Return the best complete trial."""
        complete = [each for each in self.trials if each.state == COMPLETE]
        if not complete:
            notes = {each.note for each in self.trials if each.state == FAILED}
            raise ValueError(f"no trial was completed: {'; '.join(sorted(notes))}")
        return max(complete, key=lambda each: (self.sign * each.value, -each.number))

    def run(self, file: Any, n_trials: int | None, timeout: float | None, verbose: int) -> bool:
        """Run trials until there are enough, or time is up; return whether Ctrl-C ended it."""
        started = clock()
        deadline = None if timeout is None else started + timeout
        progress = Progress(n_trials, timeout, verbose >= 1)
        self.trials, interrupted, failures = file.trials(), False, 0
        try:
            while not self._is_over(deadline):
                claimed = file.claim(n_trials)
                if claimed is None:
                    break
                number, point = claimed
                trial = self._run_one(file, number, point, deadline)
                self.trials = file.trials()
                failures = failures + 1 if trial.state == FAILED else 0
                if failures >= MOST_FAILURES:
                    break
                if self.callback is not None:
                    self.callback(trial)
                progress.show(len(self.trials), self._in_words())
        except OutOfTimeError:
            pass
        except KeyboardInterrupt:
            interrupted = True
            self.trials = file.trials()
            if not any(each.state == COMPLETE for each in self.trials):
                raise
            warnings.warn(
                f"the search was interrupted after {len(self.trials)} trials; these are kept",
                stacklevel=3,
            )
        finally:
            progress.close()
        self.seconds = clock() - started
        return interrupted

    def _is_over(self, deadline: float | None) -> bool:
        """Return whether time is up; not before the defaults are there to compare with."""
        if deadline is None or clock() <= deadline:  # first, as it is asked after every tree
            return False
        has_one = any(each.state == COMPLETE for each in self.trials)
        n_first = sum(each.number < len(self.defaults) for each in self.trials)
        return has_one and n_first == len(self.defaults)

    def _in_words(self) -> str:
        if not any(each.state == COMPLETE for each in self.trials):
            return ""
        best = self.best()
        return f"best {self.metric.full_name} {best.value:.4f} (trial {best.number})"

    def _run_one(
        self, file: Any, number: int, point: dict[str, Any] | None, deadline: float | None
    ) -> Trial:
        """Run a claimed trial, and keep what came out."""
        if point is None:
            known = number < len(self.defaults)
            point = self.defaults[number] if known else self.sampler.propose(number, self.trials)
            file.begin(number, point)
        trial = Trial(number, point, note="as it comes" if number < len(self.defaults) else "")
        last_beat = [time.monotonic()]

        def after_tree() -> None:
            if time.monotonic() - last_beat[0] > BEAT:
                last_beat[0] = time.monotonic()
                file.beat(number)
            if self._is_over(deadline):
                raise OutOfTimeError

        started = clock()
        try:
            grown = self.grow(trial, after_tree)
        except (ValueError, TypeError) as error:
            trial.state, trial.note = FAILED, str(error)
            grown = None
        trial.seconds = clock() - started
        if file.end(trial) and grown is not None:
            self._keep(trial, grown)
        return trial

    def grow(self, trial: Trial, after_tree: Callable[[], None]) -> Grown | None:
        """Train a trial group by group; ``None`` if it was dropped."""
        trainer = self.trainer
        member, _ = trainer.make(trial.point)
        groups: list[Grown] = []
        values = np.full(len(trainer.fold_of_query), np.nan)
        for group in range(len(trainer.groups)):
            grown, found = trainer.grow(member, group, after_tree)
            groups.append(grown)
            values = np.where(np.isnan(found), values, found)
            trial.n_trees += grown.n_trees
            trial.n_folds = len(trial.n_trees)
            trial.query_values = values
            trial.value, trial.error = trainer.held_out.mean(values)
            is_last = group == len(trainer.groups) - 1
            if is_last or trial.note or self.race is None:  # the defaults are never dropped
                continue
            halving = self.sampler.halving
            why = why_drop(values, self.trials, self.sign, trainer.held_out, self.race, halving)
            if why:
                trial.state, trial.note = DROPPED, why
                return None
        trial.state = COMPLETE
        joined = join(groups)
        trial.scores = joined.scores
        return joined

    def _keep(self, trial: Trial, grown: Grown) -> None:
        """Remember the boosters of the best trials, which may be blended, and of no others."""
        if self._n_kept == 0:
            return
        values = {each.number: self.sign * each.value for each in self.trials}
        values[trial.number] = self.sign * trial.value
        numbers = [*self.grown, trial.number]
        first = [number for number in numbers if number < len(self.defaults)]
        best = sorted(numbers, key=lambda number: -values[number])[: self._n_kept]
        kept = {*best, *first}
        if trial.number in kept:
            self.grown[trial.number] = without_data(grown)
            self.grown = {number: self.grown[number] for number in kept}
