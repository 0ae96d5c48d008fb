"""The report of a results folder: CSV, Markdown, figures and an HTML page without outside links."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from gbrank.core import atomic_file
from gbrank.noise.changes import make_change_rows
from gbrank.noise.checks import check_no_link, check_preset
from gbrank.noise.content import (
    METHOD,
    Section,
    change_tables,
    curve_tables,
    findings,
    noise_table,
    overview_tables,
    paper_table,
    rerun,
    settings_table,
    spread,
    status,
    tables,
)
from gbrank.noise.figures import draw_all
from gbrank.noise.kinds import title_of, what_is_corrupted
from gbrank.noise.presets import Preset, restore_preset
from gbrank.noise.render import Block, to_markdown, whole_page
from gbrank.noise.store import Store, StoreError
from gbrank.noise.tables import (
    SettingRow,
    make_rows,
    make_setting_rows,
    write_csv,
)
from gbrank.noise.trial import Result, Trial


def write_report(folder: Path) -> list[Section]:
    """Write ``results.csv``, ``report.md``, ``report.html``, ``figures/`` and the trials.

    ``settings.csv`` is written too where objectives ran under several settings of the trees. The
    trials go into one compressed file a preset (:mod:`gbrank.noise.archive`).
    """
    store = Store(folder, create=False)
    sections: list[Section] = []
    try:
        for name, data, kept, facts in store.runs():
            results = store.results(name, data)
            if not results:
                continue
            preset = _with_found(restore_preset(kept), results)
            _check_trials(preset, data, results)
            rows = make_rows(preset, data, results)
            others = make_setting_rows(preset, data, results)
            figures = {}
            if _can_draw():
                figures = draw_all(preset, data, rows, results, check_no_link(folder / "figures"))
            changes = make_change_rows(preset, results)
            section = Section(preset, data, rows, others, figures, facts, results, changes)
            sections.append(section)
        if not sections:
            raise StoreError(f"{folder} holds no finished trials")
        write_csv([row for section in sections for row in section.rows], folder / "results.csv")
        compared = [row for section in sections for row in section.setting_rows]
        if compared:
            write_csv(compared, folder / "settings.csv", SettingRow)
        _replace(folder / "report.md", markdown(sections))
        _replace(folder / "report.html", page(sections, folder / "figures"))
        store.export()
    except OSError as error:
        raise StoreError(f"the report cannot be written to {folder}: {error}") from error
    finally:
        store.close()
    return sections


def _can_draw() -> bool:
    """Return whether there is matplotlib, without which a report has tables only."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def _with_found(preset: Preset, results: dict[Trial, Result]) -> Preset:
    """Return the preset with all objectives and trials that there are, those of its own first."""
    found = dict.fromkeys(trial.objective for trial in results)
    return replace(
        preset,
        objectives=tuple(dict.fromkeys([*preset.objectives, *found])),
        trials=max(preset.trials, *(trial.trial + 1 for trial in results)),
    )


def _check_trials(preset: Preset, data: str, results: dict[Trial, Result]) -> None:
    """Refuse trials of other metrics, or of noise and settings that the preset has not."""
    check_preset(preset)
    tables = {(noise.name, setting) for noise in preset.noises for setting in noise.settings}
    for trial, result in results.items():
        if tuple(result.means) != preset.metrics or (trial.noise, trial.setting) not in tables:
            raise StoreError(f"{trial} on {data} is no trial of preset {preset.name}: delete it")


def _replace(path: Path, text: str) -> None:
    """Write a file in one step: a reader never sees half of it."""
    with atomic_file(path, follow_links=False) as file:
        file.write(text.encode())


def overview(sections: list[Section]) -> Iterator[Block]:
    """Yield what was run, and for each preset on several data sets what came out on all."""
    body = []
    for section in sections:
        finished, wanted = section.finished_and_wanted
        body.append(
            [
                section.preset.title, section.data, f"{finished} of {wanted}",
                f"{spread(row.trials for row in section.rows)} of {section.preset.trials}",
                f"{len({row.objective for row in section.rows})}", f"{section.test_queries}",
            ]
        )  # fmt: skip
    yield "section", "run", "What was run"
    heads = ["experiment", "data", "trials finished", "per point", "objectives", "test queries"]
    yield "table", "", heads, body
    for _, group in groupby(sections, lambda section: section.preset.name):
        same = list(group)
        if len(same) > 1:
            preset = same[0].preset
            yield "section", f"all-{preset.name}", f"{preset.title}: all data sets"
            if preset.baseline and not preset.pairs:
                yield "text", f"▲ and ▼: significantly better and worse than {preset.baseline}."
            for table in overview_tables(same):
                yield "table", *table


def how_to_read() -> Iterator[Block]:
    """Yield what was done with every loss alike, and what intervals and marks mean."""
    yield "section", "method", "How to read this"
    for said in METHOD:
        yield "text", said


def blocks_of(section: Section, number: int) -> Iterator[Block]:
    """Yield what is said about one preset on one data set."""
    preset = section.preset
    yield "section", f"s{number}", section.title
    yield "text", preset.about
    yield "text", status(section)
    by_paper = paper_table(section)
    for noise in section.noises:
        yield "heading", f"{section.data}: {title_of(noise).lower()}"
        yield "text", what_is_corrupted(noise)
        figures = section.figures.get(noise, [])
        for figure in figures[:1]:
            yield "figure", *figure
        said = findings(section, noise)
        if said:
            yield "text", "What is significant, and what is not:"
            yield "list", said
        for figure in figures[1:]:
            yield "figure", *figure
        trees = settings_table(section, noise)
        if trees:
            yield "text", trees[0]
            yield "table", *trees[1]
        settings = len({row.setting for row in section.rows if row.noise == noise})
        for place, table in enumerate(tables(section, noise)):
            yield "table" if place < settings else "folded", *table
        for table in change_tables(section, noise):
            yield "folded", *table
    if by_paper:
        yield "heading", "By the paper's own test"
        yield "text", by_paper[0]
        yield "folded", *by_paper[1]
    for table in curve_tables(section):
        yield "table", *table
    noisy = noise_table(section)
    if noisy:
        yield "folded", *noisy
    settings_said = "; ".join(
        f"{name}: " + ", ".join(f"{key} {value}" for key, value in values.items())
        for name, values in preset.settings.items()
    )
    yield "heading", "How to rerun it"
    yield "code", rerun(section)
    yield "small", f"Settings. {settings_said}"
    facts = "; ".join(f"{key} {value}" for key, value in section.provenance.items())
    yield "small", f"Run with. {facts}"


def markdown(sections: list[Section]) -> str:
    """Return the report as Markdown."""
    blocks = [*overview(sections)]
    for number, section in enumerate(sections):
        blocks += blocks_of(section, number)
    blocks += how_to_read()
    return "# Losses under noise\n\n" + to_markdown(blocks)


def page(sections: list[Section], figures: Path) -> str:
    """Return the report as one HTML page with everything in it."""
    blocks = [*overview(sections)]
    for number, section in enumerate(sections):
        blocks += blocks_of(section, number)
    blocks += how_to_read()
    lead = (
        "Which loss should one use when labels are noisy, lists are padded, or labels are clicks?"
    )
    return whole_page("Losses under noise", lead, blocks, figures)
