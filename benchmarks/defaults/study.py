"""Which settings, folds and stopping rules should be the Ranker's defaults? The trainings.

    python -m defaults.study --data FOLDER --out FOLDER --candidates C X --folds 1 3

Nothing here sees a test query: of outer fold f, the three training parts are cross-fitted, and the
validation part, with clean labels, judges. Every finished training is kept at once, so that the
same command goes on where it stopped. ``report.py`` reads the files.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from comparison.sets import SETS, load_fold

from defaults.crossfit import Growth, Measure, Setting, grow

#: A: the defaults so far; B: LightGBM's own trees from zero; C, X: penalties in documents.
CANDIDATES = {
    "A": Setting("xendcg", rate=0.05, leaf_rows=50, l2=5.0, in_documents=False),
    "B": Setting(start="zero", rate=0.05, l2=0.0, in_documents=False, columns=1.0, rows=1.0),
    "C": Setting(),
    "X": Setting("xendcg"),
    "C zero": Setting(start="zero"),
    "X zero": Setting("xendcg", start="zero"),
    "C rate .05": Setting(rate=0.05),
    "X rate .05": Setting("xendcg", rate=0.05),
    "C l2 5": Setting(l2=5.0),
    "C l2 80": Setting(l2=80.0),
    "X l2 5": Setting("xendcg", l2=5.0),
    "X l2 80": Setting("xendcg", l2=80.0),
    "C 15 leaves": Setting(leaves=15),
    "C all columns": Setting(columns=1.0),
    "C all rows": Setting(rows=1.0),
    "C 3 folds": Setting(n_folds=3),
    "C 10 folds": Setting(n_folds=10),
    "X3": Setting("xendcg", n_folds=3),
    "X3 l2 100": Setting("xendcg", l2=100.0, n_folds=3),
    "X3 l2 500": Setting("xendcg", l2=500.0, n_folds=3),
    "X3 l2 40": Setting("xendcg", l2=40.0, n_folds=3),
    "X3 leaf 50": Setting("xendcg", leaf_rows=50, n_folds=3),
    "X3 15 leaves": Setting("xendcg", leaves=15, n_folds=3),
    "X3 all columns": Setting("xendcg", columns=1.0, n_folds=3),
    "X3 rate .05": Setting("xendcg", rate=0.05, n_folds=3),
    "Z3 rate .05": Setting(start="zero", rate=0.05, n_folds=3),
    "Z3 15 leaves": Setting(start="zero", leaves=15, n_folds=3),
    "X2": Setting("xendcg", n_folds=2),
    "Z2": Setting(start="zero", n_folds=2),
    "Z3": Setting(start="zero", n_folds=3),
    "X3 again": Setting("xendcg", n_folds=3, cut=1000),
    "Z3 again": Setting(start="zero", n_folds=3, cut=1000),
    "Z3 l2 5": Setting(start="zero", l2=5.0, n_folds=3),
    "Z3 l2 100": Setting(start="zero", l2=100.0, n_folds=3),
    "Z3 all columns": Setting(start="zero", columns=1.0, n_folds=3),
    "XZ3": Setting("xendcg", start="zero", n_folds=3),
    "P3": Setting("pairwise_logistic", n_folds=3),
    "P3 l2 100": Setting("pairwise_logistic", l2=100.0, n_folds=3),
    "L3": Setting("listnet", n_folds=3),
    "B l2 20": Setting(start="zero", columns=1.0, rows=1.0),
    "C path smooth": Setting(more={"path_smooth": 20.0}),
    "C extra trees": Setting(more={"extra_trees": True}),
    "P": Setting("pairwise_logistic"),
    "P zero": Setting("pairwise_logistic", start="zero"),
    "L": Setting("listnet"),
    "G": Setting("bregman_logistic"),
}
RULE_METRICS = {"5": 0, "10": 1, "all": 2}
WINDOW = 9


def smooth(curve: np.ndarray, window: int) -> np.ndarray:
    """Return centred moving averages along the first axis, over fewer trees at the ends."""
    half = window // 2
    total = np.concatenate([np.zeros((1, *curve.shape[1:])), np.cumsum(curve, axis=0)])
    places = np.arange(len(curve))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(curve))
    return (total[high] - total[low]) / (high - low).reshape(-1, *[1] * (curve.ndim - 1))


def patient_best(curve: np.ndarray, patience: int) -> int:
    """Return the tree at which training with this patience would have stopped."""
    best = 0
    for tree, value in enumerate(curve):
        if value > curve[best]:
            best = tree
        elif tree - best >= patience:
            break
    return best


def stopping_points(growth: Growth) -> dict[str, np.ndarray]:
    """Return the number of trees of each booster, by stopping rule."""
    n = len(growth.curves)
    points = {"start": np.zeros(n, dtype=int)}
    for name, metric in RULE_METRICS.items():
        for window in (1, WINDOW):
            pooled = smooth(growth.pooled[:, metric], window)
            own = smooth(growth.curves[:, :, metric].T, window).T
            points[f"pooled {name} w{window}"] = np.full(n, pooled.argmax())
            points[f"own {name} w{window}"] = own.argmax(axis=1)
            # between the two: every fold's own curve counts as much as that of the others
            points[f"half {name} w{window}"] = (own + pooled).argmax(axis=1)
    for patience in (10, 25, 50):
        best = patient_best(growth.pooled[:, 1], patience)
        points[f"pooled 10 patience {patience}"] = np.full(n, best)
        each = [patient_best(curve[:, 1], patience) for curve in growth.curves]
        points[f"own 10 patience {patience}"] = np.array(each)
    return points


def keep(path: Path, growth: Growth, measure: Measure, fold_of_row: np.ndarray) -> None:
    """Write scores and what the judging queries got, for every stopping rule."""
    points = stopping_points(growth)
    everyone = np.arange(len(growth.judged))
    judged, held_out, values, one, three = [], [], [], [], []
    for trees in points.values():
        each = growth.judged[everyone, trees].astype(np.float64)
        judged.append(each.mean(axis=0).astype(np.float32))
        held_out.append(growth.held_out[trees[fold_of_row], np.arange(len(fold_of_row))])
        values.append(measure(each.mean(axis=0)))
        one.append(measure(each[0]))
        three.append(measure(each[:3].mean(axis=0)))
    np.savez_compressed(
        path,
        rules=np.array(list(points)),
        trees=np.array(list(points.values())),
        judged=np.array(judged),
        held_out=np.array(held_out),
        values=np.array(values, dtype=np.float32),
        values_of_one=np.array(one, dtype=np.float32),
        values_of_three=np.array(three, dtype=np.float32),
        curves=growth.curves,
        pooled=growth.pooled,
        seconds=growth.seconds,
    )


def main() -> None:
    """Train what is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--candidates", nargs="+", default=list(CANDIDATES), choices=CANDIDATES)
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 3])
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.6])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for number in options.folds:
        for noise in options.noise:
            for candidate in options.candidates:
                for name in options.sets:
                    path = options.out / f"{name}__{number}__{noise}__{candidate}.npz"
                    if path.exists():
                        continue
                    run(Path(options.data), name, number, noise, candidate, path)


def run(data: Path, name: str, number: int, noise: float, candidate: str, path: Path) -> None:
    """Train one candidate on the training part of one fold, judge on its validation part."""
    fold = load_fold(data, name, number, noise)
    clean = load_fold(data, name, number).valid  # the same rows, in the same order
    setting = CANDIDATES[candidate]
    growth = grow(fold.train, clean, setting, seed=number + setting.cut)
    measure = Measure(clean.y, clean.sizes, ("ndcg@5", "ndcg@10"))
    keep(path, growth, measure, growth.fold_of_row)
    with np.load(path) as saved:
        place = saved["rules"].tolist().index("pooled 10 w1")
        means = np.nanmean(saved["values"][place], axis=1)
        trees = saved["trees"][place][0]
    print(
        f"{name} fold {number} noise {noise} {candidate}: {means[0]:.4f} {means[1]:.4f}, {trees} "
        f"of {len(growth.pooled) - 1} trees, {growth.seconds:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
