"""Does any other setting of the Ranker lose less to noisy labels? Variants of ``Ranker()``.

    python -m defaults.under_noise --data FOLDER

Trained on the training part of folds 1 and 3 of ten sets with 60% of its labels replaced; the
validation part, with clean labels, judges. No test query is looked at. Finished runs are kept in
results/defaults/under_noise.csv at once; at the end the means over the sets are printed.
"""

import argparse
import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from comparison.sets import SETS, load_fold

from gbrank import Ranker
from gbrank.metrics import ndcg_score

OUT = Path(__file__).parents[1] / "results" / "defaults" / "under_noise.csv"
HEAD = ["set", "fold", "variant", "ndcg@5", "ndcg@10"]
NOISE = 0.6
VARIANTS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "five folds (best)": {"preset": "best"},
    "patience 100": {"early_stopping_rounds": 100},
    "rate .05, patience 50": {"learning_rate": 0.05, "early_stopping_rounds": 50},
    "15 leaves": {"num_leaves": 15},
    "50 rows a leaf": {"min_child_samples": 50},
    "l2 of 60 documents": {"reg_lambda": 60.0},
    "stopped by ndcg@5": {"eval_metric": "ndcg@5"},
    "stopped by ndcg": {"eval_metric": "ndcg"},
    "xendcg alone, from zero": {"objective": "xendcg", "start": "zero"},
    "gain_pairwise alone, from zero": {"objective": "gain_pairwise", "start": "zero"},
    "listnet alone, from zero": {"objective": "listnet", "start": "zero"},
    "squared alone, from zero": {"objective": "squared", "start": "zero"},
}


def judge(folder: Path, name: str, fold: int, variant: str) -> list[str]:
    """Train a variant and return its line."""
    noisy = load_fold(folder, name, fold, NOISE).train
    valid = load_fold(folder, name, fold).valid
    ranker = Ranker(**VARIANTS[variant], n_jobs=1, random_state=fold)
    scores = ranker.fit(noisy.X, noisy.y, qid=noisy.qid).predict(valid.X)
    values = [ndcg_score(valid.y, scores, qid=valid.qid, k=k, n_jobs=1) for k in (5, 10)]
    return [name, str(fold), variant, *(f"{value:.4f}" for value in values)]


def main() -> None:
    """Run what is missing, then print the means over the sets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or GBRANK_DATA")
    if not OUT.exists():
        OUT.write_text(",".join(HEAD) + "\n", encoding="utf-8")
    with OUT.open(encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    done = {tuple(line[:3]) for line in lines}
    for name in SETS:
        for fold in (1, 3):
            for variant in VARIANTS:
                if (name, str(fold), variant) in done:
                    continue
                lines.append(judge(Path(options.data), name, fold, variant))
                with OUT.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerow(lines[-1])
    for variant in VARIANTS:
        kept = [line for line in lines if line[2] == variant]
        means = [np.mean([float(line[at]) for line in kept]) for at in (3, 4)]
        print("|", variant, "|", " | ".join(f"{mean:.4f}"[1:] for mean in means), "|")


if __name__ == "__main__":
    main()
