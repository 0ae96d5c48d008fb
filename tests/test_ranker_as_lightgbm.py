"""Lines 6, 8 and 12 of "change the objective, keep the rest": the Ranker, called as LightGBM is."""

import inspect
import pickle
import re
import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gbrank import XENDCG, LambdaMART, ListMLE, QNorm, Ranker, cv, get_objective
from gbrank.boosting import LIGHTGBM_NAMES, main_names
from gbrank.metrics import compare, feval, get_metric, ndcg_score

RNG = np.random.default_rng(8)
GROUP = RNG.integers(5, 25, 60)
QID = np.repeat(np.arange(60), GROUP)
X = RNG.normal(size=(GROUP.sum(), 3))
Y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X))), 0, 3)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
INSIDE = QID < 40


def ranker(objective="xendcg", **params) -> Ranker:
    return Ranker.lightgbm_defaults(objective, **{"n_estimators": 5, "n_jobs": 1, **params})


# --- line 6: names ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "name"),
    [("lambdarank", "lambdamart"), ("rank_xendcg", "xendcg"), ("xe_ndcg_mart", "xendcg")],
)
def test_names_of_lightgbm_are_aliases_of_exact_equivalents(alias, name):
    assert type(get_objective(alias)) is type(get_objective(name))
    found = ranker(alias).fit(X, Y, group=GROUP).predict(X)
    np.testing.assert_array_equal(found, ranker(name).fit(X, Y, group=GROUP).predict(X))


def test_lambdarank_by_name_is_lightgbms_lambdarank():
    """One tree: of several, float32 sums in another order may flip a split that is nearly tied."""
    fixed = {"force_col_wise": True}
    model = lgb.LGBMRanker(objective="lambdarank", n_estimators=1, n_jobs=1, verbose=-1, **fixed)
    expected = model.fit(X, Y, group=GROUP).predict(X)
    found = ranker("lambdarank", n_estimators=1, lgb_params=fixed).fit(X, Y, group=GROUP)
    np.testing.assert_allclose(found.predict(X), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rank:ndcg", "near to it is 'lambdamart'"),
        ("rank:pairwise", "near to it is 'pairwise_logistic'"),
        ("YetiRank", "near to it is 'yetiloss'"),
        ("lambdamat", "did you mean 'lambdamart'"),
        ("LambdaMART", "did you mean 'lambdamart'"),
    ],
)
def test_other_names_get_a_hint(name, hint):
    with pytest.raises(ValueError, match=hint):
        ranker(name).fit(X, Y, group=GROUP)


def test_metric_names_get_a_hint():
    with pytest.raises(ValueError, match="did you mean 'ndcg@5'"):
        get_metric("ndcg5")
    with pytest.raises(ValueError, match="did you mean 'ndcg@5'"):
        ranker(eval_metric="ndcg5").fit(X, Y, group=GROUP, eval_set=(X, Y), eval_group=GROUP)


@pytest.mark.parametrize("cls", [XENDCG, LambdaMART, ListMLE])
def test_a_class_where_an_instance_is_meant(cls):
    message = rf"{cls.__name__}: call it, {cls.__name__}\(\)"
    with pytest.raises(TypeError, match=message):
        ranker(cls).fit(X, Y, group=GROUP)
    data = lgb.Dataset(X, Y, group=GROUP, params={"verbose": -1})
    with pytest.raises(TypeError, match=message):
        lgb.train({"objective": cls, "verbose": -1}, data, 1)


def test_lists_of_metrics():
    data = lgb.Dataset(X, Y, group=GROUP)
    seen: dict = {}
    lgb.train(
        {"objective": XENDCG(), "metric": "None", "verbose": -1},
        data,
        2,
        [data],
        feval=feval(["ndcg@5", "ndcg@10"]),
        callbacks=[lgb.record_evaluation(seen)],
    )
    assert list(seen["training"]) == ["ndcg@5", "ndcg@10"]
    scores = {"a": X[:, 0], "b": X[:, 1]}
    found = compare(Y, scores, group=GROUP, metric=["ndcg@5", "err"], n_resamples=99)
    assert list(found) == ["ndcg@5", "err"]
    assert found["ndcg@5"].means["a"] == pytest.approx(ndcg_score(Y, X[:, 0], group=GROUP, k=5))


