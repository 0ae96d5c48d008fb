"""Parsed files on disk, ready to be mapped into memory.

A cache file is a header and raw arrays, nothing that could run: the header is JSON and may only
name plain numbers. It counts as valid if the header and all arrays have the checksums noted when it
was written, and the sources the sizes and times; else it is as if it did not exist. It is written
under another name first, so that it is never seen half done.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gbrank
from gbrank.core import atomic_file, kernel
from gbrank.data._reader import ReadOptions

_MAGIC = b"gbrankL1"
_PREFIX_BYTES = len(_MAGIC) + 8 + 32  # the magic, the length of the header, its SHA-256
_ALIGNMENT = 64
_LONGEST_HEADER = 1 << 24
_TYPES = {"<f4", "<f8", "<i4", "<i8", "|u1"}

Arrays = dict[str, NDArray[Any]]


class ParsedFiles:
    """The cache file of some sources, read with some options.

    Its name depends on the paths and the options: when a source changes, its cache file is
    replaced.
    """

    def __init__(self, folder: Path, sources: list[Path], options: ReadOptions) -> None:
        paths = [str(path.resolve()) for path in sources]
        status = [path.stat() for path in sources]
        self._key = {
            "gbrank": gbrank.__version__,
            "options": {name: repr(value) for name, value in asdict(options).items()},
            "sources": [
                [path, file.st_size, file.st_mtime_ns]
                for path, file in zip(paths, status, strict=True)
            ],
        }
        name = json.dumps([paths, self._key["options"]])
        digest = hashlib.sha256(name.encode("utf-8", errors="surrogateescape")).hexdigest()
        self.path = folder / f"{sources[0].name}-{digest[:16]}.cache"

    def load(self) -> Arrays | None:
        """Return the arrays, mapped copy-on-write, or ``None`` if there is no valid cache."""
        try:
            return self._load()
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _load(self) -> Arrays | None:
        with self.path.open("rb") as file:
            prefix = file.read(_PREFIX_BYTES)
            length = int.from_bytes(prefix[len(_MAGIC) : len(_MAGIC) + 8], "little")
            if not prefix.startswith(_MAGIC) or length > _LONGEST_HEADER:
                return None
            text = file.read(length)
        if hashlib.sha256(text).digest() != prefix[len(_MAGIC) + 8 :]:
            return None
        header = json.loads(text)
        if header["key"] != self._key:
            return None
        # Written to by whoever likes, in memory only.
        content: NDArray[np.uint8] = np.asarray(np.memmap(self.path, dtype=np.uint8, mode="c"))
        offset = _round_up(_PREFIX_BYTES + length)
        arrays = {}
        for name, dtype, shape, checksum in header["arrays"]:
            if dtype not in _TYPES:
                return None
            n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            piece = content[offset : offset + n_bytes]
            if len(piece) != n_bytes or _checksum(piece) != checksum:
                return None
            arrays[name] = piece.view(dtype).reshape(shape)
            offset += _round_up(n_bytes)
        return arrays

    def save(self, arrays: Arrays) -> None:
        """Write the arrays; raises OSError where that is not possible."""
        header = {
            "key": self._key,
            "arrays": [
                [name, array.dtype.str, array.shape, _checksum(_as_bytes(array))]
                for name, array in arrays.items()
            ],
        }
        text = json.dumps(header).encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.path) as file:
            file.write(_MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest())
            file.write(text.ljust(_round_up(_PREFIX_BYTES + len(text)) - _PREFIX_BYTES, b"\0"))
            for array in arrays.values():
                file.write(_as_bytes(array).data)
                file.write(bytes(_round_up(array.nbytes) - array.nbytes))


def _round_up(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _checksum(content: NDArray[np.uint8]) -> int:
    n_words = len(content) // 8
    rest = int.from_bytes(content[8 * n_words :].tobytes(), "little")
    total = int(_weighted_sum(content[: 8 * n_words].view(np.uint64)))
    return (total + rest * (2 * n_words + 1)) % 2**64


@kernel()
def _weighted_sum(words):
    """Sum of words times odd numbers, modulo 2^64: no single word can change unnoticed."""
    total = np.uint64(0)
    weight = np.uint64(1)
    for word in words:
        total += word * weight
        weight += np.uint64(2)
    return total
