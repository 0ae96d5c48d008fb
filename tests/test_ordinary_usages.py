"""Ordinary usages of LightGBM and scikit-learn, once with a native objective and once with ours.

Each usage returns numbers. The losses are equal, ``rank_xendcg`` to the bit and ``lambdarank`` up
to float32, so the numbers are: where they are not, something that is not the loss was lost on the
way.
"""

import copy
import pickle
from collections.abc import Callable

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbrank
from gbrank import XENDCG, LambdaMART, Ranker, save_booster
from gbrank.metrics import feval, ndcg_score

RNG = np.random.default_rng(17)
GROUP = RNG.integers(4, 20, 40)
QID = np.repeat(np.arange(40), GROUP)
X = RNG.normal(size=(GROUP.sum(), 4)).astype(np.float32).astype(np.float64)
Y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X))), 0, 3)
IN, OUT = QID < 30, QID >= 30
N_TREES = 6
PARAMS = {
    "num_threads": 1,
    "force_col_wise": True,
    "num_leaves": 7,
    "min_data_in_leaf": 5,
    "seed": 7,
    "metric": "None",
    "verbose": -1,
}
XENDCGS = ("rank_xendcg", XENDCG(generator="lightgbm"))
LAMBDAS = ("lambdarank", LambdaMART())

#: Of each usage the function, the two objectives and how far the results may be apart.
USAGES: dict[str, tuple[Callable, tuple, float]] = {}


def usage(function=None, *, objectives=XENDCGS, atol=1e-12):
    if function is None:
        return lambda one: usage(one, objectives=objectives, atol=atol)
    USAGES[function.__name__] = (function, objectives, atol)
    return function


def dataset(rows=slice(None), **given) -> lgb.Dataset:
    group = np.diff(np.flatnonzero(np.diff(QID[rows], prepend=-1, append=-1)))
    return lgb.Dataset(X[rows], Y[rows], group=group, **given)


def train(objective, data=None, n_trees=N_TREES, *, params=None, **given) -> lgb.Booster:
    params = {**PARAMS, "objective": objective, **(params or {})}
    return lgb.train(params, dataset() if data is None else data, n_trees, **given)


def lgbm_ranker(objective, **params) -> lgb.LGBMRanker:
    names = {"min_child_samples": 5, "random_state": 7, "n_jobs": 1, "num_leaves": 7}
    fixed = {"metric": "None", "verbose": -1, "force_col_wise": True, "n_estimators": N_TREES}
    return lgb.LGBMRanker(objective=objective, **{**names, **fixed, **params})


def travelled(booster, tmp_path) -> lgb.Booster:
    """Save and load, as one has to for tools that want to know the objective."""
    save_booster(booster, tmp_path / "model.txt")
    return lgb.Booster(model_file=tmp_path / "model.txt")


# --- params ----------------------------------------------------------------------------------


@usage
def params_of_lgb_train(objective, tmp_path):
    return train(objective).predict(X)


@usage
def params_by_aliases(objective, tmp_path):
    params = {"eta": 0.3, "max_leaf": 5, "lambda": 2.0, "max_bin": 31, "random_seed": 3}
    others = {name: value for name, value in PARAMS.items() if name not in ("num_leaves", "seed")}
    return lgb.train({**others, "objective": objective, **params}, dataset(), N_TREES).predict(X)


@usage(objectives=LAMBDAS, atol=1e-4)
def params_of_the_loss(objective, tmp_path):
    params = {"label_gain": [0, 1, 2, 9], "lambdarank_truncation_level": 5, "sigmoid": 2.0}
    return train(objective, params=params).predict(X)


@usage
def objective_seed(objective, tmp_path):
    return train(objective, params={"objective_seed": 99}).predict(X)


@usage
def bagging(objective, tmp_path):
    return train(objective, params={"bagging_fraction": 0.7, "bagging_freq": 1}).predict(X)


@usage
def monotone_constraints(objective, tmp_path):
    return train(objective, params={"monotone_constraints": [1, 0, -1, 0]}).predict(X)


@usage
def dart(objective, tmp_path):
    # where chance decides which trees are dropped, LightGBM draws others for any callable
    params = {"boosting": "dart", "drop_rate": 1.0, "skip_drop": 0.0}
    return train(objective, params=params).predict(X)


@usage
def num_boost_round_in_params(objective, tmp_path):
    return train(objective, params={"num_iterations": 3}).predict(X)


# --- callbacks -------------------------------------------------------------------------------


@usage
def early_stopping(objective, tmp_path):
    data = dataset(IN)
    stop = lgb.early_stopping(2, verbose=False)
    valid = [dataset(OUT, reference=data)]
    found = train(objective, data, 40, valid_sets=valid, feval=feval("ndcg@5"), callbacks=[stop])
    return [found.best_iteration, found.best_score["valid_0"]["ndcg@5"], *found.predict(X)]


