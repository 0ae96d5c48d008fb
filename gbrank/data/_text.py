"""Text files, compressed or not, as blocks of whole lines."""

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

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
        return name, bz2.BZ2File(file, "rb")
    if name == "xz":
        return name, lzma.LZMAFile(file, "rb")
    if name == "zstd":
        return name, _zstd_to_read(file)
    return name, file


@contextlib.contextmanager
def compressing(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """Give a file that takes bytes and compresses them into ``file`` as a suffix says."""
    stream = _compressor(file, suffix)
    if stream is None:
        yield file
    else:
        with stream:
            yield stream


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
        return _zstandard().ZstdCompressor().stream_writer(file, closefd=False)
    return zstd.ZstdFile(file, "wb")


def _zstd_to_read(file: IO[bytes]) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
    except ImportError:
        return _ZstdStream(file)
    return zstd.ZstdFile(file, "rb")


def _zstandard() -> Any:
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError(
            'zst files need the zstandard package: pip install "gbrank[zstd]"'
        ) from error
    return zstandard


class _ZstdStream(io.RawIOBase):
    """Zstandard frames, one after the other; a frame cut short is an error, not an end."""

    _CHUNK = 1 << 14

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decompressor = _zstandard().ZstdDecompressor()
        self._frame: Any = None
        self._compressed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            if not self._compressed:
                self._compressed = self._file.read(self._CHUNK)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                return 0
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            self._ready = memoryview(self._frame.decompress(self._compressed))
            self._compressed = b""
            if self._frame.eof:
                self._compressed = self._frame.unused_data
                self._frame = None
        n_bytes = min(len(target), len(self._ready))
        target[:n_bytes] = self._ready[:n_bytes]
        self._ready = self._ready[n_bytes:]
        return n_bytes
