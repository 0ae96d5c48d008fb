"""Does the diagnosis of labels tell the truth? Known noise, and what is found of it.

    GBRANK_DATA=FOLDER python benchmarks/diagnosis.py coverage errors corrected recommendations

Each part writes its own entry of ``results/diagnosis.json`` when it is done; ``page`` writes
``results/diagnosis.md`` from them.

coverage: 100 synthetic sets with a known confusion matrix and certain rows for every grade; how
many of the 95% intervals of its entries hold the truth. errors: 10% of the labels of real sets
replaced by another one; average precision of finding these, against their share. corrected:
class-conditional noise in four real sets, gains corrected with the true and with the estimated
matrix, and what bias alone takes. recommendations: sets of known noise, the recommended loss
against the default, for each loss as the default, on clean test queries.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from common.provenance import provenance
from common.real_data import data_folder
from diagnosis_page import write_page
from sklearn.metrics import average_precision_score

from gbrank import KL, Ranker, Squared
from gbrank.core import RankingData
from gbrank.data import make_ranking
from gbrank.gains import corrected_gain, correction_variance
from gbrank.metrics import get_metric, ndcg_score
from gbrank.noise.diagnosis import LOSSES
from gbrank.noise.estimation import estimate_matrix, grade_probabilities
from gbrank.noise.second_look import find_suspects, true_grades
from gbrank.noise.sensitivity import measure_sensitivity, recommend
from gbrank.simulate import careless_judge, confuse_labels, noise_matrix

RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "diagnosis.json"
REAL = ("MQ2008", "OHSUMED_QLN", "MSLR_merged", "MQ2007_partial")


def with_anchors(seed: int, matrix: np.ndarray, n_queries: int = 150, length: int = 20) -> Any:
    """Return rows half of which show their grade, and labels by the matrix."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(matrix), n_queries * length)
    X = rng.normal(size=(len(truth), 4))
    shows = rng.random(len(truth)) < 0.5
    X[:, 0] = np.where(shows, 10.0 * truth, -10.0 + 0.5 * truth + rng.normal(size=len(truth)))
    qid = np.repeat(np.arange(n_queries), length)
    noisy = confuse_labels(truth.astype(float), qid, matrix, random_state=seed + 1)
    return RankingData.checked(X.astype(np.float32), noisy, qid), truth


def coverage(runs: int = 100) -> dict[str, Any]:
    """Count how often the intervals of matrix entries hold the truth."""
    matrices = {
        "one grade off, 30%, three grades": noise_matrix("neighbours", 0.3, 3),
        "underrated, 40%, four grades": noise_matrix("underrated", 0.4, 4),
    }
    found = {}
    for name, matrix in matrices.items():
        held, certain, documents = [], [], []
        for seed in range(1000, 1000 + runs):  # the estimator was adjusted on 0 to 99
            data, truth = with_anchors(seed, matrix)
            labels = data.y.astype(np.int64)
            chances, fold_of = grade_probabilities(data, len(matrix), 5, seed)
            estimate = estimate_matrix(labels, chances, fold_of, data.layout, random_state=seed)
            held.append((estimate.low <= matrix + 1e-12) & (matrix <= estimate.high + 1e-12))
            certain.append(bool(np.all(estimate.is_certain)))
            low, high = estimate.document_noise[1:]
            documents.append(low <= float((labels != truth).mean()) <= high)
        share = np.mean(held, axis=0)
        found[name] = {
            "runs": runs,
            "entries": share.round(3).tolist(),
            "lowest": float(share.min()),
            "mean": float(share.mean()),
            "document_noise": float(np.mean(documents)),
            "called_identified": float(np.mean(certain)),
        }
        print(name, found[name], flush=True)
    return found