# --- line 6: parameters ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("min_data_in_leaf", "use min_child_samples, which is LightGBM's min_data_in_leaf"),
        ("lambda_l2", "use reg_lambda"),
        ("bagging_fraction", "use subsample"),
        ("num_iterations", "use n_estimators"),
        ("num_boost_round", "use n_estimators"),
        ("metric", "use eval_metric"),
        ("eval_at", "use eval_metric, e.g. eval_metric='ndcg@5'"),
        ("seed", "use random_state"),
        ("nthread", "use n_jobs"),
        ("early_stopping_round", "use early_stopping_rounds"),
        ("max_bin", r"use lgb_params=\{'max_bin': ...\}"),
        ("label_gain", "lgb_params="),
        ("n_estimator", "did you mean 'n_estimators'"),
    ],
)
def test_aliases_of_lightgbm_in_the_constructor_are_one_clear_error(name, hint):
    with pytest.raises(TypeError, match=f"Ranker has no parameter '{name}'.*{hint}"):
        Ranker(**{name: 5})
    with pytest.raises(TypeError, match=hint):
        Ranker.lightgbm_defaults(**{name: 5})


def test_every_name_of_lightgbm_that_a_parameter_has_leads_to_it():
    """A user who knows LightGBM's name, whichever of them, is told ours."""
    known = main_names()
    if not known:
        pytest.skip("this LightGBM has no table of aliases")
    ours = set(inspect.signature(Ranker).parameters)
    theirs = {main: name for name, main in LIGHTGBM_NAMES.items()}
    checked = 0
    for alias, main in known.items():
        if main in theirs and alias not in ours:
            with pytest.raises(TypeError, match=rf"use {theirs[main]}\b"):
                Ranker(**{alias: 1})
            checked += 1
    assert checked > 20


def test_the_constructor_itself_is_as_it_was():
    assert "min_child_samples" in inspect.signature(Ranker).parameters
    assert "kwargs" not in inspect.signature(Ranker).parameters
    one = ranker(num_leaves=7)
    for same in (clone(one), pickle.loads(pickle.dumps(one))):
        assert same.get_params() == one.get_params()


# --- line 6: evaluation sets -----------------------------------------------------------------


def test_eval_set_and_eval_group_as_lgbm_ranker_has_them():
    sizes = GROUP[40:]
    inside = {"group": GROUP[:40]}
    outside = (X[~INSIDE], Y[~INSIDE])

    def curves(**given):
        model = ranker(eval_metric=["ndcg@5"]).fit(X[INSIDE], Y[INSIDE], **inside, **given)
        return model.evals_result_

    expected = curves(eval_X=outside[0], eval_y=outside[1], eval_qid=QID[~INSIDE])
    assert curves(eval_set=[outside], eval_group=[sizes]) == expected
    assert curves(eval_set=[outside], eval_qid=[QID[~INSIDE]]) == expected
    assert curves(eval_X=[outside[0]], eval_y=[outside[1]], eval_qid=[QID[~INSIDE]]) == expected
    assert curves(eval_X=[outside[0]], eval_y=[outside[1]], eval_group=[sizes]) == expected
    assert curves(eval_X=outside[0], eval_y=outside[1], eval_group=sizes) == expected
    two = curves(eval_set=[outside, outside], eval_group=[sizes, sizes])
    assert two["valid_1"] == two["valid_0"] == expected["valid_0"]
    lgbm = lgb.LGBMRanker(objective=XENDCG(), metric="None", n_estimators=5, n_jobs=1, verbose=-1)
    lgbm.fit(
        X[INSIDE],
        Y[INSIDE],
        **inside,
        eval_set=[outside],
        eval_group=[sizes],
        eval_metric=feval("ndcg@5"),
    )
    assert lgbm.evals_result_["valid_0"]["ndcg@5"] == expected["valid_0"]["ndcg@5"]


