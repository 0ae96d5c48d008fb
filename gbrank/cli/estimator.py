"""The estimator that the options of ``gbrank train`` describe."""

import argparse
from typing import Any

from gbrank.cli.options import UsageError, as_parameters

#: Trees without and with a validation file, and for how many trees the latter may not improve.
TREES, MOST_TREES, PATIENCE = 100, 1000, 50

#: Parameters of LightGBM that have an option of their own here.
_OPTION_OF = {
    "objective": "--objective",
    "eval_metric": "--metric",
    "metric": "--metric",
    "num_threads": "--threads",
    "n_jobs": "--threads",
    "num_iterations": "--trees",
    "n_estimators": "--trees",
    "early_stopping_round": "--early-stopping",
    "early_stopping_rounds": "--early-stopping",
    "seed": "--seed",
    "random_state": "--seed",
    "verbosity": "--verbose",
    "verbose": "--verbose",
}


def make_ranker(arguments: argparse.Namespace) -> Any:
    """Return the estimator that the options describe; refuse options that make no sense."""
    from gbrank import Ranker, get_objective, list_objectives
    from gbrank.metrics import get_metric

    parameters = as_parameters("--set", arguments.objective_parameters)
    if arguments.objective not in list_objectives():
        raise UsageError(
            f"unknown objective {arguments.objective!r}; known are {', '.join(list_objectives())}"
        )
    known = get_objective(arguments.objective).get_params()
    for name in parameters:
        if name not in known:
            raise UsageError(
                f"{arguments.objective} has no parameter {name!r}; it has "
                f"{', '.join(sorted(known))}"
            )
    if "random_state" in known:
        parameters.setdefault("random_state", arguments.seed)
    patience = PATIENCE if arguments.early_stopping is None else arguments.early_stopping
    try:
        for metric in arguments.metric:
            get_metric(metric)
        objective = get_objective(arguments.objective, **parameters)
        objective.check_params()
        ranker = Ranker(
            objective=objective,
            n_estimators=arguments.trees or (MOST_TREES if arguments.valid else TREES),
            num_leaves=arguments.leaves,
            learning_rate=arguments.learning_rate,
            start=arguments.start,
            eval_metric=list(arguments.metric),
            early_stopping_rounds=(patience or None) if arguments.valid else None,
            random_state=arguments.seed,
            n_jobs=arguments.threads,
            verbose=1 if arguments.verbose else -1,
        )
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
    _set_lightgbm_parameters(ranker, as_parameters("--lgb", arguments.lgb))
    return ranker


def _set_lightgbm_parameters(ranker: Any, parameters: dict[str, Any]) -> None:
    """Give each parameter to the Ranker under the name that it has there."""
    from gbrank.boosting import LIGHTGBM_NAMES, main_names

    known = main_names()
    ours = {theirs: ours for ours, theirs in LIGHTGBM_NAMES.items()}
    others = {}
    for name, value in parameters.items():
        main_name = known.get(name, name)
        if known and name not in known:
            raise UsageError(f"LightGBM has no parameter {name!r}{_similar(name, known)}")
        if main_name in _OPTION_OF:
            raise UsageError(f"--lgb {name}: use {_OPTION_OF[main_name]}")
        if main_name == "bagging_by_query" and value:
            raise UsageError("bagging_by_query does not work with losses that are not LightGBM's")
        if main_name in ours:
            ranker.set_params(**{ours[main_name]: value})
        else:
            others[main_name] = value
    ranker.set_params(lgb_params=others or None)


def _similar(name: str, known: dict[str, str]) -> str:
    import difflib

    found = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
