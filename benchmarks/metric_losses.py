"""Does it pay to optimise the metric itself? Losses for NDCG@10, MAP and MRR on ten real data sets.

    python benchmarks/metric_losses.py --data FOLDER            # all that is missing, then the page
    python benchmarks/metric_losses.py --data FOLDER --folds 1  # a part of it
    python benchmarks/metric_losses.py --page                   # only writes the page again

Every model is trained for one metric: it stops when that metric of the validation queries has not
improved for 30 trees, 300 at most, at learning rate 0.1, and the metric of the test queries is
kept. The losses of gbrank have one booster of ``Ranker(preset="fast")``, with its trees and its
linear start; peers have their own defaults; one thread. CatBoost's mode for NDCG has the gains of
the metric (``dcg_type=Exp``) in the place of its linear ones, with which fold 1 was run first.
Folds 1 and 2 are not untouched: about 15 variants were tried on them with test values in sight,
and gbrank's rows of fold 1, first run from zero, were replaced by ones
with the linear start (chosen on validation queries) after fold 1 had been seen. Nothing was chosen
after folds 3 to 5 were run; fold 5 of the two largest sets was run last. The linear
start was then one tree a feature; it is smaller now (defaults/start_cost.md). Compare
losses of gbrank with each other to see what a loss is worth, with peers to see the whole.

A run that is done is in results/metric_losses.csv.xz: the same command goes on where it stopped.
``--speed`` measures steps, and trees of one feature and two leaves, for which CatBoost's YetiRank
and ours take about as long as their gradients.
"""

import argparse
import csv
import io
import json
import lzma
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import lightgbm as lgb
import numpy as np
from common.provenance import provenance
from common.real_data import data_folder
from common.timing import interleave
from comparison.sets import FOLDS, SETS, Fold, Queries, load_fold
from metric_losses_page import write_page

from gbrank import LambdaMART, Objective, Ranker, YetiLoss
from gbrank.metrics import feval, get_metric

RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "metric_losses.csv.xz"
SPEED = RESULTS / "metric_losses_speed.json"
COLUMNS = ("set", "fold", "metric", "model", "value", "trees", "seconds")
METRICS = ("ndcg@10", "map", "mrr")
RATE, MOST_TREES, PATIENCE, SEED = 0.1, 300, 30, 7
ABLATED = ("MSLR_merged", "MQ2008")

Fitted = tuple[np.ndarray, int]
Model = Callable[[Fold, str], Fitted]


def of_gbrank(make: Callable[[str], str | Objective]) -> Model:
    """Return what trains one booster of the Ranker with a loss that may depend on the metric."""

    def fit(fold: Fold, metric: str) -> Fitted:
        ranker = Ranker(
            make(metric),
            preset="fast",
            n_estimators=MOST_TREES,
            learning_rate=RATE,
            early_stopping_rounds=PATIENCE,
            eval_metric=metric,
            random_state=SEED,
            n_jobs=1,
            lgb_params={"force_col_wise": True, "deterministic": True},
        )
        train, valid = fold.train, fold.valid
        ranker.fit(
            train.X, train.y, qid=train.qid, eval_X=valid.X, eval_y=valid.y, eval_qid=valid.qid
        )
        return ranker.predict(fold.test.X), ranker.best_iteration_

    return fit


def lightgbm(fold: Fold, metric: str) -> Fitted:
    """LightGBM's lambdarank with its own defaults."""
    params = {
        "objective": "lambdarank",
        "learning_rate": RATE,
        "metric": "None",
        "num_threads": 1,
        "force_col_wise": True,
        "deterministic": True,
        "seed": SEED,
        "verbosity": -1,
    }
    train, valid = fold.train, fold.valid
    data = lgb.Dataset(train.X, train.y, group=train.sizes)
    judged = lgb.Dataset(valid.X, valid.y, group=valid.sizes, reference=data)
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    judge = feval(metric, n_jobs=1)
    booster = lgb.train(params, data, MOST_TREES, [judged], feval=judge, callbacks=[stop])
    return np.asarray(booster.predict(fold.test.X, num_threads=1)), booster.best_iteration


