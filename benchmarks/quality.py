"""NDCG of every loss on real data, five folds, LightGBM's own objectives in the same run.

    python benchmarks/quality.py --data FOLDER            # writes benchmarks/results/quality.md
    python benchmarks/quality.py --sets MQ2008 --objectives xendcg squared --out quality.md

Every model has the same trees and stops when NDCG@5 on the validation queries has not improved for
50 trees. The trees are regularised ones (few leaves, many rows a leaf, half of the features, 70% of
the rows): with 31 leaves and nothing else, no loss is reliably better than a single feature on sets
this small. Nothing is tuned per loss. The floor is the single feature that ranks the training
queries best.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import lightgbm as lgb
import numpy as np
from common.floors import best_single_feature, single_feature_scores
from common.provenance import provenance
from common.real_data import Part, data_folder, load_fold

from gbrank import get_objective, list_objectives
from gbrank.metrics import feval, ndcg_score

SETS = ("MQ2008", "OHSUMED_QLN")
FOLDS = (1, 2, 3, 4, 5)
PEERS = ("lightgbm:lambdarank", "lightgbm:rank_xendcg")
FLOOR = "best single feature"
MOST_TREES, PATIENCE = 500, 50
TREES = {
    "num_leaves": 16,
    "learning_rate": 0.05,
    "min_data_in_leaf": 50,
    "lambda_l2": 5.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "num_threads": 1,
    "force_col_wise": True,
    "deterministic": True,
    "metric": "None",
    "verbose": -1,
    "seed": 0,
}
#: Variants that are not in the registry under a name of their own: the inconsistent originals and
#: the top-k losses.
VARIANTS = {
    "squared(norm=None)": ("squared", {"norm": None}),
    "cosine(norm='l2')": ("cosine", {"norm": "l2"}),
    "qnorm(form='normalized')": ("qnorm", {"form": "normalized"}),
    "listmle(k=10)": ("listmle", {"k": 10}),
    "listnet(k=10)": ("listnet", {"k": 10}),
}


def as_dataset(part: Part, reference: lgb.Dataset | None = None) -> lgb.Dataset:
    _, sizes = np.unique(part.qid, return_counts=True)
    return lgb.Dataset(part.X, part.y, group=sizes, reference=reference, params=TREES)


def build_objective(name: str) -> object:
    if name.startswith("lightgbm:"):
        return name.removeprefix("lightgbm:")
    registered, options = VARIANTS.get(name, (name, {}))
    return get_objective(registered, **options)


def run_one(folder: str, data_set: str, fold: int, name: str) -> dict[str, object]:
    """Train one objective on one fold; return its NDCG on the test queries."""
    train, valid, test = load_fold(Path(folder), data_set, fold)
    trees = 0
    if name == FLOOR:
        scores = single_feature_scores(test, *best_single_feature(train))
    else:
        training = as_dataset(train)
        booster = lgb.train(
            {**TREES, "objective": build_objective(name)},
            training,
            MOST_TREES,
            valid_sets=[as_dataset(valid, training)],
            feval=feval("ndcg@5"),
            callbacks=[lgb.early_stopping(PATIENCE, verbose=False)],
        )
        trees = booster.best_iteration
        scores = booster.predict(test.X, num_threads=1)
    return {
        "set": data_set,
        "fold": fold,
        "objective": name,
        "trees": trees,
        **{
            f"ndcg@{k}": float(ndcg_score(test.y, scores, qid=test.qid, k=k, n_jobs=1))
            for k in (1, 5, 10)
        },
    }


def table(rows: list[dict[str, object]], data_set: str) -> str:
    """Return one Markdown table, best NDCG@10 first."""
    mine = [row for row in rows if row["set"] == data_set]
    floor = {row["fold"]: row["ndcg@10"] for row in mine if row["objective"] == FLOOR}
    lines = []
    for name in dict.fromkeys(row["objective"] for row in mine):
        folds = [row for row in mine if row["objective"] == name]
        cells = []
        for metric in ("ndcg@10", "ndcg@5", "ndcg@1"):
            values = np.array([row[metric] for row in folds])
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            cells.append(f"{values.mean():.4f} ± {error:.4f}")
        above = sum(row["ndcg@10"] > floor[row["fold"]] for row in folds)
        trees = np.mean([row["trees"] for row in folds])
        floor_cell = "" if name == FLOOR else f"{above} of {len(folds)}"
        mean = np.mean([row["ndcg@10"] for row in folds])
        lines.append((mean, f"| {name} | {' | '.join(cells)} | {floor_cell} | {trees:.0f} |"))
    head = "| objective | NDCG@10 | NDCG@5 | NDCG@1 | folds above the floor | trees |"
    body = "\n".join(line for _, line in sorted(lines, reverse=True))
    return f"## {data_set}\n\n{head}\n| --- | --- | --- | --- | --- | --- |\n{body}\n"


def report(rows: list[dict[str, object]], sets: list[str]) -> str:
    facts = "\n".join(f"- {key}: {value}" for key, value in provenance().items())
    tables = "\n".join(table(rows, data_set) for data_set in sets)
    settings = ", ".join(f"{key} {value}" for key, value in TREES.items())
    return f"""# Quality of every loss

Mean over the five folds ± the standard error over folds, on test queries. Queries without a
relevant document are skipped, ties averaged. The same trees for all, at most {MOST_TREES}, early
stopping ({PATIENCE} trees) on validation NDCG@5. The standard errors are larger than most
differences: these sets are small. The floor is the single feature that ranks the training queries
best.

- trees: {settings}
{facts}

{tables}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets; default: GBRANK_DATA")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--objectives", nargs="+", help="default: all, variants and peers")
    parser.add_argument("--jobs", type=int, default=2)
    default_out = Path(__file__).parent / "results" / "quality.md"
    parser.add_argument("--out", type=Path, default=default_out)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    names = arguments.objectives or [*list_objectives(observations=False), *VARIANTS, *PEERS]
    for name in names:
        build_objective(name)  # an unknown name is said before any work
    jobs = [
        (str(folder), data_set, fold, name)
        for data_set in arguments.sets
        for fold in FOLDS
        for name in [FLOOR, *names]
    ]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        rows = []
        for row in pool.map(run_one, *zip(*jobs, strict=True)):
            rows.append(row)
            print(f"{len(rows)}/{len(jobs)}", row["set"], row["fold"], row["objective"], end="\r")
    print()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(report(rows, arguments.sets))
    arguments.out.with_suffix(".json").write_text(
        json.dumps({"provenance": provenance(), "rows": rows}, indent=1) + "\n"
    )
    print(f"{arguments.out}\n\n" + "\n".join(table(rows, name) for name in arguments.sets))


if __name__ == "__main__":
    main()
