"""Change the objective, keep the rest: what a pipeline of LightGBM or scikit-learn relies on.

One promise a number. Those with numbers that are not here, and more of those that are, have their
tests beside what they are about: 1 in ``objectives/test_lightgbm_params.py``, 3 in
``boosting/test_cv_as_lightgbm.py``, 4 in ``metrics/test_feval.py``, 5 in
``boosting/test_save_booster.py``, 6, 8 and 12 in ``test_ranker_as_lightgbm.py``, 7 in
``cli/test_cli_messages.py``, 13 in ``simulate/test_with_data.py``, 14 and 15 in
``cli/test_cli_extensions.py``, 17 in ``objectives/test_xgboost.py``.
"""

import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline

import gbrank
from gbrank import XENDCG, LambdaMART, QueryKFold, Ranker, save_booster
from gbrank.data import make_ranking
from gbrank.metrics import err_score, feval, get_metric, get_scorer, ndcg_score
from gbrank.plotting import LearningCurveDisplay
from gbrank.preprocessing import QueryScaler
from gbrank.simulate import perturb_labels

DATA = make_ranking(
    n_queries=60, list_length=(5, 15), n_features=5, n_informative=3, random_state=2
)
X, Y, QID, GROUP = DATA.X, DATA.y, DATA.qid, DATA.group
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(query=QID)
FAST = {"preset": "fast", "n_estimators": 8, "num_leaves": 7, "n_jobs": 1}
BLEND = {"n_estimators": 8, "num_leaves": 7, "n_jobs": 1, "early_stopping_rounds": 3}
PARAMS = {"num_threads": 1, "num_leaves": 7, "metric": "None", "verbose": -1, "seed": 3}


def dataset(**given):
    return lgb.Dataset(X, Y, group=GROUP, **given)


def predict(objective, **params):
    return lgb.train({**PARAMS, **params, "objective": objective}, dataset(), 5).predict(X)


