"""Speed and size of models that serve: LightGBM's, ours, the compiled scorer, ONNX and treelite.

    python benchmarks/serving_speed.py

One thread. Synthetic data; 100 trees each, with as many leaves for LightGBM as for us. Every ratio
compares two things timed in turn in one process.
"""

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from common.timing import interleave, ratio_with_interval

from gbrank import Ranker
from gbrank.data import make_ranking
from gbrank.serving import compile_model

FEATURES = (46, 136, 700)
ROWS = (1, 10, 100, 1_000, 100_000)
TREES = 100
ONE = {"num_threads": 1}


def train(n_features: int) -> tuple[Ranker, lgb.Booster, np.ndarray]:
    """Return our model, LightGBM's with as many trees and leaves, and rows to score."""
    data = make_ranking(n_queries=300, n_features=n_features, random_state=0)
    ranker = Ranker(preset="fast", n_estimators=TREES, n_jobs=2).fit(data.X, data.y, qid=data.qid)
    leaves = max(tree["num_leaves"] for tree in ranker.booster_.dump_model()["tree_info"][-TREES:])
    params = {"objective": "rank_xendcg", "num_leaves": leaves, "verbose": -1, "num_threads": 2}
    booster = lgb.train(params, lgb.Dataset(data.X, data.y, group=data.group), TREES)
    repeats = -(-max(ROWS) // len(data.X))
    X = np.tile(data.X, (repeats, 1))[: max(ROWS)]
    X += np.random.default_rng(1).normal(scale=0.1, size=X.shape)
    return ranker, booster, X


def file_size(booster: lgb.Booster) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        booster.save_model(path)
        return path.stat().st_size


def measure_model(n_features: int) -> list[dict[str, Any]]:
    """Compare our model with LightGBM's, as LightGBM predicts with them, and their files."""
    ranker, booster, X = train(n_features)
    mine = ranker.booster_
    rows = []
    for n_rows in (100, 10_000):
        seconds = interleave(
            {
                "ours": lambda part=X[:n_rows]: mine.predict(part, **ONE),
                "peer": lambda part=X[:n_rows]: booster.predict(part, **ONE),
            },
            rounds=50 if n_rows == 100 else 5,
        )
        ratio, low, high = ratio_with_interval(seconds["ours"], seconds["peer"])
        rows.append(
            {
                "features": n_features,
                "rows": n_rows,
                "trees": mine.num_trees(),
                "peer's trees": booster.num_trees(),
                "time / peer's": round(ratio, 2),
                "95% interval": [round(low, 2), round(high, 2)],
                "file / peer's": round(file_size(mine) / file_size(booster), 2),
            }
        )
    return rows


def single_row(booster: lgb.Booster, row: np.ndarray) -> Callable[[], object]:
    """Return LightGBM's fast setting for one row, which its C interface has."""
    import ctypes

    from lightgbm.basic import _LIB, _safe_call

    config, length = ctypes.c_void_p(), ctypes.c_int64()
    _safe_call(
        _LIB.LGBM_BoosterPredictForMatSingleRowFastInit(
            booster._handle, 0, 0, -1, 1, ctypes.c_int32(len(row)), b"num_threads=1",
            ctypes.byref(config),
        )
    )  # fmt: skip
    row, out = np.ascontiguousarray(row), np.empty(1)
    address, result = row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)

    def predict(_keep: tuple[Any, ...] = (row, out, booster)) -> object:
        _LIB.LGBM_BoosterPredictForMatSingleRowFast(config, address, ctypes.byref(length), result)
        return out

    return predict


def scorers(booster: lgb.Booster, X: np.ndarray) -> dict[str, Callable[[np.ndarray], object]]:
    """Return what can score rows on one thread, of what is installed."""
    compiled = compile_model(booster)
    found: dict[str, Callable[[np.ndarray], object]] = {
        "Booster.predict": lambda part: booster.predict(part, **ONE),
        "compiled": lambda part: compiled.predict(part),
    }
    try:
        import onnxruntime
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        kind = [("X", FloatTensorType([None, X.shape[1]]))]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        graph = convert_lightgbm(booster, initial_types=kind, zipmap=False).SerializeToString()
        session = onnxruntime.InferenceSession(graph, options, ["CPUExecutionProvider"])
        session.run(None, {"X": X[:1].astype(np.float32)})
        found["ONNX Runtime"] = lambda part: session.run(None, {"X": part.astype(np.float32)})
    except Exception as error:  # not installed, or cannot read the model: the table says so
        print(f"ONNX Runtime left out: {error}")
    try:
        import treelite

        with tempfile.TemporaryDirectory() as folder:
            booster.save_model(Path(folder) / "model.txt")
            model = treelite.frontend.load_lightgbm_model(Path(folder) / "model.txt")
        treelite.gtil.predict(model, X[:1], nthread=1)
        found["treelite"] = lambda part: treelite.gtil.predict(model, part, nthread=1)
    except Exception as error:
        print(f"treelite left out: {error}")
    return found


def measure_scorers(n_features: int = 136) -> list[dict[str, Any]]:
    """Compare scorers of one model: LightGBM's own, by which ratios are, and others."""
    _, booster, X = train(n_features)
    found = scorers(booster, X)
    rows = []
    for n_rows in ROWS:
        part = np.ascontiguousarray(X[:n_rows])
        runs = {name: partial(score, part) for name, score in found.items()}
        if n_rows == 1:
            runs["single-row setting"] = single_row(booster, part[0])
        seconds = interleave(runs, rounds=50 if n_rows <= 1_000 else 3, warm_up=1)
        for name in runs:
            ratio, low, high = ratio_with_interval(seconds["Booster.predict"], seconds[name])
            rows.append(
                {
                    "scorer": name,
                    "rows": n_rows,
                    "microseconds": round(float(np.median(seconds[name])) * 1e6, 1),
                    "times faster than Booster.predict": round(ratio, 2),
                    "95% interval": [round(low, 2), round(high, 2)],
                }
            )
    return rows


def measure() -> list[dict[str, Any]]:
    """Return models of several numbers of features, then scorers of one model."""
    rows = [row for n_features in FEATURES for row in measure_model(n_features)]
    return rows + measure_scorers()


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
