"""``gbrank train``: from data files to a model file."""

import argparse
import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbrank.cli.estimator import CROSS_FITTED, MOST_TREES, PATIENCE, PRESETS, make_ranker
from gbrank.cli.files import read_data
from gbrank.cli.options import (
    add_data_options,
    add_import,
    add_threads,
    assignment,
    check_target,
    natural,
    new_command,
    positive,
)
from gbrank.cli.output import show, two_columns

if TYPE_CHECKING:
    from gbrank.data import RankingData

_EXAMPLES = """\
  gbrank train train.txt --model model.txt
  gbrank train train.txt --preset best --metric ndcg@5 --model model.txt
  gbrank train train.txt --valid vali.txt --objective xendcg --model model.txt
  gbrank train train.txt --preset fast --objective listmle --set k=10 --model model.txt
  gbrank train train.csv --label grade --qid query --drop url --model model.txt
  gbrank train train.parquet --lgb max_bin=63 --lgb lambda_l2=10 --model model.txt
  gbrank train train.txt --objective my_losses.py:MyLoss --model model.txt

"gbrank objectives" lists the losses, "gbrank objectives NAME" what --set takes.
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "train",
        "train a model",
        "Train a model on a data file and write it to a file that LightGBM reads too. Without "
        "further options queries are held out in turn, which decide how many trees of which "
        "losses are best; the blend is one model, and how well it ranks queries that it did not "
        "see is reported.",
        _EXAMPLES,
    )
    parser.add_argument("data", help="training data")
    parser.add_argument("--model", required=True, metavar="FILE", help="where to write the model")
    parser.add_argument(
        "--valid",
        metavar="FILE",
        help=f"validation data: one booster, whose training stops when the metric has not improved "
        f"on them for {PATIENCE} trees; the best number of trees is kept",
    )
    parser.add_argument(
        "--preset",
        choices=PRESETS,
        default="auto",
        help="balanced: boosters on each of three folds, two losses, blended; best: five folds; "
        "fast: one booster; lightgbm: one with LightGBM's defaults; auto, the default, is balanced "
        "or, with --valid or --start query_linear, fast",
    )
    parser.add_argument(
        "--objective",
        help="name of a loss, or FILE.py:Class, or module:Class, to use no other (default: what "
        "the preset says, xendcg and, in balanced and best, lambdamart)",
    )
    add_import(parser)
    parser.add_argument(
        "--set",
        type=assignment,
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        default=[],
        dest="objective_parameters",
        help="parameters of the loss",
    )
    parser.add_argument(
        "--trees",
        type=positive,
        metavar="N",
        help="number of trees (default 100); at most so many of a booster in balanced and best "
        f"(default 500) and with --valid (default {MOST_TREES})",
    )
    parser.add_argument("--leaves", type=positive, default=31, metavar="N", help="(default 31)")
    parser.add_argument(
        "--learning-rate", type=float, metavar="RATE", help="(default 0.1; 0.03 in fast)"
    )
    parser.add_argument(
        "--start",
        choices=("auto", "zero", "linear", "query_linear"),
        default="auto",
        help="where boosting starts: auto, the default, is linear wherever that is possible "
        "(at most 1000 features, in memory), else zero, as for lambdamart in balanced and best and "
        "with --preset lightgbm; linear: a linear ranker, part of the trees; query_linear: one on "
        "features relative to their query, which only gbrank predicts",
    )
    parser.add_argument(
        "--metric",
        nargs="+",
        default=["ndcg@10"],
        help="metrics on validation data, or of held-out queries; the first one stops training "
        "(default ndcg@10)",
    )
    parser.add_argument(
        "--early-stopping",
        type=natural,
        metavar="N",
        help="trees without improvement after which to stop (default 25 in balanced and best, "
        f"{PATIENCE} with --valid); 0 for never",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="(default 0)")
    parser.add_argument(
        "--lgb",
        type=assignment,
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="any other parameter of LightGBM, by any of its names; lambda_l1, lambda_l2, "
        "min_gain_to_split and min_sum_hessian_in_leaf are in documents, but LightGBM's own with "
        "--preset lightgbm",
    )
    parser.add_argument(
        "--n-features",
        type=positive,
        metavar="N",
        help="columns of LETOR text (default: as many as the training data name)",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="show progress: trees, metric, time left"
    )
    add_threads(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Train and write a model."""
    target = Path(arguments.model)
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of {target} does not exist")
    check_target("--model", arguments.model, arguments.data, arguments.valid)
    ranker = make_ranker(arguments)
    training = read_data(arguments.data, arguments, signed=False)
    sets = {"training": (arguments.data, training)}
    evaluation = {}
    if arguments.valid:
        validation = read_data(arguments.valid, arguments, model=_Columns(training.X), signed=False)
        sets["validation"] = (arguments.valid, validation)
        evaluation = {
            "eval_X": validation.X,
            "eval_y": validation.y,
            "eval_qid": validation.qid,
        }
    started = time.perf_counter()
    with _noting_interrupts() as interrupts:
        ranker.fit(
            training.X,
            training.y,
            qid=training.qid,
            sample_weight=training.sample_weight,
            **evaluation,
        )
    seconds = time.perf_counter() - started
    ranker.save_model(target)
    result = _result(arguments, ranker, sets, seconds)
    show(arguments, result, _text(result))
    if interrupts:  # the trees grown so far are a model, but not the one that was asked for
        raise KeyboardInterrupt


