"""Which settings, folds and stopping rules should be the Ranker's defaults? The tables.

    python -m defaults.report FOLDER

reads what ``study.py`` kept, prints tables and writes results/defaults/study.csv.gz, one
line per training and stopping rule.
"""

import argparse
import csv
import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
from comparison.sets import SETS

RESULTS = Path(__file__).parents[1] / "results" / "defaults" / "study.csv.gz"
Key = tuple[str, int, float, str]


def load(folder: Path, candidates: set[str] | None = None) -> dict[Key, dict[str, np.ndarray]]:
    """Return all trainings, or those of some candidates, by (set, fold, noise, candidate)."""
    found = {}
    for path in sorted(folder.glob("*.npz")):
        name, fold, noise, candidate = path.stem.split("__")
        if candidates is not None and candidate not in candidates:
            continue
        with np.load(path) as saved:
            found[name, int(fold), float(noise), candidate] = {k: saved[k] for k in saved.files}
    return found


def value(training: dict[str, np.ndarray], rule: str, metric: int, of: str = "values") -> float:
    """Return the mean metric of the judging queries: 0 is NDCG@5, 1 NDCG@10."""
    place = training["rules"].tolist().index(rule)
    return float(np.nanmean(training[of][place, metric]))


def candidate_table(trainings, rule: str, noise: float, metric: int, of: str = "values") -> None:
    """Print candidates against sets, mean over the folds that all candidates of a line have."""
    cells = defaultdict(dict)
    for (name, fold, level, candidate), training in trainings.items():
        if level == noise:
            cells[candidate].setdefault(name, {})[fold] = value(training, rule, metric, of)
    print(f"\nNDCG@{(5, 10)[metric]}, noise {noise}, stopping: {rule} ({of})")
    print("candidate".ljust(16), *[name[:9].rjust(9) for name in SETS], "mean".rjust(9), "folds")
    for candidate, by_set in cells.items():
        means = [np.mean(list(by_set[n].values())) if n in by_set else np.nan for n in SETS]
        folds = sorted({fold for folds in by_set.values() for fold in folds})
        line = " ".join(f"{mean:9.4f}" for mean in [*means, np.mean(means)])
        print(candidate.ljust(16), line, folds)


def paired_table(trainings, first: str, rule: str, noise: float) -> None:
    """Print what each candidate gains over the first one, with standard errors over queries.

    Folds that both have are pooled; the mean is that of the sets.
    """
    print(f"\nagainst {first}, noise {noise}, {rule}: difference of NDCG@5, NDCG@10, +- error")
    candidates = list(dict.fromkeys(key[3] for key in trainings if key[2] == noise))
    for candidate in candidates:
        means, errors = [], []
        for name in SETS:
            lost = []
            for (other, fold, level, which), training in trainings.items():
                base = trainings.get((name, fold, noise, first))
                if (other, level, which) == (name, noise, candidate) and base is not None:
                    ours, theirs = (
                        t["values"][t["rules"].tolist().index(rule)] for t in (training, base)
                    )
                    lost.append(ours - theirs)
            if lost:
                each = np.concatenate(lost, axis=1)
                each = each[:, ~np.isnan(each[0])]
                means.append(each.mean(axis=1))
                errors.append(each.std(axis=1, ddof=1) / np.sqrt(each.shape[1]))
        if means:
            total, error = np.mean(means, axis=0), np.sqrt(np.sum(np.square(errors), axis=0))
            error = error / len(means)
            print(
                candidate.ljust(16),
                " ".join(f"{t:+.4f} +- {e:.4f}" for t, e in zip(total, error, strict=True)),
                f"({len(means)} sets)",
            )


def rule_table(trainings, candidates: list[str], noise: float) -> None:
    """Print stopping rules against candidates, mean over all sets and folds."""
    rules = next(iter(trainings.values()))["rules"].tolist()
    print(f"\nmean NDCG@5 / @10 / trees by stopping rule, noise {noise}")
    print("rule".ljust(24), *[c.rjust(22) for c in candidates])
    for rule in rules:
        line = []
        for candidate in candidates:
            chosen = [t for k, t in trainings.items() if k[2] == noise and k[3] == candidate]
            both = [np.mean([value(t, rule, m) for t in chosen]) for m in (0, 1)]
            trees = np.mean([t["trees"][rules.index(rule)].mean() for t in chosen])
            line.append(f"{both[0]:.4f} {both[1]:.4f} {trees:6.0f}".rjust(22))
        print(rule.ljust(24), *line)


def write_csv(trainings) -> None:
    """Keep the means of every training and rule."""
    header = "set fold noise candidate rule trees ndcg@5 ndcg@10 one@5 one@10 three@5 three@10 s"
    with gzip.open(RESULTS, "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header.split())
        for key, training in trainings.items():
            for place, rule in enumerate(training["rules"]):
                row = [*key, rule, round(float(training["trees"][place].mean()), 1)]
                for of in ("values", "values_of_one", "values_of_three"):
                    row += [f"{v:.4f}" for v in np.nanmean(training[of][place], axis=1)]
                writer.writerow([*row, round(float(training["seconds"]), 1)])


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rule", default="pooled 10 w1")
    parser.add_argument("--against", default="X", help="candidate to compare others with")
    parser.add_argument("--rules-of", nargs="*", help="candidates to compare stopping rules with")
    options = parser.parse_args()
    trainings = load(options.folder)
    write_csv(trainings)
    candidates = list(dict.fromkeys(key[3] for key in trainings))
    for noise in sorted({key[2] for key in trainings}):
        for metric in (0, 1):
            candidate_table(trainings, options.rule, noise, metric)
        paired_table(trainings, options.against, options.rule, noise)
        rule_table(trainings, options.rules_of or candidates, noise)


if __name__ == "__main__":
    main()
