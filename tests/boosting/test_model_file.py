"""Saved models: exact round trips, and refusals of whatever was not saved so."""

import hashlib
import json
import os
import pickle
import re
import stat
import sys
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import gbrank
from gbrank import XENDCG, LambdaMART, ListNet, Ranker, register_objective
from gbrank.boosting.model_file import read_model, write_model
from gbrank.boosting.saved_values import decode, encode
from gbrank.core.files import write_atomically
from gbrank.core.gains import PowerDiscount
from gbrank.data import make_ranking
from gbrank.objectives import GainPairwise, _registry

SMALL = {"n_estimators": 12, "num_leaves": 7, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=50, list_length=(5, 30), random_state=3)


@pytest.fixture(scope="module")
def fitted(data):
    return Ranker.lightgbm_defaults("listnet", **SMALL).fit(data.X, data.y, qid=data.qid)


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.txt"
    fitted.save_model(path)
    return path


def load_quietly(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Ranker.load_model(path)


def signed(data: bytes) -> bytes:
    """Return the file with the checksum that the format asks for: SHA-256, own digits zero."""
    digits = re.search(rb'"checksum": "sha256:([0-9a-f]{64})"}\n', data)
    zeroed = data[: digits.start(1)] + b"0" * 64 + data[digits.end(1) :]
    checksum = hashlib.sha256(zeroed).hexdigest().encode()
    return data[: digits.start(1)] + checksum + data[digits.end(1) :]


def metadata_of(path):
    """Read our line as any program would."""
    (line,) = re.findall(r"^\[gbrank: \]: (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return json.loads(line)


def rewrite_metadata(path, change):
    metadata = metadata_of(path)
    change(metadata)
    line = f"[gbrank: ]: {json.dumps(metadata)}"
    text = re.sub(r"^\[gbrank: .*$", lambda _: line, path.read_text("utf-8"), flags=re.MULTILINE)
    path.write_bytes(signed(text.encode()))


# --- the round trip --------------------------------------------------------------------------


def assert_same_model(loaded, ranker, X):
    for how in ({}, {"pred_leaf": True}, {"pred_contrib": True}, {"num_iteration": 3}):
        if "pred_contrib" in how and "linear_tree" in (ranker.lgb_params or {}):
            continue  # LightGBM cannot
        np.testing.assert_array_equal(loaded.predict(X, **how), ranker.predict(X, **how))
    assert repr(loaded.get_params()) == repr(ranker.get_params())
    assert type(loaded.objective_) is type(ranker.objective_)
    assert repr(loaded.objective_.get_params()) == repr(ranker.objective_.get_params())
    assert loaded.best_iteration_ == ranker.best_iteration_
    assert loaded.evals_result_ == ranker.evals_result_
    assert loaded.n_features_in_ == ranker.n_features_in_
    for kind in ("split", "gain"):
        np.testing.assert_array_equal(
            loaded.booster_.feature_importance(kind), ranker.booster_.feature_importance(kind)
        )


@pytest.mark.parametrize(
    "ranker",
    [
        Ranker.lightgbm_defaults("xendcg", random_state=7, **SMALL),
        Ranker.lightgbm_defaults(LambdaMART(sigmoid=2, gain=[0, 1, 3, 7, 15]), **SMALL),
        Ranker.lightgbm_defaults(
            ListNet(temperature=0.1 + 0.2, k=3), eval_metric=["ndcg@5", "err"], **SMALL
        ),
        Ranker.lightgbm_defaults(GainPairwise(discount=PowerDiscount(0.3)), **SMALL),
        Ranker.lightgbm_defaults("listnet", boosting_type="dart", **SMALL),
        Ranker.lightgbm_defaults("listnet", lgb_params={"linear_tree": True}, **SMALL),
    ],
    ids=["xendcg", "table of gains", "list of metrics", "power discount", "dart", "linear leaves"],
)
def test_round_trip_is_exact(ranker, data, tmp_path):
    ranker = clone(ranker).fit(data.X, data.y, qid=data.qid)
    ranker.save_model(tmp_path / "model.txt")
    loaded = load_quietly(tmp_path / "model.txt")
    assert_same_model(loaded, ranker, data.X)
    assert loaded.score(data.X, data.y, qid=data.qid) == ranker.score(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(
        loaded.rank(data.X, qid=data.qid), ranker.rank(data.X, qid=data.qid)
    )
    loaded.save_model(tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "model.txt").read_bytes()


def test_pandas_names_and_categories_survive(data, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(data.X[:, :4], columns=["a name", "größe", "x", "y"])
    colours, grades = ["red", "grün", "new\nline", 'a "b"'], [10, 20, 30]
    X["colour"] = pd.Categorical(rng.choice(colours, len(X)), categories=colours)
    X["grade"] = pd.Categorical(rng.choice(grades, len(X)), categories=grades)
    y = (data.y > 1) + 2.0 * (X["colour"] == "red") + (X["grade"] == 20)
    ranker = Ranker.lightgbm_defaults("listnet", lgb_params={"min_data_per_group": 5}, **SMALL)
    ranker.fit(X, y, qid=data.qid)
    assert "\ncat_threshold=" in ranker.booster_.model_to_string()
    ranker.save_model(tmp_path / "model.txt")
    loaded = load_quietly(tmp_path / "model.txt")
    assert_same_model(loaded, ranker, X)
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == X.columns.tolist()
    # the same categories with other codes: LightGBM must know the old ones
    other = X.copy()
    other["colour"] = other["colour"].cat.set_categories([*colours[::-1], "never seen"])
    np.testing.assert_array_equal(loaded.predict(other), ranker.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X.rename(columns={"x": "z"}))


def test_early_stopping_writes_the_trees_that_predict_uses(data, tmp_path):
    half = data.qid < np.median(data.qid)
    X, y, qid = data.X[half], data.y[half], data.qid[half]
    ranker = Ranker.lightgbm_defaults(
        "lambdamart", early_stopping_rounds=5, **SMALL | {"n_estimators": 60}
    )
    ranker.fit(
        *(X, y), qid=qid, eval_X=data.X[~half], eval_y=data.y[~half], eval_qid=data.qid[~half]
    )
    grown = len(ranker.evals_result_["valid_0"]["ndcg@10"])
    assert 1 < ranker.best_iteration_ == grown - 5 < 60 - 5
    ranker.save_model(tmp_path / "model.txt")
    text = (tmp_path / "model.txt").read_text("utf-8")
    assert len(re.findall(r"^Tree=", text, re.MULTILINE)) == ranker.best_iteration_
    loaded = load_quietly(tmp_path / "model.txt")
    assert_same_model(loaded, ranker, data.X)
    plain = lgb.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_array_equal(plain.predict(data.X), ranker.predict(data.X))


def test_trees_beyond_those_of_predict_are_not_written(data, fitted, tmp_path):
    """Also where the booster has more trees, as after a continued training."""
    ranker = clone(fitted)
    ranker.__dict__.update(vars(fitted))
    ranker.best_iteration_ = 4
    ranker.save_model(tmp_path / "model.txt")
    expected = fitted.booster_.predict(data.X, num_iteration=4)
    assert not np.array_equal(expected, fitted.predict(data.X))
    np.testing.assert_array_equal(load_quietly(tmp_path / "model.txt").predict(data.X), expected)
    plain = lgb.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_array_equal(plain.predict(data.X), expected)


def test_real_data(real_data, tmp_path):
    real = real_data("OHSUMED_null")
    assert np.isnan(real["X"]).any()
    ranker = Ranker.lightgbm_defaults("xendcg", n_estimators=5, n_jobs=1).fit(
        real["X"], real["y"], qid=real["qid"]
    )
    ranker.save_model(tmp_path / "model.txt")
    plain = lgb.Booster(model_file=tmp_path / "model.txt")
    expected = ranker.predict(real["X"])
    assert len(np.unique(expected)) > 20
    np.testing.assert_array_equal(load_quietly(tmp_path / "model.txt").predict(real["X"]), expected)
    np.testing.assert_array_equal(plain.predict(real["X"]), expected)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.floats(-1e300, 1e300), min_size=7, max_size=7))
def test_every_leaf_value_survives(fitted, tmp_path_factory, values):
    booster = lgb.Booster(model_str=fitted.booster_.model_to_string())
    for leaf, value in enumerate(values):
        booster.set_leaf_output(0, leaf, value)
    path = tmp_path_factory.mktemp("leaves") / "model.txt"
    write_model(booster, path, {})
    again, _ = read_model(path)
    for leaf in range(7):
        assert again.get_leaf_output(0, leaf) == booster.get_leaf_output(0, leaf)


def test_file_is_lightgbms_text_with_lambdarank_twice_and_one_line_of_ours(fitted, saved):
    text = saved.read_text("utf-8")
    header, rest = text.split("\n\nTree=0\n", 1)
    parameters = rest.split("\nparameters:\n")[1].split("\n\nend of parameters\n")[0].split("\n")
    assert [line for line in header.split("\n") if line.startswith("objective=")] == [
        "objective=lambdarank"
    ]
    assert [line for line in parameters if line.startswith("[objective:")] == [
        "[objective: lambdarank]"
    ]
    assert [line for line in parameters if "gbrank" in line] == parameters[-1:]
    # all else is as LightGBM writes it
    same = text.replace("objective=lambdarank\n", "").replace("lambdarank]", "custom]")
    same = same.replace(parameters[-1] + "\n", "")
    assert same == fitted.booster_.model_to_string()
    metadata = metadata_of(saved)
    assert metadata["versions"] == {"gbrank": gbrank.__version__, "lightgbm": lgb.__version__}
    assert metadata["objective"]["$objective"]["name"] == "listnet"
    assert metadata["fitted"]["n_features_in_"] == fitted.n_features_in_
    assert signed(saved.read_bytes()) == saved.read_bytes()


def test_lightgbm_writes_it_again_and_it_still_loads(fitted, saved, data):
    lgb.Booster(model_file=saved).save_model(saved.with_name("again.txt"))
    loaded = load_quietly(saved.with_name("again.txt"))
    assert_same_model(loaded, fitted, data.X)


def test_booster_that_lightgbm_loaded_is_written_with_new_metadata(saved, tmp_path):
    write_model(lgb.Booster(model_file=saved), tmp_path / "new.txt", {"note": "new"})
    assert len(re.findall(rb"\n\[gbrank: ", (tmp_path / "new.txt").read_bytes())) == 1
    assert read_model(tmp_path / "new.txt")[1]["note"] == "new"


def test_loaded_model_is_an_estimator_like_any_other(fitted, saved, data):
    loaded = load_quietly(saved)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(loaded)).predict(data.X), fitted.predict(data.X)
    )
    refitted = clone(loaded).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(refitted.predict(data.X), fitted.predict(data.X))
    np.testing.assert_array_equal(loaded.feature_importances_, fitted.feature_importances_)


