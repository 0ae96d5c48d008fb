"""``gbrank clicks``: what a click log can tell, propensities, and rankers without their bias."""

import argparse
from typing import Any

import gbrank
from gbrank.cli.options import UsageError, add_threads, check_target, natural, new_command, positive
from gbrank.cli.output import show, two_columns

_EXAMPLES = """\
  gbrank clicks report log.csv --qid query --item document
  gbrank clicks propensity log.parquet --method em --output propensities.json
  gbrank clicks train log.parquet --list session --unbiased ips --propensity propensities.json \\
      --model model.txt
  gbrank clicks train log.parquet --list session --unbiased additive --model model.txt
"""
_METHODS = ("all_pairs", "pivot", "neighbours", "em")


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "clicks",
        "report on a click log, estimate propensities, train without position bias",
        "report: clicks by position, and whether propensities can be told. propensity: estimate "
        "them, with intervals. train: a ranker from clicks; every column of the file that is "
        "neither named below nor dropped is a feature. Files are CSV, TSV or parquet.",
        _EXAMPLES,
    )
    parser.add_argument("what", choices=("report", "propensity", "train"))
    parser.add_argument("log", help="file with a row per item that was shown")
    columns = parser.add_argument_group("columns")
    for name in ("qid", "item", "position", "click"):
        columns.add_argument(f"--{name}", metavar="COLUMN", default=name, help=f'default "{name}"')
    columns.add_argument("--impressions", metavar="COLUMN", help="how many a row stands for")
    columns.add_argument(
        "--list", metavar="COLUMN", help="train: which rows were shown together (default: --qid)"
    )
    columns.add_argument(
        "--drop", metavar="COLUMN", nargs="+", default=[], help="train: columns not to learn from"
    )
    estimate = parser.add_argument_group("propensity")
    estimate.add_argument("--method", choices=_METHODS, default="all_pairs")
    estimate.add_argument("--monotone", action="store_true", help="may not rise down the list")
    estimate.add_argument(
        "--interpolate", action="store_true", help="fill in positions that are cut off"
    )
    estimate.add_argument(
        "--bootstrap", type=natural, default=200, metavar="N", help="resamples for intervals"
    )
    estimate.add_argument("--output", metavar="FILE", help="where to write propensities (JSON)")
    train = parser.add_argument_group("train")
    train.add_argument("--unbiased", choices=("ips", "additive", "dual", "none"), default="ips")
    train.add_argument("--propensity", metavar="FILE", help="what clicks propensity wrote")
    train.add_argument(
        "--clip", type=float, help="least propensity to divide by (default: 0.2; report: none)"
    )
    train.add_argument("--objective", help="loss (default: what suits --unbiased)")
    train.add_argument("--trees", type=positive, default=100, metavar="N")
    train.add_argument("--model", metavar="FILE", help="where to write the model")
    add_threads(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for."""
    check_target("--output", arguments.output, arguments.log, arguments.propensity)
    check_target("--model", arguments.model, arguments.log, arguments.propensity)
    {"report": _report, "propensity": _propensity, "train": _train}[arguments.what](arguments)


def _log(arguments: argparse.Namespace) -> Any:
    names = ("qid", "item", "position", "click", "impressions")
    return gbrank.clicks.ClickLog.read(
        arguments.log, **{name: getattr(arguments, name) for name in names}
    )


def _report(arguments: argparse.Namespace) -> None:
    given = None
    if arguments.propensity is not None:
        given = gbrank.clicks.Propensities.load(arguments.propensity)
    found = gbrank.clicks.report(_log(arguments), given, clip=arguments.clip or 0.0)
    result = {
        "positions": found.positions,
        "impressions": found.impressions,
        "clicks": found.clicks,
        "connected": found.is_connected,
        "cut_off": found.cut_off,
        "items": found.n_items,
        "items_shared": found.n_items_shared,
        "propensities": None if found.propensities is None else found.propensities.values,
        "effective_clicks": found.effective_clicks,
    }
    show(arguments, result, repr(found))


def _propensity(arguments: argparse.Namespace) -> None:
    if arguments.output is None:
        raise UsageError("propensity needs --output: where to write them")
    found = gbrank.clicks.estimate_propensities(
        _log(arguments),
        arguments.method,
        monotone=arguments.monotone,
        unconnected="interpolate" if arguments.interpolate else "raise",
        n_bootstrap=arguments.bootstrap,
    )
    found.save(arguments.output)
    lines = [f"{'position':>8}  propensity  {found.confidence:.0%} interval"]
    for at, position in enumerate(found.positions.tolist()):
        between = ""
        if found.lower is not None and found.upper is not None:
            between = f"{found.lower[at]:.4f} to {found.upper[at]:.4f}"
        lines.append(f"{position:>8}  {found.values[at]:>10.4f}  {between}")
    result = {
        "output": arguments.output,
        "positions": found.positions,
        "values": found.values,
        "lower": found.lower,
        "upper": found.upper,
    }
    show(arguments, result, "\n".join(lines))


def _train(arguments: argparse.Namespace) -> None:
    if arguments.model is None:
        raise UsageError("train needs --model: where to write the model")
    if arguments.unbiased == "ips" and arguments.propensity is None:
        raise UsageError("--unbiased ips needs --propensity, which clicks propensity writes")
    table = gbrank.clicks.read_table(arguments.log)
    lists = arguments.list or arguments.qid
    named = {lists, arguments.qid, arguments.item, arguments.position, arguments.click}
    for name in (lists, arguments.position, arguments.click, *arguments.drop):
        if name not in table.column_names:
            raise UsageError(f"{arguments.log} has no column {name!r}; it has {table.column_names}")
    features = [name for name in table.column_names if name not in named | set(arguments.drop)]
    if not features:
        raise UsageError(f"{arguments.log} has no columns to learn from, besides {sorted(named)}")
    given = None
    if arguments.propensity is not None:
        given = gbrank.clicks.Propensities.load(arguments.propensity)
    unbiased = None if arguments.unbiased == "none" else arguments.unbiased
    ranker = gbrank.Ranker(
        arguments.objective, n_estimators=arguments.trees, n_jobs=arguments.threads
    )
    columns = {name: table.column(name).to_numpy() for name in (lists, arguments.position)}
    ranker.fit(
        table.select(features),
        table.column(arguments.click).to_numpy(),
        qid=columns[lists],
        position=None if unbiased is None else columns[arguments.position],
        propensity=None if unbiased is None else given,
        unbiased=unbiased,
        clip=arguments.clip,
    )
    ranker.save_model(arguments.model)
    result = {
        "model": arguments.model,
        "unbiased": arguments.unbiased,
        "features": len(features),
        "lists": len(set(columns[lists].tolist())),
        "trees": ranker.best_iteration_,
    }
    if hasattr(ranker, "bias_"):
        result["bias"] = [round(float(each), 4) for each in ranker.bias_]
    show(arguments, result, two_columns(result))