def xgboost(fold: Fold, metric: str) -> Fitted:
    """XGBoost's rank:map of relevant or not, which it wants for it; rank:ndcg for NDCG."""
    import xgboost as xgb

    graded = metric.startswith("ndcg")
    params = {
        "objective": "rank:ndcg" if graded else "rank:map",
        "eta": RATE,
        "disable_default_eval_metric": True,
        "tree_method": "hist",
        "nthread": 1,
        "seed": SEED,
        "verbosity": 0,
    }
    judge, valid = get_metric(metric, n_jobs=1), fold.valid

    def watch(scores: np.ndarray, _: xgb.DMatrix) -> tuple[str, float]:
        return metric, float(judge(valid.y, scores.astype(np.float64), qid=valid.qid))

    data, judged = (
        xgb.DMatrix(part.X, _labels(part, graded), qid=part.qid, nthread=1)
        for part in (fold.train, valid)
    )
    booster = xgb.train(
        params,
        data,
        MOST_TREES,
        evals=[(judged, "valid")],
        custom_metric=watch,
        maximize=True,
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    trees = booster.best_iteration + 1
    return booster.predict(xgb.DMatrix(fold.test.X, nthread=1), iteration_range=(0, trees)), trees


#: CatBoost's modes of YetiRank, and its names of the metrics.
_MODES = {
    "ndcg@10": ("YetiRank:mode=NDCG;top=10;dcg_type=Exp", "NDCG:top=10;type=Exp"),
    "map": ("YetiRank:mode=MAP", "MAP"),
    "mrr": ("YetiRank:mode=MRR", "MRR"),
}


def catboost(classic: bool) -> Model:
    """CatBoost's YetiRank as it comes, or in the mode of the metric."""

    def fit(fold: Fold, metric: str) -> Fitted:
        import catboost

        mode, judge = _MODES[metric]
        graded = classic or metric.startswith("ndcg")
        model = catboost.CatBoost(
            {
                "loss_function": "YetiRank" if classic else mode,
                "eval_metric": judge,
                "iterations": MOST_TREES,
                "learning_rate": RATE,
                "early_stopping_rounds": PATIENCE,
                "use_best_model": True,
                "thread_count": 1,
                "random_seed": SEED,
                "logging_level": "Silent",
                "allow_writing_files": False,
            }
        )
        pools = [
            catboost.Pool(part.X, _labels(part, graded), group_id=part.qid, thread_count=1)
            for part in (fold.train, fold.valid)
        ]
        model.fit(pools[0], eval_set=pools[1])
        scores = model.predict(catboost.Pool(fold.test.X, thread_count=1), thread_count=1)
        return np.asarray(scores), int(model.tree_count_)

    return fit


def _labels(part: Queries, graded: bool) -> np.ndarray:
    return part.y if graded else (part.y > 0).astype(np.float64)


def _without_cutoff(metric: str) -> str:
    return metric.partition("@")[0]


#: What is trained for every metric, in the order of the page.
MODELS: dict[str, Model] = {
    "yetiloss": of_gbrank(YetiLoss),
    "yetiloss, 10 neighbors": of_gbrank(lambda metric: YetiLoss(metric, neighbors=10)),
    "lambdamart of the metric": of_gbrank(lambda metric: LambdaMART(metric=metric)),
    "xendcg": of_gbrank(lambda _: "xendcg"),
    "lambdamart": of_gbrank(lambda _: "lambdamart"),
    "LightGBM lambdarank": lightgbm,
    "XGBoost rank:map": xgboost,
    "CatBoost YetiRank, mode": catboost(classic=False),
    "CatBoost YetiRank": catboost(classic=True),
    "yetiloss, no cut-off": of_gbrank(lambda metric: YetiLoss(_without_cutoff(metric))),
}
#: Only for NDCG@10: the others have no cut-off.
OF_CUTOFFS = ("yetiloss, no cut-off",)
#: One thing changed in YetiLoss, for NDCG@10.
ABLATION: dict[str, Model] = {
    "no noise": of_gbrank(lambda metric: YetiLoss(metric, scale=0.0)),
    "gumbel noise": of_gbrank(lambda metric: YetiLoss(metric, noise="gumbel")),
    "2 neighbors": of_gbrank(lambda metric: YetiLoss(metric, neighbors=2)),
    "all neighbors": of_gbrank(lambda metric: YetiLoss(metric, neighbors=None)),
    "1 permutation": of_gbrank(lambda metric: YetiLoss(metric, permutations=1)),
    "100 permutations": of_gbrank(lambda metric: YetiLoss(metric, permutations=100)),
}


def measure_speed() -> dict[str, float]:
    """Return nanoseconds a document of a step, and of a tree of two leaves, at 120 documents."""
    n_queries, m, rng = 500, 120, np.random.default_rng(0)
    labels = rng.choice(5, size=n_queries * m, p=(0.5, 0.2, 0.15, 0.1, 0.05)).astype(np.float32)
    scores = rng.normal(size=len(labels))
    group = np.full(n_queries, m)
    losses = {
        "lambdamart": LambdaMART(),
        "yetiloss": YetiLoss(),
        "yetiloss@10": YetiLoss("ndcg@10"),
        "yetiloss, 10 neighbors": YetiLoss(neighbors=10),
        "yetiloss for map": YetiLoss("map"),
        "yetiloss for mrr": YetiLoss("mrr"),
    }
    steps = {}
    for name, loss in losses.items():
        training = loss.bind(labels, group, n_jobs=1)
        steps[name] = lambda training=training: training.advance(
            scores + 0.05 * rng.normal(size=len(scores))
        )
    seconds = interleave(steps, 25)
    noise = interleave({"": lambda: scores + 0.05 * rng.normal(size=len(scores))}, 25)[""]
    found = {
        f"step of {name}, ns a document": 1e9 * float(np.median(s - np.median(noise))) / len(labels)
        for name, s in seconds.items()
    }
    X = rng.normal(size=(len(labels), 1)).astype(np.float32)
    trees = {"yetiloss": _tree_of_ours, "CatBoost YetiRank": _tree_of_catboost}
    for name, train in trees.items():
        took = [_seconds(lambda: train(X, labels, group, n)) for n in (60, 10)]  # noqa: B023
        found[f"tree of {name}, ns a document"] = 1e9 * (took[0] - took[1]) / 50 / len(labels)
    return found


def _seconds(run_it: Callable[[], None]) -> float:
    started = time.process_time()
    run_it()
    return time.process_time() - started


def _tree_of_ours(X: np.ndarray, labels: np.ndarray, group: np.ndarray, n: int) -> None:
    params = {"objective": YetiLoss(), "num_leaves": 2, "num_threads": 1, "metric": "None"}
    data = lgb.Dataset(X, labels, group=group)
    lgb.train({**params, "verbose": -1, "force_col_wise": True}, data, n)


def _tree_of_catboost(X: np.ndarray, labels: np.ndarray, group: np.ndarray, n: int) -> None:
    import catboost

    settings = {"loss_function": "YetiRank:mode=NDCG", "iterations": n, "depth": 1}
    quiet = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
    qid = np.repeat(np.arange(len(group)), group)
    catboost.CatBoost({**settings, **quiet}).fit(catboost.Pool(X, labels, group_id=qid))


def read() -> list[dict[str, str]]:
    """Return the runs that are done."""
    if not FILE.exists():
        return []
    with lzma.open(FILE, "rt", newline="") as stream:
        return list(csv.DictReader(stream))


def run(fold: Fold, done: set[tuple[str, ...]], key: tuple[str, ...], model: Model) -> None:
    """Train and judge one model, unless that was done, and write it down."""
    if key in done:
        return
    started = time.process_time()
    metric = key[2]
    scores, trees = model(fold, metric)
    seconds = time.process_time() - started
    judge = get_metric(metric, n_jobs=1)
    value = judge(fold.test.y, np.asarray(scores, dtype=np.float64), qid=fold.test.qid)
    row = dict(zip(COLUMNS, [*key, f"{value:.6f}", trees, f"{seconds:.2f}"], strict=True))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows([*read(), row])
    FILE.write_bytes(lzma.compress(text.getvalue().encode()))
    print(*key, f"{value:.4f}", trees, f"{seconds:.1f} s", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing, a fold of all sets at a time, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets; default: GBRANK_DATA")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--folds", nargs="+", type=int, default=FOLDS, choices=FOLDS)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--speed", action="store_true", help="only measure speed")
    parser.add_argument("--ablation", action="store_true", help="what the parts of YetiLoss do")
    given = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if given.speed:
        SPEED.write_text(json.dumps({**provenance(), **measure_speed()}, indent=1) + "\n")
    elif not given.page:
        folder = data_folder(given.data)
        done = {tuple(row[column] for column in COLUMNS[:4]) for row in read()}
        for number in given.folds:
            for name in ABLATED if given.ablation else given.sets:
                fold = load_fold(folder, name, number)
                for metric in METRICS[:1] if given.ablation else METRICS:
                    models = ABLATION if given.ablation else MODELS
                    for model, fit in models.items():
                        if given.ablation or (
                            model in given.models and (model not in OF_CUTOFFS or "@" in metric)
                        ):
                            run(fold, done, (name, str(number), metric, model), fit)
    write_page(" ".join(__doc__.split("\n\n")[2].split()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
