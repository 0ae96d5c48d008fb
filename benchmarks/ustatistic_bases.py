"""Which base suits ``UStatistic``: the measurement behind its default.

    python benchmarks/ustatistic_bases.py --data FOLDER   # writes results/preferences/bases.*

On three sets of real data 20 and 160 comparisons a query are drawn from the labels of the training
queries (Bradley-Terry: query, then pair, uniformly) and aggregated, all of them, for each of
several listwise losses; the pairwise logistic loss on the comparisons themselves is what they are
compared with. ``Ranker(preset="fast", start="zero")``, 100 trees, the same for all. Judged are the
**validation** queries of five folds: no test query has a say in a default.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from common.provenance import provenance
from common.real_data import data_folder
from comparison.sets import FOLDS, load_fold

from gbrank import Objective, PairwiseLogistic, Ranker, Squared, UStatistic
from gbrank.metrics import ndcg_score
from gbrank.preferences import Comparisons
from gbrank.simulate import bradley_terry

SETS = ("MQ2008", "OHSUMED_QLN", "MSLR_merged")
PER_QUERY = (20, 160)
BASES: dict[str, str | Objective] = {
    "squared": "squared",
    "squared from the mean": Squared(center=True),
    "kl": "kl",
    "bregman_logistic": "bregman_logistic",
    "qnorm": "qnorm",
    "cosine": "cosine",
    "gain_pairwise": "gain_pairwise",
}
BASELINE = "pairwise_logistic, no aggregation"
RESULTS = Path(__file__).parent / "results" / "preferences"


def objective_of(name: str, seen: Comparisons) -> Objective:
    if name == BASELINE:
        return PairwiseLogistic(seen)
    return UStatistic(seen, base=BASES[name])


def run(folder: Path) -> dict[str, dict[str, list[float]]]:
    """Return NDCG@10 of each fold by loss and by set and number of comparisons."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in (*BASES, BASELINE)}
    for data in SETS:
        for fold in FOLDS:
            cut = load_fold(folder, data, fold)
            train, valid = cut.train, cut.valid
            for per_query in PER_QUERY:
                n = per_query * len(train.sizes)
                seen = bradley_terry(train.y, train.qid, n=n, random_state=fold)
                for name in found:
                    ranker = Ranker(
                        objective=objective_of(name, seen),
                        preset="fast",
                        start="zero",
                        n_jobs=1,
                        validation_fraction=None,
                        early_stopping_rounds=None,
                    ).fit(train.X, np.zeros(len(train.y)), qid=train.qid)
                    values = ndcg_score(valid.y, ranker.predict(valid.X), qid=valid.qid, k=10)
                    key = f"{data}, {per_query}"
                    found[name].setdefault(key, []).append(float(np.mean(values)))
    return found


def page(found: dict[str, dict[str, list[float]]]) -> str:
    """Return the table: means of the folds, and how far each loss is from the baseline."""
    points = list(found[BASELINE])
    lines = [
        "# The base of `UStatistic`",
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip().replace("``", "`"),
        "",
        "NDCG@10, means of five folds; last, the mean over the six columns of the difference to",
        "the pairwise logistic loss, ± its standard error over folds.",
        "",
        f"| base | {' | '.join(points)} | to pairwise |",
        f"|---|{'---|' * (len(points) + 1)}",
    ]
    for name, values in found.items():
        gaps = np.mean(
            [np.subtract(values[point], found[BASELINE][point]) for point in points], axis=0
        )
        error = gaps.std(ddof=1) / np.sqrt(len(gaps))
        cells = [f"{np.mean(values[point]):.3f}".lstrip("0") for point in points]
        last = "" if name == BASELINE else f"{gaps.mean():+.3f} ± {error:.3f}"
        lines.append(f"| {name} | {' | '.join(cells)} | {last} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets; GBRANK_DATA by default")
    parser.add_argument("--page", action="store_true", help="write the page from kept results")
    args = parser.parse_args()
    kept = RESULTS / "bases.json"
    if not args.page:
        found = run(data_folder(args.data))
        kept.write_text(json.dumps({"provenance": provenance(), "ndcg@10": found}, indent=1) + "\n")
    (RESULTS / "bases.md").write_text(page(json.loads(kept.read_text())["ndcg@10"]))


if __name__ == "__main__":
    main()
