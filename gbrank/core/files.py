"""Files that are either the old one or the new one, whatever happens while they are written."""

import contextlib
import errno
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

_BINARY = getattr(os, "O_BINARY", 0)  # of Windows


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
def atomic_file(
    path: str | os.PathLike[str], *, follow_links: bool = True, mode: int = 0o666
) -> Iterator[IO[bytes]]:
    """Open a file to write that takes its name at the end, as :func:`write_atomically` does.

    Parameters
    ----------
    path : str or path
        The file.
    follow_links : bool, default=True
        Whether a link stands for the file that it names, as where a user gave the path; else it is
        the link that is replaced.
    mode : int, default=0o666
        Permissions of a new file, less those that the umask takes away; a file that is replaced
        keeps its own.
    """
    target = Path(os.path.realpath(path)) if follow_links else Path(path).absolute()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)} does not exist")
    old = _status(target)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder, not a file")
    if old is not None and not (stat.S_ISREG(old.st_mode) or stat.S_ISLNK(old.st_mode)):
        raise ValueError(f"{os.fspath(path)} is a device or a pipe: only a file can be replaced")
    kept = None if old is None or not follow_links else stat.S_IMODE(old.st_mode)
    unfinished = target.parent / f".gbrank-{secrets.token_hex(8)}.tmp"
    with _new_file(unfinished, mode if kept is None else kept) as (file, is_unnamed):
        # No wider than that of the file from the first byte on, and the same at the end.
        if kept is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), kept)
        yield file
        file.flush()
        os.fsync(file.fileno())
        if not (is_unnamed and old is None and _link(file.fileno(), target)):
            if is_unnamed and not _link(file.fileno(), unfinished):
                raise FileExistsError(f"{unfinished} exists already")
            os.replace(unfinished, target)  # noqa: PTH105 - the one call that names the guarantee
    _sync_folder(target.parent)


def check_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to read, or say in one error why there is none.

    Opening a pipe waits for a writer who may never come, and a device may have no end. A link is
    followed.

    Parameters
    ----------
    path : str or path
        The file.

    Examples
    --------
    >>> from gbrank.core.files import check_file
    >>> check_file(".")
    Traceback (most recent call last):
        ...
    IsADirectoryError: [Errno 21] Is a directory: '.'
    """
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{os.fspath(path)} is a device or a pipe: only a file can be read")
    return Path(path)


@contextlib.contextmanager
def removed_if_ended(path: Path) -> Iterator[None]:
    """Remove a file when the block fails, or when SIGTERM, which runs no ``finally``, ends it."""
    owner = os.getpid()

    def end(number: int, _: Any) -> None:
        if os.getpid() == owner:
            path.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    in_charge = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if in_charge:
        try:
            signal.signal(signal.SIGTERM, end)
        except ValueError:  # the main thread of another interpreter
            in_charge = False
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        if in_charge:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def _new_file(path: Path, mode: int) -> Iterator[tuple[IO[bytes], bool]]:
    """Open a new file and yield it, and whether it has no name yet instead of ``path``.

    Where the system can, it has none: then it is gone with the process, however that ends. It gets
    its last name at once if that is free; to take the place of another file it needs ``path`` for
    the moment between two calls of the system, which has none that does both.
    """
    handle = _open_unnamed(path.parent, mode)
    if handle is None:
        with removed_if_ended(path):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
            with os.fdopen(handle, "wb") as file:
                yield file, False
        return
    with removed_if_ended(path), os.fdopen(handle, "wb") as file:
        yield file, True


def _link(handle: int, path: Path) -> bool:
    """Give a name to an open file that has none; return whether that was free."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # relative to a folder, since only then does os.link follow /proc's link to the file
        os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        return False
    finally:
        os.close(folder)
    return True


def _open_unnamed(folder: Path, mode: int) -> int | None:
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_WRONLY | os.O_TMPFILE, mode)
    except OSError:  # a file system that has no such thing, or a folder that cannot be written
        return None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


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
