"""Figure 2 of Duchi, Mackey, Jordan (2013): composite stochastic gradient for several k and n.

    python benchmarks/preferences_descent.py --data FOLDER

The algorithm is ``gbrank.theory.composite_gradient`` (equation 25): a query a step, k of its
comparisons, squared error as printed (equation 28), a linear model. Steps are ``1 / (L sqrt(t))``,
L the largest curvature of any query. The risk of the U-statistic is quadratic in theta: its minimum
and the gaps to it are computed from the mean of many draws, where the paper has moving averages of
sampled losses, which are above the risk.
"""

import argparse
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
from common.pictures import save_png
from common.provenance import provenance
from common.real_data import data_folder
from scipy.stats import t as student

SET, RIDGE, RUNS, STEPS = "MSLR_merged", 0.001, 20, 20_000
#: Comparisons a query, and k: first k alone changes, then n alone.
CURVES = ((40, 1), (40, 10), (40, 100), (20, 100), (80, 100), (160, 100))
KEPT = tuple(np.unique(np.geomspace(1, STEPS, 33).astype(int)).tolist())
SHOWN = tuple(min(KEPT, key=lambda kept: abs(kept - about)) for about in (10, 100, 1000, STEPS))
RESULTS = Path(__file__).parent / "results" / "preferences"
Row = dict[str, Any]


def gaps_of(task: Any, per_query: int, order: int, seed: int) -> Row:
    """Return the gaps of risk of theta and of the mean of thetas, after the steps that are kept."""
    from preferences import BASES

    from gbrank import UStatistic
    from gbrank.simulate import bradley_terry
    from gbrank.theory import composite_gradient

    X, rows = task.train.X, task.train
    n = per_query * task.n_queries
    seen = bradley_terry(rows, n=n, random_state=seed)
    queries = np.split(X, task.layout.bounds[1:-1])
    most_curved = max(np.linalg.norm(each, 2) ** 2 / len(each) for each in queries)
    found = composite_gradient(
        X, seen, qid=rows.qid, base=BASES[""], order=order, ridge=RIDGE, steps=STEPS,
        step_size=1.0 / most_curved, keep=KEPT, random_state=seed,
    )  # fmt: skip
    bound = seen.bind(task.layout)
    objective = UStatistic(bound, base=BASES[""], order=order, random_state=seed)
    gradients, curvatures = task.at_zero(objective, np.zeros(len(X)))
    total = curvatures.sum()
    hessian = X.T @ (X * curvatures[:, None]) / total + RIDGE * np.eye(X.shape[1])
    best = np.linalg.solve(hessian, -X.T @ gradients / total)

    def gaps(thetas: np.ndarray) -> list[float]:
        away = thetas - best
        return [float(f"{gap:.4g}") for gap in np.einsum("ti,ij,tj->t", away, hessian, away) / 2]

    start = gaps(np.zeros((1, len(best))))[0]
    return {"start": start, "gaps": gaps(found.path), "of means": gaps(found.mean_path)}