@usage
def early_stopping_in_params(objective, tmp_path):
    data = dataset(IN)
    valid = [dataset(OUT, reference=data)]
    params = {"early_stopping_round": 2}
    found = train(objective, data, 40, params=params, valid_sets=valid, feval=feval("ndcg@5"))
    return [found.best_iteration, *found.predict(X)]


@usage
def lightgbms_own_metric(objective, tmp_path):
    data, seen = dataset(IN), {}
    train(
        objective,
        data,
        params={"metric": "ndcg", "eval_at": [3, 5]},
        valid_sets=[dataset(OUT, reference=data)],
        callbacks=[lgb.record_evaluation(seen)],
    )
    return [value for values in seen["valid_0"].values() for value in values]


@usage
def learning_rate_schedule(objective, tmp_path):
    rates = lgb.reset_parameter(learning_rate=lambda tree: 0.2 * 0.9**tree)
    return train(objective, callbacks=[rates]).predict(X)


# --- Datasets --------------------------------------------------------------------------------


@usage
def weights(objective, tmp_path):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    return train(objective, dataset(weight=weight)).predict(X)


@usage
def init_score(objective, tmp_path):
    return train(objective, dataset(init_score=X[:, 1])).predict(X)


@usage
def sparse_rows(objective, tmp_path):
    sparse = csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    data = lgb.Dataset(sparse, Y, group=GROUP)
    return train(objective, data).predict(sparse)


@usage
def frame_with_categories(objective, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(QID % 3))
    return train(objective, lgb.Dataset(frame, Y, group=GROUP)).predict(frame)


@usage
def binary_dataset(objective, tmp_path):
    path = tmp_path / "data.bin"
    dataset().save_binary(path)
    return train(objective, lgb.Dataset(path)).predict(X)


@usage
def one_dataset_for_two_trainings(objective, tmp_path):
    data = dataset()
    first = train(objective, data, params={"seed": 1}).predict(X)
    return [*first, *train(objective, data, params={"seed": 2}).predict(X)]


@usage(objectives=LAMBDAS, atol=1e-4)
def init_model(objective, tmp_path):
    first = train(objective, n_trees=3)
    return train(objective, n_trees=3, init_model=first).predict(X)


@usage
def booster_updated_by_hand(objective, tmp_path):
    given = {} if isinstance(objective, str) else {"fobj": objective}
    named = {"objective": objective} if isinstance(objective, str) else {}
    booster = lgb.Booster({**PARAMS, **named}, dataset())
    for _ in range(N_TREES):
        booster.update(**given)
    return booster.predict(X)


# --- cross-validation, scikit-learn ----------------------------------------------------------


@usage
def cross_validation(objective, tmp_path):
    cv = lgb.cv if isinstance(objective, str) else gbrank.cv
    params = {**PARAMS, "objective": objective}
    found = cv(params, dataset(), N_TREES, nfold=3, feval=feval("ndcg@5"))
    return found["valid ndcg@5-mean"] + found["valid ndcg@5-stdv"]


@usage
def lgbm_ranker_fit(objective, tmp_path):
    return lgbm_ranker(objective).fit(X, Y, group=GROUP).predict(X)


@usage
def lgbm_ranker_with_evaluation_set(objective, tmp_path):
    model = lgbm_ranker(objective, n_estimators=40).fit(
        X[IN],
        Y[IN],
        group=GROUP[:30],
        eval_X=X[OUT],
        eval_y=Y[OUT],
        eval_group=[GROUP[30:]],
        eval_metric=feval("ndcg@5"),
        callbacks=[lgb.early_stopping(2, verbose=False)],
    )
    return [model.best_iteration_, *model.evals_result_["valid_0"]["ndcg@5"], *model.predict(X)]


@usage
def pipeline(objective, tmp_path):
    steps = make_pipeline(StandardScaler(), lgbm_ranker(objective))
    return steps.fit(X, Y, lgbmranker__group=GROUP).predict(X)


@usage
def clones_and_parameters(objective, tmp_path):
    model = clone(lgbm_ranker(objective)).set_params(learning_rate=0.3)
    return clone(model).fit(X, Y, group=GROUP).predict(X)


@usage
def grid_over_whole_queries(objective, tmp_path):
    scores = []
    for params in ParameterGrid({"num_leaves": [3, 7]}):
        for inside, outside in GroupKFold(2).split(X, Y, QID):
            sizes = np.bincount(QID[inside])
            model = lgbm_ranker(objective, **params)
            model.fit(X[inside], Y[inside], group=sizes[sizes > 0])
            predicted = model.predict(X[outside])
            scores.append(ndcg_score(Y[outside], predicted, qid=QID[outside], k=5))
    return scores


