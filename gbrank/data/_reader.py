"""Reads LETOR files: blocks of lines are cut into parts, a thread parses each into the table."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import FloatArray, IntArray, share_pieces
from gbrank.data import _parser
from gbrank.data._decimal import nearest_float
from gbrank.data._table import RowTable
from gbrank.data._text import LineBlocks

#: Bytes of a block per thread, and of all threads together.
_BYTES_PER_THREAD = 1 << 21
_MOST_BLOCK_BYTES = 1 << 24
#: Fewer bytes are not worth a thread.
_FEWEST_BYTES = 1 << 16

#: A feature number above this is taken for a mistake in a dense result, unless announced.
MOST_DENSE_COLUMNS = 1_000_000
_MOST_SPARSE_COLUMNS = 2**31 - 1
#: Bytes that a dense table may take: so many, or so many times those of the text.
_ALWAYS_BYTES = 1 << 28
_BYTES_PER_TEXT = 256

_LONGEST_EXCERPT = 40
_LINE_FEED, _COLON = ord("\n"), ord(":")


@dataclass(frozen=True)
class ReadOptions:
    """What to make of the text."""

    single: bool = True
    sparse: bool = False
    missing: float = 0.0
    n_features: int | None = None
    zero_based: bool = False
    comments: bool = False
    limited: bool = True
    may_be_sparse: bool = False

    @property
    def most_columns(self) -> int:
        """How many columns may be named."""
        if self.n_features is not None:
            return self.n_features
        return _MOST_SPARSE_COLUMNS if self.sparse else MOST_DENSE_COLUMNS


class TooWideError(ValueError):
    """A dense table would be absurdly large for the text that it comes from."""


class Width:
    """The widest line so far, over all files, and whether a dense table of its width is sane."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._item_bytes = 4 if options.single else 8
        self._columns = 0
        self._place = ""
        self.text_bytes = 0

    def note(self, columns: int, path: Path, line: int) -> None:
        """Remember where the largest feature stands."""
        self._columns, self._place = columns, f"{path}, line {line}"

    def check(self, n_rows: int, n_columns: int) -> None:
        """Raise an error that names line and feature if so many rows and columns are too many."""
        n_bytes = n_rows * n_columns * self._item_bytes
        most = max(_ALWAYS_BYTES, _BYTES_PER_TEXT * self.text_bytes)
        if not self._options.limited or self._options.sparse or n_bytes <= most:
            return
        feature = self._columns - (1 if self._options.zero_based else 0)
        raise TooWideError(
            f"{self._place or 'these data'}: feature {feature} makes {n_rows} rows or more of "
            f"{n_columns} columns, {n_bytes / 2**30:.1f} GiB for {self.text_bytes / 2**20:.1f} MiB "
            "of text; if it is meant, load_letor(..., sparse=True) reads it"
        )


@dataclass
class _Part:
    """Whole lines of a block that one thread reads, and what came of it."""

    begin: int
    end: int
    n_lines: int
    n_colons: int = 0
    first_row: int = 0
    first_value: int = 0
    status: int = _parser.DONE
    position: int = 0
    n_rows: int = 0
    n_values: int = 0
    n_columns: int = 0
    n_hard: int = 0
    hard: IntArray = field(default_factory=lambda: np.empty((16, 3), dtype=np.int64))
    comments: IntArray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))

    def parse(self, text: NDArray[np.uint8], table: RowTable, options: ReadOptions) -> None:
        if options.comments:
            self.comments = np.empty((self.n_lines, 2), dtype=np.int64)
        while True:
            (
                self.status,
                self.position,
                self.n_rows,
                self.n_values,
                self.n_columns,
                self.n_hard,
            ) = _parser.parse_lines(
                text,
                np.uintp(self.begin),
                np.uintp(self.end),
                options.single,
                0 if options.zero_based else 1,
                options.most_columns,
                table.width,
                options.missing,
                *table.room(self.first_row, self.n_lines, self.first_value, self.n_colons),
                self.comments,
                self.hard,
            )
            if self.n_hard <= len(self.hard):
                return
            self.hard = np.empty((self.n_hard, 3), dtype=np.int64)


