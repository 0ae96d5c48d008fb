"""The page of ``metric_losses.py``: which losses are best for which metric, paired over folds."""

import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from comparison.paired import over_sets

RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "metric_losses.csv"
SPEED = RESULTS / "metric_losses_speed.json"
PAGE = RESULTS / "metric_losses.md"
METRICS = {"ndcg@10": "NDCG@10", "map": "MAP", "mrr": "MRR"}
#: What others are compared with.
CHIEF = "yetiloss"
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

Values = dict[str, dict[tuple[str, str], float]]


def read(metric: str, titles: dict[str, str]) -> tuple[Values, list[tuple[str, str]]]:
    """Return the values of each model by set and fold, and those that all models have."""
    values: Values = defaultdict(dict)
    with FILE.open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["metric"] == metric and row["model"] in titles:
                values[row["model"]][row["set"], row["fold"]] = float(row["value"])
    cells = sorted(set.intersection(*(set(found) for found in values.values())))
    return values, cells


def by_set(values: dict[tuple[str, str], float], cells: list[tuple[str, str]]) -> np.ndarray:
    """Return the mean over the folds of each set."""
    names = sorted({name for name, _ in cells})
    return np.array([np.mean([values[cell] for cell in cells if cell[0] == n]) for n in names])


def rows_of(metric: str) -> tuple[list[list[str]], int, int]:
    """Return the rows of the table of a metric, and the numbers of its sets and folds."""
    values, cells = read(metric, TITLES)
    chief = by_set(values[CHIEF], cells)
    rows = []
    for model, title in TITLES.items():
        if model not in values:
            continue
        mine = by_set(values[model], cells)
        line = [title, f"{mine.mean():.4f}"]
        if model == CHIEF:
            rows.append([*line, "", "", "", ""])
            continue
        gap = chief - mine
        paired = [values[CHIEF][cell] - values[model][cell] for cell in cells]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        won = sum(each > 0 for each in paired)
        rows.append([*line, f"{gap.mean():+.4f}", f"{error:.4f}", f"{won} of {len(cells)}",
                     f"{over_sets(gap):.3f}"])  # fmt: skip
    return rows, len(chief), len(cells)


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


HEADS = ["trained for it", "mean", "`yetiloss` less this", "error over sets", "folds won", "p"]


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
    rows = [
        [title, *(f"{value:.4f}" for value in by_set(values[model], cells))]
        for model, title in ABLATION.items()
    ]
    note = f"Test NDCG@10, {len(cells)} folds in all."
    return f"{note}\n\n{table(['YetiLoss', *names], rows)}\n"


def _gap(values: Values, cells: list[tuple[str, str]], one: str, other: str) -> str:
    """Say by how much a model is above or below another, with the error over sets."""
    gaps = by_set(values[one], cells) - by_set(values[other], cells)
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    side = "above" if gaps.mean() > 0 else "below"
    return f"{TITLES[one]} is {abs(gaps.mean()):.4f} (error {error:.4f}) {side}"


def pays() -> str:
    """Say of each metric whether a loss for it is better than one for NDCG."""
    lines = []
    for metric, title in METRICS.items():
        values, cells = read(metric, TITLES)
        own = _gap(values, cells, "lambdamart of the metric", "lambdamart")
        lines.append(f"- {title}: {own} `lambdamart` for NDCG with the same trees.")
        drawn = [_gap(values, cells, each, "xendcg") for each in YETILOSSES]
        lines.append(f"- {title}: {'; '.join(drawn)} `xendcg` with the same trees.")
    return "\n".join(lines)


def verdicts() -> str:
    """Say of each metric and peer on which side of it YetiLoss is, and by how much."""
    lines = []
    for metric, title in METRICS.items():
        values, cells = read(metric, TITLES)
        for model in PEERS:
            if model in values:
                said = [_gap(values, cells, each, model) for each in YETILOSSES]
                lines.append(f"- {title}, {TITLES[model]}: {'; '.join(said)}.")
    return "\n".join(lines)


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
        "`metric_losses.csv`, which has every fold.\n",
        settings + "\n",
        "Means are over data sets, after the mean over the folds of each; a fold counts where all "
        "models have it. The error is that of the mean difference over sets, p that of Wilcoxon's "
        "signed ranks of sets. Sets are small: differences of less than two errors are not to be "
        "relied on, and nothing was corrected for the number of comparisons.\n",
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
