"""Metrics as LightGBM calls them."""

import copy
import gc
import pickle
import warnings

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import XENDCG
from gbrank.metrics import feval, get_metric, list_metrics, ndcg_score

QUIET = {"verbosity": -1, "num_threads": 1, "force_col_wise": True}


@pytest.fixture(scope="module")
def ranking_set():
    rng = np.random.default_rng(0)
    group = rng.integers(5, 30, 40)
    X = rng.normal(size=(group.sum(), 4))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X))), 0, 4)
    y[: group[0]] = 0  # a blank query
    return X, y, group


@pytest.mark.parametrize("name", [*list_metrics(), "ndcg@5", "ndcg@0.3", "map@5"])
def test_both_forms_of_lightgbm(ranking_set, name):
    X, y, group = ranking_set
    evaluator = feval(name)
    recorded = {}
    booster = lgb.train(
        {"objective": "lambdarank", "metric": "None", **QUIET},
        lgb.Dataset(X, y, group=group),
        4,
        valid_sets=[lgb.Dataset(X, y, group=group)],
        feval=evaluator,
        callbacks=[lgb.record_evaluation(recorded)],
    )
    metric = get_metric(name)
    expected = [metric(y, booster.predict(X, num_iteration=i + 1), group=group) for i in range(4)]
    assert list(recorded["valid_0"]) == [name]
    np.testing.assert_allclose(recorded["valid_0"][name], expected, atol=1e-12)

    ranker = lgb.LGBMRanker(n_estimators=4, metric="None", **QUIET)
    ranker.fit(
        X, y, group=group, eval_X=(X,), eval_y=(y,), eval_group=[group], eval_metric=evaluator
    )
    found = next(iter(ranker.evals_result_.values()))
    np.testing.assert_allclose(found[name], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["ndcg@5", "pairwise_disagreement"])
def test_early_stopping_goes_the_right_way(ranking_set, name):
    X, y, group = ranking_set
    data = lgb.Dataset(X, y, group=group)
    recorded = {}
    booster = lgb.train(
        {"objective": "lambdarank", "metric": "None", "learning_rate": 0.3, **QUIET},
        data,
        60,
        valid_sets=[lgb.Dataset(np.random.default_rng(1).permuted(X, axis=0), y, group=group)],
        feval=feval(name),
        callbacks=[lgb.record_evaluation(recorded), lgb.early_stopping(3, verbose=False)],
    )
    values = recorded["valid_0"][name]
    best = np.argmax(values) if name == "ndcg@5" else np.argmin(values)
    assert booster.best_iteration == best + 1


def test_row_weights_make_the_weight_of_a_query_their_mean(ranking_set):
    _, y, group = ranking_set
    rng = np.random.default_rng(1)
    scores, weight = rng.normal(size=len(y)), rng.random(len(y))
    means = [part.mean() for part in np.split(weight, np.cumsum(group)[:-1])]
    expected = ndcg_score(y, scores, group=group, k=5, sample_weight=means)
    assert feval("ndcg@5")(y, scores, weight, group)[1] == pytest.approx(expected, abs=1e-12)
    data = lgb.Dataset(np.zeros((len(y), 1)), y, group=group, weight=weight).construct()
    # LightGBM keeps weights in single precision
    assert feval("ndcg@5")(scores, data)[1] == pytest.approx(expected, abs=1e-7)


