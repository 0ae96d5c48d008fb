"""Displays: their artists carry the numbers, computed here by plain loops."""

import builtins

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot
from sklearn.pipeline import Pipeline

from gbrank import Ranker
from gbrank.data import make_ranking
from gbrank.metrics import get_metric
from gbrank.plotting import (
    ExplanationDisplay,
    FeatureImportanceDisplay,
    LearningCurveDisplay,
    MetricComparisonDisplay,
    PerQueryDisplay,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def ndcg_per_query(labels, scores, n_queries, k):
    """Return NDCG@k of queries of equal length; scores have no ties."""
    values = []
    for y, s in zip(labels.reshape(n_queries, -1), scores.reshape(n_queries, -1), strict=True):
        gains = 2.0**y - 1
        discounts = 1 / np.log2(2 + np.arange(k))
        values.append(
            gains[np.argsort(-s)][:k] @ discounts / (np.sort(gains)[::-1][:k] @ discounts)
        )
    return np.array(values)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    labels[::10] = 2  # no query is blank
    return labels, {
        "good": labels + rng.normal(size=600),
        "fair": labels + 3 * rng.normal(size=600),
        "random": rng.normal(size=600),
    }


GROUP = [10] * 60


# --- learning curves ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rankers():
    train, test = make_ranking(n_queries=80, random_state=0).split(0.5)
    evaluation = {"eval_X": test.X, "eval_y": test.y, "eval_qid": test.qid}
    short = Ranker.lightgbm_defaults("xendcg", n_estimators=4, eval_metric=["ndcg@5", "map"])
    stopped = Ranker.lightgbm_defaults(
        "lambdamart",
        n_estimators=60,
        learning_rate=0.5,
        early_stopping_rounds=3,
        eval_metric=["ndcg@5", "map"],
    )
    return {
        "short": short.fit(train.X, train.y, qid=train.qid, **evaluation),
        "stopped": stopped.fit(train.X, train.y, qid=train.qid, **evaluation),
    }, train


def test_learning_curves_of_rankers(rankers):
    models, _ = rankers
    display = LearningCurveDisplay.from_ranker(models)
    assert [line.get_label() for line in display.lines_] == ["short", "stopped"]
    for line, model in zip(display.lines_, models.values(), strict=True):
        (recorded,) = model.evals_result_.values()
        (started,) = model.evals_start_.values()
        assert line.get_xdata().tolist() == list(range(len(recorded["ndcg@5"]) + 1))
        assert line.get_ydata().tolist() == [started["ndcg@5"], *recorded["ndcg@5"]]
    assert display.ax_.get_ylabel() == "ndcg@5"
    assert display.ax_.get_xlabel() == "number of trees"
    assert display.figure_ is display.ax_.figure
    # a dot where early stopping found the best, and none for the ranker that used all trees
    (recorded,) = models["stopped"].evals_result_.values()
    best = int(np.argmax(recorded["ndcg@5"]))
    assert best + 1 < len(recorded["ndcg@5"])
    (dot,) = [line for line in display.ax_.lines if line not in display.lines_]
    assert dot.get_xdata().tolist() == [best + 1]
    assert dot.get_ydata().tolist() == [recorded["ndcg@5"][best]]


def test_a_cross_fit_has_a_curve_per_member_and_no_dot():
    data = make_ranking(n_queries=30, random_state=0)
    ranker = Ranker(n_estimators=8, early_stopping_rounds=2, n_jobs=1)
    ranker.fit(data.X, data.y, qid=data.qid)
    ranker.best_iteration_ = 1  # fewer than each curve has, as a blend with one member may
    display = LearningCurveDisplay.from_ranker(ranker)
    assert list(display.ax_.lines) == display.lines_
    for line, (member, recorded) in zip(display.lines_, ranker.evals_result_.items(), strict=True):
        assert member in line.get_label()
        started = ranker.evals_start_[member]["ndcg@10"]
        assert line.get_ydata().tolist() == [started, *recorded["ndcg@10"]]


def test_learning_curve_of_one_ranker_on_given_axes(rankers):
    models, _ = rankers
    _, ax = pyplot.subplots()
    display = LearningCurveDisplay.from_ranker(models["short"], metric="map", ax=ax, linewidth=5)
    assert display.ax_ is ax
    (recorded,) = models["short"].evals_result_.values()
    assert display.lines_[0].get_ydata()[1:].tolist() == recorded["map"]
    assert display.lines_[0].get_linewidth() == 5
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax


def test_learning_curves_of_results():
    record = {"train": {"ndcg": [0.1, 0.2]}, "valid": {"ndcg": [0.3, 0.4, 0.5]}}
    display = LearningCurveDisplay.from_results(record)
    assert {line.get_label(): line.get_ydata().tolist() for line in display.lines_} == {
        "train": [0.1, 0.2],
        "valid": [0.3, 0.4, 0.5],
    }
    both = LearningCurveDisplay.from_results({"a": record, "b": record})
    assert list(both.curves) == ["a, train", "a, valid", "b, train", "b, valid"]
    chosen = LearningCurveDisplay.from_results({"a": record, "b": record}, dataset="valid")
    assert list(chosen.curves) == ["a", "b"]
    assert chosen.curves["b"].tolist() == [0.3, 0.4, 0.5]
    plain = LearningCurveDisplay.from_results({"x": [1.0, 2.0]}, metric="map")
    assert plain.ax_.get_ylabel() == "map"
    assert plain.lines_[0].get_ydata().tolist() == [1.0, 2.0]


def test_a_learning_curve_starts_at_tree_0_where_that_value_is_known(rankers):
    models, _ = rankers
    (dataset,) = models["short"].evals_result_

    class Started:
        evals_result_ = models["short"].evals_result_
        evals_start_ = {dataset: {"ndcg@5": 0.25}}  # noqa: RUF012

    class Unstarted:
        evals_result_ = models["short"].evals_result_

    both = {"started": Started(), "short": Unstarted()}
    display = LearningCurveDisplay.from_ranker(both)
    recorded = models["short"].evals_result_[dataset]["ndcg@5"]
    started, plain = display.lines_
    assert started.get_xdata().tolist() == [0, 1, 2, 3, 4]
    assert started.get_ydata().tolist() == [0.25, *recorded]
    assert plain.get_xdata().tolist() == [1, 2, 3, 4]
    # of another metric nothing is known
    (line,) = LearningCurveDisplay.from_ranker(Started(), metric="map").lines_
    assert line.get_xdata().tolist() == [1, 2, 3, 4]


def test_learning_curves_of_results_with_their_starts():
    record, starts = {"train": {"ndcg": [0.1, 0.2]}, "valid": {"ndcg": [0.3]}}, {"ndcg": 0.05}
    lines = LearningCurveDisplay.from_results(record, starts={"train": starts}).lines_
    assert [line.get_xdata().tolist() for line in lines] == [[0, 1, 2], [1]]
    assert lines[0].get_ydata().tolist() == [0.05, 0.1, 0.2]
    models, begun = {"a": record, "b": record}, {"b": {"valid": starts}}
    chosen = LearningCurveDisplay.from_results(models, dataset="valid", starts=begun)
    assert [line.get_ydata().tolist() for line in chosen.lines_] == [[0.3], [0.05, 0.3]]
    plain = LearningCurveDisplay.from_results({"x": [1.0, 2.0]}, starts={"x": 0.5})
    assert plain.lines_[0].get_ydata().tolist() == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ({}, {}, "empty dict"),
        ([1.0, 2.0], {}, "results must be"),
        ({"a": {"b": {"c": {"d": [1.0]}}}}, {}, "nested 4 deep"),
        ({"valid": {"ndcg": [1.0]}}, {"metric": "map"}, r"metric must be one of \['ndcg'\]"),
        ({"valid": {"ndcg": [1.0]}}, {"dataset": "test"}, r"dataset must be one of \['valid'\]"),
        ({"x": [1.0]}, {"dataset": "test"}, "dataset cannot be chosen"),
        ({"x": []}, {}, "one row of numbers"),
    ],
)
def test_bad_results(results, options, message):
    with pytest.raises(ValueError, match=message):
        LearningCurveDisplay.from_results(results, **options)


