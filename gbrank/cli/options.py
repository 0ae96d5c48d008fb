"""Options that several commands share, and what their texts mean."""

import argparse
import ast
import textwrap
from pathlib import Path
from typing import Any

#: Formats of data files.
FORMATS = ("letor", "csv", "parquet", "npz")

_WIDTH = 92


class UsageError(Exception):
    """The command makes no sense: exit code 2."""


def new_command(
    commands: Any, name: str, summary: str, description: str, examples: str
) -> argparse.ArgumentParser:
    """Return the parser of a command, with a help page that ends in examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description, _WIDTH),
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command takes."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print JSON, for scripts")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add how data files are read."""
    group = parser.add_argument_group(
        "data",
        "Files are LETOR text (.txt and others; .gz, .bz2, .xz, .zst too), CSV (.csv, .tsv,\n"
        "compressed too), parquet (.parquet) or npz: arrays X (rows, features), y and qid (rows)\n"
        "and, if rows have weights, weight (rows).",
    )
    group.add_argument("--format", choices=FORMATS, help="what files are, whatever their names")
    group.add_argument("--label", metavar="COLUMN", help='column of the labels (default "label")')
    group.add_argument("--qid", metavar="COLUMN", help='column of the query ids (default "qid")')
    group.add_argument("--weight", metavar="COLUMN", help="column of weights (default: none)")
    group.add_argument(
        "--drop", metavar="COLUMN", nargs="+", default=[], help="columns that are no features"
    )
    group.add_argument(
        "--categorical",
        metavar="COLUMN",
        nargs="+",
        default=[],
        help="columns whose values are names, not amounts",
    )
    group.add_argument(
        "--sparse",
        action="store_true",
        help="keep features of LETOR text sparse (default: only "
        "where dense ones would be absurdly large)",
    )
    group.add_argument(
        "--zero-based", action="store_true", help="features of LETOR text count from 0, not 1"
    )
    group.add_argument(
        "--cache",
        metavar="FOLDER",
        nargs="?",
        const=True,
        help="keep parsed LETOR text here (default .gbrank_cache next to it) for next time",
    )


def add_import(parser: argparse.ArgumentParser) -> None:
    """Add code of one's own."""
    parser.add_argument(
        "--import",
        dest="imports",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="Python files or modules to run first, for what they register",
    )


def check_target(name: str, target: str | None, *inputs: str | None) -> None:
    """Raise an error if a file that is read would be written over, by whatever name it goes."""
    if target is None or not Path(target).exists():
        return
    for path in inputs:
        if path is not None and Path(path).exists() and Path(target).samefile(path):
            raise UsageError(f"{name} would overwrite {path}, which is read: give another name")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the number of threads."""
    parser.add_argument(
        "--threads", type=positive, metavar="N", help="threads (default: one per CPU)"
    )


def positive(text: str) -> int:
    """Read an integer >= 1."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """Read an integer >= 0."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"must be an integer >= {least}, got {text!r}")
    return number


def assignment(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is a number, true, false, none, a list or else a text.

    >>> from gbrank.cli.options import assignment
    >>> assignment("k=10"), assignment("norm=none"), assignment("gain=linear")
    (('k', 10), ('norm', None), ('gain', 'linear'))
    """
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name, _read_value(value.strip())


def _read_value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def as_parameters(option: str, assignments: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the values by name; refuse a name that comes twice."""
    parameters: dict[str, Any] = {}
    for name, value in assignments:
        if name in parameters:
            raise UsageError(f"{option} {name} is given twice")
        parameters[name] = value
    return parameters