def caught(call, *args, **kwargs):
    """Return what a call returns, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = call(*args, **kwargs)
    return result, [str(each.message) for each in seen]


# --- LightGBM ------------------------------------------------------------------------------------


def test_line_01_params_of_the_loss_are_heard():
    given = {"lambdarank_truncation_level": 3, "sigmoid": 2.0, "label_gain": [0, 1, 2, 4, 9]}
    native = predict("lambdarank", **given)
    np.testing.assert_allclose(predict(LambdaMART(), **given), native, atol=1e-4)
    assert np.abs(native - predict("lambdarank")).max() > 0.01
    np.testing.assert_array_equal(
        predict(XENDCG(generator="lightgbm"), seed=11), predict("rank_xendcg", seed=11)
    )
    with pytest.raises(ValueError, match="'sigmoid' means nothing to XENDCG"):
        predict(XENDCG(), sigmoid=2.0)
    with pytest.raises(ValueError, match="'sigmoid' means nothing to XENDCG"):
        Ranker("xendcg", lgb_params={"sigmoid": 2.0}).fit(X, Y, qid=QID)


def test_line_02_positions_are_refused():
    positions = np.concatenate([np.arange(size) for size in GROUP])
    with pytest.raises(ValueError, match="position="):
        lgb.train({**PARAMS, "objective": XENDCG()}, dataset(position=positions), 1)


def test_line_03_lgb_cv_is_refused_and_gbrank_cv_takes_its_call():
    params = {**PARAMS, "objective": XENDCG()}
    with pytest.raises(ValueError, match=r"torn apart.*gbrank\.cv"):
        lgb.cv(params, dataset(), 3, nfold=3, feval=feval("ndcg@5"), stratified=False)
    found = gbrank.cv(params, dataset(), 3, nfold=3, feval=feval("ndcg@5"), return_cvbooster=True)
    native = lgb.cv({**PARAMS, "objective": "rank_xendcg"}, dataset(), 3, nfold=3,
                    feval=feval("ndcg@5"), return_cvbooster=True)  # fmt: skip
    assert found.keys() == native.keys()


def test_line_04_lgbm_ranker_with_a_metric_of_ours():
    rest = slice(GROUP[:40].sum(), None)
    given = {"eval_X": X[rest], "eval_y": Y[rest], "eval_group": [GROUP[40:]]}
    given["callbacks"] = [lgb.early_stopping(2, verbose=False)]
    model = lgb.LGBMRanker(objective=XENDCG(), n_estimators=5, verbose=-1, n_jobs=1)
    with pytest.raises(ValueError, match="two of one name"):
        model.fit(X, Y, group=GROUP, **given, eval_metric=feval("ndcg@5"))
    with pytest.warns(UserWarning, match=r'besides ndcg@10.*metric="None"'):
        model.fit(X, Y, group=GROUP, **given, eval_metric=feval("ndcg@10"))
    model.set_params(metric="None").fit(X, Y, group=GROUP, **given, eval_metric=feval("ndcg@5"))
    assert list(model.evals_result_["valid_0"]) == ["ndcg@5"]


def test_line_05_save_booster_writes_a_model_that_travels(tmp_path):
    booster = lgb.train({**PARAMS, "objective": XENDCG()}, dataset(), 3)
    booster.save_model(tmp_path / "plain.txt")
    save_booster(booster, tmp_path / "ours.txt")
    with pytest.raises(lgb.basic.LightGBMError):
        lgb.Booster(model_file=tmp_path / "plain.txt").refit(X, Y, group=GROUP)
    lgb.Booster(model_file=tmp_path / "ours.txt").refit(X, Y, group=GROUP)


def test_line_06_names_and_arguments_of_lightgbm():
    assert isinstance(gbrank.get_objective("lambdarank"), LambdaMART)
    with pytest.raises(ValueError, match="lambdamart"):
        gbrank.get_objective("rank:ndcg")
    with pytest.raises(TypeError, match="min_child_samples"):
        Ranker(min_data_in_leaf=5)
    given = {"eval_set": [(X, Y)], "eval_group": [GROUP]}
    assert list(Ranker(**FAST).fit(X, Y, qid=QID, **given).evals_result_) == ["valid_0"]
    assert list(feval(["ndcg@5", "ndcg@10"]).metrics) == ["ndcg@5", "ndcg@10"]
    with pytest.raises(TypeError, match=r"call it, XENDCG\(\)"):
        Ranker(XENDCG).fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match="ndcg@5"):
        get_metric("ndcg5")


def test_line_08_columns_categories_and_bad_input():
    ranker = Ranker(**FAST, qid="query").fit(FRAME, Y)
    turned = FRAME[FRAME.columns[::-1]]
    np.testing.assert_array_equal(ranker.predict(turned), ranker.predict(FRAME))
    kinds = np.column_stack([X, QID % 3])
    ranker = Ranker(**FAST, lgb_params={"categorical_feature": [5]}).fit(kinds, Y, qid=QID)
    assert ranker.linear_coef_[5] == 0
    for bad, message in (
        (pl.LazyFrame({"a": [1.0]}), "LazyFrame"),
        (np.empty((0, 3)), "no rows"),
        (FRAME.assign(day=pd.Timestamp("2020-01-01")), "day"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            Ranker(**FAST).fit(bad, Y[: len(FRAME)], qid=QID)
    with pytest.raises(ValueError, match="learning_rate"):
        Ranker(learning_rate=-1.0).fit(X, Y, qid=QID)


# --- scikit-learn --------------------------------------------------------------------------------


def test_line_09_scorers_take_the_column_of_the_estimator():
    search = GridSearchCV(
        make_pipeline(QueryScaler(qid="query"), Ranker(**FAST, qid="query")),
        {"ranker__num_leaves": [3, 7]},
        scoring=get_scorer("ndcg@5"),
        cv=QueryKFold(2, qid="query"),
        error_score="raise",
    )
    search.fit(FRAME, Y)
    assert 0.3 < search.best_score_ <= 1.0


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("ndcg@10", lambda s: ndcg_score(Y, s, qid=QID, k=10)),
        (["err", "ndcg@5"], lambda s: err_score(Y, s, qid=QID)),
        (feval("ndcg@3"), lambda s: ndcg_score(Y, s, qid=QID, k=3)),
        ("pairwise_disagreement", lambda s: -get_metric("pairwise_disagreement")(Y, s, qid=QID)),
    ],
)
def test_line_09_score_follows_the_first_eval_metric(metric, expected):
    ranker = Ranker(**FAST, eval_metric=metric).fit(X, Y, group=GROUP)
    assert ranker.score(X, Y, group=GROUP) == pytest.approx(expected(ranker.predict(X)), abs=1e-12)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_line_09_query_scaler_in_an_unrouted_pipeline(kind):
    frame = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "arrow": pa.table(FRAME)}[kind]
    scaled = QueryScaler("rank").fit_transform(X, qid=QID)
    expected = Ranker(**FAST).fit(scaled, Y, qid=QID).predict(scaled)
    steps = make_pipeline(QueryScaler("rank", qid="query"), Ranker(**FAST, qid="query"))
    np.testing.assert_array_equal(steps.fit(frame, Y).predict(frame), expected)
    made = steps[0].transform(frame)
    assert type(made) is type(frame)
    names = made.column_names if kind == "arrow" else list(made.columns)
    assert names == list(FRAME.columns) == steps[0].get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="qid='query' must be a column of X"):
        QueryScaler(qid="query").fit(X)


def test_line_09_splitters_take_routed_qid():
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = Ranker(**FAST).set_fit_request(qid=True).set_score_request(qid=True)
        found = cross_validate(
            ranker, X, Y, cv=QueryKFold(3), params={"qid": QID}, error_score="raise"
        )
        search = GridSearchCV(ranker, {"num_leaves": [3]}, cv=QueryKFold(3), error_score="raise")
        search.fit(X, Y, qid=QID)
    folds = QueryKFold(3).split(X, groups=QID)
    expected = [
        Ranker(**FAST).fit(X[a], Y[a], qid=QID[a]).score(X[b], Y[b], qid=QID[b]) for a, b in folds
    ]
    np.testing.assert_array_equal(found["test_score"], expected)
    assert search.best_score_ == pytest.approx(search.cv_results_["mean_test_score"][0])
    with pytest.raises(ValueError, match="they differ"):
        next(QueryKFold(3).split(X, groups=QID, qid=QID + 1))


@pytest.mark.parametrize("ids", ["numbers", "text"])
def test_line_10_score_warns_once_of_queries_that_training_saw(ids):
    named = QID if ids == "numbers" else np.array([f"q{each}" for each in QID])
    frame = FRAME.assign(query=named)
    ranker = Ranker(**FAST, qid="query")
    inside, outside = next(KFold(5, shuffle=True, random_state=0).split(frame))
    ranker.fit(frame.iloc[inside], Y[inside])
    judge = (frame.iloc[outside], Y[outside])
    _, said = caught(ranker.score, *judge)
    assert sum("queries whose ids training saw" in each for each in said) == 1
    _, again = caught(ranker.score, *judge)
    assert not again
    # with a scorer, and not for whole queries
    ranker.fit(frame.iloc[inside], Y[inside])
    _, said = caught(get_scorer("ndcg@5"), ranker, *judge)
    assert sum("queries whose ids training saw" in each for each in said) == 1
    inside, outside = next(QueryKFold(5, qid="query").split(frame))
    ranker.fit(frame.iloc[inside], Y[inside])
    _, said = caught(ranker.score, frame.iloc[outside], Y[outside])
    assert not said


@pytest.mark.parametrize("ids", [QID, QID.astype(float), np.array([f"q{each}" for each in QID])])
def test_line_10_the_training_set_itself_is_no_surprise(ids):
    shuffled = np.random.default_rng(0).permutation(len(Y))
    ranker = Ranker(**FAST).fit(X, Y, qid=ids)
    assert not caught(ranker.score, X[shuffled], Y[shuffled], qid=ids[shuffled])[1]
    assert caught(ranker.score, X[::3], Y[::3], qid=ids[::3])[1]


@pytest.mark.parametrize("first", [0, 1])
def test_sets_that_both_count_their_queries_from_the_start_give_no_warning(first):
    training, judged = np.flatnonzero(QID % 3), np.flatnonzero(QID % 3 == 0)

    def numbered(rows):
        return np.unique(QID[rows], return_inverse=True)[1] + first

    ranker = Ranker(**FAST).fit(X[training], Y[training], qid=numbered(training))
    assert not caught(ranker.score, X[judged], Y[judged], qid=numbered(judged))[1]
    with_a_gap = numbered(judged) * 2 + first
    assert caught(ranker.score, X[judged], Y[judged], qid=with_a_gap)[1]


def test_line_10_ids_do_not_travel_with_a_saved_model(tmp_path):
    ranker = Ranker(**FAST).fit(X, Y, qid=QID)
    ranker.save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt")
    assert not hasattr(loaded, "training_queries_")
    assert not caught(loaded.score, X, Y, qid=QID)[1]


# --- importances and constraints -----------------------------------------------------------------


def strong_feature(n_queries=80):
    """Return rows whose labels follow the last of six features, almost alone."""
    rng = np.random.default_rng(4)
    qid = np.repeat(np.arange(n_queries), 12)
    rows = rng.normal(size=(len(qid), 6))
    signal = 2.0 * rows[:, 5] + 0.4 * rows[:, 0] + 0.5 * rng.normal(size=len(qid))
    return rows, np.digitize(signal, [0.0, 1.5, 3.0]).astype(float), qid


@pytest.mark.parametrize("start", ["linear", "query_linear"])
def test_line_11_importances_count_the_start(start, tmp_path):
    rows, labels, qid = strong_feature()
    ranker = Ranker(**FAST, start=start).fit(rows, labels, qid=qid)
    grown = ranker.booster_.feature_importance("gain")
    if start == "linear":
        first = ranker.booster_.feature_importance("gain", ranker.n_start_trees_)
        grown = grown - first
        assert first[5] > 2 * grown[5]  # the start has it, the trees have little left to do
    found = ranker.feature_importances_
    assert found.argmax() == 5
    assert found[5] > 0.8 * found.sum()
    assert found[5] > 2 * grown[5]
    if start == "linear":
        ranker.save_model(tmp_path / "model.txt")
        read = lgb.Booster(model_file=tmp_path / "model.txt").feature_importance("gain")
        np.testing.assert_allclose(read, found, rtol=1e-4)
        np.testing.assert_allclose(
            Ranker.load_model(tmp_path / "model.txt").feature_importances_, found, rtol=1e-4
        )


def test_line_11_the_gain_of_a_start_is_the_gain_of_trees_that_grow_it():
    """Trees of one feature that fit a start from zero have the gain that the start is given."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 8, 4000).astype(float)
    step = rng.normal(size=8)
    target, weight = step[x.astype(int)], 0.7

    def squared(scores, _):
        return weight * (scores - target), np.full(len(x), weight)

    params = {"objective": squared, "num_leaves": 8, "learning_rate": 0.2, "verbose": -1,
              "min_data_in_leaf": 1, "num_threads": 1}  # fmt: skip
    booster = lgb.train(params, lgb.Dataset(x[:, None]), 60)
    np.testing.assert_allclose(booster.predict(x[:, None]), target, atol=1e-4)
    # a tree that has nothing to do with x gives rate and hessian of the trees after the start
    edges, counts = np.arange(7) + 0.5, np.append(np.bincount(x.astype(int)), 1)
    tree = gbrank.boosting.step_tree(0, edges, np.append(step, target.mean()), counts)
    merged = gbrank.boosting.merge_models([booster], [1], [tree])
    start = merged.feature_importance("gain", 1)[0]
    assert start == pytest.approx(booster.feature_importance("gain")[0], rel=2e-3)


