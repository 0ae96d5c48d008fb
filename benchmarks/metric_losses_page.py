"""The page of ``metric_losses.py``: which losses are best for which metric, paired over folds."""

import csv
import json
import lzma
from collections import defaultdict
from pathlib import Path

import numpy as np
from comparison.paired import Difference, over_folds, over_sets

RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "metric_losses.csv.xz"
SPEED = RESULTS / "metric_losses_speed.json"
PAGE = RESULTS / "metric_losses.md"
METRICS = {"ndcg@10": "NDCG@10", "map": "MAP", "mrr": "MRR"}
#: What others are compared with.
OURS = "yetiloss"
TITLES = {
    "yetiloss": "`yetiloss`",
    "yetiloss, 10 neighbors": "`yetiloss`, `neighbors=10`",
    "yetiloss, no cut-off": "`yetiloss` for NDCG without cut-off",
    "lambdamart of the metric": "`lambdamart` for the metric",
    "lambdamart": "`lambdamart` for NDCG",
    "xendcg": "`xendcg`",
    "LightGBM lambdarank": "LightGBM `lambdarank`",
    "XGBoost rank:map": "XGBoost `rank:map` (for NDCG `rank:ndcg`)",
    "CatBoost YetiRank, mode": "CatBoost `YetiRank`, mode of the metric",
    "CatBoost YetiRank": "CatBoost `YetiRank` as it comes",
}
YETILOSSES = ("yetiloss", "yetiloss, 10 neighbors")
#: Of these folds no test value was in sight when anything was chosen.
CLEAN = ("3", "4", "5")
#: Below this p a difference is called one.
LEVEL = 0.05
PEERS = (
    "CatBoost YetiRank, mode",
    "CatBoost YetiRank",
    "LightGBM lambdarank",
    "XGBoost rank:map",
)
ABLATION = {
    "yetiloss": "as it comes: logistic noise, 1 neighbor, 10 permutations",
    "no noise": "no noise",
    "gumbel noise": "Gumbel noise",
    "2 neighbors": "2 neighbors",
    "yetiloss, 10 neighbors": "10 neighbors",
    "all neighbors": "all neighbors",
    "1 permutation": "1 permutation",
    "100 permutations": "100 permutations",
}

Cell = tuple[str, str]  # set and fold
Values = dict[str, dict[Cell, float]]


