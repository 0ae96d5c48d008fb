"""The page and the plots of ``benchmarks/preferences.py``, from its results."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common.pictures import save_png
from scipy.stats import t as student

Row = dict[str, Any]

LOGISTIC, AVERAGED, COMPLETE = "pairwise logistic", "preference logistic", "complete information"
FITTED = "all, Bradley-Terry"
COLORS = {
    LOGISTIC: "#d98c1f",
    AVERAGED: "#2a8f7f",
    COMPLETE: "#777777",
    FITTED: "#8e2f5c",
    "k": "#1f5fa8",
}
TITLES = {"linear": "The linear model of the paper", "trees": "Trees"}
NOTES = """How to read this. Few seeds make wide intervals; there are many of them, uncorrected for
their number. Three rows were added after a first look at the results, to understand them: whether
the risk falls with k, whether complete information beats logistic, and Bradley-Terry aggregates.
Aggregates tend to complete information as n and k grow, so its lead is what they could reach.
Likely reasons for the differences to the paper, not tested: it had 10,000 queries to learn from,
here there are 89 to 1,014; most pairs are compared once at most, and squared error must fit the
level of each query, logistic loss only differences within it. Seconds were measured on a machine
that was busy with other work. The commands below are the last of several that went on from one
another."""
#: Orders that count as large: as many comparisons as the smallest number per query.
LARGE, SMALL = "k=None", "k=1"


class Results:
    """Rows by what they are of, with means and intervals over seeds."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.sets = list(dict.fromkeys(row["set"] for row in rows if "risk" in row))

    def risks(self, data_set: str, loss: str, per_query: int | None = None) -> dict[int, float]:
        """Return the risk of each seed."""
        return {
            row["seed"]: row["risk"]
            for row in self.rows
            if row["set"] == data_set
            and row["loss"] == loss
            and row.get("per_query") == per_query
            and "risk" in row
        }

    def per_query(self, data_set: str) -> list[int]:
        rows = [row for row in self.rows if row["set"] == data_set and "risk" in row]
        return sorted({row["per_query"] for row in rows if "per_query" in row})

    def orders(self) -> list[str]:
        found = {row["loss"] for row in self.rows if row["loss"].startswith("k=")}
        return sorted(found, key=lambda loss: order_of(loss))

    def advantage(self, data_set: str, loss: str, per_query: int) -> dict[int, float]:
        """Return how much lower the risk of a loss is than that of the baseline, per seed."""
        return self.lead(data_set, loss, LOGISTIC, per_query)

    def lead(self, data_set: str, loss: str, other: str, per_query: int) -> dict[int, float]:
        """Return how much lower the risk of a loss is than that of another one, per seed."""
        mine = self.risks(data_set, loss, None if loss == COMPLETE else per_query)
        theirs = self.risks(data_set, other, per_query)
        return {seed: theirs[seed] - mine[seed] for seed in theirs.keys() & mine.keys()}


def order_of(loss: str) -> float:
    return math.inf if loss == LARGE else float(loss.removeprefix("k="))


def mean_interval(values: Any) -> tuple[float, float]:
    """Return the mean and half the width of its 95% interval (Student's t)."""
    numbers = np.array(list(values), dtype=float)
    if len(numbers) < 2:
        return float(numbers.mean()) if len(numbers) else math.nan, math.nan
    error = numbers.std(ddof=1) / math.sqrt(len(numbers))
    return float(numbers.mean()), float(error * student.ppf(0.975, len(numbers) - 1))


def cell(values: Any, signed: bool = False) -> str:
    mean, half = mean_interval(values)
    if math.isnan(mean):
        return ""
    return f"{mean:{'+' if signed else ''}.4f}" + ("" if math.isnan(half) else f" ± {half:.4f}")


def verdict(values: Any, above: bool) -> str:
    """Say whether a difference is above (or below) 0, or cannot be told from it."""
    mean, half = mean_interval(values)
    if math.isnan(half):
        return "not tested"
    if abs(mean) <= half:
        return "cannot be told"
    return "yes" if (mean > 0) == above else "no"


def table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def risk_table(results: Results, data_set: str) -> str:
    counts = results.per_query(data_set)
    head = ["loss", *(f"{count} a query" for count in counts)]
    names = [LOGISTIC, AVERAGED, *results.orders(), FITTED]
    lines = [
        [name, *(cell(results.risks(data_set, name, count).values()) for count in counts)]
        for name in names
    ]
    reference = cell(results.risks(data_set, COMPLETE).values())
    lines.append([COMPLETE, *([reference] * len(counts))])
    return table(head, lines)


