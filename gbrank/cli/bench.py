"""``gbrank bench``: how fast objectives are here, next to LightGBM's own."""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gbrank
from gbrank.cli.extensions import find_objective
from gbrank.cli.files import read_data
from gbrank.cli.options import add_data_options, add_import, add_threads, new_command, positive
from gbrank.cli.output import show

if TYPE_CHECKING:
    from gbrank.data import RankingData

#: LightGBM's own objectives; times are given as multiples of the first.
_PEERS = ("lambdarank", "rank_xendcg")
_OURS = ("xendcg", "listnet", "lambdamart")
_LARGEST_LABEL = 30  # of LightGBM's own objectives

_EXAMPLES = """\
  gbrank bench
  gbrank bench train.txt --objectives xendcg listmle --trees 50
  gbrank bench --queries 2000 --threads 1 --json
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "bench",
        "speed of objectives here",
        "Time training with objectives, and with LightGBM's own lambdarank and rank_xendcg, in "
        "turn, on a data file or on synthetic data. Neither compilation nor the binning of "
        "features counts.",
        _EXAMPLES,
    )
    parser.add_argument("data", nargs="?", help="data file (default: synthetic data)")
    parser.add_argument(
        "--objectives", nargs="+", default=_OURS, help=f"(default {' '.join(_OURS)})"
    )
    parser.add_argument(
        "--queries", type=positive, default=500, help="of synthetic data (default 500)"
    )
    parser.add_argument("--trees", type=positive, default=20, help="of each training (default 20)")
    parser.add_argument("--leaves", type=positive, default=31, help="(default 31)")
    parser.add_argument("--rounds", type=positive, default=3, help="trainings of each (default 3)")
    add_import(parser)
    add_threads(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Time objectives in turn."""
    losses = {text: find_objective(text) for text in arguments.objectives}
    threads = arguments.threads or _usable_cpus()
    data = _data(arguments)
    trainings = _trainings(data, losses, arguments, threads)
    seconds = _take_turns(trainings, arguments.rounds)
    milliseconds = {
        name: 1e3 * statistics.median(times) / arguments.trees for name, times in seconds.items()
    }
    base = next(name for name in milliseconds)
    result = {
        "data": arguments.data or "synthetic",
        "documents": data.n_rows,
        "queries": data.n_queries,
        "features": data.X.shape[1],
        "threads": threads,
        "baseline": base,
        "objectives": {
            name: {"ms_per_tree": round(value, 3), "ratio": round(value / milliseconds[base], 3)}
            for name, value in milliseconds.items()
        },
    }
    show(arguments, result, _text(result))


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _data(arguments: argparse.Namespace) -> "RankingData":
    """Return the data with the rows of a query together."""
    if arguments.data:
        data = read_data(arguments.data, arguments, signed=False)
    else:
        data = gbrank.data.make_ranking(n_queries=arguments.queries, random_state=0)
    return data if data.layout.order is None else data.take(range(data.n_queries))


def _trainings(
    data: "RankingData", losses: dict[str, Any], arguments: argparse.Namespace, threads: int
) -> dict[str, Callable[[], Any]]:
    """Return a function for each objective that trains with it."""
    import lightgbm as lgb
    import numpy as np

    params = {
        "num_leaves": arguments.leaves,
        "num_threads": threads,
        "metric": "None",
        "verbosity": -1,
        "force_col_wise": True,
    }
    dataset = lgb.Dataset(
        data.X, data.y, group=data.group, params=params, free_raw_data=False
    ).construct()

    def training(objective: Any) -> Callable[[], Any]:
        return lambda: lgb.train({**params, "objective": objective}, dataset, arguments.trees)

    # LightGBM's objectives take integer labels up to a limit, and lists up to 10,000 documents
    takes_native = (
        (data.y == np.floor(data.y)).all()
        and data.y.max() <= _LARGEST_LABEL
        and data.group.max() <= 10_000
    )
    peers = {f"LightGBM {name}": training(name) for name in _PEERS} if takes_native else {}
    own = {name: training(loss(n_jobs=threads)) for name, loss in losses.items()}
    return {**peers, **own}


def _take_turns(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Time each in turn, so that a slow moment of the machine hits all; the first turn compiles."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, train in runs.items():
            start = time.perf_counter()
            train()
            if turn > 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def _text(result: dict[str, Any]) -> str:
    rows = [
        [name, f"{entry['ms_per_tree']:.2f}", f"{entry['ratio']:.2f}"]
        for name, entry in result["objectives"].items()
    ]
    table = gbrank.metrics.text_table(
        ["objective", "ms a tree", f"times {result['baseline']}"], rows
    )
    return (
        f"{table}\n\n{result['documents']} documents of {result['queries']} queries, "
        f"{result['features']} features, {result['threads']} threads"
    )
