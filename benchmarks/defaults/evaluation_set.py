"""What a fit with an evaluation set should grow: one booster, stopped or not, judged by validation.

    python -m defaults.evaluation_set --data FOLDER

A quarter of the training queries of a fold, noisy as the others, is the evaluation set; the
validation part, with clean labels, judges. No test query is looked at. Finished runs are kept in
results/defaults/evaluation_set.csv at once.
"""

import argparse
import csv
import os
from pathlib import Path

import numpy as np
from comparison.peers import MOST_TREES, fit_lightgbm
from comparison.sets import SETS, Queries, load_fold

from gbrank import QueryKFold, Ranker
from gbrank.metrics import ndcg_score

OUT = Path(__file__).parents[1] / "results" / "defaults" / "evaluation_set.csv"
HEAD = ["set", "fold", "noise", "variant", "ndcg@10"]
FOLDS = (2, 4)
FAST = {"preset": "fast"}
ZERO = {"objective": "lambdamart", "start": "zero", "subsample_freq": 0}
#: Parameters of one booster that has the evaluation set.
STOPPED = {
    "100 trees": FAST,
    "rate .03, patience 50": {**FAST, "n_estimators": 1000, "early_stopping_rounds": 50},
    "rate .1, patience 25": {
        **FAST, "n_estimators": 500, "learning_rate": 0.1, "early_stopping_rounds": 25
    },
    "lambdamart from zero, rate .05, patience 50": {
        **FAST, **ZERO, "n_estimators": 1000, "learning_rate": 0.05, "early_stopping_rounds": 50
    },
}  # fmt: skip


def predictions(train: Queries, given: Queries, both: Queries, X: np.ndarray):
    """Yield the name of a variant and its scores of the rows of X."""
    for name, params in STOPPED.items():
        ranker = Ranker(**params, n_jobs=1, random_state=0).fit(
            train.X, train.y, qid=train.qid, eval_X=given.X, eval_y=given.y, eval_qid=given.qid
        )
        yield name, ranker.predict(X)
    for name, rows in {"`Ranker()`, without the set": train, "`Ranker()` on all": both}.items():
        yield name, Ranker(n_jobs=1, random_state=0).fit(rows.X, rows.y, qid=rows.qid).predict(X)
    predict, _ = fit_lightgbm("lambdarank", train, given, MOST_TREES, 0)
    yield "LightGBM `lambdarank`, patience 50", predict(X)


def means() -> dict[tuple[str, str], float]:
    """Return NDCG@10 of each variant and noise, mean over sets after folds."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in csv.DictReader(OUT.open(encoding="utf-8")):
        of_sets = values.setdefault((row["variant"], row["noise"]), {})
        of_sets.setdefault(row["set"], []).append(float(row["ndcg@10"]))
    return {
        key: float(np.mean([np.mean(folds) for folds in of_sets.values()]))
        for key, of_sets in values.items()
    }


def main() -> None:
    """Run what is missing, then print the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.4])
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or GBRANK_DATA")
    if not OUT.exists():
        OUT.write_text(",".join(HEAD) + "\n", encoding="utf-8")
    done = {(r["set"], r["fold"], r["noise"]) for r in csv.DictReader(OUT.open(encoding="utf-8"))}
    for noise in options.noise:
        for name in SETS:
            for number in FOLDS:
                if (name, str(number), str(noise)) in done:
                    continue
                both = load_fold(options.data, name, number, noise).train
                judges = load_fold(options.data, name, number, 0.0).valid
                folds = QueryKFold(4, shuffle=True, random_state=0)
                inside, outside = next(folds.split(both.X, both.y, both.qid))
                train, given = (
                    Queries(both.X[rows], both.y[rows], both.qid[rows])
                    for rows in (inside, outside)
                )
                rows = [
                    [name, number, noise, variant, round(float(value), 5)]
                    for variant, scores in predictions(train, given, both, judges.X)
                    for value in [ndcg_score(judges.y, scores, qid=judges.qid, k=10)]
                ]
                with OUT.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)
    for (variant, level), value in means().items():
        print(f"{variant:45} {level} {value:.4f}")


if __name__ == "__main__":
    main()
