"""Does one booster of the Ranker suit large data? Time and NDCG against LightGBM's, interleaved.

    python benchmarks/large_data.py                  # 1e5 and 1e6 documents of 136 features
    python benchmarks/large_data.py --documents 100000 --rounds 3

Synthetic queries of the shape of MSLR-WEB30K (120 documents each, 136 features). All grow 100 trees
at a learning rate of 0.05 on all cores: ``Ranker(preset="fast")``, "Ranker()" in the results, and
LightGBM's ``rank_xendcg`` and ``lambdarank`` with LightGBM's own defaults otherwise.
"""

import argparse
import json
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results/large_data.json"
    )
    options = parser.parse_args()
    results = []
    for n_documents in options.documents:
        results.append(measure(n_documents, options.rounds))
        print(json.dumps(results[-1], indent=1), flush=True)
        whole = {"provenance": provenance(), "results": results}
        options.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
