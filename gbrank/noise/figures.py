"""The plots: a metric against noise, differences from a baseline, a metric against trees.

Settings of the trees stand side by side in one plot, and floors in all of them.
"""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from gbrank.core import atomic_file
from gbrank.noise.contestants import is_learner, shown_name
from gbrank.noise.kinds import BOTH, CLICKS, axis_of, level_text, percent, title_of
from gbrank.noise.presets import Preset
from gbrank.noise.tables import Row, mean_with_interval
from gbrank.noise.trial import Result, Trial
from gbrank.plotting import LearningCurveDisplay, MetricComparisonDisplay, save_png

#: Rows of one noise, by setting.
BySetting = dict[str, list[Row]]

#: Colours that differ for the colour-blind too (Okabe and Ito), then others.
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#8C564B",
    "#9AA700", "#000080", "#E31A1C", "#FF7F9E", "#33CC33", "#B8860B", "#00A5A5",
)  # fmt: skip
#: With fewer trials an interval over trials covers the whole picture and says nothing.
FEWEST_FOR_BANDS = 4
#: With more learners their bands cover each other, and are left out.
MOST_IN_ONE = 6
SETTING_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
GREY = "#666666"


def pyplot() -> Any:
    """Return matplotlib's pyplot, set to draw into files."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('the report needs matplotlib: pip install "gbrank[plot]"') from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "gbrank", "text.parse_math": False, "font.size": 9,
         "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10,
         "axes.titleweight": "bold"}
    )  # fmt: skip
    from matplotlib import pyplot as module

    return module


def save(figure: Any, folder: Path, name: str) -> str:
    """Write a figure as PNG and SVG; return its name."""
    save_png(figure, folder / f"{name}.png", dpi=90)
    with atomic_file(folder / f"{name}.svg", follow_links=False) as file:
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    pyplot().close(figure)
    return name


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
        "linewidth": 2.6 if name.startswith("Ranker") else 1.5,
        "marker": "s" if peer else "o",
        "markersize": 3.5,
    }


def against_noise(tables: BySetting, title: str) -> Any:
    """Draw the metric against the noise level, a panel for each setting and a line an objective."""
    rows = [row for table in tables.values() for row in table]
    names = list(dict.fromkeys(row.objective for row in rows))
    learners = [name for name in names if is_learner(name)]
    figure, grid = pyplot().subplots(
        1, len(tables), figsize=(8.4 if len(tables) == 1 else 6.2 * len(tables), 5.0),
        sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    with_bands = _has_bands(rows) and len(learners) <= MOST_IN_ONE
    for axes, (setting, table) in zip(grid.flat, tables.items(), strict=True):
        ends = []
        for name in names:
            mine = _of(table, name)
            if not mine:
                continue
            style = _style(name, learners)
            _line(axes, mine, style, band=with_bands and not name.startswith("ceiling:"))
            ends.append((mine[-1].mean, shown_name(name), style["color"], mine[-1].level))
        _limit_to_means(axes, rows)
        _label_ends(axes, ends)
        _noise_axis(axes, rows)
        _mark_gain(axes, table)
        if len(tables) > 1:
            axes.set_title(f"{setting} trees", loc="left")
        axes.grid(alpha=0.25)
    grid[0, 0].set_ylabel(f"{shown_metric(rows)} on clean test queries (higher is better)")
    _title(figure, title)
    return figure


def _of(table: list[Row], name: str) -> list[Row]:
    return sorted((row for row in table if row.objective == name), key=lambda row: row.level)


def _has_bands(rows: list[Row]) -> bool:
    return min(row.test_sets for row in rows) >= FEWEST_FOR_BANDS


def _line(axes: Any, mine: list[Row], style: dict[str, Any], *, band: bool) -> None:
    levels = [row.level for row in mine]
    axes.plot(levels, [row.mean for row in mine], **style, zorder=3)
    if band:
        axes.fill_between(
            levels, [row.low for row in mine], [row.high for row in mine],
            color=style["color"], alpha=0.12, linewidth=0,
        )  # fmt: skip


def each_against_noise(tables: BySetting, title: str) -> Any:
    """Draw a panel for each learner: a line and a band for each setting, and the floors."""
    rows = [row for table in tables.values() for row in table]
    names = list(dict.fromkeys(row.objective for row in rows))
    learners = [name for name in names if is_learner(name)]
    others = [name for name in names if not is_learner(name)]
    figure, grid = _panels(len(learners), sharey=True)
    first = next(iter(tables.values()))
    for axes, name in zip(grid.flat, learners, strict=False):
        for other in others:
            style = _style(other, learners)
            mine = _of(first, other)
            axes.plot([r.level for r in mine], [r.mean for r in mine], **style, label=other)
        for color, (setting, table) in zip(SETTING_COLORS, tables.items(), strict=False):
            mine = _of(table, name)
            if mine:
                style = {"color": color, "linewidth": 1.4, "marker": "o", "markersize": 3,
                         "label": f"{setting} trees"}  # fmt: skip
                _line(axes, mine, style, band=_has_bands(rows))
        _name_panel(axes, name)
    _limit_to_means(grid.flat[0], rows)
    _finish_panels(figure, grid, rows, len(learners), title)
    _label_side(figure, f"{shown_metric(rows)} on clean test queries")
    return figure


def _title(figure: Any, text: str) -> None:
    lines = _wrapped(text, figure.get_figwidth() - 0.1, 10)
    figure.suptitle(lines, x=0.01, ha="left", fontsize=10, fontweight="bold")


def _wrapped(text: str, inches: float, size: float) -> str:
    """Break a text into lines that fit, a letter being two thirds of its size wide on average."""
    return textwrap.fill(text, max(10, int(inches * 72 / (0.66 * size))))


def _label_side(figure: Any, text: str) -> None:
    figure.supylabel(_wrapped(text, figure.get_figheight() - 0.1, 9), fontsize=9)


def _name_panel(axes: Any, name: str) -> None:
    inches = 0.8 * axes.figure.get_figwidth() / axes.get_gridspec().ncols
    axes.set_title(_wrapped(name, inches, 8), fontsize=8, fontweight="normal")


def _panels(count: int, **options: Any) -> tuple[Any, Any]:
    columns = min(5 if count > 8 and count % 4 else 4, count)
    lines = -(-count // columns)
    size = (max(2.2 * columns + 0.6, 4.5), 1.65 * lines + 1.1)
    figure, grid = pyplot().subplots(
        lines, columns, figsize=size, squeeze=False, sharex=True, layout="constrained", **options
    )
    return figure, grid


def _finish_panels(figure: Any, grid: Any, rows: list[Row], count: int, title: str) -> None:
    """Set ticks, a legend outside of the panels, and what is common to all of them."""
    for axes in grid.flat:
        axes.grid(alpha=0.25)
        axes.tick_params(labelsize=7)
    for axes in grid.flat[count:]:
        axes.set_visible(False)
    _noise_axis(grid.flat[0], rows)
    grid.flat[0].set_xlabel("")
    for column in range(grid.shape[1]):
        last = [axes for axes in grid[:, column] if axes.get_visible()][-1]
        last.tick_params(labelbottom=True)
    lines, texts = grid.flat[0].get_legend_handles_labels()
    named = dict(zip(texts, lines, strict=True))
    if len(named) > 1:
        figure.legend(
            named.values(), named, loc="outside lower center", ncols=4, frameon=False, fontsize=8
        )
    _title(figure, title)


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
    # A crowd at an end of the axis is pushed back into the picture as one.
    places -= max(places[-1] - (high - gap / 2), 0.0)
    places += max((low + gap / 2) - places[0], 0.0)
    right = max(end[3] for end in ends)
    left = axes.get_xlim()[0]
    reach = (right - left) or 1.0
    for (value, name, color, last), place in zip(ends, places, strict=True):
        axes.plot([last, right + 0.03 * reach], [value, place], color=color, linewidth=0.6)
        axes.text(right + 0.04 * reach, place, name, color=color, va="center", fontsize=8)
    axes.set_xlim(left, right + 0.42 * reach)


def _mark_gain(axes: Any, table: list[Row]) -> None:
    """Draw how far the Ranker is above what it is compared with, where noise is worst."""
    levels = [row.level for row in table]
    place = max(levels) - 0.025 * (max(levels) - min(levels))
    ours = [
        row
        for row in table
        if row.objective.startswith("Ranker")
        and row.verdict == "better"
        and row.level == max(levels)
    ]
    for row in ours[:1]:
        ends = (place, row.mean), (place, row.mean - row.difference)
        arrow = {"arrowstyle": "<->", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", *ends, arrowprops=arrow, zorder=4)
        said = f"{row.difference:+.3f}\nagainst {shown_name(row.against)} "
        axes.text(place, row.mean - row.difference / 4, said, ha="right", va="center",
                  fontsize=9, fontweight="bold", zorder=5)  # fmt: skip


def _noise_axis(axes: Any, rows: list[Row]) -> None:
    levels = sorted({row.level for row in rows})
    noise = rows[0].noise
    texts = [f"{level:g}" if noise in CLICKS else percent(level) for level in levels]
    axes.set_xticks(levels, texts)
    axes.set_xlabel(axis_of(noise))


def differences(tables: BySetting, title: str) -> Any:
    """Draw the difference of each objective from what it is compared with, a panel each."""
    compared = [row for table in tables.values() for row in table if row.against]
    names = list(dict.fromkeys(row.objective for row in compared))
    figure, grid = _panels(len(names))
    limits = _common_limits(compared)
    for axes, name in zip(grid.flat, names, strict=False):
        axes.axhline(0.0, color="black", linewidth=0.7)
        for color, (setting, table) in zip(SETTING_COLORS, tables.items(), strict=False):
            mine = [row for row in _of(table, name) if row.against]
            levels = [row.level for row in mine]
            axes.fill_between(
                levels, [r.difference_low for r in mine], [r.difference_high for r in mine],
                color=color, alpha=0.18, linewidth=0,
            )  # fmt: skip
            axes.plot(levels, [row.difference for row in mine], color=color, linewidth=1.3,
                      label=f"{setting} trees")  # fmt: skip
            for row in mine:  # a full dot is significant
                full = row.verdict in ("better", "worse")
                axes.plot(row.level, row.difference, "o", color=color, markersize=4.5,
                          markerfacecolor=color if full else "white")  # fmt: skip
        own = not is_learner(name)  # floors may be far away
        _name_panel(axes, f"{name} (own scale)" if own else name)
        if not own:
            axes.set_ylim(*limits)
    _finish_panels(figure, grid, compared, len(names), title)
    against = sorted({row.against for row in compared})
    what = against[0] if len(against) == 1 else "its counterpart"
    _label_side(figure, f"{shown_metric(compared)} minus that of {what}")
    return figure


def _common_limits(compared: list[Row]) -> tuple[float, float]:
    """Return limits that hold the intervals of all learners, and zero."""
    learners = [row for row in compared if is_learner(row.objective)] or compared
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
    _title(figure, title)
    return figure


def against_cutoffs(rows: list[Row], title: str) -> Any:
    """Draw NDCG@k against k: a panel for each objective that others are compared with."""
    cut = {name: int(name.removeprefix("ndcg@")) for name in cutoffs(rows)}
    shown = [row for row in rows if row.metric in cut]
    groups: dict[str, list[str]] = {}
    for row in shown:
        if row.against:
            groups.setdefault(row.against, [row.against])
            if row.objective not in groups[row.against]:
                groups[row.against].append(row.objective)
    groups = groups or {"": list(dict.fromkeys(row.objective for row in shown))}
    figure, grid = pyplot().subplots(
        1, len(groups), figsize=(max(3.9 * len(groups), 6.0), 3.9), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, names in zip(grid.flat, groups.values(), strict=True):
        for color, name in zip(("black", *COLORS), names, strict=False):
            mine = sorted((r for r in shown if r.objective == name), key=lambda r: cut[r.metric])
            axes.plot([cut[r.metric] for r in mine], [r.mean for r in mine], "o-", color=color,
                      markersize=3, linewidth=1.3, label=name)  # fmt: skip
        axes.set_xticks(sorted(cut.values()))
        axes.set_xlabel("k")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=8)
    grid[0, 0].set_ylabel(f"NDCG@k, mean over {rows[0].trials} trials")
    _title(figure, title)
    return figure


def cutoffs(rows: list[Row]) -> list[str]:
    """Return which metrics are NDCG at a cut-off."""
    return sorted({row.metric for row in rows if row.metric.startswith("ndcg@")})


def curves_of(
    results: dict[Trial, Result], noise: str, setting: str, level: float
) -> dict[str, np.ndarray]:
    """Return validation NDCG@5 of each trial (lines) after each tree, for each objective.

    Curves of a level are cut to the shortest: early stopping ends them at different lengths.
    """
    kept: dict[str, dict[int, tuple[float, ...]]] = {}
    for t, result in results.items():
        if (t.noise, t.setting, t.level) == (noise, setting, level) and result.curve:
            kept.setdefault(t.objective, {})[t.trial] = result.curve
    if not kept:
        return {}
    common = sorted(set.intersection(*(set(found) for found in kept.values())))
    if not common:
        return {}
    shortest = min(len(found[t]) for found in kept.values() for t in common)
    return {name: np.array([found[t][:shortest] for t in common]) for name, found in kept.items()}


def against_trees(curves: dict[str, np.ndarray], baseline: str, title: str) -> Any:
    """Draw the mean curve of each objective, and its distance from the baseline's."""
    panels = 2 if baseline in curves and len(curves) > 1 else 1
    figure, grid = pyplot().subplots(
        1, panels, figsize=(6.0 * panels, 4.2), squeeze=False, layout="constrained"
    )
    for color, (name, lines) in zip(COLORS, curves.items(), strict=False):
        trees = np.arange(1, lines.shape[1] + 1)
        shown = [(grid[0, 0], lines)]
        if panels == 2 and name != baseline:
            shown.append((grid[0, 1], lines - curves[baseline]))
        for axes, values in shown:
            LearningCurveDisplay({name: values.mean(axis=0)}, metric="").plot(axes, color=color)
            if len(values) >= FEWEST_FOR_BANDS:
                ends = np.array([mean_with_interval(column)[1:] for column in values.T])
                axes.fill_between(trees, *ends.T, color=color, alpha=0.12, linewidth=0)
    trials = len(next(iter(curves.values())))
    over = "one trial" if trials == 1 else f"mean over {trials} trials"
    grid[0, 0].set_ylabel(f"validation NDCG@5, {over}")
    if panels == 2:
        grid[0, 1].axhline(0.0, color="black", linewidth=0.7)
        grid[0, 1].set_ylabel(f"minus that of {baseline}")
    for axes in grid.flat:
        axes.set_xlabel("trees")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
    _title(figure, title)
    return figure


