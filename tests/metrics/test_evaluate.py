"""Tables of metrics, and scorers for scikit-learn."""

import builtins
import pickle

import numpy as np
import pytest
import sklearn
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from gbrank import QueryKFold, Ranker
from gbrank.data import make_ranking
from gbrank.metrics import evaluate, get_metric, get_scorer, ndcg_score


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    qid = np.repeat(["x", "y", "z", "w"], 12)
    labels = rng.integers(0, 4, 48)
    return labels, {"good": labels + rng.normal(size=48), "bad": rng.normal(size=48)}, qid


def test_table_of_means(models):
    labels, scores, qid = models
    table = evaluate(labels, scores, qid=qid, metrics=["ndcg@3", "mrr"], sample_weight=[1, 2, 3, 4])
    assert list(table) == ["ndcg@3", "mrr"]
    assert table.models == ["good", "bad"]
    for i, model in enumerate(scores.values()):
        expected = ndcg_score(labels, model, qid=qid, k=3, sample_weight=[1, 2, 3, 4])
        assert table["ndcg@3"][i] == expected
    assert dict(table)["mrr"].shape == (2,)


def test_text(models):
    labels, _, qid = models
    lines = str(evaluate(labels, labels, qid=qid, metrics="ndcg@3")).splitlines()
    assert lines == ["model  ndcg@3", "-----  ------", "model  1.0000"]


def test_metrics_under_names_of_your_own(models):
    labels, scores, qid = models
    variants = {
        "linear": get_metric("ndcg", gain="linear"),
        "worst": get_metric("ndcg", ties="worst"),
        "plain": "ndcg",
    }
    table = evaluate(labels, scores["bad"].round(), qid=qid, metrics=variants)
    assert list(table) == ["linear", "worst", "plain"]
    rounded = scores["bad"].round()
    assert table["linear"][0] == ndcg_score(labels, rounded, qid=qid, gain="linear")
    assert table["worst"][0] == ndcg_score(labels, rounded, qid=qid, ties="worst")
    assert table["plain"][0] == ndcg_score(labels, rounded, qid=qid)


def test_the_convention_applies_to_named_metrics(models):
    labels, scores, qid = models
    for convention in ("lightgbm", "sklearn", "letor", "trec"):
        table = evaluate(labels, scores, qid=qid, metrics=["ndcg@20"], convention=convention)
        expected = ndcg_score(labels, scores["good"], qid=qid, k=20, convention=convention)
        assert table["ndcg@20"][0] == expected


def test_to_pandas(models):
    pytest.importorskip("pandas")
    labels, scores, qid = models
    frame = evaluate(labels, scores, qid=qid, metrics=["ndcg@3", "err"]).to_pandas()
    assert list(frame.columns) == ["ndcg@3", "err"]
    assert list(frame.index) == ["good", "bad"]
    frame = evaluate(labels, scores, qid=qid, metrics=["ndcg@3"], per_query=True).to_pandas()
    assert frame.loc[("bad", "z"), "ndcg@3"] == pytest.approx(
        ndcg_score(labels[24:36], scores["bad"][24:36], group=[12], k=3), abs=1e-12
    )


def test_without_pandas_the_error_names_the_extra(models, monkeypatch):
    labels, scores, qid = models
    table = evaluate(labels, scores, qid=qid)
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError("No module named 'pandas'")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r'pip install "gbrank\[pandas\]"'):
        table.to_pandas()


def test_metrics_pickle(models):
    labels, scores, qid = models
    metric = get_metric("ndcg@3", convention="letor")
    twin = pickle.loads(pickle.dumps(metric))
    assert twin(labels, scores["bad"], qid=qid) == metric(labels, scores["bad"], qid=qid)


class _FirstColumn(LGBMRegressor):
    """Predicts its first feature: what a scorer must return is then known."""

    def fit(self, X, y, **ignored):
        self.fitted_ = True
        return self

    def predict(self, X, **ignored):
        return X[:, 0]

    def __sklearn_is_fitted__(self):
        return True


@pytest.fixture
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    return rng.normal(size=(120, 2)), rng.integers(0, 3, 120), np.repeat(np.arange(12), 10)


def test_scorer(regression):
    X, y, qid = regression
    expected = ndcg_score(y, X[:, 0], qid=qid, k=5)
    assert get_scorer("ndcg@5")(_FirstColumn(), X, y, qid=qid) == expected
    loss = get_metric("pairwise_disagreement")(y, X[:, 0], qid=qid)
    assert get_scorer("pairwise_disagreement")(_FirstColumn(), X, y, qid=qid) == -loss
    weights = np.repeat(np.arange(1.0, 13.0), 10)
    expected = ndcg_score(y, X[:, 0], qid=qid, k=5, sample_weight=weights)
    scorer = get_scorer("ndcg@5")
    assert scorer(_FirstColumn(), X, y, qid=qid, sample_weight=weights) == expected


def test_scorers_clone_and_pickle(regression):
    X, y, qid = regression
    scorer = get_scorer("ndcg@5", gain="linear")
    expected = scorer(_FirstColumn(), X, y, qid=qid)
    for twin in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert twin(_FirstColumn(), X, y, qid=qid) == expected


