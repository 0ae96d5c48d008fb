"""The whole path on text files, MQ2008's among them, against LightGBM, SciPy and NumPy."""

import os
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from cli_oracle import err_of_queries, ndcg_of_queries
from scipy import stats
from sklearn.datasets import load_svmlight_file

from gbrank import XENDCG, ListMLE, Ranker


def test_train_and_evaluate_is_all_that_a_person_needs(gbrank, mq2008, tmp_path):
    train, vali, test = mq2008("train.txt", 1, 2, 3), mq2008("vali.txt", 4), mq2008("test.txt", 5)
    model = tmp_path / "model.txt"
    said = gbrank("train", train, "--valid", vali, "--objective", "xendcg", "--model", model)
    assert "after 50 trees without a better ndcg@10 on validation data" in said.out
    assert said.err == ""
    judged = gbrank("evaluate", model, test, "--metric", "ndcg@5", "ndcg@10", "err", "--json").json
    X, y, qid = load_svmlight_file(str(test), query_id=True)
    scores = lgb.Booster(model_file=str(model)).predict(X.toarray().astype(np.float32))
    for k in (5, 10):
        expected = ndcg_of_queries(y, scores, qid, k)
        assert judged["metrics"][f"ndcg@{k}"] == pytest.approx(expected.mean(), abs=1e-9)
        assert judged["counted"][f"ndcg@{k}"] == len(expected)
    assert (judged["documents"], judged["queries"]) == (len(y), len(set(qid.tolist())))
    assert expected.mean() > 0.6  # a random order has about 0.4
    packed = Path(os.environ["GBRANK_DATA"]) / "letor_text" / "MQ2008_S5.txt.xz"
    of_packed = gbrank("evaluate", model, packed, "--metric", "ndcg@10", "--json").json
    assert of_packed["metrics"]["ndcg@10"] == judged["metrics"]["ndcg@10"]
    table = gbrank("evaluate", model, test, "--metric", "ndcg@10").out.splitlines()
    assert table[2].split() == [
        "ndcg@10",
        f"{expected.mean():.4f}",
        *f"{len(expected)} of 156".split(),
    ]


def test_early_stopping_keeps_the_best_number_of_trees(gbrank, mq2008, tmp_path):
    train, vali = mq2008("train.txt", 1), mq2008("vali.txt", 2)
    options = ("--metric", "ndcg@5", "map", "--threads", 1, "--start", "zero")
    found = gbrank(
        "train", train, "--valid", vali, "--model", tmp_path / "m", *options, "--json"
    ).json
    X, y, qid = load_svmlight_file(str(vali), query_id=True)
    booster = lgb.Booster(model_file=str(tmp_path / "m"))
    assert booster.num_trees() == found["trees"]
    assert found["grown"] == found["trees"] + 50
    assert found["early_stopping"] == {"rounds": 50, "metric": "ndcg@5", "data": str(vali)}
    by_trees = [
        ndcg_of_queries(y, booster.predict(X.toarray(), num_iteration=n), qid, 5).mean()
        for n in range(1, found["trees"] + 1)
    ]
    assert found["validation"]["ndcg@5"] == pytest.approx(by_trees[-1], abs=1e-9)
    assert max(by_trees[:-1]) <= by_trees[-1] + 1e-9
    assert set(found["validation"]) == {"ndcg@5", "map"}
    without = gbrank(
        *("train", train, "--valid", vali, "--model", tmp_path / "n", "--early-stopping", 0),
        *("--trees", 7, "--json"),
    ).json
    assert (without["trees"], without["grown"], without["early_stopping"]) == (7, 7, None)


