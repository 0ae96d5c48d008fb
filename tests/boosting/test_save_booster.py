"""Line 5 of "change the objective, keep the rest": models of ``lgb.train`` that travel."""

import re

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART, Ranker, save_booster
from gbrank.metrics import feval

RNG = np.random.default_rng(5)
GROUP = RNG.integers(3, 25, 60)
X = RNG.normal(size=(GROUP.sum(), 4)).astype(np.float32).astype(np.float64)
Y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X))), 0, 3)
PARAMS = {"num_threads": 1, "num_leaves": 7, "min_data_in_leaf": 5, "metric": "None"}


def train(objective, n_trees: int = 10, **given) -> lgb.Booster:
    data = lgb.Dataset(X, Y, group=GROUP, params={"verbose": -1})
    return lgb.train({**PARAMS, "objective": objective, "verbose": -1}, data, n_trees, **given)


@pytest.fixture
def saved(tmp_path):
    booster = train(XENDCG())
    path = tmp_path / "model.txt"
    save_booster(booster, path)
    return booster, path


def test_lightgbm_predicts_the_same(saved):
    booster, path = saved
    assert b"objective=" not in booster.model_to_string().split("Tree=")[0].encode()
    assert "\nobjective=lambdarank\n" in path.read_text()
    same = lgb.Booster(model_file=path)
    np.testing.assert_array_equal(same.predict(X), booster.predict(X))
    contributions = same.predict(X, pred_contrib=True)
    np.testing.assert_array_equal(contributions, booster.predict(X, pred_contrib=True))


def test_refit_works_and_fails_without(saved, tmp_path):
    booster, path = saved
    booster.save_model(tmp_path / "plain.txt")
    plain = lgb.Booster(model_file=tmp_path / "plain.txt")
    with pytest.raises(lgb.basic.LightGBMError, match="No objective function"):
        plain.refit(X, Y, group=GROUP)
    again = lgb.Booster(model_file=path).refit(X, Y, group=GROUP, decay_rate=0.5)
    assert again.num_trees() == booster.num_trees()
    assert np.ptp(again.predict(X)) > 0.1


def test_onnx(saved):
    onnxmltools = pytest.importorskip("onnxmltools")
    onnxruntime = pytest.importorskip("onnxruntime")
    from onnxmltools.convert.common.data_types import FloatTensorType

    booster, path = saved
    features = [("X", FloatTensorType([None, X.shape[1]]))]
    model = onnxmltools.convert_lightgbm(
        lgb.Booster(model_file=path), initial_types=features, zipmap=False
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (scores,) = session.run(None, {"X": X.astype(np.float32)})[:1]
    np.testing.assert_allclose(np.ravel(scores), booster.predict(X), rtol=1e-5, atol=1e-5)


def test_treelite(saved):
    treelite = pytest.importorskip("treelite")
    booster, path = saved
    model = treelite.frontend.load_lightgbm_model(path)
    scores = np.ravel(treelite.gtil.predict(model, X))
    np.testing.assert_allclose(scores, booster.predict(X), rtol=1e-6, atol=1e-6)


def test_the_best_trees_are_written(tmp_path):
    data = lgb.Dataset(X, RNG.permutation(Y), group=GROUP, params={"verbose": -1})
    held_out = lgb.Dataset(X, Y, group=GROUP, reference=data)
    booster = lgb.train(
        {**PARAMS, "objective": LambdaMART(), "verbose": -1},
        data,
        50,
        [held_out],
        feval=feval("ndcg@5"),
        callbacks=[lgb.early_stopping(3, verbose=False)],
        keep_training_booster=True,
    )
    assert booster.best_iteration < booster.num_trees()
    save_booster(booster, tmp_path / "best.txt")
    same = lgb.Booster(model_file=tmp_path / "best.txt")
    assert same.num_trees() == booster.best_iteration
    np.testing.assert_array_equal(same.predict(X), booster.predict(X))
    save_booster(booster, tmp_path / "two.txt", num_iteration=2)
    assert lgb.Booster(model_file=tmp_path / "two.txt").num_trees() == 2


def test_lgbm_ranker_and_going_on(saved, tmp_path):
    model = lgb.LGBMRanker(objective=XENDCG(), n_estimators=5, verbose=-1, metric="None")
    model.fit(X, Y, group=GROUP)
    save_booster(model, tmp_path / "ranker.txt")
    same = lgb.Booster(model_file=tmp_path / "ranker.txt")
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    _, path = saved
    more = Ranker.lightgbm_defaults(n_estimators=3).fit(X, Y, group=GROUP, init_model=path)
    assert more.booster_.num_trees() == 13


def test_what_is_no_ranking_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'regression', not one for ranking: use its save_model"):
        save_booster(train("regression"), tmp_path / "model.txt")
    ranker = Ranker.lightgbm_defaults(n_estimators=2).fit(X, Y, group=GROUP)
    with pytest.raises(TypeError, match="got Ranker: use its save_model"):
        save_booster(ranker, tmp_path / "model.txt")
    with pytest.raises(
        TypeError, match=r"booster must be a lightgbm\.Booster or LGBMRanker, got str"
    ):
        save_booster("model.txt", tmp_path / "model.txt")
    assert not (tmp_path / "model.txt").exists()


def test_native_ranking_models_may_be_saved_too(tmp_path):
    native = train("rank_xendcg")
    save_booster(native, tmp_path / "model.txt")
    same = lgb.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_array_equal(same.predict(X), native.predict(X))


@pytest.mark.parametrize("kind", ["save_booster", "Ranker.save_model"])
def test_plain_lightgbm_logs_no_unrecognized_parameter(tmp_path, kind, capfd):
    path = tmp_path / "model.txt"
    if kind == "save_booster":
        save_booster(train(XENDCG()), path)
    else:
        Ranker.lightgbm_defaults(n_estimators=2).fit(X, Y, group=GROUP).save_model(path)
    lgb.Dataset(X, Y, params={"verbose": 1}).construct()  # LightGBM logs again
    capfd.readouterr()
    loaded = lgb.Booster(model_file=path)
    lgb.Booster(model_str=loaded.model_to_string())  # as it was written again
    assert "unrecognized" not in "".join(capfd.readouterr()).lower()
    assert loaded.params["objective"] == "lambdarank"
    # the words of the check above are LightGBM's
    odd = re.sub(r"\nend of parameters", "\n[nonsense: 1]\nend of parameters", path.read_text())
    lgb.Booster(model_str=odd)
    assert "unrecognized parameter 'nonsense'" in "".join(capfd.readouterr())