@contextlib.contextmanager
def _noting_interrupts() -> Iterator[list[int]]:
    """Note Ctrl-C, after which the Ranker keeps the trees that it has and goes on."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note_it(number: int, _: object) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note_it)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


class _Columns:
    """The columns of the training data, as those that a model has."""

    def __init__(self, X: Any) -> None:
        self.n_features_in_ = X.shape[1]
        if hasattr(X, "columns"):
            self.feature_names_in_ = list(X.columns)


def _result(
    arguments: argparse.Namespace,
    ranker: Any,
    sets: dict[str, tuple[str, "RankingData"]],
    seconds: float,
) -> dict[str, Any]:
    from gbrank.boosting import resolve_preset

    blended = ranker.preset_ in CROSS_FITTED
    best = ranker.best_iteration_
    values = {}
    for metrics in {} if blended else ranker.evals_result_.values():
        values = {name: history[best - 1] for name, history in metrics.items()}
    used = resolve_preset({**ranker.get_params(deep=False), "preset": ranker.preset_})
    # 0, never, is as many as there are trees where members are grown in step
    rounds = used["early_stopping_rounds"] if arguments.early_stopping != 0 else None
    return {
        "model": arguments.model,
        "preset": ranker.preset_,
        "objective": None if blended and ranker.objective is None else repr(ranker.objective_),
        "start": ranker.start_kind_,
        "start_trees": ranker.n_start_trees_,
        "trees": best,
        "grown": _count_grown(ranker),
        "boosters": ranker.n_boosters_,
        "members": ranker.members_ if blended else None,
        "held_out": {
            "metric": arguments.metric[0],
            "score": ranker.cv_score_,
            "standard_error": ranker.cv_score_se_,
        }
        if blended
        else None,
        "early_stopping": {
            "rounds": rounds,
            "metric": arguments.metric[0],
            "data": arguments.valid,
        }
        if rounds
        else None,
        "data": {
            name: {
                "file": file,
                "documents": data.n_rows,
                "queries": data.n_queries,
                "features": data.X.shape[1],
            }
            for name, (file, data) in sets.items()
        },
        "validation": values,
        "seconds": round(seconds, 3),
    }


def _count_grown(ranker: Any) -> int:
    """Return how many trees were grown; of boosters in step, how many each has at the most."""
    histories = [
        history for metrics in ranker.evals_result_.values() for history in metrics.values()
    ]
    if not histories:
        return int(ranker.booster_.current_iteration() - ranker.n_start_trees_)
    return max(map(len, histories))


def _text(result: dict[str, Any]) -> str:
    part = f" ({result['start_trees']} trees of the model)" if result["start_trees"] else ""
    facts = {"preset": result["preset"]}
    if result["objective"]:
        facts["objective"] = result["objective"]
    for number, member in enumerate(result["members"] or [], 1):
        facts[f"member {number}"] = (
            f"{member['name']}: weight {member['weight']:.3f}, {member['trees']} trees, "
            f"{result['held_out']['metric']} {member['cv_score']:.4f}"
        )
    facts["start"] = f"{result['start']}{part}"
    for name, data in result["data"].items():
        facts[name] = (
            f"{data['file']}: {data['documents']} documents of {data['queries']} queries, "
            f"{data['features']} features"
        )
    stopping, held_out = result["early_stopping"], result["held_out"]
    of_what = f"of {result['boosters']} boosters," if held_out else f"of {result['grown']} grown"
    facts["trees"] = f"{result['trees']} {of_what} in {result['seconds']:.1f} s"
    judges = "validation data" if "validation" in result["data"] else "held-out queries"
    facts["early stopping"] = (
        f"after {stopping['rounds']} trees without a better {stopping['metric']} on {judges}"
        if stopping
        else "off"
    )
    for name, value in result["validation"].items():
        facts[name] = f"{value:.4f} on {judges}"
    if held_out:
        facts[held_out["metric"]] = (
            f"{held_out['score']:.4f} on {judges}, with a standard error of "
            f"{held_out['standard_error']:.4f}"
        )
    facts["model"] = result["model"]
    return two_columns(facts)