def mean_interval(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return means over runs and half the widths of their 90% intervals (Student's t)."""
    numbers = np.array(values, dtype=float)
    runs = len(numbers)
    error = numbers.std(axis=0, ddof=1) / np.sqrt(runs)
    return numbers.mean(axis=0), error * student.ppf(0.95, runs - 1)


def steps_to_half(row: Row) -> float:
    """Return after how many steps half of the gap is left, between kept steps by logarithms."""
    shares = np.array(row["gaps"]) / row["start"]
    at = int(np.argmax(shares <= 0.5))
    part = (shares[at - 1] - 0.5) / (shares[at - 1] - shares[at])
    return float(KEPT[at - 1] * (KEPT[at] / KEPT[at - 1]) ** part)


def draw(rows: list[Row], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    sides = (
        ([c for c in CURVES if c[0] == 40], "k = {1}", "k changes, 40 comparisons a query"),
        ([c for c in CURVES if c[1] == 100], "{0} a query", "n changes, k = 100"),
    )
    for axis, (curves, label, title) in zip(axes, sides, strict=True):
        for curve in sorted(curves):
            mine = [row for row in rows if (row["per_query"], row["order"]) == curve]
            means, halves = mean_interval([row["gaps"] for row in mine])
            (line,) = axis.plot(KEPT, means, label=label.format(*curve))
            band = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
            axis.fill_between(KEPT, means - halves, means + halves, **band)
            means = mean_interval([row["of means"] for row in mine])[0]
            axis.plot(KEPT, means, linestyle=":", color=line.get_color())
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("steps")
        axis.legend(fontsize=7)
    axes[0].set_ylabel("gap of the empirical surrogate risk")
    save_png(figure, path, dpi=100)
    plt.close(figure)


def section(out: Path) -> str:
    """Draw figure 2 and return its part of the page; nothing without results."""
    kept = out / "figure_2.json.xz"
    if not kept.exists():
        return ""
    results = json.loads(lzma.decompress(kept.read_bytes()))
    rows = results["rows"]
    draw(rows, out / "figure_2.png")
    places = [KEPT.index(step) for step in SHOWN]
    head = ["k", "comparisons a query", "runs", "at the start", *(f"{s:,} steps" for s in SHOWN)]
    head.append("steps to a half")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for per_query, order in CURVES:
        mine = [row for row in rows if (row["per_query"], row["order"]) == (per_query, order)]
        shares = [np.array(row["gaps"])[places] / row["start"] for row in mine]
        cells = [f"{m:.3f} ± {h:.3f}" for m, h in zip(*mean_interval(shares), strict=True)]
        start = np.mean([row["start"] for row in mine])
        first = [str(order), str(per_query), str(len(mine)), f"{start:.2e}"]
        mean, half = mean_interval([steps_to_half(row) for row in mine])
        lines.append("| " + " | ".join([*first, *cells, f"{mean:.0f} ± {half:.0f}"]) + " |")
    facts = results["provenance"]
    return f"""## Figure 2: composite stochastic gradient

![Gap of the risk against steps](figure_2.png)

Equation 25 with squared error as printed and a linear model on {SET}, lambda = {RIDGE}, steps
1 / (L sqrt(t)). Lines: the gap of the empirical risk after t steps, means of {RUNS} runs with
90% intervals; dotted: that of the mean of all thetas. The paper finds that curves of different k
and n lie on one another. As shares of the gap at the start, ± half of a 90% interval:

{chr(10).join(lines)}

{verdict(rows)}

Made by `{facts["command"]}`.
"""


def verdict(rows: list[Row]) -> str:
    """Say by how much the shares left after all steps differ between n, and between k."""
    found = []
    for name, first, last in (("n", (20, 100), (160, 100)), ("k", (40, 1), (40, 100))):
        shares = [
            {
                row["seed"]: row["gaps"][-1] / row["start"]
                for row in rows
                if (row["per_query"], row["order"]) == curve
            }
            for curve in (first, last)
        ]
        mean, half = mean_interval([shares[1][seed] - shares[0][seed] for seed in shares[0]])
        low, high = (first[0], last[0]) if name == "n" else (first[1], last[1])
        unit = " comparisons a query" if name == "n" else ""
        word = "cannot be told from 0" if abs(mean) <= half else "is not 0, but small"
        found.append(
            f"- does the share that is left after {STEPS:,} steps depend on {name}? From "
            f"{name} = {low} to {high}{unit} it changes by {mean:+.3f} ± {half:.3f}, which {word}."
        )
    return "\n".join(found)


def main() -> None:
    from preferences import load_task

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", help="folder of the real data sets; default: GBRANK_DATA")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    task = load_task(SET, data_folder(arguments.data), quick=False, linear=True)
    path = arguments.out / "figure_2.json.xz"
    rows: list[Row] = (
        json.loads(lzma.decompress(path.read_bytes()))["rows"] if path.exists() else []
    )
    done = {(row["seed"], row["per_query"], row["order"]) for row in rows}
    for seed in range(RUNS):
        for per_query, order in CURVES:
            if (seed, per_query, order) not in done:
                key = {"seed": seed, "per_query": per_query, "order": order}
                rows.append({**key, **gaps_of(task, per_query, order, seed)})
        text = json.dumps({"provenance": provenance(), "rows": rows})
        path.write_bytes(lzma.compress(text.encode()))


if __name__ == "__main__":
    main()
