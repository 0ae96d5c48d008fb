"""Defaults chosen without one of the data sets, judged on that set.

    python -m defaults.left_out

Reads results/defaults/designs.csv.gz, which ``designs.py`` wrote from validation queries, and
prints a table. For every set the design (members, folds and blending rule) is chosen that is best
on the mean of all other sets, NDCG@10 of clean and of noisy labels counting alike; then it is
judged on the set left out, next to what the Ranker does and to the best that hindsight has.
"""

import csv
import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parents[1] / "results" / "defaults" / "designs.csv.gz"
METRIC = "ndcg@10"
#: What ``preset="balanced"`` does, but for the booster of all queries, which came later.
OURS = ("X3+Z3+start", "by_evidence_mild")
NAMES = {
    "by_evidence_mild": "exp(-z^2/8)",
    "by_evidence": "exp(-z^2/2)",
    "greedy_from_equal": "greedy from equal",
}

Design = tuple[str, str]


def load(path: Path = RESULTS) -> dict[Design, dict[str, float]]:
    """Return the mean of clean and noisy labels by design and set, of designs run everywhere."""
    cells: dict[Design, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            cells[row["design"], row["blend"]][row["set"], row["noise"]].append(float(row[METRIC]))
    wanted = set(cells[OURS])
    sets = sorted({name for name, _ in wanted})
    noises = sorted({noise for _, noise in wanted})
    return {
        design: {name: float(np.mean([found[name, n] for n in noises])) for name in sets}
        for design, found in cells.items()
        if {k: len(v) for k, v in found.items()} == {k: len(v) for k, v in cells[OURS].items()}
    }


def best_without(values: dict[Design, dict[str, float]], left_out: str | None) -> Design:
    """Return the design with the best mean of all sets but one."""
    return max(
        values,
        key=lambda design: np.mean([v for name, v in values[design].items() if name != left_out]),
    )


def rows(values: dict[Design, dict[str, float]]) -> list[list[str]]:
    """Return a line for every set, and one of means."""
    lines, numbers = [], []
    for name in values[OURS]:
        chosen = best_without(values, name)
        hindsight = max(values, key=lambda design: values[design][name])
        each = [values[design][name] for design in (chosen, OURS, hindsight)]
        numbers.append(each)
        lines.append([name, say(chosen), *(f"{value:.4f}"[1:] for value in each)])
    means = [f"{value:.4f}"[1:] for value in np.mean(numbers, axis=0)]
    return [*lines, ["mean", "", *means]]


def say(design: Design) -> str:
    """Return a design in words."""
    members, blend = design
    return f"{members}, {NAMES.get(blend, blend)}" if blend else members


def table() -> str:
    """Return the table in Markdown."""
    values = load()
    heads = ["left out", "chosen on the others", "it has", "ours", "best there, in hindsight"]
    lines = [heads, ["---"] * len(heads), *rows(values)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    print(f"{len(load())} designs\n\n{table()}")
