"""Reads LETOR files into arrays: blocks of lines go to threads, their rows to where they belong."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.data import _parser
from gbrank.data._decimal import nearest_float
from gbrank.data._text import LineBlocks
from gbrank.layout import FloatArray, IntArray
from gbrank.parallel import run_blocks

#: A block has this many bytes per thread, and all threads together no more than the second number.
_BYTES_PER_THREAD = 1 << 22
_MOST_BLOCK_BYTES = 1 << 24
#: Fewer bytes are not worth a thread.
_FEWEST_BYTES = 1 << 16
#: A larger feature number in a dense result is taken for a mistake unless ``n_features`` allows it.
MOST_DENSE_COLUMNS = 1_000_000
_MOST_SPARSE_COLUMNS = 2**31 - 1
_LONGEST_EXCERPT = 40


@dataclass(frozen=True)
class ReadOptions:
    """What to make of the text."""

    single: bool
    sparse: bool
    missing: float
    n_features: int | None
    first_index: int
    comments: bool

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:
        """Type of the features."""
        return np.float32 if self.single else np.float64

    @property
    def most_columns(self) -> int:
        """Number of columns that may be named."""
        if self.n_features is not None:
            return self.n_features
        return _MOST_SPARSE_COLUMNS if self.sparse else MOST_DENSE_COLUMNS


@dataclass
class _Part:
    """Whole lines of a block that one thread reads, and what came of it."""

    begin: int
    end: int
    n_lines: int
    n_colons: int
    first_row: int = 0
    first_value: int = 0
    status: int = _parser.DONE
    position: int = 0
    n_rows: int = 0
    n_values: int = 0
    n_columns: int = 0
    hard: IntArray = field(default_factory=lambda: np.empty((16, 3), dtype=np.int64))
    n_hard: int = 0
    comments: IntArray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))


class LetorReader:
    """Reads files one after the other; ``values`` and the others grow in place.

    Arrays are resized where they lie, which on most systems copies nothing: a result never exists
    twice. No view of them is kept from one block to the next.
    """

    def __init__(self, options: ReadOptions, n_threads: int) -> None:
        self.options = options
        self.n_threads = n_threads
        self.n_rows = 0
        self.n_values = 0
        self.n_columns = options.n_features or 0
        self.values = np.empty(0, dtype=options.dtype)
        self.columns = np.empty(0, dtype=np.int32)
        self.row_ends = np.empty(0, dtype=np.int64)
        self.labels = np.empty(0, dtype=np.float64)
        self.qids = np.empty(0, dtype=np.int64)
        self.comments: list[str] = []
        self._width = -1 if options.sparse else self.n_columns

    def read_files(self, paths: Sequence[Path], progress: Any = None) -> None:
        """Read all files, and cut the arrays to their final size.

        ``progress`` is a tqdm bar, or anything with its ``update(n_bytes)``, or ``None``.
        """
        for path in paths:
            n_rows = self.n_rows
            self._read_file(path, progress)
            if self.n_rows == n_rows:
                raise ValueError(f"{path}: holds no documents")
        if not self.options.sparse:
            self.n_values = self.n_rows * self._width
            self.n_columns = self._width
        self._resize(self.n_rows, self.n_values)

    def _read_file(self, path: Path, progress: Any) -> None:
        block_size = min(_BYTES_PER_THREAD * self.n_threads, _MOST_BLOCK_BYTES)
        n_lines = 0
        n_bytes = 0
        first_row, first_value = self.n_rows, self.n_values
        with LineBlocks(path, block_size) as blocks:
            blocks.read()
            while True:
                blocks.turn()
                if progress is not None:
                    progress.update(blocks.n_bytes_read - n_bytes)
                n_bytes = blocks.n_bytes_read
                if blocks.end == 0:
                    return
                parts = self._cut(blocks)
                self._make_room(parts, blocks.size / max(n_bytes, 1), first_row, first_value)
                self._parse(parts, blocks, read_on=True)
                n_lines = self._refuse_errors(parts, blocks, n_lines)
                needed = max(part.n_columns for part in parts)
                if not self.options.sparse and needed > self._width:
                    self._widen(needed)
                    self._parse(parts, blocks, read_on=False)
                self.n_columns = max(self.n_columns, needed)
                self._append(parts, blocks)

    def _cut(self, blocks: LineBlocks) -> list[_Part]:
        n_parts = max(1, min(self.n_threads, blocks.end // _FEWEST_BYTES))
        cuts = [0]
        for part in range(1, n_parts):
            cuts.append(blocks.find_line_end(max(cuts[-1], blocks.end * part // n_parts) - 1))
        cuts.append(blocks.end)
        parts = []
        for begin, end in zip(cuts, cuts[1:], strict=False):
            lines = blocks.text[begin:end]
            n_lines = int(np.count_nonzero(lines == ord("\n")))
            n_colons = int(np.count_nonzero(lines == ord(":"))) if self.options.sparse else 0
            parts.append(_Part(begin, end, n_lines, n_colons))
        return parts
