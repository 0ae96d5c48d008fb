"""The report of a results folder: CSV, Markdown, figures and an HTML page without outside links."""

import base64
import html
import os
import tempfile
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from noise_robustness.figures import draw_all, level_text
from noise_robustness.page import PAGE
from noise_robustness.presets import NOISES, Preset, restore_preset
from noise_robustness.store import Store, StoreError
from noise_robustness.tables import Row, make_rows, write_csv, write_trials
from noise_robustness.trial import Result, Trial


@dataclass
class Section:
    """One preset on one data set: what is said about it."""

    preset: Preset
    data: str
    rows: list[Row]
    figures: list[tuple[str, str]]
    provenance: dict[str, str]
    trials: int


def write_report(folder: Path) -> list[Section]:
    """Write ``results.csv``, ``trials.csv``, ``report.md``, ``report.html`` and ``figures/``."""
    store = Store(folder, create=False)
    sections, all_rows = [], []
    trials_file = folder / "trials.csv"
    try:
        trials_file.unlink(missing_ok=True)
        for name, data, kept, facts in store.runs():
            results = store.results(name, data)
            if not results:
                continue
            preset = _with_found(restore_preset(kept), results)
            rows = make_rows(preset, data, results)
            figures = draw_all(preset, data, rows, results, folder / "figures")
            write_trials(name, data, results, trials_file)
            sections.append(Section(preset, data, rows, figures, facts, len(results)))
            all_rows += rows
        if not sections:
            raise StoreError(f"{folder} holds no finished trials")
        write_csv(all_rows, folder / "results.csv")
        _replace(folder / "report.md", markdown(sections))
        _replace(folder / "report.html", page(sections, folder / "figures"))
    except OSError as error:
        raise StoreError(f"the report cannot be written to {folder}: {error}") from error
    finally:
        store.close()
    return sections


def _with_found(preset: Preset, results: dict[Trial, Result]) -> Preset:
    """Return the preset with all objectives that have trials, those of its own first."""
    found = dict.fromkeys(trial.objective for trial in results)
    mine = [name for name in preset.objectives if name in found]
    return replace(preset, objectives=tuple(dict.fromkeys([*mine, *found])))


def _replace(path: Path, text: str) -> None:
    """Write a file in one step: a reader never sees half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def tables(section: Section) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return caption, heads and cells of the tables of a section, one per noise and setting."""
    made = []
    key = lambda row: (row.noise, row.setting, row.metric)  # noqa: E731
    for (noise, setting, metric), group in groupby(section.rows, key):
        rows = list(group)
        levels = sorted({row.level for row in rows})
        by_name: dict[str, dict[float, Row]] = {}
        for row in rows:
            by_name.setdefault(row.objective, {})[row.level] = row
        heads = ["objective", *(level_text(noise, level) for level in levels)]
        body = [
            [name, *(cell(found[level]) if level in found else "" for level in levels)]
            for name, found in by_name.items()
        ]
        trials = sorted({row.trials for row in rows})
        count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
        caption = (
            f"{metric}, {NOISES[noise]}, settings {setting}: mean, 95% interval over {count} trials"
        )
        made.append((caption, heads, body))
    return made


def cell(row: Row) -> str:
    """Return a mean with its interval, and the difference from what it is compared with."""
    text = f"{row.mean:.4f}"
    if not np.isnan(row.low):
        text += f" [{row.low:.4f}, {row.high:.4f}]"
    if row.against:
        mark = {"better": " ▲", "worse": " ▼", "same": ""}[row.verdict]
        text += f" ({row.difference:+.4f}{mark})"
    return text


def findings(section: Section) -> list[str]:
    """Say in words what is significant and what is not, level by level."""
    said = []
    metric = section.preset.metrics[0]
    rows = [row for row in section.rows if row.metric == metric and row.against]
    key = lambda row: (row.noise, row.setting, row.level)  # noqa: E731
    for (noise, setting, level), group in groupby(rows, key):
        compared = list(group)
        parts = []
        for verdict in ("better", "worse", "same"):
            names = [_compared(row, section) for row in compared if row.verdict == verdict]
            if names:
                word = "not told apart" if verdict == "same" else f"significantly {verdict}"
                parts.append(f"{word}: {', '.join(names)}")
        against = sorted({row.against for row in compared})
        than = f" than {against[0]}" if len(against) == 1 else ""
        where = f"{level_text(noise, level)}, settings {setting}"
        said.append(
            f"{where}; {metric}{than and ' (better or worse' + than + ')'} - " + "; ".join(parts)
        )
    return said


