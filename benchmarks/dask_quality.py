"""Whether three workers learn as good a ranking as one machine: NDCG@10 on MQ2007_partial.

    GBRANK_DATA=folder python benchmarks/dask_quality.py --seeds 10    # goes on where it stopped

Every seed trains on each half of the queries and is judged on the other, once by ``Ranker`` in one
process and once by ``DaskRanker`` on a LocalCluster of three processes, whose partitions cut
queries. Both draw rows and features by chance, and LightGBM hands partitions to workers again at
each fit, so single fits differ; their means must not.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from common.provenance import provenance
from distributed import Client, LocalCluster
from scale_report import markdown_table

from gbrank import Ranker
from gbrank.dask import DaskRanker
from gbrank.metrics import ndcg_score

RESULTS = Path(__file__).parent / "results"
OBJECTIVES = ("xendcg", "lambdamart", "squared", "listmle")
SETTINGS = {
    "preset": "fast",
    "n_estimators": 60,
    "num_leaves": 15,
    "learning_rate": 0.05,
    "start": "zero",
}
ROWS_OF_A_PARTITION = 3000
ALLOWED = 0.005


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(Path(os.environ["GBRANK_DATA"]) / "MQ2007_partial.npz") as arrays:
        return arrays["X"].astype(np.float64), arrays["y"], arrays["qid"]


def chunked(array: np.ndarray) -> Any:
    return da.from_array(array, chunks=(ROWS_OF_A_PARTITION, *(-1,) * (array.ndim - 1)))


def ndcg_of(objective: str, seed: int, on_dask: bool) -> float:
    """Return NDCG@10 over all queries, each predicted by the model of the other half."""
    X, y, qid = load()
    first = np.isin(qid, np.unique(qid)[::2])
    scores = np.empty(len(y))
    for rows in (first, ~first):
        train = [values[rows] for values in (X, y, qid)]
        if on_dask:
            ranker = DaskRanker(objective, random_state=seed, **SETTINGS)
            parts = list(map(chunked, train))
            model = ranker.fit(parts[0], parts[1], qid=parts[2]).to_local()
        else:
            model = Ranker(objective, random_state=seed, n_jobs=1, **SETTINGS)
            model.fit(train[0], train[1], qid=train[2])
        scores[~rows] = model.predict(X[~rows])
    return float(ndcg_score(y, scores, qid=qid, k=10))


def summary(rows: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return means over seeds, their spread, and the difference with its standard error."""
    local, dask = (np.array([row[where] for row in rows.values()]) for where in ("local", "dask"))
    difference = dask - local
    return {
        "seeds": len(rows),
        "local": float(local.mean()),
        "spread of local": float(local.std(ddof=1)),
        "dask": float(dask.mean()),
        "spread of dask": float(dask.std(ddof=1)),
        "difference": float(difference.mean()),
        "standard error": float(difference.std(ddof=1) / np.sqrt(len(difference))),
        "largest difference of one seed": float(difference[np.abs(difference).argmax()]),
    }


def page(results: dict[str, Any]) -> str:
    header = ["objective", "seeds", "one machine", "three workers", "difference", "farthest seed"]
    body = []
    for name, rows in results["NDCG@10"].items():
        found = summary(rows)
        body.append(
            [
                name,
                str(found["seeds"]),
                f"{found['local']:.4f} (sd {found['spread of local']:.4f})",
                f"{found['dask']:.4f} (sd {found['spread of dask']:.4f})",
                f"{found['difference']:+.4f} ± {found['standard error']:.4f}",
                f"{found['largest difference of one seed']:+.4f}",
            ]
        )
    source = results["provenance"]
    return "\n".join(
        [
            "# Three Dask workers against one machine",
            "",
            "NDCG@10 on MQ2007_partial: two halves of the queries, each judged by the model of the",
            "other. A seed is one model per half by `Ranker` in one process and one by",
            "`DaskRanker` on a LocalCluster of three processes, from partitions of 3,000 rows that",
            "cut queries. 60 trees of 15 leaves at rate 0.05, from zero, else the defaults, which",
            "draw rows and features by the seed. sd is the spread over seeds: what chance does to",
            "one fit, on one machine as well. The difference is that of the means, ± its standard",
            f"error over seeds; aimed at is at most {ALLOWED} in size. The last column is the seed",
            "where both differ most.",
            "",
            markdown_table(header, body),
            "",
            "With one worker the model is that of one machine to 1e-6; `tests/dask` holds that.",
            "",
            "## Provenance",
            "",
            *(f"- {name}: {value}" for name, value in source.items()),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Quality on three Dask workers.")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    path = RESULTS / "dask_quality.json"
    kept = json.loads(path.read_text())["NDCG@10"] if path.exists() else {}
    results = {"provenance": provenance(), "settings": SETTINGS, "NDCG@10": kept}
    with LocalCluster(3, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        for seed in range(options.seeds):
            for name in OBJECTIVES:
                rows = kept.setdefault(name, {})
                if str(seed) in rows:
                    continue
                rows[str(seed)] = {
                    "local": ndcg_of(name, seed, on_dask=False),
                    "dask": ndcg_of(name, seed, on_dask=True),
                }
                path.write_text(json.dumps(results, indent=1) + "\n")
                print(name, seed, rows[str(seed)], flush=True)
    (RESULTS / "dask_quality.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