def claims(results: Results) -> list[list[str]]:
    """Return data, comparisons a query, claim, whether it holds, and the lead, for each claim."""
    lines = []
    for data_set in results.sets:
        counts = results.per_query(data_set)
        for count in counts:
            small = results.advantage(data_set, SMALL, count).values()
            large = results.advantage(data_set, LARGE, count).values()
            lines += [
                [data_set, str(count), "small k (1) loses to logistic", verdict(small, False),
                 cell(small, signed=True)],
                [data_set, str(count), "large k (all) beats logistic", verdict(large, True),
                 cell(large, signed=True)],
            ]  # fmt: skip
            falls = results.lead(data_set, LARGE, SMALL, count).values()
            claim = "the risk falls with k (all against 1)"
            lines.append([data_set, str(count), claim, verdict(falls, True), cell(falls, True)])
            fitted = results.advantage(data_set, FITTED, count).values()
            if fitted:
                claim = "not in the paper: Bradley-Terry aggregates (all) beat logistic"
                held = verdict(fitted, True)
                lines.append([data_set, str(count), claim, held, cell(fitted, signed=True)])
        reference = results.lead(data_set, COMPLETE, LOGISTIC, counts[-1]).values()
        claim = "complete information beats logistic"
        held = verdict(reference, True)
        lines.append([data_set, str(counts[-1]), claim, held, cell(reference, True)])
        if len(counts) > 1:
            first, last = (results.advantage(data_set, LARGE, counts[at]) for at in (0, -1))
            growth = [last[seed] - first[seed] for seed in first.keys() & last.keys()]
            claim = "the lead of large k over logistic grows with n"
            span = f"{counts[0]} to {counts[-1]}"
            lines.append([data_set, span, claim, verdict(growth, True), cell(growth, signed=True)])
    return lines


def claims_table(results: Results) -> str:
    head = ["data", "comparisons a query", "claim", "holds", "lead (positive: lower risk)"]
    return table(head, claims(results))


def draw_risks(results: Results, path: Path) -> None:
    import matplotlib.pyplot as plt

    orders = results.orders()
    widest = max(len(results.per_query(name)) for name in results.sets)
    figure, axes = plt.subplots(
        len(results.sets), widest, figsize=(3.1 * widest, 2.7 * len(results.sets)), squeeze=False,
        sharey="row", layout="constrained",
    )  # fmt: skip
    places = np.arange(len(orders))
    for line, data_set in zip(axes, results.sets, strict=True):
        for axis, count in zip(line, results.per_query(data_set), strict=False):
            points = [mean_interval(results.risks(data_set, o, count).values()) for o in orders]
            means, halves = np.array(points).T
            axis.errorbar(places, means, np.nan_to_num(halves), color=COLORS["k"], marker="o",
                          markersize=3, capsize=2, label="U-statistic")  # fmt: skip
            for name in (LOGISTIC, AVERAGED, FITTED, COMPLETE):
                values = results.risks(data_set, name, None if name == COMPLETE else count)
                mean, half = mean_interval(values.values())
                if math.isnan(mean):
                    continue
                axis.axhline(mean, color=COLORS[name], linewidth=1.2, label=name)
                axis.axhspan(mean - half, mean + half, color=COLORS[name], alpha=0.15, linewidth=0)
            axis.set_xticks(places, [o.removeprefix("k=").replace("None", "all") for o in orders])
            axis.set_title(f"{data_set}, {count} a query", fontsize=9)
            axis.set_xlabel("order k", fontsize=8)
            axis.tick_params(labelsize=7)
        line[0].set_ylabel("NDCG risk", fontsize=8)
    axes[0][0].legend(fontsize=6)
    save_png(figure, path, dpi=110)
    plt.close(figure)