def test_rankers_without_an_evaluation_set(rankers):
    _, train = rankers
    unwatched = Ranker.lightgbm_defaults("xendcg", n_estimators=1).fit(
        train.X, train.y, qid=train.qid
    )
    with pytest.raises(ValueError, match="'one' has no evals_result_"):
        LearningCurveDisplay.from_ranker({"one": unwatched})
    with pytest.raises(ValueError, match="at least one model"):
        LearningCurveDisplay.from_ranker({})


# --- means with intervals -----------------------------------------------------------------------


def drawn_intervals(display):
    """Return the intervals of an error bar from top to bottom, as drawn."""
    (bars,) = display.errorbar_.lines[2]
    return np.array([[start[0], end[0]] for start, end in bars.get_segments()])


def test_means_with_intervals(data):
    labels, models = data
    display = MetricComparisonDisplay.from_scores(labels, models, group=GROUP, metric="ndcg@5")
    expected = {name: ndcg_per_query(labels, s, 60, 5) for name, s in models.items()}
    means = [values.mean() for values in expected.values()]
    np.testing.assert_allclose(display.errorbar_.lines[0].get_xdata(), means)
    # the percentile bootstrap of a mean of 60 is near the normal interval
    errors = np.array([values.std() / np.sqrt(60) for values in expected.values()])
    found = drawn_intervals(display)
    np.testing.assert_allclose(found[:, 0], means - 1.96 * errors, atol=0.2 * errors.max())
    np.testing.assert_allclose(found[:, 1], means + 1.96 * errors, atol=0.2 * errors.max())
    # the first model is on top
    places = display.errorbar_.lines[0].get_ydata()
    labels_at = dict(
        zip(
            display.ax_.get_yticks(),
            [t.get_text() for t in display.ax_.get_yticklabels()],
            strict=True,
        )
    )
    assert [labels_at[place] for place in places] == ["good", "fair", "random"]
    assert places[0] == max(places)
    assert display.ax_.get_xlabel() == "ndcg@5, mean and 95% interval"