@pytest.mark.parametrize("objective", ["xendcg", "lambdamart"])
def test_training_continues_from_a_loaded_model(objective, data, tmp_path):
    first = Ranker.lightgbm_defaults(objective, **SMALL).fit(data.X, data.y, qid=data.qid)
    first.save_model(tmp_path / "model.txt")
    from_memory, from_file = (
        Ranker.lightgbm_defaults(objective, **SMALL).fit(
            data.X, data.y, qid=data.qid, init_model=model
        )
        for model in (first, load_quietly(tmp_path / "model.txt"))
    )
    assert from_file.best_iteration_ == 24
    assert from_file.booster_.model_to_string() == from_memory.booster_.model_to_string()


def test_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        Ranker().save_model(tmp_path / "model.txt")
    assert list(tmp_path.iterdir()) == []


# --- damage ----------------------------------------------------------------------------------


def test_every_flipped_byte_is_noticed(saved):
    good = saved.read_bytes()
    ours = re.search(rb"^\[gbrank: .*\n", good, re.MULTILINE)
    rng = np.random.default_rng(0)
    anywhere = np.linspace(0, len(good) - 1, 300).astype(int)
    in_our_line = np.linspace(ours.start(), ours.end() - 1, 100).astype(int)
    in_checksum = np.arange(ours.end() - 70, ours.end())
    for position in np.concatenate([anywhere, in_our_line, in_checksum]):
        bad = bytearray(good)
        bad[position] ^= rng.integers(1, 256)
        saved.write_bytes(bad)
        with pytest.raises(ValueError, match=r"model\.txt is not a model file of gbrank: "):
            Ranker.load_model(saved)