def draw_ridges(results: Results, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for data_set in results.sets:
        mine = [row for row in results.rows if row["set"] == data_set and row["loss"] == "ridge"]
        ridges = sorted({row["ridge"] for row in mine})
        points = [mean_interval(r["risk"] for r in mine if r["ridge"] == x) for x in ridges]
        if points:
            means, halves = np.array(points).T
            axis.errorbar(ridges, means, np.nan_to_num(halves), marker="o", capsize=2,
                          label=data_set)  # fmt: skip
    axis.set_xscale("log")
    axis.set_xlabel("lambda")
    axis.set_ylabel("NDCG risk, k = 100")
    axis.legend(fontsize=8)
    save_png(figure, path, dpi=110)
    plt.close(figure)


def draw_descent(results: Results, path: Path) -> None:
    import matplotlib.pyplot as plt

    rows = [row for row in results.rows if row.get("what") == "descent"]
    steps = [row for row in results.rows if row.get("what") == "step"]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    fixed = min(row["per_query"] for row in rows if row["loss"] == "k=1")
    kinds: list[tuple[Callable[[Row], bool], Callable[[Row], str]]] = [
        (lambda row: row["per_query"] == fixed, lambda row: row["loss"]),
        (lambda row: row["loss"] == "k=100", lambda row: f"{row['per_query']} a query"),
    ]
    for axis, (wanted, label) in zip(axes, kinds, strict=False):
        curves: dict[str, list[list[float]]] = {}
        for row in filter(wanted, rows):
            curves.setdefault(label(row), []).append(row["risks"])
        for name, runs in curves.items():
            risks = np.mean(runs, axis=0)
            gap = (risks - risks.min()) / (risks[0] - risks.min())
            axis.plot(np.arange(len(gap)), np.maximum(gap, 1e-3), label=name)
        axis.set_yscale("log")
        axis.set_xlabel("trees")
        axis.set_ylabel("gap of the surrogate risk, first = 1")
        axis.legend(fontsize=7)
    for count in sorted({row["per_query"] for row in steps}):
        mine = sorted(
            (row for row in steps if row["per_query"] == count), key=lambda r: order_of(r["loss"])
        )
        names = [row["loss"].removeprefix("k=").replace("None", "all") for row in mine]
        axes[2].plot(names, [1e3 * r["seconds"] for r in mine], "o-", label=f"{count} a query")
    axes[2].set_xlabel("order k")
    axes[2].set_ylabel("ms a gradient step")
    axes[2].legend(fontsize=7)
    save_png(figure, path, dpi=110)
    plt.close(figure)


def step_table(results: Results) -> str:
    steps = [row for row in results.rows if row.get("what") == "step"]
    counts = sorted({row["per_query"] for row in steps})
    names = sorted({row["loss"] for row in steps}, key=order_of)
    by_key = {(row["loss"], row["per_query"]): 1e3 * row["seconds"] for row in steps}
    lines = [
        [n, *(f"{by_key[n, c]:.2f}" if (n, c) in by_key else "" for c in counts)] for n in names
    ]
    return table(["order", *(f"{count} a query" for count in counts)], lines)


def model_section(model: str, results: Results, out: Path) -> str:
    """Return figures 3 and 4 of one kind of model."""
    draw_risks(results, out / f"figure_3_{model}.png")
    draw_ridges(results, out / f"figure_4_{model}.png")
    seeds = ", ".join(
        f"{len(results.risks(name, LARGE, results.per_query(name)[-1]))} on {name}"
        for name in results.sets
    )
    tables = "\n\n".join(
        f"### {name}, {model}\n\n{risk_table(results, name)}" for name in results.sets
    )
    return f"""## {TITLES[model]}

Seeds done: {seeds}.

### Do the claims of figure 3 hold?

{claims_table(results)}

### Figure 3: risk against the order of aggregation

![Risk against k](figure_3_{model}.png)

{tables}

### Figure 4: risk against regularisation, k = 100

![Risk against lambda](figure_4_{model}.png)
"""


def write_report(out: Path) -> None:
    """Write README.md and its plots into a folder, from the results there."""
    kept = {
        model: json.loads((out / f"{model}.json").read_text())
        for model in TITLES
        if (out / f"{model}.json").exists()
    }
    by_model = {model: Results(each["rows"]) for model, each in kept.items()}
    sections = "\n".join(model_section(model, each, out) for model, each in by_model.items())
    facts = "\n".join(
        f"- {model}, {key}: {value}"
        for model, each in kept.items()
        for key, value in each["provenance"].items()
        if model == next(iter(kept)) or key in ("command", "trees")
    )
    page = f"""# Learning from comparisons

Figures 2, 3 and 4 of Duchi, Mackey and Jordan, *The asymptotics of ranking algorithms* (2013), on
smaller data, with their linear model and with trees; `benchmarks/preferences.py` says how. Risks
are 1 - NDCG on test queries with the limit scores as labels, ± half of a 95% interval over seeds
(other comparisons and draws; the same split of queries). "Holds" is judged by the difference of
risks to pairwise logistic, paired by seed: "cannot be told" where its 95% interval holds 0.

{verdict_text(by_model)}

{sections}
{descent_section(by_model, out)}
## Where the numbers come from

{facts}
"""
    (out / "README.md").write_text(page, encoding="utf-8")


def verdict_text(by_model: dict[str, Results]) -> str:
    """Return in one line for each model how often each claim held."""
    lines = []
    for model, results in by_model.items():
        counted: dict[str, list[str]] = {}
        for _, _, claim, holds, _ in claims(results):
            counted.setdefault(claim, []).append(holds)
        parts = [
            f"{claim}: " + ", ".join(f"{word} {all_.count(word)}" for word in dict.fromkeys(all_))
            for claim, all_ in counted.items()
        ]
        lines.append(f"- {model}: " + "; ".join(parts) + ".")
    head = "In short, counted over data sets and numbers of comparisons:"
    return f"{head}\n\n" + "\n".join(lines) + f"\n\n{NOTES}"


def descent_section(by_model: dict[str, Results], out: Path) -> str:
    results = by_model.get("trees")
    if results is None or not any(row.get("what") == "descent" for row in results.rows):
        return ""
    draw_descent(results, out / "figure_2.png")
    return f"""## Figure 2: cost and convergence against k and n, trees

![Convergence and cost](figure_2.png)

Left and middle: surrogate risk, estimated from fresh draws, as a share of where it began. Right and
below: milliseconds of one gradient step (draw, aggregate, gradients) on one thread. All on
{results.sets[0]}. Where k is not below the number of comparisons of any query, nothing is drawn.

{step_table(results)}
"""
