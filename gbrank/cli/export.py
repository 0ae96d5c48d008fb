"""``gbrank export``: a model as a search engine reads it."""

import argparse
from typing import Any

import gbrank
from gbrank.cli.files import read_data
from gbrank.cli.models import load_model
from gbrank.cli.options import add_threads, check_target, new_command
from gbrank.cli.output import show, two_columns

_FORMATS = ("opensearch", "elasticsearch-ltr", "elasticsearch", "solr", "vespa")
_EXAMPLES = """\
  gbrank export model.txt --format opensearch --output model.json
  gbrank export model.txt --format solr --feature-names names.txt --output model.json
  gbrank export model.txt --format vespa --output model.json --verify test.txt
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "export",
        "write a model for a search engine",
        "Write a model for OpenSearch, Elasticsearch, Solr or Vespa, with thresholds converted "
        "such that every value goes the same way there. The names of the features, and an example "
        "of how the engine is told of them, go to a file beside it.",
        _EXAMPLES,
    )
    parser.add_argument("model", help="model file")
    parser.add_argument("--format", required=True, choices=_FORMATS, help="the engine")
    parser.add_argument("--output", required=True, metavar="FILE", help="where to write")
    parser.add_argument(
        "--feature-names", metavar="FILE", help="text file with the engine's names, one a line"
    )
    parser.add_argument("--name", help="what Solr is to call the model (default: that of FILE)")
    parser.add_argument(
        "--verify",
        metavar="DATA",
        help="data file to score as the engine would; fails if a row differs",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="fail where a value would go another way than here",
    )
    add_threads(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Export, and say what was written."""
    check_target("--output", arguments.output, arguments.model, arguments.verify)
    model = load_model(arguments.model, arguments.threads)
    names = None
    if arguments.feature_names is not None:
        from gbrank.core import check_file

        text = check_file(arguments.feature_names).read_text(encoding="utf-8")
        names = [line.strip() for line in text.splitlines() if line.strip()]
    rows = None
    if arguments.verify is not None:
        rows = read_data(arguments.verify, _reading_options(), model=model, judged=False).X
    written = gbrank.export(
        model,
        arguments.output,
        format=arguments.format,
        feature_names=names,
        name=arguments.name,
        verify=rows,
        strict=arguments.strict,
    )
    facts = {
        "model": str(written.path),
        "features": str(written.features_path),
        "trees": written.n_trees,
        "intervals that differ": len(written.intervals),
    }
    if rows is not None:
        facts |= {"rows verified": written.n_verified, "neighbours swapped": written.n_swapped}
    show(arguments, facts, two_columns(facts))


def _reading_options() -> argparse.Namespace:
    """Return how the file to verify with is read: by its name, with the usual columns."""
    return argparse.Namespace(
        format=None, label=None, qid=None, weight=None, drop=[], categorical=[], sparse=False,
        zero_based=False, cache=None,
    )  # fmt: skip
