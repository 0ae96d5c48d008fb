"""``gbrank predict``: the scores of a model, one a line."""

import argparse
from typing import Any

from gbrank.cli.files import read_documents
from gbrank.cli.models import load_model, score
from gbrank.cli.options import add_data_options, add_threads, new_command
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
    model = load_model(arguments.model, arguments.threads)
    documents = read_documents(arguments.data, arguments, model=model, judged=False)
    scores = score(model, documents).tolist()
    lines = "\n".join(map(repr, scores))
    if not arguments.output:
        show(arguments, {"scores": scores}, lines)
        return
    from gbrank.core import write_atomically

    write_atomically(arguments.output, f"{lines}\n".encode())
    result = {"output": arguments.output, "documents": len(scores)}
    show(arguments, result, f"{len(scores)} scores in {arguments.output}")
