"""Figures 1 to 4 of Wang et al. (2013) with the paper's kinds of rankers and its linear gains.

    python benchmarks/distinguishability_paper.py     # some five minutes

As ``distinguishability.py``, first setting, but the two trained rankers are linear: RankSVM (hinge
loss on pairs) and ListNet (softmax cross entropy with the labels), each with a small ridge. The one
with the higher NDCG on its training queries is named first. A label is worth itself, as in
definition 1 of the paper.
"""

import argparse
import json
import lzma
from pathlib import Path
from typing import Any

import distinguishability as parent
import numpy as np
from common.pictures import save_png
from common.provenance import provenance
from scipy.optimize import minimize

from gbrank import ListNet, PairwiseHinge
from gbrank.metrics import ndcg_score

RESULTS = Path(__file__).parent / "results" / "distinguishability"
RIDGE, SEEDS = 1e-4, (0, 10, 20)
LOSSES = {"RankSVM": PairwiseHinge(weights=None), "ListNet": ListNet()}
COLORS = {"ListNet": "#1f5fa8", "RankSVM": "#d98c1f", "random": "#777777"}


def fit_linear(objective: Any, X: np.ndarray, labels: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return the weights that minimise the mean loss of a query and the ridge, by L-BFGS."""
    group = np.unique(qid, return_counts=True)[1]
    objective = objective.plain_gradient()
    training = objective.bind(labels, group, n_jobs=1)
    features = X.astype(np.float64)
    largest = objective.loss(labels, np.zeros(len(labels)), group).mean()

    def value(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = features @ weights
        loss = objective.loss(labels, scores, group).mean() / largest
        slope = training.grad_hess(scores)[0].astype(np.float64) @ features
        slope /= len(group) * largest
        return loss + RIDGE / 2 * weights @ weights, slope + RIDGE * weights

    start = np.zeros(features.shape[1])
    return minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def train_models(setting: parent.Setting, seed: int) -> dict[str, Any]:
    """Return functions from features to scores, the better one on its training queries first."""
    X, labels, qid = setting.make(500, 100, seed)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    Z = (X - centre) / scale
    weights = {name: fit_linear(loss, Z, labels, qid) for name, loss in LOSSES.items()}
    ndcg = {name: ndcg_score(labels, Z @ w, qid=qid, gain="linear") for name, w in weights.items()}
    return {
        name: lambda features, w=weights[name]: ((features - centre) / scale) @ w
        for name in sorted(ndcg, key=ndcg.__getitem__, reverse=True)
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw means over queries against n, a panel a figure; dotted, where they tend to."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(12, 2.8), layout="constrained")
    for at, (axis, measure) in enumerate(zip(axes, parent.MEASURES, strict=True), 1):
        for name, curve in found["measures"][measure.name]["rankers"].items():
            axis.plot(found["sizes"], curve["mean"], color=COLORS[name], label=name, linewidth=1.2)
            if "limit" in curve:
                axis.axhline(curve["limit"], color=COLORS[name], linestyle=":", linewidth=0.8)
        axis.set_title(f"Figure {at}: {measure.title.split(', ', 1)[1]}", fontsize=8)
        axis.set_xlabel("documents n", fontsize=8)
        axis.tick_params(labelsize=7)
    axes[0].set_ylabel("NDCG, linear gains", fontsize=8)
    axes[0].legend(fontsize=7)
    save_png(figure, path, dpi=80)
    plt.close(figure)


def page(kept: dict[str, Any]) -> str:
    """Return the page: claims of the first seed, and in how many seeds each held."""
    first = kept["seeds"][0]
    held = np.sum([[claim["holds"] for claim in each["claims"]] for each in kept["seeds"]], axis=0)
    orders = ", ".join(" > ".join(each["rankers"]) for each in kept["seeds"])
    rows = [
        f"| {claim['figure']} | {claim['text']} | {count} of {len(kept['seeds'])} "
        f"| {claim['numbers']} |"
        for claim, count in zip(first["claims"], held, strict=True)
    ]
    about = (__doc__ or "").split("\n\n", 2)[2].strip().replace("``", "`")
    return "\n".join(
        [
            "# When NDCG can tell rankers apart: the paper's rankers",
            "",
            about,
            "",
            f"{kept['queries']} queries of {kept['documents']} documents, "
            f"{parent.SETTINGS[0]}; {len(kept['seeds'])} seeds. Names in the order of NDCG on "
            f"training queries, by seed: {orders}. Numbers are of the first seed. The two linear "
            "rankers are nearly the same function here: their scores correlate with "
            + ", ".join(f"{each['alike']:.4f}" for each in kept["seeds"])
            + " by seed, so that they need longer lists to be told apart than either from random.",
            "",
            '"From n" is where the first is ahead, at this and all larger n, in '
            f"{parent.LEVEL:.0%} of queries, as in [the other study](README.md); rankers count as "
            "told apart where all three pairs are.",
            "",
            "| figure | claim | holds in | numbers |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            "![Means over queries](paper_rankers.png)",
            "",
            f"Made by `{kept['provenance']['command']}`.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--documents", type=int, default=5000, help="documents of a query")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = []
    for seed in SEEDS:
        found = parent.study(parent.SETTINGS[0], options, seed, train_models, "linear")
        if not seeds:
            draw(found, options.out / "paper_rankers.png")
        rankers = found["measures"]["log"]["rankers"]
        claims = [vars(claim) for claim in parent.check_claims(found)]
        seeds.append(
            {"seed": seed, "rankers": list(rankers), "claims": claims, "alike": found["alike"]}
        )
    kept = {
        "provenance": provenance(), "queries": options.queries, "documents": options.documents,
        "seeds": seeds,
    }  # fmt: skip
    kept = json.loads(json.dumps(kept, default=lambda value: value.item()))
    path = options.out / "paper_rankers.json.xz"
    path.write_bytes(lzma.compress(json.dumps(kept).encode()))
    (options.out / "paper_rankers.md").write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
