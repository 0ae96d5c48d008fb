"""``gbrank evaluate``: metrics of models, or of files of scores."""

import argparse
from typing import TYPE_CHECKING, Any

import gbrank
from gbrank.cli.extensions import find_metric
from gbrank.cli.files import read_data
from gbrank.cli.models import load_model, named_files, read_scores, score
from gbrank.cli.options import (
    UsageError,
    add_data_options,
    add_import,
    add_threads,
    new_command,
)
from gbrank.cli.output import show

if TYPE_CHECKING:
    from gbrank.data import RankingData

_EXAMPLES = """\
  gbrank evaluate model.txt test.txt --metric ndcg@5 ndcg@10 err
  gbrank evaluate scores.txt test.txt --metric ndcg@10 --convention lightgbm
  gbrank evaluate model.txt test.txt --per-query --json
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "evaluate",
        "metrics of a model on a data file",
        "Print the means of metrics over queries. Instead of a model, a file with one score a line "
        "will do. Queries without a relevant document are left out, unless --empty or --convention "
        "says otherwise.",
        _EXAMPLES,
    )
    parser.add_argument("model", help="model file, or file of scores")
    parser.add_argument("data", help="data file")
    parser.add_argument(
        "--metric",
        nargs="+",
        default=["ndcg@10", "err", "map"],
        help="names such as ndcg@5 (default: ndcg@10 err map)",
    )
    parser.add_argument("--per-query", action="store_true", help="one line for each query")
    add_metric_options(parser)
    add_threads(parser)
    add_data_options(parser)
    return parser


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """Add the choices that people make differently."""
    parser.add_argument(
        "--convention",
        choices=("lightgbm", "sklearn", "letor", "trec"),
        help="compute metrics as these do",
    )
    parser.add_argument(
        "--empty",
        help='what queries without relevant documents count: a number, or "skip" (default)',
    )
    parser.add_argument("--ties", help='how equal scores are ordered (default "average")')
    add_import(parser)


def chosen_metrics(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the metrics by the names that were given, with the choices that were made."""
    options: dict[str, Any] = {"n_jobs": arguments.threads}
    if arguments.convention is not None:
        options["convention"] = arguments.convention
    if arguments.ties is not None:
        options["ties"] = arguments.ties
    if arguments.empty is not None:
        try:
            options["empty"] = float(arguments.empty)
        except ValueError:
            options["empty"] = arguments.empty
    if len(set(arguments.metric)) < len(arguments.metric):
        raise UsageError("--metric names a metric twice")
    return {text: find_metric(text, **options) for text in arguments.metric}


def read_all(
    texts: list[str], arguments: argparse.Namespace
) -> tuple["RankingData", dict[str, Any]]:
    """Return the data, and the scores of each model or file of scores by name."""
    from gbrank.boosting import begins_as_model

    files = named_files(texts)
    models = {
        name: load_model(path, arguments.threads)
        for name, path in files.items()
        if begins_as_model(path)
    }
    data: dict[Any, RankingData] = {}
    scores = {}
    for name, path in files.items():
        model = models.get(name)
        columns = _columns_of(model)
        if columns not in data:
            data[columns] = read_data(arguments.data, arguments, model=model)
        if model is not None:
            scores[name] = score(model, data[columns], arguments.data)
            continue
        scores[name] = read_scores(path)
        n_rows = data[columns].n_rows
        if len(scores[name]) != n_rows:
            raise ValueError(
                f"{path} has {len(scores[name])} scores, but {arguments.data} has {n_rows} rows"
            )
    return next(iter(data.values())), scores


def _columns_of(model: Any) -> Any:
    """Return what of a data file a model sees: files are read once for all that see the same."""
    if model is None:
        return None
    names = getattr(model, "feature_names_in_", None)
    return model.n_features_in_ if names is None else tuple(names)


def run(arguments: argparse.Namespace) -> None:
    """Print the metrics of a model."""
    metrics = chosen_metrics(arguments)
    data, scores = read_all([arguments.model], arguments)

    def measure(**options: Any) -> Any:
        return gbrank.metrics.evaluate(
            data.y,
            next(iter(scores.values())),
            qid=data.qid,
            metrics=metrics,
            n_jobs=arguments.threads,
            **options,
        )

    means = measure(sample_weight=data.sample_weight)
    queries = measure(per_query=True)
    result: dict[str, Any] = {
        "model": arguments.model,
        "data": arguments.data,
        "documents": data.n_rows,
        "queries": data.n_queries,
        "metrics": {name: values[0] for name, values in means.items()},
        # a query that does not count has no value
        "counted": {name: int((values == values).sum()) for name, values in queries.items()},
    }
    if arguments.per_query:
        values = {name: rows[0] for name, rows in queries.items()}
        result["per_query"] = {"qid": queries.queries, **values}
    show(arguments, result, _text(result))


def _text(result: dict[str, Any]) -> str:
    if "per_query" in result:
        columns = result["per_query"]
        names = [name for name in columns if name != "qid"]
        rows = [
            [str(qid), *(f"{columns[name][at]:.4f}" for name in names)]
            for at, qid in enumerate(columns["qid"])
        ]
        rows.append(["mean", *(f"{result['metrics'][name]:.4f}" for name in names)])
        return _table(["query", *names], rows)
    rows = [
        [name, f"{value:.4f}", f"{result['counted'][name]} of {result['queries']}"]
        for name, value in result["metrics"].items()
    ]
    return _table(["metric", "mean", "queries that count"], rows)


def _table(header: list[str], rows: list[list[str]]) -> str:
    return str(gbrank.metrics.text_table(header, rows))
