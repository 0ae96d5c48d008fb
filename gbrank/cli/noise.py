"""``gbrank noise``: which loss survives which noise, and how noisy labels are."""

import argparse
from pathlib import Path
from typing import Any

import gbrank
from gbrank.cli.files import read_data
from gbrank.cli.options import (
    UsageError,
    add_data_options,
    add_import,
    natural,
    new_command,
    positive,
)
from gbrank.cli.output import note, show

_ACTIONS = ("run", "report", "list", "diagnose")
_EXAMPLES = """\
  gbrank noise list
  gbrank noise run demo --out demo
  gbrank noise run demo --data train.csv --objectives xendcg "Ranker()" --out mine
  gbrank noise run my.toml --data train.txt vali.txt test.txt --out mine
  gbrank noise run results --data MQ2008 --trials 5 --jobs 2 --out noise_results
  gbrank noise report noise_results
  gbrank noise diagnose train.txt --out diagnosis.html
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "noise",
        "which loss for noisy labels, and how noisy are they?",
        "run: corrupt labels in a known way, train losses, judge them by clean test queries; a "
        "preset says what is run, finished trials are kept at once, and the same command goes on "
        "where it stopped. report: write tables, plots and a page of HTML again from kept trials. "
        "list: the presets. diagnose: estimate the noise in the labels of a file, which of them "
        "deserve a second look, and which loss suits them.",
        _EXAMPLES,
    )
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument(
        "target",
        nargs="?",
        help="run: a preset by name or a .toml file; report: a folder; diagnose: a data file",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        metavar="DATA",
        help='of run: a data file, or three (training, validation, test); a LETOR folder; "synthet'
        'ic"; a set of the folder GBRANK_DATA (default: those of the preset)',
    )
    parser.add_argument("--objectives", nargs="+", help="losses, instead of those of the preset")
    parser.add_argument("--metrics", nargs="+", help="metrics, instead of those of the preset")
    parser.add_argument("--levels", nargs="+", type=float, help="levels of noise, likewise")
    parser.add_argument("--trials", type=int, help="trials for each point, likewise")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--seed", type=natural, default=0, help="of diagnose (default 0)")
    parser.add_argument(
        "--top", type=positive, default=100, help="labels to look at again (default 100)"
    )
    parser.add_argument("--out", type=Path, help="folder of a run, or HTML page of a diagnosis")
    parser.add_argument("--no-report", action="store_true", help="run the trials only")
    add_import(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Do one of the four."""
    if arguments.action != "list" and arguments.target is None:
        what = {"run": "a preset", "report": "a folder", "diagnose": "a data file"}
        raise UsageError(f"{what[arguments.action]} is needed: gbrank noise {arguments.action} ...")
    {"run": _run, "report": _report, "list": _list, "diagnose": _diagnose}[arguments.action](
        arguments
    )


def _list(arguments: argparse.Namespace) -> None:
    presets = gbrank.noise.describe_presets()
    text = "\n".join(
        f"{each['name']}\n    {each['title']}: {each['trials']} trials a point, "
        f"{len(each['objectives'])} objectives"
        for each in presets
    )
    show(arguments, presets, text)


def _run(arguments: argparse.Namespace) -> None:
    if arguments.out is None:
        raise UsageError("--out is needed: the folder that keeps the trials")
    data, name = _data(arguments)
    found = gbrank.noise.run(
        arguments.target,
        data,
        out=arguments.out,
        objectives=arguments.objectives,
        levels=arguments.levels,
        metrics=arguments.metrics,
        trials=arguments.trials,
        name=name,
        n_jobs=arguments.jobs,
        report=not arguments.no_report,
    )
    if found.is_interrupted:
        raise KeyboardInterrupt
    if not arguments.no_report:
        _show(arguments, found)
    if found.failed:
        raise RuntimeError(f"{found.failed} trials failed")


def _data(arguments: argparse.Namespace) -> tuple[Any, str | None]:
    """Return what ``--data`` names: the name itself where it is none of a file."""
    given = arguments.data
    if given is None:
        return None, None
    if len(given) not in (1, 3):
        raise UsageError(f"--data takes one file, or three, got {len(given)}")
    path = Path(given[0])
    is_set = path.suffix == ".npz" and _has_parts(path)
    if len(given) == 1 and (not path.is_file() or is_set):
        return given[0], None
    parts = tuple(read_data(each, arguments, signed=False, plain=True) for each in given)
    name = path.name.split(".")[0] or "data"
    return (parts[0] if len(parts) == 1 else parts), name


def _has_parts(path: Path) -> bool:
    """Return whether an npz file says itself which rows are training, validation and test."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as arrays:
            return "part" in arrays
    except (OSError, ValueError):
        return False


def _report(arguments: argparse.Namespace) -> None:
    _show(arguments, gbrank.noise.report(arguments.target))


def _show(arguments: argparse.Namespace, found: Any) -> None:
    text = [str(found), ""]
    text += [f"Plot: {path.resolve()}" for path in found.plots]
    if not found.plots:
        note('no plots: they need matplotlib, pip install "gbrank[plot]"')
    text.append(f"Report: {(found.folder / 'report.html').resolve()}")
    show(arguments, found.rows, "\n".join(text))


def _diagnose(arguments: argparse.Namespace) -> None:
    data = read_data(arguments.target, arguments, signed=False, plain=True)
    found = gbrank.noise.diagnose(
        data.X,
        data.y,
        data.qid,
        objectives=arguments.objectives,
        metric=(arguments.metrics or ["ndcg@10"])[0],
        n_labels=arguments.top,
        random_state=arguments.seed,
    )
    if arguments.out is not None:
        found.write_html(arguments.out, title=Path(arguments.target).name)
        note(f"wrote {arguments.out}")
    show(arguments, found.as_dict(), str(found))
