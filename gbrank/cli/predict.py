"""``gbrank predict``: the scores of a model, one a line."""

import argparse
from typing import Any

import gbrank
from gbrank.cli.files import read_data
from gbrank.cli.models import load_model, score
from gbrank.cli.options import add_data_options, add_threads, check_target, new_command
from gbrank.cli.output import show

_EXAMPLES = """\
  gbrank predict model.txt test.txt > scores.txt
  gbrank predict model.txt test.csv --output scores.txt
  gbrank predict model.txt test.txt.xz --json
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "predict",
        "print or write the scores of a model",
        "Score every row of a data file: one score a line, in the order of the rows. Labels and "
        "query ids of CSV and parquet files need not be there.",
        _EXAMPLES,
    )
    parser.add_argument("model", help="model file")
    parser.add_argument("data", help="data file")
    parser.add_argument("--output", metavar="FILE", help="where to write (default: print)")
    add_threads(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Predict, and print or write the scores."""
    check_target("--output", arguments.output, arguments.model, arguments.data)
    model = load_model(arguments.model, arguments.threads)
    data = read_data(arguments.data, arguments, model=model, judged=False)
    scores = score(model, data, arguments.data).tolist()
    lines = "\n".join(map(repr, scores))
    if not arguments.output:
        show(arguments, {"scores": scores}, lines)
        return
    with gbrank.data.open_to_write(arguments.output) as file:
        file.write(f"{lines}\n".encode())
    result = {"output": arguments.output, "documents": len(scores)}
    show(arguments, result, f"{len(scores)} scores in {arguments.output}")
