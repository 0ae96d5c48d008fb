"""``gbrank explain``: why documents stand where they stand."""

import argparse
from typing import Any

import gbrank
from gbrank.cli.files import read_data
from gbrank.cli.models import load_model
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
  gbrank explain model.txt test.txt --pair 0 3
  gbrank explain model.txt test.txt --query 10
  gbrank explain model.txt test.txt --importance --metric ndcg@5
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "explain",
        "why documents stand where they stand",
        "Print what each feature adds to scores: for one document above another (--pair), for the "
        "documents of a query compared with their mean (--query), or how much a metric loses when "
        "a feature is shuffled within queries (--importance).",
        _EXAMPLES,
    )
    parser.add_argument("model", help="model file")
    parser.add_argument("data", help="data file")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--pair", nargs=2, type=natural, metavar="ROW", help="two rows of the file, counted from 0"
    )
    what.add_argument("--query", metavar="ID", help="id of a query")
    what.add_argument("--importance", action="store_true", help="of features in a metric")
    parser.add_argument("--metric", default="ndcg@10", help='for --importance (default "ndcg@10")')
    parser.add_argument(
        "--features", type=positive, default=10, metavar="N", help="print so many (default 10)"
    )
    add_threads(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Explain, and print."""
    model = load_model(arguments.model, arguments.threads)
    judged = arguments.importance or arguments.query is not None
    data = read_data(arguments.data, arguments, model=model, judged=judged)
    if arguments.pair is not None:
        _explain_pair(arguments, model, data)
    elif arguments.query is not None:
        _explain_query(arguments, model, data)
    else:
        _measure_importance(arguments, model, data)


def _explain_pair(arguments: argparse.Namespace, model: Any, data: Any) -> None:
    i, j = arguments.pair
    n_rows = data.X.shape[0]
    if max(i, j) >= n_rows:
        raise UsageError(f"--pair must be rows from 0 to {n_rows - 1}, got {max(i, j)}")
    found = gbrank.serving.explain_pair(model, data.X, i, j, qid=data.qid)
    largest = sorted(range(len(found.names)), key=lambda at: -abs(found.contributions[at]))
    shown = {found.names[at]: found.contributions[at] for at in largest[: arguments.features]}
    result = {"rows": found.rows, "scores": found.scores, "contributions": shown}
    rows = [[name, f"{value:+.4f}"] for name, value in shown.items()]
    others = found.contributions.sum() - sum(shown.values())
    rows += [["other features", f"{others:+.4f}"], ["sum", f"{found.contributions.sum():+.4f}"]]
    show(arguments, result, _table(["feature", f"row {i} - row {j}"], rows))


def _explain_query(arguments: argparse.Namespace, model: Any, data: Any) -> None:
    import numpy as np

    chosen = np.flatnonzero(np.asarray([str(each) for each in data.qid]) == arguments.query)
    if len(chosen) == 0:
        raise ValueError(f"{arguments.data} has no query {arguments.query!r}")
    found = gbrank.serving.explain(model, data.take_rows(chosen).X)
    weight = found.contributions.std(axis=0)
    features = np.argsort(-weight, kind="stable")[: arguments.features]
    best_first = np.argsort(-found.scores, kind="stable")
    result: dict[str, Any] = {
        "rows": chosen[best_first],
        "scores": found.scores[best_first],
        "features": [found.names[at] for at in features],
        "contributions": found.contributions[best_first][:, features],
    }
    rows = [
        [str(row), f"{score:.4f}", *(f"{value:+.4f}" for value in values)]
        for row, score, values in zip(
            result["rows"], result["scores"], result["contributions"], strict=True
        )
    ]
    show(arguments, result, _table(["row", "score", *result["features"]], rows))


def _measure_importance(arguments: argparse.Namespace, model: Any, data: Any) -> None:
    found = gbrank.serving.permutation_importance(
        model, data.X, data.y, qid=data.qid, metric=arguments.metric
    )
    means = found.mean
    largest = sorted(range(len(found.names)), key=lambda at: -means[at])[: arguments.features]
    result: dict[str, Any] = {
        "metric": found.metric,
        "baseline": found.baseline,
        "importances": {found.names[at]: means[at] for at in largest},
    }
    rows = [[name, f"{value:+.4f}"] for name, value in result["importances"].items()]
    header = ["feature", f"{found.metric} lost of {found.baseline:.4f}"]
    show(arguments, result, _table(header, rows))


def _table(header: list[str], rows: list[list[str]]) -> str:
    return str(gbrank.metrics.text_table(header, rows))