def test_line_11_importances_of_a_blend_are_those_of_its_members():
    rows, labels, qid = strong_feature()
    ranker = Ranker(**BLEND).fit(rows, labels, qid=qid)
    assert ranker.n_boosters_ > 1
    found = ranker.feature_importances_
    assert found.argmax() == 5
    assert found[5] > 0.8 * found.sum()
    parts = [Ranker(each, **BLEND).fit(rows, labels, qid=qid) for each in ("xendcg", "lambdamart")]
    for part in parts:
        assert part.feature_importances_.argmax() == 5
    splits = ranker.set_params(importance_type="split").feature_importances_
    trees = ranker.booster_.dump_model()["tree_info"][ranker.n_start_trees_ :]
    assert splits.sum() == sum(tree["num_leaves"] - 1 for tree in trees)


@pytest.mark.parametrize("settings", [FAST, BLEND], ids=["fast", "blend"])
@pytest.mark.parametrize("start", ["auto", "linear", "query_linear"])
def test_line_11_monotone_constraints_hold_in_the_start(settings, start):
    if start == "query_linear" and settings is BLEND:
        pytest.skip("one booster alone can start there")
    rows, labels, qid = strong_feature()
    signs = [1, -1, 0, 1, -1, -1]  # the last is against the data
    ranker = Ranker(**settings, start=start, lgb_params={"monotone_constraints": signs})
    ranker.fit(rows, labels, qid=qid)
    assert ranker.start_kind_ == ("linear" if start == "auto" else start)
    assert ranker.linear_coef_.any()
    grid = np.linspace(-4, 4, 60)
    for feature, sign in enumerate(signs):
        assert sign * ranker.linear_coef_[feature] >= 0
        for base in rows[:30] if start != "query_linear" else []:
            moved = np.tile(base, (len(grid), 1))
            moved[:, feature] = grid
            steps = np.diff(ranker.predict(moved))
            assert sign == 0 or (sign * steps >= -1e-12).all()
    free = Ranker(**settings, start=start).fit(rows, labels, qid=qid)
    assert free.linear_coef_[5] > 0  # which is what had to be given up


