"""What the Ranker's parameters mean: to LightGBM, to the objective, and for a warm start."""

import warnings
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
from sklearn.base import BaseEstimator, clone

from gbrank.boosting import LIGHTGBM_NAMES, as_booster, check_other_params
from gbrank.core import check_integer, check_number, check_seed, resolve_n_jobs
from gbrank.metrics import feval
from gbrank.objectives import Objective, QuerySubsampled, get_objective


class RankerParameters(BaseEstimator):
    """The part of the Ranker that checks and translates parameters."""

    objective: Any
    n_estimators: Any
    boosting_type: Any
    eval_metric: Any
    early_stopping_rounds: Any
    early_stopping_window: Any
    validation_fraction: Any
    start: Any
    n_models: Any
    query_subsample: Any
    warm_start: Any
    lgb_params: Any
    random_state: Any
    n_jobs: Any
    verbose: Any
    booster_: Any
    best_iteration_: Any
    start_kind_: Any
    n_start_trees_: Any

    def _resolve_objective(self) -> Objective:
        if isinstance(self.objective, str):
            objective = get_objective(self.objective)
            if "random_state" in objective.get_params() and self.random_state is not None:
                check_seed(self.random_state)
                objective.set_params(random_state=int(self.random_state))
        else:
            objective = clone(get_objective(self.objective))
        if objective.n_jobs is None:
            objective.set_params(n_jobs=self.n_jobs)
        objective.check_params()
        return objective

    def _objectives(self, objective: Objective) -> list[Objective]:
        """Return one objective for each model: seeds counted up, on a part of the queries."""
        objectives = []
        for number in range(self.n_models):
            one = clone(objective)
            if number and "random_state" in one.get_params(deep=False):
                one.set_params(random_state=one.get_params()["random_state"] + number)
            if self.query_subsample < 1:
                seed = int(self.random_state or 0) + number
                one = QuerySubsampled(one, self.query_subsample, seed, n_jobs=one.n_jobs)
            objectives.append(one)
        return objectives

    def _lightgbm_params(self) -> dict[str, Any]:
        check_integer("n_estimators", self.n_estimators, low=1)
        if self.early_stopping_rounds is not None:
            check_integer("early_stopping_rounds", self.early_stopping_rounds, low=1, also="None")
            if self.boosting_type == "dart":
                raise ValueError(
                    "early_stopping_rounds cannot be used with boosting_type='dart', which changes "
                    "earlier trees"
                )
        if self.validation_fraction is not None:
            check_number(
                "validation_fraction",
                self.validation_fraction,
                low=0.0,
                high=1.0,
                low_open=True,
                also="None",
            )
        check_integer("early_stopping_window", self.early_stopping_window, low=1)
        check_integer("n_models", self.n_models, low=1)
        check_number("query_subsample", self.query_subsample, low=0.0, high=1.0, low_open=True)
        if self.random_state is not None:
            check_seed(self.random_state)
        params = {theirs: getattr(self, ours) for ours, theirs in LIGHTGBM_NAMES.items()}
        return params | {
            "metric": "None",
            "num_threads": resolve_n_jobs(self.n_jobs),
            "seed": int(self.random_state or 0),
            "verbosity": self.verbose - 1 if self.verbose > 0 else self.verbose,
            **check_other_params(self.lgb_params),
        }

    def _trees_to_go_on_from(self, init_model: Any) -> tuple[lgb.Booster | None, int]:
        """Return the trees to start from, and how many to add."""
        if init_model is not None or not (self.warm_start and hasattr(self, "booster_")):
            if init_model is not None and self.start not in ("auto", "zero"):
                raise ValueError(
                    "init_model is where training starts: it cannot be given together with "
                    f"start={self.start!r}"
                )
            return as_booster(init_model), self.n_estimators
        if self.n_models > 1 or self.start_kind_ not in ("zero", "linear"):
            raise ValueError(
                "warm_start=True goes on with one model whose start is 'zero' or 'linear'; here "
                f"n_models={self.n_models} and the start is {self.start_kind_!r}"
            )
        n_trees = self.n_estimators - self.best_iteration_
        if n_trees < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {self.best_iteration_} "
                "trees there are already: warm_start=True goes on from them"
            )
        if n_trees == 0:
            warnings.warn(
                "warm_start=True without a greater n_estimators adds no trees", stacklevel=3
            )
        return as_booster(self), n_trees

    def _fevals(self) -> list[Callable[..., Any]]:
        wanted = self.eval_metric
        metrics = wanted if isinstance(wanted, list | tuple) else [wanted]
        return [feval(metric) if isinstance(metric, str) else metric for metric in metrics]
