"""Whether a booster of all queries should join those of the folds, and LambdaMART draw rows.

    python -m defaults.whole --data FOLDER

Trained on the training part of folds 2 and 4, with noise in its labels or none; the validation
part, with clean labels, judges. No test query is looked at. A line of results/defaults/whole.csv is
a blend with some share of the booster that sees all queries; "trees" says what LambdaMART has that
is not as in the preset. Finished runs are kept at once.
"""

import argparse
import csv
import os
from pathlib import Path
from unittest import mock

import numpy as np
from comparison.sets import SETS, load_fold

import gbrank.ranker
from gbrank import Ranker
from gbrank.boosting import PRESETS, blend_members
from gbrank.core import QueryLayout
from gbrank.metrics import ndcg_score

OUT = Path(__file__).parents[1] / "results" / "defaults" / "whole.csv"
HEAD = ["set", "fold", "noise", "trees", "share of the whole", "ndcg@5", "ndcg@10"]
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
ROWS = {"subsample": 0.7, "subsample_freq": 1}
TREES = {
    "rows drawn, 20 documents": ROWS,
    "all rows, 20 documents": {"subsample_freq": 0},
    "all rows, 1 document": {"subsample_freq": 0, "reg_lambda": 1.0},
    "all rows, 5 documents": {"subsample_freq": 0, "reg_lambda": 5.0},
}


def blends(folder: Path, name: str, fold: int, noise: float, trees: str) -> list[list[str]]:
    """Train, and return a line for each share of the booster that sees all queries."""
    noisy = load_fold(folder, name, fold, noise).train
    judge = load_fold(folder, name, fold).valid
    grown = []
    train = gbrank.ranker.Members.set_trained

    def watch(members, *given):
        grown.append(members)
        train(members, *given)

    object.__setattr__(PRESETS["balanced"].members[1], "trees", TREES[trees])
    with mock.patch.object(gbrank.ranker.Members, "set_trained", watch):
        ranker = Ranker(preset="balanced", n_jobs=1, random_state=fold)
        ranker.fit(noisy.X, noisy.y, qid=noisy.qid)
    [found] = grown
    held_out = [each.held_out for each in found.grown] + [found._scores_of_start(0)]
    blend = blend_members(found.held_out, held_out)
    layout = QueryLayout.from_qid(judge.qid)
    scores = [
        [
            booster.predict(judge.X, num_iteration=count) + start.scores(judge.X, layout)
            for booster, count, start in zip(one.boosters, one.n_trees, starts, strict=True)
        ]
        for one, starts in zip(found.grown, found.starts, strict=True)
    ]
    scores.append([start.scores(judge.X, layout) for start in found.starts[0]])
    by_part = np.tensordot(blend.coefficients, np.array(scores), axes=1)
    lines = []
    for share in SHARES:
        folds, whole = by_part[:-1].mean(axis=0), by_part[-1]
        final = (1 - share) * folds + share * whole
        values = [ndcg_score(judge.y, final, qid=judge.qid, k=k, n_jobs=1) for k in (5, 10)]
        shown = [f"{value:.4f}" for value in values]
        lines.append([name, str(fold), str(noise), trees, str(share), *shown])
    return lines


def main() -> None:
    """Run what is missing, then print the means over the sets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--folds", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.6])
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or GBRANK_DATA")
    lines = list(csv.reader(OUT.open()))[1:] if OUT.exists() else []
    done = {tuple(line[:4]) for line in lines}
    if not OUT.exists():
        OUT.write_text(",".join(HEAD) + "\n")
    for name in options.sets:
        for fold in options.folds:
            for noise in options.noise:
                for trees in TREES:
                    if (name, str(fold), str(noise), trees) in done:
                        continue
                    lines += (new := blends(Path(options.data), name, fold, noise, trees))
                    with OUT.open("a", newline="") as file:
                        csv.writer(file, lineterminator="\n").writerows(new)
    for noise in sorted({line[2] for line in lines}):
        for trees in TREES:
            for share in map(str, SHARES):
                kept = [line for line in lines if line[2:5] == [noise, trees, share]]
                sets = {line[0] for line in kept}
                means = [
                    np.mean([np.mean([float(k[at]) for k in kept if k[0] == s]) for s in sets])
                    for at in (5, 6)
                ]
                print(noise, f"{trees:26s}", share, *(f"{mean:.4f}" for mean in means))


if __name__ == "__main__":
    main()
