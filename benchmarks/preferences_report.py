"""The page and the plots of ``benchmarks/preferences.py``, from its results."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common.pictures import save_png
from preferences import CENTERED, read_kept
from preferences_descent import section as descent_section
from scipy.stats import t as student

Row = dict[str, Any]

LOGISTIC, AVERAGED, COMPLETE = "pairwise logistic", "preference logistic", "complete information"
FITTED = "all, Bradley-Terry"
COLORS = {
    LOGISTIC: "#d98c1f",
    COMPLETE: "#777777",
    COMPLETE + CENTERED: "#b0b0b0",
    "": "#1f5fa8",
    CENTERED: "#2a8f7f",
}
FORMS = {"": "as printed", CENTERED: "from the mean"}
TITLES = {"linear": "The linear model of the paper", "trees": "Trees"}
NOTES = """How to read this. "As printed": squared error against G / Z (equation 28); "from the
mean": the same counted from the mean of each list, which leaves the level of a query out. Complete
information is squared error against the limits of the aggregates, in both forms. Intervals are not
corrected for their number. The rows on whether the risk falls with k, whether complete information
beats logistic, Bradley-Terry aggregates and the loss counted from the mean were added after a first
look at test queries; MQ2007_partial was looked at after 10 and 11 seeds of the linear model and 3
of trees. All runs are judged on the same test queries, and lambda and the number of trees are
chosen on validation queries. The paper had 10,000 queries to learn from, here there are 89 to
1,014; most pairs are compared once at most. Preference logistic and Bradley-Terry were run with
five seeds at most. Where k is not below the number of comparisons of any query, its row is that of
all. Trees start at the best constant of the loss, as an intercept would."""
#: Orders that count as large: as many comparisons as the smallest number per query.
LARGE, SMALL = "k=None", "k=1"
#: The risk counts as insensitive to lambda if it moves by less.
NEGLIGIBLE = 0.01


class Results:
    """Rows by what they are of, with means and intervals over seeds."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.sets = list(dict.fromkeys(row["set"] for row in rows))

    def risks(self, data_set: str, loss: str, per_query: int | None = None) -> dict[int, float]:
        """Return the risk of each seed; orders that no query reaches are those of all."""
        found = {
            row["seed"]: row["risk"]
            for row in self.rows
            if row["set"] == data_set and row["loss"] == loss and row.get("per_query") == per_query
        }
        if not loss.startswith("k=") or loss.startswith(LARGE):
            return found
        base = CENTERED if loss.endswith(CENTERED) else ""
        return self.risks(data_set, LARGE + base, per_query) | found

    def per_query(self, data_set: str) -> list[int]:
        rows = [row for row in self.rows if row["set"] == data_set]
        return sorted({row["per_query"] for row in rows if "per_query" in row})

    def orders(self) -> list[str]:
        found = {row["loss"].removesuffix(CENTERED) for row in self.rows}
        return sorted((loss for loss in found if loss.startswith("k=")), key=order_of)

    def lead(self, data_set: str, loss: str, other: str, per_query: int) -> dict[int, float]:
        """Return how much lower the risk of a loss is than that of another one, per seed."""
        mine = self.risks(data_set, loss, None if loss.startswith(COMPLETE) else per_query)
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
    names = [LOGISTIC, AVERAGED]
    names += [order + base for base in FORMS for order in results.orders()] + [FITTED]
    lines = [
        [name, *(cell(results.risks(data_set, name, count).values()) for count in counts)]
        for name in names
    ]
    for base in FORMS:
        reference = cell(results.risks(data_set, COMPLETE + base).values())
        lines.append([COMPLETE + base, *([reference] * len(counts))])
    return table(head, lines)


#: A claim, whether a lead is said to be positive, and the two losses whose risks are compared.
CLAIMS = (
    ("small k (1) loses to logistic", False, SMALL, LOGISTIC),
    ("large k (all) beats logistic", True, LARGE, LOGISTIC),
    ("the risk falls with k (all against 1)", True, LARGE, SMALL),
    ("complete information beats logistic", True, COMPLETE, LOGISTIC),
)
GROWS = "the lead of large k over logistic grows with n"