def test_several_metrics_at_once_share_their_sort(ranking_set, monkeypatch):
    import gbrank.metrics._base as base

    X, y, group = ranking_set
    sorts, original = [], base.rank_block
    monkeypatch.setattr(base, "rank_block", lambda *a: sorts.append(1) or original(*a))
    evaluator = feval(["ndcg@5", "ndcg@10", "pairwise_disagreement"])
    recorded = {}
    booster = lgb.train(
        {"objective": "lambdarank", "metric": "None", **QUIET},
        lgb.Dataset(X, y, group=group),
        3,
        valid_sets=[lgb.Dataset(X, y, group=group)],
        feval=evaluator,
        callbacks=[lgb.record_evaluation(recorded)],
    )
    assert list(recorded["valid_0"]) == ["ndcg@5", "ndcg@10", "pairwise_disagreement"]
    assert len(sorts) == 3
    scores = booster.predict(X)
    for name, values in recorded["valid_0"].items():
        expected = get_metric(name)(y, scores, group=group)
        assert values[-1] == pytest.approx(expected, abs=1e-12)
    greater = [is_higher for _, _, is_higher in evaluator(y, scores, None, group)]
    assert greater == [True, True, False]
    (found,) = feval({"mine": "ndcg@5"})(y, scores, None, group)
    assert found[:2] == ("mine", ndcg_score(y, scores, group=group, k=5))
    twin = pickle.loads(pickle.dumps(evaluator))
    assert twin(y, scores, None, group) == evaluator(y, scores, None, group)


def fit_lgbm_ranker(ranking_set, watched, **parameters):
    X, y, group = ranking_set
    return lgb.LGBMRanker(n_estimators=60, learning_rate=0.3, **QUIET, **parameters).fit(
        X,
        y,
        group=group,
        eval_X=(np.random.default_rng(1).permuted(X, axis=0),),
        eval_y=(y,),
        eval_group=[group],
        eval_metric=feval(watched),
        callbacks=[lgb.early_stopping(3, verbose=False)],
    )


@pytest.mark.parametrize("objective", [XENDCG(), "lambdarank"], ids=["ours", "lightgbm's"])
def test_lgbmranker_with_feval_and_early_stopping(ranking_set, objective):
    """LightGBM adds ndcg@1 to 5 of its own: an error, or a warning, names the remedy."""
    with pytest.raises(ValueError, match=r'metric \'ndcg@5\' of its own.*metric="None"'):
        fit_lgbm_ranker(ranking_set, "ndcg@5", objective=objective)
    with pytest.warns(UserWarning, match=r'its own ndcg@1, .* besides ndcg@10.*metric="None"'):
        fit_lgbm_ranker(ranking_set, "ndcg@10", objective=objective)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ranker = fit_lgbm_ranker(ranking_set, "ndcg@5", objective=objective, metric="None")
    (recorded,) = ranker.evals_result_.values()
    assert list(recorded) == ["ndcg@5"]
    assert ranker.best_iteration_ == np.argmax(recorded["ndcg@5"]) + 1


def test_lgb_train_with_a_metric_of_lightgbm_besides(ranking_set):
    X, y, group = ranking_set

    def train(**params):
        data = lgb.Dataset(X, y, group=group)
        lgb.train(
            {**QUIET, **params},
            data,
            2,
            valid_sets=[lgb.Dataset(X, y, group=group, reference=data)],
            feval=feval("ndcg@5"),
        )

    with pytest.raises(ValueError, match=r'metric="None"'):
        train(objective="lambdarank")  # whose metric is ndcg at 1 to 5
    with pytest.raises(ValueError, match=r'metric="None"'):
        train(objective=XENDCG(), metric="ndcg", eval_at=[5])
    with pytest.warns(UserWarning, match="its own ndcg@3 besides ndcg@5"):
        train(objective="lambdarank", eval_at=[3])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        train(objective=XENDCG())
        train(objective="lambdarank", metric="None")


def test_missing_groups_are_an_error():
    data = lgb.Dataset(np.zeros((4, 1)), [0, 1, 0, 1]).construct()
    with pytest.raises(ValueError, match="ndcg@5 needs to know the queries: give group"):
        feval("ndcg@5")(np.zeros(4), data)
    with pytest.raises(ValueError, match="ndcg@5 needs to know the queries"):
        feval("ndcg@5")(np.zeros(4), np.zeros(4))