def test_options_of_train_reach_lightgbm_and_the_loss(gbrank, letor, small, tmp_path):
    gbrank(
        *("train", letor, "--model", tmp_path / "m", "--objective", "xendcg"),
        *(
            "--preset",
            "lightgbm",
            "--set",
            "gamma=0.25",
            "neumann_order=4",
            "--trees",
            9,
            "--leaves",
            5,
        ),
        *("--learning-rate", 0.3, "--seed", 11, "--threads", 1),
        *("--lgb", "max_bin=15", "--lgb", "lambda_l2=2", "min_data_in_leaf=3"),
    )
    X, y, qid = small
    params = {
        "objective": XENDCG(gamma=0.25, neumann_order=4, random_state=11),
        "num_leaves": 5,
        "learning_rate": 0.3,
        "seed": 11,
        "num_threads": 1,
        "max_bin": 15,
        "lambda_l2": 2,
        "min_data_in_leaf": 3,
        "metric": "None",
        "verbosity": -1,
    }
    group = np.unique(qid, return_counts=True)[1]
    direct = lgb.train(params, lgb.Dataset(X, y, group=group, params=params), 9)
    loaded = lgb.Booster(model_file=str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(X), direct.predict(X))
    assert Ranker.load_model(tmp_path / "m").objective_.get_params()["gamma"] == 0.25
    again = gbrank(
        *("train", letor, "--model", tmp_path / "k", "--objective", "listmle", "--set", "k=3"),
        *("--trees", 2),
    )
    assert repr(ListMLE(k=3))[:-1] in again.out


def test_without_validation_data_queries_are_held_out(gbrank, letor, small, tmp_path):
    command = ("train", letor, "--model", tmp_path / "m", "--trees", 8, "--threads", 1)
    found = gbrank(*command, "--metric", "ndcg@5", "err", "--json").json
    X, y, qid = small
    ranker = Ranker(n_estimators=8, eval_metric="ndcg@5", n_jobs=1).fit(X, y, qid=qid)
    # the score is that of out-of-fold predictions, by an NDCG that is not gbrank's
    expected = ndcg_of_queries(y, ranker.cv_predictions_, qid, 5)
    held_out = found["held_out"]
    assert held_out["metric"] == "ndcg@5"
    assert held_out["score"] == pytest.approx(expected.mean(), abs=1e-9)
    error = expected.std(ddof=1) / len(expected) ** 0.5
    assert held_out["standard_error"] == pytest.approx(error, rel=0.02)
    assert (found["preset"], found["objective"], found["validation"]) == ("balanced", None, {})
    assert [each["name"] for each in found["members"]] == [
        *("xendcg from linear", "lambdamart from zero", "linear"),
    ]
    assert sum(each["weight"] for each in found["members"]) == pytest.approx(1)
    kept = [each for each in found["members"] if each["weight"] > 0]
    assert found["trees"] == sum(each["trees"] for each in kept)
    booster = lgb.Booster(model_file=str(tmp_path / "m"))
    assert booster.num_trees() == found["trees"] + found["start_trees"]
    np.testing.assert_array_equal(booster.predict(X), ranker.predict(X))
    said = gbrank(*command, "--metric", "ndcg@5").out
    for number, member in enumerate(found["members"], 1):
        line = f"member {number}        {member['name']}: weight {member['weight']:.3f}, "
        assert f"{line}{member['trees']} trees, ndcg@5 {member['cv_score']:.4f}\n" in said
    assert (
        f"ndcg@5          {expected.mean():.4f} on held-out queries, with a standard error of "
        f"{error:.4f}" in said
    )
    assert "after 25 trees without a better ndcg@5 on held-out queries" in said


def test_presets(gbrank, letor, tmp_path):
    from gbrank.boosting import PRESETS

    page = gbrank("train", "--help").out
    assert f"{{{','.join(['auto', *PRESETS])}}}" in page
    command = ("train", letor, "--model", tmp_path / "m", "--trees", 3, "--json")
    for preset, boosters in {"fast": 1, "lightgbm": 1, "best": 6}.items():
        found = gbrank(*command, "--preset", preset, "--objective", "listnet").json
        assert (found["preset"], found["boosters"]) == (preset, boosters)
        assert found["objective"] == "ListNet()"
        assert (found["held_out"] is None) == (boosters == 1)
    assert gbrank(*command, "--start", "query_linear").json["preset"] == "fast"
    stopping = {
        words: gbrank(*command, *words).json["early_stopping"]
        for words in ((), ("--early-stopping", 2), ("--early-stopping", 0), ("--preset", "fast"))
    }
    on_held_out = {"metric": "ndcg@10", "data": None}
    assert list(stopping.values()) == [
        *({"rounds": 25, **on_held_out}, {"rounds": 2, **on_held_out}, None, None),
    ]
    assert "(default 100)" in page
    assert "(default 0.1; 0.03 in fast)" in " ".join(page.split())
    assert PRESETS["fast"].defaults["n_estimators"] == 100
    assert PRESETS["balanced"].defaults["n_estimators"] == 500
    rates = {name: each.defaults["learning_rate"] for name, each in PRESETS.items()}
    assert rates == {"fast": 0.03, "balanced": 0.1, "best": 0.1, "lightgbm": 0.1}


