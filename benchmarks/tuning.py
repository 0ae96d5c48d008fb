"""What tuning is worth: gbrank.tune against loops that people write, at equal budgets.

    python benchmarks/tuning.py --data FOLDER              # all that is missing, then the page
    python benchmarks/tuning.py --methods                  # only writes the page again
    python benchmarks/tuning.py --count --budget 100 ...   # only fold-trainings, on MQ2008
    python benchmarks/tuning.py --same-points 24           # only their speed at equal points
    python benchmarks/tuning.py --shares 24                # only what the time of trials goes to

Fold f tests on part f of a data set, and every method gets the queries of all other parts, one
thread and the same number of CPU seconds to search; what it then trains on all of them, and the
compilation of kernels, is not counted. All search over five folds of whole queries, with up to 500
trees that stop when NDCG@10 has not improved for 25. Finished runs are kept in results/tuning at
once, query by query: the same command goes on where it stopped.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
from comparison.sets import Queries, load_fold
from comparison.table import METRICS, Run, Table, table_path
from tuning_page import write_page

import gbrank
from gbrank.boosting.documents import mean_hessian
from gbrank.core import RankingData
from gbrank.data import make_ranking
from gbrank.metrics import evaluate, ndcg_score

RESULTS = Path(__file__).parent / "results"
#: The two largest sets of the comparison do not fit into such budgets.
SETS = (
    "table_www2018",
    "MQ2008",
    "target_types_sigir2017",
    "OHSUMED_QLN",
    "aslib_maxsat15",
    "f1_races",
    "MSLR_merged",
    "trec_object_runs",
)
N_FOLDS, MOST_TREES, PATIENCE = 5, 500, 25


class Tuned(NamedTuple):
    """Scores of the test rows, fold-trainings (ended, of trials given up), trials, CPU seconds.

    ``trees`` are those of all fold-trainings at their best, without the patience after these.
    """

    scores: np.ndarray
    ended: int
    lost: int
    trials: int
    seconds: float
    trees: int = 0


def folds_of(rest: Queries, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the row numbers of the folds, the same for all loops."""
    splitter = gbrank.QueryKFold(N_FOLDS, shuffle=True, random_state=seed)
    return list(splitter.split(rest.X, rest.y, rest.qid))


def run_tune(rest: Queries, X: np.ndarray, budget: float, seed: int) -> Tuned:
    """Tune with gbrank."""
    found = gbrank.tune(
        rest.X, rest.y, rest.qid, n_trials=None, timeout=budget, cv=N_FOLDS, random_state=seed
    )
    lost = sum(each.n_folds for each in found.trials if each.state == "dropped")
    scores = found.best_ranker_.predict(X)
    ended = found.n_fold_trainings_
    trees = sum(sum(each.n_trees) for each in found.trials)
    return Tuned(scores, ended - lost, lost, len(found.trials), found.seconds_, trees)


def run_defaults(rest: Queries, X: np.ndarray, budget: float, seed: int) -> Tuned:
    """Train the Ranker as it comes."""
    started = time.process_time()
    ranker = gbrank.Ranker(n_jobs=1, random_state=seed).fit(rest.X, rest.y, qid=rest.qid)
    return Tuned(ranker.predict(X), 0, 0, 0, time.process_time() - started)


Fit = Callable[..., tuple[Callable[[np.ndarray], np.ndarray], int]]


def our_ndcg(rows: Queries, scores: np.ndarray) -> float:
    """Return the mean NDCG@10 by gbrank's function."""
    return float(ndcg_score(rows.y, scores, qid=rows.qid, k=10, n_jobs=1))


def sklearn_ndcg(rows: Queries, scores: np.ndarray) -> float:
    """Return the mean NDCG@10 as people write it with scikit-learn, which has no queries."""
    from sklearn.metrics import ndcg_score as of_one_query

    ends = np.cumsum(rows.sizes)[:-1]
    pairs = zip(np.split(rows.y, ends), np.split(scores, ends), strict=True)
    return float(np.mean([of_one_query([y], [own], k=10) for y, own in pairs if len(y) > 1]))