@usage
def optuna_study(objective, tmp_path):
    optuna = pytest.importorskip("optuna", reason="optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def judge(trial):
        params = {"num_leaves": trial.suggest_int("num_leaves", 3, 15)}
        found = train(objective, dataset(IN), params=params).predict(X[OUT])
        return ndcg_score(Y[OUT], found, qid=QID[OUT], k=5)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(0))
    study.optimize(judge, n_trials=4)
    return [trial.value for trial in study.trials]


@usage
def mlflow_autolog(objective, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.lightgbm.autolog(log_models=False, log_datasets=False)
    try:
        data = dataset(IN)
        valid = [dataset(OUT, reference=data)]
        with mlflow.start_run() as run:
            train(objective, data, valid_sets=valid, feval=feval("ndcg@5"))
        logged = mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
    finally:
        mlflow.lightgbm.autolog(disable=True)
    assert logged
    return [len(logged), *(value for _, value in sorted(logged.items()))]


# --- models that are kept, and other tools --------------------------------------------------------


@usage
def joblib_dump(objective, tmp_path):
    joblib.dump(lgbm_ranker(objective).fit(X, Y, group=GROUP), tmp_path / "model.joblib")
    return joblib.load(tmp_path / "model.joblib").predict(X)


@usage
def joblib_parallel(objective, tmp_path):
    jobs = (joblib.delayed(_fit_and_predict)(objective, seed) for seed in (1, 2))
    return np.concatenate(joblib.Parallel(n_jobs=2, prefer="threads")(jobs))


def _fit_and_predict(objective, seed):
    return lgbm_ranker(objective, random_state=seed).fit(X, Y, group=GROUP).predict(X)


@usage
def pickled_and_copied(objective, tmp_path):
    booster = pickle.loads(pickle.dumps(train(objective)))
    return copy.deepcopy(booster).predict(X)


@usage
def saved_and_loaded(objective, tmp_path):
    return travelled(train(objective), tmp_path).predict(X)


@usage(objectives=LAMBDAS, atol=1e-4)
def refitted(objective, tmp_path):
    booster = travelled(train(objective), tmp_path)
    return booster.refit(X[OUT], Y[OUT], group=GROUP[30:]).predict(X)


@usage
def contributions_and_leaves(objective, tmp_path):
    booster = train(objective)
    contributions = booster.predict(X, pred_contrib=True)
    return np.hstack([contributions, booster.predict(X, pred_leaf=True)])


@usage
def importance(objective, tmp_path):
    booster = train(objective)
    return [*booster.feature_importance("gain"), *booster.feature_importance("split")]


@usage
def dumped_as_json_and_frame(objective, tmp_path):
    booster = train(objective)
    trees = booster.dump_model()["tree_info"]
    return [*(tree["num_leaves"] for tree in trees), *booster.trees_to_dataframe()["value"]]


@usage
def shap_explainer(objective, tmp_path):
    shap = pytest.importorskip("shap", reason="shap is not installed")
    return shap.TreeExplainer(train(objective)).shap_values(X)


@usage
def onnx(objective, tmp_path):
    tools = pytest.importorskip("onnxmltools", reason="onnxmltools is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    features = tools.convert.common.data_types.FloatTensorType([None, X.shape[1]])
    booster = travelled(train(objective), tmp_path)
    model = tools.convert_lightgbm(booster, initial_types=[("X", features)], zipmap=False)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X.astype(np.float32)})[0]


@usage
def treelite(objective, tmp_path):
    library = pytest.importorskip("treelite", reason="treelite is not installed")
    save_booster(train(objective), tmp_path / "model.txt")
    model = library.frontend.load_lightgbm_model(tmp_path / "model.txt")
    return library.gtil.predict(model, X)


# --- the comparison ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", USAGES)
def test_a_usage_gives_the_same_with_a_native_objective_and_ours(name, tmp_path):
    function, (native, ours), atol = USAGES[name]
    for folder in ("native", "ours"):
        (tmp_path / folder).mkdir()
    expected = np.asarray(function(native, tmp_path / "native"), dtype=np.float64)
    found = np.asarray(function(copy.deepcopy(ours), tmp_path / "ours"), dtype=np.float64)
    assert expected.size > 1
    assert np.ptp(expected) > 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def test_the_ranker_with_lightgbms_defaults_is_lgbm_ranker():
    model = lgb.LGBMRanker(
        objective="rank_xendcg", objective_seed=4, n_estimators=N_TREES, n_jobs=1, verbose=-1,
        force_col_wise=True,
    )  # fmt: skip
    expected = model.fit(X, Y, group=GROUP).predict(X)
    given = {"objective_seed": 4, "force_col_wise": True}
    objective = XENDCG(generator="lightgbm")
    ranker = Ranker.lightgbm_defaults(objective, n_estimators=N_TREES, n_jobs=1, lgb_params=given)
    np.testing.assert_array_equal(ranker.fit(X, Y, group=GROUP).predict(X), expected)


def test_there_are_thirty_usages():
    assert len(USAGES) >= 30
