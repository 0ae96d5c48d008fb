"""CSV without pandas, for ``gbrank noise``: columns of numbers, and a column of query ids."""

import bz2
import csv
import gzip
import lzma
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OPENED_BY: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MISSING = {"", "na", "n/a", "nan", "null", "none"}
#: Rows at a time: texts take many times the memory of numbers.
_BLOCK = 10_000


def read_columns(path: Path, ids: str) -> dict[str, NDArray[Any]]:
    r"""Return the columns of a CSV or TSV file with a header, by name and in their order.

    A column that holds anything but numbers is one of texts.

    Parameters
    ----------
    path : the file, perhaps compressed.
    ids : name of the column of ids, which are as written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gbrank.cli.plain_csv import read_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "some.csv"
    ...     _ = path.write_text("qid,label\n07,1\n07,\n")
    ...     read_columns(path, "qid")
    {'qid': array(['07', '07'], dtype='<U2'), 'label': array([ 1., nan])}
    """
    try:
        names, blocks = _read(path, ids)
    except (ValueError, EOFError, csv.Error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise ValueError(f"{path} is not a readable csv file: {error}") from error
    columns = {name: np.concatenate([b[at] for b in blocks]) for at, name in enumerate(names)}
    if ids in columns:
        columns[ids] = _as_ids(columns[ids])
    return columns


def _read(path: Path, ids: str) -> tuple[list[str], list[list[NDArray[Any]]]]:
    """Return the names of the columns, and the values of each block of rows by column."""
    tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    opened = _OPENED_BY.get(path.suffix.lower(), open)
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter="\t" if tabs else ",")
        names = next(lines, None)
        if not names:
            raise ValueError("it has no header")
        if len(set(names)) < len(names):
            raise ValueError("two of its columns have the same name")
        rows = _checked(lines, len(names))
        blocks = []
        while block := list(islice(rows, _BLOCK)):
            columns = zip(names, zip(*block, strict=True), strict=True)
            blocks.append([np.array(c) if name == ids else _as_numbers(c) for name, c in columns])
    return names, blocks or [[np.zeros(0)] * len(names)]


def _checked(lines: Any, width: int) -> Iterator[list[str]]:
    for row in lines:
        if row and len(row) != width:  # an empty line is no row
            raise ValueError(f"line {lines.line_num} has {len(row)} fields, the header {width}")
        if row:
            yield row


def _as_ids(texts: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers where all texts are some, written as numbers are; 07 is none."""
    try:
        numbers = texts.astype(np.int64)
    except ValueError:
        return texts
    return numbers if np.array_equal(numbers.astype(texts.dtype), texts) else texts


def _as_numbers(texts: tuple[str, ...]) -> NDArray[Any]:
    """Return numbers, or texts where one of them is none."""
    known = ["nan" if text.strip().lower() in _MISSING else text for text in texts]
    try:
        return np.array(known, dtype=np.float64)
    except ValueError:
        return np.array(texts)
