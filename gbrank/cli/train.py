"""``gbrank train``: from data files to a model file."""

import argparse
import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbrank.cli.estimator import MOST_TREES, PATIENCE, TREES, make_ranker
from gbrank.cli.files import read_data
from gbrank.cli.options import (
    UsageError,
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
  gbrank train train.txt --valid vali.txt --objective xendcg --model model.txt
  gbrank train train.txt --objective listmle --set k=10 --trees 300 --model model.txt
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
        "Train a model on a data file and write it to a file that LightGBM reads too.",
        _EXAMPLES,
    )
    parser.add_argument("data", help="training data")
    parser.add_argument("--model", required=True, metavar="FILE", help="where to write the model")
    parser.add_argument(
        "--valid",
        metavar="FILE",
        help=f"validation data: training stops when the metric has not improved on them for "
        f"{PATIENCE} trees, and the best number of trees is kept",
    )
    parser.add_argument(
        "--objective",
        default="xendcg",
        help="name of a loss (default xendcg), or FILE.py:Class, or module:Class",
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
        help=f"number of trees (default {TREES}; with --valid at most {MOST_TREES})",
    )
    parser.add_argument("--leaves", type=positive, default=31, metavar="N", help="(default 31)")
    parser.add_argument(
        "--learning-rate", type=float, default=0.05, metavar="RATE", help="(default 0.05)"
    )
    parser.add_argument(
        "--start",
        choices=("auto", "zero", "linear", "query_linear"),
        default="auto",
        help="where boosting starts: auto, the default, is linear wherever that is possible "
        "(at most 1000 features, in memory), else zero; linear: a linear ranker, part of the "
        "trees; query_linear: one on features relative to their query, which only gbrank predicts",
    )
    parser.add_argument(
        "--metric",
        nargs="+",
        default=["ndcg@10"],
        help="metrics on validation data; the first one stops training (default ndcg@10)",
    )
    parser.add_argument(
        "--early-stopping",
        type=natural,
        metavar="N",
        help=f"trees without improvement after which to stop (default {PATIENCE}); 0 for never",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="(default 0)")
    parser.add_argument(
        "--lgb",
        type=assignment,
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="any other parameter of LightGBM, by any of its names",
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
    if arguments.early_stopping and not arguments.valid:
        raise UsageError("--early-stopping needs validation data: --valid FILE")
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
    best = ranker.best_iteration_
    grown = ranker.booster_.current_iteration() - ranker.n_start_trees_
    values = {}
    for metrics in ranker.evals_result_.values():
        values = {name: history[best - 1] for name, history in metrics.items()}
        grown = len(next(iter(metrics.values())))
    return {
        "model": arguments.model,
        "objective": repr(ranker.objective_),
        "start": ranker.start_kind_,
        "start_trees": ranker.n_start_trees_,
        "trees": best,
        "grown": grown,
        "early_stopping": {
            "rounds": ranker.early_stopping_rounds,
            "metric": arguments.metric[0],
            "data": arguments.valid,
        }
        if ranker.early_stopping_rounds
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


def _text(result: dict[str, Any]) -> str:
    part = f" ({result['start_trees']} trees of the model)" if result["start_trees"] else ""
    facts = {"objective": result["objective"], "start": f"{result['start']}{part}"}
    for name, data in result["data"].items():
        facts[name] = (
            f"{data['file']}: {data['documents']} documents of {data['queries']} queries, "
            f"{data['features']} features"
        )
    stopping = result["early_stopping"]
    facts["trees"] = f"{result['trees']} of {result['grown']} grown in {result['seconds']:.1f} s"
    facts["early stopping"] = (
        f"after {stopping['rounds']} trees without a better {stopping['metric']} on validation data"
        if stopping
        else "off"
    )
    for name, value in result["validation"].items():
        facts[name] = f"{value:.4f} on validation data"
    facts["model"] = result["model"]
    return two_columns(facts)