def _compared(row: Row, section: Section) -> str:
    pair = f" against {row.against}" if section.preset.pairs else ""
    return f"{row.objective}{pair} ({row.difference:+.4f}, p {row.p_queries_holm:.3g})"


def noise_table(section: Section) -> tuple[list[str], list[list[str]]] | None:
    """Return how wrong the training labels were at each level."""
    seen: dict[tuple[str, float], Row] = {}
    for row in section.rows:
        seen.setdefault((row.noise, row.level), row)
    if all(noise == "none" for noise, _ in seen):
        return None
    heads = ["noise", "labels that differ", "pair noise"]
    cells = [
        [level_text(noise, level), f"{row.document_noise:.1%}", f"{row.pair_noise:.1%}"]
        for (noise, level), row in seen.items()
        if noise in ("labels", "clicks")
    ]
    return (heads, cells) if cells else None


def rerun(section: Section) -> str:
    """Return the command that makes this section again."""
    preset = section.preset
    quoted = " ".join(f'"{n}"' if "(" in n else n for n in preset.objectives)
    return (
        f"python benchmarks/noise.py run {preset.name} --data {section.data} "
        f"--objectives {quoted} --trials {max(row.trials for row in section.rows)} --out DIR"
    )


METHOD = (
    "Every objective gets the same trees, the same noisy training data and the same clean test "
    "queries in a trial; nothing is tuned on test queries. Queries without a relevant document are "
    "left out, ties averaged. Intervals of means are Student's over trials. ▲ and ▼ mark "
    "differences that are significant by the random permutation test over queries (each query's "
    "difference averaged over the trials that tested it), corrected by Holm's method for all "
    "comparisons of a table. results.csv also has the paired t-test over trials; trials share "
    "queries, so it says only whether more trials on these queries would agree."
)


def markdown(sections: list[Section]) -> str:
    """Return the report as Markdown."""
    lines = ["# Losses under noise", "", METHOD, ""]
    for section in sections:
        lines += [f"## {section.preset.title}: {section.data}", "", section.preset.about, ""]
        lines += [f"{section.trials} trials are finished. Rerun: `{rerun(section)}`", ""]
        for name, caption in section.figures:
            lines += [f"![{caption}](figures/{name}.png)", ""]
        lines += [f"- {said}" for said in findings(section)] + [""]
        for caption, heads, body in tables(section):
            lines += [f"**{caption}**", ""]
            rows = [heads, ["---"] * len(heads), *body]
            lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
        noise = noise_table(section)
        if noise:
            rows = [noise[0], ["---"] * len(noise[0]), *noise[1]]
            lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
        lines += [", ".join(f"{key} {value}" for key, value in section.provenance.items()), ""]
    return "\n".join(lines)


def page(sections: list[Section], figures: Path) -> str:
    """Return the report as one HTML page with everything in it."""
    body, contents = [], []
    for number, section in enumerate(sections):
        title = html.escape(f"{section.preset.title}: {section.data}")
        contents.append(f'<li><a href="#s{number}">{title}</a></li>')
        body.append(f'<section id="s{number}"><h2>{title}</h2>')
        body.append(f"<p>{html.escape(section.preset.about)}</p>")
        body.append(f"<p>{section.trials} trials are finished.</p>")
        for name, caption in section.figures:
            body.append(_figure(figures / f"{name}.svg", caption))
        said = findings(section)
        if said:
            items = "".join(f"<li>{html.escape(text)}</li>" for text in said)
            body.append(f"<h3>What is significant, and what is not</h3><ul>{items}</ul>")
        body.append("<h3>Numbers</h3>")
        body += [_table(*table) for table in tables(section)]
        noise = noise_table(section)
        if noise:
            body.append("<h3>How noisy the training labels were</h3>")
            body.append(_table("Pair noise is 0 for the right order and 50% for none", *noise))
        settings = "; ".join(
            f"{name}: " + ", ".join(f"{key} {value}" for key, value in values.items())
            for name, values in section.preset.settings.items()
        )
        facts = "; ".join(f"{key} {value}" for key, value in section.provenance.items())
        body.append(
            f"<h3>How to rerun it</h3><pre>{html.escape(rerun(section))}</pre>"
            f"<p class=small>Settings. {html.escape(settings)}</p>"
            f"<p class=small>Run with. {html.escape(facts)}</p></section>"
        )
    return PAGE.format(method=html.escape(METHOD), contents="".join(contents), body="".join(body))


def _figure(path: Path, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    said = html.escape(caption)
    return (
        f'<figure><img alt="{said}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{said}</figcaption></figure>"
    )


def _table(caption: str, heads: list[str], body: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in body
    )
    return (
        f"<div class=wide><table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
