"""What the curvature of each loss is worth: trees needed against plain gradient descent.

    python benchmarks/curvature.py --data FOLDER          # writes benchmarks/results/curvature.md

Plain gradient descent is the same gradient with curvature 1 for every document, so that a leaf
moves by minus its mean gradient, times the learning rate. It is reported twice: with the learning
rate 1, and with the best of a wide grid, chosen by the training loss that it reaches. The other
side uses the objective's own curvature, with the best of four learning rates up to 1. The number
reported is how many trees that takes to reach the loss which gradient descent reaches with all its
trees. For the softmax losses the orders of the Neumann series are compared in the same way, with
what a step costs.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import lightgbm as lgb
import numpy as np
from common.provenance import provenance
from common.real_data import Part, data_folder, load_fold
from common.timing import interleave

from gbrank import XENDCG, ListNet, Objective, get_objective
from gbrank.metrics import ndcg_score

SETS = ("MQ2008", "OHSUMED_QLN")
FOLD, TREES, LEARNING_RATE = 1, 60, 0.1
STEP_SIZES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LEARNING_RATES = (0.1, 0.3, 0.5, 1.0)
PARAMS = {
    "num_leaves": 16,
    "min_data_in_leaf": 50,
    "min_sum_hessian_in_leaf": 0.0,
    "num_threads": 1,
    "force_col_wise": True,
    "deterministic": True,
    "metric": "None",
    "verbose": -1,
    "seed": 0,
}
LOSSES: dict[str, tuple[str, dict[str, object]]] = {
    "cosine": ("cosine", {}),
    "cosine(norm='l2')": ("cosine", {"norm": "l2"}),
    "qnorm": ("qnorm", {}),
    "qnorm(form='normalized')": ("qnorm", {"form": "normalized"}),
    "kl": ("kl", {}),
    "bregman_logistic": ("bregman_logistic", {}),
    "pairwise_logistic": ("pairwise_logistic", {}),
    "gain_pairwise": ("gain_pairwise", {}),
    "xendcg(gamma=0.5)": ("xendcg", {"gamma": 0.5}),
    "listnet": ("listnet", {}),
}


class UnitCurvature:
    """An objective whose curvature is 1 wherever its own is positive."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def __call__(self, scores: np.ndarray, dataset: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
        grad, hess = self.objective(scores, dataset)
        return grad, (hess > 0).astype(np.float32)


