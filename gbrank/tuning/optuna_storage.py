"""Trials in a storage of Optuna, where its dashboard shows them.

What Optuna has no place for, such as the metric of each query, is kept in user attributes.
"""

import base64
import os
import time
from typing import Any

from gbrank.tuning.samplers import distributions
from gbrank.tuning.space import Space
from gbrank.tuning.storage import Worker, check_same_search, pack, unpack
from gbrank.tuning.trials import COMPLETE, DROPPED, FAILED, Trial

STUDY = "gbrank"


def is_optuna_storage(storage: Any) -> bool:
    """Return whether a storage is Optuna's: a URL, or an object of its own.

    Parameters
    ----------
    storage : what the user gave.
    """
    if isinstance(storage, str):
        return "://" in storage
    return hasattr(storage, "create_new_trial")


class OptunaStorage:
    """Trials in a study of Optuna, with the interface of :class:`FileStorage`.

    Parameters
    ----------
    storage : URL, or an object of Optuna.
    search : what makes searches comparable, by name.
    space : what points are drawn from.
    greater_is_better : of the metric.
    """

    def __init__(
        self, storage: Any, search: dict[str, str], space: Space, greater_is_better: bool
    ) -> None:
        try:
            import optuna
        except ImportError as error:
            raise ImportError(
                f'storage {storage} needs Optuna: pip install "gbrank[tune]"; or give the path of '
                "a file"
            ) from error
        self._optuna, self._space, self.worker = optuna, space, Worker()
        try:
            self._storage = optuna.storages.get_storage(storage)
        except Exception as error:  # of SQLAlchemy, of a driver, or of the file itself
            reason = str(error).partition("\n")[0]
            raise ValueError(f"storage {storage} cannot be opened by Optuna: {reason}") from error
        direction = optuna.study.StudyDirection(2 if greater_is_better else 1)
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            study = optuna.create_study(
                storage=self._storage, study_name=STUDY, direction=direction, load_if_exists=True
            )
        finally:
            optuna.logging.set_verbosity(level)
        known = study.user_attrs.get("search") or {}
        check_same_search(
            os.fspath(storage) if isinstance(storage, str) else repr(storage), known, search
        )
        if not known:
            study.set_user_attr("search", search)
        self._study = self._storage.get_study_id_from_name(STUDY)
        self._mine: dict[int, int] = {}
        self._known: dict[int, Trial] = {}

    def claim(self, n_trials: int | None) -> tuple[int, dict[str, Any] | None] | None:
        """Return the number of a trial to run, and its point if it was begun before."""
        running = self._optuna.trial.TrialState.RUNNING
        found = self._storage.get_all_trials(self._study, deepcopy=False)
        for each in found:
            attrs = each.user_attrs
            if each.state == running and Worker.is_gone(
                attrs.get("worker", "::0:0"), attrs.get("beat", 0.0)
            ):
                self._storage.set_trial_system_attr(each._trial_id, "abandoned", True)
                self._storage.set_trial_state_values(
                    each._trial_id, self._optuna.trial.TrialState.FAIL
                )
                if attrs.get("number") is not None:
                    return self._new(attrs["number"]), attrs.get("point")
        abandoned = sum(1 for each in found if "abandoned" in each.system_attrs)
        if n_trials is not None and len(found) - abandoned >= n_trials:
            return None
        return self._new(None), None

    def begin(self, number: int, point: dict[str, Any]) -> None:
        """Write down what a claimed trial tries."""
        trial_id = self._mine[number]
        self._storage.set_trial_user_attr(trial_id, "point", point)
        self._set_params(trial_id, point)

    def beat(self, number: int) -> None:
        """Give a sign of life."""
        self._storage.set_trial_user_attr(self._mine[number], "beat", time.time())

    def end(self, trial: Trial) -> bool:
        """Keep a finished trial; ``False`` if another worker has taken it over."""
        states = self._optuna.trial.TrialState
        trial_id = self._mine.pop(trial.number)
        if self._storage.get_trial(trial_id).state.is_finished():
            return False
        facts = {
            "error": trial.error,
            "n_folds": trial.n_folds,
            "n_trees": trial.n_trees,
            "seconds": trial.seconds,
            "note": trial.note,
            "state": trial.state,
            "query_values": _text(trial.query_values),
        }
        for name, value in facts.items():
            self._storage.set_trial_user_attr(trial_id, name, value)
        if trial.state != FAILED:
            self._storage.set_trial_intermediate_value(trial_id, trial.n_folds, trial.value)
        state = {COMPLETE: states.COMPLETE, DROPPED: states.PRUNED, FAILED: states.FAIL}[
            trial.state
        ]
        values = [trial.value] if trial.state == COMPLETE else None
        self._storage.set_trial_state_values(trial_id, state, values)
        self._known[trial.number] = trial
        return True

    def release(self) -> None:
        """Give up what was claimed and not finished."""
        for trial_id in self._mine.values():
            self._storage.set_trial_user_attr(trial_id, "beat", 0.0)

    def trials(self) -> list[Trial]:
        """Return all finished trials, in order."""
        for each in self._storage.get_all_trials(self._study, deepcopy=False):
            facts = each.user_attrs
            if not each.state.is_finished() or "state" not in facts:
                continue
            if facts["number"] not in self._known:
                value = (
                    each.value
                    if each.value is not None
                    else each.intermediate_values.get(facts["n_folds"])
                )
                self._known[facts["number"]] = Trial(
                    facts["number"],
                    facts["point"],
                    facts["state"],
                    float("nan") if value is None else value,
                    facts["error"],
                    facts["n_folds"],
                    facts["n_trees"],
                    facts["seconds"],
                    _numbers(facts["query_values"]),
                    None,
                    facts["note"],
                )
        return [self._known[number] for number in sorted(self._known)]

    def close(self) -> None:
        """Give connections back."""
        self._storage.remove_session()

    def _new(self, number: int | None) -> int:
        """Make a trial; the number of one that is run again is that of the first attempt."""
        trial_id = self._storage.create_new_trial(self._study)
        if number is None:
            states = self._storage.get_all_trials(self._study, deepcopy=False)
            own = self._storage.get_trial_number_from_id(trial_id)
            earlier = [each for each in states if each.number < own]
            number = own - sum("abandoned" in each.system_attrs for each in earlier)
        for name, value in (
            ("number", number),
            ("worker", self.worker.name),
            ("beat", time.time()),
        ):
            self._storage.set_trial_user_attr(trial_id, name, value)
        self._mine[number] = trial_id
        return number

    def _set_params(self, trial_id: int, point: dict[str, Any]) -> None:
        inside = {name: value for name, value in point.items() if self._space[name].contains(value)}
        for name, one in distributions(inside, self._space).items():
            internal = one.to_internal_repr(point[name])
            self._storage.set_trial_param(trial_id, name, internal, one)


def _text(values: Any) -> str | None:
    packed = pack(values)
    return None if packed is None else base64.b64encode(packed).decode()


def _numbers(text: str | None) -> Any:
    return None if text is None else unpack(base64.b64decode(text))
