"""``gbrank convert``: data files from one format to another."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gbrank
from gbrank.cli.files import format_of, import_pandas, read_data
from gbrank.cli.options import (
    FORMATS,
    UsageError,
    add_data_options,
    add_threads,
    check_target,
    new_command,
)
from gbrank.cli.output import note, show

if TYPE_CHECKING:
    from gbrank.data import RankingData

_EXAMPLES = """\
  gbrank convert train.txt train.parquet
  gbrank convert train.csv train.txt.xz --label grade --qid query
  gbrank convert train.txt train.npz
  gbrank convert train.txt --cache     parses once; then gbrank train train.txt --cache
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "convert",
        "write data in another format",
        "Write a data file in the format that the name of the target says. A name that ends in "
        ".gz, .bz2, .xz or .zst is compressed. LETOR text has no names of columns, no weights and "
        "query ids that are integers.",
        _EXAMPLES,
    )
    parser.add_argument("data", help="data file")
    parser.add_argument("target", nargs="?", help="file to write; not needed with --cache")
    parser.add_argument("--to", choices=FORMATS, help="format of the target, whatever its name")
    add_threads(parser)
    add_data_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Read a file and write it again."""
    if arguments.target is None and not arguments.cache:
        raise UsageError("a target is needed, or --cache")
    if arguments.target is None and format_of(Path(arguments.data), arguments.format) != "letor":
        raise UsageError(f"--cache is for LETOR text, which {arguments.data} is not")
    check_target("the target", arguments.target, arguments.data)
    data = read_data(arguments.data, arguments)
    result = {
        "data": arguments.data,
        "target": arguments.target,
        "documents": data.n_rows,
        "queries": data.n_queries,
        "features": data.X.shape[1],
    }
    if arguments.target is not None:
        write_data(data, Path(arguments.target), arguments)
    where = arguments.target or "the cache"
    text = (
        f"{where}: {result['documents']} documents of {result['queries']} queries, "
        f"{result['features']} features"
    )
    show(arguments, result, text)


def write_data(data: "RankingData", target: Path, arguments: argparse.Namespace) -> None:
    """Write data in the format that the target, or ``--to``, names."""
    kind = format_of(target, arguments.to)
    if kind == "letor":
        _write_letor(data, target, arguments.zero_based)
    elif kind == "npz":
        _write_npz(data, target)
    else:
        _write_frame(data, target, kind)


def _labels(data: "RankingData") -> Any:
    """Return labels as integers where all of them are."""
    labels = data.y.astype("int64") if (abs(data.y) < 2**53).all() else data.y
    return labels if (labels == data.y).all() else data.y


def _write_letor(data: "RankingData", target: Path, zero_based: bool) -> None:
    import numpy as np

    if data.sample_weight is not None:
        raise ValueError(f"{target}: LETOR text has no weights; leave out --weight")
    qid = np.asarray(data.qid)
    if qid.dtype.kind not in "iu":
        layout = data.layout
        qid = layout.unsort(np.repeat(np.arange(1, layout.n_queries + 1), layout.sizes))
        note("query ids that are not integers are numbered from 1, as they come")
    features = as_numbers(data.X, target)
    gbrank.data.dump_letor(features, data.y, qid, target, zero_based=zero_based)


def _write_npz(data: "RankingData", target: Path) -> None:
    import numpy as np

    features = as_numbers(data.X, target)
    arrays = {
        "X": features.toarray() if hasattr(features, "toarray") else features,
        "y": _labels(data),
        "qid": np.asarray(data.qid),
    }
    if arrays["qid"].dtype.kind == "O":
        arrays["qid"] = arrays["qid"].astype(str)  # objects would have to be unpickled
    if data.sample_weight is not None:
        arrays["weight"] = data.sample_weight
    with gbrank.data.open_to_write(target) as file:
        np.savez(file, **arrays)


def _write_frame(data: "RankingData", target: Path, kind: str) -> None:
    pandas = import_pandas(target, kind)
    frame = data.X
    if not hasattr(frame, "columns"):
        dense = frame.toarray() if hasattr(frame, "toarray") else frame
        frame = pandas.DataFrame(dense, columns=[f"f{at + 1}" for at in range(dense.shape[1])])
    # new frames, so that the one that was read stays as it is
    first = {"label": _labels(data), "qid": data.qid}
    if data.sample_weight is not None:
        first["weight"] = data.sample_weight
    taken = [name for name in first if name in frame.columns]
    if taken:
        raise ValueError(f"{target}: a feature is named {taken[0]!r}, as another column would be")
    columns = pandas.DataFrame(
        {name: pandas.Series(values).array for name, values in first.items()}
    )
    frame = pandas.concat([columns, frame.reset_index(drop=True)], axis=1)
    with gbrank.data.open_to_write(target) as file:
        if kind == "parquet":
            frame.to_parquet(file, index=False)
            return
        separator = "\t" if ".tsv" in [suffix.lower() for suffix in target.suffixes] else ","
        file.write(frame.to_csv(None, sep=separator, index=False).encode())


def as_numbers(X: Any, target: Path) -> Any:
    """Return features as plain numbers."""
    if not hasattr(X, "columns"):
        return X
    for name, dtype in X.dtypes.items():
        if dtype.name == "category":
            raise ValueError(f"{target} can hold numbers only, but column {name!r} has categories")
    return X.to_numpy(dtype=None if all(d.name == "float32" for d in X.dtypes) else "float64")