def test_nan_predictions_are_an_error(ranking_set):
    _, y, group = ranking_set
    scores = np.zeros(len(y))
    scores[7] = np.nan
    with pytest.raises(ValueError, match="scores must be finite numbers, but row 7"):
        feval("ndcg@5")(y, scores, None, group)


def test_labels_are_read_once_per_label_array(ranking_set, monkeypatch):
    _, y, group = ranking_set
    scores = np.random.default_rng(2).normal(size=len(y))
    evaluator = feval("ndcg@5")
    bound = []
    original = type(evaluator.metric).bind
    monkeypatch.setattr(
        type(evaluator.metric),
        "bind",
        lambda self, judgments: bound.append(1) or original(self, judgments),
    )
    for _ in range(3):
        first = evaluator(y, scores, None, group)
    assert len(bound) == 1
    other = y[::-1].copy()
    second = evaluator(other, scores, None, group)
    assert len(bound) == 2
    # sets are evaluated in turn, as with several validation sets
    assert evaluator(y, scores, None, group) == first
    assert evaluator(other, scores, None, group) == second
    assert len(bound) == 2
    # other groups or weights of the same labels are another set
    evaluator(y, scores, np.ones(len(y)), group)
    assert len(bound) == 3
    assert evaluator(y, scores, None, [len(y)])[1] == ndcg_score(y, scores, group=[len(y)], k=5)


def test_a_new_array_at_an_old_address_is_not_taken_for_the_old_one():
    evaluator = feval("ndcg")
    scores, group = np.arange(1000.0), [1000]
    for seed in range(50):
        labels = np.random.default_rng(seed).integers(0, 3, 1000).astype(float)
        expected = ndcg_score(labels, scores, group=group)
        assert evaluator(labels, scores, None, group)[1] == expected
        del labels
    gc.collect()
    assert len(evaluator._bound) == 0


def test_pickles_and_copies_start_empty(ranking_set):
    _, y, group = ranking_set
    scores = np.random.default_rng(3).normal(size=len(y))
    evaluator = feval("ndcg@5", convention="lightgbm", gain="linear")
    expected = evaluator(y, scores, None, group)
    assert len(evaluator._bound) == 1
    for twin in (pickle.loads(pickle.dumps(evaluator)), copy.deepcopy(evaluator)):
        assert len(twin._bound) == 0
        assert twin(y, scores, None, group) == expected


def test_cross_validation_of_lightgbm(ranking_set):
    X, y, group = ranking_set
    qid = np.repeat(np.arange(len(group)), group)
    folds = [(np.flatnonzero(qid % 2 != i), np.flatnonzero(qid % 2 == i)) for i in range(2)]
    found = lgb.cv(
        {"objective": "lambdarank", "metric": "None", **QUIET},
        lgb.Dataset(X, y, group=group),
        3,
        folds=folds,
        feval=feval("ndcg@5"),
        return_cvbooster=True,
    )
    expected = np.mean(
        [
            ndcg_score(y[test], booster.predict(X[test]), qid=qid[test], k=5)
            for booster, (_, test) in zip(found["cvbooster"].boosters, folds, strict=True)
        ]
    )
    assert found["valid ndcg@5-mean"][-1] == pytest.approx(expected, abs=1e-12)


def test_threads_follow_the_dataset(ranking_set, monkeypatch):
    X, y, group = ranking_set
    seen = []
    import gbrank.metrics._base as base

    original = base.resolve_n_jobs
    monkeypatch.setattr(base, "resolve_n_jobs", lambda n: seen.append(n) or original(n))
    evaluator = feval("ndcg@5")
    chosen = feval("ndcg@5", n_jobs=2)
    seen.clear()
    data = lgb.Dataset(X, y, group=group, params={"num_threads": 3, "verbosity": -1}).construct()
    evaluator(np.zeros(len(y)), data)
    chosen(np.zeros(len(y)), data)
    assert seen == [3, 2]
