"""Trials in one SQLite file: killed at any point, resumed, shared by several processes.

Every change is one transaction, so that a file always holds whole trials. A trial belongs to a
worker from its claim to its end. The claim of a worker that is gone, because its process is, or
because it has not been heard of for long, falls to the next one, with the same point.
"""

import ast
import contextlib
import json
import os
import platform
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gbrank.core import FloatArray, check_file
from gbrank.tuning.trials import FINISHED, RUNNING, Trial

#: Seconds without a sign of life after which another worker takes over.
PATIENCE = 120.0
#: Seconds between signs of life.
BEAT = 5.0
_COLUMNS = "point, state, value, error, n_folds, n_trees, seconds, query_values, scores, note"
_TABLES = """
CREATE TABLE IF NOT EXISTS search (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trials (
    number INTEGER PRIMARY KEY, point TEXT, state TEXT NOT NULL, value REAL, error REAL,
    n_folds INTEGER NOT NULL DEFAULT 0, n_trees TEXT NOT NULL DEFAULT '[]',
    seconds REAL NOT NULL DEFAULT 0, query_values BLOB, scores BLOB,
    note TEXT NOT NULL DEFAULT '', worker TEXT NOT NULL, beat REAL NOT NULL
);
"""


class Worker:
    """Who claims trials: a process, and which of its searches."""

    def __init__(self) -> None:
        self.name = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"

    @staticmethod
    def is_gone(name: str, beat: float) -> bool:
        """Return whether a worker no longer works, by its name and its last sign of life."""
        if time.time() - beat > PATIENCE:
            return True
        host, pid, _ = name.rsplit(":", 2)
        if host != platform.node() or int(pid) == os.getpid():
            return False
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except OSError:  # it is somebody else's, or the system cannot tell
            return False
        return False


class FileStorage:
    """Trials in a SQLite file, or in memory.

    Parameters
    ----------
    path : of the file, which is made if it does not exist; ``None`` for memory.
    search : what makes searches comparable, by name: of another search, a file is an error.
    """

    def __init__(self, path: str | os.PathLike[str] | None, search: dict[str, str]) -> None:
        self.worker = Worker()
        self._known: dict[int, Trial] = {}
        self._path = ":memory:" if path is None else os.fspath(path)
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise FileNotFoundError(f"the folder of {self._path} does not exist")
        if path is not None and Path(path).exists():
            check_file(path)
        try:
            self._file = sqlite3.connect(self._path, timeout=60.0, isolation_level=None)
            self._file.executescript(_TABLES)
            with self._transaction():
                known = dict(self._file.execute("SELECT name, value FROM search"))
                if not known:
                    self._file.executemany("INSERT INTO search VALUES (?, ?)", search.items())
        except sqlite3.DatabaseError as error:
            raise ValueError(f"storage {self._path} holds no trials: {error}") from error
        check_same_search(self._path, known, search)

    def claim(self, n_trials: int | None) -> tuple[int, dict[str, Any] | None] | None:
        """Return the number of a trial to run, and its point if it was begun before.

        ``None`` if there are as many trials as there should be.
        """
        with self._transaction():
            rows = self._file.execute("SELECT number, state, point, worker, beat FROM trials")
            found = rows.fetchall()
            for number, state, point, worker, beat in found:
                if state == RUNNING and Worker.is_gone(worker, beat):
                    self._file.execute(
                        "UPDATE trials SET worker = ?, beat = ? WHERE number = ?",
                        (self.worker.name, time.time(), number),
                    )
                    return number, None if point is None else json.loads(point)
            number = max((row[0] for row in found), default=-1) + 1
            if n_trials is not None and number >= n_trials:
                return None
            self._file.execute(
                "INSERT INTO trials (number, state, worker, beat) VALUES (?, ?, ?, ?)",
                (number, RUNNING, self.worker.name, time.time()),
            )
        return number, None

    def begin(self, number: int, point: dict[str, Any]) -> None:
        """Write down what a claimed trial tries."""
        self._file.execute(
            "UPDATE trials SET point = ? WHERE number = ? AND worker = ?",
            (json.dumps(point), number, self.worker.name),
        )

    def beat(self, number: int) -> None:
        """Give a sign of life."""
        self._file.execute(
            "UPDATE trials SET beat = ? WHERE number = ? AND worker = ?",
            (time.time(), number, self.worker.name),
        )

    def end(self, trial: Trial) -> bool:
        """Keep a finished trial; ``False`` if another worker has taken it over."""
        row = (
            trial.state,
            trial.value,
            trial.error,
            trial.n_folds,
            json.dumps(trial.n_trees),
            trial.seconds,
            pack(trial.query_values),
            pack(trial.scores),
            trial.note,
            trial.number,
            self.worker.name,
        )
        done = self._file.execute(
            "UPDATE trials SET state = ?, value = ?, error = ?, n_folds = ?, n_trees = ?, "
            "seconds = ?, query_values = ?, scores = ?, note = ? WHERE number = ? AND worker = ?",
            row,
        )
        return done.rowcount == 1

    def release(self) -> None:
        """Give up what was claimed and not finished."""
        self._file.execute(
            "UPDATE trials SET beat = 0 WHERE state = ? AND worker = ?", (RUNNING, self.worker.name)
        )

    def trials(self) -> list[Trial]:
        """Return all finished trials, in order; each is read once."""
        try:
            rows = self._file.execute(
                "SELECT number FROM trials WHERE state IN (?, ?, ?)", FINISHED
            )
            for (number,) in rows.fetchall():
                if number not in self._known:
                    self._known[number] = self._read(number)
        except (sqlite3.DatabaseError, ValueError, TypeError, zlib.error) as error:
            raise ValueError(f"storage {self._path} is damaged: {error}") from error
        return [self._known[number] for number in sorted(self._known)]

    def _read(self, number: int) -> Trial:
        query = f"SELECT {_COLUMNS} FROM trials WHERE number = ?"
        row = self._file.execute(query, (number,)).fetchone()
        point, state, value, error, n_folds, n_trees, seconds, values, scores, note = row
        return Trial(
            number,
            json.loads(point),
            state,
            float("nan") if value is None else value,
            float("nan") if error is None else error,
            n_folds,
            json.loads(n_trees),
            seconds,
            unpack(values),
            unpack(scores),
            note,
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")


def check_same_search(where: str, known: dict[str, str], search: dict[str, str]) -> None:
    """Raise a ``ValueError`` if a storage holds trials of another search.

    Parameters
    ----------
    where : what the user calls the storage.
    known : what was searched there; nothing if it is new.
    search : what is to be searched.
    """
    for name, value in search.items():
        if known and known.get(name) != value:
            raise ValueError(
                f"storage {where} holds a search with another {name}: "
                f"{_difference(str(known.get(name)), value)}; give another file"
            )


def _difference(known: str, value: str, most: int = 5) -> str:
    """Return in what two descriptions differ: by name, where they are lists of names and values."""
    try:
        before, now = (dict(ast.literal_eval(each)) for each in (known, value))
    except (ValueError, SyntaxError, TypeError):
        return f"{known}, and not {value}"
    names = sorted(name for name in {**before, **now} if before.get(name) != now.get(name))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def pack(values: FloatArray | None) -> bytes | None:
    """Return numbers as few bytes; single precision will do."""
    return None if values is None else zlib.compress(np.asarray(values, "<f4").tobytes(), 1)


def unpack(packed: bytes | None) -> FloatArray | None:
    """Return what :func:`pack` was given."""
    if packed is None:
        return None
    return np.frombuffer(zlib.decompress(packed), "<f4").astype(np.float64)
