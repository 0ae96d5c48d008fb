"""Scores with a meaning: probabilities that come true, an order that stays, files that load."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import cross_validate

from gbrank import CalibratedRanker, QueryKFold, Ranker, calibration_error
from gbrank.data import make_ranking
from gbrank.plotting import ReliabilityDisplay

TRAIN, TEST = make_ranking(n_queries=160, list_length=(5, 15), random_state=0).split(0.5)
FAST = Ranker(preset="fast", n_estimators=40, learning_rate=0.1)
DATA = os.environ.get("GBRANK_DATA")


@pytest.fixture(scope="module", params=["isotonic", "platt"])
def model(request):
    calibrated = CalibratedRanker(Ranker(n_estimators=40), method=request.param)
    return calibrated.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)


def test_no_two_documents_change_places(model):
    scores = model.ranker_.predict(TEST.X)
    order = np.argsort(scores)
    for values in (
        model.predict(TEST.X),
        *(model.probability(TEST.X, at_least=grade) for grade in model.grades_),
    ):
        assert (np.diff(values[order]) >= -1e-12).all()
    np.testing.assert_array_equal(
        model.rank(TEST.X, qid=TEST.qid), model.ranker_.rank(TEST.X, qid=TEST.qid)
    )
    assert model.score(TEST.X, TEST.y, qid=TEST.qid) == model.ranker_.score(
        TEST.X, TEST.y, qid=TEST.qid
    )


def test_probabilities_are_probabilities(model):
    shares = model.predict_proba(TEST.X)
    assert shares.shape == (len(TEST.y), len(model.grades_))
    assert (shares >= -1e-12).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict(TEST.X), shares @ (2.0**model.grades_ - 1))
    assert (model.probability(TEST.X, at_least=0) == 1).all()
    assert (model.probability(TEST.X, at_least=9) == 0).all()
    between = model.probability(TEST.X, at_least=1.5)
    np.testing.assert_array_equal(between, model.probability(TEST.X, at_least=2))


def test_they_come_true_better_than_a_sigmoid_of_scores(model):
    scores = model.ranker_.predict(TEST.X)
    for grade in (1, 2):
        came_true = TEST.y >= grade
        ours = calibration_error(model.probability(TEST.X, at_least=grade), came_true)
        assert ours < calibration_error(1 / (1 + np.exp(-scores)), came_true)
        assert ours < 0.12


def test_a_ranker_without_out_of_fold_scores_is_cross_fitted():
    model = CalibratedRanker(FAST, cv=3).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    on_training = CalibratedRanker(FAST)
    scores = model.ranker_.predict(TRAIN.X)
    promised = on_training._curve(scores, TRAIN.y >= 1)
    p = np.interp(model.ranker_.predict(TEST.X), *promised)
    came_true = TEST.y >= 1
    assert calibration_error(model.probability(TEST.X), came_true) < calibration_error(p, came_true)
    by_group = CalibratedRanker(FAST, cv=3).fit(TRAIN.X, TRAIN.y, group=TRAIN.group)
    np.testing.assert_array_equal(by_group.predict(TEST.X), model.predict(TEST.X))


def test_a_frame_with_a_column_of_queries():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TRAIN.X).rename(columns=str).assign(query=TRAIN.qid)
    ranker = clone(FAST).set_params(qid="query")
    model = CalibratedRanker(ranker, cv=3).fit(frame, TRAIN.y)
    plain = CalibratedRanker(FAST, cv=3).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    np.testing.assert_allclose(model.predict(frame), plain.predict(TRAIN.X))


def test_the_files(model, tmp_path):
    path = tmp_path / "model.txt"
    model.save_model(path)
    loaded = CalibratedRanker.load_model(path)
    np.testing.assert_array_equal(loaded.predict(TEST.X), model.predict(TEST.X))
    np.testing.assert_array_equal(Ranker.load_model(path).predict(TEST.X),
                                  model.ranker_.predict(TEST.X))  # fmt: skip
    beside = Path(f"{path}.calibration.json")
    content = json.loads(beside.read_text())
    for key, value in (("curves", [[[2.0, 1.0], [0.1, 0.2]]] * len(content["curves"])),
                       ("grades", [0]), ("method", "other"), ("format", "?")):  # fmt: skip
        beside.write_text(json.dumps({**content, key: value}))
        with pytest.raises(ValueError, match="holds no calibration"):
            CalibratedRanker.load_model(path)
    beside.write_text(json.dumps({**content, "model": "0"}))
    with pytest.raises(ValueError, match="belongs to another model"):
        CalibratedRanker.load_model(path)
    beside.write_text("{")
    with pytest.raises(ValueError, match="holds no calibration"):
        CalibratedRanker.load_model(path)


def test_a_gain_of_ones_own_survives_the_file(tmp_path):
    model = CalibratedRanker(FAST, cv=2, gain=np.sqrt).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    model.save_model(tmp_path / "model.txt")
    loaded = CalibratedRanker.load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(TEST.X), model.predict(TEST.X))


@pytest.mark.parametrize(
    ("params", "labels", "message"),
    [
        ({"method": "beta"}, TRAIN.y, "method must be"),
        ({"cv": 1}, TRAIN.y, "cv must be"),
        ({}, np.zeros(len(TRAIN.y)), "labels must be 2 to"),
        ({}, np.arange(len(TRAIN.y)) / 7, "labels must be 2 to"),
    ],
)
def test_bad_input(params, labels, message):
    with pytest.raises(ValueError, match=message):
        CalibratedRanker(FAST, **params).fit(TRAIN.X, labels, qid=TRAIN.qid)


def test_calibration_error():
    assert calibration_error([0.3] * 10, [1] * 3 + [0] * 7, n_bins=1) == pytest.approx(0.0)
    assert calibration_error([0.0, 1.0], [1, 0], n_bins=2) == 1.0
    for p, outcome in (([1.5], [1]), ([], []), ([0.5], [2]), ([0.5], [1, 0])):
        with pytest.raises(ValueError, match="must be"):
            calibration_error(p, outcome)


def test_reliability_is_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    p = np.linspace(0, 1, 100)
    display = ReliabilityDisplay(p, p > 0.5, n_bins=4, label="x").plot()
    np.testing.assert_allclose(display.found_, [0, 0, 1, 1])
    assert len(display.ax_.containers) == 1
    with pytest.raises(ValueError, match="outcome must have a value for each"):
        ReliabilityDisplay([0.1], [0, 1])


@pytest.mark.skipif(DATA is None, reason="GBRANK_DATA names no folder of data sets")
@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED_QLN", "MSLR_merged", "table_www2018"])
def test_real_data_sets(name):
    with np.load(Path(DATA) / f"{name}.npz") as kept:
        X, y, qid, part = (kept[key] for key in ("X", "y", "qid", "part"))
    test = part == part.max()
    ranker = Ranker(preset="fast", n_estimators=60, learning_rate=0.1, n_jobs=1)
    model = CalibratedRanker(ranker, cv=3).fit(X[~test], y[~test], qid=qid[~test])
    came_true = y[test] >= 1
    raw = 1 / (1 + np.exp(-model.ranker_.predict(X[test])))
    ours = calibration_error(model.probability(X[test]), came_true)
    assert ours < calibration_error(raw, came_true)


def test_a_start_relative_to_the_query_is_calibrated_too():
    ranker = clone(FAST).set_params(start="query_linear")
    model = CalibratedRanker(ranker, cv=2).fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid)
    assert model.predict(TEST.X, qid=TEST.qid).shape == TEST.y.shape


def test_default_scoring_of_scikit_learn_and_names_of_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TRAIN.X, columns=[f"f{n}" for n in range(TRAIN.X.shape[1])])
    model = CalibratedRanker(Ranker(n_estimators=3))
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(model).set_fit_request(qid=True).set_score_request(qid=True)
        given = {"cv": QueryKFold(2), "params": {"qid": TRAIN.qid}}
        scores = cross_validate(asked, frame, TRAIN.y, **given)["test_score"]
    assert ((scores > 0.3) & (scores <= 1)).all()
    model.fit(frame, TRAIN.y, qid=TRAIN.qid)
    assert list(model.feature_names_in_) == list(frame.columns)
    model.save_model(tmp_path / "model.txt")
    loaded = CalibratedRanker.load_model(tmp_path / "model.txt")
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert not hasattr(model.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid), "feature_names_in_")
