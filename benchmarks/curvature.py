"""What the curvature of each loss is worth: trees needed against plain gradient descent.

    python benchmarks/curvature.py --data FOLDER          # writes benchmarks/results/curvature.md
    python benchmarks/curvature.py --parts descent --losses qnorm    # the rest stays as it was

Plain gradient descent is the same gradient with curvature 1 for every document, so that a leaf
moves by minus its mean gradient, times the learning rate. It is reported twice: with the learning
rate 1, and with the best of a wide grid, chosen by the training loss that it reaches. The other
side uses the objective's own curvature, with the best of four learning rates up to 1. The number
reported is how many trees that takes to reach the loss which gradient descent reaches with all its
trees. For the softmax losses the orders of the Neumann series are compared in the same way, with
what a step costs, and on the validation queries of all folds.
"""

import argparse
import json
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from common.provenance import provenance
from common.real_data import data_folder, load_fold
from common.timing import interleave
from scipy import stats

from gbrank import XENDCG, ListNet, Objective, get_objective
from gbrank.data import RankingData
from gbrank.metrics import ndcg_score

SETS = ("MQ2008", "OHSUMED_QLN")
FOLD, TREES, LEARNING_RATE = 1, 60, 0.1
STEP_SIZES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LEARNING_RATES = (0.1, 0.3, 0.5, 1.0)
EXTRA_RATES = {"pairwise_logistic": (1.2,)}  # an exact curvature, which promises nothing up to 1
FOLDS, VALIDATION_TREES = (1, 2, 3, 4, 5), {0.1: 100, 0.3: 60}  # by learning rate
VALIDATION_SETS = ("MQ2008", "OHSUMED_QLN", "MQ2007_partial")
ORDERS = (0, 2, 4)
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
SOFTMAX = ("xendcg(gamma=0.5)", "listnet")
DESCENT_NOTE = (
    "The curvature of pairwise_logistic is the exact diagonal of its Hessian, and it is left so: "
    "on OHSUMED_QLN it ends 3 % short of\nthe best rate of descent at rate 1 (1594.5) and needs "
    "all trees for it at rate 1.2, which is tried for this loss alone. Tried apart\nfrom this "
    "command: two Neumann terms, and bounds that share a pair unevenly between its documents, are "
    "slower; 0.85 times the\ndiagonal, which is the same as a rate of 1.18, ends at 1456.9, and "
    "half of it diverges at rate 1."
)


class UnitCurvature:
    """An objective whose curvature is 1 wherever its own is positive."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def __call__(self, scores: np.ndarray, dataset: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
        grad, hess = self.objective(scores, dataset)
        return grad, (hess > 0).astype(np.float32)


def loss_curve(
    part: RankingData, objective: Objective, called: object, learning_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean training loss and NDCG@10 after every tree; inf once training diverges."""
    sizes = part.group
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
    rates = LEARNING_RATES + EXTRA_RATES.get(name, ())
    newtons = {rate: loss_curve(train, objective, objective, rate)[0] for rate in rates}
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
    sizes = train.group
    objectives = {order: softmax_loss(family, order) for order in ORDERS}
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
        for order in ORDERS
    ]


def softmax_loss(family: str, order: int) -> Objective:
    if family == "listnet":
        return ListNet(neumann_order=order, n_jobs=1)
    return XENDCG(gamma=0.5, neumann_order=order, n_jobs=1)


def validate_orders(folder: str, data_set: str, fold: int) -> list[dict[str, object]]:
    """Return the best NDCG@5 on validation queries, and after how many trees, of every order."""
    train, valid, _ = load_fold(Path(folder), data_set, fold)
    sizes, valid_sizes = train.group, valid.group

    def ndcg(scores: np.ndarray, _: lgb.Dataset) -> tuple[str, float, bool]:
        value = ndcg_score(valid.y, scores, group=valid_sizes, k=5, n_jobs=1)
        return "ndcg", float(value), True

    dataset = lgb.Dataset(train.X, train.y, group=sizes, params=PARAMS)
    held_out = lgb.Dataset(valid.X, valid.y, group=valid_sizes, reference=dataset)
    rows = []
    for family in SOFTMAX:
        for rate in VALIDATION_TREES:
            for order in ORDERS:
                curve: dict[str, dict[str, list[float]]] = {}
                lgb.train(
                    {**PARAMS, "learning_rate": rate, "objective": softmax_loss(family, order)},
                    dataset,
                    VALIDATION_TREES[rate],
                    [held_out],
                    feval=ndcg,
                    callbacks=[lgb.record_evaluation(curve)],
                )
                values = np.array(next(iter(curve.values()))["ndcg"])
                rows.append(
                    {"set": data_set, "fold": fold, "loss": family, "rate": rate, "order": order,
                     "best": float(values.max()), "trees": int(values.argmax()) + 1}
                )  # fmt: skip
    return rows


def interval(differences: np.ndarray, digits: int) -> str:
    """Return the mean of paired differences with its 95 % interval by Student's t."""
    half = stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences)
    mean = differences.mean()
    return f"{mean:+.{digits}f} [{mean - half:+.{digits}f}, {mean + half:+.{digits}f}]"


