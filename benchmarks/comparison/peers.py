"""The libraries that Ranker is compared with, as their manuals say to use them.

Trees are those of each library's own defaults, at one learning rate. Training stops when NDCG@5 of
the validation queries has not improved for ``PATIENCE`` trees; as they come, libraries grow as many
trees as their defaults say, at their own rate. One thread.
"""

from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np

from comparison.sets import Queries

RATE, MOST_TREES, PATIENCE = 0.05, 500, 50
#: Trees and rate of a library's own defaults; CatBoost finds a rate by itself.
AS_IT_COMES = {"LightGBM": (100, 0.1), "XGBoost": (100, 0.3), "CatBoost": (1000, None)}
Predict = Callable[[np.ndarray], np.ndarray]


def fit_lightgbm(
    objective: str,
    train: Queries,
    valid: Queries | None,
    trees: int,
    seed: int,
    rate: float | None = RATE,
) -> tuple[Predict, int]:
    """Return a function that scores rows, and the number of trees it uses."""
    params = {
        "objective": objective,
        "learning_rate": rate,
        "metric": "ndcg" if valid is not None else "None",
        "eval_at": [5],
        "num_threads": 1,
        "force_col_wise": True,
        "deterministic": True,
        "seed": seed,
        "verbosity": -1,
    }
    data = lgb.Dataset(train.X, train.y, group=train.sizes)
    watched: dict[str, Any] = {}
    if valid is not None:
        judged = lgb.Dataset(valid.X, valid.y, group=valid.sizes, reference=data)
        stop = lgb.early_stopping(PATIENCE, verbose=False)
        watched = {"valid_sets": [judged], "callbacks": [stop]}
    booster = lgb.train(params, data, trees, **watched)
    used = booster.best_iteration if valid is not None else trees
    return lambda X: np.asarray(booster.predict(X, num_iteration=used, num_threads=1)), used


def fit_xgboost(
    objective: str,
    train: Queries,
    valid: Queries | None,
    trees: int,
    seed: int,
    rate: float | None = RATE,
) -> tuple[Predict, int]:
    """Return a function that scores rows, and the number of trees it uses."""
    import xgboost as xgb

    params = {
        "objective": objective,
        "eta": rate,
        "eval_metric": "ndcg@5",
        "tree_method": "hist",
        "nthread": 1,
        "seed": seed,
        "verbosity": 0,
    }
    data = xgb.DMatrix(train.X, train.y, qid=train.qid, nthread=1)
    watched: dict[str, Any] = {}
    if valid is not None:
        judged = xgb.DMatrix(valid.X, valid.y, qid=valid.qid, nthread=1)
        watched = {"evals": [(judged, "valid")], "early_stopping_rounds": PATIENCE}
    booster = xgb.train(params, data, trees, verbose_eval=False, **watched)
    used = booster.best_iteration + 1 if valid is not None else trees

    def predict(X: np.ndarray) -> np.ndarray:
        scores: np.ndarray = booster.predict(xgb.DMatrix(X, nthread=1), iteration_range=(0, used))
        return scores

    return predict, used


def fit_catboost(
    objective: str,
    train: Queries,
    valid: Queries | None,
    trees: int,
    seed: int,
    rate: float | None = RATE,
) -> tuple[Predict, int]:
    """Return a function that scores rows, and the number of trees it uses."""
    import catboost

    model = catboost.CatBoost(
        {
            "loss_function": objective,
            "eval_metric": "NDCG:top=5;type=Exp",
            "iterations": trees,
            "learning_rate": rate,
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

    return predict, int(model.tree_count_)


#: The peers, the cheapest first.
PEERS = {
    "LightGBM lambdarank": (fit_lightgbm, "lambdarank"),
    "LightGBM rank_xendcg": (fit_lightgbm, "rank_xendcg"),
    "XGBoost rank:ndcg": (fit_xgboost, "rank:ndcg"),
    "CatBoost QueryRMSE": (fit_catboost, "QueryRMSE"),
    "CatBoost YetiRank": (fit_catboost, "YetiRank"),
}
