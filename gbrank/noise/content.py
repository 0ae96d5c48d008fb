"""What the report says, as blocks that can be written as Markdown and as HTML."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from gbrank.noise.changes import ChangeRow
from gbrank.noise.contestants import is_learner
from gbrank.noise.figures import curves_of
from gbrank.noise.kinds import axis_of, kind_of, level_text, title_of
from gbrank.noise.presets import TESTS, Preset
from gbrank.noise.tables import Row, SettingRow, verdict_of
from gbrank.noise.trial import Result, Trial, all_trials

MARKS = {"better": " ▲", "worse": " ▼", "same": ""}
#: After so many trees the curves are put into a table.
AFTER = (10, 25, 50, 100, 200, 300, 400, 500)

METHOD = (
    "In a trial every objective gets the same trees, the same corrupted data and the same clean "
    "test queries; nothing is tuned on test queries. Whether validation labels, which decide when "
    "training stops, are corrupted as the training ones is said with each table. Queries without a "
    "relevant document are left out, ties averaged. Floors are no boosted trees: the best single "
    "feature of the training data, and a ridge on features z-scored within the query.",
    "The interval of a mean is Student's over trials. It shows how far trials lie apart, mostly "
    "because some test queries are harder, for all objectives alike: that two intervals overlap "
    "does not say that two objectives cannot be told apart. Trials that test the same queries (a "
    "fold run again with other noise) are averaged first.",
    "▲ and ▼ mark differences that are significant by the random permutation test whose units are "
    "queries: the difference of a query is averaged over the trials that tested it, so that "
    "repeats are no new evidence. Holm's method corrects for all comparisons of a metric in one "
    "kind of noise and setting. results.csv also has the paired t-test over trials.",
)


@dataclass
class Section:
    """One preset on one data set: what is said about it."""

    preset: Preset
    data: str
    rows: list[Row]
    setting_rows: list[SettingRow]
    figures: dict[str, list[tuple[str, str]]]
    provenance: dict[str, str]
    results: dict[Trial, Result] = field(repr=False)
    change_rows: list[ChangeRow] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.preset.title}: {self.data}"

    @property
    def noises(self) -> list[str]:
        return list(dict.fromkeys(row.noise for row in self.rows))

    @property
    def finished_and_wanted(self) -> tuple[int, int]:
        wanted = set(all_trials(self.preset))
        return len(wanted & set(self.results)), len(wanted)

    @property
    def test_queries(self) -> int:
        """Number of test queries that count in some trial."""
        counted = [r.queries[~np.isnan(r.values[0])] for r in self.results.values()]
        return len(np.unique(np.concatenate(counted)))


Table = tuple[str, list[str], list[list[str]]]


def spread(values: Iterable[int]) -> str:
    """Return the smallest and the largest of some counts."""
    found = sorted(set(values))
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def tables(section: Section, noise: str | None = None) -> list[Table]:
    """Return caption, heads and cells of the tables of results, those of the first metric first.

    With several levels of noise there is a table for each setting and metric, with a column a
    level; with one level, a table for each setting, with a column a metric.
    """
    made = []
    rows = [row for row in section.rows if noise in (None, row.noise)]
    for kind in dict.fromkeys(row.noise for row in rows):
        of_kind = [row for row in rows if row.noise == kind]
        one_level = len({row.level for row in of_kind}) == 1
        for metrics in [section.preset.metrics] if one_level else zip(section.preset.metrics):
            chosen = [row for row in of_kind if row.metric in metrics]
            for setting in dict.fromkeys(row.setting for row in chosen):
                table = [row for row in chosen if row.setting == setting]
                made.append(_table(section, kind, setting, table, one_level))
    return made


def _table(section: Section, noise: str, setting: str, rows: list[Row], one_level: bool) -> Table:
    if one_level:
        columns: list[Any] = sorted({row.metric for row in rows}, key=section.preset.metrics.index)
        heads, what = list(columns), title_of(noise)
    else:
        columns = sorted({row.level for row in rows})
        heads = [level_with_share(noise, level, rows) for level in columns]
        what = f"{rows[0].metric}, {axis_of(noise)}"
    found: dict[str, dict[Any, Row]] = {}
    for row in rows:
        found.setdefault(row.objective, {})[row.metric if one_level else row.level] = row
    body = [
        [name, *(cell(mine[column]) if column in mine else "" for column in columns)]
        for name, mine in found.items()
    ]
    against = sorted({row.against for row in rows if row.against})
    brackets = ""
    if against:
        other = against[0] if len(against) == 1 else "its counterpart"
        brackets = f" (in brackets minus that of {other})"
    trials = spread(row.trials for row in rows)
    over = "of one trial" if trials == "1" else f"95% interval over {trials} trials"
    caption = f"{what}, settings {setting}: mean{brackets}, {over}"
    return caption, ["objective", *heads], body


def level_with_share(noise: str, level: float, rows: list[Row]) -> str:
    """Return a level, and what share of the training labels really differs at it."""
    found = next((row.document_noise for row in rows if row.level == level), 0.0)
    text = level_text(noise, level)
    has_share = kind_of(noise) not in ("none", "negatives") and not np.isnan(found)
    return f"{text} ({found:.0%} of labels differ)" if has_share else text


def cell(row: Row) -> str:
    """Return a mean with its interval, and the difference from what it is compared with."""
    text = f"{row.mean:.4f}"
    if not np.isnan(row.low):
        text += f" [{row.low:.4f}, {row.high:.4f}]"
    if row.against:
        text += f" ({row.difference:+.4f}{MARKS[row.verdict]})"
    return text


def findings(section: Section, noise: str | None = None) -> list[str]:
    """Say in words what is significant and what is not, level by level."""
    said = []
    nothing: dict[tuple[str, str], list[str]] = {}
    metric = section.preset.metrics[0]
    rows = [
        r for r in section.rows if r.metric == metric and r.against and noise in (None, r.noise)
    ]
    for (kind, setting, level), group in groupby(rows, attrgetter("noise", "setting", "level")):
        compared = list(group)
        against = sorted({row.against for row in compared})
        than = f" than {against[0]}" if len(against) == 1 else ""
        parts = []
        for verdict in ("better", "worse"):
            names = [_compared(row, section) for row in compared if row.verdict == verdict]
            if names:
                parts.append(f"significantly {verdict}{than}: {', '.join(names)}")
        same = [_name(row, section) for row in compared if row.verdict == "same"]
        if len(same) == len(compared):
            nothing.setdefault((kind, setting), []).append(level_text(kind, level))
            continue
        if same:
            parts.append(f"not told apart: {', '.join(same)}")
        where = f"{level_text(kind, level)}, settings {setting}"
        said.append(f"{where} ({metric}): {'; '.join(parts)}")
    for (_, setting), levels in nothing.items():
        where = f"{', '.join(levels)}, settings {setting}"
        said.append(f"{where} ({metric}): no difference is significant")
    return said


def _name(row: Row, section: Section) -> str:
    return row.objective + (f" against {row.against}" if section.preset.pairs else "")


def _compared(row: Row, section: Section) -> str:
    return f"{_name(row, section)} ({row.difference:+.4f}, p {row.p_queries_holm:.2g})"


def paper_table(section: Section) -> tuple[str, Table] | None:
    """Return the comparisons by the test that the paper used, and how many come out how."""
    preset = section.preset
    over = preset.test_of_paper
    rows = [row for row in section.rows if row.against]
    if not over or not rows:
        return None
    counts = {"better": 0, "same": 0, "worse": 0}
    place = attrgetter("metric", "noise", "level", "setting")
    columns = list(dict.fromkeys(map(place, rows)))
    several = len({column[1:] for column in columns}) > 1
    heads = [f"{m}, {level_text(n, x)}, {s}" if several else m for m, n, x, s in columns]
    cells: dict[str, dict[tuple[str, str, float, str], str]] = {}
    for row in rows:
        p = row.p_queries if over == "queries" else row.p_trials
        verdict = verdict_of(row.difference, p, preset.alpha)
        counts[verdict] += 1
        text = f"{row.difference:+.4f}{MARKS[verdict]}"
        text += "" if np.isnan(p) else f" (p {p:.2g})"  # of a single trial there is none
        name = f"{row.objective} against {row.against}"
        cells.setdefault(name, {})[place(row)] = text
    body = [[name, *(mine.get(column, "") for column in columns)] for name, mine in cells.items()]
    caption = f"Differences, {TESTS[over]}"
    said = (
        f"By the paper's own test ({TESTS[over]} at {preset.alpha:.0%}, each comparison by "
        f"itself), of {sum(counts.values())} comparisons {counts['better']} are better, "
        f"{counts['same']} the same and {counts['worse']} worse."
    )
    return said, (caption, ["comparison", *heads], body)


def settings_table(section: Section, noise: str) -> tuple[str, Table] | None:
    """Return what the trees alone change: each objective under two settings."""
    rows = [row for row in section.setting_rows if row.noise == noise]
    if not rows:
        return None
    levels = sorted({row.level for row in rows})
    found: dict[str, dict[float, SettingRow]] = {}
    for row in rows:
        found.setdefault(row.objective, {})[row.level] = row
    body = [
        [name, *(setting_cell(mine[x]) if x in mine else "" for x in levels)]
        for name, mine in found.items()
    ]
    first, other, metric = rows[0].setting, rows[0].against, rows[0].metric
    top = [row for row in rows if row.level == levels[-1]]
    middle = float(np.median([row.difference for row in top]))
    said = (
        f"The trees alone, each objective with the {first} ones against itself with the {other} "
        f"ones: at {level_text(noise, levels[-1])} the {first} trees change {metric} by "
        f"{middle:+.3f} in the median, and significantly for "
        f"{sum(row.verdict != 'same' for row in top)} of {len(top)} objectives"
    )
    learners = [
        row.mean
        for row in section.rows
        if (row.noise, row.setting, row.level, row.metric) == (noise, first, levels[-1], metric)
        and is_learner(row.objective)
    ]
    if len(learners) > 1:
        low, high = np.quantile(learners, [0.25, 0.75])
        said += (
            f"; the middle half of the losses with {first} trees lies within {high - low:.3f} "
            "of each other"
        )
    caption = f"{metric} with settings {first} minus {metric} with settings {other}"
    heads = ["objective", *(level_text(noise, level) for level in levels)]
    return said + ".", (caption, heads, body)


def change_tables(section: Section, noise: str) -> list[Table]:
    """Return how gaps change from the lowest level to the highest: a table for each setting."""
    made = []
    rows = [row for row in section.change_rows if row.noise == noise]
    for setting in dict.fromkeys(row.setting for row in rows):
        of_setting = [row for row in rows if row.setting == setting]
        first = of_setting[0]
        body = [
            [
                f"{row.objective} against {row.against}",
                f"{row.change:+.4f}"
                + ("" if np.isnan(row.low) else f" [{row.low:+.4f}, {row.high:+.4f}]")
                + MARKS[row.verdict],
                f"{row.trials}",
                f"{row.test_sets}",
                "" if np.isnan(row.p_trials) else f"{row.p_trials:.2g}",
                "" if np.isnan(row.p_trials_holm) else f"{row.p_trials_holm:.2g}",
            ]
            for row in of_setting
        ]
        caption = (
            f"Which degrades faster? Change of the gap in {first.metric} from "
            f"{level_text(noise, first.lowest)} to {level_text(noise, first.highest)}, settings "
            f"{setting}: above 0, the first of the two degrades more slowly; 95% interval and "
            "paired t-test over trials, those of the same test queries averaged first"
        )
        heads = ["comparison", "change of the gap", "trials", "test sets", "p", "p, Holm"]
        made.append((caption, heads, body))
    return made


def setting_cell(row: SettingRow) -> str:
    """Return a difference between settings with its interval."""
    interval = ""
    if not np.isnan(row.difference_low):
        interval = f" [{row.difference_low:+.4f}, {row.difference_high:+.4f}]"
    return f"{row.difference:+.4f}{interval}{MARKS[row.verdict]}"


def curve_tables(section: Section) -> list[Table]:
    """Return validation NDCG@5 after some numbers of trees, where curves were kept."""
    made = []
    for noise, setting, level in dict.fromkeys(
        (t.noise, t.setting, t.level) for t in section.results
    ):
        curves = curves_of(section.results, noise, setting, level)
        if not curves:
            continue
        length = next(iter(curves.values())).shape[1]
        after = [trees for trees in AFTER if trees <= length]
        base = curves.get(section.preset.baseline)
        body = []
        for name, lines in curves.items():
            cells = [f"{lines[:, trees - 1].mean():.4f}" for trees in after]
            if base is not None and name != section.preset.baseline:
                for i, trees in enumerate(after):
                    cells[i] += f" ({(lines - base)[:, trees - 1].mean():+.4f})"
            body.append([name, *cells])
        caption = (
            f"Validation NDCG@5 after some numbers of trees, {level_text(noise, level)}, "
            f"settings {setting}, in brackets minus that of {section.preset.baseline}"
        )
        made.append((caption, ["objective", *(f"{trees} trees" for trees in after)], body))
    return made


def noise_table(section: Section) -> Table | None:
    """Return how wrong the training labels were at each level."""
    seen: dict[tuple[str, float], Row] = {}
    for row in section.rows:
        seen.setdefault((row.noise, row.level), row)
    cells = [
        [level_text(noise, level), f"{row.document_noise:.1%}", f"{row.pair_noise:.1%}"]
        for (noise, level), row in seen.items()
        if kind_of(noise) not in ("none", "negatives")
    ]
    if not cells:
        return None
    caption = (
        "How noisy the training labels were. Pair noise is 0 for the right order, 50% for none"
    )
    return caption, ["noise", "labels that differ", "pair noise"], cells


def rerun(section: Section) -> str:
    """Return the command that makes this section again."""
    preset = section.preset
    quoted = " ".join(f'"{n}"' if "(" in n else n for n in preset.objectives)
    return (
        f"gbrank noise run {preset.name} --data {section.data} "
        f"--objectives {quoted} --trials {preset.trials} --out DIR"
    )


def status(section: Section) -> str:
    """Say how much is done of what was asked for."""
    finished, wanted = section.finished_and_wanted
    trials = spread(row.trials for row in section.rows)
    return (
        f"{finished} of {wanted} trials are finished: {trials} of {section.preset.trials} for each "
        f"objective, setting and level. {section.test_queries} test queries count."
    )


def overview_tables(sections: list[Section]) -> list[Table]:
    """Return, for a preset that several data sets ran, its results at the highest noise."""
    made = []
    preset = sections[0].preset
    metric = preset.metrics[0]
    for noise, setting in dict.fromkeys((r.noise, r.setting) for s in sections for r in s.rows):
        rows = [
            row
            for section in sections
            for row in section.rows
            if (row.noise, row.setting, row.metric) == (noise, setting, metric)
        ]
        levels = sorted({row.level for row in rows})
        shown = [
            s.data
            for s in sections
            if any((row.data, row.level) == (s.data, levels[-1]) for row in rows)
        ]
        by = {(row.data, row.objective, row.level): row for row in rows}
        names = list(dict.fromkeys(row.objective for row in rows))
        body = []
        for name in names:
            top = [by.get((data, name, levels[-1])) for data in shown]
            low = [by.get((data, name, levels[0])) for data in shown]
            cells = ["" if r is None else f"{r.mean:.3f}{MARKS.get(r.verdict, '')}" for r in top]
            means = [r.mean for r in top if r is not None]
            cells.append(f"{np.mean(means):.3f}" if len(means) == len(top) else "")
            if len(levels) > 1:
                lost = [a.mean - b.mean for a, b in zip(low, top, strict=True) if a and b]
                cells.append(f"{np.mean(lost):.3f}" if len(lost) == len(shown) else "")
            body.append([name, *cells])
        heads = ["objective", *shown, "mean"]
        caption = f"{metric} at {level_text(noise, levels[-1])}, settings {setting}"
        if len(levels) > 1:
            heads.append("lost")
            caption += f"; lost: mean fall since {level_text(noise, levels[0])}"
        made.append((caption, heads, body))
    return made
