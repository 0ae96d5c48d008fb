"""Files that are either the old one or the new one, whatever happens while they are written."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to ``path`` so that nobody ever sees, or keeps, half of it.

    The bytes go to a new file in the same folder, are forced to disk, and then take the name in
    one step. If anything fails, the file that was there before is untouched. A link is followed;
    the permissions of an existing file are kept.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gbrank.core.files import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(pathlib.Path(folder) / "a.txt", b"abc")
    ...     pathlib.Path(folder, "a.txt").read_bytes()
    b'abc'
    """
    with atomic_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write that takes its name at the end, as :func:`write_atomically` does."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder, not a file")
    if target.exists() and not target.is_file():
        raise ValueError(f"{os.fspath(path)} is a device or a pipe: only a file can be replaced")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)} does not exist")
    temporary = target.parent / f".gbrank-{secrets.token_hex(8)}.tmp"
    # Opened here and not by tempfile, whose files only their owner may read.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode)
        os.replace(temporary, target)  # noqa: PTH105 - the one call that names the guarantee
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Force the new name to disk too, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError:  # some network folders cannot; the file itself is complete either way
        pass
    finally:
        os.close(handle)