def judge_validation(rows: list[dict[str, object]]) -> str:
    """Return in words whether any difference from order 0 can be told from chance."""
    trees = " and ".join(f"rate {rate:g}: {n}" for rate, n in VALIDATION_TREES.items())
    cells = [
        row[column]
        for row in summarise_validation(rows)
        if row["order"] == 2
        for column in ("less order 0's", "less order 0's ")
    ]
    bounds = [[float(x) for x in str(cell).split("[")[1].strip("]").split(",")] for cell in cells]
    told = sum(low > 0 or high < 0 for low, high in bounds)
    verdict = (
        "Neither better models nor fewer trees can be seen: on these sets order 2 is not worth "
        "the time that it adds to a step."
        if told == 0
        else "Where they do, order 2 differs by more than chance between folds."
    )
    return (
        f"Best NDCG@5 on validation queries and the trees it took, means of five folds "
        f"({trees} trees);\ndifferences from order 0 are paired by fold, with 95 % intervals "
        f"(Student's t; "
        f'15 pairs for "all"). Of {len(cells)} intervals for order 2\n{told} exclude 0. {verdict}'
    )


def summarise_validation(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return one row a set, loss, rate and order, and the same for all sets together."""
    table = []
    sets = list(dict.fromkeys(row["set"] for row in rows))
    for group in [*[[name] for name in sets], sets]:
        for family in SOFTMAX:
            for rate in VALIDATION_TREES:
                values = {
                    (order, what): np.array(
                        [
                            row[what]
                            for row in rows
                            if row["set"] in group
                            and row["order"] == order
                            and row["loss"] == family
                            and row["rate"] == rate
                        ],
                        dtype=float,
                    )
                    for order in ORDERS
                    for what in ("best", "trees")
                }
                for order in ORDERS:
                    best, trees = values[order, "best"], values[order, "trees"]
                    more, later = best - values[0, "best"], trees - values[0, "trees"]
                    table.append(
                        {
                            "set": group[0] if len(group) == 1 else "all",
                            "loss": family,
                            "rate": rate,
                            "order": order,
                            "best NDCG@5": f"{best.mean():.4f}",
                            "less order 0's": interval(more, 4) if order else "",
                            "trees to it": f"{trees.mean():.1f}",
                            "less order 0's ": interval(later, 1) if order else "",
                        }
                    )
    return table


def as_table(rows: list[dict[str, object]]) -> str:
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns)] + [[str(row[c]) for c in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def measure_descent(pool: Executor, folder: str, losses: list[str]) -> list[dict[str, object]]:
    jobs = [(folder, data_set, name) for data_set in SETS for name in losses]
    return list(pool.map(compare_with_descent, *zip(*jobs, strict=True)))


def measure_orders(pool: Executor, folder: str) -> list[dict[str, object]]:
    """Return costs of a step too, for which nothing else may run: the pool is not used."""
    return [
        row for name in SETS for family in SOFTMAX for row in compare_orders(folder, name, family)
    ]


def measure_validation(pool: Executor, folder: str) -> list[dict[str, object]]:
    folds = [(folder, name, fold) for name in VALIDATION_SETS for fold in FOLDS]
    return [row for rows in pool.map(validate_orders, *zip(*folds, strict=True)) for row in rows]


def keep_others(
    old: list[dict[str, object]], new: list[dict[str, object]]
) -> list[dict[str, object]]:
    """Return rows in the order of the page, those of an earlier run where there is no new one."""
    rows = {(row["set"], row["loss"]): row for row in [*old, *new]}
    return [rows[name, loss] for name in SETS for loss in LOSSES if (name, loss) in rows]


def write_page(path: Path, results: dict[str, Any]) -> None:
    text = (
        f"# What curvature is worth\n\nMean training loss after {TREES} trees of "
        f"{PARAMS['num_leaves']} leaves on the training queries of fold {FOLD}, seed 0; lower is "
        f'better. "Trees to" says how many trees\nwith curvature reach the loss that plain '
        f"gradient descent reaches with {TREES}. The command writes the whole page; rows can also "
        f"be\nmeasured one part at a time, and every part says with what it was.\n"
    )
    for part, (title, note, table) in {
        "descent": ("Curvature against plain gradient descent", lambda _: DESCENT_NOTE, as_table),
        "orders": ("Order of the Neumann series", lambda _: "On training queries.", as_table),
        "validation": (
            "The same on validation queries",
            judge_validation,
            lambda rows: as_table(summarise_validation(rows)),
        ),
    }.items():
        if part in results:
            rows = results[part]["rows"]
            facts = "; ".join(f"{key} {value}" for key, value in results[part]["by"].items())
            text += f"\n## {title}\n\n{note(rows)}\n\n{table(rows)}\n\n{facts}\n"
    path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets; default: GBRANK_DATA")
    parser.add_argument("--parts", nargs="*", default=["descent", "orders", "validation"])
    parser.add_argument("--losses", nargs="+", default=list(LOSSES), help="of the first part")
    parser.add_argument("--jobs", type=int, default=2)
    default_out = Path(__file__).parent / "results" / "curvature.md"
    parser.add_argument("--out", type=Path, default=default_out)
    arguments = parser.parse_args()
    folder = str(data_folder(arguments.data))
    measured: dict[str, list[dict[str, object]]] = {}
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for part in arguments.parts:
            if part == "descent":
                measured[part] = measure_descent(pool, folder, arguments.losses)
            else:
                measure = {"orders": measure_orders, "validation": measure_validation}[part]
                measured[part] = measure(pool, folder)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    stored = arguments.out.with_suffix(".json")
    results = json.loads(stored.read_text()) if stored.exists() else {}
    if "descent" in measured and "descent" in results:
        measured["descent"] = keep_others(results["descent"]["rows"], measured["descent"])
    for part, rows in measured.items():
        results[part] = {"by": provenance(), "rows": rows}
    stored.write_text(json.dumps(results) + "\n")
    write_page(arguments.out, results)
    print(arguments.out.read_text())


if __name__ == "__main__":
    main()
