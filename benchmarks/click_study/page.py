"""The page of results, from the JSON files of all parts."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import stats

from click_study import coverage, logs, ranking, scale
from click_study.store import RESULTS, load

METHODS = (*coverage.METHODS, "em_features")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(heads)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write() -> None:
    """Write ``README.md`` beside the results."""
    parts = [
        "# Clicks with positions",
        "Written by `benchmarks/clicks.py page` from the JSON files of this folder.",
        *_coverage(),
        *_scale(),
        *_ranking(),
        *_logs(),
    ]
    (RESULTS / "README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _text(module: Any) -> str:
    return str(module.__doc__).strip().split("\n\n", 1)[-1].replace("``", "`")


def _coverage() -> list[str]:
    trials = load("coverage")["trials"]
    rows = []
    for method in METHODS:
        own = [each[method] for each in trials.values() if method in each]
        if not own:
            continue
        errors = np.array([each["error"] for each in own])
        inside = [each["inside"] for each in own if "inside" in each]
        rows.append(
            [
                method,
                str(len(own)),
                f"{np.mean(inside):.1%}" if inside else "no intervals",
                f"{errors.mean():+.2%}",
                f"{np.sqrt((errors**2).mean()):.2%}",
                f"{np.sqrt((errors[:, -1] ** 2).mean()):.2%}",
            ]
        )
    heads = ("method", "logs", "inside 95% intervals", "mean error", "rms error", "at rank 10")
    return ["## Intervals of propensities", _text(coverage), table(heads, rows)]


def _scale() -> list[str]:
    rows = [
        [f"{int(n):,}", *(str(trial[key]) for key in ("seconds", "peak memory, GB", "input, GB"))]
        for n, trial in load("scale")["trials"].items()
    ]
    heads = ("rows", "seconds", "peak memory, GB", "of which input, GB")
    return ["## Ten million rows", _text(scale), table(heads, rows)]


def _ranking() -> list[str]:
    trials = load("ranking")["trials"]
    settings = sorted({" ".join(key.split()[:2]) for key in trials})
    found = ["## Ranking from simulated clicks", _text(ranking)]
    for setting in settings:
        own = {key.split(maxsplit=2)[2]: trial for key, trial in trials.items()
               if " ".join(key.split()[:2]) == setting}  # fmt: skip
        names = list(dict.fromkeys(name for trial in own.values() for name in trial))
        rows = [[name, *_row(own, name)] for name in names]
        sets = list(dict.fromkeys(key.split()[0] for key in own))
        heads = ["contestant", *sets, "mean of sets", "against naive", "p", "folds"]
        found += [f"### {setting}", table(heads, rows), *_gap(own)]
    return found


def _row(own: dict[str, dict[str, float]], name: str) -> list[str]:
    sets = list(dict.fromkeys(key.split()[0] for key in own))
    cells, means = [], []
    for each in sets:
        values = [t[name] for key, t in own.items() if key.split()[0] == each and name in t]
        means.append(np.mean(values) if values else np.nan)
        cells.append(f"{means[-1]:.4f}" if values else "-")
    pairs = [(t[name], t["naive"]) for t in own.values() if name in t and "naive" in t]
    difference = np.array([a - b for a, b in pairs])
    p = "-"
    if name != "naive" and len(difference) > 2:
        p = f"{stats.ttest_1samp(difference, 0).pvalue:.3f}"
    mean = f"{np.mean(means):.4f}" if np.isfinite(means).all() else "-"
    return [*cells, mean, f"{difference.mean():+.4f}", p, str(len(pairs))]


def gap_closed(own: dict[str, dict[str, float]], name: str) -> float | None:
    """Return the share of the mean gap between naive clicks and clean labels that is closed."""
    full = [t for t in own.values() if {name, "naive", "clean"} <= t.keys()]
    if not full:
        return None
    gap = np.mean([t["clean"] - t["naive"] for t in full])
    return float(np.mean([t[name] - t["naive"] for t in full]) / gap)


def _gap(own: dict[str, dict[str, float]]) -> list[str]:
    shares = {name: gap_closed(own, name) for name in ("ips all_pairs", "additive", "dual")}
    said = [f"{name} {share:.0%}" for name, share in shares.items() if share is not None]
    if not said:
        return []
    return [f"Closed of the mean gap between naive clicks and clean labels: {', '.join(said)}."]


def _logs() -> list[str]:
    found = ["## Real logs", _text(logs)]
    for name, trial in load("logs")["trials"].items():
        rows = []
        for method, curve in trial["curves"].items():
            values = [
                f"{v:.2f}" + ("*" if filled else f" ({low:.2f}-{high:.2f})")
                for v, low, high, filled in zip(
                    curve["values"], curve["lower"], curve["upper"], curve["interpolated"],
                    strict=True,
                )
            ]  # fmt: skip
            rows.append([method, *values])
        heads = ["method", *map(str, next(iter(trial["curves"].values()))["positions"])]
        likelihood = ", ".join(f"{key} {value:.4f}" for key, value in trial["likelihood"].items())
        found += [
            f"### {name}",
            f"`{trial['log']}`, {trial['shared']} items at two or more positions. Cut off: "
            f"{trial['cut off'] or 'none'}. * = interpolated.",
            table(heads, rows),
            f"Mean log-likelihood per held-out impression: {likelihood}.",
        ]
    return found
