"""Trials: pure functions of what names them, on splits that never mix queries."""

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from gbrank.metrics import ndcg_score
from gbrank.noise.corruption import click_probabilities, corrupt, label_probabilities
from gbrank.noise.floors import PENALTIES, ridge_weights, zscore_within
from gbrank.noise.presets import Noise, list_presets, load_preset, restore_preset
from gbrank.noise.sources import open_source, seed_of
from gbrank.noise.trial import VALUE_STEP, Trial, all_trials, run_trial

FIRST = Trial("small", "labels", 0.5, "lightgbm:lambdarank", 1)


@pytest.fixture(scope="module")
def preset(tiny):
    return load_preset(str(tiny)).with_choices()


@pytest.fixture(scope="module")
def source(preset):
    return open_source("synthetic", preset.synthetic)


@pytest.mark.parametrize("name", list_presets())
def test_presets_can_be_run(name):
    pytest.importorskip("xgboost")
    pytest.importorskip("catboost")
    preset = load_preset(name).with_choices()
    assert preset.comparisons()
    assert len(set(all_trials(preset))) == len(all_trials(preset))
    import json
    from dataclasses import asdict

    again = restore_preset(json.loads(json.dumps(asdict(preset))))
    assert again == preset


def test_all_presets_of_the_papers_are_there():
    wanted = {"bruch2021-table1", "bruch2021-fig1", "bruch2021-fig2-negatives", "demo", "results",
              "bruch2021-fig2-labels", "bruch2021-fig3-clicks", "ravikumar2011-table1",
              "ravikumar2011-qnorm", "xia2009-topk"}  # fmt: skip
    assert wanted <= set(list_presets())


def test_trial_equals_lightgbm_called_by_hand(preset, source):
    found = run_trial(preset, source, FIRST)
    train, valid, test = source.split(1, "random")
    noisy, _, _ = corrupt(
        train, valid, preset.noises[0], 0.5, source.grades, seed_of("synthetic", "labels", 1)
    )
    sizes = [np.unique(lists.qid, return_counts=True)[1] for lists in (noisy, valid, test)]
    params = {
        "objective": "lambdarank", "num_leaves": 4, "learning_rate": 0.1, "min_data_in_leaf": 5,
        "num_threads": 1, "force_col_wise": True, "deterministic": True, "verbose": -1,
        "metric": "None", "seed": seed_of("learner", 1) % 2**31,
    }  # fmt: skip
    booster = lgb.train(params, lgb.Dataset(noisy.X, noisy.y, group=sizes[0]), 5)
    scores = booster.predict(test.X, num_iteration=found.trees)
    assert found.means["ndcg@10"] == pytest.approx(
        ndcg_score(test.y, scores, group=sizes[2], k=10), abs=1e-7
    )
    exact = ndcg_score(test.y, scores, group=sizes[2], k=10, per_query=True)
    np.testing.assert_allclose(
        found.values[list(found.means).index("ndcg@10")], exact, rtol=0, atol=VALUE_STEP / 2
    )
    steps = found.values.astype(float) / VALUE_STEP
    np.testing.assert_array_equal(steps[~np.isnan(steps)] % 1, 0)
    assert 1 <= found.trees <= 5
    # the best number of trees is that of the highest NDCG@5 on validation
    quality = [
        ndcg_score(valid.y, booster.predict(valid.X, num_iteration=n), group=sizes[1], k=5)
        for n in range(1, found.trees + 1)
    ]
    assert np.argmax(quality) == found.trees - 1


def test_same_names_give_the_same_digits_whatever_ran_before(preset, source):
    first = run_trial(preset, source, FIRST)
    run_trial(preset, source, FIRST._replace(trial=0, level=0.0))
    again = run_trial(preset, open_source("synthetic", preset.synthetic), FIRST)
    assert again.means == first.means
    np.testing.assert_array_equal(again.values, first.values)
    other = run_trial(preset, source, FIRST._replace(trial=2))
    assert other.means != first.means
    assert not set(other.queries) & set(first.queries)  # synthetic queries are new ones each time


@pytest.mark.parametrize("peer", ["xgboost:rank:ndcg", "catboost:YetiRank", "catboost:QueryRMSE"])
def test_peers_repeat_their_digits(preset, source, peer):
    pytest.importorskip(peer.split(":")[0])
    trial = FIRST._replace(objective=peer)
    first, again = (run_trial(preset, source, trial) for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)
    assert first.means["ndcg@10"] > 0.4
    assert 1 <= first.trees <= 5


def test_linear_model_lowers_its_loss(source):
    preset = load_preset("ravikumar2011-table1").with_choices(["squared(norm=None)"])
    trial = Trial("descent", "none", 0.0, "squared(norm=None)", 0)
    found = run_trial(preset, source, trial)
    assert found.means["ndcg@10"] > 0.5  # random order has about .4
    assert found.trees == 100


