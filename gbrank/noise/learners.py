"""One way to train LightGBM with any objective, XGBoost and CatBoost: same data, same settings.

Settings are named as LightGBM names them. Every learner has one thread, and stops when NDCG@5 on
the validation queries has not improved for ``patience`` trees. With ``own_trees`` every library
grows trees by its own defaults, but for the learning rate and the number of trees. XGBoost has no
least number of rows in a leaf (it keeps its own limit, ``min_child_weight`` 1), CatBoost no more
than 64 leaves.
"""

from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.data import RankingData
from gbrank.metrics import feval, ndcg_score
from gbrank.noise.contestants import AS_IT_COMES, QUERY_FEATURES, ObjectiveName, ranker_options
from gbrank.preprocessing import QueryScaler
from gbrank.ranker import Ranker

WATCHED = "ndcg@5"
_ALONE = {"num_threads": 1, "force_col_wise": True, "deterministic": True, "verbose": -1}
_NOT_LIGHTGBM = ("trees", "patience", "own_trees")


@dataclass(frozen=True)
class Fit:
    """Scores of the test rows, the number of trees used, validation NDCG@5 after each tree."""

    scores: np.ndarray
    trees: int
    curve: tuple[float, ...]


def fit_trees(
    objective: ObjectiveName,
    train: RankingData,
    valid: RankingData,
    X_test: np.ndarray,
    settings: dict[str, Any],
    seed: int,
    test_query: np.ndarray | None = None,
) -> Fit:
    """Train one model, and score the test rows with its best number of trees.

    ``test_query`` has the queries of the test rows, for models that compare a document with others.
    """
    if objective.family == "ranker":
        return _ranker(objective, train, valid, X_test, settings, seed % 2**31, test_query)
    if objective.family == AS_IT_COMES:
        return _ranker_as_it_comes(objective, train, valid, X_test, seed % 2**31, test_query)
    learners = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}
    learner = learners.get(objective.family, _lightgbm)
    return learner(objective, train, valid, X_test, settings, seed % 2**31)


def _lightgbm(
    objective: ObjectiveName,
    train: RankingData,
    valid: RankingData,
    X_test: np.ndarray,
    settings: dict[str, Any],
    seed: int,
) -> Fit:
    params = {name: value for name, value in settings.items() if name not in _NOT_LIGHTGBM}
    params |= {**_ALONE, "metric": "None", "seed": seed}
    if objective.family == "lightgbm":
        params |= {"objective": objective.name, **dict(objective.options)}
    else:
        params["objective"] = objective.make(seed)
    training = lgb.Dataset(train.X, train.y, group=train.group, params=params)
    watched = lgb.Dataset(valid.X, valid.y, group=valid.group, reference=training)
    seen: dict[str, dict[str, list[float]]] = {}
    callbacks = [lgb.record_evaluation(seen)]
    if settings["patience"]:
        callbacks.append(lgb.early_stopping(settings["patience"], verbose=False))
    booster = lgb.train(
        params,
        training,
        settings["trees"],
        valid_sets=[watched],
        feval=feval(WATCHED, n_jobs=1),
        callbacks=callbacks,
    )
    curve = seen["valid_0"][WATCHED]
    trees = (settings["patience"] and booster.best_iteration) or booster.current_iteration()
    scores = booster.predict(X_test, num_iteration=trees, num_threads=1)
    return Fit(np.asarray(scores, dtype=np.float64), int(trees), tuple(curve))


def _ranker(
    objective: ObjectiveName,
    train: RankingData,
    valid: RankingData,
    X_test: np.ndarray,
    settings: dict[str, Any],
    seed: int,
    test_query: np.ndarray | None,
) -> Fit:
    """Train one booster of gbrank.Ranker with its defaults; it stops by the rule of the others."""
    ranker = Ranker(
        None if objective.name == "default" else objective.name,
        preset="fast",
        n_estimators=settings["trees"],
        early_stopping_rounds=settings["patience"] or None,
        eval_metric=WATCHED,
        lgb_params={"force_col_wise": True, "deterministic": True},
        random_state=seed,
        n_jobs=1,
    ).set_params(**ranker_options(objective.options))
    method = dict(objective.options).get(QUERY_FEATURES)
    X, eval_X = (_with_query_features(part.X, part.qid, method) for part in (train, valid))
    X_test = _with_query_features(X_test, test_query, method)
    ranker.fit(X, train.y, qid=train.qid, eval_X=eval_X, eval_y=valid.y, eval_qid=valid.qid)
    curve = ranker.evals_result_["valid_0"][WATCHED]
    return Fit(ranker.predict(X_test, qid=test_query), ranker.best_iteration_, tuple(curve))