def test_a_list_of_frames_is_several_sets_and_a_list_of_rows_is_one():
    frame = FRAME.assign(qid=QID)
    model = ranker(qid="qid").fit(frame[INSIDE], Y[INSIDE], eval_X=[frame], eval_y=[Y])
    assert list(model.evals_result_) == ["valid_0"]
    rows = ranker().fit(X, Y, qid=QID, eval_X=X.tolist(), eval_y=Y.tolist(), eval_qid=QID.tolist())
    assert list(rows.evals_result_) == ["valid_0"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_set": [(X, Y)], "eval_X": X}, "another form of eval_X"),
        ({"eval_set": [X], "eval_group": [GROUP]}, r"pairs \(X, y\)"),
        ({"eval_set": [(X, Y)], "eval_group": [GROUP], "eval_qid": [QID]}, "give one"),
        ({"eval_set": [(X, Y)], "eval_group": GROUP}, "eval_group must be the number of rows"),
        ({"eval_set": [(X, Y)]}, "eval_qid"),
        ({"eval_set": [(X, Y), (X, Y)], "eval_group": [GROUP]}, "tuples of the same length"),
    ],
)
def test_evaluation_sets_that_do_not_fit_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ranker().fit(X, Y, group=GROUP, **given)


# --- line 8 ------------------------------------------------------------------------------------


CODES = np.column_stack([RNG.integers(0, 6, len(X)), X[:, 0]])
VALUE = np.array([3.0, 0.0, 2.0, 0.0, 1.0, 3.0])[CODES[:, 0].astype(int)]  # no order in it
BY_CATEGORY = np.clip(np.rint(VALUE + 0.3 * RNG.normal(size=len(X))), 0, 3)


