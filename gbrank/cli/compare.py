"""``gbrank compare``: whether the difference between models is real."""

import argparse
from typing import Any

import gbrank
from gbrank.cli.evaluate import add_metric_options, chosen_metrics, read_all
from gbrank.cli.options import (
    UsageError,
    add_data_options,
    add_threads,
    natural,
    new_command,
    positive,
)
from gbrank.cli.output import show

_EXAMPLES = """\
  gbrank compare model.txt other.txt test.txt
  gbrank compare new=model.txt old=scores.txt test.txt --metric ndcg@5 err
  gbrank compare a.txt b.txt c.txt test.csv --confidence 0.99 --json
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "compare",
        "is the difference between models real?",
        "Compare models, or files of scores, query by query: differences with bootstrap intervals, "
        "paired t-tests and permutation tests, corrected for the number of pairs (Holm).",
        _EXAMPLES,
    )
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="two or more; NAME=MODEL gives it a name"
    )
    parser.add_argument("data", metavar="DATA", help="data file")
    parser.add_argument(
        "--metric", nargs="+", default=["ndcg@10"], help="names of metrics (default ndcg@10)"
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="P", help="of intervals (default 0.95)"
    )
    parser.add_argument(
        "--resamples", type=positive, default=9_999, metavar="N", help="(default 9999)"
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="of the resamples (default 0)"
    )
    add_metric_options(parser)
    add_threads(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Compare models by each metric."""
    if len(arguments.models) < 2:
        raise UsageError("two models or more are needed to compare, and then the data file")
    if not 0 < arguments.confidence < 1:
        raise UsageError(f"--confidence must be between 0 and 1, got {arguments.confidence:g}")
    metrics = chosen_metrics(arguments)
    data, scores = read_all(arguments.models, arguments)
    comparisons = {
        name: gbrank.metrics.compare(
            data.y,
            scores,
            qid=data.qid,
            metric=metric,
            sample_weight=data.sample_weight,
            confidence=arguments.confidence,
            n_resamples=arguments.resamples,
            random_state=arguments.seed,
            n_jobs=arguments.threads,
        )
        for name, metric in metrics.items()
    }
    result = {
        "data": arguments.data,
        "confidence": arguments.confidence,
        "metrics": {name: _as_dict(found) for name, found in comparisons.items()},
    }
    show(arguments, result, "\n\n\n".join(map(str, comparisons.values())))


def _as_dict(comparison: Any) -> dict[str, Any]:
    pairs = []
    for pair in comparison.pairs:
        entries = dict(vars(pair))
        del entries["differences"]
        pairs.append(entries)
    return {"queries": comparison.n_queries, "means": comparison.means, "pairs": pairs}
