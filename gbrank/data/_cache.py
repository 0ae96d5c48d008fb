"""Parsed files on disk, ready to be mapped into memory.

A cache file is a header and raw arrays, nothing that could run: the header is JSON and may only
name plain numbers. It counts as valid if it is a regular file of this user, the header and all
arrays have the checksums noted when it was written and fit together, and the sources are the same
files with the same sizes and times; else it is as if it did not exist. It is written under another
name first, so that it is never seen half done. Nobody else may read it, as the data may be private.

Whoever may write to the folder of the data chooses what lies under the names that are made here, so
links are not followed: neither the folder's, nor the file's, which is replaced itself.
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import gbrank
from gbrank.core import atomic_file, kernel

_MAGIC = b"gbrankL1"
_PREFIX_BYTES = len(_MAGIC) + 8 + 32  # the magic, the length of the header, its SHA-256
_ALIGNMENT = 64
_LONGEST_HEADER = 1 << 24
_TYPES = {"<f4", "<f8", "<i4", "<i8", "|u1"}

Arrays = dict[str, NDArray[Any]]
Result = TypeVar("Result")


class ParsedFiles:
    """The cache file of some sources, read with some options.

    Its name depends on the paths and the options: when a source changes, its cache file is
    replaced. With ``own_folder`` the folder's name too was made here, not given by the user.
    """

    def __init__(
        self, folder: Path, sources: list[Path], options: dict[str, Any], *, own_folder: bool
    ) -> None:
        self._own_folder = own_folder
        paths = [str(path.resolve()) for path in sources]
        status = [path.stat() for path in sources]
        self._key = {
            "gbrank": gbrank.__version__,
            "options": {name: repr(value) for name, value in options.items()},
            "sources": [
                # a copy that keeps size and times has another inode, or another change of it
                [path, file.st_size, file.st_mtime_ns, file.st_ctime_ns, file.st_ino]
                for path, file in zip(paths, status, strict=True)
            ],
        }
        name = json.dumps([paths, self._key["options"]])
        digest = hashlib.sha256(name.encode("utf-8", errors="surrogateescape")).hexdigest()
        self.path = folder / f"{sources[0].name}-{digest[:16]}.cache"

    def load(self, build: Callable[[Arrays], Result]) -> Result | None:
        """Return what is built of the arrays, or ``None`` if there is no valid cache.

        The arrays are mapped: writing to them changes the memory, not the file. ``build`` raises a
        ``ValueError`` where they do not fit together.
        """
        try:
            with self._open() as file:
                arrays = self._load(file)
            return None if arrays is None else build(arrays)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def _open(self) -> IO[bytes]:
        """Open the cache file, if it is a regular file of this user and reached without links."""
        self._check_own_folder()
        if self.path.is_symlink():  # where the system has no O_NOFOLLOW
            raise OSError(f"{self.path} is a link")
        flags = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")]
        handle = os.open(self.path, os.O_RDONLY | sum(flags))
        if not _is_own_file(os.fstat(handle)):
            os.close(handle)
            raise OSError(f"{self.path} is not a regular file of this user")
        return os.fdopen(handle, "rb")

    def _check_own_folder(self) -> None:
        if self._own_folder and self.path.parent.is_symlink():
            raise OSError(f"{self.path.parent} is a link, which is not followed")

    def _load(self, file: IO[bytes]) -> Arrays | None:
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
        content: NDArray[np.uint8] = np.asarray(np.memmap(file, dtype=np.uint8, mode="c"))
        offset = _round_up(_PREFIX_BYTES + length)
        arrays = {}
        for name, dtype, shape, checksum in header["arrays"]:
            if dtype not in _TYPES or not all(type(n) is int and n >= 0 for n in shape):
                return None
            n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
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
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_own_folder()
        old = self.path.lstat() if os.path.lexists(self.path) else None
        if old is not None and not (stat.S_ISLNK(old.st_mode) or _is_own_file(old)):
            raise OSError(f"{self.path} is not a regular file of this user")
        with atomic_file(self.path, follow_links=False, mode=0o600) as file:
            file.write(_MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest())
            file.write(text.ljust(_round_up(_PREFIX_BYTES + len(text)) - _PREFIX_BYTES, b"\0"))
            for array in arrays.values():
                file.write(_as_bytes(array).data)
                file.write(bytes(_round_up(array.nbytes) - array.nbytes))


def _is_own_file(status: os.stat_result) -> bool:
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return stat.S_ISREG(status.st_mode) and own


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