def test_every_single_bit_of_a_leaf_value_counts(saved):
    """Digits that change the numbers and leave a perfectly good LightGBM file."""
    good = saved.read_bytes()
    leaves = re.search(rb"\nleaf_value=(\S+)", good)
    for position in range(leaves.start(1), leaves.end(1)):
        if good[position : position + 1] in b"0123456789":
            bad = bytearray(good)
            bad[position] ^= 1  # 0 <-> 1, 2 <-> 3, ...
            saved.write_bytes(bad)
            with pytest.raises(ValueError, match="damaged or edited"):
                Ranker.load_model(saved)


def test_truncated_file(saved):
    good = saved.read_bytes()
    for length in np.linspace(1, len(good) - 1, 150).astype(int):
        saved.write_bytes(good[:length])
        with pytest.raises(ValueError, match="is not a model file of gbrank"):
            Ranker.load_model(saved)
    saved.write_bytes(good[: len(good) // 2])
    with pytest.raises(ValueError, match="breaks off before its end"):
        Ranker.load_model(saved)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda good: b"", "it is empty"),
        (lambda good: b"\x80\x04K\x01.", "starts with the line 'tree'"),
        (lambda good: pickle.dumps({"a": 1}), "starts with the line 'tree'"),
        (lambda good: b"1 qid:1 1:0.5\n", "starts with the line 'tree'"),
        (lambda good: good.replace(b"\n", b"\r\n"), "line ends"),
        (lambda good: good + b"\n", "damaged or edited"),
        (lambda good: good + good, r"\[gbrank: \.\.\.\] line is damaged"),
        (lambda good: re.sub(rb', "checksum": "[^"]*"', b"", good), "line is damaged"),
        (lambda good: re.sub(rb"sha256:.{4}", b"sha256:zzzz", good), "line is damaged"),
        (lambda good: re.sub(rb"sha256:.{4}", b"sha256:ffff", good), "damaged or edited"),
        (lambda good: signed(good.replace(b'"versions"', b'"visions"')), "which version wrote it"),
        (lambda good: signed(good.replace(b'{"format"', b'{{"format"')), "which version wrote it"),
        (lambda good: signed(good.replace(b'"fitted"', b'"fatted"')), "holds trees, but no Ranker"),
        (
            lambda good: signed(good.replace(b"\nfeature_names=", b"\nnames=")),
            "cannot be read by gbrank",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said(saved, damage, message):
    saved.write_bytes(damage(saved.read_bytes()))
    with pytest.raises(ValueError, match=message) as error:
        Ranker.load_model(saved)
    assert str(saved) in str(error.value)


def test_model_of_lightgbm_itself_is_foreign(data, tmp_path):
    ranker = lgb.LGBMRanker(n_estimators=2, verbosity=-1).fit(data.X, data.y, group=data.group)
    ranker.booster_.save_model(tmp_path / "theirs.txt")
    with pytest.raises(ValueError, match=r"theirs\.txt.*lightgbm\.Booster\(model_file="):
        Ranker.load_model(tmp_path / "theirs.txt")


def test_missing_file_and_folder(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt"):
        Ranker.load_model(tmp_path / "nowhere.txt")
    with pytest.raises(IsADirectoryError):
        Ranker.load_model(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        fitted.save_model(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"the folder of .*model\.txt does not exist"):
        fitted.save_model(tmp_path / "no such folder" / "model.txt")


# --- versions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "newer"),
    [("999.0.0", True), ("0.1.1", True), ("0.1.0", False), ("0.0.99", False), ("1.0rc1", True)],
)
def test_newer_version_warns_and_predicts(fitted, saved, data, monkeypatch, version, newer):
    monkeypatch.setattr(gbrank, "__version__", "0.1.0")
    rewrite_metadata(saved, lambda metadata: metadata["versions"].update(gbrank=version))
    if newer:
        with pytest.warns(UserWarning, match=f"written by gbrank {version}") as caught:
            loaded = Ranker.load_model(saved)
        assert Path(caught[0].filename).name == "test_model_file.py"
    else:
        loaded = load_quietly(saved)
    np.testing.assert_array_equal(loaded.predict(data.X), fitted.predict(data.X))


def test_newer_format_warns(saved):
    rewrite_metadata(saved, lambda metadata: metadata.update(format=2))
    with pytest.warns(UserWarning, match="newer than gbrank"):
        Ranker.load_model(saved)


def test_what_a_newer_version_adds_does_not_stop_predictions(fitted, saved, data):
    def change(metadata):
        metadata["parameters"]["brand_new"] = 3
        metadata["parameters"]["eval_metric"] = {"$brand_new_kind": [1, 2]}
        metadata["objective"]["$objective"]["params"]["brand_new"] = 4
        del metadata["parameters"]["max_depth"]

    rewrite_metadata(saved, change)
    with pytest.warns(UserWarning, match=r"left out: \['brand_new'\]"):
        loaded = Ranker.load_model(saved)
    np.testing.assert_array_equal(loaded.predict(data.X), fitted.predict(data.X))
    assert loaded.max_depth == -1
    with pytest.raises(ValueError, match=r"eval_metric was .*brand_new_kind"):
        loaded.fit(data.X, data.y, qid=data.qid)


# --- what a file holds by name only ----------------------------------------------------------


def cubic_gain(labels):
    return labels**3


class DoubledListNet(ListNet):
    """A user's own objective."""

    def __init__(self, strength=2.0, *, n_jobs=None):
        super().__init__(n_jobs=n_jobs)
        self.strength = strength


@pytest.fixture
def registry(monkeypatch):
    """The registry of objectives, as it was when the test ends."""
    monkeypatch.setattr(_registry, "_REGISTRY", dict(_registry._REGISTRY))
    return _registry._REGISTRY


def test_function_is_asked_for_before_a_refit(data, tmp_path):
    ranker = Ranker.lightgbm_defaults(LambdaMART(gain=cubic_gain), **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    ranker.save_model(tmp_path / "model.txt")
    loaded = load_quietly(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    assert loaded.score(data.X, data.y, qid=data.qid) == ranker.score(data.X, data.y, qid=data.qid)
    for unfinished in (loaded, clone(loaded), pickle.loads(pickle.dumps(loaded))):
        with pytest.raises(
            ValueError, match=r"objective__gain was .*cubic_gain.*set_params\(objective__gain="
        ):
            unfinished.fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match=r"cubic_gain was saved by name only"):
        loaded.objective_.grad_hess([0, 1], [0, 0], [2])
    loaded.save_model(tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "model.txt").read_bytes()
    loaded.set_params(objective__gain=cubic_gain).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))


def test_own_metric_is_asked_for_before_a_refit(data, tmp_path):
    metrics = ["ndcg@5", lambda scores, dataset: ("mine", 0.0, True)]
    ranker = Ranker.lightgbm_defaults("listnet", eval_metric=metrics, **SMALL).fit(
        data.X, data.y, qid=data.qid
    )
    ranker.save_model(tmp_path / "model.txt")
    loaded = load_quietly(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    with pytest.raises(ValueError, match=r"eval_metric was .*<lambda>"):
        loaded.fit(data.X, data.y, qid=data.qid)
    loaded.set_params(eval_metric="ndcg@5").fit(data.X, data.y, qid=data.qid)


@pytest.mark.parametrize("by_name", [True, False])
def test_registered_objective_of_a_user(registry, data, tmp_path, by_name):
    register_objective("doubled", DoubledListNet)
    objective = "doubled" if by_name else DoubledListNet(strength=3.0)
    ranker = Ranker.lightgbm_defaults(objective, **SMALL).fit(data.X, data.y, qid=data.qid)
    ranker.save_model(tmp_path / "model.txt")
    loaded = load_quietly(tmp_path / "model.txt")
    assert_same_model(loaded, ranker, data.X)

    del registry["doubled"]
    loaded = load_quietly(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    assert "doubled" in repr(loaded.objective_)
    with pytest.raises(ValueError, match=r"'doubled'") as error:
        loaded.fit(data.X, data.y, qid=data.qid)
    assert "gbrank.register_objective" in str(error.value)
    loaded.save_model(tmp_path / "again.txt")  # nothing is lost on a machine that lacks the class

    register_objective("doubled", DoubledListNet)
    loaded = load_quietly(tmp_path / "again.txt")
    assert_same_model(loaded, ranker, data.X)
    loaded.fit(data.X, data.y, qid=data.qid)


def test_objective_that_was_never_registered(data, tmp_path):
    ranker = Ranker.lightgbm_defaults(DoubledListNet(), **SMALL).fit(data.X, data.y, qid=data.qid)
    ranker.save_model(tmp_path / "model.txt")
    loaded = load_quietly(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    with pytest.raises(ValueError, match=r"'DoubledListNet'.*was not registered when"):
        loaded.fit(data.X, data.y, qid=data.qid)
    loaded.set_params(objective=DoubledListNet()).fit(data.X, data.y, qid=data.qid)


# --- nothing is run, everything is text ------------------------------------------------------


def test_file_is_text_and_loads_without_pickle(fitted, saved, data, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a model file must not be unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    assert all(line.isprintable() for line in saved.read_bytes().decode("utf-8").split("\n"))
    np.testing.assert_array_equal(load_quietly(saved).predict(data.X), fitted.predict(data.X))


def test_names_in_a_file_are_never_imported_nor_called(saved, tmp_path):
    def attack(metadata):
        metadata["parameters"]["eval_metric"] = {"$by_name": "antigravity.fly"}
        metadata["parameters"]["objective"] = {
            "$objective": {"name": "os.system", "class": "system", "params": {"command": "true"}}
        }
        metadata["fitted"]["__class__"] = "int"
        metadata["fitted"]["predict"] = "nonsense"

    rewrite_metadata(saved, attack)
    loaded = load_quietly(saved)
    assert "antigravity" not in sys.modules
    assert type(loaded) is Ranker
    assert callable(loaded.predict)


# --- values ----------------------------------------------------------------------------------


def test_all_kinds_of_parameters(fitted, tmp_path):
    odd = {
        "nan": float("nan"),
        "infinite": [float("inf"), -float("inf")],
        "minus zero": -0.0,
        "tuple": (1, (2, [3, None]), True),
        "array": np.array([[0.1, np.nan], [1e-320, np.inf]], dtype=np.float64),
        "float32": np.array([0.1], dtype=np.float32),
        "empty": np.empty((0, 3), dtype=np.int64),
        "names": np.array(["a", "ü"], dtype=object),
        "text": 'quote " bracket ]} line\nend \ud800 ü',
        "keys": {1: "a", (2, 3): "b"},
        "keys like ours": {"$tuple": "c"},
        "set": {3, 1, 2},
        "big": 10**40,
    }
    ranker = clone(fitted).set_params(lgb_params=odd)
    ranker.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    ranker.save_model(tmp_path / "model.txt")
    back = load_quietly(tmp_path / "model.txt").lgb_params
    assert repr(back) == repr(odd)
    for name in ("array", "float32", "empty", "names"):
        assert back[name].dtype == odd[name].dtype
        assert back[name].shape == odd[name].shape
    np.testing.assert_array_equal(back["array"], odd["array"])


def test_numpy_scalars_come_back_as_equal_numbers():
    for value in (np.float32(0.1), np.float64(0.1), np.int16(-3), np.uint64(2**64 - 1), np.True_):
        assert decode(encode(value)) == value


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(value=values)
def test_values_survive_strict_json(value):
    def no_constant(name):
        raise AssertionError(f"{name} is not JSON")

    text = json.dumps(encode(value), allow_nan=False)
    assert text.isascii()
    assert repr(decode(json.loads(text, parse_constant=no_constant))) == repr(value)


def test_nested_objectives_and_functions():
    value = [XENDCG(gamma=0.5), {"gain": cubic_gain, "discount": PowerDiscount(0.25)}]
    back = decode(json.loads(json.dumps(encode(value))))
    assert repr(back[0]) == repr(value[0])
    assert back[1]["discount"] == value[1]["discount"]
    assert back[1]["gain"].name == f"{__name__}.cubic_gain"


# --- atomic writes ---------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_failure_while_writing_leaves_the_old_file(fitted, saved, monkeypatch, call, error):
    def fail(*args, **kwargs):
        raise error

    before = saved.read_bytes()
    ranker = clone(fitted)
    ranker.__dict__.update(vars(fitted))
    ranker.n_estimators = 99
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        ranker.save_model(saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]
    ranker.save_model(saved)
    assert load_quietly(saved).n_estimators == 99


def test_bytes_are_on_disk_before_the_name_changes(tmp_path, monkeypatch):
    steps = []
    sync, replace = os.fsync, os.replace

    def record(name, call):
        def recorded(*args):
            steps.append((name, (tmp_path / "a").read_bytes()))
            return call(*args)

        return recorded

    monkeypatch.setattr(os, "fsync", record("sync", sync))
    monkeypatch.setattr(os, "replace", record("replace", replace))
    (tmp_path / "a").write_bytes(b"old")
    write_atomically(tmp_path / "a", b"abc")
    assert steps[:2] == [("sync", b"old"), ("replace", b"old")]
    assert (tmp_path / "a").read_bytes() == b"abc"


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions, links and pipes")
def test_permissions_links_and_pipes(tmp_path):
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    write_atomically(target, b"one")
    (tmp_path / "plain").write_bytes(b"")
    assert target.stat().st_mode == (tmp_path / "plain").stat().st_mode
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, b"two")
    assert link.is_symlink()
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="a device or a pipe"):
        write_atomically(pipe, b"three")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("dtype", ["<,f8", "f8,f8", "<M8[s]", "V8", "<c16", "<U9999999", 8, None])
def test_arrays_of_strange_dtypes_are_refused(dtype):
    with pytest.raises(ValueError, match="arrays are of numbers or text"):
        decode({"$array": [dtype, [1], [0.5]]})