def test_random_splits_keep_queries_whole(real_data, monkeypatch):
    data = real_data("OHSUMED_QLN")
    source = open_source("OHSUMED_QLN", {})
    for trial in (0, 1):
        parts = source.split(trial, "random")
        ids = [set(part.qid) for part in parts]
        assert [len(part) for part in ids] == [64, 21, 21]
        assert len(set.union(*ids)) == 106
        assert sum(len(part.y) for part in parts) == len(data["y"])
        for part in parts:
            assert (np.diff(np.flatnonzero(np.diff(part.qid))) > 0).all()
            assert len(np.flatnonzero(np.diff(part.qid))) == len(set(part.qid)) - 1
    assert set(source.split(0, "random")[2].qid) != set(source.split(1, "random")[2].qid)


def test_folds_are_those_of_the_data(real_data):
    data = real_data("MQ2008")
    source = open_source("MQ2008", {})
    train, valid, test = source.split(6, "folds")  # fold 2
    part_of = dict(zip(data["qid"].tolist(), data["part"].tolist(), strict=True))
    assert {part_of[q] for q in test.qid.tolist()} == {2}
    assert {part_of[q] for q in valid.qid.tolist()} == {3}
    assert {part_of[q] for q in train.qid.tolist()} == {1, 4, 5}


def test_folds_of_the_web_sample(real_data):
    data = real_data("MSLR_merged")
    source = open_source("MSLR_merged", {})
    first = source.split(0, "folds")
    for lists, part in zip(first, (0, 1, 2), strict=True):
        assert set(lists.qid) == set(data["qid"][data["part"] == part])
    queries = np.random.default_rng(1003).permutation(np.unique(data["qid"]))
    n = len(queries)
    third = source.split(2, "folds")
    assert set(third[0].qid) == set(queries[: round(0.6 * n)])
    assert set(third[1].qid) == set(queries[round(0.6 * n) : round(0.8 * n)])


def test_letor_folders(tmp_path):
    rng = np.random.default_rng(0)
    for number in (1, 2):
        for name, first in (("train", 0), ("vali", 10), ("test", 20)):
            lines = [
                f"{rng.integers(0, 3)} qid:{first + q} 1:{rng.random():.3f} 2:{number}"
                for q in range(10)
                for _ in range(4)
            ]
            path = tmp_path / f"Fold{number}" / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(lines))
    source = open_source(str(tmp_path), {}, "folds")
    assert source.shape == (120, 30, 2)
    train, valid, test = source.split(1, "folds")
    assert (train.X[:, 1] == 2).all()
    assert (sorted(set(valid.qid)), sorted(set(test.qid))) == ([*range(10, 20)], [*range(20, 30)])
    parts = open_source(str(tmp_path), {}, "random").split(0, "random")
    assert [len(set(part.qid)) for part in parts] == [18, 6, 6]


def test_noise_goes_into_training_only_but_clicks_into_both(source):
    train, valid, _ = source.split(0, "random")
    for kind in ("labels", "negatives"):
        noisy, same, report = corrupt(train, valid, Noise(kind, (0.5,), ()), 0.5, 5, 3)
        assert same is valid
        assert (report.document_noise > 0) == (kind == "labels")
        assert len(noisy.y) == len(train.y) * (1.5 if kind == "negatives" else 1)
    shown, watched, report = corrupt(train, valid, Noise("clicks", (0.3,), ()), 0.3, 5, 3)
    for lists, original in ((shown, train), (watched, valid)):
        assert set(lists.y) == {0.0, 1.0}
        assert set(lists.query) <= set(original.qid)
        clicks = np.bincount(np.unique(lists.qid, return_inverse=True)[1], lists.y)
        assert (clicks == 1).all()
    assert 0 < report.pair_noise < 0.5


def test_probabilities_for_other_numbers_of_grades():
    np.testing.assert_allclose(label_probabilities((0.5, 0.2, 0.15, 0.1, 0.05), 3),
                               np.array([0.5, 0.2, 0.15]) / 0.85)  # fmt: skip
    chances = (0.05, 0.3, 0.5, 0.7, 0.95)
    np.testing.assert_allclose(click_probabilities(chances, 5, 0.2), [0.2, 0.3, 0.5, 0.7, 0.95])
    np.testing.assert_allclose(click_probabilities(chances, 3, 0.05), [0.05, 0.5, 0.95])


def test_zscore_within_queries():
    rng = np.random.default_rng(0)
    X, query = rng.normal(3.0, 2.0, size=(50, 3)), rng.integers(0, 6, 50)
    X[:, 2] = 0.1 * query  # constant within queries
    X[0, 0] = np.nan
    found = zscore_within(X, query)
    for q in range(6):
        rows = query == q
        for column in (0, 1):
            values = X[rows, column]
            expected = (values - np.nanmean(values)) / np.nanstd(values)
            np.testing.assert_allclose(found[rows, column], np.nan_to_num(expected), atol=1e-12)
    assert found[0, 0] == 0.0
    assert not found[:, 2].any()


def test_ridge_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y, query = rng.normal(size=(80, 4)), rng.integers(0, 3, 80), np.repeat(np.arange(8), 10)
    centred = y - np.array([y[query == q].mean() for q in query])
    for penalty, weights in zip(PENALTIES, ridge_weights(X, y, query), strict=True):
        model = Ridge(alpha=80 * penalty, fit_intercept=False).fit(X, centred)
        np.testing.assert_allclose(weights, model.coef_, rtol=1e-8)