def test_differences_from_a_baseline(data):
    labels, models = data
    display = MetricComparisonDisplay.from_scores(
        labels, models, group=GROUP, metric="ndcg@5", baseline="fair", confidence=0.9
    )
    base = ndcg_per_query(labels, models["fair"], 60, 5)
    differences = {
        name: ndcg_per_query(labels, models[name], 60, 5) - base for name in ("good", "random")
    }
    assert list(display.means) == ["good", "random"]
    np.testing.assert_allclose(
        display.errorbar_.lines[0].get_xdata(), [d.mean() for d in differences.values()]
    )
    for (low, high), d in zip(drawn_intervals(display), differences.values(), strict=True):
        error = d.std() / np.sqrt(60)
        assert low == pytest.approx(d.mean() - 1.645 * error, abs=0.2 * error)
        assert high == pytest.approx(d.mean() + 1.645 * error, abs=0.2 * error)
    assert "from fair" in display.ax_.get_xlabel()
    assert "90% interval" in display.ax_.get_xlabel()


def test_weights_and_blank_queries_in_means(data):
    labels, models = data
    labels = labels.copy()
    labels[:10] = 0  # query 0 is blank
    weights = np.ones(60)
    weights[1], weights[2] = 0.0, 20.0
    display = MetricComparisonDisplay.from_scores(
        labels, {"one": models["fair"]}, group=GROUP, metric="ndcg@5", sample_weight=weights
    )
    values = ndcg_per_query(labels[10:], models["fair"][10:], 59, 5)
    mean = np.average(values, weights=weights[1:])
    assert display.means["one"] == pytest.approx(mean)
    # variance of a weighted mean: sum w^2 (v - mean)^2 / (sum w)^2 over the 58 that count
    error = np.sqrt(np.sum((weights[1:] * (values - mean)) ** 2)) / weights[1:].sum()
    low, high = display.intervals["one"]
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.15)


