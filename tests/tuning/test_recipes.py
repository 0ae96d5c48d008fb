"""Recipes for other tuners, as the documentation has them, and how spaces, races and plots work."""

import time

import matplotlib
import numpy as np
import pytest

import gbrank
from gbrank.boosting import HeldOut
from gbrank.core import RankingData
from gbrank.metrics import get_metric, ndcg_score
from gbrank.tuning.racing import lost_by
from gbrank.tuning.space import draw_point, read_space

matplotlib.use("Agg")

SMALL = {"preset": "fast", "n_estimators": 5, "n_jobs": 1}


def mean_ndcg(point, rows):
    """Return what any tuner maximises: NDCG@10 over folds of whole queries."""
    values = []
    for train, test in gbrank.QueryKFold(2).split(rows.X, rows.y, rows.qid):
        ranker = gbrank.Ranker.from_point(point, **SMALL)
        ranker.fit(rows.X[train], rows.y[train], qid=rows.qid[train])
        values.append(ranker.score(rows.X[test], rows.y[test], qid=rows.qid[test]))
    return float(np.mean(values))


def test_optuna_by_hand(rows):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = gbrank.Ranker.search_space(["xendcg", "lambdamart"])

    def objective(trial):
        point = {}
        for name, entry in space.items():
            if any(point.get(key) != value for key, value in entry.get("when", {}).items()):
                continue
            if entry["type"] == "choice":
                point[name] = trial.suggest_categorical(name, entry["values"])
            else:
                suggest = trial.suggest_int if entry["type"] == "int" else trial.suggest_float
                point[name] = suggest(name, entry["low"], entry["high"], log=entry["log"])
        return mean_ndcg(point, rows)

    study = optuna.create_study(direction="maximize")
    study.optimize(objective, n_trials=3)
    assert study.best_value == max(trial.value for trial in study.trials)
    assert gbrank.Ranker.from_point(study.best_params).num_leaves == study.best_params["num_leaves"]


def test_flaml_custom_learner(rows):
    flaml = pytest.importorskip("flaml", reason="FLAML is not installed")
    model = pytest.importorskip("flaml.automl.model", reason="FLAML is without flaml[automl]")
    first = {"num_leaves": 31, "learning_rate": 0.1, "subsample": 0.7, "xendcg__gamma": "uniform"}

    class Learner(model.SKLearnEstimator):
        """A Ranker, as FLAML has its own learners; ``groups`` are query ids, row by row."""

        def __init__(self, task="rank", **config):
            super().__init__(task, **config)
            self.params = {name: config[name] for name in first if name in config}

        @classmethod
        def search_space(cls, data_size, task):
            found = {}
            for name, entry in gbrank.Ranker.search_space(["xendcg"]).items():
                if name not in first:
                    continue
                if entry["type"] == "choice":
                    domain = flaml.tune.choice(entry["values"])
                elif entry["type"] == "int":
                    domain = flaml.tune.lograndint(entry["low"], entry["high"] + 1)
                else:
                    draw = flaml.tune.loguniform if entry["log"] else flaml.tune.uniform
                    domain = draw(entry["low"], entry["high"])
                found[name] = {"domain": domain, "init_value": first[name]}
            return found

        def fit(self, X, y, budget=None, free_mem_ratio=0, *, groups=None, **others):
            started = time.time()
            point = {"objective": "xendcg", **self.params}
            self._model = gbrank.Ranker.from_point(point, **SMALL)
            self._model.fit(np.asarray(X), np.asarray(y), qid=np.asarray(groups))
            return time.time() - started

    def lost_ndcg(X, y, learner, labels, X_train, y_train, weight, weight_train, config, qid, _):
        # FLAML's own takes all rows as one list
        value = ndcg_score(np.asarray(y), learner.predict(X), qid=np.asarray(qid), k=10)
        return 1 - value, {"ndcg": value}

    automl = flaml.AutoML()
    automl.add_learner("gbrank", Learner)
    automl.fit(
        rows.X,
        rows.y,
        task="rank",
        groups=np.unique(rows.qid, return_counts=True)[1],
        metric=lost_ndcg,
        estimator_list=["gbrank"],
        max_iter=3,
        time_budget=-1,
        eval_method="cv",
        n_splits=2,
        verbose=0,
    )
    assert set(automl.best_config) == set(first)
    assert 0 < automl.best_loss < 0.5
    assert automl.predict(rows.X).shape == rows.y.shape


