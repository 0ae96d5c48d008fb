"""The squared losses of table 1 of Ravikumar et al. (2011) at their exact minimum.

    python benchmarks/exact_least_squares.py --data FOLDER   # writes results/exact_least_squares.md

The preset ``ravikumar2011-table1`` stops after 100 untuned steps of gradient descent. Of squared
error the minimum is known: here are the consistent loss (gains divided by the best DCG at 10) and
the original (gains) at exact least squares, NDCG on the test queries of five folds, and a test by
random changes of sign over queries. Features z-scored within the query without intercept are the
preset's model; raw features with intercept were looked at too, and are shown: two looks at the test
queries of each set.
"""

import argparse
from pathlib import Path

import numpy as np
from common.real_data import data_folder, load_fold

from gbrank import Squared
from gbrank.core import QueryLayout
from gbrank.metrics import holm, ndcg_score, sign_flip_test
from gbrank.noise.floors import zscore_within
from gbrank.noise.sources import ArraySource

SETS = ("OHSUMED_QLN", "MQ2008", "MQ2007_partial", "MSLR_merged")
CUTOFFS = (1, 5, 10)
MODELS = ("z-scored within the query", "raw, with intercept")
RESULTS = Path(__file__).parent / "results"


def design(data, model: str) -> np.ndarray:
    X = np.asarray(data.X, dtype=np.float64)
    if model == MODELS[0]:
        return zscore_within(X, np.unique(data.qid, return_inverse=True)[1])
    return np.column_stack([X, np.ones(len(X))])


def fit(objective: Squared, train, model: str) -> np.ndarray:
    """Return the weights; rows that the loss leaves out have gradient and hessian 0."""
    layout = QueryLayout.from_either(train.qid, None, len(train.y))
    labels, features = layout.sort(train.y), layout.sort(design(train, model))
    grad, hess = objective.grad_hess(labels, np.zeros(len(labels)), layout.sizes)
    kept = hess > 0
    target = -grad[kept].astype(np.float64) / hess[kept]
    return np.linalg.lstsq(features[kept], target, rcond=None)[0]


def split(folder: Path, name: str, fold: int):
    """Return training and test queries; MSLR_merged has no five parts and goes as in presets."""
    if name == "MSLR_merged":
        train, _, test = ArraySource(folder / f"{name}.npz").split(fold - 1, "folds")
    else:
        train, _, test = load_fold(folder, name, fold)
    return train, test


def differences(folder: Path, name: str, model: str) -> dict[int, np.ndarray]:
    """Return NDCG of the consistent loss less that of the original, of every test query."""
    found: dict[int, list[np.ndarray]] = {k: [] for k in CUTOFFS}
    for fold in range(1, 6):
        train, test = split(folder, name, fold)
        judged = design(test, model)
        scores = [
            judged @ fit(loss, train, model) for loss in (Squared(norm_at=10), Squared(norm=None))
        ]
        for k in CUTOFFS:
            values = [ndcg_score(test.y, s, qid=test.qid, k=k, per_query=True) for s in scores]
            gap = np.subtract(*values)
            found[k].append(gap[np.isfinite(gap)])
    return {k: np.concatenate(gaps) for k, gaps in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets; GBRANK_DATA by default")
    folder = data_folder(parser.parse_args().data)
    lines = [
        "# Squared losses at exact least squares",
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip().replace("``", "`"),
        "",
        "| data | features | NDCG | consistent less original | p |",
        "|---|---|---|---|---|",
    ]
    found = []
    for name in SETS:
        for model in MODELS:
            for k, gaps in differences(folder, name, model).items():
                p = sign_flip_test(gaps, 10_000, 0)
                found.append((gaps.mean(), p))
                lines.append(f"| {name} | {model} | @{k} | {gaps.mean():+.4f} | {p:.4f} |")
    means, ps = np.array(found).T
    kept = np.array(holm(ps)) < 0.05
    said = [
        f"{(m > 0).sum()} above and {(m < 0).sum()} below" for m in (means[ps < 0.05], means[kept])
    ]
    lines += [
        "",
        f"Of {len(ps)} comparisons {said[0]} 0 have p < .05, after Holm's correction {said[1]}.",
    ]
    (RESULTS / "exact_least_squares.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
