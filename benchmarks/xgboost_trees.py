"""Our losses in XGBoost's trees, next to XGBoost's own: NDCG@5 of test queries.

    GBRANK_DATA=folder python benchmarks/xgboost_trees.py    # goes on where it stopped

Every loss is trained by ``xgb.train`` on the same trees, and stops where NDCG@5 of the validation
queries is best. How strong a penalty is depends on the scale of the hessians, which differs between
losses, so that ``reg_lambda`` and ``min_child_weight``, one number for both, are chosen for each
loss and fold on the validation queries too, and so is ``eta``.
"""

import argparse
import itertools
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from common.provenance import provenance
from common.real_data import data_folder
from comparison.sets import FOLDS, Fold, Queries, load_fold
from scale_report import markdown_table

from gbrank import get_objective
from gbrank.metrics import feval, ndcg_score

RESULTS = Path(__file__).parent / "results"
SETS = ("table_www2018", "MQ2008", "target_types_sigir2017", "OHSUMED_QLN")
NATIVE = ("rank:ndcg", "rank:pairwise")
OURS = ("lambdamart", "xendcg", "listnet", "gain_pairwise")
PENALTIES, RATES = (0.01, 0.1, 1.0, 10.0), (0.1, 0.05)
TREES, PATIENCE = 300, 25
SETTINGS = {"max_depth": 4, "tree_method": "hist", "nthread": 1, "verbosity": 0}


def matrix(part: Queries) -> xgb.DMatrix:
    return xgb.DMatrix(part.X, part.y, qid=part.qid, nthread=1)


def fit(
    loss: str, penalty: float, rate: float, training: xgb.DMatrix, watched: xgb.DMatrix
) -> xgb.Booster:
    params: dict[str, Any] = {
        **SETTINGS,
        "eta": rate,
        "reg_lambda": penalty,
        "min_child_weight": penalty,
        "disable_default_eval_metric": True,
    }
    if loss in NATIVE:
        params["objective"] = loss
    return xgb.train(
        params,
        training,
        TREES,
        evals=[(watched, "valid")],
        obj=None if loss in NATIVE else get_objective(loss).set_params(n_jobs=1),
        custom_metric=feval("ndcg@5", n_jobs=1),
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )


def run(loss: str, data: Fold) -> dict[str, Any]:
    """Return NDCG@5 of each test query, by the settings that validation queries like best.

    Once with any rate, and once with the first one alone.
    """
    training, watched = matrix(data.train), matrix(data.valid)
    tried = list(itertools.product(PENALTIES, RATES))
    boosters = {each: fit(loss, *each, training, watched) for each in tried}
    test, found = xgb.DMatrix(data.test.X, nthread=1), {}
    for rates in (RATES[:1], RATES):
        allowed = [each for each in tried if each[1] in rates]
        best = max(allowed, key=lambda each: boosters[each].best_score)
        trees = boosters[best].best_iteration + 1
        scores = boosters[best].predict(test, iteration_range=(0, trees)).astype(np.float64)
        values = ndcg_score(data.test.y, scores, qid=data.test.qid, k=5, per_query=True, n_jobs=1)
        kept = np.round(values[~np.isnan(values)], 5).tolist()
        found[name_of(rates)] = {"penalty": best[0], "eta": best[1], "trees": trees, "ndcg@5": kept}
    return found


def name_of(rates: tuple[float, ...]) -> str:
    return " or ".join(f"{rate:g}" for rate in rates)


def pooled(results: dict[str, Any], name: str, loss: str, rates: str) -> np.ndarray:
    return np.concatenate([results[name][str(fold)][loss][rates]["ndcg@5"] for fold in FOLDS])


def table(results: dict[str, Any], sets: list[str], rates: str) -> str:
    rows = []
    for loss in NATIVE + OURS:
        values = {name: pooled(results, name, loss, rates) for name in sets}
        means = [float(each.mean()) for each in values.values()]
        against = [values[name] - pooled(results, name, NATIVE[0], rates) for name in sets]
        difference = float(np.mean([each.mean() for each in against]))
        variance = np.sum([each.var(ddof=1) / len(each) for each in against])
        error = float(np.sqrt(variance) / len(sets))
        shown = "" if loss == NATIVE[0] else f"{difference:+.4f} ± {error:.4f}"
        label = f"XGBoost `{loss}`" if loss in NATIVE else f"gbrank `{loss}`"
        rows.append([label, *(f"{mean:.4f}" for mean in means), f"{np.mean(means):.4f}", shown])
    return markdown_table(["loss", *sets, "mean", f"against `{NATIVE[0]}`"], rows)


def page(found: dict[str, Any]) -> str:
    results = found["results"]
    sets = [
        name
        for name in SETS
        if all(
            loss in results.get(name, {}).get(str(fold), {})
            for fold in FOLDS
            for loss in NATIVE + OURS
        )
    ]
    return "\n".join(
        [
            "# Our losses in XGBoost's trees",
            "",
            "Mean NDCG@5 of test queries, five folds of each data set, all losses trained by",
            "`xgb.train`: at most 300 trees of depth 4, stopped after 25 trees without a better",
            "NDCG@5 of the validation queries. `reg_lambda = min_child_weight` is one of 0.01,",
            "0.1, 1 and 10, for each loss and fold the best by validation queries: the same",
            "number is another penalty for each loss. The last column is the mean over the data",
            "sets of the difference to XGBoost's own `rank:ndcg`, ± its standard error over test",
            "queries.",
            "",
            f"## `eta={name_of(RATES[:1])}`",
            "",
            "This was run first.",
            "",
            table(results, sets, name_of(RATES[:1])),
            "",
            f"## `eta` {name_of(RATES)}",
            "",
            "Added after the table above was seen, as XGBoost's own losses have twice the hessian",
            "of ours, and so half the step at the same `eta`. The rate, too, is the best by",
            "validation queries.",
            "",
            table(results, sets, name_of(RATES)),
            "",
            "## Provenance",
            "",
            *(f"- {name}: {value}" for name, value in found["provenance"].items()),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Our losses in XGBoost's trees.")
    parser.add_argument("--data", help="folder of the data sets; else that of GBRANK_DATA")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    options = parser.parse_args()
    folder = data_folder(options.data)
    path = RESULTS / "xgboost_trees.json.xz"
    results = json.loads(lzma.decompress(path.read_bytes()))["results"] if path.exists() else {}
    sources = {**provenance(), "xgboost": xgb.__version__}
    found = {"provenance": sources, "settings": SETTINGS, "results": results}
    for name in options.sets:
        for fold in FOLDS:
            done = results.setdefault(name, {}).setdefault(str(fold), {})
            wanted = [loss for loss in NATIVE + OURS if loss not in done]
            data = load_fold(folder, name, fold) if wanted else None
            for loss in wanted:
                done[loss] = run(loss, data)
                path.write_bytes(lzma.compress(json.dumps(found).encode()))
                print(name, fold, loss, flush=True)
    (RESULTS / "xgboost_trees.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
