"""The plots: a metric against noise, differences from a baseline, a metric against trees."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from gbrank.plotting import LearningCurveDisplay, MetricComparisonDisplay
from noise_robustness.presets import NOISES, Preset
from noise_robustness.tables import Row
from noise_robustness.trial import Result, Trial

#: Colours that differ for the colour-blind too (Okabe and Ito), then others.
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#8C564B",
    "#9AA700", "#000080", "#E31A1C", "#FF7F9E", "#33CC33", "#B8860B", "#00A5A5",
)  # fmt: skip
#: With fewer trials an interval over trials covers the whole picture and says nothing.
FEWEST_FOR_BANDS = 4
GREY = "#666666"


def pyplot() -> Any:
    """Return matplotlib's pyplot, set to draw into files."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('the report needs matplotlib: pip install "gbrank[plot]"') from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "gbrank", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False, "axes.titlesize": 10, "axes.titleweight": "bold"}
    )  # fmt: skip
    from matplotlib import pyplot as module

    return module


def save(figure: Any, folder: Path, name: str) -> str:
    """Write a figure as PNG and SVG; return its name."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=150)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    pyplot().close(figure)
    return name


def percent(level: float) -> str:
    """Return a level as people read it."""
    return f"{100 * level:g}%"


def level_text(noise: str, level: float) -> str:
    """Say what a level of a noise is."""
    if noise == "none":
        return "clean data"
    if noise == "clicks":
        return f"grade 0 clicked with probability {level:g}"
    what = "labels replaced" if noise == "labels" else "documents added"
    return f"{percent(level)} {what}"


def _style(name: str, learners: list[str]) -> dict[str, Any]:
    if name.startswith("ceiling:"):
        return {"color": "black", "linestyle": (0, (1, 2)), "linewidth": 1.2}
    if name.startswith("floor:"):
        dash = (0, (5, 2)) if name.endswith("ridge") else (0, (3, 1, 1, 1))
        return {"color": GREY, "linestyle": dash, "linewidth": 1.4}
    peer = ":" in name
    return {
        "color": COLORS[learners.index(name) % len(COLORS)],
        "linestyle": "--" if peer else "-",
        "linewidth": 1.5,
        "marker": "s" if peer else "o",
        "markersize": 3.5,
    }


def against_noise(rows: list[Row], title: str) -> Any:
    """Draw the metric against the noise level, a line and a 95% band for each objective."""
    names = list(dict.fromkeys(row.objective for row in rows))
    learners = [n for n in names if not n.startswith(("floor:", "ceiling:"))]
    figure, axes = pyplot().subplots(figsize=(8.4, 5.0), layout="constrained")
    ends = []
    for name in names:
        mine = sorted((row for row in rows if row.objective == name), key=lambda row: row.level)
        levels = [row.level for row in mine]
        means = [row.mean for row in mine]
        style = _style(name, learners)
        axes.plot(levels, means, **style, zorder=3 if name in learners else 2)
        if not name.startswith("ceiling:") and min(row.trials for row in mine) >= FEWEST_FOR_BANDS:
            axes.fill_between(
                levels, [row.low for row in mine], [row.high for row in mine],
                color=style["color"], alpha=0.06, linewidth=0,
            )  # fmt: skip
        ends.append((means[-1], name, style["color"], levels[-1]))
    _limit_to_means(axes, rows)
    _label_ends(axes, ends)
    _noise_axis(axes, rows)
    axes.set_ylabel(f"{shown_metric(rows)} on clean test queries")
    axes.set_title(title, loc="left")
    axes.grid(alpha=0.25)
    return figure


def shown_metric(rows: list[Row]) -> str:
    """Return the name of the metric as it is written in text."""
    return rows[0].metric.replace("ndcg", "NDCG")


def _limit_to_means(axes: Any, rows: list[Row]) -> None:
    """Show all means, and bands as far as they do not squeeze them."""
    means = np.array([row.mean for row in rows])
    reach = np.nan_to_num([row.high - row.mean for row in rows]).max()
    spread = max(np.ptp(means), 1e-3)
    room = min(1.1 * reach, 0.35 * spread) + 0.05 * spread
    axes.set_ylim(means.min() - room, means.max() + room)


def _label_ends(axes: Any, ends: list[tuple[float, str, str, float]]) -> None:
    """Name the lines at their right ends, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    ends = sorted(ends)
    gap = (high - low) / 24
    places = np.array([end[0] for end in ends])
    for _ in range(200):
        for i in range(1, len(places)):
            short = gap - (places[i] - places[i - 1])
            if short > 0:
                places[i] += short / 2
                places[i - 1] -= short / 2
    right = max(end[3] for end in ends)
    left = axes.get_xlim()[0]
    reach = (right - left) or 1.0
    for (value, name, color, last), place in zip(ends, places, strict=True):
        axes.plot([last, right + 0.03 * reach], [value, place], color=color, linewidth=0.6)
        axes.text(right + 0.04 * reach, place, name, color=color, va="center", fontsize=8)
    axes.set_xlim(left, right + 0.42 * reach)


def _noise_axis(axes: Any, rows: list[Row]) -> None:
    levels = sorted({row.level for row in rows})
    noise = rows[0].noise
    texts = [f"{level:g}" if noise == "clicks" else percent(level) for level in levels]
    axes.set_xticks(levels, texts)
    axes.set_xlabel(NOISES[noise])


