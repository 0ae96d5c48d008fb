"""Text files, compressed or not, as blocks of whole lines."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import atomic_file

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


class LineBlocks:
    """The bytes of a file, a block of whole lines at a time.

    There are two buffers, so that one may be filled by :meth:`read` while the other, ``text`` up to
    ``end``, is in use; :meth:`turn` changes places. The last line always ends with a line feed.

    Attributes
    ----------
    text : uint8 array, of which the first ``end`` bytes are whole lines.
    end : number of those bytes, 0 at the end of the file.
    size : bytes of the file, as it lies on the disk.
    """

    def __init__(self, path: Path, block_size: int) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.end = 0
        self._file = path.open("rb")
        try:
            self.compression, self._stream = _open_stream(self._file)
        except BaseException:
            self._file.close()
            raise
        if not self.compression:
            block_size = min(block_size, self.size + 2)
        self._buffers = [bytearray(block_size), bytearray(block_size)]
        self._filled = 0  # bytes of the first buffer, with the beginning of a line after the end
        self._next_filled = 0
        self._next_end = 0
        self._at_start = True
        self._at_end = False
        self._error: Exception | None = None
        self.text = _as_array(self._buffers[0])

    def __enter__(self) -> "LineBlocks":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._file.close()

    @property
    def is_last(self) -> bool:
        """Whether no block follows the current one; known unless one has been read already."""
        return self._at_end and self._filled == self.end

    @property
    def n_bytes_read(self) -> int:
        """How far the file has been read, as it lies on the disk."""
        return self._file.tell()

    def find_line_end(self, at: int) -> int:
        """Return where the line ends that has byte ``at``: the first byte of the next one."""
        return self._buffers[0].find(b"\n", at, self.end) + 1

    def read(self) -> None:
        """Read the next block into the spare buffer; what fails is told by :meth:`turn`."""
        try:
            self._fill()
        except Exception as error:
            self._error = error

    def turn(self) -> None:
        """Make the block that was read last the current one."""
        if self._error is not None:
            damage = EOFError | OSError | lzma.LZMAError | zlib.error
            is_damage = isinstance(self._error, damage) or type(self._error).__name__ == "ZstdError"
            if self.compression and is_damage:
                raise ValueError(
                    f"{self.path}: the {self.compression} data are damaged: {self._error}"
                ) from self._error
            raise self._error
        self._buffers.reverse()
        self.text = _as_array(self._buffers[0])
        self.end, self._filled = self._next_end, self._next_filled

    def _fill(self) -> None:
        current, spare = self._buffers
        filled = self._filled - self.end
        if filled >= len(spare):
            spare = bytearray(len(current))
        spare[:filled] = memoryview(current)[self.end : self._filled]
        end = 0
        while not self._at_end and end == 0:
            room = len(spare) - 1  # a line feed may have to be added
            if filled == room:  # one line fills the whole buffer
                spare = spare + bytes(len(spare))
                room = len(spare) - 1
            with memoryview(spare) as view:
                while filled < room:
                    n_read = self._stream.readinto(view[filled:room])
                    if not n_read:
                        self._at_end = True
                        break
                    filled += n_read
            end = spare.rfind(b"\n", 0, filled) + 1
        if self._at_end and end < filled:
            spare[filled] = ord("\n")
            end = filled = filled + 1
        if self._at_start:
            self._at_start = False
            if spare.startswith(_BYTE_ORDER_MARK, 0, filled):
                spare[:3] = b"   "
        self._buffers[1] = spare
        self._next_end, self._next_filled = end, filled


def _as_array(buffer: bytearray) -> NDArray[np.uint8]:
    return np.frombuffer(buffer, dtype=np.uint8)


def _open_stream(file: IO[bytes]) -> tuple[str, Any]:
    start = file.read(max(map(len, _MAGIC)))
    file.seek(0)
    name = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
    if name == "gzip":
        return name, gzip.GzipFile(fileobj=file, mode="rb")
    if name == "bzip2":
        return name, _Streams(file, bz2.BZ2Decompressor)
    if name == "xz":
        return name, _Streams(file, lzma.LZMADecompressor, padded=True)
    if name == "zstd":
        return name, _Streams(file, _zstd_decompressor())
    return name, file


@contextlib.contextmanager
def open_to_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write that takes its name only when it is complete, compressed by its suffix.

    Parameters
    ----------
    path : str or path
        Where to write; a name that ends in .gz, .bz2, .xz or .zst is compressed.

    Yields
    ------
    file
        It takes bytes. When the block ends, the file that was there before is replaced in one
        step; if anything fails, it is untouched.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gbrank.data import open_to_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_to_write(pathlib.Path(folder) / "scores.txt") as file:
    ...         _ = file.write(b"0.5")
    ...     pathlib.Path(folder, "scores.txt").read_bytes()
    b'0.5'
    """
    with atomic_file(path) as file:
        stream = _compressor(file, Path(path).suffix.lower())
        with contextlib.nullcontext(file) if stream is None else stream as target:
            yield target