class FileReader:
    """Reads one file into a table that may hold rows of other files already."""

    def __init__(
        self,
        path: Path,
        table: RowTable,
        comments: list[str],
        options: ReadOptions,
        n_threads: int,
        width: Width,
    ) -> None:
        self.path = path
        self.width = width
        self.table = table
        self.comments = comments
        self.options = options
        self.n_threads = n_threads
        self.n_columns = 0
        self.n_lines = 0

    def read(self, progress: Any) -> None:
        """Add the rows of the whole file."""
        n_bytes = 0
        block_size = min(_BYTES_PER_THREAD * self.n_threads, _MOST_BLOCK_BYTES)
        with LineBlocks(self.path, block_size) as blocks:
            blocks.read()
            is_last = False
            while not is_last:
                blocks.turn()
                is_last = blocks.is_last
                if progress is not None:
                    progress.update(blocks.n_bytes_read - n_bytes)
                n_bytes = blocks.n_bytes_read
                self.read_block(blocks, blocks.size / max(n_bytes, 1), is_last)

    def read_block(self, blocks: LineBlocks, growth: float, is_last: bool) -> None:
        """Add the rows of a block; ``growth`` is the size of the file by what has been read."""
        parts = self._cut(blocks)
        table = self.table
        n_lines = sum(part.n_lines for part in parts)
        self.width.text_bytes += blocks.end
        self.width.check(table.n_rows + n_lines, max(table.width, 0))
        table.reserve(n_lines, sum(part.n_colons for part in parts), growth)
        row, value = table.n_rows, table.n_values
        for part in parts:
            part.first_row, part.first_value = row, value
            row += part.n_lines
            value += part.n_colons

        if table.width == 0:
            self._widen_for_first_lines(blocks, table.n_rows + n_lines)
        self._parse(parts, blocks, read_on=not is_last)
        self._raise_first_error(parts, blocks.text)
        self.n_columns = max(self.n_columns, *(part.n_columns for part in parts))
        if not table.is_sparse and self.n_columns > table.width:
            self._widen(blocks, table.n_rows + n_lines)
            self._parse(parts, blocks, read_on=False)
        for part in parts:
            self._solve_hard_values(part, blocks.text)
            table.append(part.first_row, part.n_rows, part.first_value, part.n_values)
            self._keep_comments(part, blocks.text)
            self.n_lines += part.n_lines

    def _cut(self, blocks: LineBlocks) -> list[_Part]:
        n_parts = max(1, min(self.n_threads, blocks.end // _FEWEST_BYTES))
        cuts = [0]
        for part in range(1, n_parts):
            cuts.append(blocks.find_line_end(max(cuts[-1], blocks.end * part // n_parts) - 1))
        cuts.append(blocks.end)
        parts = []
        for begin, end in itertools.pairwise(cuts):
            lines = blocks.text[begin:end]
            n_colons = np.count_nonzero(lines == _COLON) if self.table.is_sparse else 0
            n_lines = np.count_nonzero(lines == _LINE_FEED)
            parts.append(_Part(begin, end, int(n_lines), int(n_colons)))
        return parts

    def _widen(self, blocks: LineBlocks, n_rows: int) -> None:
        """Make room for ``n_columns``, unless that is absurd for so many rows."""
        feature = self.n_columns - (1 if self.options.zero_based else 0)
        text = blocks.text[: blocks.end].tobytes()
        found = re.search(rb"[ \t]0*%d:" % feature, text)
        line = self.n_lines + 1 + text.count(b"\n", 0, found.start() if found else 0)
        self.width.note(self.n_columns, self.path, line)
        self.width.check(n_rows, self.n_columns)
        self.table.widen(self.n_columns)

    def _widen_for_first_lines(self, blocks: LineBlocks, n_rows: int) -> None:
        """Look at a few lines only: what is too wide for the table has to be read again."""
        if blocks.end and self.options.n_features is None:
            end = blocks.find_line_end(min(_FEWEST_BYTES, blocks.end) - 1)
            part = _Part(0, end, int(np.count_nonzero(blocks.text[:end] == _LINE_FEED)))
            part.parse(blocks.text, self.table, self.options)
            if part.n_columns:
                self.n_columns = max(self.n_columns, part.n_columns)
                self._widen(blocks, n_rows)

    def _parse(self, parts: list[_Part], blocks: LineBlocks, read_on: bool) -> None:
        """Parse all parts and, at the same time if there are threads, read the next block."""

        def work(_: int, task: int) -> None:
            if task == len(parts):
                blocks.read()
            else:
                parts[task].parse(blocks.text, self.table, self.options)

        n_tasks = len(parts) + read_on
        share_pieces(work, n_tasks, n_tasks if self.n_threads > 1 else 1)

    def _raise_first_error(self, parts: list[_Part], text: NDArray[np.uint8]) -> None:
        n_lines = self.n_lines
        for part in parts:
            for begin, end, place in part.hard[: part.n_hard]:
                if place < 0 and not np.isfinite(nearest_float(_decode(text[begin:end]), False)):
                    self._raise_error(_parser.BAD_LABEL, part, begin, text, n_lines)
            if part.status != _parser.DONE:
                self._raise_error(part.status, part, part.position, text, n_lines)
            n_lines += part.n_lines

    def _raise_error(
        self, status: int, part: _Part, position: int, text: NDArray[np.uint8], n_lines: int
    ) -> None:
        line = n_lines + 1 + int(np.count_nonzero(text[part.begin : position] == _LINE_FEED))
        problem = _describe(status, _token(text, position), self.options)
        too_wide = status == _parser.INDEX_TOO_LARGE and self.options.n_features is None
        error = TooWideError if too_wide and not self.options.sparse else ValueError
        raise error(f"{self.path}, line {line}: {problem}")

    def _solve_hard_values(self, part: _Part, text: NDArray[np.uint8]) -> None:
        values, _, _, labels, _ = self.table.room(
            part.first_row, part.n_lines, part.first_value, part.n_colons
        )
        for begin, end, place in part.hard[: part.n_hard]:
            number = _decode(text[begin:end])
            if place < 0:
                labels[-1 - place] = nearest_float(number, single=False)
            else:
                values[place] = nearest_float(number, single=self.options.single)

    def _keep_comments(self, part: _Part, text: NDArray[np.uint8]) -> None:
        for begin, end in part.comments[: part.n_rows].tolist():
            self.comments.append(_decode(text[begin:end]).strip(" \t\r"))


def read_files(
    paths: Sequence[Path], options: ReadOptions, n_threads: int, progress: Any = None
) -> tuple[Any, FloatArray, IntArray, list[str]]:
    """Return X, y, qid and the comments of files read one after the other.

    ``progress`` is a tqdm bar, or anything with its ``update(n_bytes)``, or ``None``.
    """
    n_columns = options.n_features or 0
    table = RowTable(
        np.float32 if options.single else np.float64,
        -1 if options.sparse else n_columns,
        options.missing,
    )
    comments: list[str] = []
    width = Width(options)
    for path in paths:
        n_rows = table.n_rows
        file = FileReader(path, table, comments, options, n_threads, width)
        file.read(progress)
        if table.n_rows == n_rows:
            raise ValueError(f"{path} holds no documents")
        n_columns = max(n_columns, file.n_columns)
    return *table.finish(n_columns), comments


def _decode(text: NDArray[np.uint8]) -> str:
    # Bytes that are no UTF-8 survive a round trip.
    return text.tobytes().decode("utf-8", errors="surrogateescape")


def _token(text: NDArray[np.uint8], position: int) -> str:
    """Return the token at a position as it may be shown to people."""
    excerpt = text[position : position + 4 * _LONGEST_EXCERPT].tobytes()
    line = excerpt.split(b"\n")[0].split(b"#")[0].decode("utf-8", errors="backslashreplace")
    token = (line.split(" ")[0].split("\t")[0]).rstrip("\r")
    return token if len(token) <= _LONGEST_EXCERPT else token[:_LONGEST_EXCERPT] + "..."


def _describe(status: int, token: str, options: ReadOptions) -> str:
    index, _, value = token.partition(":")
    got = repr(token) if token else "the end of the line"
    if status == _parser.BAD_LABEL:
        return f"expected a finite number, the label, got {got}"
    if status == _parser.NO_QID:
        return f"expected qid: and the number of the query after the label, got {got}"
    if status == _parser.BAD_QID:
        return f"expected an integer of 64 bits after qid:, got {value!r}"
    if status == _parser.BAD_FEATURE:
        return f"expected feature:value, got {got}"
    if status == _parser.INDEX_TOO_SMALL:
        return f"features count from 1, got {got}; if they count from 0, set zero_based=True"
    if status == _parser.INDEX_NOT_ASCENDING:
        return f"features must come in ascending order, each once, got {got} after a larger one"
    if status == _parser.INDEX_TOO_LARGE:
        if options.n_features is not None:
            return f"feature {index} is beyond n_features={options.n_features}"
        remedy = "" if options.sparse else "; if it is meant, set sparse=True or n_features"
        return f"feature {index} is beyond {options.most_columns}, the most there can be{remedy}"
    return f"the value of feature {index} must be a number, got {value!r}"