@pytest.mark.parametrize("settings", [FAST, BLEND], ids=["fast", "blend"])
def test_line_11_interaction_constraints_hold_in_the_start(settings):
    rows, labels, qid = strong_feature()
    groups = {"interaction_constraints": [[0, 1], [2], [3, 4]]}  # 5 is in none
    ranker = Ranker(**settings, lgb_params=groups).fit(rows, labels, qid=qid)
    assert ranker.start_kind_ == "linear"
    assert ranker.feature_importances_[5] == 0
    moved = rows.copy()
    moved[:, 5] = 0
    np.testing.assert_array_equal(ranker.predict(moved), ranker.predict(rows))
    # features of two groups add up
    a, b, both = rows.copy(), rows.copy(), rows.copy()
    a[:, 0] = both[:, 0] = 1.0
    b[:, 2] = both[:, 2] = -1.0
    plain, first, second, all_of_it = (ranker.predict(each) for each in (rows, a, b, both))
    np.testing.assert_allclose(all_of_it - plain, (first - plain) + (second - plain), atol=1e-10)


@pytest.mark.parametrize(
    "constraints", [{"monotone_constraints": [1] * 5}, {"interaction_constraints": [[0, 1]]}]
)
def test_line_11_a_model_of_ones_own_to_start_from_cannot_be_constrained(constraints):
    for start in (LinearRegression(), lambda rows: rows[:, 0]):
        with pytest.raises(ValueError, match=r"constraints.*init_score"):
            Ranker(**FAST, start=start, lgb_params=constraints).fit(X, Y, qid=QID)


