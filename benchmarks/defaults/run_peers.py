"""Train the peers and the linear floors on every fold, clean and noisy; keep what every query got.

    python benchmarks/defaults/run_peers.py --data FOLDER

Each peer trains twice: stopped early on the validation queries, and again ("refit") on all queries
but the test queries with the number of trees found so. Noise is in all labels but those of the test
queries. Finished runs are kept in results/defaults/peers at once: the same command goes on where it
stopped.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from peers import MOST_TREES, PEERS
from sets import FOLDS, SETS, Fold, load_fold
from table import METRICS, Run, Table

from gbrank.linear import LinearRanker
from gbrank.metrics import evaluate

RESULTS = Path(__file__).parents[1] / "results" / "defaults" / "peers"
Result = tuple[str, np.ndarray, int, float]  # model, test scores, trees, CPU seconds
FLOORS = {"linear": False, "linear, relative to the query": True}


def query_values(test: Fold, scores: np.ndarray) -> np.ndarray:
    """Return the metrics of every test query, (metrics, queries)."""
    labels, qid = test.test.y, test.test.qid
    table = evaluate(labels, {"": scores}, qid=qid, metrics=list(METRICS), per_query=True, n_jobs=1)
    return np.array([table[name][0] for name in METRICS])


def run_floor(fold: Fold, name: str) -> list[Result]:
    """Fit a linear ranker to all queries but the test queries."""
    started = time.process_time()
    ranker = LinearRanker(relative=FLOORS[name]).fit(fold.rest.X, fold.rest.y, qid=fold.rest.qid)
    seconds = time.process_time() - started
    return [(name, ranker.predict(fold.test.X, qid=fold.test.qid), 0, seconds)]


def run_peer(fold: Fold, name: str, seed: int) -> list[Result]:
    """Train a peer with early stopping, then again on all queries."""
    fit, objective = PEERS[name]
    started = time.process_time()
    predict, trees = fit(objective, fold.train, fold.valid, MOST_TREES, seed)
    middle = time.process_time()
    again, _ = fit(objective, fold.rest, None, trees, seed)
    ended = time.process_time()
    return [
        (name, predict(fold.test.X), trees, middle - started),
        (f"{name}, refit", again(fold.test.X), trees, ended - middle),
    ]


def main() -> None:
    """Run what is missing: the cheapest models first, clean labels first."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--models", nargs="+", default=[*FLOORS, *PEERS])
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.6])
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or GBRANK_DATA")
    plan = [
        (name, noise, model, number)
        # the slowest one comes last of all
        for models in (options.models[:-1], options.models[-1:])
        for noise in options.noise
        for model in models
        for name in options.sets
        for number in FOLDS
    ]
    for name, noise, model, number in plan:
        path = RESULTS / f"{name}.npz"
        if path.exists():
            with np.load(path) as saved:
                table = Table(path, saved["qid"])
            if Run(model if model in FLOORS else f"{model}, refit", noise, number) in table.runs:
                continue
        fold = load_fold(Path(options.data), name, number, noise)
        results = run_floor(fold, model) if model in FLOORS else run_peer(fold, model, number)
        table = Table(path, fold.all_qid)
        for which, scores, trees, seconds in results:
            values = query_values(fold, scores)
            run = Run(which, noise, number)
            if run not in table.runs:
                table.add(run, np.unique(fold.test.qid), values, trees, seconds)
            means = " ".join(f"{value:.4f}" for value in np.nanmean(values, axis=1))
            print(f"{name} {noise} {number} {which}: {means}, {trees} trees", flush=True)


if __name__ == "__main__":
    main()