def load(name: str, n_queries: int | None = None) -> RankingData:
    """Return a real set; with a number, some of its queries."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as arrays:
        X, y, qid = arrays["X"], arrays["y"].astype(np.float64), arrays["qid"]
    rng = np.random.default_rng(0)
    rows = np.lexsort((rng.random(len(y)), qid))
    data = RankingData.checked(X[rows], y[rows], qid[rows])
    if n_queries is not None and n_queries < data.n_queries:
        data = data.take(rng.permutation(data.n_queries)[:n_queries])
    return data


def errors(seeds: int = 3) -> dict[str, Any]:
    """Replace 10% of the labels by another grade; find them again."""
    found = {}
    for name in ("MQ2008", "OHSUMED_QLN", "MSLR_merged"):
        whole = load(name, 400)
        clean = whole.y.astype(np.int64)
        grades = int(clean.max()) + 1
        lines = []
        for seed in range(100, 100 + seeds):  # the order was chosen by what 0 to 2 gave
            rng = np.random.default_rng(seed)
            wrong = rng.random(len(clean)) < 0.1
            labels = np.where(wrong, (clean + rng.integers(1, grades, len(clean))) % grades, clean)
            data = RankingData.checked(whole.X, labels.astype(np.float64), whole.qid)
            chances, fold_of = grade_probabilities(data, grades, 5, seed)
            estimate = estimate_matrix(labels, chances, fold_of, data.layout, random_state=seed)
            suspects = find_suspects(labels, chances, data.layout, get_metric("ndcg@10"), estimate)
            posterior = true_grades(labels, chances, estimate)
            doubt = 1.0 - posterior[np.arange(len(labels)), labels]
            first = suspects.rows[: max(len(labels) // 50, 1)]
            lines.append(
                [
                    wrong.mean(),
                    average_precision_score(wrong, doubt),
                    average_precision_score(wrong, suspects.change),
                    wrong[first].mean(),
                ]
            )
        share, by_chance, by_change, in_first = np.mean(lines, axis=0)
        found[name] = {
            "seeds": seeds,
            "queries": whole.n_queries,
            "share": share,
            "average_precision_of_chance": by_chance,
            "average_precision_of_change": by_change,
            "wrong_among_first_2_percent": in_first,
        }
        print(name, found[name], flush=True)
    return found


def overlooked(grades: int) -> np.ndarray:
    """Return noise of much variance: the best are overlooked, some bad ones praised."""
    matrix = np.eye(grades)
    matrix[0, -1], matrix[-1, -1] = 0.6, 0.4
    matrix[0, 0], matrix[-1, 0] = 0.9, 0.1
    return matrix


def promoted(grades: int) -> np.ndarray:
    """Return noise of much bias: 30% of the irrelevant are called best, as sellers do their own."""
    matrix = np.eye(grades)
    matrix[0, 0], matrix[-1, 0] = 0.7, 0.3
    return matrix


def corrected(folds: int = 2, n_queries: int = 400) -> dict[str, Any]:
    """Train on clean labels, noisy ones, and with gains corrected by two matrices.

    And what noise takes by bias alone: clean labels, each with the gain that its noisy label has in
    expectation. Corrected gains have no bias, so that what they lack is variance. Only columns of
    the estimated matrix that had anchors are corrected: without them it is an upper bound.
    """
    found: dict[str, Any] = {}
    for name, kind in [(name, kind) for kind in (promoted, overlooked) for name in REAL]:
        data = load(name, n_queries)
        grades = int(data.y.max()) + 1
        matrix, gains = kind(grades), np.exp2(np.arange(grades)) - 1.0
        lines: dict[str, list[list[float]]] = {"Squared": [], "KL": []}
        identified = []
        for fold in range(folds):
            train, test = data.split(0.7, random_state=fold)
            noisy = confuse_labels(train, None, matrix, random_state=fold)
            labels = noisy.y.astype(np.int64)
            chances, fold_of = grade_probabilities(noisy, grades, 5, fold)
            estimate = estimate_matrix(labels, chances, fold_of, noisy.layout)
            known = np.where(estimate.is_certain, estimate.matrix, np.eye(grades))
            identified.append(np.asarray(estimate.is_certain).astype(int).tolist())
            variants = {
                "clean": (train.y, gains),
                "bias": (train.y, matrix.T @ gains),
                "noisy": (noisy.y, gains),
                "true matrix": (noisy.y, corrected_gain(matrix)),
                "estimated matrix": (noisy.y, corrected_gain(known)),
            }
            for loss in (Squared, KL):
                line = []
                for y, gain in variants.values():
                    ranker = Ranker(
                        loss(norm=None, gain=gain), preset="fast", learning_rate=0.1,
                        random_state=fold, n_jobs=1,
                    )  # fmt: skip
                    scores = ranker.fit(train.X, y, qid=train.qid).predict(test.X)
                    line.append(float(ndcg_score(test.y, scores, qid=test.qid, k=10)))
                lines[loss.__name__].append(line)
        shares = np.bincount(data.y.astype(int)) / data.n_rows
        for loss_name, values in lines.items():
            found[f"{kind.__name__} {name} {loss_name}"] = {
                "folds": folds,
                "queries": data.n_queries,
                "variance": correction_variance(matrix, shares=shares),
                "identified": identified,
                **dict(zip(variants, np.mean(values, axis=0).tolist(), strict=True)),
            }
            print(kind.__name__, name, loss_name, np.mean(values, axis=0).round(4), flush=True)
    return found


def cut(number: int) -> tuple[str, RankingData, RankingData]:
    """Return the name of a set, its training and its test queries, many where it can be."""
    if number % 3 == 2:
        name = (*REAL[:3], "table_www2018")[number // 3 % 4]
        train, test = load(name, 150).split(0.6, random_state=number)
    else:
        name, whole = "synthetic", make_ranking(n_queries=1090, random_state=number)
        train, test = whole.take(np.arange(90)), whole.take(np.arange(90, 1090))
    checked = (
        RankingData.checked(
            np.asarray(part.X, dtype=np.float32),
            part.y,
            np.unique(part.qid, return_inverse=True)[1],
        )
        for part in (train, test)
    )
    return name, *checked


def spoilt(train: RankingData, kind: str, seed: int) -> np.ndarray:
    """Return training labels with noise of a kind."""
    if kind == "none":
        return np.asarray(train.y)
    if kind == "judge":
        return careless_judge(train.y, train.qid, 0.4, random_state=seed)
    matrix = noise_matrix(kind, 0.4, int(train.y.max()) + 1)
    return confuse_labels(train.y, train.qid, matrix, random_state=seed)


def recommendations(first: int = 300, n_sets: int = 30) -> dict[str, Any]:
    """Recommend by noisy labels, with each loss as the default; judge all by clean test queries.

    One loss truly wins over a default where it is better by more than .02 on test queries, and by
    more than three standard errors over these.
    """
    sets = []
    for number in range(first, first + n_sets):
        kind = ("none", "uniform", "missing", "judge", "underrated")[number % 5]
        name, train, test = cut(number)
        given = RankingData.checked(train.X, spoilt(train, kind, number), train.qid)
        found = measure_sensitivity(
            given, LOSSES, get_metric("ndcg@10"), levels=(0.0,), noise=0.0, n_folds=3,
            random_state=number, n_estimators=60,
        )  # fmt: skip
        chosen = {loss: recommend(found, loss, random_state=number).objective for loss in LOSSES}
        by_query = {}
        for loss in LOSSES:
            ranker = Ranker(loss, preset="fast", n_estimators=60, random_state=number, n_jobs=1)
            scores = ranker.fit(given.X, given.y, qid=given.qid).predict(test.X)
            each = ndcg_score(test.y, scores, qid=test.qid, k=10, per_query=True, empty="skip")
            by_query[loss] = each[np.isfinite(each)]
        quality = {loss: round(float(each.mean()), 5) for loss, each in by_query.items()}
        winner = {loss: true_winner(by_query, loss) for loss in LOSSES}
        sets.append({"data": name, "noise": kind, "test_queries": len(each), "chosen": chosen,
                     "winner": winner, "quality": quality})  # fmt: skip
        print(number, sets[-1], flush=True)
    return {"sets": sets, "first": first}


def true_winner(by_query: dict[str, np.ndarray], default: str) -> str | None:
    """Return the best loss, if it is better than the default without doubt."""
    best = max(by_query, key=lambda loss: by_query[loss].mean())
    gain = by_query[best] - by_query[default]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return best if gain.mean() > max(0.02, 3 * error) else None


PARTS = {
    "coverage": coverage,
    "errors": errors,
    "corrected": corrected,
    "recommendations": recommendations,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "page"], help="what to run")
    for part in parser.parse_args(arguments).parts:
        if part in PARTS:
            found = PARTS[part]()
            kept = json.loads(FILE.read_text()) if FILE.is_file() else {}
            kept[part] = found
            kept["provenance"] = provenance()
            FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
