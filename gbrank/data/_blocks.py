"""LETOR text a block at a time: what :mod:`gbrank.data._reader` reads whole."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import FloatArray, IntArray
from gbrank.data._reader import FileReader, ReadOptions, Width
from gbrank.data._table import RowTable
from gbrank.data._text import LineBlocks

_BLOCK_BYTES = 1 << 24


def count_letor(
    paths: list[Path], options: ReadOptions, n_threads: int
) -> tuple[FloatArray, IntArray, int]:
    """Return labels, query ids and the number of features."""
    labels, qids, width = [], [], options.n_features or 0
    for X, y, qid in _read_blocks(paths, options, n_threads):
        labels.append(y)
        qids.append(qid)
        width = max(width, X.shape[1])
    return np.concatenate(labels), np.concatenate(qids), width


def letor_blocks(
    paths: list[Path], options: ReadOptions, n_threads: int, width: int
) -> Iterator[NDArray[Any]]:
    """Yield the features, so many columns of them, block by block."""
    options = dataclasses.replace(options, n_features=width)
    for X, _, _ in _read_blocks(paths, options, n_threads):
        yield X


def _read_blocks(
    paths: list[Path], options: ReadOptions, n_threads: int
) -> Iterator[tuple[NDArray[Any], FloatArray, IntArray]]:
    for path in paths:
        n_rows = 0
        file = FileReader(path, _table(options), [], options, n_threads, Width(options))
        with LineBlocks(path, _BLOCK_BYTES) as blocks:
            blocks.read()
            is_last = False
            while not is_last:
                blocks.turn()
                is_last = blocks.is_last
                file.table, file.width.text_bytes = _table(options), 0
                file.read_block(blocks, 1.0, is_last)
                X, labels, qid = file.table.finish(file.n_columns)
                n_rows += len(labels)
                yield X, labels, qid
        if n_rows == 0:
            raise ValueError(f"{path} holds no documents")


def _table(options: ReadOptions) -> RowTable:
    dtype = np.float32 if options.single else np.float64
    return RowTable(dtype, options.n_features or 0, options.missing)
