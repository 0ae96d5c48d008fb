"""``gbrank tune``: search for the best loss and its parameters, and write the model."""

import argparse
import contextlib
from pathlib import Path
from typing import Any

import gbrank
from gbrank.cli.extensions import find_metric, find_objective
from gbrank.cli.files import read_data
from gbrank.cli.options import (
    UsageError,
    add_data_options,
    add_import,
    add_threads,
    check_target,
    natural,
    new_command,
    positive,
)
from gbrank.cli.output import note, show

_EXAMPLES = """\
  gbrank tune train.txt --budget 10m --model best.txt
  gbrank tune train.txt --metric ndcg@5 --budget 1h --model best.txt --resume
  gbrank tune train.csv --trials 30 --objectives xendcg lambdamart --model best.txt --json

Trials are kept in MODEL.trials while the search runs, and after it: --resume goes on from them,
also in a second process at the same time.
"""
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "tune",
        "search for the best loss and its parameters",
        "Search for the best loss, its parameters, trees and start on folds of whole queries, "
        "write a model that LightGBM reads too, a blend of the best, or the Ranker as it comes "
        "where nothing was gained, and say what tuning was worth, on folds that did not choose.",
        _EXAMPLES,
    )
    parser.add_argument("data", help="training data")
    parser.add_argument("--model", required=True, metavar="FILE", help="where to write the model")
    parser.add_argument(
        "--metric", default="ndcg@10", help="what trials are judged by (default ndcg@10)"
    )
    parser.add_argument(
        "--budget", type=duration, metavar="TIME", help="time to search: 90s, 10m, 1.5h"
    )
    parser.add_argument(
        "--trials",
        type=positive,
        metavar="N",
        help="trials in all (default 50, or any with --budget)",
    )
    parser.add_argument(
        "--objectives",
        nargs="+",
        metavar="NAME",
        help="losses to choose from: names, FILE.py:Class or module:Class (default: four kinds)",
    )
    add_import(parser)
    parser.add_argument("--folds", type=positive, default=5, metavar="N", help="(default 5)")
    parser.add_argument(
        "--members",
        type=positive,
        default=4,
        metavar="N",
        help="trials that the model is blended from (default 4)",
    )
    parser.add_argument(
        "--holdout",
        type=float,
        metavar="SHARE",
        help="share of the queries that only the final comparison sees (default: none; it is made "
        "on folds, each with what was chosen without it)",
    )
    parser.add_argument(
        "--storage",
        metavar="FILE",
        help="where trials are kept, a file or a URL of Optuna (default MODEL.trials)",
    )
    parser.add_argument("--resume", action="store_true", help="go on from the trials kept there")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="(default 0)")
    parser.add_argument("--verbose", action="store_true", help="show progress")
    add_threads(parser)
    add_data_options(parser)
    return parser


def duration(text: str) -> float:
    """Read a time such as 90s, 10m or 1.5h; a number alone is in seconds.

    >>> from gbrank.cli.tune import duration
    >>> duration("10m"), duration("90")
    (600.0, 90.0)
    """
    unit = _SECONDS.get(text[-1:].lower())
    number = text if unit is None else text[:-1]
    seconds = -1.0
    with contextlib.suppress(ValueError):
        seconds = float(number) * (unit or 1.0)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a time such as 90s, 10m or 1.5h, got {text!r}")
    return seconds


def run(arguments: argparse.Namespace) -> None:
    """Search, write the model, and say what it is worth."""
    target = Path(arguments.model)
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of {target} does not exist")
    check_target("--model", arguments.model, arguments.data)
    storage = arguments.storage or f"{arguments.model}.trials"
    if "://" not in storage:
        check_target("--storage", storage, arguments.data)
        if Path(storage).exists() and not arguments.resume:
            raise UsageError(
                f"{storage} holds trials of an earlier search: --resume goes on from it"
            )
    metric = find_metric(arguments.metric)
    objectives = [_loss(name) for name in arguments.objectives or ()] or "auto"
    trials = arguments.trials
    if trials is None and arguments.budget is None:
        trials = 50
    data = read_data(arguments.data, arguments, signed=False)
    has_optuna = _has_optuna()
    result = gbrank.tune(
        data.X,
        data.y,
        data.qid,
        sample_weight=data.sample_weight,
        metric=metric,
        objectives=objectives,
        n_trials=trials,
        timeout=arguments.budget,
        cv=arguments.folds,
        storage=storage,
        sampler=None if has_optuna else "random",
        n_members=arguments.members,
        holdout=arguments.holdout,
        n_jobs=arguments.threads,
        random_state=arguments.seed,
        verbose=1 if arguments.verbose else 0,
    )
    result.best_ranker_.save_model(target)
    if not has_optuna:
        note(gbrank.tuning.WITHOUT_OPTUNA)
    show(arguments, _result(arguments, storage, result), f"{result.table()}\nmodel: {target}")
    if result.is_interrupted:  # there is a model, but not all of the search that was asked for
        raise KeyboardInterrupt


def _loss(name: str) -> Any:
    loss = find_objective(name)
    return loss() if ":" in name else name


def _has_optuna() -> bool:
    try:
        import optuna  # noqa: F401
    except ImportError:
        return False
    return True


def _result(arguments: argparse.Namespace, storage: str, result: Any) -> dict[str, Any]:
    pair = result.comparison_["tuned", result.defaults]
    return {
        "model": arguments.model,
        "storage": storage,
        "metric": result.metric,
        "best": {"score": result.best_score_, "point": result.best_point_},
        "members": result.best_ranker_.members_,
        "judged_on": result.judged_on,
        "means": result.comparison_.means,
        "difference": pair.difference,
        "interval": pair.interval,
        "p": pair.p_permutation,
        "verdict": result.verdict(),
        "tuned_share": result.tuned_share_,
        "seconds": result.seconds_,
        "trials": [
            {
                "number": each.number,
                "state": each.state,
                "value": each.value,
                "folds": each.n_folds,
                "seconds": each.seconds,
                "point": each.point,
                "note": each.note,
            }
            for each in result.trials
        ],
    }