@pytest.mark.parametrize("given", [[0], "0", ["0"], np.array([0])], ids=repr)
def test_categorical_feature_of_arrays(given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ranker(lgb_params={"categorical_feature": given}).fit(CODES, BY_CATEGORY, qid=QID)
    data = lgb.Dataset(CODES, BY_CATEGORY, group=GROUP, categorical_feature=[0])
    params = {"objective": XENDCG(random_state=0), "num_threads": 1, "verbose": -1}
    expected = lgb.train(params, data, 5).predict(CODES)
    np.testing.assert_array_equal(model.predict(CODES), expected)
    plain = ranker().fit(CODES, BY_CATEGORY, qid=QID)
    assert "num_cat=0" in plain.booster_.model_to_string()
    assert np.abs(plain.predict(CODES) - expected).max() > 0.01


@pytest.mark.parametrize("given", [["kind"], "name:kind", [0], "kind"], ids=repr)
def test_categorical_feature_of_frames(given):
    frame = pd.DataFrame(CODES, columns=["kind", "a"])
    model = ranker(lgb_params={"categorical_feature": given}).fit(frame, BY_CATEGORY, qid=QID)
    array = ranker(lgb_params={"categorical_feature": [0]}).fit(CODES, BY_CATEGORY, qid=QID)
    np.testing.assert_array_equal(model.predict(frame), array.predict(CODES))


def test_categorical_feature_of_a_cross_fit_and_of_cv():
    given = {"categorical_feature": [0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Ranker("xendcg", preset="balanced", n_estimators=5, lgb_params=given)
        model.fit(CODES, BY_CATEGORY, qid=QID)
        params = {"objective": "xendcg", "verbose": -1, **given}
        found = cv(params, CODES, BY_CATEGORY, qid=QID, num_boost_round=2, return_cvbooster=True)
    texts = [model.booster_.model_to_string(), found["cvbooster"].boosters[0].model_to_string()]
    assert all(re.search(r"num_cat=[1-9]", text) for text in texts)
    assert model.linear_coef_[0] == 0


def test_a_linear_start_leaves_categories_out():
    model = ranker(start="linear", lgb_params={"categorical_feature": [0]})
    model.fit(CODES, BY_CATEGORY, qid=QID, eval_X=CODES, eval_y=BY_CATEGORY, eval_qid=QID)
    assert model.linear_coef_[0] == 0
    assert ranker(start="linear").fit(CODES, BY_CATEGORY, qid=QID).linear_coef_[0] != 0
    with pytest.raises(ValueError, match="start='query_linear' takes all columns as numbers"):
        ranker(start="query_linear", lgb_params={"cat_feature": [0]}).fit(CODES, Y, qid=QID)


@pytest.mark.parametrize("given", [["no"], [7], [-1]], ids=repr)
def test_categorical_feature_must_be_a_column(given):
    with pytest.raises(ValueError, match="categorical_feature must be columns of X, by "):
        ranker(lgb_params={"categorical_feature": given}).fit(CODES, Y, qid=QID)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_in_another_order_are_matched_by_name(kind):
    frame, other = FRAME, FRAME[["c", "a", "b"]]
    if kind == "polars":
        polars = pytest.importorskip("polars")
        frame, other = polars.from_pandas(frame), polars.from_pandas(other)
    if kind == "pyarrow":
        pyarrow = pytest.importorskip("pyarrow")
        frame, other = (pyarrow.Table.from_pandas(each) for each in (frame, other))
    model = ranker().fit(frame, Y, qid=QID, eval_X=other, eval_y=Y, eval_qid=QID)
    np.testing.assert_array_equal(model.predict(other), model.predict(frame))
    found = model.evals_result_["valid_0"]["ndcg@10"][-1]
    assert found == pytest.approx(model.score(frame, Y, qid=QID))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME.rename(columns={"a": "x"}))


def test_init_score_together_with_a_start():
    """The start is fitted without it, boosting begins at the sum, the model is start and trees."""
    first = RNG.normal(size=len(X))
    grown = ranker(start="linear", n_estimators=4).fit(X, Y, qid=QID, init_score=first)
    alone = ranker(start="linear", n_estimators=1).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(grown.linear_coef_, alone.linear_coef_)
    start = grown.booster_.predict(X, num_iteration=grown.n_start_trees_)
    data = lgb.Dataset(X, Y, group=GROUP, init_score=first + start)
    params = {"objective": XENDCG(random_state=0), "num_threads": 1, "verbose": -1}
    trees = lgb.train(params, data, 4).predict(X)
    np.testing.assert_allclose(grown.predict(X), start + trees, rtol=0, atol=1e-6)


def test_a_lazy_frame_is_refused():
    polars = pytest.importorskip("polars")
    lazy = polars.from_pandas(FRAME.assign(qid=QID)).lazy()
    for call in (
        lambda: ranker().fit(lazy, Y, qid="qid"),
        lambda: ranker(qid="qid").fit(lazy, Y),
        lambda: ranker().fit(lazy, Y, qid=QID),
        lambda: ranker().fit(FRAME, Y, qid=QID).predict(lazy),
    ):
        with pytest.raises(TypeError, match=r"LazyFrame of polars.* give X\.collect\(\)"):
            call()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME[:0], r"X has no rows: its shape is \(0, 3\)"),
        (X[:0], r"X has no rows: its shape is \(0, 3\)"),
        (FRAME[[]], "X has no columns"),
        (FRAME.assign(when=pd.Timestamp("2020-02-02")), "column 'when' is of type datetime64"),
        (FRAME.assign(when=pd.Timedelta(days=2)), "column 'when' is of type timedelta64"),
        (FRAME.assign(when=pd.Timestamp("2020-02-02", tz="UTC")), "column 'when' is of type date"),
        (np.ones(X.shape, dtype="M8[s]"), "X is of type datetime64"),
    ],
)
def test_empty_and_dated_features_are_one_clear_error(frame, message):
    with pytest.raises(ValueError, match=message):
        ranker().fit(frame, Y[: len(frame)], qid=QID[: len(frame)])
    if len(frame) == 0:
        with pytest.raises(ValueError, match="X has no rows"):
            ranker().fit(FRAME if isinstance(frame, pd.DataFrame) else X, Y, qid=QID).predict(frame)