def draw_all(
    preset: Preset, data: str, rows: list[Row], results: dict[Trial, Result], folder: Path
) -> dict[str, list[tuple[str, str]]]:
    """Draw what the trials allow; return names of files and captions, by kind of noise."""
    primary = [row for row in rows if row.metric == preset.metrics[0]]
    drawn: dict[str, list[tuple[str, str]]] = {}
    for noise in dict.fromkeys(row.noise for row in primary):
        tables: BySetting = {}
        for row in primary:
            if row.noise == noise:
                tables.setdefault(row.setting, []).append(row)
        name = f"{preset.name}-{data}-{noise}"
        title = f"{data}: {axis_of(noise)}" if noise != "none" else data
        title += ", in validation queries too" if noise.endswith(BOTH) else ""
        if len(tables) == 1:
            kind = "trees" if preset.model == "trees" else "model"
            title += f" ({next(iter(tables))} {kind})"
        made = drawn.setdefault(noise, [])
        if len({row.level for table in tables.values() for row in table}) > 1:
            heading = f"{title_of(noise)}: who still ranks well? ({data})"
            made += _draw_levels(tables, folder, name, title, heading)
        else:
            for setting, table in tables.items():
                figure = at_one_level(table, title)
                file = save(figure, folder, f"{name}-{setting}")
                made.append((file, f"{title}. Bars: 95% over trials."))
                whole = [row for row in rows if (row.noise, row.setting) == (noise, setting)]
                if len(cutoffs(whole)) > 4:
                    figure = against_cutoffs(whole, f"{data}: NDCG at cut-offs")
                    file = save(figure, folder, f"{name}-{setting}-cutoffs")
                    made.append((file, f"{data}: NDCG@k, each panel an original and its versions."))
        for setting, table in tables.items():
            for level in sorted({row.level for row in table}):
                curves = curves_of(results, noise, setting, level)
                if curves:
                    place = "" if noise == "none" else f", {level_text(noise, level)}"
                    figure = against_trees(curves, preset.baseline, f"{data}: {setting}{place}")
                    file = save(figure, folder, f"{name}-{setting}-{level:g}-trees")
                    made.append((file, f"{data}{place}: validation NDCG@5 after each tree."))
    return drawn


def _draw_levels(
    tables: BySetting, folder: Path, name: str, title: str, heading: str
) -> list[tuple[str, str]]:
    rows = [row for table in tables.values() for row in table]
    learners = {row.objective for row in rows if is_learner(row.objective)}
    apart = len(tables) > 1
    bands = " Bands: 95% over trials." if _has_bands(rows) else ""
    caption = f"{title}.{'' if len(learners) > MOST_IN_ONE else bands}"
    drawn = [(save(against_noise(tables, heading), folder, name), caption)]
    if apart:
        figure = each_against_noise(tables, f"{title}, learner by learner")
        drawn.append((save(figure, folder, f"{name}-each"), f"{title}, learner by learner.{bands}"))
    if any(row.against for row in rows):
        figure = differences(tables, f"{title}, differences")
        caption = f"{title}: differences. Bands: 95% over queries; a full dot is significant."
        drawn.append((save(figure, folder, f"{name}-difference"), caption))
    return drawn