def run_loop(
    suggest: Callable[[Any], dict[str, Any]],
    fit: Fit,
    judge: Callable[[Queries, np.ndarray], float] = our_ndcg,
) -> Callable[..., Tuned]:
    """Return the loop that people write around Optuna, for a library."""

    def run(rest: Queries, X: np.ndarray, budget: float, seed: int) -> Tuned:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        folds, started = folds_of(rest, seed), time.process_time()
        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        ended = trials = grown = 0
        best: tuple[float, dict[str, Any], int] | None = None
        while best is None or time.process_time() - started < budget:
            trial = study.ask()
            params = suggest(trial)
            values, counts = [], []
            for inside, outside in folds:
                train, valid = (
                    Queries(rest.X[r], rest.y[r], rest.qid[r]) for r in (inside, outside)
                )
                predict, trees = fit(params, train, valid, MOST_TREES, seed)
                values.append(judge(valid, predict(valid.X)))
                counts.append(trees)
                ended, grown = ended + 1, grown + trees
                if best is not None and time.process_time() - started > budget:
                    break
            if len(values) < len(folds):
                break
            trials += 1
            study.tell(trial, float(np.mean(values)))
            if best is None or np.mean(values) > best[0]:
                best = float(np.mean(values)), params, max(round(float(np.mean(counts))), 1)
        seconds = time.process_time() - started
        predict, _ = fit(best[1], rest, None, best[2], seed)
        return Tuned(predict(X), ended, 0, trials, seconds, grown)

    return run


def suggest_lightgbm(trial: Any) -> dict[str, Any]:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 64, log=True),
        "min_data_in_leaf": trial.suggest_int("min_data_in_leaf", 5, 100, log=True),
        "lambda_l2": trial.suggest_float("lambda_l2", 1e-3, 10.0, log=True),
        "feature_fraction": trial.suggest_float("feature_fraction", 0.2, 1.0),
        "bagging_fraction": trial.suggest_float("bagging_fraction", 0.5, 1.0),
        "lambdarank_truncation_level": trial.suggest_int("truncation_level", 5, 100, log=True),
        "bagging_freq": 1,
    }


def fit_lightgbm(
    params: dict[str, Any], train: Queries, valid: Queries | None, trees: int, seed: int
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    own = {
        **params,
        "objective": "lambdarank",
        "metric": "ndcg" if valid is not None else "None",
        "eval_at": [10],
        "num_threads": 1,
        "force_col_wise": True,
        "seed": seed,
        "verbosity": -1,
    }
    data = lgb.Dataset(train.X, train.y, group=train.sizes)
    watched: dict[str, Any] = {}
    if valid is not None:
        judged = lgb.Dataset(valid.X, valid.y, group=valid.sizes, reference=data)
        stop = lgb.early_stopping(PATIENCE, verbose=False)
        watched = {"valid_sets": [judged], "callbacks": [stop]}
    booster = lgb.train(own, data, trees, **watched)
    used = booster.best_iteration if valid is not None else trees
    return lambda X: np.asarray(booster.predict(X, num_iteration=used, num_threads=1)), used


def suggest_xgboost(trial: Any) -> dict[str, Any]:
    return {
        "objective": trial.suggest_categorical("objective", ["rank:ndcg", "rank:pairwise"]),
        "eta": trial.suggest_float("eta", 0.03, 0.3, log=True),
        "max_leaves": trial.suggest_int("max_leaves", 4, 64, log=True),
        "min_child_weight": trial.suggest_float("min_child_weight", 0.01, 10.0, log=True),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 10.0, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.2, 1.0),
        "subsample": trial.suggest_float("subsample", 0.5, 1.0),
    }