def loss_curve(
    part: Part, objective: Objective, called: object, learning_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean training loss and NDCG@10 after every tree; inf once training diverges."""
    _, sizes = np.unique(part.qid, return_counts=True)
    params = {**PARAMS, "learning_rate": learning_rate}
    dataset = lgb.Dataset(part.X, part.y, group=sizes, params=params)
    booster = lgb.Booster({**params, "objective": "none"}, dataset)
    losses, ndcgs = [], []

    def spy(scores: np.ndarray, data: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
        losses.append(objective.loss(part.y, scores, sizes).mean())
        ndcgs.append(ndcg_score(part.y, scores, group=sizes, k=10, n_jobs=1))
        return called(scores, data)

    for _ in range(TREES + 1):  # the loss is seen one step later
        try:
            booster.update(fobj=spy)
        except (ValueError, lgb.basic.LightGBMError):  # scores or gradients blew up
            break
    missing = TREES + 1 - len(losses)
    return (
        np.nan_to_num(np.array(losses + [np.inf] * missing)[1:], nan=np.inf, posinf=np.inf),
        np.array(ndcgs + [np.nan] * missing)[1:],
    )


def trees_to_reach(losses: np.ndarray, target: float) -> int | None:
    """Return the first number of trees whose loss is at most ``target``."""
    reached = np.flatnonzero(losses <= target)
    return int(reached[0]) + 1 if len(reached) else None


def compare_with_descent(folder: str, data_set: str, name: str) -> dict[str, object]:
    train, _, _ = load_fold(Path(folder), data_set, FOLD)
    registered, options = LOSSES[name]
    objective = get_objective(registered, n_jobs=1, **options)
    plain = objective.plain_gradient()
    curves = {step: loss_curve(train, plain, UnitCurvature(plain), step)[0] for step in STEP_SIZES}
    newtons = {rate: loss_curve(train, objective, objective, rate)[0] for rate in LEARNING_RATES}
    best = min(curves, key=lambda step: curves[step][-1])
    rate = min(newtons, key=lambda rate: newtons[rate][-1])
    newton = newtons[rate]
    return {
        "set": data_set,
        "loss": name,
        "descent, rate 1": round(float(curves[1.0][-1]), 5),
        "trees to that": trees_to_reach(newton, float(curves[1.0][-1])) or "not reached",
        f"descent, best rate of {STEP_SIZES[0]}-{STEP_SIZES[-1]:g}": (
            f"{curves[best][-1]:.5f} ({best:g})"
        ),
        "trees to the best": trees_to_reach(newton, float(curves[best][-1])) or "not reached",
        "with curvature (its rate)": f"{newton[-1]:.5f} ({rate:g})",
        "rises at rate 0.1": "yes" if (np.diff(newtons[0.1]) > 1e-9).any() else "no",
    }


def compare_orders(folder: str, data_set: str, family: str) -> list[dict[str, object]]:
    train, _, _ = load_fold(Path(folder), data_set, FOLD)
    _, sizes = np.unique(train.qid, return_counts=True)
    build = {"xendcg(gamma=0.5)": lambda k: XENDCG(gamma=0.5, neumann_order=k, n_jobs=1),
             "listnet": lambda k: ListNet(neumann_order=k, n_jobs=1)}[family]  # fmt: skip
    objectives = {order: build(order) for order in (0, 2, 4)}
    curves = {
        order: loss_curve(train, objective, objective, LEARNING_RATE)
        for order, objective in objectives.items()
    }
    scores = np.random.default_rng(0).normal(size=len(train.y))
    seconds = interleave(
        {
            order: lambda o=objective: o(train.y, scores, None, sizes)
            for order, objective in objectives.items()
        },
        rounds=50,
    )
    target = float(curves[0][0][-1])
    return [
        {
            "set": data_set,
            "loss": family,
            "order": order,
            f"trees to order 0's loss after {TREES}": trees_to_reach(curves[order][0], target),
            f"loss after {TREES}": round(float(curves[order][0][-1]), 6),
            f"training NDCG@10 after {TREES}": round(float(curves[order][1][-1]), 4),
            "step, ns a document": round(float(np.median(seconds[order])) / len(train.y) * 1e9, 2),
        }
        for order in (0, 2, 4)
    ]


def as_table(rows: list[dict[str, object]]) -> str:
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns)] + [[str(row[c]) for c in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets; default: GBRANK_DATA")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--jobs", type=int, default=2)
    default_out = Path(__file__).parent / "results" / "curvature.md"
    parser.add_argument("--out", type=Path, default=default_out)
    arguments = parser.parse_args()
    folder = str(data_folder(arguments.data))
    jobs = [(folder, data_set, name) for data_set in arguments.sets for name in LOSSES]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        descent = list(pool.map(compare_with_descent, *zip(*jobs, strict=True)))
    orders = [
        row
        for data_set in arguments.sets
        for family in ("xendcg(gamma=0.5)", "listnet")
        for row in compare_orders(folder, data_set, family)
    ]
    facts = "\n".join(f"- {key}: {value}" for key, value in provenance().items())
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(
        f"# What curvature is worth\n\nMean training loss after {TREES} trees of "
        f"{PARAMS['num_leaves']} leaves on the training queries of fold {FOLD}, seed 0; lower is "
        f'better. "Trees to" says how many trees\nwith curvature reach the loss that plain '
        f"gradient descent reaches with {TREES}.\n\n{facts}\n\n"
        f"## Curvature against plain gradient descent\n\n{as_table(descent)}\n\n"
        f"## Order of the Neumann series\n\n{as_table(orders)}\n"
    )
    arguments.out.with_suffix(".json").write_text(
        json.dumps({"provenance": provenance(), "descent": descent, "orders": orders}, indent=1)
        + "\n"
    )
    print(arguments.out.read_text())


if __name__ == "__main__":
    main()
