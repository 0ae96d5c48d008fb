"""Data larger than memory, on one machine: rows go from the disk into LightGBM's bins.

LightGBM keeps a byte or two per feature and row; what does not fit into memory are the raw floats.
So they are read block by block, once to draw the sample that bins are made of and once to fill the
bins. Labels and query ids, which are small, are read whole: a query may begin in one block, row
group or file and end in the next.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import DTypeLike, NDArray

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    check_file,
    check_labels,
    check_weights,
    removed_if_ended,
    resolve_n_jobs,
)
from gbrank.data._blocks import count_letor, letor_blocks
from gbrank.data._files import files_of
from gbrank.data._parquet import ParquetRows
from gbrank.data.letor import check_options

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class RowStream(lgb.Sequence):
    """Rows that are read forward, block by block: a ``lightgbm.Sequence`` of any source.

    Only one block is in memory at a time. Rows before the current block are reached by opening the
    source again, so access should ascend, as LightGBM's does.

    Parameters
    ----------
    open_blocks : callable
        Opens the source: returns an iterator over arrays of shape (any number, n_features).
    n_rows : int
        Number of rows of all blocks together.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.data import RowStream
    >>> rows = RowStream(lambda: (np.full((2, 3), i) for i in range(5)), n_rows=10)
    >>> len(rows), rows[3], rows[1:4].shape
    (10, array([1., 1., 1.]), (3, 3))
    """

    def __init__(self, open_blocks: Callable[[], Iterator[NDArray[Any]]], n_rows: int) -> None:
        self._open_blocks = open_blocks
        self._n_rows = n_rows
        self._rewind()

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, key: Any) -> FloatArray:
        if isinstance(key, slice):
            first, last, step = key.indices(self._n_rows)
            return self._read(first, max(first, last))[::step]
        if isinstance(key, list):
            return np.stack([self[row] for row in key])
        row = int(key) + (self._n_rows if key < 0 else 0)
        if not 0 <= row < self._n_rows:
            raise IndexError(f"row {key} of {self._n_rows}")
        only: FloatArray = self._read(row, row + 1)[0].copy()
        return only

    def _rewind(self) -> None:
        self._blocks = self._open_blocks()
        self._block: FloatArray = np.empty((0, 0))
        self._start = 0

    def _read(self, first: int, last: int) -> FloatArray:
        if first < self._start:
            self._rewind()
        if self._block.shape[1] == 0:  # nothing is read yet: even no rows have so many columns
            self._advance(0)
        pieces = []
        while True:
            end = self._start + len(self._block)
            if first < end:
                pieces.append(self._block[first - self._start : last - self._start])
                first = min(end, last)
            if first >= last:
                break
            self._advance(end)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces or [self._block[:0]])

    def _advance(self, end: int) -> None:
        block = next(self._blocks, None)
        if block is None:
            raise ValueError(f"the source ended after {end} of {self._n_rows} rows: did it change?")
        self._block, self._start = np.ascontiguousarray(block, dtype=np.float64), end


def stream_parquet(
    path: Paths,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str | None = None,
    features: Sequence[str] | None = None,
    params: Mapping[str, Any] | None = None,
    reference: lgb.Dataset | None = None,
    batch_rows: int = 65536,
) -> lgb.Dataset:
    """Return a LightGBM Dataset of parquet files, read a batch of rows at a time.

    The rows of a query must follow each other, across row groups and files; if they do not, the
    ``ValueError`` names the query. Needs ``pip install "gbrank[arrow]"``.

    Parameters
    ----------
    path : str or path, or a list of them
        A file, or several, one after the other.
    label : str, default="label"
        Name of the column of labels.
    qid : str, default="qid"
        Name of the column of query ids.
    weight : str, default=None
        Name of the column of weights, if there is one.
    features : sequence of str, default=None
        Names of the columns to learn from; ``None`` for all others. They must be numbers; missing
        values are NaN.
    params : dict, default=None
        LightGBM's parameters for the Dataset, e.g. ``{"max_bin": 63}``.
    reference : lightgbm.Dataset, default=None
        The training Dataset, if this is for validation.
    batch_rows : int, default=65536
        Rows in memory at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking, stream_parquet
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> columns = {f"f{j}": data.X[:, j] for j in range(data.X.shape[1])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "train.parquet"
    ...     table = pa.table({"label": data.y, "qid": data.qid, **columns})
    ...     pq.write_table(table, path, row_group_size=500)
    ...     ranker = Ranker(n_estimators=5).fit(stream_parquet(path))
    >>> ranker.feature_names_in_[:2]
    array(['f0', 'f1'], dtype=object)
    """
    rows = ParquetRows(_several(path), (label, qid, weight), features, batch_rows)
    group, layout = _group_of(rows.column(qid))
    return lgb.Dataset(
        RowStream(rows.blocks, rows.n_rows),
        check_labels(rows.column(label), layout),
        group=group,
        weight=None if weight is None else check_weights(rows.column(weight), layout),
        feature_name=rows.features,
        params=dict(params or {}),
        reference=reference,
    )


def stream_letor(
    path: Paths,
    *,
    dtype: DTypeLike = np.float32,
    missing: float = 0.0,
    n_features: int | None = None,
    zero_based: bool = False,
    params: Mapping[str, Any] | None = None,
    reference: lgb.Dataset | None = None,
    n_jobs: int | None = None,
) -> lgb.Dataset:
    """Return a LightGBM Dataset of LETOR text, without ever holding all features.

    The text is read three times: for labels and queries, for the sample that bins are made of, and
    to fill the bins. The Dataset is the one that :func:`load_letor` and ``lightgbm.Dataset`` make.

    Parameters
    ----------
    path, dtype, missing, n_features, zero_based, n_jobs :
        As in :func:`load_letor`.
    params : dict, default=None
        LightGBM's parameters for the Dataset, e.g. ``{"max_bin": 63}``.
    reference : lightgbm.Dataset, default=None
        The training Dataset, if this is for validation; ``n_features`` is then its number.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gbrank import Ranker
    >>> from gbrank.data import dump_letor, make_ranking, stream_letor
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "train.txt"
    ...     dump_letor(data.X, data.y, data.qid, path)
    ...     ranker = Ranker(n_estimators=5).fit(stream_letor(path))
    >>> ranker.n_features_in_
    20
    """
    if reference is not None and n_features is None:
        n_features = reference.construct().num_feature()
    options = replace(
        check_options(False, dtype, missing, n_features, zero_based, False), limited=True
    )
    n_threads, paths = resolve_n_jobs(n_jobs), files_of(path)
    labels, qid, width = count_letor(paths, options, n_threads)
    group, layout = _group_of(qid)
    return lgb.Dataset(
        RowStream(lambda: letor_blocks(paths, options, n_threads, width), len(qid)),
        check_labels(labels, layout),
        group=group,
        params=dict(params or {}),
        reference=reference,
    )


def letor_to_binary(
    path: Paths,
    target: str | os.PathLike[str],
    *,
    dtype: DTypeLike = np.float32,
    missing: float = 0.0,
    n_features: int | None = None,
    zero_based: bool = False,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> None:
    """Turn LETOR text into a file that ``lightgbm.Dataset(target)`` opens at once.

    Features are never all in memory: see :func:`stream_letor`. The file is replaced in one step.

    Parameters
    ----------
    path, dtype, missing, n_features, zero_based, params, n_jobs :
        As in :func:`stream_letor`.
    target : str or path
        The file to write; its folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import lightgbm as lgb
    >>> from gbrank import Ranker
    >>> from gbrank.data import dump_letor, letor_to_binary, make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text, binary = Path(folder) / "train.txt", Path(folder) / "train.bin"
    ...     dump_letor(data.X, data.y, data.qid, text)
    ...     letor_to_binary(text, binary)
    ...     ranker = Ranker(n_estimators=5).fit(lgb.Dataset(binary))
    >>> ranker.n_features_in_
    20
    """
    target = Path(target)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of target does not exist: {target.parent}")
    dataset = stream_letor(
        path,
        dtype=dtype,
        missing=missing,
        n_features=n_features,
        zero_based=zero_based,
        params={"verbosity": -1, **(params or {})},
        n_jobs=n_jobs,
    )
    # LightGBM does not write over a file, and leaves half of one behind when the disk is full.
    unfinished = target.with_name(f".gbrank-{secrets.token_hex(8)}.tmp")
    with removed_if_ended(unfinished):
        dataset.construct().save_binary(unfinished)
        unfinished.replace(target)


def _several(path: Paths) -> list[Path]:
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("path must name at least one file, got none")
    return [check_file(each) for each in paths]


def _group_of(qid: Any) -> tuple[IntArray, QueryLayout]:
    """Return the number of rows of each query; refuse queries whose rows are not together."""
    layout = QueryLayout.from_qid(qid)
    if layout.order is not None:
        # the first row that sorting would move away from its place stands before a straggler
        row = int(layout.order[int(np.argmax(layout.order != np.arange(layout.n_rows)))])
        raise ValueError(
            f"the rows of a query must follow each other, but {layout.describe_row(row)} comes "
            "after rows of other queries: sort the data by query, or load them into memory"
        )
    return layout.sizes, layout
