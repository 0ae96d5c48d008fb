"""Twenty small fits with fixed seeds, to compare two versions of the package bit by bit.

    python benchmarks/same_models.py write before.json      # with the one version
    python benchmarks/same_models.py compare before.json    # with the other

Model text (without what names versions and parameters) and predictions must be equal. LightGBM runs
on one thread, because with two its sums differ in the last bit from run to run.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import lightgbm as lgb
import numpy as np

from gbrank import XENDCG, LambdaMART, ListMLE, Ranker, list_objectives
from gbrank.data import make_ranking
from gbrank.preferences import Comparisons

DATA = make_ranking(n_queries=120, random_state=0)
OTHER = make_ranking(n_queries=40, random_state=1)
#: One booster with all its parameters said, so that versions with other defaults can be compared.
TREES = {
    "n_estimators": 15,
    "learning_rate": 0.05,
    "min_child_samples": 50,
    "min_child_weight": 1e-3,
    "subsample": 0.7,
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
    "reg_lambda": 5.0,
    "n_jobs": 1,
}
if getattr(Ranker(), "preset", None) == "auto":  # before, penalties were in LightGBM's units
    TREES["preset"] = "lightgbm"


def ranker(objective: str, **params: object) -> str:
    fitted = Ranker(objective, **{**TREES, "start": "linear", "random_state": 3, **params})
    valid = {}
    if "early_stopping_rounds" in params and params.get("validation_fraction") is None:
        valid = {"eval_X": OTHER.X, "eval_y": OTHER.y, "eval_qid": OTHER.qid}
    fitted.fit(DATA.X, DATA.y, qid=DATA.qid, **valid)
    relative = params.get("start") == "query_linear"
    scores = fitted.predict(OTHER.X, qid=OTHER.qid) if relative else fitted.predict(OTHER.X)
    return digest(fitted.booster_, scores)


def from_comparisons() -> str:
    generator = np.random.default_rng(0)
    groups = [np.flatnonzero(DATA.qid == q) for q in np.unique(DATA.qid)]
    rows = np.array(
        [generator.choice(rows, 2, replace=False) for rows in groups for _ in range(10)]
    )
    better = DATA.y[rows[:, 0]] >= DATA.y[rows[:, 1]]
    winner, loser = np.where(better, rows.T, rows.T[::-1])
    seen = Comparisons(DATA.qid[winner], winner, loser, items="row")
    learner = Ranker("preference_logistic", **TREES)
    learner.fit(DATA.X, qid=DATA.qid, preferences=seen)
    return digest(learner.booster_, learner.predict(OTHER.X))


def plain_lightgbm(objective: object) -> str:
    dataset = lgb.Dataset(DATA.X, DATA.y, group=DATA.group)
    params = {"objective": objective, "num_threads": 1, "verbose": -1, "metric": "None"}
    booster = lgb.train(params, dataset, 15)
    return digest(booster, booster.predict(OTHER.X))


def lgbm_ranker(objective: object) -> str:
    learner = lgb.LGBMRanker(
        objective=objective, n_estimators=15, n_jobs=1, verbose=-1, metric="None"
    )
    learner.fit(DATA.X, DATA.y, group=DATA.group)
    return digest(learner.booster_, learner.predict(OTHER.X))


def digest(booster: lgb.Booster, scores: np.ndarray) -> str:
    text = booster.model_to_string()
    trees = re.sub(r"\nparameters:.*", "", text, flags=re.DOTALL)
    found = hashlib.sha256(trees.encode())
    found.update(np.ascontiguousarray(scores, dtype=np.float64).tobytes())
    return found.hexdigest()


def fits() -> dict[str, Callable[[], str]]:
    named: dict[str, Callable[[], str]] = {
        f"Ranker({name})": lambda name=name: ranker(name)
        for name in list_objectives(observations=False)
    }
    named |= {
        "Ranker(lambdamart, start=zero)": lambda: ranker("lambdamart", start="zero"),
        "Ranker(xendcg, start=query_linear)": lambda: ranker("xendcg", start="query_linear"),
        "Ranker(kl, early stopping)": lambda: ranker("kl", early_stopping_rounds=5),
        "Ranker(preference_logistic)": from_comparisons,
        "lgb.train(XENDCG)": lambda: plain_lightgbm(XENDCG(generator="lightgbm")),
        "lgb.train(LambdaMART)": lambda: plain_lightgbm(LambdaMART()),
        "lgb.train(ListMLE(k=3))": lambda: plain_lightgbm(ListMLE(k=3)),
        "lgb.LGBMRanker(LambdaMART)": lambda: lgbm_ranker(LambdaMART(truncation_level=5)),
    }
    return named


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    now = {name: fit() for name, fit in fits().items()}
    if options.what == "write":
        options.file.write_text(json.dumps(now, indent=1) + "\n")
        print(f"{len(now)} fits written")
        return 0
    before = json.loads(options.file.read_text())
    different = [name for name in before if now.get(name) != before[name]]
    print(f"{len(before) - len(different)} of {len(before)} fits are bit-equal")
    for name in different:
        print("different:", name)
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