@pytest.mark.parametrize("start", ["query_linear", LinearRegression(), lambda rows: rows[:, 0]])
def test_line_11_save_model_warns_of_a_start_that_is_not_made_of_trees(start, tmp_path):
    ranker = Ranker(**FAST, start=start).fit(X, Y, qid=QID)
    _, said = caught(ranker.save_model, tmp_path / "model.txt")
    assert len(said) == 1
    assert "will predict without the start" in said[0]
    read = lgb.Booster(model_file=tmp_path / "model.txt").predict(X)
    assert np.abs(read - ranker.predict(X, qid=QID)).max() > 0.01  # so that it says the truth
    for whole in ("linear", "zero"):
        ranker.set_params(start=whole).fit(X, Y, qid=QID)
        assert not caught(ranker.save_model, tmp_path / "model.txt")[1]
        read = lgb.Booster(model_file=tmp_path / "model.txt").predict(X)
        np.testing.assert_array_equal(read, ranker.predict(X))


@pytest.mark.parametrize("start", ["zero", "linear"])
def test_line_11_mlflow_autolog_never_logs_a_part_of_the_model(start, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    flavour = pytest.importorskip("mlflow.lightgbm")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    logged = []
    monkeypatch.setattr(flavour, "log_model", lambda model, *args, **kwargs: logged.append(model))
    mlflow.lightgbm.autolog(log_datasets=False)
    try:
        with mlflow.start_run():
            ranker = Ranker(**FAST, start=start).fit(X, Y, qid=QID)
    finally:
        mlflow.lightgbm.autolog(disable=True)
    assert len(logged) == (start == "zero")
    for model in logged:
        np.testing.assert_array_equal(model.predict(X), ranker.predict(X))


# --- the rest ----------------------------------------------------------------------------------


def test_line_12_nothing_to_learn_warns_in_words():
    _, said = caught(Ranker(**FAST).fit, X, Y, qid=np.arange(len(Y)))
    assert any("every query has a single document" in each for each in said)
    _, said = caught(Ranker(**FAST).fit, X, np.ones(len(Y)), qid=QID)
    assert any("labels of every query are all equal" in each for each in said)


def test_line_13_no_grades_are_invented():
    assert set(perturb_labels(Y > 2, QID, 0.9)) <= {0, 1}


@pytest.mark.parametrize("start", ["zero", "linear"])
def test_line_16_a_learning_curve_starts_at_tree_0(start):
    pytest.importorskip("matplotlib").use("Agg")
    inside, outside = QID < 40, QID >= 40
    judge = (X[outside], Y[outside], QID[outside])
    ranker = Ranker(**FAST, start=start, eval_metric=["ndcg@5", "err"])
    ranker.fit(X[inside], Y[inside], qid=QID[inside], eval_X=judge[0], eval_y=judge[1],
               eval_qid=judge[2])  # fmt: skip
    alone = np.zeros(outside.sum())
    if start == "linear":
        alone = ranker.booster_.predict(judge[0], num_iteration=ranker.n_start_trees_)
    expected = ndcg_score(judge[1], alone, qid=judge[2], k=5)
    assert ranker.evals_start_["valid_0"]["ndcg@5"] == pytest.approx(expected, abs=1e-9)
    assert list(ranker.evals_start_["valid_0"]) == ["ndcg@5", "err"]
    (line,) = LearningCurveDisplay.from_ranker(ranker).lines_
    assert line.get_xdata().tolist() == list(range(9))
    assert line.get_ydata()[0] == ranker.evals_start_["valid_0"]["ndcg@5"]


def test_line_16_of_a_blend_every_member_starts_at_tree_0(tmp_path):
    ranker = Ranker(**BLEND).fit(X, Y, qid=QID)
    assert list(ranker.evals_start_) == list(ranker.evals_result_)
    linear = next(each for each in ranker.members_ if each["name"] == "linear")
    assert ranker.evals_start_["xendcg from linear"]["ndcg@10"] == linear["cv_score"]
    constant = ndcg_score(Y, np.zeros(len(Y)), qid=QID, k=10)
    assert ranker.evals_start_["lambdamart from zero"]["ndcg@10"] == pytest.approx(constant)
    ranker.save_model(tmp_path / "model.txt")
    assert Ranker.load_model(tmp_path / "model.txt").evals_start_ == ranker.evals_start_
