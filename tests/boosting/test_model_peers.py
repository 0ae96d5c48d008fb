"""Saved models in the systems that read LightGBM's text: the same predictions everywhere."""

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import Ranker
from gbrank.data import make_ranking

KINDS = ["plain", "missing values", "stopped early", "categories", "several members"]


@pytest.fixture(scope="module", params=KINDS)
def travelled(request, tmp_path_factory):
    """Return a saved model, float32 features and what the Ranker that was saved predicts."""
    data = make_ranking(n_queries=60, list_length=(5, 30), random_state=5)
    rng = np.random.default_rng(0)
    X, y, more, evaluation = data.X.astype(np.float32), data.y, {}, {}
    if request.param == "missing values":
        X[rng.random(X.shape) < 0.1] = np.nan
    elif request.param == "stopped early":
        more = {"early_stopping_rounds": 3}
        evaluation = {"eval_X": X, "eval_y": rng.permutation(y), "eval_qid": data.qid}
    elif request.param == "categories":
        pandas = pytest.importorskip("pandas")
        codes = rng.integers(0, 12, len(X))
        y = y + (codes % 3 == 1)
        more = {"lgb_params": {"min_data_per_group": 5}}
    ranker = Ranker.lightgbm_defaults("xendcg", n_estimators=30, num_leaves=15, n_jobs=1, **more)
    if request.param == "several members":
        ranker = Ranker(preset="balanced", n_estimators=10, num_leaves=15, n_jobs=1)
    path = tmp_path_factory.mktemp("travelled") / "model.txt"
    if request.param == "categories":
        frame = pandas.DataFrame(X).rename(columns=str)
        frame["code"] = pandas.Categorical.from_codes(codes, [f"c{i}" for i in range(12)])
        ranker.fit(frame, y, qid=data.qid)
        expected = ranker.predict(frame)
        X = np.column_stack([X, codes]).astype(np.float32)  # what other systems are given
        assert "\ncat_threshold=" in ranker.booster_.model_to_string()
    else:
        expected = ranker.fit(X, y, qid=data.qid, **evaluation).predict(X)
    ranker.save_model(path)
    assert np.ptp(expected) > 0.1
    return str(path), X, expected


def test_lightgbm(travelled):
    path, X, expected = travelled
    booster = lgb.Booster(model_file=path)
    # an array where pandas categories were: LightGBM takes codes when it is told of no categories
    booster.pandas_categorical = None
    np.testing.assert_array_equal(booster.predict(X), expected)


def test_lightgbm_refits_as_a_ranker(travelled):
    """With ``objective=custom`` LightGBM could not, with ``regression`` it would silently err."""
    path, X, expected = travelled
    booster = lgb.Booster(model_file=path)
    booster.pandas_categorical = None
    labels = (expected > np.median(expected)).astype(int)
    refitted = booster.refit(X, labels, group=[len(X)], verbosity=-1)
    assert refitted.num_trees() == booster.num_trees()
    assert "\nobjective=lambdarank\n" in refitted.model_to_string()


def test_treelite(travelled):
    treelite = pytest.importorskip("treelite")
    path, X, expected = travelled
    model = treelite.frontend.load_lightgbm_model(path)
    for dtype in (np.float64, np.float32):
        scores = treelite.gtil.predict(model, np.ascontiguousarray(X, dtype=dtype))
        np.testing.assert_array_equal(scores.ravel(), expected)


def test_onnx(travelled):
    onnxmltools = pytest.importorskip("onnxmltools")
    onnxruntime = pytest.importorskip("onnxruntime")
    path, X, expected = travelled
    features = onnxmltools.convert.common.data_types.FloatTensorType([None, X.shape[1]])
    model = onnxmltools.convert_lightgbm(
        lgb.Booster(model_file=path), initial_types=[("X", features)]
    )
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (scores,) = session.run(None, {"X": X})
    np.testing.assert_allclose(scores.ravel(), expected, rtol=0, atol=1e-5)


def test_shap(travelled):
    shap = pytest.importorskip("shap")
    path, X, expected = travelled
    booster = lgb.Booster(model_file=path)
    booster.pandas_categorical = None
    explainer = shap.TreeExplainer(booster)
    shares = explainer.shap_values(X)
    assert shares.shape == X.shape
    np.testing.assert_allclose(
        shares.sum(axis=1) + explainer.expected_value, expected, rtol=0, atol=1e-9
    )
