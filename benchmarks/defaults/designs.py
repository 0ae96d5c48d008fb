"""Whole designs compared: members, folds and blending rule together, on the judging queries.

    python -m defaults.designs FOLDER --data FOLDER

reads what ``study.py`` kept and writes results/defaults/designs.csv.gz, one line per design,
blending rule, set, fold and noise. Only (set, fold, noise) that all members of a design have.
"""

import argparse
import csv
import gzip
import os
from pathlib import Path

import numpy as np
from comparison.sets import SETS, load_fold

from defaults.blend import (
    by_evidence,
    by_evidence_mild,
    equal,
    greedy_from_equal,
    one_scale,
)
from defaults.crossfit import Measure

RESULTS = Path(__file__).parents[1] / "results" / "defaults" / "designs.csv.gz"
DESIGNS = {
    "A": ["A"],
    "B": ["B"],
    "C": ["C"],
    "X": ["X"],
    "Z": ["C zero"],
    "X3": ["X3"],
    "X3 l2 100": ["X3 l2 100"],
    "X3 l2 40": ["X3 l2 40"],
    "Z3": ["Z3"],
    "C3": ["C 3 folds"],
    "X3+Z3": ["X3", "Z3"],
    "X3 l2 40+Z3": ["X3 l2 40", "Z3"],
    "X3 l2 100+Z3": ["X3 l2 100", "Z3"],
    "X3+Z3+start": ["X3", "Z3", "X3@start"],
    "X+Z": ["X", "C zero"],
    "X+Z+start": ["X", "C zero", "X@start"],
    "X+C+Z": ["X", "C", "C zero"],
    "X+C+Z+B": ["X", "C", "C zero", "B"],
    "C3+Z3": ["C 3 folds", "Z3"],
    "X3+C3+Z3": ["X3", "C 3 folds", "Z3"],
    "X3+Z3+start, twice": ["X3", "Z3", "X3@start", "X3 again", "Z3 again", "X3 again@start"],
    "X+C+Z+start": ["X", "C", "C zero", "X@start"],
    "X3+Z3 l2 5": ["X3", "Z3 l2 5"],
    "X3+Z3 all columns": ["X3", "Z3 all columns"],
}
RULES = {f.__name__: f for f in (equal, greedy_from_equal, by_evidence, by_evidence_mild)}


class Trainings:
    """Kept scores of (set, fold, noise, candidate), by stopping rule."""

    def __init__(self, folder: Path) -> None:
        self.paths = {tuple(path.stem.split("__")): path for path in folder.glob("*.npz")}
        self.kept: dict = {}

    def scores(self, key: tuple, candidate: str, rule: str) -> tuple[np.ndarray, np.ndarray]:
        if (*key, candidate) not in self.kept:
            with np.load(self.paths[*key, candidate]) as saved:
                rules = saved["rules"].tolist()
                both = saved["held_out"].astype(float), saved["judged"].astype(float)
            self.kept[*key, candidate] = {
                r: (both[0][i], both[1][i])
                for i, r in enumerate(rules)
                if r in ("start", "pooled 10 patience 25")
            }
        return self.kept[*key, candidate][rule]


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    options = parser.parse_args()
    trainings = Trainings(options.folder)
    done = set()
    if RESULTS.exists():
        with gzip.open(RESULTS, "rt", newline="") as file:
            done = {tuple(row[:5]) for row in csv.reader(file)}
    with gzip.open(RESULTS, "at", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(["design", "blend", "set", "fold", "noise", "ndcg@5", "ndcg@10"])
        keys = {k[:3] for k in trainings.paths}
        for key in sorted(keys, key=lambda k: (k[1], SETS.index(k[0]), k[2])):
            trainings.kept.clear()
            name, number, noise = key[0], int(key[1]), float(key[2])
            missing = [
                design
                for design, members in DESIGNS.items()
                if (design, "equal" if len(members) > 1 else "", *key) not in done
                and all((*key, m.split("@")[0]) in trainings.paths for m in members)
            ]
            if not missing:
                continue
            train = load_fold(Path(options.data), name, number, noise).train
            judged = load_fold(Path(options.data), name, number).valid
            inner = Measure(train.y, train.sizes, ("ndcg@5", "ndcg@10"))
            outer = Measure(judged.y, judged.sizes, ("ndcg@5", "ndcg@10"))
            sizes = train.sizes
            for design in missing:
                members = DESIGNS[design]
                parts = [(f"{m}@pooled 10 patience 25".split("@"))[:2] for m in members]
                pairs = [trainings.scores(key, *part) for part in parts]
                scales = np.array([one_scale(held_out, sizes) for held_out, _ in pairs])[:, None]
                inside, outside = (np.array(rows) / scales for rows in zip(*pairs, strict=True))
                for rule, choose in RULES.items() if len(members) > 1 else [("", equal)]:
                    both = np.nanmean(outer(choose(inside, inner) @ outside), axis=1)
                    writer.writerow([design, rule, *key, *[f"{v:.4f}" for v in both]])
            file.flush()


if __name__ == "__main__":
    main()