def _ranker_as_it_comes(
    objective: ObjectiveName,
    train: RankingData,
    valid: RankingData,
    X_test: np.ndarray,
    seed: int,
    test_query: np.ndarray | None,
) -> Fit:
    """Train gbrank.Ranker() on all queries that are no test queries: it holds out by itself."""
    ranker = Ranker(random_state=seed, n_jobs=1, lgb_params={"deterministic": True})
    ranker.set_params(**ranker_options(objective.options))
    X, y = np.concatenate([train.X, valid.X]), np.concatenate([train.y, valid.y])
    # impressions of two parts may have the same numbers
    last = int(train.layout.n_queries)
    qid = np.concatenate([_numbered(train), last + _numbered(valid)])
    ranker.fit(X, y, qid=qid)
    return Fit(ranker.predict(X_test, qid=test_query), ranker.booster_.current_iteration(), ())


def _numbered(part: RankingData) -> np.ndarray:
    return np.repeat(np.arange(part.n_queries), part.group)


def _with_query_features(X: np.ndarray, query: np.ndarray | None, method: str | None) -> np.ndarray:
    if method is None:
        return X
    return np.hstack([X, QueryScaler(method).fit_transform(X, qid=query)])


def _xgboost_trees(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": settings["num_leaves"],
        "max_depth": 0,
        "max_bin": settings.get("max_bin", 255) + 1,
        "reg_lambda": settings.get("lambda_l2", 0.0),
        "subsample": settings.get("bagging_fraction", 1.0),
        "colsample_bytree": settings.get("feature_fraction", 1.0),
    }


def _catboost_trees(settings: dict[str, Any]) -> dict[str, Any]:
    share = settings.get("bagging_fraction", 1.0)
    rows = {"bootstrap_type": "Bernoulli", "subsample": share}
    return {
        "grow_policy": "Lossguide",
        "max_leaves": min(settings["num_leaves"], 64),
        "depth": 16,
        "min_data_in_leaf": settings.get("min_data_in_leaf", 20),
        "l2_leaf_reg": settings.get("lambda_l2", 0.0),
        "border_count": min(settings.get("max_bin", 255), 254),
        "rsm": settings.get("feature_fraction", 1.0),
        **(rows if share < 1.0 else {"bootstrap_type": "No"}),
    }


def _xgboost(
    objective: ObjectiveName,
    train: RankingData,
    valid: RankingData,
    X_test: np.ndarray,
    settings: dict[str, Any],
    seed: int,
) -> Fit:
    import xgboost as xgb

    params = {
        "objective": objective.name,
        "eta": settings["learning_rate"],
        **({} if settings.get("own_trees") else _xgboost_trees(settings)),
        "disable_default_eval_metric": True,
        "nthread": 1,
        "seed": seed,
        "verbosity": 0,
        **dict(objective.options),
    }

    def watch(scores: np.ndarray, _: xgb.DMatrix) -> tuple[str, float]:
        quality = ndcg_score(valid.y, scores.astype(np.float64), qid=valid.qid, k=5, n_jobs=1)
        return WATCHED, float(quality)

    # Numbered again: XGBoost wants query ids in ascending order.
    numbers = [_numbered(part) for part in (train, valid)]
    training = xgb.DMatrix(train.X, train.y, qid=numbers[0], nthread=1)
    watched = xgb.DMatrix(valid.X, valid.y, qid=numbers[1], nthread=1)
    seen: dict[str, Any] = {}
    booster = xgb.train(
        params,
        training,
        settings["trees"],
        evals=[(watched, "valid")],
        custom_metric=watch,
        maximize=True,
        early_stopping_rounds=settings["patience"] or None,
        evals_result=seen,
        verbose_eval=False,
    )
    trees = booster.best_iteration + 1 if settings["patience"] else booster.num_boosted_rounds()
    scores = booster.predict(xgb.DMatrix(X_test, nthread=1), iteration_range=(0, trees))
    return Fit(scores.astype(np.float64), int(trees), tuple(seen["valid"][WATCHED]))


def _catboost(
    objective: ObjectiveName,
    train: RankingData,
    valid: RankingData,
    X_test: np.ndarray,
    settings: dict[str, Any],
    seed: int,
) -> Fit:
    import catboost  # type: ignore[import-untyped,unused-ignore]

    numbers = [_numbered(part) for part in (train, valid)]
    model = catboost.CatBoost(
        {
            "loss_function": objective.name,
            "eval_metric": "NDCG:top=5;type=Exp",
            "iterations": settings["trees"],
            "learning_rate": settings["learning_rate"],
            **({} if settings.get("own_trees") else _catboost_trees(settings)),
            "early_stopping_rounds": settings["patience"] or None,
            "use_best_model": bool(settings["patience"]),
            "thread_count": 1,
            "random_seed": seed,
            "logging_level": "Silent",
            "allow_writing_files": False,
            **dict(objective.options),
        }
    )
    training = catboost.Pool(train.X, train.y, group_id=numbers[0], thread_count=1)
    watched = catboost.Pool(valid.X, valid.y, group_id=numbers[1], thread_count=1)
    model.fit(training, eval_set=watched)
    scores = model.predict(catboost.Pool(X_test, thread_count=1), thread_count=1)
    curve = next(iter(model.get_evals_result()["validation"].items()))
    named = model.get_evals_result()["validation"].get("NDCG:top=5;type=Exp", curve[1])
    return Fit(np.asarray(scores, dtype=np.float64), int(model.tree_count_), tuple(named))
