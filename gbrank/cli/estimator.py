"""The estimator that the options of ``gbrank train`` describe."""

import argparse
from typing import Any

import gbrank
from gbrank.cli.extensions import find_metric, find_objective
from gbrank.cli.options import UsageError, as_parameters

#: The presets, and those that hold out queries by themselves (importing them takes too long for
#: ``--help``).
PRESETS, CROSS_FITTED = ("auto", "fast", "balanced", "best", "lightgbm"), ("balanced", "best")
#: With a validation file: at most so many trees, and for how many the metric may not improve.
MOST_TREES, PATIENCE = 1000, 50

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
    _check_together(arguments)
    metrics = {text: find_metric(text) for text in arguments.metric}
    try:
        ranker = gbrank.Ranker(
            objective=_make_objective(arguments),
            preset=arguments.preset,
            n_estimators=arguments.trees or (MOST_TREES if arguments.valid else None),
            num_leaves=arguments.leaves,
            learning_rate=arguments.learning_rate,
            start=arguments.start,
            eval_metric=[
                gbrank.metrics.feval(metric) if ":" in text else text
                for text, metric in metrics.items()
            ],
            random_state=arguments.seed,
            n_jobs=arguments.threads,
            verbose=1 if arguments.verbose else -1,
        )
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
    ranker.set_params(early_stopping_rounds=_patience(arguments, ranker))
    _set_lightgbm_parameters(ranker, as_parameters("--lgb", arguments.lgb))
    return ranker


def _check_together(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    preset = arguments.preset
    if preset in CROSS_FITTED and arguments.valid:
        raise UsageError(
            f"--valid: --preset {preset} holds out queries of the training data; leave --valid "
            "out, or use --preset fast"
        )
    if preset in CROSS_FITTED and arguments.start == "query_linear":
        raise UsageError(f"--start query_linear is for one booster, not --preset {preset}")
    if arguments.early_stopping and not arguments.valid and _is_one_booster(arguments):
        raise UsageError("--early-stopping of one booster needs validation data: --valid FILE")
    if arguments.objective_parameters and arguments.objective is None:
        raise UsageError("--set is for parameters of a loss: name it with --objective")


def _is_one_booster(arguments: argparse.Namespace) -> bool:
    auto = arguments.preset == "auto"
    plain = bool(arguments.valid) or arguments.start == "query_linear"
    return plain if auto else arguments.preset not in CROSS_FITTED


def _make_objective(arguments: argparse.Namespace) -> Any:
    """Return the loss that was named, with its parameters; ``None`` for what the preset says."""
    if arguments.objective is None:
        return None
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
    objective = loss(**parameters)
    objective.check_params()
    return objective


def _patience(arguments: argparse.Namespace, ranker: Any) -> int | None:
    """Return for how many trees the metric may not improve; ``None`` for what the preset says."""
    from gbrank.boosting import resolve_preset

    if arguments.valid:
        rounds = PATIENCE if arguments.early_stopping is None else arguments.early_stopping
        return rounds or None
    if arguments.early_stopping == 0 and not _is_one_booster(arguments):
        # here None is not never: as many as there are trees is
        return int(resolve_preset(ranker.get_params(deep=False))["n_estimators"])
    return arguments.early_stopping or None


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