def test_scorer_without_qid_says_what_to_do(regression):
    X, y, _ = regression
    with pytest.raises(ValueError, match=r"needs qid.*enable_metadata_routing=True"):
        cross_val_score(_FirstColumn(), X, y, scoring=get_scorer("ndcg"), error_score="raise")


@pytest.fixture(scope="module")
def frame(regression):
    pd = pytest.importorskip("pandas")
    X, y, qid = regression
    return pd.DataFrame({"a": X[:, 0], "qid": qid, "b": X[:, 1]}), y, qid


class _ColumnA(_FirstColumn):
    def predict(self, X, **ignored):
        return np.asarray(X["a"])


def test_scorer_takes_the_query_column_of_the_estimator(frame):
    """GridSearchCV(Ranker(qid="qid"), scoring=get_scorer("ndcg@5")) had nan as best_score_."""
    X, y, qid = frame
    folds = list(GroupKFold(3).split(X, y, qid))
    search = GridSearchCV(
        Ranker("xendcg", preset="fast", qid="qid", n_estimators=3, min_child_samples=5, n_jobs=1),
        {"num_leaves": [3, 7]},
        cv=folds,
        scoring=get_scorer("ndcg@5"),
    ).fit(X, y)
    expected = []
    for train, test in folds:
        model = clone(search.best_estimator_).fit(X.iloc[train], y[train])
        scores = model.predict(X.iloc[test])
        expected.append(ndcg_score(y[test], scores, qid=qid[test], k=5))
    assert search.best_score_ == pytest.approx(np.mean(expected), abs=1e-12)


def test_scorer_takes_the_query_column_of_the_last_step_of_a_pipeline(frame):
    X, y, qid = frame
    ranker = Ranker(preset="fast", qid="qid", n_estimators=2)
    steps = [("nothing", FunctionTransformer()), ("rank", ranker)]
    model = Pipeline(steps).fit(X, y)
    expected = ndcg_score(y, model.predict(X), qid=qid, k=5)
    assert get_scorer("ndcg@5")(model, X, y) == expected
    assert get_scorer("ndcg@5")(Pipeline([("inner", model)]), X, y) == expected


def test_scorer_takes_the_query_column_that_it_is_given(frame):
    X, y, qid = frame
    scorer = get_scorer("ndcg@5", qid="qid")
    expected = ndcg_score(y, X["a"], qid=qid, k=5)
    for twin in (scorer, clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert twin(_ColumnA(), X, y) == expected
    other = np.arange(len(y)) // 3
    expected = ndcg_score(y, X["a"], qid=other, k=5)
    assert scorer(_ColumnA(), X, y, qid=other) == expected  # what is passed wins
    with pytest.raises(ValueError, match=r"qid='query' must be a column of X, but X has the col"):
        get_scorer("ndcg@5", qid="query")(_ColumnA(), X, y)
    with pytest.raises(ValueError, match=r"qid='qid' must be a column of X, but X has no names"):
        scorer(_FirstColumn(), X.to_numpy(), y)


@pytest.mark.usefixtures("routed")
def test_scorer_in_cross_validation(regression):
    X, y, qid = regression
    folds = GroupKFold(3)
    expected = [
        ndcg_score(y[test], X[test, 0], qid=qid[test], k=5) for _, test in folds.split(X, y, qid)
    ]
    found = cross_validate(
        _FirstColumn(),
        X,
        y,
        cv=folds,
        scoring={"ndcg": get_scorer("ndcg@5"), "loss": get_scorer("topk_zero_one@1")},
        params={"qid": qid, "groups": qid},
        error_score="raise",
    )
    np.testing.assert_allclose(found["test_ndcg"], expected, atol=1e-12)
    assert (found["test_loss"] <= 0).all()

    search = GridSearchCV(
        _FirstColumn(),
        {"num_leaves": [2, 3]},
        cv=folds,
        scoring=get_scorer("ndcg@5"),
        error_score="raise",
    ).fit(X, y, qid=qid, groups=qid)
    assert search.best_score_ == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.usefixtures("routed")
def test_scorer_asks_for_weights_only_when_told(regression):
    X, y, qid = regression
    weights = np.repeat(np.arange(1.0, 13.0), 10)
    scorer = get_scorer("ndcg@5").set_score_request(sample_weight=True)
    folds = GroupKFold(3)
    found = cross_validate(
        _FirstColumn(),
        X,
        y,
        cv=folds,
        scoring=scorer,
        params={"qid": qid, "groups": qid, "sample_weight": weights},
        error_score="raise",
    )
    expected = [
        ndcg_score(y[test], X[test, 0], qid=qid[test], k=5, sample_weight=weights[test])
        for _, test in folds.split(X, y, qid)
    ]
    np.testing.assert_allclose(found["test_score"], expected, atol=1e-12)


def test_a_scorer_hands_queries_to_a_model_that_needs_them():
    data = make_ranking(n_queries=40, random_state=0)
    ranker = Ranker(preset="fast", n_estimators=3, start="query_linear")
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            ranker.set_fit_request(qid=True),
            data.X,
            data.y,
            cv=QueryKFold(2),
            scoring=get_scorer("mrr"),
            params={"qid": data.qid},
            error_score="raise",
        )
    assert ((scores > 0.3) & (scores <= 1)).all()
