"""``gbrank objectives``: the table of losses."""

import argparse
import textwrap
from typing import Any

import gbrank
from gbrank.cli.options import UsageError, add_import, new_command
from gbrank.cli.output import show, two_columns

_EXAMPLES = """\
  gbrank objectives
  gbrank objectives listmle
  gbrank objectives --markdown
"""
_WIDTH = 96


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "objectives",
        "the table of losses",
        "List the losses, or what one of them takes for --set of gbrank train.",
        _EXAMPLES,
    )
    parser.add_argument("name", nargs="?", help="show this one, with its parameters")
    parser.add_argument("--markdown", action="store_true", help="print the table of the README")
    add_import(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Print all objectives, or one."""
    if arguments.markdown and (arguments.name or arguments.json):
        raise UsageError("--markdown prints the whole table, and not as JSON")
    if arguments.markdown:
        print(gbrank.objectives.markdown_table())
        return
    rows = {row["name"]: _plain_text(row) for row in gbrank.objectives.describe_objectives()}
    if arguments.name is None:
        show(arguments, list(rows.values()), "\n\n".join(map(_paragraph, rows.values())))
        return
    if arguments.name not in rows:
        raise UsageError(f"unknown objective {arguments.name!r}; known are {', '.join(rows)}")
    row = rows[arguments.name]
    parameters = _parameters(arguments.name)
    texts = {name: repr(value) for name, value in parameters.items()}
    text = f"{_paragraph(row)}\n\nparameters and their defaults:\n{two_columns(texts)}"
    show(arguments, {**row, "parameters": parameters}, text)


def _plain_text(row: dict[str, str]) -> dict[str, str]:
    return {name: cell.replace("`", "") for name, cell in row.items()}


def _paragraph(row: dict[str, str]) -> str:
    lines = [row["name"]]
    for name, cell in row.items():
        if name != "name":
            title = f"  {name.replace('_', ' ')}".ljust(19)
            lines.append(
                textwrap.fill(cell, _WIDTH, initial_indent=title, subsequent_indent=" " * 19)
            )
    return "\n".join(lines)


def _parameters(name: str) -> dict[str, Any]:
    """Return the defaults; of those that LightGBM's own parameters may set, what they are else."""
    objective = gbrank.get_objective(name)
    parameters: dict[str, Any] = objective.get_params(deep=False)
    shared = objective.from_lightgbm.keys() & parameters.keys()
    return parameters | {each: objective.value_of(each) for each in shared}