def differences(rows: list[Row], title: str) -> Any:
    """Draw the difference of each objective from what it is compared with, a panel each."""
    compared = [row for row in rows if row.against]
    names = list(dict.fromkeys(row.objective for row in compared))
    columns = min(4, len(names))
    lines = -(-len(names) // columns)
    figure, grid = pyplot().subplots(
        lines, columns, figsize=(2.2 * columns + 0.6, 1.65 * lines + 0.9), squeeze=False,
        sharex=True, layout="constrained",
    )  # fmt: skip
    for axes, name in zip(grid.flat, names, strict=False):
        mine = sorted((row for row in compared if row.objective == name), key=lambda r: r.level)
        levels = [row.level for row in mine]
        values = [row.difference for row in mine]
        color = GREY if name.startswith("floor:") else COLORS[0]
        axes.axhline(0.0, color="black", linewidth=0.7)
        axes.fill_between(
            levels, [r.difference_low for r in mine], [r.difference_high for r in mine],
            color=color, alpha=0.2, linewidth=0,
        )  # fmt: skip
        axes.plot(levels, values, color=color, linewidth=1.3)
        for row in mine:  # a full dot is significant
            full = row.verdict in ("better", "worse")
            axes.plot(row.level, row.difference, "o", color=color, markersize=4.5,
                      markerfacecolor=color if full else "white")  # fmt: skip
        axes.set_title(name, fontsize=8, fontweight="normal")
        axes.grid(alpha=0.25)
        axes.tick_params(labelsize=7)
        if not name.startswith("floor:"):  # floors may be far away and have a scale of their own
            axes.set_ylim(*_common_limits(compared))
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    noise = rows[0].noise
    shown = sorted({row.level for row in compared})
    texts = [f"{level:g}" if noise == "clicks" else percent(level) for level in shown]
    grid.flat[0].set_xticks(shown, texts)
    for column in range(columns):
        last = [axes for axes in grid[:, column] if axes.get_visible()][-1]
        last.tick_params(labelbottom=True)
    against = sorted({row.against for row in compared})
    what = against[0] if len(against) == 1 else "its counterpart"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    figure.supxlabel(NOISES[noise], fontsize=9)
    figure.supylabel(f"{shown_metric(rows)} minus that of {what}", fontsize=9)
    return figure


def _common_limits(compared: list[Row]) -> tuple[float, float]:
    """Return limits that hold the intervals of all learners, and zero."""
    learners = [row for row in compared if not row.objective.startswith("floor:")]
    ends = [(row.difference_low, row.difference_high, row.difference, 0.0) for row in learners]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.08 * max(high - low, 1e-4)
    return low - room, high + room


def at_one_level(rows: list[Row], title: str) -> Any:
    """Draw the means of one level with their intervals, best on top."""
    ordered = sorted(rows, key=lambda row: -row.mean)
    known = [row for row in ordered if not np.isnan(row.low)] or ordered
    intervals = {
        r.objective: (r.low, r.high) if not np.isnan(r.low) else (r.mean, r.mean) for r in known
    }
    figure, axes = pyplot().subplots(figsize=(7.2, 0.28 * len(known) + 1.4), layout="constrained")
    display = MetricComparisonDisplay(
        {row.objective: row.mean for row in known}, intervals, metric=shown_metric(rows)
    )
    display.plot(axes)
    axes.set_xlabel(f"{shown_metric(rows)}: mean and 95% interval over {rows[0].trials} trials")
    axes.set_title(title, loc="left")
    return figure


def against_trees(results: dict[Trial, Result], objectives: Iterable[str], title: str) -> Any:
    """Draw validation NDCG@5 after each tree, the mean over trials."""
    curves = {}
    for name in objectives:
        kept = [r.curve for t, r in results.items() if t.objective == name and r.curve]
        if kept:
            shortest = min(map(len, kept))
            curves[name] = np.mean([curve[:shortest] for curve in kept], axis=0)
    if not curves:
        return None
    figure, axes = pyplot().subplots(figsize=(7.2, 4.2), layout="constrained")
    display = LearningCurveDisplay(curves, metric="validation NDCG@5, mean over trials")
    display.plot(axes)
    for line, color in zip(display.lines_, COLORS, strict=False):
        line.set_color(color)
    axes.legend(frameon=False)
    axes.set_title(title, loc="left")
    return figure


def draw_all(
    preset: Preset, data: str, rows: list[Row], results: dict[Trial, Result], folder: Path
) -> list[tuple[str, str]]:
    """Draw what the trials allow; return names of files and captions."""
    drawn = []
    primary = [row for row in rows if row.metric == preset.metrics[0]]
    for noise, setting in dict.fromkeys((row.noise, row.setting) for row in primary):
        table = [row for row in primary if (row.noise, row.setting) == (noise, setting)]
        name = f"{preset.name}-{data}-{noise}-{setting}"
        title = f"{data}: {NOISES[noise]}" if noise != "none" else data
        title += f" ({setting} trees)" if preset.model == "trees" else " (linear)"
        if len({row.level for row in table}) > 1:
            figure = against_noise(table, title)
            drawn.append((save(figure, folder, name), f"{title}. Bands: 95% over trials."))
            if any(row.against for row in table):
                figure = differences(table, title)
                caption = (
                    f"{title}: differences. Bands: 95% over queries; a full dot is significant."
                )
                drawn.append((save(figure, folder, f"{name}-difference"), caption))
        else:
            figure = at_one_level(table, title)
            drawn.append((save(figure, folder, name), f"{title}. Bars: 95% over trials."))
    if preset.curves:
        for noise in dict.fromkeys(trial.noise for trial in results):
            figure = against_trees(results, preset.objectives, f"{data}: metric against trees")
            if figure is not None:
                file = save(figure, folder, f"{preset.name}-{data}-{noise}-trees")
                drawn.append((file, f"{data}: validation NDCG@5 against the number of trees."))
    return drawn