def _compressor(file: IO[bytes], suffix: str) -> Any:
    if suffix == ".gz":
        # Without the name and the time, equal data make equal files.
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(file, "wb")
    return _zstd_to_write(file) if suffix == ".zst" else None


def _zstd_to_write(file: IO[bytes]) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
    except ImportError:
        packer = _zstandard().ZstdCompressor(write_checksum=True)
        return packer.stream_writer(file, closefd=False)
    options = {zstd.CompressionParameter.checksum_flag: 1}
    return zstd.ZstdFile(file, "wb", options=options)


def _zstd_decompressor() -> Callable[[], Any]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
    except ImportError:
        decompressor: Callable[[], Any] = _zstandard().ZstdDecompressor().decompressobj
    else:
        decompressor = zstd.ZstdDecompressor
    return decompressor


def _zstandard() -> Any:
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError(
            'zst files need the zstandard package: pip install "gbrank[zstd]"'
        ) from error
    return zstandard


class _Streams(io.RawIOBase):
    """Compressed streams, one after the other; one that is cut short or damaged is an error.

    Python's own readers of bzip2 and xz take a second stream that they cannot read for the end.
    """

    _CHUNK = 1 << 14
    _MOST_AT_ONCE = 1 << 20

    def __init__(
        self, file: IO[bytes], new_decompressor: Callable[[], Any], padded: bool = False
    ) -> None:
        self._file = file
        self._new_decompressor = new_decompressor
        self._padded = padded  # xz may have zeros, four at a time, between streams
        self._stream: Any = None
        self._compressed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            if self._stream is None and not self._begin_stream():
                return 0
            self._ready = memoryview(self._decompress())
            if self._stream.eof:
                self._compressed = self._stream.unused_data
                self._stream = None
        n_bytes = min(len(target), len(self._ready))
        target[:n_bytes] = self._ready[:n_bytes]
        self._ready = self._ready[n_bytes:]
        return n_bytes

    def _begin_stream(self) -> bool:
        """Start on what follows; return False at the end of the file."""
        n_zeros = 0
        while True:
            self._compressed = self._compressed or self._file.read(self._CHUNK)
            rest = self._compressed.lstrip(b"\0") if self._padded else self._compressed
            n_zeros += len(self._compressed) - len(rest)
            if rest or not self._compressed:
                break
            self._compressed = b""
        if n_zeros % 4:
            raise EOFError(f"{n_zeros} zeros between streams, which must come in fours")
        self._compressed = rest
        if rest:
            self._stream = self._new_decompressor()
        return bool(rest)

    def _decompress(self) -> Any:
        is_bounded = hasattr(self._stream, "needs_input")  # zstandard's is not
        chunk = b""
        if not is_bounded or self._stream.needs_input:
            chunk = self._compressed or self._file.read(self._CHUNK)
            self._compressed = b""
            if not chunk:
                raise EOFError("the last stream is not complete")
        limits = (self._MOST_AT_ONCE,) if is_bounded else ()
        return self._stream.decompress(chunk, *limits)
