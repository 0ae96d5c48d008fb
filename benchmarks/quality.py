"""How good are rankings out of the box? The Ranker and its peers on ten real data sets.

    python benchmarks/quality.py --data FOLDER                # all that is missing, then the page
    python benchmarks/quality.py --models linear --noise 0.6  # a part of it
    python benchmarks/quality.py --models                     # only writes the page again
    python benchmarks/quality.py --models --serving           # what predictions cost; keep it quiet

Five folds of every set; noise is the share of labels that are replaced in all queries but the test
queries or, with --clean-validation, in the training queries only. Finished runs are kept in
results/quality at once, query by query: the same command goes on where it stopped.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from comparison.contestants import CONTESTANTS, STOPPED
from comparison.page import write_page
from comparison.results import Results
from comparison.serving import serve
from comparison.sets import FOLDS, SETS, Fold, load_fold
from comparison.table import METRICS, Run, Table, load, table_path

from gbrank.metrics import evaluate

RESULTS = Path(__file__).parent / "results"


def query_values(fold: Fold, scores: np.ndarray) -> np.ndarray:
    """Return the metrics of every test query, (metrics, queries)."""
    labels, qid = fold.test.y, fold.test.qid
    table = evaluate(labels, {"": scores}, qid=qid, metrics=list(METRICS), per_query=True, n_jobs=1)
    return np.array([table[name][0] for name in METRICS])


def run(folder: Path, name: str, contestant: str, noise: float, number: int, clean: bool) -> None:
    """Train a contestant on a fold, unless that was done, and keep what every query got."""
    path = table_path(RESULTS / "quality", name)
    last = STOPPED.get(contestant, [contestant])[-1]
    if path.exists():
        with load(path) as saved:
            table = Table(path, saved["qid"])
        if Run(last, noise, number, clean) in table.runs:
            return
    fold = load_fold(folder, name, number, noise, clean_validation=clean)
    results = CONTESTANTS[contestant](fold, number)
    table = Table(path, fold.all_qid)  # read again: another process may have added runs
    for result in results:
        values = query_values(fold, result.scores)
        one = Run(result.model, noise, number, clean)
        if one not in table.runs:
            table.add(one, np.unique(fold.test.qid), values, result.trees, result.seconds)
        means = " ".join(f"{value:.4f}" for value in np.nanmean(values, axis=1))
        which = "clean validation, " if clean else ""
        print(f"{name} {noise} {number} {which}{one.model}: {means}, {result.trees} trees")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing, clean labels first, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--models", nargs="*", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.6, 0.2, 0.4])
    parser.add_argument("--clean-validation", action="store_true")
    parser.add_argument("--serving", action="store_true", help="measure predictions on fold 1")
    options = parser.parse_args(arguments)
    if (options.models or options.serving) and options.data is None:
        parser.error("name the folder of the data sets with --data or GBRANK_DATA")
    for noise in options.noise:
        for model in options.models:
            for name in options.sets:
                for number in FOLDS:
                    clean = options.clean_validation and noise > 0
                    run(Path(options.data), name, model, noise, number, clean)
    for name in options.sets if options.serving else ():
        serve(Path(options.data), name, RESULTS / "quality_serving.csv")
    write_page(Results(RESULTS / "quality"), RESULTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
