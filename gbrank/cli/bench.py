"""``gbrank bench``: how fast objectives are here, next to LightGBM's own."""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from gbrank.cli.files import Documents, read_documents
from gbrank.cli.options import UsageError, add_data_options, add_threads, new_command, positive
from gbrank.cli.output import show

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
        "turn, on a data file or on made-up data. Neither compilation nor the binning of "
        "features counts.",
        _EXAMPLES,
    )
    parser.add_argument("data", nargs="?", help="data file (default: made-up data)")
    parser.add_argument(
        "--objectives", nargs="+", default=_OURS, help=f"(default {' '.join(_OURS)})"
    )
    parser.add_argument(
        "--queries", type=positive, default=500, help="of made-up data (default 500)"
    )
    parser.add_argument("--trees", type=positive, default=20, help="of each training (default 20)")
    parser.add_argument("--leaves", type=positive, default=31, help="(default 31)")
    parser.add_argument("--rounds", type=positive, default=3, help="trainings of each (default 3)")
    add_threads(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Time objectives in turn."""
    from gbrank import list_objectives
    from gbrank.core import resolve_n_jobs

    for name in arguments.objectives:
        if name not in list_objectives():
            raise UsageError(
                f"unknown objective {name!r}; known are {', '.join(list_objectives())}"
            )
    threads = resolve_n_jobs(arguments.threads)
    documents = _documents(arguments)
    trainings = _trainings(documents, arguments, threads)
    seconds = _take_turns(trainings, arguments.rounds)
    milliseconds = {
        name: 1e3 * statistics.median(times) / arguments.trees for name, times in seconds.items()
    }
    base = next(name for name in milliseconds)
    result = {
        "data": arguments.data or "made up",
        "documents": documents.X.shape[0],
        "queries": documents.n_queries,
        "features": documents.X.shape[1],
        "threads": threads,
        "baseline": base,
        "objectives": {
            name: {"ms_per_tree": round(value, 3), "ratio": round(value / milliseconds[base], 3)}
            for name, value in milliseconds.items()
        },
    }
    show(arguments, result, _text(result))


def _documents(arguments: argparse.Namespace) -> Documents:
    if arguments.data:
        return read_documents(arguments.data, arguments)
    from pathlib import Path

    from gbrank.data import make_ranking

    data = make_ranking(n_queries=arguments.queries, random_state=0)
    return Documents(data.X, data.y, data.qid, None, Path("made up"))


def _trainings(
    documents: Documents, arguments: argparse.Namespace, threads: int
) -> dict[str, Callable[[], Any]]:
    """Return a function for each objective that trains with it."""
    import lightgbm as lgb
    import numpy as np
    from sklearn.utils import _safe_indexing

    from gbrank import get_objective
    from gbrank.core import QueryLayout, check_labels

    layout = QueryLayout.from_qid(documents.qid, documents.X.shape[0])
    labels = layout.sort(check_labels(documents.y, layout))
    params = {
        "num_leaves": arguments.leaves,
        "num_threads": threads,
        "metric": "None",
        "verbosity": -1,
        "force_col_wise": True,
    }
    X = documents.X if layout.order is None else _safe_indexing(documents.X, layout.order)
    dataset = lgb.Dataset(
        X, labels, group=layout.sizes, params=params, free_raw_data=False
    ).construct()

    def training(objective: Any) -> Callable[[], Any]:
        return lambda: lgb.train({**params, "objective": objective}, dataset, arguments.trees)

    # LightGBM's objectives take whole labels up to a limit, and lists up to 10,000 documents
    takes_native = (
        (labels == np.floor(labels)).all()
        and labels.max() <= _LARGEST_LABEL
        and layout.sizes.max() <= 10_000
    )
    peers = {f"LightGBM {name}": training(name) for name in _PEERS} if takes_native else {}
    own = {name: training(get_objective(name, n_jobs=threads)) for name in arguments.objectives}
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
    from gbrank.metrics import text_table

    rows = [
        [name, f"{entry['ms_per_tree']:.2f}", f"{entry['ratio']:.2f}"]
        for name, entry in result["objectives"].items()
    ]
    table = text_table(["objective", "ms a tree", f"times {result['baseline']}"], rows)
    return (
        f"{table}\n\n{result['documents']} documents of {result['queries']} queries, "
        f"{result['features']} features, {result['threads']} threads"
    )
