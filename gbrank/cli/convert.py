"""``gbrank convert``: data files from one format to another."""

import argparse
from pathlib import Path
from typing import Any

from gbrank.cli.files import Documents, format_of, import_pandas, read_documents
from gbrank.cli.options import FORMATS, UsageError, add_data_options, add_threads, new_command
from gbrank.cli.output import note, show

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
    documents = read_documents(arguments.data, arguments)
    result = {
        "data": arguments.data,
        "target": arguments.target,
        "documents": documents.X.shape[0],
        "queries": documents.n_queries,
        "features": documents.X.shape[1],
    }
    if arguments.target is not None:
        write_documents(documents, Path(arguments.target), arguments)
    where = arguments.target or "the cache"
    text = (
        f"{where}: {result['documents']} documents of {result['queries']} queries, "
        f"{result['features']} features"
    )
    show(arguments, result, text)


def write_documents(documents: Documents, target: Path, arguments: argparse.Namespace) -> None:
    """Write documents in the format that the target, or ``--to``, names."""
    kind = format_of(target, arguments.to)
    if kind == "letor":
        _write_letor(documents, target, arguments.zero_based)
    elif kind == "npz":
        _write_npz(documents, target)
    else:
        _write_frame(documents, target, kind)


def _write_letor(documents: Documents, target: Path, zero_based: bool) -> None:
    import numpy as np

    from gbrank.core import QueryLayout
    from gbrank.data import dump_letor

    if documents.weight is not None:
        raise ValueError(f"{target}: LETOR text has no weights; leave out --weight")
    qid = np.asarray(documents.qid)
    if qid.dtype.kind not in "iu":
        layout = QueryLayout.from_qid(documents.qid)
        qid = layout.unsort(np.repeat(np.arange(1, layout.n_queries + 1), layout.sizes))
        note("query ids that are no integers are numbered from 1, as they come")
    dump_letor(as_numbers(documents.X, target), documents.y, qid, target, zero_based=zero_based)


def _write_npz(documents: Documents, target: Path) -> None:
    import numpy as np

    from gbrank.core import atomic_file

    features = as_numbers(documents.X, target)
    arrays = {
        "X": features.toarray() if hasattr(features, "toarray") else features,
        "y": np.asarray(documents.y),
        "qid": np.asarray(documents.qid),
    }
    if arrays["qid"].dtype.kind == "O":
        arrays["qid"] = arrays["qid"].astype(str)  # objects would have to be unpickled
    if documents.weight is not None:
        arrays["weight"] = np.asarray(documents.weight)
    with atomic_file(target) as file:
        np.savez(file, **arrays)


def _write_frame(documents: Documents, target: Path, kind: str) -> None:
    from gbrank.core import atomic_file
    from gbrank.data import compressing

    pandas = import_pandas(target, kind)
    frame = documents.X
    if not hasattr(frame, "columns"):
        dense = frame.toarray() if hasattr(frame, "toarray") else frame
        frame = pandas.DataFrame(dense, columns=[f"f{at + 1}" for at in range(dense.shape[1])])
    # new frames, so that the one that was read stays as it is
    first = {"label": documents.y, "qid": documents.qid}
    if documents.weight is not None:
        first["weight"] = documents.weight
    taken = [name for name in first if name in frame.columns]
    if taken:
        raise ValueError(f"{target}: a feature is named {taken[0]!r}, as another column would be")
    columns = pandas.DataFrame(
        {name: pandas.Series(values).array for name, values in first.items()}
    )
    frame = pandas.concat([columns, frame.reset_index(drop=True)], axis=1)
    with atomic_file(target) as file:
        if kind == "parquet":
            frame.to_parquet(file, index=False)
            return
        separator = "\t" if ".tsv" in [suffix.lower() for suffix in target.suffixes] else ","
        with compressing(file, target.suffix.lower()) as stream:
            stream.write(frame.to_csv(None, sep=separator, index=False).encode())


def as_numbers(X: Any, target: Path) -> Any:
    """Return features as plain numbers."""
    if not hasattr(X, "columns"):
        return X
    for name, dtype in X.dtypes.items():
        if dtype.name == "category":
            raise ValueError(f"{target} can hold numbers only, but column {name!r} has categories")
    return X.to_numpy(dtype=None if all(d.name == "float32" for d in X.dtypes) else "float64")