def claims(results: Results, base: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return data, claim, and for each number of comparisons whether it holds and the lead."""
    lines = []
    for data_set in results.sets:
        counts = results.per_query(data_set)
        for claim, above, loss, other in CLAIMS:
            against = other if other == LOGISTIC else other + base
            leads = [results.lead(data_set, loss + base, against, count) for count in counts]
            cells = [(verdict(lead.values(), above), cell(lead.values(), True)) for lead in leads]
            lines.append((data_set, claim, cells))
        first, last = (results.lead(data_set, LARGE + base, LOGISTIC, counts[at]) for at in (0, -1))
        growth = [last[seed] - first[seed] for seed in first.keys() & last.keys()]
        last_cell = [(verdict(growth, True), cell(growth, True))]
        lines.append((data_set, GROWS, [("", "")] * (len(counts) - 1) + last_cell))
    return lines


def claims_table(results: Results, base: str) -> str:
    counts = results.per_query(results.sets[0])
    head = ["data", "claim", *(f"{count} a query" for count in counts)]
    lines = [
        [data_set, claim, *(" ".join(pair).strip() for pair in cells)]
        for data_set, claim, cells in claims(results, base)
    ]
    return table(head, lines)


def draw_risks(results: Results, path: Path) -> None:
    import matplotlib.pyplot as plt

    orders = results.orders()
    widest = max(len(results.per_query(name)) for name in results.sets)
    figure, axes = plt.subplots(
        len(results.sets), widest, figsize=(2.8 * widest, 2.2 * len(results.sets)), squeeze=False,
        sharey="row", layout="constrained",
    )  # fmt: skip
    places = np.arange(len(orders))
    for line, data_set in zip(axes, results.sets, strict=True):
        for axis, count in zip(line, results.per_query(data_set), strict=False):
            for base, form in FORMS.items():
                risks = [results.risks(data_set, order + base, count) for order in orders]
                means, halves = np.array([mean_interval(each.values()) for each in risks]).T
                axis.errorbar(places, means, np.nan_to_num(halves), color=COLORS[base], marker="o",
                              markersize=3, capsize=2, label=f"squared, {form}")  # fmt: skip
            for name in (LOGISTIC, COMPLETE, COMPLETE + CENTERED):
                at = None if name.startswith(COMPLETE) else count
                mean, half = mean_interval(results.risks(data_set, name, at).values())
                if math.isnan(mean):
                    continue
                axis.axhline(mean, color=COLORS[name], linewidth=1.2, label=name)
                half = np.nan_to_num(half)
                axis.axhspan(mean - half, mean + half, color=COLORS[name], alpha=0.15, linewidth=0)
            axis.set_xticks(places, [o.removeprefix("k=").replace("None", "all") for o in orders])
            axis.set_title(f"{data_set}, {count} a query", fontsize=8)
            axis.set_xlabel("order k", fontsize=7)
            axis.tick_params(labelsize=7)
        line[0].set_ylabel("NDCG risk", fontsize=7)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=6, loc="outside lower center", ncols=widest + 1)
    save_png(figure, path, dpi=90)
    plt.close(figure)


def draw_ridges(results: Results, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(results.sets), figsize=(2.8 * len(results.sets), 2.2), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis, data_set in zip(axes[0], results.sets, strict=True):
        for base, form in FORMS.items():
            wanted = [
                r for r in results.rows if (r["set"], r["loss"]) == (data_set, "ridge" + base)
            ]
            ridges = sorted({row["ridge"] for row in wanted})
            points = [mean_interval(r["risk"] for r in wanted if r["ridge"] == x) for x in ridges]
            if points:
                means, halves = np.array(points).T
                axis.errorbar(ridges, means, np.nan_to_num(halves), marker="o", capsize=2,
                              markersize=3, color=COLORS[base], label=form)  # fmt: skip
        axis.set_xscale("log")
        axis.set_title(data_set, fontsize=8)
        axis.set_xlabel("lambda", fontsize=7)
        axis.tick_params(labelsize=7)
    axes[0][0].set_ylabel("NDCG risk, k = 100", fontsize=7)
    axes[0][0].legend(fontsize=6)
    save_png(figure, path, dpi=90)
    plt.close(figure)


class RidgeRange(NamedTuple):
    """The least and the largest mean risk over lambda, and how far apart they are for each seed."""

    data_set: str
    form: str
    least: tuple[float, float]
    largest: tuple[float, float]
    widths: list[float]

    def verdict(self) -> str:
        """Say whether the risk is insensitive to lambda: moves by less than ``NEGLIGIBLE``."""
        mean, half = mean_interval(self.widths)
        if math.isnan(half):
            return "not tested"
        if abs(mean - NEGLIGIBLE) <= half:
            return "cannot be told"
        return "yes" if mean < NEGLIGIBLE else "no"


def ridge_ranges(results: Results) -> list[RidgeRange]:
    """Return how far the risk moves with lambda, for each set and form, paired by seed."""
    found = []
    for data_set in results.sets:
        for base, form in FORMS.items():
            by_ridge: dict[float, dict[int, float]] = {}
            for row in results.rows:
                if (row["set"], row["loss"]) == (data_set, "ridge" + base):
                    by_ridge.setdefault(row["ridge"], {})[row["seed"]] = row["risk"]
            if not by_ridge:
                continue
            means = {ridge: float(np.mean([*of.values()])) for ridge, of in by_ridge.items()}
            low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            seeds = by_ridge[low].keys() & by_ridge[high].keys()
            widths = [by_ridge[high][seed] - by_ridge[low][seed] for seed in seeds]
            found.append(RidgeRange(data_set, form, (low, means[low]), (high, means[high]), widths))
    return found


def ridge_text(results: Results) -> str:
    """Say in a line for each set and form how far the risk moves with lambda."""
    return "\n".join(
        f"- {each.data_set}, {each.form}: from {each.least[1]:.4f} (lambda {each.least[0]:g}) to "
        f"{each.largest[1]:.4f} (lambda {each.largest[0]:g}), a range of {cell(each.widths)}: "
        f"{each.verdict()}."
        for each in ridge_ranges(results)
    )


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
    judged = "\n\n".join(
        f"Squared error {form}:\n\n{claims_table(results, base)}" for base, form in FORMS.items()
    )
    return f"""## {TITLES[model]}

Seeds done: {seeds}.

### Do the claims of figure 3 hold?

{judged}

### Figure 3: risk against the order of aggregation

![Risk against k](figure_3_{model}.png)

{tables}

### Figure 4: risk against regularisation, k = 100, 80 comparisons a query

![Risk against lambda](figure_4_{model}.png)

The paper: insensitive to lambda. Here, yes where the range of the mean risk, from the best lambda
to the worst, is below {NEGLIGIBLE:g} with its 95% interval over seeds:

{ridge_text(results)}
"""


def write_report(out: Path) -> None:
    """Write README.md and its plots into a folder, from the results there."""
    kept = {
        model: read_kept(out / f"{model}.json.xz")
        for model in TITLES
        if (out / f"{model}.json.xz").exists()
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
(other comparisons and draws; the same split of queries). Whether a claim holds is judged by the
difference of risks, paired by seed: "cannot be told" where its 95% interval holds 0; next to it the
difference, positive where the risk is lower.

{verdict_text(by_model)}

{sections}
{descent_section(out)}
## Where the numbers come from

The commands are the last of several that went on from one another.

{facts}
"""
    (out / "README.md").write_text(page, encoding="utf-8")


def verdict_text(by_model: dict[str, Results]) -> str:
    """Return in one line for each model and form how often each claim held."""
    lines = []
    for model, results in by_model.items():
        for base, form in FORMS.items():
            counted: dict[str, list[str]] = {}
            for _, claim, cells in claims(results, base):
                counted.setdefault(claim, []).extend(word for word, _ in cells if word)
            parts = [
                f"{claim}: "
                + ", ".join(f"{word} {every.count(word)}" for word in dict.fromkeys(every))
                for claim, every in counted.items()
            ]
            lines.append(f"- {model}, squared error {form}: " + "; ".join(parts) + ".")
    head = "In short, counted over data sets and numbers of comparisons:"
    return f"{head}\n\n" + "\n".join(lines) + f"\n\n{NOTES}"