@pytest.mark.parametrize(
    ("given", "ours", "value"),
    [
        ("bagging_fraction", "subsample", 0.5),
        ("sub_row", "subsample", 0.5),
        ("feature_fraction", "colsample_bytree", 0.5),
        ("min_child_samples", "min_child_samples", 7),
        ("max_depth", "max_depth", 3),
        ("reg_alpha", "reg_alpha", 1.5),
    ],
)
def test_parameters_go_by_any_of_lightgbms_names(gbrank, letor, tmp_path, given, ours, value):
    gbrank("train", letor, "--model", tmp_path / "m", "--trees", 2, "--lgb", f"{given}={value}")
    assert Ranker.load_model(tmp_path / "m").get_params()[ours] == value


def test_predict_writes_one_score_a_line(gbrank, letor, small, tmp_path):
    model, scores = tmp_path / "m", tmp_path / "scores.txt"
    gbrank("train", letor, "--model", model, "--trees", 5)
    expected = lgb.Booster(model_file=str(model)).predict(small[0])
    said = gbrank("predict", model, letor, "--output", scores)
    assert str(len(expected)) in said.out
    np.testing.assert_array_equal(np.loadtxt(scores), expected)
    assert gbrank("predict", model, letor).out == scores.read_text()
    np.testing.assert_array_equal(
        gbrank("predict", model, letor, "--json").json["scores"], expected
    )


def test_files_of_scores_are_judged_as_models_are(gbrank, letor, small, tmp_path):
    _, y, qid = small
    scores = np.random.default_rng(3).normal(size=len(y))
    path = tmp_path / "scores.txt"
    path.write_text("\n".join(map(repr, scores.tolist())))  # no line feed at the end
    found = gbrank("evaluate", path, letor, "--metric", "ndcg@3", "err", "--json").json["metrics"]
    assert found["ndcg@3"] == pytest.approx(ndcg_of_queries(y, scores, qid, 3).mean())
    assert found["err"] == pytest.approx(err_of_queries(y, scores, qid, y.max()).mean())
    per_query = gbrank("evaluate", path, letor, "--metric", "ndcg@3", "--per-query", "--json").json
    values = np.array(per_query["per_query"]["ndcg@3"], dtype=float)  # null for those left out
    np.testing.assert_allclose(values[~np.isnan(values)], ndcg_of_queries(y, scores, qid, 3))
    assert per_query["per_query"]["qid"] == list(range(100, 140))
    lines = gbrank("evaluate", path, letor, "--metric", "ndcg@3", "--per-query").out.splitlines()
    assert len(lines) == 2 + 40 + 1
    with_zeros = gbrank(
        "evaluate", path, letor, "--metric", "ndcg@3", "--empty", "0", "--json"
    ).json
    total = ndcg_of_queries(y, scores, qid, 3).sum() / 40
    assert with_zeros["metrics"]["ndcg@3"] == pytest.approx(total)