# --- differences per query ----------------------------------------------------------------------


def test_sorted_differences(data):
    labels, models = data
    two = {name: models[name] for name in ("fair", "good")}
    display = PerQueryDisplay.from_scores(labels, two, group=GROUP, metric="ndcg@5", alpha=0.5)
    values = {name: ndcg_per_query(labels, scores, 60, 5) for name, scores in two.items()}
    expected = np.sort(values["fair"] - values["good"])[::-1]
    expected[np.abs(expected) < 1e-12] = 0.0
    won, lost = display.won_.get_data(), display.lost_.get_data()
    np.testing.assert_allclose(won.values, np.maximum(expected, 0), atol=1e-12)
    np.testing.assert_allclose(lost.values, np.minimum(expected, 0), atol=1e-12)
    assert won.edges.tolist() == [i + 0.5 for i in range(61)]
    assert display.won_.get_alpha() == 0.5
    assert display.mean == pytest.approx(expected.mean())
    assert display.won_.get_label() == f"fair better: {np.sum(expected > 0)} queries"
    assert display.lost_.get_label() == f"good better: {np.sum(expected < 0)} queries"
    assert f"{np.sum(expected == 0)} tied" in display.ax_.get_xlabel()
    heights = [line.get_ydata()[0] for line in display.ax_.lines]
    assert heights == [0.0, pytest.approx(expected.mean())]
    (band,) = [p for p in display.ax_.patches if p not in (display.won_, display.lost_)]
    low, high = band.get_y(), band.get_y() + band.get_height()
    error = expected.std() / np.sqrt(60)
    assert low == pytest.approx(expected.mean() - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(expected.mean() + 1.96 * error, abs=0.2 * error)


def test_where_less_is_better_the_smaller_wins():
    labels, group = [1, 0, 1, 0], [2, 2]
    models = {"right": [2, 1, 2, 1], "half": [1, 2, 2, 1]}  # wrong in the first query
    metric = get_metric("pairwise_disagreement")
    display = PerQueryDisplay.from_scores(labels, models, group=group, metric=metric)
    assert display.differences.tolist() == [0.0, -1.0]
    assert display.won_.get_data().values.tolist() == [0.0, -1.0]
    assert display.lost_.get_data().values.tolist() == [0.0, 0.0]
    assert display.won_.get_label() == "right better: 1 queries"


# --- importances --------------------------------------------------------------------------------


class Fitted:
    feature_importances_ = np.array([3, 0, 7, 5])
    feature_names_in_ = np.array(["age", "empty", "clicks", "length"], dtype=object)


def drawn_bars(display):
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in display.bars_], strict=True))


def test_an_importance_plot():
    display = FeatureImportanceDisplay.from_estimator(Fitted(), color="red")
    assert list(drawn_bars(display).items()) == [
        ("clicks", 7),
        ("length", 5),
        ("age", 3),
        ("empty", 0),
    ]
    low, high = display.ax_.get_ylim()
    assert low > high  # the first bar is on top
    assert display.bars_[0].get_facecolor() == (1.0, 0.0, 0.0, 1.0)
    few = FeatureImportanceDisplay.from_estimator(Fitted(), max_features=2)
    assert drawn_bars(few) == {"clicks": 7, "length": 5}
    assert few.ax_.get_xlabel() == "importance (2 more features)"


