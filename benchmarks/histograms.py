"""Histograms by rows or by columns: which grows small cross-fits sooner, on one thread.

    python benchmarks/histograms.py --data FOLDER

LightGBM finds out by itself, for every booster, and chance has a part in it; the cross-fits say.
Each booster has 40 trees of xendcg on four fifths of the queries that are not tested in fold 1; the
time is that of making it and of growing, the least of three in turns. The trees are compared too.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from comparison.sets import load_fold
from tuning import SETS, folds_of

import gbrank

RESULTS = Path(__file__).parent / "results"
N_TREES, TURNS = 40, 3
#: Leaves, shares of features and of rows in a tree.
POINTS = [
    (15, 0.3, 0.7), (15, 0.5, 0.7), (15, 0.5, 1.0), (31, 0.5, 0.6), (15, 0.6, 1.0), (15, 0.7, 0.7),
    (15, 0.7, 1.0), (31, 0.7, 0.6), (8, 0.8, 0.9), (31, 0.8, 0.9), (8, 1.0, 1.0), (31, 1.0, 1.0),
]  # fmt: skip


def grow(way: str, point: tuple[int, float, float], training: lgb.Dataset) -> tuple[float, str]:
    """Return the CPU seconds of a booster, gradients not counted, and its trees."""
    leaves, features, rows = point
    params = {
        "num_leaves": leaves,
        "feature_fraction": features,
        "bagging_fraction": rows,
        "bagging_freq": int(rows < 1),
        "min_sum_hessian_in_leaf": 1e-9,
        "lambda_l2": 0.3,
        "objective": "none",
        "num_threads": 1,
        "verbosity": -1,
        "feature_pre_filter": False,
        f"force_{way}_wise": True,
    }
    objective, spent = gbrank.XENDCG(n_jobs=1), 0.0

    def timed(*given: Any) -> Any:
        nonlocal spent
        started = time.process_time()
        found = objective(*given)
        spent -= time.process_time() - started
        return found

    started = time.process_time()
    booster = lgb.Booster(params, training)
    for _ in range(N_TREES):
        booster.update(fobj=timed)
    spent += time.process_time() - started
    text = booster.model_to_string()
    return spent, text[text.index("Tree=0") : text.index("end of trees")]


def main(arguments: list[str] | None = None) -> int:
    """Measure all sets and points, and keep how long rows took by how long columns did."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    folder = Path(parser.parse_args(arguments).data)
    kept: dict[str, Any] = {"points": POINTS, "ratios": {}, "same trees": True}
    for name in SETS:
        rest = load_fold(folder, name, 1).rest
        inside, _ = folds_of(rest, 1)[0]
        whole = lgb.Dataset(
            rest.X, rest.y, group=rest.sizes, params={"verbosity": -1, "feature_pre_filter": False}
        )
        training = whole.construct().subset(inside).construct()
        grow("col", POINTS[0], training)  # compiles the loss
        kept["ratios"][name] = []
        for point in POINTS:
            found = [[grow(way, point, training) for way in ("row", "col")] for _ in range(TURNS)]
            rows, columns = np.min([[seconds for seconds, _ in turn] for turn in found], axis=0)
            kept["ratios"][name].append(round(float(rows / columns), 3))
            kept["same trees"] &= len({trees for turn in found for _, trees in turn}) == 1
        print(name, kept["ratios"][name], kept["same trees"], flush=True)
    (RESULTS / "histograms.json").write_text(json.dumps(kept) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