def test_dates_of_polars_and_pyarrow():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = polars.from_pandas(FRAME.assign(when=pd.Timestamp("2020-02-02")))
    for table in (frame, frame.to_arrow(), frame.with_columns(polars.col("when").dt.date())):
        with pytest.raises(ValueError, match="column 'when' is of type"):
            ranker().fit(table, Y, qid=QID)
    assert isinstance(frame.to_arrow(), pyarrow.Table)
    named = FRAME.assign(kind=pd.Categorical(["date"] * len(FRAME)))  # a category may be so called
    ranker().fit(named, Y, qid=QID)
    ranker().fit(polars.from_pandas(named), Y, qid=QID)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"learning_rate": -0.1}, "learning_rate must be"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"learning_rate": "fast"}, "learning_rate must be"),
        ({"num_leaves": 1}, "num_leaves must be an integer >= 2"),
        ({"max_depth": 1.5}, "max_depth must be an integer"),
        ({"min_child_samples": -1}, "min_child_samples must be an integer >= 0"),
        ({"min_child_weight": -1.0}, "min_child_weight must be"),
        ({"min_split_gain": -1.0}, "min_split_gain must be"),
        ({"subsample": 0.0}, "subsample must be"),
        ({"colsample_bytree": 1.5}, "colsample_bytree must be"),
        ({"subsample_for_bin": 0}, "subsample_for_bin must be"),
        ({"reg_alpha": -1.0}, "reg_alpha must be"),
        ({"reg_lambda": -1.0}, "reg_lambda must be"),
        ({"boosting_type": "forest"}, "boosting_type must be"),
        ({"importance_type": "weight"}, "importance_type must be"),
    ],
    ids=str,
)
def test_parameters_of_trees_are_checked_by_our_names(params, message):
    with pytest.raises(ValueError, match=message):
        ranker(**params).fit(X, Y, qid=QID)


# --- line 12 -----------------------------------------------------------------------------------


def test_a_query_id_per_row_warns():
    with pytest.warns(UserWarning, match=r"nothing to rank, as every query has a single document"):
        ranker().fit(X, Y, qid=np.arange(len(X)))
    data = lgb.Dataset(X, Y, group=np.ones(len(X)), params={"verbose": -1})
    with pytest.warns(UserWarning, match=r"check that qid is the query's id, not the row's"):
        lgb.train({"objective": LambdaMART(), "verbose": -1}, data, 1)


@pytest.mark.parametrize("label", [0.0, 2.0])
def test_equal_labels_warn(label):
    with pytest.warns(UserWarning, match="the labels of every query are all equal"):
        ranker("lambdamart").fit(X, np.full(len(X), label), qid=QID)
    by_query = (QID % 3).astype(float)  # they differ, but not within queries
    with pytest.warns(UserWarning, match="the labels of every query are all equal"):
        ranker("lambdamart").fit(X, by_query, qid=QID)


def test_trees_of_single_leaves_warn():
    too_much = {"min_child_weight": 1e9}
    with pytest.warns(UserWarning, match=r"every tree is a single leaf.*min_child_weight"):
        ranker(QNorm(), **too_much).fit(X, Y, qid=QID)
    first = ranker().fit(X, Y, qid=QID)
    with pytest.warns(UserWarning, match="every tree is a single leaf"):
        ranker(**too_much).fit(X, Y, qid=QID, init_model=first)


@pytest.mark.parametrize("preset", ["fast", "balanced"])
def test_what_can_be_learned_does_not_warn(preset):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ranker(preset=preset, n_estimators=5).fit(X, Y, qid=QID)


def test_verbose_states_queries_sizes_blanks_and_positives(capfd):
    labels = np.where(QID < 7, 0, Y)
    order = RNG.permutation(len(X))
    ranker(verbose=1).fit(X[order], labels[order], qid=QID[order])
    said = capfd.readouterr().err
    positive = f"{(labels > 0).mean():.1%}"
    blank = sum(not (labels[query == QID] > 0).any() for query in range(60))
    assert blank >= 7
    assert (
        f"Ranker.fit: 60 queries of {GROUP.min()} to {GROUP.max()} documents, {len(X):,} in all; "
        f"{blank} blank (no label above 0); {positive} of documents positive"
    ) in said
    ranker(verbose=1).fit(lgb.Dataset(X, labels, group=GROUP))
    assert "60 queries of" in capfd.readouterr().err
    ranker().fit(X, labels, qid=QID)
    assert capfd.readouterr().err == ""