def read(metric: str, titles: dict[str, str]) -> tuple[Values, list[Cell]]:
    """Return the values of each model by set and fold, and those that all models have."""
    values: Values = defaultdict(dict)
    with lzma.open(FILE, "rt", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["metric"] == metric and row["model"] in titles:
                values[row["model"]][row["set"], row["fold"]] = float(row["value"])
    cells = sorted(set.intersection(*(set(found) for found in values.values())))
    return values, cells


def by_set(values: dict[Cell, float], cells: list[Cell]) -> list[np.ndarray]:
    """Return the values of the folds of each set."""
    names = sorted({name for name, _ in cells})
    return [np.array([values[cell] for cell in cells if cell[0] == name]) for name in names]


def mean_of(values: dict[Cell, float], cells: list[Cell]) -> float:
    """Return the mean over sets of the means over their folds."""
    return float(np.mean([folds.mean() for folds in by_set(values, cells)]))


def gaps_of(values: Values, cells: list[Cell], one: str, other: str) -> list[np.ndarray]:
    """Return by how much a model is above another, fold by fold of each set."""
    return by_set({cell: values[one][cell] - values[other][cell] for cell in cells}, cells)


def test_of(gaps: list[np.ndarray]) -> Difference:
    """Return the mean over sets, its error over sets, and the p of folds."""
    means = np.array([folds.mean() for folds in gaps])
    error = float(means.std(ddof=1) / np.sqrt(len(means)))
    p = over_folds(gaps).p if min(map(len, gaps)) > 1 else float("nan")
    return Difference(float(means.mean()), error, p)


def rows_of(metric: str) -> tuple[list[list[str]], int, int]:
    """Return the rows of the table of a metric, and the numbers of its sets and folds."""
    values, cells = read(metric, TITLES)
    clean = [cell for cell in cells if cell[1] in CLEAN]
    rows = []
    for model, title in TITLES.items():
        if model not in values:
            continue
        line = [title, f"{mean_of(values[model], cells):.4f}"]
        if model == OURS:
            rows.append([*line, *[""] * (len(HEADS) - 2)])
            continue
        gaps = gaps_of(values, cells, OURS, model)
        found = test_of(gaps)
        alone = mean_of(values[OURS], clean) - mean_of(values[model], clean) if clean else 0.0
        won = sum(int((folds > 0).sum()) for folds in gaps)
        by_sets = over_sets(np.array([folds.mean() for folds in gaps]))
        rows.append([*line, f"{found.mean:+.4f}", f"{found.error:.4f}", f"{won} of {len(cells)}",
                     f"{by_sets:.3f}", f"{found.p:.3f}", f"{alone:+.4f}"])  # fmt: skip
    return rows, len({name for name, _ in cells}), len(cells)


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


HEADS = [
    "trained for it",
    "mean",
    "`yetiloss` less this",
    "error over sets",
    "folds won",
    "p of sets",
    "p of folds",
    "on folds 3 to 5",
]


def summary() -> str:
    """Return the short table of the documentation: means over the sets, one column a metric."""
    columns = {metric: {row[0]: row[1] for row in rows_of(metric)[0]} for metric in METRICS}
    n_sets, n_cells = rows_of("ndcg@10")[1:]
    rows = [
        [title, *(columns[metric].get(title, "") for metric in METRICS)]
        for title in TITLES.values()
    ]
    intro = (
        f"Each loss trained for, stopped by and judged by one metric, mean over {n_sets} real data "
        f"sets ({n_cells} folds in all):"
    )
    return f"{intro}\n\n{table(['loss', *METRICS.values()], rows)}"


def ablation() -> str:
    """Return the table of what the parts of YetiLoss do."""
    values, cells = read("ndcg@10", ABLATION)
    if len(values) < len(ABLATION) or not cells:
        return "Not run yet: `python benchmarks/metric_losses.py --ablation`.\n"
    names = sorted({name for name, _ in cells})
    rows = []
    for model, title in ABLATION.items():
        line = [title]
        gaps = gaps_of(values, cells, model, OURS)
        for folds, gap in zip(by_set(values[model], cells), gaps, strict=True):
            line.append(f"{folds.mean():.4f}")
            if model == OURS:
                line.append("")
            else:
                found = over_folds([gap])
                line.append(f"{found.mean:+.4f} (p {found.p:.2f})")
        rows.append(line)
    note = (
        f"Test NDCG@10 and its difference to the first line, {len(cells)} folds in all, p of "
        f"folds. Lyzhin et al. found noise worth two points on large data."
    )
    heads = ["YetiLoss", *(head for name in names for head in (name, "difference"))]
    return f"{note}\n\n{table(heads, rows)}\n"


def _gap(values: Values, cells: list[Cell], one: str, other: str) -> str:
    """Say by how much a model is above or below another, with the error over sets."""
    found = test_of(gaps_of(values, cells, one, other))
    side = "above" if found.mean > 0 else "below"
    return f"{TITLES[one]} is {abs(found.mean):.4f} (error {found.error:.4f}) {side}"


#: The same trees, with a loss for the metric and with one for NDCG.
OWN_AND_OTHER = (("lambdamart of the metric", "lambdamart"), ("yetiloss", "xendcg"))


def pays() -> str:
    """Return by set what a loss for the metric is worth over one for NDCG with the same trees."""
    columns, said = [], []
    for one, other in OWN_AND_OTHER:
        for metric, title in METRICS.items():
            values, cells = read(metric, TITLES)
            gaps = gaps_of(values, cells, one, other)
            names = sorted({name for name, _ in cells})
            column = {n: _with_star(over_folds([g])) for n, g in zip(names, gaps, strict=True)}
            whole = test_of(gaps)
            column["mean of sets"] = f"{whole.mean:+.4f}"
            column["error over sets"] = f"{whole.error:.4f}"
            column["p of folds"] = f"{whole.p:.3f}"
            columns.append((f"{title}: {TITLES[one]} less {TITLES[other]}", column))
            if whole.p < LEVEL:
                does = "pays" if whole.mean > 0 else "costs"
                said.append(f"{title}, {TITLES[one]} against {TITLES[other]}: it {does}")
    note = (
        "A loss for the metric less one for NDCG, with the same trees and stopped by it alike. A "
        f"star: p of folds below {LEVEL} in this set alone, of which one in twenty is chance."
    )
    verdict = "; ".join(said) if said else "nowhere"
    rows = [[row, *(column.get(row, "") for _, column in columns)] for row in columns[0][1]]
    shown = table(["set", *(head for head, _ in columns)], rows)
    return f"{note} Over all sets, at p of folds below {LEVEL}: {verdict}.\n\n{shown}"


def _with_star(found: Difference) -> str:
    return f"{found.mean:+.4f}{' *' if found.p < LEVEL else ''}"


def verdicts() -> str:
    """Say of each metric and peer on which side of it YetiLoss is, and by how much."""
    lines = []
    for metric, title in METRICS.items():
        values, cells = read(metric, TITLES)
        for model in PEERS:
            if model in values:
                said = [_gap(values, cells, each, model) for each in YETILOSSES]
                lines.append(f"- {title}, {TITLES[model]}: {'; '.join(said)}.")
    return "\n".join(lines) + "\n\n" + _linear_gains()


def _linear_gains() -> str:
    """Say what CatBoost's mode for NDCG was with the linear gains that it has by itself."""
    exp = "CatBoost YetiRank, mode"
    linear = f"{exp}, linear gains"
    values, cells = read("ndcg@10", {exp: "", linear: "", OURS: ""})
    with_linear, with_exp, ours = (mean_of(values[m], cells) for m in (linear, exp, OURS))
    return (
        f"CatBoost's mode for NDCG@10 may be better with its own linear gains: on the {len(cells)} "
        f"folds that have both it was {with_linear:.4f} with them, {with_exp:.4f} with those of "
        f"the metric, and `yetiloss` {ours:.4f}. The lead over this mode is not to be relied on."
    )


def speed() -> str:
    """Return the table of what steps and trees cost."""
    found = json.loads(SPEED.read_text())
    rows = [[what, f"{value:.1f}"] for what, value in found.items() if isinstance(value, float)]
    step = found["step of yetiloss, ns a document"] / found["step of lambdamart, ns a document"]
    tree = found["tree of CatBoost YetiRank, ns a document"]
    tree /= found["tree of yetiloss, ns a document"]
    note = (
        f"500 lists of 120 documents, one thread, {found['cpu']}. A step of `yetiloss` takes "
        f"{step:.2f} times that of `lambdamart`. Trees have one feature and two leaves, so that "
        f"gradients are most of their time: one of CatBoost's takes {tree:.1f} times as long."
    )
    return f"{note}\n\n{table(['what', 'ns'], rows)}"


def write_page(settings: str) -> None:
    """Write the page from the runs that are done."""
    parts = [
        "# Losses for the metric you report\n",
        "Does it pay to optimise the metric itself? Written by `benchmarks/metric_losses.py` from "
        "`metric_losses.csv.xz`, which has every fold.\n",
        settings + "\n",
        "Means are over data sets, after the mean over the folds of each; a fold counts where all "
        "models have it. The error is that of the mean difference over sets, p of sets that of "
        "Wilcoxon's signed ranks of the means of sets, p of folds that of Nadeau and Bengio's "
        "corrected t of the folds of these sets, which says nothing of other sets. Sets are small: "
        "differences of less than two errors are not to be relied on, and nothing was corrected "
        "for the number of comparisons.\n",
    ]
    parts.append(f"## In short\n\n{summary()}\n")
    for metric, title in METRICS.items():
        rows, n_sets, n_cells = rows_of(metric)
        parts.append(f"## {title}: {n_sets} sets, {n_cells} folds\n\n{table(HEADS, rows)}\n")
    parts.append(f"## Where optimising the metric itself pays\n\n{pays()}\n")
    parts.append(f"## Against the peers\n\n{verdicts()}\n")
    if SPEED.exists():
        parts.append(f"## Speed\n\n{speed()}\n")
    parts.append(f"## What the parts of YetiLoss do\n\n{ablation()}")
    PAGE.write_text("\n".join(parts), encoding="utf-8")