def test_an_importance_plot_of_a_ranker_and_of_a_pipeline(rankers):
    models, train = rankers
    ranker = models["short"]
    expected = {
        f"feature {i}": value for i, value in enumerate(ranker.feature_importances_.tolist())
    }
    _, ax = pyplot.subplots()
    n_features = train.X.shape[1]
    display = FeatureImportanceDisplay.from_estimator(ranker, max_features=n_features, ax=ax)
    assert display.ax_ is ax
    assert drawn_bars(display) == expected
    pipeline = Pipeline([("nothing", None), ("rank", ranker)])
    display = FeatureImportanceDisplay.from_estimator(pipeline, max_features=n_features)
    assert drawn_bars(display) == expected


def test_importances_that_cannot_be_drawn():
    with pytest.raises(ValueError, match="object has no feature_importances_"):
        FeatureImportanceDisplay.from_estimator(object())
    with pytest.raises(ValueError, match="names must be as many as importances, 2, got 1"):
        FeatureImportanceDisplay([1, 2], ["a"])
    with pytest.raises(ValueError, match="max_features must be an integer >= 1, got 0"):
        FeatureImportanceDisplay([1, 2], max_features=0)


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": "best"}, r"baseline must be one of \['a', 'b'\], got 'best'"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"metric": "ndgc"}, "unknown metric 'ndgc'"),
        ({"group": [3]}, "group sizes must sum"),
        ({"group": [4]}, "at least two queries must count"),
        ({"scores": {}}, "at least one model"),
        ({"scores": {"a": [1, np.nan, 2, 3]}}, "model 'a': .*row 1"),
    ],
)
def test_bad_comparisons(change, message):
    scores = {"a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}
    good = {"labels": [0, 1, 1, 0], "scores": scores, "group": [2, 2]}
    with pytest.raises(ValueError, match=message):
        MetricComparisonDisplay.from_scores(**{**good, **change})


def test_scores_must_be_a_dict_of_models():
    with pytest.raises(TypeError, match="scores must be a dict of models, got list"):
        MetricComparisonDisplay.from_scores([0, 1], [0.1, 0.2], group=[2])
    with pytest.raises(ValueError, match="dict of two models, got list"):
        PerQueryDisplay.from_scores([0, 1], [0.1, 0.2], group=[2])
    with pytest.raises(ValueError, match=r"dict of two models, got \['a'\]"):
        PerQueryDisplay.from_scores([0, 1], {"a": [0.1, 0.2]}, group=[2])


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def no_matplotlib(name, *arguments, **options):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    with pytest.raises(ImportError, match=r'pip install "gbrank\[plot\]"'):
        LearningCurveDisplay.from_results({"a": [1.0]})


def test_an_explanation_of_a_pair_is_bars_that_sum_to_the_difference():
    data = make_ranking(n_queries=30, random_state=0)
    ranker = Ranker.lightgbm_defaults(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    why = ranker.explain_pair(data.X, 4, 2)
    display = ExplanationDisplay(why, max_features=100).plot()
    widths = [bar.get_width() for bar in display.bars_]
    assert sum(widths) == pytest.approx(why.scores[0] - why.scores[1], abs=1e-9)
    assert sorted(np.abs(widths), reverse=True) == np.abs(widths).tolist()
    assert display.ax_.get_xlabel().startswith("row 4 minus row 2: ")
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[0] == why.names[int(np.argmax(np.abs(why.contributions)))]


def test_an_explanation_of_a_list_is_a_map_of_documents_best_first():
    data = make_ranking(n_queries=30, random_state=0)
    ranker = Ranker.lightgbm_defaults(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    found = ranker.explain(data.X[data.qid == 3])
    display = ExplanationDisplay(found, max_features=4).plot()
    shown = display.image_.get_array()
    assert shown.shape == (4, len(found.scores))
    most = int(np.argmax(found.contributions.std(axis=0)))
    best_first = np.argsort(-found.scores, kind="stable")
    np.testing.assert_array_equal(shown[0], found.contributions[best_first, most])
    with pytest.raises(TypeError, match="must come from explain or explain_pair, got int"):
        ExplanationDisplay(3)