def test_mlflow_logging(quick, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")

    def log(trial):
        with mlflow.start_run(run_name=f"trial {trial.number}"):
            mlflow.log_params(trial.point)
            mlflow.log_metric("ndcg_at_10", trial.value)

    quick(n_trials=3, callback=log)
    assert len(mlflow.search_runs(search_all_experiments=True)) == 3


def test_callback_sees_every_trial(quick):
    seen = []
    result = quick(n_trials=3, callback=seen.append, n_members=0)
    assert [each.number for each in seen] == [0, 1, 2]
    assert [each.value for each in seen] == [each.value for each in result.trials]
    assert result.best_ranker_ is None


def test_points_stay_inside_the_space():
    losses = {"xendcg": gbrank.XENDCG(), "lambdamart": gbrank.LambdaMART()}
    given = gbrank.Ranker.search_space(list(losses))
    space = read_space(given, losses, ["linear", "zero"], gbrank.Ranker())
    drawn = [draw_point(space, 0, number) for number in range(300)]
    assert drawn[7] == draw_point(space, 0, 7)
    for point in drawn:
        assert all(space[name].contains(value) for name, value in point.items())
        assert ("lambdamart__norm" in point) == (point["objective"] == "lambdamart")
    leaves = np.array([point["num_leaves"] for point in drawn])
    assert {leaves.min(), leaves.max()} <= {4, 5, 60, 61, 62, 63, 64}
    # by the logarithm: as many below the geometric mean of both ends as above it
    assert 0.4 < np.mean(leaves < 16) < 0.6


def test_race_is_a_paired_t_test(rows):
    from scipy import stats

    data = RankingData.checked(rows.X, rows.y, rows.qid)
    held_out = HeldOut(data, np.arange(data.n_queries), [get_metric("ndcg@10")], 1)
    rng = np.random.default_rng(0)
    best = rng.random(data.n_queries)
    values = best - 0.01 + 0.05 * rng.normal(size=data.n_queries)
    values[40:] = np.nan  # the first folds only
    behind, p = lost_by(values, best, 1.0, held_out)
    expected = stats.ttest_rel(best[:40], values[:40], alternative="greater")
    assert behind == pytest.approx(np.mean(best[:40] - values[:40]))
    assert p == pytest.approx(expected.pvalue)
    # an unpaired test, on means of so few queries, would not tell them apart
    assert p < stats.ttest_ind(best[:40], values[:40], alternative="greater").pvalue
    assert lost_by(values, best, -1.0, held_out)[0] == pytest.approx(-behind)


def test_plots_carry_the_numbers(found):
    from gbrank.plotting import TuningDisplay

    history = TuningDisplay.from_result(found)
    complete = [each.value for each in found.trials if each.state == "complete"]
    assert history.values_["best"][-1] == max(complete)
    assert list(history.ax_.lines[0].get_ydata()) == complete
    shares = TuningDisplay.from_result(found, kind="importances").values_
    assert sum(shares.values()) == pytest.approx(1.0)
    boxes = TuningDisplay.from_result(found, kind="losses").values_
    assert sorted(value for box in boxes.values() for value in box) == sorted(complete)
    with pytest.raises(ValueError, match="kind must be"):
        TuningDisplay(found, kind="pie")


def test_importances_find_what_matters(found):
    from dataclasses import replace

    from gbrank.tuning import Trial

    rng = np.random.default_rng(0)
    names = dict.fromkeys(("learning_rate", "num_leaves", "subsample"))
    trials = []
    for number in range(60):
        point = {name: float(value) for name, value in zip(names, rng.random(3), strict=True)}
        value = 0.5 + 0.1 * point["num_leaves"] + 0.001 * rng.normal()
        trials.append(Trial(number, point, "complete", value))
    shares = replace(found, trials=trials, _space=names).importances()
    assert next(iter(shares)) == "num_leaves"
    assert shares["num_leaves"] > 0.9