def test_compare_models_and_scores(gbrank, letor, small, tmp_path):
    X, y, qid = small
    gbrank("train", letor, "--model", tmp_path / "m.txt", "--trees", 5)
    (tmp_path / "first.txt").write_text("\n".join(map(repr, X[:, 0].tolist())))
    (tmp_path / "last.txt").write_text("\n".join(map(repr, X[:, 3].tolist())))
    files = (tmp_path / "m.txt", f"best={tmp_path / 'first.txt'}", tmp_path / "last.txt")
    found = gbrank("compare", *files, letor, "--metric", "ndcg@3", "--json").json
    entry = found["metrics"]["ndcg@3"]
    scores = {
        "m": lgb.Booster(model_file=str(tmp_path / "m.txt")).predict(X),
        "best": X[:, 0],
        "last": X[:, 3],
    }
    values = {name: ndcg_of_queries(y, own, qid, 3) for name, own in scores.items()}
    assert entry["means"] == pytest.approx({name: own.mean() for name, own in values.items()})
    pairs = {(pair["a"], pair["b"]): pair for pair in entry["pairs"]}
    assert list(pairs) == [("m", "best"), ("m", "last"), ("best", "last")]
    for (a, b), pair in pairs.items():
        assert pair["p_t"] == pytest.approx(stats.ttest_rel(values[a], values[b]).pvalue)
        assert pair["difference"] == pytest.approx((values[a] - values[b]).mean())
        assert pair["interval"][0] <= pair["difference"] <= pair["interval"][1]
    text = gbrank("compare", *files, letor, "--metric", "ndcg@3", "err").out
    assert "best - last" in text
    assert text.count("Holm-corrected for 3 pairs") == 2


def test_models_of_lightgbm_are_read_with_a_warning(gbrank, letor, small, tmp_path):
    X, y, qid = small
    params = {"objective": "lambdarank", "verbosity": -1}
    group = np.unique(qid, return_counts=True)[1]
    booster = lgb.train(params, lgb.Dataset(X, y, group=group), 4)
    booster.save_model(tmp_path / "theirs.txt")
    said = gbrank("predict", tmp_path / "theirs.txt", letor)
    np.testing.assert_array_equal([float(line) for line in said.out.split()], booster.predict(X))
    assert said.err.startswith("gbrank: warning: ")
    assert "written by LightGBM" in said.err


def test_bench_names_what_it_timed(gbrank, letor):
    options = ("--trees", 2, "--rounds", 1, "--threads", 1)
    found = gbrank("bench", "--queries", 20, "--objectives", "listnet", *options, "--json").json
    assert list(found["objectives"]) == ["LightGBM lambdarank", "LightGBM rank_xendcg", "listnet"]
    times = {name: entry["ms_per_tree"] for name, entry in found["objectives"].items()}
    assert min(times.values()) > 0
    ratio = times["listnet"] / times["LightGBM lambdarank"]
    assert found["objectives"]["listnet"]["ratio"] == pytest.approx(ratio, rel=0.05, abs=0.01)
    assert found["queries"] == 20
    assert "240 documents of 40 queries, 4 features" in gbrank("bench", letor, *options).out


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_text(gbrank, letor, tmp_path, suffix):
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    packed = tmp_path / f"packed.txt{suffix}"
    gbrank("convert", letor, packed)
    assert packed.read_bytes()[:1] != b"0"
    assert packed.stat().st_size < letor.stat().st_size / 2
    gbrank("train", packed, "--model", tmp_path / "a", "--trees", 2, "--threads", 1)
    gbrank("train", letor, "--model", tmp_path / "b", "--trees", 2, "--threads", 1)
    scores = [gbrank("predict", tmp_path / name, letor).out for name in "ab"]
    assert scores[0] == scores[1]


def test_fewer_features_in_the_test_file(gbrank, letor, tmp_path):
    """A column that no line names is one that is 0 everywhere."""
    gbrank("train", letor, "--model", tmp_path / "m", "--trees", 3)
    short, full = tmp_path / "short.txt", tmp_path / "full.txt"
    short.write_text("0 qid:1 1:0.5\n1 qid:1 2:1\n")
    full.write_text("0 qid:1 1:0.5 2:0 3:0 4:0\n1 qid:1 1:0 2:1 3:0 4:0\n")
    assert (
        gbrank("predict", tmp_path / "m", short).out == gbrank("predict", tmp_path / "m", full).out
    )
    sparse = gbrank("predict", tmp_path / "m", short, "--sparse")
    assert sparse.out == gbrank("predict", tmp_path / "m", full).out
