"""What it costs to serve the models of the comparison: time of a prediction, and size.

Models of fold 1, trained as for the tables of quality, score the test rows 100 at a time, as a
search engine would, on one thread. Models take turns, and medians are kept.
"""

import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lightgbm as lgb
import numpy as np

from comparison.contestants import RANKERS
from comparison.peers import MOST_TREES, PEERS
from comparison.sets import Fold, load_fold
from gbrank import Ranker

HEAD = ["set", "model", "microseconds", "trees", "kilobytes"]
COMPILED = "Ranker().compile()"
ROWS, ROUNDS = 100, 15


def serve(folder: Path, name: str, out: Path) -> None:
    """Train on fold 1 of a set, unless that was done, and add a line a model to the table."""
    if not out.exists():
        out.write_text(",".join(HEAD) + "\n", encoding="utf-8")
    if any(row[0] == name for row in read(out)):
        return
    fold = load_fold(folder, name, 1)
    models = _trained(fold)
    blocks = [fold.test.X[at : at + ROWS] for at in range(0, len(fold.test.X) - ROWS, ROWS)][:10]
    seconds: dict[str, list[float]] = {model: [] for model in models}
    for _ in range(ROUNDS):
        for model, (predict, _, _) in models.items():
            predict(blocks[0])
            started = time.perf_counter()
            for block in blocks:
                predict(block)
            seconds[model].append((time.perf_counter() - started) / (len(blocks) * ROWS))
    with out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for model, (_, trees, size) in models.items():
            row = [f"{1e6 * np.median(seconds[model]):.3f}", trees, round(size / 1000)]
            writer.writerow([name, model, *row])


def read(path: Path) -> list[list[str]]:
    """Return the lines of a table."""
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def _trained(fold: Fold) -> dict[str, tuple[Callable[[np.ndarray], np.ndarray], int, int]]:
    """Return how each model predicts, its number of trees and the size of its file."""
    models = {}
    for model, params in RANKERS.items():
        ranker = Ranker(**params, n_jobs=1, random_state=1)
        ranker.fit(fold.rest.X, fold.rest.y, qid=fold.rest.qid)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.txt"
            ranker.save_model(path)
            facts = ranker.booster_.num_trees(), path.stat().st_size
            booster = lgb.Booster(model_file=path)
        models[model] = (lambda X, own=booster: own.predict(X, num_threads=1), *facts)
        if model == "Ranker()":
            models[COMPILED] = (ranker.compile().predict, *facts)
    for peer in ("LightGBM lambdarank", "LightGBM rank_xendcg"):
        fit, objective = PEERS[peer]
        _, trees = fit(objective, fold.train, fold.valid, MOST_TREES, 1)
        params = {"objective": objective, "learning_rate": 0.05, "seed": 1, "num_threads": 1}
        data = lgb.Dataset(fold.rest.X, fold.rest.y, group=fold.rest.sizes)
        booster = lgb.train({**params, "verbosity": -1}, data, trees)
        size = len(booster.model_to_string())
        predict = lambda X, own=booster: own.predict(X, num_threads=1)  # noqa: E731
        models[f"{peer}, refit"] = (predict, trees, size)
    return models