def fit_xgboost(
    params: dict[str, Any], train: Queries, valid: Queries | None, trees: int, seed: int
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    import xgboost as xgb

    own = {
        **params,
        "grow_policy": "lossguide",
        "max_depth": 0,
        "tree_method": "hist",
        "eval_metric": "ndcg@10",
        "nthread": 1,
        "seed": seed,
        "verbosity": 0,
    }
    data = xgb.DMatrix(train.X, train.y, qid=train.qid, nthread=1)
    watched: dict[str, Any] = {}
    if valid is not None:
        judged = xgb.DMatrix(valid.X, valid.y, qid=valid.qid, nthread=1)
        watched = {"evals": [(judged, "valid")], "early_stopping_rounds": PATIENCE}
    booster = xgb.train(own, data, trees, verbose_eval=False, **watched)
    used = booster.best_iteration + 1 if valid is not None else trees

    def predict(X: np.ndarray) -> np.ndarray:
        scores: np.ndarray = booster.predict(xgb.DMatrix(X, nthread=1), iteration_range=(0, used))
        return scores.astype(np.float64)

    return predict, used


def suggest_catboost(trial: Any) -> dict[str, Any]:
    return {
        "loss_function": trial.suggest_categorical("loss_function", ["YetiRank", "QueryRMSE"]),
        "learning_rate": trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
        "depth": trial.suggest_int("depth", 3, 8),
        "l2_leaf_reg": trial.suggest_float("l2_leaf_reg", 0.3, 30.0, log=True),
        "rsm": trial.suggest_float("rsm", 0.2, 1.0),
        "random_strength": trial.suggest_float("random_strength", 0.1, 10.0, log=True),
    }


def fit_catboost(
    params: dict[str, Any], train: Queries, valid: Queries | None, trees: int, seed: int
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    import catboost

    model = catboost.CatBoost(
        {
            **params,
            "eval_metric": "NDCG:top=10;type=Exp",
            "iterations": trees,
            "early_stopping_rounds": PATIENCE if valid is not None else None,
            "use_best_model": valid is not None,
            "thread_count": 1,
            "random_seed": seed,
            "logging_level": "Silent",
            "allow_writing_files": False,
        }
    )
    pools = [
        None if part is None else catboost.Pool(part.X, part.y, group_id=part.qid, thread_count=1)
        for part in (train, valid)
    ]
    model.fit(pools[0], eval_set=pools[1])

    def predict(X: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict(catboost.Pool(X, thread_count=1), thread_count=1))

    return predict, max(int(model.tree_count_), 1)


METHODS: dict[str, Callable[..., Tuned]] = {
    "Ranker()": run_defaults,
    "gbrank.tune": run_tune,
    "Optuna, LightGBM lambdarank": run_loop(suggest_lightgbm, fit_lightgbm),
    "Optuna, XGBoost": run_loop(suggest_xgboost, fit_xgboost),
    "Optuna, CatBoost": run_loop(suggest_catboost, fit_catboost),
}
#: Whose fold-trainings are counted: the second loop takes the value of a fold from scikit-learn.
COUNTED: dict[str, Callable[..., Tuned]] = {
    "gbrank.tune": run_tune,
    "Optuna, LightGBM lambdarank": METHODS["Optuna, LightGBM lambdarank"],
    "the same with scikit-learn's ndcg_score": run_loop(
        suggest_lightgbm, fit_lightgbm, sklearn_ndcg
    ),
}


def warm_up() -> None:
    """Compile what every loss needs, which is kept on disk, before any clock runs."""
    data = make_ranking(n_queries=120, random_state=0)
    for objective, parameter, values in (
        ("xendcg", "gamma", ["uniform", "annealed", "tight"]),
        ("gain_pairwise", "phi", ["logistic", "exponential", "squared_hinge"]),
        ("listnet", "temperature", [0.5, 1.0]),
        ("lambdamart", "norm", [True, False]),
    ):
        gbrank.tune(
            data.X,
            data.y,
            data.qid,
            objectives=[objective],
            space={f"{objective}__{parameter}": values},
            n_trials=8,
            cv=2,
            race=None,
            sampler="random",
            ranker=gbrank.Ranker(n_estimators=2),
        )
    gbrank.Ranker(n_estimators=2, n_jobs=1).fit(data.X, data.y, qid=data.qid)


def run(folder: Path, name: str, method: str, number: int, budget: float) -> None:
    """Run a method on a fold of a set, unless that was done, and keep what every query got."""
    path = table_path(RESULTS / "tuning", name)
    model = method if method == "Ranker()" else f"{method}, {budget:g} s"
    fold = load_fold(folder, name, number)
    table = Table(path, fold.all_qid)
    if Run(model, 0.0, number) in table.runs:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = METHODS[method](fold.rest, fold.test.X, budget, number)
    labels, qid = fold.test.y, fold.test.qid
    scores = {"": tuned.scores}
    found = evaluate(labels, scores, qid=qid, metrics=list(METRICS), per_query=True, n_jobs=1)
    values = np.array([found[metric][0] for metric in METRICS])
    table = Table(path, fold.all_qid)  # read again: another process may have added runs
    table.add(Run(model, 0.0, number), np.unique(qid), values, tuned.trials, tuned.seconds)
    if tuned.ended:
        path = RESULTS / "tuning" / "trainings.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        kept[f"{name}, fold {number}, {model}"] = [tuned.ended, tuned.lost, tuned.trials]
        path.write_text(json.dumps(dict(sorted(kept.items()))) + "\n")
    means = " ".join(f"{value:.4f}" for value in np.nanmean(values, axis=1))
    print(f"{name} {number} {model}: {means}, {tuned[1:]}", flush=True)


def count(folder: Path, budget: float) -> None:
    """Count the fold-trainings that fit into a budget on MQ2008, and keep the counts."""
    fold = load_fold(folder, "MQ2008", 1)
    path = RESULTS / "tuning_count.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for method, tune in COUNTED.items():
        if method not in kept:
            tuned = tune(fold.rest, fold.test.X, budget, 1)
            kept[method] = {
                "budget": budget,
                "ended": tuned.ended,
                "of trials that were dropped": tuned.lost,
                "trials": tuned.trials,
                "trees": tuned.trees,
                "seconds": round(tuned.seconds, 1),
            }
            path.write_text(json.dumps(kept, indent=1) + "\n")
            print(method, kept[method], flush=True)


#: What the loop calls the parameters of a point.
THEIR_NAMES = {
    "learning_rate": "learning_rate",
    "num_leaves": "num_leaves",
    "min_child_samples": "min_data_in_leaf",
    "colsample_bytree": "feature_fraction",
    "subsample": "bagging_fraction",
    "lambdamart__truncation_level": "lambdarank_truncation_level",
}


def as_in_the_loop(point: dict[str, Any], rest: Queries) -> dict[str, Any]:
    """Return a point as LightGBM's lambdarank takes it, its penalties in units of the hessian."""
    level = point["lambdamart__truncation_level"]
    rows = RankingData.checked(rest.X, rest.y, rest.qid)
    unit = mean_hessian(gbrank.LambdaMART(truncation_level=level, n_jobs=1), rows)
    return {
        **{theirs: point[ours] for ours, theirs in THEIR_NAMES.items()},
        "lambda_l2": unit * point["reg_lambda"],
        "min_sum_hessian_in_leaf": 0.0,
        "bagging_freq": 1,
    }


def take_time(spent: dict[str, float], owner: Any, name: str, part: str) -> None:
    """Have a function add its CPU seconds to what its part has ``spent``; but for parts in it."""
    function = getattr(owner, name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        started, before = time.process_time(), sum(spent.values())
        try:
            return function(*args, **kwargs)
        finally:
            own = time.process_time() - started - (sum(spent.values()) - before)
            spent[part] = spent.get(part, 0.0) + own

    setattr(owner, name, wrapper)


def same_points(folder: Path, n_points: int) -> None:
    """Time the same random points, on the same folds, in gbrank.tune and in the loop, in turns.

    Nothing is dropped and Optuna is not asked. The first trial, of the defaults, makes the Datasets
    of all; it is not counted. The value of a fold is in the loop LightGBM's own best score, or what
    either function says of predictions.
    """
    rest = load_fold(folder, "MQ2008", 1).rest
    folds = folds_of(rest, 1)
    space = gbrank.Ranker.search_space(["lambdamart"])
    kept: list[dict[str, float]] = []
    spent = {"growing": 0.0}
    take_time(spent, lgb.Booster, "_Booster__boost", "growing")  # the loop needs none such

    def in_the_loop(trial: Any) -> None:
        growing, spent["growing"] = spent["growing"], 0.0
        if trial.number == 0:
            return
        params = as_in_the_loop(trial.point, rest)
        taken, trees = np.zeros(4), 0
        for inside, outside in folds:
            clock = [time.process_time()]
            train, valid = (Queries(rest.X[r], rest.y[r], rest.qid[r]) for r in (inside, outside))
            predict, used = fit_lightgbm(params, train, valid, MOST_TREES, 1)
            clock.append(time.process_time())
            scores = predict(valid.X)
            clock.append(time.process_time())
            our_ndcg(valid, scores)
            clock.append(time.process_time())
            sklearn_ndcg(valid, scores)
            clock.append(time.process_time())
            taken += np.diff(clock)
            trees += used
        training, predicting, ours, sklearns = taken.round(4).tolist()
        kept.append(
            {
                "seconds": round(trial.seconds, 4),
                "growing": round(growing, 4),
                "trees": int(sum(trial.n_trees)),
                "loop seconds": round(training + predicting + ours, 4),
                "loop training": training,
                "loop with sklearn": round(training + predicting + sklearns, 4),
                "loop trees": trees,
            }
        )

    gbrank.tune(
        rest.X,
        rest.y,
        rest.qid,
        objectives=["lambdamart"],
        start="zero",
        space={name: space[name] for name in (*THEIR_NAMES, "reg_lambda")},
        n_trials=n_points + 1,
        cv=gbrank.QueryKFold(N_FOLDS, shuffle=True, random_state=1),
        sampler="random",
        race=None,
        n_members=0,
        ranker=gbrank.Ranker(min_child_weight=0.0),
        callback=in_the_loop,
        random_state=1,
    )
    path = RESULTS / "tuning_same_points.json"
    path.write_text(json.dumps({"folds": N_FOLDS, "points": kept}, indent=1) + "\n")


def shares(folder: Path, n_trials: int) -> None:
    """Take the time of the parts of trials on MQ2008, and keep what share of it each has."""
    from gbrank.objectives import Objective
    from gbrank.tuning import samplers, trainer

    spent: dict[str, float] = {}
    timed = partial(take_time, spent)
    timed(lgb.Booster, "_Booster__boost", "growing trees")
    timed(Objective, "__call__", "gradients")
    timed(lgb.Booster, "eval_valid", "judging held-out queries")
    timed(sys.modules["gbrank.boosting.cross_fit"]._Growing, "add_tree", "judging held-out queries")
    timed(sys.modules["gbrank.boosting.cross_fit"], "_make_booster", "making boosters")
    timed(trainer, "rescaled", "scaling linear starts")
    timed(samplers.OptunaSampler, "propose", "proposing points")
    rest = load_fold(folder, "MQ2008", 1).rest
    found = gbrank.tune(
        rest.X, rest.y, rest.qid, n_trials=n_trials, cv=N_FOLDS, n_members=0, random_state=1
    )
    whole = found.seconds_
    kept = {
        "set": "MQ2008, training queries of fold 1",
        "trials": n_trials,
        "fold-trainings": found.n_fold_trainings_,
        "seconds": round(whole, 1),
        "shares": {part: round(each / whole, 3) for part, each in spent.items()},
    }
    (RESULTS / "tuning_profile.json").write_text(json.dumps(kept, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS)
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--budget", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--same-points", type=int, metavar="NUMBER")
    parser.add_argument("--shares", type=int, metavar="TRIALS")
    options = parser.parse_args(arguments)
    if options.data is None and (options.methods or options.count):
        parser.error("name the folder of the data sets with --data or GBRANK_DATA")
    gbrank.tuning.running.clock = time.process_time
    if options.methods:
        warm_up()
    if options.count:
        count(Path(options.data), options.budget)
        return 0
    if options.same_points or options.shares:
        if options.same_points:
            same_points(Path(options.data), options.same_points)
        if options.shares:
            shares(Path(options.data), options.shares)
        return 0
    for number in options.folds:
        for name in options.sets:
            for method in options.methods:
                run(Path(options.data), name, method, number, options.budget)
    write_page(RESULTS, SETS, list(METHODS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
