"""Which loss survives noise? Simulate it, train, compare, see.

    python benchmarks/noise.py list
    python benchmarks/noise.py run demo --out demo
    python benchmarks/noise.py run results --data MQ2008 --jobs 2 --out noise_results
    python benchmarks/noise.py run bruch2021-table1 --data /data/MSLR-WEB30K --trials 20 --out DIR
    python benchmarks/noise.py report noise_results

Finished trials are kept in DIR/work at once: the same command goes on where it stopped, and several
data sets, or processes, may share one DIR. The report also writes them to one compressed file a
preset, from which another clone goes on. --data is the name of a set in the folder GBRANK_DATA,
a folder in LETOR's structure, or "synthetic".
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from gbrank.noise.presets import list_presets, load_preset
from gbrank.noise.sources import SYNTHETIC, open_source
from gbrank.noise.store import StoreError


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the trials of a preset, then write the report")
    run.add_argument("preset", help="a name that list shows, or a .toml file")
    run.add_argument("--data", help='data set, LETOR folder or "synthetic"')
    run.add_argument("--objectives", nargs="+", help="instead of those of the preset")
    run.add_argument("--levels", nargs="+", type=float, help="noise levels instead of the preset's")
    run.add_argument("--trials", type=int, help="trials per point instead of the preset's")
    run.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    run.add_argument("--out", type=Path, required=True, help="folder that keeps the trials")
    run.add_argument("--no-report", action="store_true", help="run the trials only")
    report = commands.add_parser("report", help="write the report of a results folder")
    report.add_argument("folder", type=Path)
    commands.add_parser("list", help="list the presets")
    return parser.parse_args(arguments)


def show_presets() -> None:
    for name in list_presets():
        preset = load_preset(name)
        print(f"{name}\n    {preset.title}: {preset.trials} trials a point, "
              f"{len(preset.objectives)} objectives")  # fmt: skip


def run_preset(options: argparse.Namespace) -> int:
    from gbrank.noise.runner import run

    if not options.no_report and find_spec("matplotlib") is None:
        raise ImportError(
            'the report needs matplotlib: pip install "gbrank[plot]", or run with --no-report'
        )
    preset = load_preset(options.preset)
    data = options.data or preset.data
    if not data:
        raise ValueError(f"name the data for preset {preset.name} with --data")
    if options.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {options.jobs}")
    objectives = options.objectives
    if objectives is None and data != SYNTHETIC:
        objectives = [name for name in preset.objectives if not name.startswith("ceiling:")]
    if data != SYNTHETIC and any(name.startswith("ceiling:") for name in objectives or ()):
        raise ValueError("ceiling:bayes, the best possible order, is known for synthetic data only")
    preset = preset.with_choices(objectives, options.levels, options.trials)
    source = open_source(data, preset.synthetic, preset.split)
    outcome = run(preset, data, source, options.out, options.jobs)
    for trial, problem in outcome.failed[:3]:
        print(f"{trial} failed:\n{problem}", file=sys.stderr)
    if outcome.interrupted:
        print(
            f"stopped; {outcome.finished} of {outcome.wanted} trials are kept in {options.out}, "
            "the same command goes on",
            file=sys.stderr,
        )
        return 130
    if not options.no_report and outcome.finished:
        show_report(options.out, data=source.name, preset=preset.name)
    if outcome.failed:
        print(f"{len(outcome.failed)} trials failed", file=sys.stderr)
    return 1 if outcome.failed else 0


def show_report(folder: Path, data: str | None = None, preset: str | None = None) -> None:
    from gbrank.noise.content import tables
    from gbrank.noise.report import write_report

    for section in write_report(folder):
        if (data or section.data, preset or section.preset.name) == (
            section.data,
            section.preset.name,
        ):
            for caption, heads, body in tables(section):
                print(f"\n{section.preset.title}: {section.data}. {caption}\n")
                print(aligned([heads, *body]))
            for drawn in section.figures.values():
                for name, _ in drawn:
                    print(f"\nPlot: {(folder / 'figures' / name).resolve()}.png", end="")
            print()
    print(f"Report: {(folder / 'report.html').resolve()}")


def aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "\n".join("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        if options.command == "list":
            show_presets()
            return 0
        if options.command == "report":
            show_report(options.folder)
            return 0
        return run_preset(options)
    except (ValueError, ImportError, FileNotFoundError, StoreError, RuntimeError) as error:
        print(f"noise.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
