"""Presets: cross-fitted members, blended by their held-out queries into one sum of trees."""

import os
import re
import signal
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from test_ranker import EXPECTED_FAILURES, QueryOfTen

import gbrank.ranker
from gbrank import LambdaMART, PreferenceLogistic, QueryKFold, Ranker, get_objective
from gbrank.boosting import PRESETS, HeldOut, blend_members, cross_fit, resolve_preset
from gbrank.core import QueryLayout, RankingData
from gbrank.data import make_ranking
from gbrank.metrics import feval, get_metric, ndcg_score
from gbrank.preferences import Comparisons
from gbrank.start import Start

cross_fit_module = sys.modules["gbrank.boosting.cross_fit"]
FEW = {"preset": "balanced", "n_estimators": 12, "num_leaves": 7, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return make_ranking(
        n_queries=60, list_length=(5, 20), n_features=6, n_informative=4, random_state=1
    )


@pytest.fixture(scope="module")
def other():
    return make_ranking(
        n_queries=30, list_length=(5, 20), n_features=6, n_informative=4, random_state=2
    )


@pytest.fixture
def seen(monkeypatch):
    """Return a list that gets the members of each cross-fit, before and after they were grown."""
    found = []

    def watch(params, members, rows, parts, held_out, options, verbatim):
        grown = cross_fit(params, members, rows, parts, held_out, options, verbatim)
        found.append((params, members, rows, parts, held_out, grown))
        return grown

    monkeypatch.setattr(gbrank.ranker, "cross_fit", watch)
    return found


@pytest.fixture(scope="module")
def fitted(data):
    return Ranker(**FEW).fit(data.X, data.y, qid=data.qid)


# --- oracles in NumPy ----------------------------------------------------------------------------


def spread(scores, qid):
    """Root mean square after the mean of each query is taken away, query by query."""
    squares = [(scores[qid == q] - scores[qid == q].mean()) ** 2 for q in np.unique(qid)]
    return np.sqrt(np.concatenate(squares).mean())


def weights_of(values):
    """exp(-z^2 / 8) by the paired losses against the best; values are (members, queries)."""
    values = np.array(values)[:, ~np.isnan(values[0])]
    lost = values[values.mean(axis=1).argmax()] - values
    error = lost.std(axis=1, ddof=1) / np.sqrt(lost.shape[1])
    z = np.divide(lost.mean(axis=1), error, out=np.zeros(len(lost)), where=error > 0)
    weights = np.exp(-(z**2) / 8)
    return np.where(weights < 1e-3, 0.0, weights)


def scores_of_starts(members, rows, parts):
    """What the linear starts say of the rows that they did not see."""
    scores = np.zeros(rows.n_rows)
    query = np.repeat(np.arange(rows.n_queries), rows.layout.sizes)
    for (_, outside), start in zip(parts, members[0].starts, strict=True):
        mask = np.isin(query, outside)
        scores[mask] = start[mask]
    return scores


# --- parameters ----------------------------------------------------------------------------------


def trees_of(ranker):
    return ranker.booster_.model_to_string().partition("\nparameters:")[0]


def parameters_of(booster):
    """Return LightGBM's parameters, as the text of a model has them."""
    return dict(re.findall(r"^\[(\w+): (.*)\]$", booster.model_to_string(), re.MULTILINE))


def test_balanced_is_the_default(data, fitted):
    without = {name: value for name, value in FEW.items() if name != "preset"}
    ranker = Ranker(**without).fit(data.X, data.y, qid=data.qid)
    assert (ranker.preset, ranker.preset_) == ("auto", "balanced")
    assert trees_of(ranker) == trees_of(fitted)


def test_fast_is_what_its_numbers_say(data):
    named = {"n_estimators": 100, "learning_rate": 0.03, "min_child_samples": 20}
    named |= {"min_child_weight": 1e-9, "reg_lambda": 20.0, "start": "linear"}
    named |= {"subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.5}
    models = [
        Ranker(n_jobs=1, preset="fast"),
        Ranker("xendcg", n_jobs=1, preset="fast", **named),
    ]
    texts = {trees_of(each.fit(data.X, data.y, qid=data.qid)) for each in models}
    assert len(texts) == 1
    assert models[0].best_iteration_ == 100
    assert not hasattr(models[0], "cv_score_")


def test_one_booster_where_only_one_can_do_what_is_asked(data, other, capsys):
    """With preset="auto": what several boosters cannot do is done by one, and said."""
    sets = {"eval_X": other.X, "eval_y": other.y, "eval_qid": other.qid}
    few = {"n_estimators": 3, "n_jobs": 1, "verbose": 1}
    for given, of_fit, why in (
        ({}, sets, "there can be no evaluation set"),
        ({}, {"callbacks": [lambda env: None]}, "there can be no callbacks"),
        ({"start": "query_linear"}, {}, "start must be 'auto', 'zero' or 'linear'"),
        ({"boosting_type": "dart"}, {}, "boosting_type must not be 'dart'"),
        ({"warm_start": True}, {}, "training cannot go on"),
        ({"eval_metric": lambda a, b: ("m", 0.0, True)}, {}, "eval_metric must be names"),
    ):
        ranker = Ranker(**few, **given).fit(data.X, data.y, qid=data.qid, **of_fit)
        assert (ranker.preset_, ranker.n_boosters_, ranker.best_iteration_) == ("fast", 1, 3)
        assert f"one booster, as {why}" in capsys.readouterr().err


def test_an_evaluation_set_stops_a_ranker_as_it_comes(data, other):
    """Up to 1,000 trees, 50 past the best; what is given, and what stops by itself, wins."""
    sets = {"eval_X": other.X, "eval_y": other.y, "eval_qid": other.qid}

    def grown(of_fit=sets, **given):
        ranker = Ranker(n_jobs=1, random_state=0, **given)
        return ranker.fit(data.X, data.y, qid=data.qid, **of_fit)

    stopped = grown()
    values = stopped.evals_result_["valid_0"]["ndcg@10"]
    assert stopped.best_iteration_ == int(np.argmax(values)) + 1
    assert len(values) == min(stopped.best_iteration_ + 50, 1000)
    same = grown(preset="fast", n_estimators=1000, early_stopping_rounds=50)
    assert trees_of(stopped) == trees_of(same)
    for given, of_fit, trees in (
        ({"n_estimators": 4}, sets, 4),
        ({"preset": "fast"}, sets, 100),
        ({"boosting_type": "dart"}, sets, 100),
        ({}, sets | {"callbacks": [lambda env: None]}, 100),
    ):
        assert len(grown(of_fit, **given).evals_result_["valid_0"]["ndcg@10"]) == trees


def test_labels_that_judge_nothing_leave_one_booster(data):
    with pytest.warns(UserWarning, match=r"no held-out query can be judged.*here it is one boo"):
        ranker = Ranker(n_estimators=3).fit(data.X, np.zeros(len(data.y)), qid=data.qid)
    assert ranker.preset_ == "fast"
    assert np.isnan(ranker.cv_score_)


@pytest.mark.parametrize("preset", ["fast", "lightgbm"])
@pytest.mark.parametrize("objective", ["xendcg", "lambdamart", "squared"])
def test_penalties_of_one_booster(data, preset, objective):
    given = {"reg_lambda": 7.0, "min_child_weight": 0.5, "reg_alpha": 0.3, "min_split_gain": 0.1}
    ranker = Ranker(objective, preset=preset, start="zero", n_estimators=1, n_jobs=1, **given)
    ranker.set_params(lgb_params={"cat_l2": 3.0}).fit(data.X, data.y, qid=data.qid)
    _, hess = get_objective(objective).grad_hess(data.y, np.zeros(len(data.y)), data.group)
    unit = hess.mean(dtype=np.float64) if preset == "fast" else 1.0
    assert ranker.hessian_unit_ == pytest.approx(unit)
    params = parameters_of(ranker.booster_)
    expected = {"lambda_l2": 7.0, "min_sum_hessian_in_leaf": 0.5, "lambda_l1": 0.3}
    expected |= {"min_gain_to_split": 0.1, "cat_smooth": 10.0}
    for name, value in expected.items():
        assert float(params[name]) == pytest.approx(value * unit, rel=1e-5), name
    assert float(params["cat_l2"]) == 3.0


@pytest.mark.parametrize("preset", ["fast", "balanced"])
def test_a_loss_times_a_number_is_the_same_ranker(data, other, preset):
    weight = np.full(len(data.y), 8.0)
    few = {"preset": preset, "n_estimators": 10, "n_jobs": 1, "reg_alpha": 0.5}
    few |= {"min_split_gain": 0.01, "min_child_weight": 3.0}
    plain = Ranker("listnet", **few).fit(data.X, data.y, qid=data.qid)
    times = Ranker("listnet", **few).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    np.testing.assert_allclose(times.predict(other.X), plain.predict(other.X), rtol=1e-5)


def test_going_on_keeps_the_unit(data, other):
    few = {"preset": "fast", "n_jobs": 1, "subsample_freq": 0, "colsample_bytree": 1.0}
    whole = Ranker("listnet", n_estimators=12, **few).fit(data.X, data.y, qid=data.qid)
    half = Ranker("listnet", n_estimators=6, warm_start=True, **few)
    half.fit(data.X, data.y, qid=data.qid)
    half.set_params(n_estimators=12).fit(data.X, data.y, qid=data.qid)
    assert half.hessian_unit_ == whole.hessian_unit_
    np.testing.assert_allclose(half.predict(other.X), whole.predict(other.X), rtol=1e-9)


def test_datasets_have_the_unit_of_their_rows(data, other):
    few = {"preset": "fast", "n_jobs": 1, "n_estimators": 5, "start": "zero"}
    weight = np.random.default_rng(0).uniform(0.5, 3, len(data.y))
    rows = Ranker("listnet", **few).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    dataset = lgb.Dataset(data.X, data.y, group=data.group, weight=weight)
    found = Ranker("listnet", **few).fit(dataset)
    assert found.hessian_unit_ == pytest.approx(rows.hessian_unit_, rel=1e-6)
    np.testing.assert_allclose(found.predict(other.X), rows.predict(other.X), rtol=1e-5)


def test_parameters_are_kept_as_given_and_shown_only_then():
    ranker = Ranker(preset="best", learning_rate=0.2)
    assert repr(ranker) == "Ranker(learning_rate=0.2, preset='best')"
    assert repr(Ranker()) == "Ranker()"
    copied = clone(ranker).set_params(n_estimators=7)
    params = copied.get_params()
    assert (params["preset"], params["learning_rate"], params["n_estimators"]) == ("best", 0.2, 7)
    assert params["reg_lambda"] is None
    assert params["objective"] is None
    resolved = resolve_preset(params)
    assert (resolved["learning_rate"], resolved["n_estimators"]) == (0.2, 7)
    assert (resolved["reg_lambda"], resolved["early_stopping_rounds"]) == (20.0, 25)
    assert resolve_preset(resolved) == resolved
    assert params["reg_lambda"] is None, "resolving must not change what was given"


@pytest.mark.parametrize("name", ["balanced", "best"])
def test_the_table(name):
    found = resolve_preset(Ranker(preset=name).get_params())
    expected = {"n_estimators": 500, "learning_rate": 0.1, "num_leaves": 31, "reg_lambda": 20.0}
    expected |= {"min_child_samples": 20, "colsample_bytree": 0.5, "subsample": 0.7}
    assert {key: found[key] for key in expected} == expected
    assert PRESETS[name].n_folds == {"balanced": 3, "best": 5}[name]
    assert [member.objective for member in PRESETS[name].members] == ["xendcg", "lambdamart"]


def test_lightgbm_defaults_are_one_booster_of_lightgbms_trees(data):
    ranker = Ranker.lightgbm_defaults("lambdamart", n_jobs=1).fit(data.X, data.y, qid=data.qid)
    text = ranker.booster_.model_to_string()
    for line in ("[lambda_l2: 0]", "[min_data_in_leaf: 20]", "[min_sum_hessian_in_leaf: 0.001]"):
        assert line in text
    assert (ranker.best_iteration_, ranker.n_boosters_, ranker.preset_) == (100, 1, "lightgbm")
    assert ranker.start_kind_ == "zero"
    theirs = lgb.LGBMRanker(objective=LambdaMART(), n_jobs=1, verbose=-1)
    theirs.fit(data.X, data.y, group=data.group)
    np.testing.assert_array_equal(theirs.predict(data.X), ranker.predict(data.X))


def test_given_trees_override_those_of_the_preset(data, seen):
    given = {"n_estimators": 3, "learning_rate": 0.3, "num_leaves": 5, "min_child_samples": 7}
    ranker = Ranker(preset="balanced", n_jobs=1, early_stopping_rounds=2, **given)
    ranker.fit(data.X, data.y, qid=data.qid)
    (*_, grown) = seen[0]
    for member in grown:
        assert len(member.results["ndcg@10"]) <= 3
        for booster in member.boosters:
            text = booster.model_to_string()
            assert "[learning_rate: 0.3]" in text
            assert "[num_leaves: 5]" in text
            assert "[min_data_in_leaf: 7]" in text


# --- the model is the sum of its boosters --------------------------------------------------------


@pytest.mark.parametrize("preset", ["balanced", "best"])
def test_the_model_is_the_weighted_sum_of_boosters_and_starts(data, seen, preset):
    ranker = Ranker(**FEW | {"preset": preset}).fit(data.X, data.y, qid=data.qid)
    _, members, rows, parts, _, grown = seen[0]
    n_folds = {"balanced": 3, "best": 5}[preset]
    assert len(parts) == n_folds + 1
    assert list(parts[-1][0]) == list(range(60)), "the last booster of a member sees all queries"
    assert len(parts[-1][1]) == 0
    shares = np.append(np.full(n_folds, 0.5 / n_folds), 0.5)
    held_out = [each.held_out for each in grown] + [scores_of_starts(members, rows, parts)]
    values = [ndcg_score(data.y, s, qid=data.qid, k=10, per_query=True) for s in held_out]
    weights = weights_of(values)
    coefficients = weights / [spread(each, data.qid) for each in held_out]
    coefficients /= coefficients.sum()
    expected, n_trees = np.zeros(len(data.y)), 0
    for coefficient, member, one in zip(coefficients, members, grown, strict=False):
        boosters = zip(one.boosters, one.n_trees, member.starts, shares, strict=True)
        for booster, count, start, share in boosters:
            scores = booster.predict(data.X, num_iteration=count)
            scores = scores if start is None else scores + start
            expected += coefficient * share * scores
            n_trees += count if coefficient else 0
    expected += coefficients[2] * (shares @ np.array(members[0].starts))
    np.testing.assert_allclose(ranker.predict(data.X), expected, rtol=0, atol=1e-9)
    assert np.ptp(expected) > 0.1
    assert ranker.best_iteration_ == n_trees
    assert ranker.n_boosters_ == (n_folds + 1) * np.count_nonzero(weights[:2])
    assert ranker.booster_.num_trees() == n_trees + ranker.n_start_trees_
    # as many start trees, and no more leaves, than one linear start has
    assert ranker.n_start_trees_ <= data.X.shape[1]
    trees = ranker.booster_.dump_model()["tree_info"][: ranker.n_start_trees_]
    assert max(tree["num_leaves"] for tree in trees) <= 65
    # what it says of itself
    np.testing.assert_allclose([m["weight"] for m in ranker.members_], weights / weights.sum())
    names = ["xendcg from linear", "lambdamart from zero", "linear"]
    assert [m["name"] for m in ranker.members_] == names
    assert [m["trees"] for m in ranker.members_] == [*(sum(g.n_trees) for g in grown), 0]
    means = np.nanmean(values, axis=1)
    np.testing.assert_allclose([m["cv_score"] for m in ranker.members_], means)
    blended = coefficients @ np.array(held_out)
    np.testing.assert_allclose(ranker.cv_predictions_, blended, atol=1e-12)
    judged = ndcg_score(data.y, blended, qid=data.qid, k=10, per_query=True)
    judged = judged[~np.isnan(judged)]
    assert ranker.cv_score_ == pytest.approx(judged.mean())
    assert ranker.cv_score_se_ == pytest.approx(judged.std(ddof=1) / np.sqrt(len(judged)))


@pytest.mark.parametrize("member", [0, 1])
def test_boosters_did_not_see_the_queries_that_judge_them(data, seen, member):
    """By hand: trained on the complement, with other labels in the fold, to the last bit."""
    Ranker(**FEW, random_state=3).fit(data.X, data.y, qid=data.qid)
    _, members, rows, _, _, grown = seen[0]
    fold = 1
    splits = QueryKFold(3, shuffle=True, random_state=3).split(data.X, data.y, data.qid)
    inside, outside = list(splits)[fold]
    labels = data.y.copy()
    labels[outside] = labels[outside].max() - labels[outside]
    seed = 3 + 4 * member + fold
    objective = get_objective(["xendcg", "lambdamart"][member], n_jobs=1)
    start = np.zeros(len(labels))
    if member == 0:
        objective.set_params(random_state=seed)
        part = RankingData.checked(data.X[inside], labels[inside], data.qid[inside])
        steps = gbrank.linear.LinearRanker(random_state=3).cut_features(rows)
        drawing = get_objective("xendcg", random_state=3)
        linear = Start.fit("linear", part, drawing, seed=3, steps=steps)
        start = linear.scores(data.X, rows.layout)
        np.testing.assert_array_equal(start, members[0].starts[fold])
    sizes = np.bincount(np.unique(data.qid[inside], return_inverse=True)[1])
    _, hess = objective.grad_hess(labels[inside], start[inside], sizes)
    unit = hess.mean(dtype=np.float64)
    params = {
        "objective": objective, "metric": "None", "verbosity": -1, "num_threads": 1, "seed": seed,
        "learning_rate": 0.1, "num_leaves": 7, "min_data_in_leaf": 20, "feature_fraction": 0.5,
        "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 20 * unit, "cat_l2": 10 * unit,
        "cat_smooth": 10 * unit, "lambda_l1": 0.0, "min_gain_to_split": 0.0,
        "min_sum_hessian_in_leaf": 1e-9 * unit, "force_col_wise": True,
    }  # fmt: skip
    if member == 1:
        params["bagging_freq"] = 0
    of_data = {"min_data_in_leaf": 20, "verbosity": -1, "force_col_wise": True, "num_threads": 1}
    whole = lgb.Dataset(data.X, labels, group=rows.layout.sizes, params=of_data).construct()
    training, judging = (whole.subset(part).construct() for part in (inside, outside))
    if member == 0:
        training.set_init_score(start[inside])
        judging.set_init_score(start[outside])
    kept = []
    booster = lgb.train(
        params,
        training,
        num_boost_round=grown[member].n_trees[fold],
        valid_sets=[judging],
        feval=lambda scores, _: kept.append(scores.copy()) or ("", 0.0, True),
    )
    theirs = grown[member].boosters[fold].model_to_string(num_iteration=booster.num_trees())
    trees = [
        re.sub(r"\nparameters:.*|^.*?\nTree=0", "", text, flags=re.DOTALL)
        for text in (booster.model_to_string(), theirs)
    ]
    assert trees[0] == trees[1]
    assert "split_feature" in trees[0]
    np.testing.assert_array_equal(kept[-1], grown[member].held_out[outside])


def test_members_stop_at_the_best_pooled_metric(data, seen):
    ranker = Ranker(**FEW | {"n_estimators": 60}, early_stopping_rounds=4)
    ranker.fit(data.X, data.y, qid=data.qid)
    _, members, *_, grown = seen[0]
    stopped = []
    for member, one in zip(members, grown, strict=True):
        curve = ranker.evals_result_[member.name]["ndcg@10"]
        best = int(np.argmax(curve))
        assert one.n_trees == [best + 1] * 4
        assert len(curve) == min(best + 1 + 4, 60)
        assert curve[best] == pytest.approx(ndcg_score(data.y, one.held_out, qid=data.qid, k=10))
        stopped.append(len(curve))
    assert min(stopped) < 60


def test_a_metric_where_less_is_better_and_others_that_are_reported(data, seen):
    metrics = ["pairwise_disagreement", "ndcg@3"]
    ranker = Ranker(**FEW, eval_metric=metrics).fit(data.X, data.y, qid=data.qid)
    (*_, grown) = seen[0]
    for one in grown:
        assert list(one.results) == metrics
        assert one.n_trees == [int(np.argmin(one.results["pairwise_disagreement"])) + 1] * 4
    best = min(ranker.members_, key=lambda member: member["cv_score"])
    assert best["weight"] == max(member["weight"] for member in ranker.members_)


# --- weights -------------------------------------------------------------------------------------


def blended(labels, scores, weight=None, metric="ndcg"):
    n_queries = len(labels) // 4
    qid = np.repeat(np.arange(n_queries), 4)
    weight = None if weight is None else np.repeat(weight, 4)
    rows = RankingData.checked(np.zeros((len(labels), 1)), labels, qid, sample_weight=weight)
    held_out = HeldOut(rows, np.arange(n_queries), [get_metric(metric)], 1)
    return blend_members(held_out, scores)


def test_members_count_by_how_surely_they_are_worse():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400).astype(float)
    noise = rng.normal(size=(3, 400))
    scores = [labels + 0.8 * noise[0], 50 * (labels + 0.9 * noise[1]), noise[2]]
    found = blended(labels, scores)
    group = [4] * 100
    values = [ndcg_score(labels, each, group=group, per_query=True) for each in scores]
    expected = weights_of(values)
    np.testing.assert_allclose(found.weights, expected / expected.sum())
    assert 0.01 < expected[1] < 1
    assert found.weights[2] == found.coefficients[2] == 0
    # scales do not matter: the blend of two ranks alike, whatever one is multiplied by
    again = blended(labels, [scores[0], scores[1] / 50, scores[2]])
    np.testing.assert_allclose(again.weights, found.weights)
    ratio = again.coefficients[1] / again.coefficients[0]
    assert ratio == pytest.approx(50 * found.coefficients[1] / found.coefficients[0])
    qid = np.repeat(np.arange(100), 4)
    by_hand = expected[:2] / [spread(each, qid) for each in scores[:2]]
    np.testing.assert_allclose(found.coefficients[:2], by_hand / by_hand.sum())


def test_weights_of_queries_count():
    """A query of weight 2 is worth two queries in means; one of weight 0 is worth nothing."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 400).astype(float)
    scores = [labels + rng.normal(size=400), labels + 1.2 * rng.normal(size=400)]
    weight = rng.integers(0, 3, 100).astype(float)
    found = blended(labels, scores, weight)
    values = np.array([ndcg_score(labels, s, group=[4] * 100, per_query=True) for s in scores])
    kept = ~np.isnan(values[0]) & (weight > 0)
    values, w = values[:, kept], weight[kept]
    means = values @ w / w.sum()
    np.testing.assert_allclose(found.member_scores, means)
    best = means.argmax()
    lost = values[best] - values[1 - best]
    residuals = w * (lost - means[best] + means[1 - best])
    error = np.sqrt((residuals**2).sum() * len(w) / (len(w) - 1)) / w.sum()
    ratio = found.weights[1 - best] / found.weights[best]
    assert ratio == pytest.approx(np.exp(-(((means[best] - means[1 - best]) / error) ** 2) / 8))


def test_equal_members_count_alike():
    labels = np.tile([2.0, 0.0, 1.0, 0.0], 20)
    scores = np.random.default_rng(0).normal(size=80)
    found = blended(labels, [scores, 3 * scores])
    np.testing.assert_allclose(found.weights, [0.5, 0.5])
    np.testing.assert_allclose(found.coefficients, [0.75, 0.25])
    alone = blended(labels, [np.zeros(80), np.zeros(80)])
    np.testing.assert_array_equal(alone.weights, [1.0, 0.0])


def test_members_of_little_weight_are_left_out(data, seen):
    """Labels are nearly linear here, so that one tree cannot keep up with a linear start."""
    total = data.X.sum(axis=1)
    labels = np.digitize(total, np.quantile(total, [0.3, 0.6, 0.8, 0.9])).astype(float)
    ranker = Ranker(**FEW | {"n_estimators": 1}, learning_rate=1e-4)
    ranker.fit(data.X, labels, qid=data.qid)
    by_name = {member["name"]: member for member in ranker.members_}
    assert by_name["lambdamart from zero"]["weight"] == 0
    assert by_name["xendcg from linear"]["weight"] > 0.3
    assert ranker.n_boosters_ == ranker.best_iteration_ == 4


# --- penalties in documents ----------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["xendcg", "lambdamart", "listnet", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
def test_penalties_are_in_documents(data, seen, objective, weighted):
    weight = np.random.default_rng(0).uniform(0.5, 3, len(data.y)) if weighted else None
    given = {"reg_lambda": 7.0, "min_child_weight": 0.5, "start": "zero", "n_estimators": 1}
    ranker = Ranker(objective, **FEW | given, lgb_params={"cat_l2": 3.0})
    ranker.fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    _, members, rows, parts, _, grown = seen[0]
    assert [member.name for member in members] == [f"{objective} from zero"]
    for (queries, _), booster in zip(parts, grown[0].boosters, strict=True):
        inside = np.isin(data.qid, np.unique(data.qid)[queries])
        part = None if weight is None else weight[inside]
        _, hess = get_objective(objective).grad_hess(
            data.y[inside], np.zeros(inside.sum()), rows.layout.sizes[queries], part
        )
        unit = hess.mean(dtype=np.float64)
        params = parameters_of(booster)
        assert float(params["lambda_l2"]) == pytest.approx(7.0 * unit, rel=1e-5)
        assert float(params["min_sum_hessian_in_leaf"]) == pytest.approx(0.5 * unit, rel=1e-5)
        assert float(params["cat_smooth"]) == pytest.approx(10.0 * unit, rel=1e-5)
        assert float(params["cat_l2"]) == 3.0, "lgb_params are LightGBM's own"


def test_the_unit_is_taken_at_the_start(data, seen):
    init = 3.0 * np.random.default_rng(0).normal(size=len(data.y))
    Ranker("listnet", **FEW | {"n_estimators": 1}).fit(
        data.X, data.y, qid=data.qid, init_score=init
    )
    _, members, rows, parts, _, grown = seen[0]
    inside = np.isin(data.qid, np.unique(data.qid)[parts[0][0]])
    scores = (members[0].starts[0] + init)[inside]
    sizes = rows.layout.sizes[parts[0][0]]
    _, hess = get_objective("listnet").grad_hess(data.y[inside], scores, sizes)
    text = grown[0].boosters[0].model_to_string()
    found = float(re.search(r"\[lambda_l2: (.*)\]", text)[1])
    assert found == pytest.approx(20 * hess.mean(dtype=np.float64), rel=1e-5)


# --- members -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"objective": "xendcg"}, ["xendcg from linear", "linear"]),
        ({"objective": LambdaMART(sigmoid=2)}, ["lambdamart from linear", "linear"]),
        ({"start": "zero"}, ["xendcg from zero", "lambdamart from zero"]),
        ({"start": "linear"}, ["xendcg from linear", "lambdamart from linear", "linear"]),
    ],
    ids=str,
)
def test_a_given_objective_or_start_replaces_that_of_the_members(data, given, names):
    ranker = Ranker(**FEW | {"n_estimators": 2}, **given).fit(data.X, data.y, qid=data.qid)
    assert [member["name"] for member in ranker.members_] == names
    assert ranker.start_kind_ == ("linear" if "linear" in names else "zero")
    assert sum(member["weight"] for member in ranker.members_) == pytest.approx(1)
    if "objective" in given:
        assert type(ranker.objective_) is type(get_objective(given["objective"]))


def test_too_many_features_for_a_linear_start(data):
    X = scipy.sparse.hstack([data.X, scipy.sparse.csr_array((len(data.y), 1000))], format="csr")
    ranker = Ranker(**FEW | {"n_estimators": 2}).fit(X, data.y, qid=data.qid)
    names = [member["name"] for member in ranker.members_]
    assert names == ["xendcg from zero", "lambdamart from zero"]


# --- what it works with --------------------------------------------------------------------------


def test_saved_and_loaded_and_in_plain_lightgbm(fitted, data, other, tmp_path):
    path = tmp_path / "model.txt"
    fitted.save_model(path)
    loaded = Ranker.load_model(path)
    expected = fitted.predict(other.X)
    np.testing.assert_array_equal(loaded.predict(other.X), expected)
    np.testing.assert_array_equal(lgb.Booster(model_file=path).predict(other.X), expected)
    assert repr(loaded) == repr(fitted)
    assert loaded.members_ == fitted.members_
    assert (loaded.cv_score_, loaded.cv_score_se_) == (fitted.cv_score_, fitted.cv_score_se_)
    assert loaded.n_boosters_ == fitted.n_boosters_
    assert not hasattr(loaded, "cv_predictions_")
    shap = fitted.predict(other.X, pred_contrib=True)
    np.testing.assert_allclose(shap.sum(axis=1), expected, atol=1e-9)
    with pytest.raises(ValueError, match="num_iteration must be None"):
        fitted.predict(other.X, num_iteration=5)
    assert fitted.feature_importances_.shape == (data.X.shape[1],)


def test_rows_in_any_order_and_out_of_fold_scores_in_theirs(fitted, data, other):
    place = np.concatenate([np.arange(size) for size in data.group])
    order = np.argsort(place, kind="stable")
    weight = np.ones(len(data.y))
    shuffled = Ranker(**FEW).fit(data.X[order], data.y[order], qid=data.qid[order])
    np.testing.assert_array_equal(shuffled.predict(other.X), fitted.predict(other.X))
    np.testing.assert_array_equal(shuffled.cv_predictions_, fitted.cv_predictions_[order])
    by_group = Ranker(**FEW).fit(data.X, data.y, group=[0, *data.group, 0], sample_weight=weight)
    np.testing.assert_allclose(by_group.predict(other.X), fitted.predict(other.X), atol=1e-12)


def test_sample_weight(data, fitted, other):
    """Weights all alike change nothing, others do; queries of weight 0 do not judge."""
    same = Ranker(**FEW).fit(data.X, data.y, qid=data.qid, sample_weight=np.full(60, 4.0))
    np.testing.assert_allclose(same.predict(other.X), fitted.predict(other.X), rtol=1e-5)
    weight = np.where(np.unique(data.qid) % 2, 1.0, 0.0)
    some = Ranker(**FEW).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    by_row = np.repeat(weight, data.group) > 0
    expected = ndcg_score(data.y[by_row], some.cv_predictions_[by_row], qid=data.qid[by_row], k=10)
    assert some.cv_score_ == pytest.approx(expected)
    assert np.abs(some.predict(other.X) - fitted.predict(other.X)).max() > 1e-3


def test_init_score_counts_once(data, seen):
    init = np.random.default_rng(0).normal(size=len(data.y))
    ranker = Ranker(**FEW).fit(data.X, data.y, qid=data.qid, init_score=init)
    scores = ranker.cv_predictions_ + init
    assert ranker.cv_score_ == pytest.approx(ndcg_score(data.y, scores, qid=data.qid, k=10))
    _, members, rows, parts, _, grown = seen[0]
    held_out = [each.held_out for each in grown]
    held_out.append(scores_of_starts(members, rows, parts) + init)
    shares = np.array([member["weight"] for member in ranker.members_])
    coefficients = shares / [spread(each, data.qid) for each in held_out]
    coefficients /= coefficients.sum()
    np.testing.assert_allclose(scores, coefficients @ np.array(held_out), atol=1e-9)
    without = Ranker(**FEW).fit(data.X, data.y, qid=data.qid)
    assert without.cv_score_ != ranker.cv_score_


def test_missing_values_and_sparse_features(data, other):
    X = np.where(np.abs(data.X) > 0.5, data.X, 0.0)
    dense = Ranker(**FEW).fit(X, data.y, qid=data.qid)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_array):
        from_sparse = Ranker(**FEW).fit(kind(X), data.y, qid=data.qid)
        np.testing.assert_allclose(from_sparse.predict(kind(X)), dense.predict(X), atol=1e-9)
    X[::3, 0] = np.nan
    ranker = Ranker(**FEW).fit(X, data.y, qid=data.qid)
    assert np.isfinite(ranker.predict(X)).all()
    assert np.isfinite(ranker.cv_predictions_).all()


def test_tables_with_categories(data, seen):
    """Only the category knows what counts here, so a model that used it ranks far better."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, len(data.y))
    y = (codes * 5 % 6 >= 3) + 0.0
    frame = pd.DataFrame({"noise": rng.normal(size=len(y)), "more": rng.normal(size=len(y))})
    frame["kind"] = pd.Categorical.from_codes(codes, list("abcdef"))
    frame["query"] = data.qid
    params = {**FEW, "qid": "query", "lgb_params": {"min_data_per_group": 5}}
    ranker = Ranker(**params).fit(frame, y)
    assert ranker.cv_score_ > 0.95
    assert list(ranker.feature_names_in_) == ["noise", "more", "kind"]
    assert ranker.predict(frame).shape == (len(y),)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    from_arrow = Ranker(**params).fit(arrow, y)
    np.testing.assert_array_equal(from_arrow.predict(arrow), ranker.predict(frame))
    numbers = frame.drop(columns="kind")
    expected = Ranker(**params).fit(numbers, y)
    from_polars = Ranker(**params).fit(pl.from_pandas(numbers), y)
    np.testing.assert_array_equal(
        from_polars.predict(pl.from_pandas(numbers)), expected.predict(numbers)
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_constraints_hold_whatever_the_start(data, sign):
    """The labels rise with the first feature, which the start leaves out if it must not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(data.y), 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=len(X)), [0.0, 1.0]).astype(float)
    params = {**FEW, "lgb_params": {"mc": [sign, 0, 0]}}
    ranker = Ranker(**params).fit(X, y, qid=data.qid)
    assert "linear" in [member["name"] for member in ranker.members_]
    grid = np.column_stack([np.linspace(-4, 4, 400), np.zeros(400), np.zeros(400)])
    moves = np.diff(ranker.predict(grid)) * sign
    assert (moves >= 0).all()
    assert (moves.max() > 0) == (sign == 1)
    assert (ranker.linear_coef_[0] != 0) == (sign == 1)


def test_preferences_with_labels_to_judge_by(data, seen):
    """Boosters learn from the comparisons of their own queries; labels say when to stop."""
    rng = np.random.default_rng(0)
    pairs = [rng.choice(np.flatnonzero(data.qid == q), 2, replace=False) for q in data.qid[::3]]
    better = [(a, b) if data.y[a] >= data.y[b] else (b, a) for a, b in pairs]
    winner, loser = np.array(better).T
    comparisons = Comparisons(data.qid[winner], winner, loser, items="row")
    ranker = Ranker("preference_logistic", **FEW)
    ranker.fit(data.X, data.y, qid=data.qid, preferences=comparisons)
    assert ranker.cv_score_ > 0.6
    _, members, _, parts, _, _ = seen[0]
    for (queries, _), objective in zip(parts, members[0].objectives, strict=True):
        inside = np.flatnonzero(np.isin(data.qid, np.unique(data.qid)[queries]))
        layout = QueryLayout.from_qid(data.qid[inside])
        expected = comparisons.for_rows(inside).bind(layout)
        for name in ("query_bounds", "edge_bounds", "winner", "loser", "observation_weight"):
            found = getattr(objective.observations, name)
            np.testing.assert_array_equal(found, getattr(expected, name))
    for objective in ("preference_logistic", PreferenceLogistic(comparisons)):
        given = {} if objective != "preference_logistic" else {"preferences": comparisons}
        with pytest.raises(ValueError, match=r"y must be given: held-out queries"):
            Ranker(objective, **FEW).fit(data.X, qid=data.qid, **given)


@pytest.mark.parametrize("preset", ["balanced", "best"])
def test_the_same_seed_is_the_same_model_for_any_number_of_threads(data, other, preset):
    models = [
        Ranker(**FEW | {"preset": preset, "n_jobs": n_jobs}, random_state=seed)
        for n_jobs, seed in ((1, 5), (3, 5), (1, 6))
    ]
    texts = []
    for model in models:
        model.fit(data.X, data.y, qid=data.qid)
        texts.append(model.booster_.model_to_string().partition("\nparameters:")[0])
    assert texts[0] == texts[1] != texts[2]
    np.testing.assert_array_equal(models[0].cv_predictions_, models[1].cv_predictions_)


def test_silent_unless_asked(data, capfd):
    """Not a word of LightGBM either, whose threads each have a log level of their own."""
    Ranker(**FEW | {"n_jobs": 3}, min_split_gain=1e9).fit(data.X, data.y, qid=data.qid)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_verbose_says_what_the_model_is_made_of(data, capsys, monkeypatch, with_tqdm):
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ranker = Ranker(**FEW, verbose=1).fit(data.X, data.y, qid=data.qid)
    said = capsys.readouterr().err
    assert "xendcg from linear: ndcg@10" in said
    for member in ranker.members_:
        assert re.search(rf"{member['name']} +{member['trees']} +{member['weight']:.3f}", said)
    expected = (
        f"preset='balanced', 3 folds: ndcg@10 {ranker.cv_score_:.4f} with a standard error of "
        f"{ranker.cv_score_se_:.4f}\n{ranker.n_boosters_} boosters, {size_in_words(ranker)}\n"
    )
    assert said.endswith(expected)


def size_in_words(ranker):
    """Walk through all trees to say what ``verbose`` says."""
    trees = ranker.booster_.dump_model()["tree_info"]
    splits = [splits_of_a_mean_row(tree["tree_structure"]) for tree in trees]
    share = sum(splits[: ranker.n_start_trees_]) / sum(splits)
    return (
        f"{ranker.best_iteration_} trees and {ranker.n_start_trees_} of the start, "
        f"{sum(t['num_leaves'] for t in trees)} leaves, "
        f"{len(ranker.booster_.model_to_string()) / 1e6:.1f} MB as text; a row meets "
        f"{sum(splits):.0f} splits, {share:.0%} of them in the start"
    )


def splits_of_a_mean_row(node):
    """Return the mean depth of the leaves, each counting as often as it has rows."""
    leaves, waiting = [], [(node, 0)]
    while waiting:
        node, depth = waiting.pop()
        if "left_child" in node:
            waiting += [(node["left_child"], depth + 1), (node["right_child"], depth + 1)]
        else:
            leaves.append((depth, node.get("leaf_count", 1)))
    depths, counts = zip(*leaves, strict=True)
    return np.average(depths, weights=counts)


@pytest.mark.parametrize("start", ["linear", "zero"])
def test_verbose_says_what_one_booster_costs_to_serve(data, capsys, start):
    ranker = Ranker(preset="fast", n_estimators=10, start=start, n_jobs=1, verbose=1)
    ranker.fit(data.X, data.y, qid=data.qid)
    assert (ranker.n_start_trees_ > 0) == (start == "linear")
    assert capsys.readouterr().err.endswith(f"preset='fast': {size_in_words(ranker)}\n")


# --- sizes ---------------------------------------------------------------------------------------


def test_many_rows_hold_out_one_part(data, other, seen, monkeypatch):
    monkeypatch.setattr(cross_fit_module, "MOST_ROWS", len(data.y) - 1)
    ranker = Ranker(**FEW, validation_fraction=0.2).fit(data.X, data.y, qid=data.qid)
    _, _, _, parts, _, grown = seen[0]
    assert len(parts) == 1
    inside, outside = parts[0]
    assert len(outside) == 12
    assert sorted([*inside, *outside]) == list(range(60))
    held_out = np.isin(data.qid, np.unique(data.qid)[outside])
    np.testing.assert_array_equal(np.isfinite(ranker.cv_predictions_), held_out)
    scores = ranker.cv_predictions_[held_out]
    # one booster a member: what it says of held-out rows is what it predicts for them
    np.testing.assert_allclose(ranker.predict(data.X[held_out]), scores, atol=1e-9)
    expected = ndcg_score(data.y[held_out], scores, qid=data.qid[held_out], k=10)
    assert ranker.cv_score_ == pytest.approx(expected)
    assert [len(each.boosters) for each in grown] == [1, 1]
    assert ranker.n_boosters_ <= 2
    few = Ranker(**FEW, validation_fraction=0.01).fit(data.X, data.y, qid=data.qid)
    assert len(np.unique(data.qid[np.isfinite(few.cv_predictions_)])) == 5
    with pytest.raises(ValueError, match="validation_fraction must be a number with more than"):
        Ranker(**FEW, validation_fraction=None).fit(data.X, data.y, qid=data.qid)


def test_a_hundred_thousand_rows_are_many():
    assert cross_fit_module.MOST_ROWS == 100_000
    layout = QueryLayout.from_group([5000] * 20)
    assert len(cross_fit_module.cut_parts(layout, 3, 0.1, 0)) == 4
    layout = QueryLayout.from_group([5000] * 20 + [1])
    assert len(cross_fit_module.cut_parts(layout, 3, 0.1, 0)) == 1


@pytest.mark.parametrize(("n_queries", "n_folds"), [(10, 2), (14, 2), (15, 3), (24, 4), (25, 5)])
def test_few_queries_have_few_folds(data, seen, n_queries, n_folds):
    rows = data.qid < np.unique(data.qid)[n_queries]
    ranker = Ranker(**FEW | {"preset": "best", "n_estimators": 2}, min_child_samples=2)
    ranker.fit(data.X[rows], data.y[rows], qid=data.qid[rows])
    parts = seen[0][3]
    assert len(parts) == n_folds + 1
    assert min(len(outside) for _, outside in parts[:-1]) >= 5
    assert np.isfinite(ranker.cv_predictions_).all()


def test_too_few_queries_have_one_booster(data, other, capsys):
    rows = data.qid < np.unique(data.qid)[9]
    part = (data.X[rows], data.y[rows])
    ranker = Ranker(**FEW, min_child_samples=2, verbose=1).fit(*part, qid=data.qid[rows])
    assert "9 queries are too few to hold some out: one booster" in capsys.readouterr().err
    fast = Ranker(**FEW | {"preset": "fast"}, min_child_samples=2).fit(*part, qid=data.qid[rows])
    np.testing.assert_array_equal(ranker.predict(other.X), fast.predict(other.X))
    assert ranker.preset == "balanced"
    assert np.isnan(ranker.cv_score_)
    assert np.isnan(ranker.cv_predictions_).all()
    assert ranker.members_[0]["trees"] == 12


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "of_fit", "message"),
    [
        ({"preset": "slow"}, {}, "preset must be 'auto' or 'fast' or 'balanced' or 'best' or '"),
        ({"warm_start": True}, {}, "cannot go on from another model, by init_model or warm_start"),
        ({}, {"init_model": "a model"}, "cannot go on from another model"),
        ({}, {"eval_X": 1, "eval_y": 1, "eval_qid": 1}, "no evaluation set: the queries of X that"),
        ({}, {"callbacks": [print]}, "there can be no callbacks"),
        ({"start": "query_linear"}, {}, "start must be 'auto', 'zero' or 'linear', got 'query_l"),
        ({"start": np.mean}, {}, "start must be 'auto', 'zero' or 'linear', got <function mean"),
        ({"boosting_type": "dart"}, {}, "boosting_type must not be 'dart'"),
        ({"boosting_type": "rf"}, {}, "boosting_type must not be 'rf'"),
        ({"eval_metric": lambda a, b: ("m", 0.0, True)}, {}, "eval_metric must be names such as"),
        ({}, {"y": np.zeros(8)}, "y"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else value[:20],
)
def test_what_does_not_go_with_folds_is_an_error_in_words(data, given, of_fit, message):
    ranker = Ranker(**FEW | given)
    with pytest.raises(ValueError, match=message):
        ranker.fit(**{"X": data.X, "y": data.y, "qid": data.qid, **of_fit})
    assert not hasattr(ranker, "booster_")


def test_datasets_and_sequences_are_refused(data):
    class Rows(lgb.Sequence):
        batch_size = 100

        def __getitem__(self, at):
            return data.X[at]

        def __len__(self):
            return len(data.X)

    dataset = lgb.Dataset(data.X, data.y, group=data.group)
    for X, more in ((dataset, {}), (Rows(), {"y": data.y, "qid": data.qid})):
        with pytest.raises(ValueError, match="X must be in memory, not a Dataset or a Sequence"):
            Ranker(**FEW).fit(X, **more)


def test_labels_that_judge_nothing(data):
    with pytest.raises(ValueError, match=r"no held-out query can be judged by ndcg@10"):
        Ranker(**FEW).fit(data.X, np.zeros(len(data.y)), qid=data.qid)


def test_a_feval_of_a_metric_is_as_good_as_its_name(data, fitted, other):
    ranker = Ranker(**FEW, eval_metric=feval("ndcg@10")).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(ranker.predict(other.X), fitted.predict(other.X))


def test_dask_has_one_preset():
    array = pytest.importorskip("dask.array")
    from gbrank.dask import DaskRanker

    with pytest.raises(ValueError, match=r"preset must be 'auto', 'fast' or.*got 'balanced'"):
        DaskRanker(preset="balanced").fit(array.zeros((8, 2)), array.zeros(8), qid=array.zeros(8))
    with pytest.raises(ValueError, match="preset must be 'auto' or 'fast' or 'balanced' or"):
        DaskRanker(preset="slow").fit(array.zeros((8, 2)), array.zeros(8), qid=array.zeros(8))


# --- the life of an estimator --------------------------------------------------------------------


def test_scikit_learns_own_checks():
    ranker = QueryOfTen(preset="balanced", n_estimators=3, min_child_samples=1, n_jobs=1)
    results = check_estimator(
        ranker, expected_failed_checks=EXPECTED_FAILURES, on_skip=None, on_fail="warn"
    )
    failed = [result for result in results if result["status"] == "failed"]
    assert not failed, [(result["check_name"], result["exception"]) for result in failed]


def test_a_fast_model_after_a_balanced_one_remembers_nothing_of_it(data):
    ranker = Ranker(**FEW).fit(data.X, data.y, qid=data.qid)
    ranker.set_params(preset="fast").fit(data.X, data.y, qid=data.qid)
    for name in ("cv_score_", "cv_score_se_", "cv_predictions_", "members_"):
        assert not hasattr(ranker, name)
    assert (ranker.n_boosters_, ranker.best_iteration_) == (1, 12)


def interrupt_at(monkeypatch, tree):
    """Press Ctrl-C when a tree is grown."""
    add_tree = cross_fit_module._Growing.add_tree

    def pressed(self):
        add_tree(self)
        if self.n_grown == tree and self.name.startswith("xendcg"):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(cross_fit_module._Growing, "add_tree", pressed)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_grown(data, other, monkeypatch, n_jobs):
    few = {**FEW, "n_jobs": n_jobs}
    shorter = Ranker(**few | {"n_estimators": 5}).fit(data.X, data.y, qid=data.qid)
    interrupt_at(monkeypatch, 5)
    ranker = Ranker(**few)
    with pytest.warns(UserWarning, match="interrupted after 5 of 12 trees; these are kept"):
        ranker.fit(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(ranker.predict(other.X), shorter.predict(other.X))
    assert ranker.members_ == shorter.members_


def test_ctrl_c_before_the_first_tree_is_ctrl_c(data, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cross_fit_module._PartBooster, "grow", pressed)
    ranker = Ranker(**FEW)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data.X, data.y, qid=data.qid)
    assert not hasattr(ranker, "booster_")


# --- how histograms are made ---------------------------------------------------------------------


@pytest.mark.parametrize("start", ["zero", "linear"])
@pytest.mark.parametrize("kind", ["dense", "zeros and missing values", "weights", "categories"])
def test_histograms_by_rows_grow_the_trees_of_histograms_by_columns(data, seen, kind, start):
    X, weight, given = data.X.copy(), None, {}
    if kind == "zeros and missing values":
        holes = np.random.default_rng(0)
        X[:, :4][holes.random((len(X), 4)) < 0.9] = 0.0  # which LightGBM bundles
        X[holes.random(X.shape) < 0.1] = np.nan
    if kind == "weights":
        weight = np.repeat(np.random.default_rng(0).random(len(data.group)), data.group)
    if kind == "categories":
        X[:, 0] = np.clip(np.round(X[:, 0]), -2, 2) + 2
        given = {"categorical_feature": [0]}
    trees = []
    for ways in ({}, {"force_col_wise": True}):
        ranker = Ranker(**FEW, colsample_bytree=0.8, start=start, lgb_params={**given, **ways})
        ranker.fit(X, data.y, qid=data.qid, sample_weight=weight)
        boosters = [booster for each in seen[-1][-1] for booster in each.boosters]
        assert all(
            booster.params.get("force_row_wise", False) != bool(ways) for booster in boosters
        )
        texts = [booster.model_to_string() for booster in boosters]
        trees.append([text[text.index("Tree=0") : text.index("end of trees")] for text in texts])
    assert trees[0] == trees[1]


def test_histograms_are_made_by_columns_of_much_data_few_features_or_several_threads():
    rule = cross_fit_module.with_histograms
    small = {"num_threads": 1, "feature_fraction": 0.7}
    assert rule(small, 2_000_000) == {**small, "force_row_wise": True}
    for params, size in (
        (small, 2_000_001),
        ({**small, "feature_fraction": 0.69}, 100),
        ({**small, "num_threads": 2}, 100),
    ):
        assert rule(params, size) == {**params, "force_col_wise": True}
    given = {**small, "force_col_wise": False}
    assert rule(given, 100) == given
