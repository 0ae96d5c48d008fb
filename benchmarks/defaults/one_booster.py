"""Which trees one booster should have: variants of ``Ranker(preset="fast")``, judged by validation.

    python -m defaults.one_booster --data FOLDER

Trained on the training part of every fold, with noise in its labels or none; the validation part,
with clean labels, judges. No test query is looked at. Finished runs are kept in
results/defaults/one_booster.csv at once.
"""

import argparse
import csv
import os
from pathlib import Path

import numpy as np
from comparison.sets import FOLDS, SETS, load_fold

from gbrank import Ranker
from gbrank.metrics import evaluate

OUT = Path(__file__).parents[1] / "results" / "defaults" / "one_booster.csv"
HEAD = ["set", "fold", "noise", "variant", "ndcg@5", "ndcg@10"]
#: What version 0.1 had: penalties in LightGBM's own unit.
OLD = {
    "preset": "lightgbm",
    "learning_rate": 0.05,
    "min_child_samples": 50,
    "reg_lambda": 5.0,
    "subsample": 0.7,
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
    "start": "linear",
}
FAST = {
    "preset": "fast",
    "learning_rate": 0.1,
    "min_child_samples": 20,
    "reg_lambda": 20.0,
}
VARIANTS = {
    "0.1": OLD,
    "rate .1, 20 rows, 20 documents": FAST,
    "rate .05": {**FAST, "learning_rate": 0.05},
    "50 rows": {**FAST, "min_child_samples": 50},
    "5 documents": {**FAST, "reg_lambda": 5.0},
    "100 documents": {**FAST, "reg_lambda": 100.0},
    "lambdamart": {**FAST, "objective": "lambdamart"},
    "from zero": {**FAST, "start": "zero"},
    "rate .05, 100 documents": {**FAST, "learning_rate": 0.05, "reg_lambda": 100.0},
    "rate .05, 300 documents": {**FAST, "learning_rate": 0.05, "reg_lambda": 300.0},
    "rate .03, 100 documents": {**FAST, "learning_rate": 0.03, "reg_lambda": 100.0},
    "rate .03, 20 documents": {**FAST, "learning_rate": 0.03},
}


def main() -> None:
    """Run what is missing, then print the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.6])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or GBRANK_DATA")
    rows = list(csv.DictReader(OUT.open())) if OUT.exists() else []
    done = {(row["set"], row["fold"], row["noise"], row["variant"]) for row in rows}
    for name in options.sets:
        for fold in FOLDS:
            for noise in options.noise:
                missing = [v for v in VARIANTS if (name, str(fold), str(noise), v) not in done]
                if missing:
                    rows += run(options.data, name, fold, noise, missing)
    report(rows)


def run(
    folder: Path, name: str, fold: int, noise: float, variants: list[str]
) -> list[dict[str, str]]:
    """Train some variants on one fold, and add what they reach to the file."""
    noisy = load_fold(folder, name, fold, noise).train
    judge = load_fold(folder, name, fold).valid
    found = []
    for variant in variants:
        ranker = Ranker(**VARIANTS[variant], n_jobs=1, random_state=fold)
        ranker.fit(noisy.X, noisy.y, qid=noisy.qid)
        table = evaluate(
            judge.y, {"": ranker.predict(judge.X)}, qid=judge.qid, metrics=HEAD[-2:], n_jobs=1
        )
        values = [f"{np.asarray(table[metric])[0]:.5f}" for metric in HEAD[-2:]]
        found.append(dict(zip(HEAD, [name, str(fold), str(noise), variant, *values], strict=True)))
    is_new = not OUT.exists()
    with OUT.open("a", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(found)
    return found


def report(rows: list[dict[str, str]]) -> None:
    """Print the mean over sets of the mean over folds."""
    for noise in sorted({row["noise"] for row in rows}):
        print(f"noise {noise}")
        for variant in VARIANTS:
            means = []
            for metric in HEAD[-2:]:
                by_set: dict[str, list[float]] = {}
                for row in rows:
                    if (row["noise"], row["variant"]) == (noise, variant):
                        by_set.setdefault(row["set"], []).append(float(row[metric]))
                means.append(np.mean([np.mean(values) for values in by_set.values()]))
            print(f"  {variant:32s} {means[0]:.4f} {means[1]:.4f}")


if __name__ == "__main__":
    main()
