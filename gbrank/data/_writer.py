"""Writes LETOR text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from gbrank.core import FloatArray, IntArray, QueryLayout, check_labels
from gbrank.data._printer import BYTES_PER_FEATURE, write_features
from gbrank.data._text import open_to_write

_PIECE_BYTES = 1 << 20


def dump_letor(
    X: Any,
    y: ArrayLike,
    qid: ArrayLike,
    path: str | os.PathLike[str],
    *,
    comments: Sequence[str] | None = None,
    zero_based: bool = False,
) -> None:
    r"""Write features, labels and query ids as LETOR text that reads back exactly.

    A line is ``<label> qid:<query> <feature>:<value> ... # <comment>``. Of a dense ``X`` every
    value is written, zeros too, of a sparse one what it stores. A number takes the fewest digits
    from which :func:`load_letor`, with ``dtype`` that of ``X``, makes the same number again.

    The file appears under its name only when it is complete.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        Features; types other than float32 and float64 are written as float64.
        ``dump_letor(*data, path)`` writes a :class:`RankingData`.
    y : array of shape (n_rows,)
        The label of each row, a finite number.
    qid : array of shape (n_rows,)
        The query of each row, an integer. Rows are written in the order given.
    path : str or path
        Where to write; a name that ends in .gz, .bz2, .xz or .zst is compressed (the last needs
        ``pip install "gbrank[zstd]"`` before Python 3.14).
    comments : sequence of str, default=None
        A text of one line per row, such as ``docid = GX001``; an empty one is left out.
    zero_based : bool, default=False
        Whether the first feature is number 0; in LETOR it is 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gbrank.data import dump_letor
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "train.txt"
    >>> dump_letor([[0.5, 0], [0.1, 2]], [1, 0], [7, 7], path, comments=["docid = a", ""])
    >>> print(path.read_text())
    1 qid:7 1:0.5 2:0 # docid = a
    0 qid:7 1:0.1 2:2
    <BLANKLINE>
    >>> folder.cleanup()
    """
    features = _check_features(X)
    layout = QueryLayout.from_qid(qid, features.shape[0])
    labels = check_labels(y, layout, signed=True)
    qids = _integer_ids(layout)
    texts = _check_comments(comments, features.shape[0])
    if not isinstance(zero_based, bool | np.bool_):
        raise TypeError(f"zero_based must be True or False, got {zero_based!r}")
    first_index = 0 if zero_based else 1
    with open_to_write(path) as file:
        for lines in _lines(features, labels, qids, texts, first_index):
            file.write(lines)


def _lines(
    features: Any, labels: FloatArray, qids: IntArray, texts: list[str], first_index: int
) -> Iterator[bytes]:
    """Return the text, a piece at a time."""
    is_sparse = issparse(features)
    n_rows, n_columns = features.shape
    dtype = features.dtype if features.dtype in (np.float32, np.float64) else np.float64
    every_column = np.arange(0 if is_sparse else n_columns, dtype=np.int32)
    # The reader goes by the columns that are named, so the last one has to be.
    names_last = not is_sparse or (features.indices == n_columns - 1).any()
    ending = b"" if names_last or n_columns == 0 else f" {n_columns - 1 + first_index}:0".encode()
    out = bytearray()
    for row in range(n_rows):
        if is_sparse:
            places = slice(features.indptr[row], features.indptr[row + 1])
            values, columns = features.data[places], features.indices[places].astype(np.int32)
        else:
            values, columns = features[row], every_column
        out += f"{_shortest(labels[row])} qid:{qids[row]}".encode()
        # A copy of one row at a time: strides, types and read-only arrays stop here.
        _add_features(out, np.array(values, dtype=dtype), columns, first_index)
        out += ending
        ending = b""
        if texts[row]:
            out += b" # " + texts[row].encode("utf-8", errors="surrogateescape")
        out += b"\n"
        if len(out) >= _PIECE_BYTES:
            yield bytes(out)
            out.clear()
    yield bytes(out)


def _add_features(
    out: bytearray, values: NDArray[Any], columns: NDArray[Any], first_index: int
) -> None:
    buffer = np.empty(BYTES_PER_FEATURE * len(values), dtype=np.uint8)
    feature = 0
    while feature < len(values):
        n_bytes, feature = write_features(
            buffer,
            0,
            values,
            columns,
            feature,
            len(values),
            first_index,
            values.dtype == np.float32,
        )
        out += buffer[:n_bytes].data
        if feature < len(values):
            out += _shortest(values[feature]).encode()
            feature += 1


def _shortest(number: np.floating[Any]) -> str:
    return str(number).removesuffix(".0")


def _check_features(X: Any) -> Any:
    """Return an array of numbers, or a sparse matrix with sorted columns."""
    if issparse(X):
        features = csr_matrix(X)
        if not features.has_canonical_format:
            features = features.copy()
            features.sum_duplicates()
    else:
        features = np.asarray(X)
    if features.ndim != 2 or features.shape[0] == 0:
        raise ValueError(
            f"X must have one row per document, at least one, got shape {features.shape}"
        )
    if features.dtype.kind not in "biuf":
        raise TypeError(f"X must be numbers, got dtype {features.dtype}")
    return features


def _integer_ids(layout: QueryLayout) -> IntArray:
    ids = np.asarray(layout.query_ids)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"qid must be integers, as LETOR text has no others, got {ids[0]!r}")
    if ids.dtype.kind == "u" and ids.max() > np.iinfo(np.int64).max:
        raise ValueError(f"qid must be integers of 64 bits with a sign, got {ids.max()}")
    qids: IntArray = layout.unsort(np.repeat(ids.astype(np.int64), layout.sizes))
    return qids


def _check_comments(comments: Sequence[str] | None, n_rows: int) -> list[str]:
    if comments is None:
        return [""] * n_rows
    texts = list(comments)
    if isinstance(comments, str) or len(texts) != n_rows:
        raise ValueError(f"comments must have one text per row: got {len(texts)} for {n_rows} rows")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"comments must be texts, but row {row} has {text!r}")
        if "\n" in text:
            raise ValueError(f"comments must be one line each, but row {row} has {text!r}")
    return texts
