"""Does the Ranker suit large data? Time and NDCG against LightGBM's.

    python benchmarks/large_data.py                  # 1e5 and 1e6 documents of 136 features
    python benchmarks/large_data.py --documents 100000 --rounds 3
    python benchmarks/large_data.py --as-it-comes    # Ranker() against lambdarank, 1e6 documents

Synthetic queries of the shape of MSLR-WEB30K (120 documents each, 136 features). All grow 100 trees
at a learning rate of 0.05 on all cores: ``Ranker(preset="fast")``, "Ranker()" in the results, and
LightGBM's ``rank_xendcg`` and ``lambdarank`` with LightGBM's own defaults otherwise.

With --as-it-comes it is ``Ranker()``, which holds out a part of the queries by itself, against
``lambdarank`` at a rate of .05, up to 500 trees, stopped early by the same share of the queries:
CPU time of one training each on one thread, binning included.
"""

import argparse
import json
import time
from pathlib import Path

import lightgbm as lgb
from common.provenance import provenance
from common.timing import interleave, ratio_with_interval

from gbrank import Ranker
from gbrank.data import RankingData, make_ranking
from gbrank.metrics import ndcg_score

N_TREES, RATE = 100, 0.05
LENGTH, N_FEATURES = 120, 136


def make_data(n_documents: int, seed: int) -> RankingData:
    return make_ranking(
        n_documents // LENGTH, list_length=LENGTH, n_features=N_FEATURES, random_state=seed
    )


def fit_ranker(data: RankingData) -> Ranker:
    ranker = Ranker(preset="fast", n_estimators=N_TREES, learning_rate=RATE)
    return ranker.fit(data.X, data.y, group=data.group)


def fit_lightgbm(data: RankingData, objective: str) -> lgb.Booster:
    params = {"objective": objective, "learning_rate": RATE, "verbose": -1, "metric": "None"}
    return lgb.train(params, lgb.Dataset(data.X, data.y, group=data.group), N_TREES)


def measure(n_documents: int, rounds: int) -> dict[str, object]:
    train, test = make_data(n_documents, 0), make_data(50_000, 1)
    models: dict[str, object] = {}

    def timed(name: str, fit):
        def run() -> None:
            models[name] = fit()

        return run

    alternatives = {
        "Ranker()": timed("Ranker()", lambda: fit_ranker(train)),
        "rank_xendcg": timed("rank_xendcg", lambda: fit_lightgbm(train, "rank_xendcg")),
        "lambdarank": timed("lambdarank", lambda: fit_lightgbm(train, "lambdarank")),
    }
    fit_ranker(make_data(2_000, 2))  # kernels are compiled before the clock starts
    seconds = interleave(alternatives, rounds, warm_up=0)
    result: dict[str, object] = {"documents": len(train.y), "rounds": rounds}
    for name, model in models.items():
        quality = ndcg_score(test.y, model.predict(test.X), group=test.group, k=10)
        result[f"NDCG@10 of {name}"] = round(float(quality), 4)
    for name in ("rank_xendcg", "lambdarank"):
        ratio = ratio_with_interval(seconds["Ranker()"], seconds[name])
        result[f"time of Ranker() over {name}"] = [round(value, 3) for value in ratio]
    result["start"] = models["Ranker()"].start_kind_
    return result


def measure_as_it_comes(n_documents: int) -> dict[str, object]:
    """Train both once and return CPU seconds, NDCG@10 and numbers of trees."""
    data, test = make_data(n_documents, 0), make_data(50_000, 1)
    fit_ranker(make_data(2_000, 2))
    started = time.process_time()
    ranker = Ranker(n_jobs=1, random_state=0).fit(data.X, data.y, group=data.group)
    middle = time.process_time()
    print(f"Ranker(): {middle - started:.0f} s of CPU time", flush=True)
    train, valid = data.split(1 - ranker.validation_fraction)
    params = {"objective": "lambdarank", "learning_rate": RATE, "metric": "ndcg", "eval_at": [10]}
    training = lgb.Dataset(train.X, train.y, group=train.group)
    judged = lgb.Dataset(valid.X, valid.y, group=valid.group, reference=training)
    stop = lgb.early_stopping(50, verbose=False)
    booster = lgb.train(
        {**params, "num_threads": 1, "verbose": -1}, training, 500, [judged], callbacks=[stop]
    )
    seconds = middle - started, time.process_time() - middle
    scores = ranker.predict(test.X), booster.predict(test.X)
    quality = [ndcg_score(test.y, each, group=test.group, k=10) for each in scores]
    return {
        "documents": len(data.y),
        "CPU seconds": [round(each, 1) for each in seconds],
        "time of Ranker() over lambdarank": round(seconds[0] / seconds[1], 3),
        "NDCG@10": [round(float(each), 4) for each in quality],
        "trees": [ranker.booster_.num_trees(), booster.best_iteration],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results/large_data.json"
    )
    parser.add_argument("--as-it-comes", action="store_true")
    options = parser.parse_args()
    if options.as_it_comes:
        kept = json.loads(options.out.read_text()) if options.out.exists() else {}
        kept["as it comes"] = [measure_as_it_comes(max(options.documents))]
        kept["as it comes provenance"] = provenance()
        print(json.dumps(kept["as it comes"], indent=1))
        options.out.write_text(json.dumps(kept, indent=1) + "\n")
        return
    results = []
    for n_documents in options.documents:
        results.append(measure(n_documents, options.rounds))
        print(json.dumps(results[-1], indent=1), flush=True)
        kept = json.loads(options.out.read_text()) if options.out.exists() else {}
        whole = kept | {"provenance": provenance(), "results": results}
        options.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
