"""The estimator that the options of ``gbrank train`` describe."""

import argparse
from typing import Any

import gbrank
from gbrank.cli.extensions import find_metric, find_objective
from gbrank.cli.options import UsageError, as_parameters

#: Trees without and with a validation file, and for how many trees the latter may not improve.
TREES, MOST_TREES, PATIENCE = 100, 1000, 50

#: Parameters of LightGBM that have an option of their own here.
_OPTION_OF = {
    "objective": "--objective",
    "metric": "--metric",
    "num_threads": "--threads",
    "num_iterations": "--trees",
    "early_stopping_round": "--early-stopping",
    "seed": "--seed",
    "verbosity": "--verbose",
}


def make_ranker(arguments: argparse.Namespace) -> Any:
    """Return the estimator that the options describe; refuse options that make no sense."""
    parameters = as_parameters("--set", arguments.objective_parameters)
    loss = find_objective(arguments.objective)
    known = loss().get_params()
    for name in parameters:
        if name not in known:
            raise UsageError(
                f"{arguments.objective} has no parameter {name!r}; it has "
                f"{', '.join(sorted(known))}"
            )
    if "random_state" in known:
        parameters.setdefault("random_state", arguments.seed)
    patience = PATIENCE if arguments.early_stopping is None else arguments.early_stopping
    metrics = {text: find_metric(text) for text in arguments.metric}
    try:
        objective = loss(**parameters)
        objective.check_params()
        ranker = gbrank.Ranker(
            objective=objective,
            n_estimators=arguments.trees or (MOST_TREES if arguments.valid else TREES),
            num_leaves=arguments.leaves,
            learning_rate=arguments.learning_rate,
            start=arguments.start,
            eval_metric=[
                gbrank.metrics.feval(metric) if ":" in text else text
                for text, metric in metrics.items()
            ],
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
    """Give each parameter to the Ranker: under the Ranker's name for it, or in ``lgb_params``.

    What has an option here is refused, and so is what ``lgb_params`` refuses in Python.
    """
    from gbrank.boosting import LIGHTGBM_NAMES, lightgbm_params, main_names

    known = main_names()
    ours = {theirs: ours for ours, theirs in LIGHTGBM_NAMES.items()}
    others = {}
    for name, value in parameters.items():
        main_name = known.get(name, name)
        if main_name in _OPTION_OF:
            raise UsageError(f"--lgb {name}: use {_OPTION_OF[main_name]}")
        if main_name in ours:
            ranker.set_params(**{ours[main_name]: value})
        else:
            others[main_name] = value
    ranker.set_params(lgb_params=others or None)
    try:
        lightgbm_params(ranker.get_params(deep=False))
    except ValueError as error:
        raise UsageError(str(error)) from error
