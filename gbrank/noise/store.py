"""Finished trials: at work in one SQLite file, and kept as one compressed file a preset.

A trial is one transaction, safe against kill -9. Several processes may write to one file; a trial
that two of them ran is kept once. The SQLite file lies in the folder ``work``, which is not under
version control: it is made again from the compressed files next to that folder.
"""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gbrank.core import check_file
from gbrank.noise.archive import SUFFIX, Run, read_archive, write_archive
from gbrank.noise.checks import (
    LONGEST_TEXT,
    UNREADABLE,
    check_name,
    check_no_link,
    check_preset,
    check_result,
    check_run,
)
from gbrank.noise.presets import Preset, restore_preset
from gbrank.noise.trial import Result, Trial

WORK = "work"
FILE = "trials.sqlite"
_SCHEMA = """
create table if not exists runs (
    preset text, data text, fingerprint text, definition text, provenance text,
    primary key (preset, data)
);
create table if not exists trials (
    preset text, data text, setting text, noise text, level real, objective text, trial integer,
    result text not null, queries blob not null, per_query blob not null, seconds real not null,
    primary key (preset, data, setting, noise, level, objective, trial)
);
create table if not exists imported (name text primary key, digest text);
"""


_THEN = "; then "


def join_commands(earlier: str, command: str) -> str:
    """Return the commands that trials come from, one after the other, each of them once."""
    known = earlier.split(_THEN) if earlier else []
    joined = _THEN.join(dict.fromkeys([*known, *([command] if command else [])]))
    return joined if len(joined) <= LONGEST_TEXT else earlier


class StoreError(Exception):
    """The folder cannot be read or written, or holds something else; the message says what."""


class Store:
    """The trials of one results folder."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder, self.path = folder, folder / WORK / FILE
        archives = sorted(folder.glob(f"*{SUFFIX}"))
        if not (create or archives or self.path.is_file()):
            raise StoreError(f"{folder} holds no trials: there is no *{SUFFIX} in it")
        try:
            check_no_link(self.path.parent).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the results folder {folder} cannot be made: {error}") from error
        except ValueError as error:
            raise StoreError(str(error)) from error
        self._check_files_only()
        with self._clear_errors():
            # Waits for other processes; a commit returns when the disk has it.
            self._base = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
            self._check_tables_only()
            self._base.execute("pragma journal_mode=wal")
            self._base.execute("pragma synchronous=full")
            self._base.executescript(_SCHEMA)
        for path in archives:
            self._import(path)

    def _check_files_only(self) -> None:
        """Refuse a link, a pipe or a folder in the place of a file that is opened here."""
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal", "trials.lock"):
            path = self.path.with_name(name)
            try:
                if check_no_link(path).exists():
                    check_file(path)
            except (OSError, ValueError) as error:
                raise StoreError(f"{path} cannot be read or written: {error}") from error

    def _check_tables_only(self) -> None:
        """Refuse a file whose tables are views, or do something when they are written."""
        self._base.execute("pragma trusted_schema=off")
        others = self._base.execute(
            "select type, name from sqlite_master where type not in ('table', 'index')"
        ).fetchall()
        if others:
            raise StoreError(f"{self.path} is no file of trials: it has a {' '.join(others[0])}")

    def _import(self, path: Path) -> None:
        """Take over the trials of a compressed file, once."""
        try:
            digest = hashlib.sha256(check_file(check_no_link(path)).read_bytes()).hexdigest()
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        preset = path.name.removesuffix(SUFFIX)
        with self._clear_errors():
            seen = self._base.execute("select digest from imported where name = ?", (preset,))
            if seen.fetchone() == (digest,):
                return
        try:
            runs = read_archive(path)
            for run in runs:
                check_run(preset, run.data, json.dumps(run.definition), json.dumps(run.provenance))
        except UNREADABLE as error:
            raise StoreError(f"{path}: {error}") from error
        with self._clear_errors():
            self._base.execute("begin immediate")
            try:
                for run in runs:
                    self._import_run(preset, run, path)
                self._note_archive(preset, digest)
            except BaseException:
                self._base.execute("rollback")
                raise
            self._base.execute("commit")

    def _import_run(self, preset: str, run: Run, path: Path) -> None:
        self._base.execute(
            "insert or ignore into runs values (?, ?, ?, ?, ?)",
            (preset, run.data, run.fingerprint, json.dumps(run.definition),
             json.dumps(run.provenance)),
        )  # fmt: skip
        found, definition = self._base.execute(
            "select fingerprint, definition from runs where preset = ? and data = ?",
            (preset, run.data),
        ).fetchone()
        if found != run.fingerprint:
            raise StoreError(
                f"{self.path} holds trials of {preset} on {run.data} of another definition than "
                f"{path}: delete one of them"
            )
        joined = restore_preset(run.definition).joined_with(restore_preset(json.loads(definition)))
        self._base.execute(
            "update runs set definition = ? where preset = ? and data = ?",
            (json.dumps(asdict(joined)), preset, run.data),
        )
        for trial, (result, seconds) in run.results.items():
            self._insert(preset, run.data, trial, result, seconds)

    def _note_archive(self, preset: str, digest: str) -> None:
        self._base.execute("insert or replace into imported values (?, ?)", (preset, digest))

    def export(self) -> None:
        """Write the compressed files, one a preset, next to the work folder."""
        runs: dict[str, list[Run]] = {}
        for preset, data, definition, provenance in self.runs():
            seconds = self.finished(preset, data)
            results = {
                trial: (result, seconds[trial])
                for trial, result in self.results(preset, data).items()
            }
            if results:
                [fingerprint] = self._base.execute(
                    "select fingerprint from runs where preset = ? and data = ?", (preset, data)
                ).fetchone()
                run = Run(data, fingerprint, definition, provenance, results)
                runs.setdefault(preset, []).append(run)
        for preset, mine in runs.items():
            path = self.folder / f"{preset}{SUFFIX}"
            write_archive(path, mine)
            with self._clear_errors():
                self._note_archive(preset, hashlib.sha256(path.read_bytes()).hexdigest())

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path} cannot be read or written: {error}. Trials finished before are kept; "
                "the same command goes on with the others once that is mended"
            ) from error

    @contextmanager
    def _clear_damage(self, what: str) -> Iterator[None]:
        try:
            yield
        except UNREADABLE as error:
            raise StoreError(f"{self.path} is damaged, {what} cannot be read: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def open_run(
        self, preset: Preset, data: str, fingerprint: str, provenance: dict[str, str]
    ) -> dict[str, str]:
        """Note what is run; refuse to mix it with trials of another definition or other data.

        What several commands ask for of one preset is joined, and so are the commands. Returns the
        provenance of the first.
        """
        check_name("the name of a data set", data)
        check_preset(preset)
        mine = f"{preset.fingerprint()}:{fingerprint[:16]}"
        with self._clear_errors():
            self._base.execute(
                "insert or ignore into runs values (?, ?, ?, ?, ?)",
                (preset.name, data, mine, json.dumps(asdict(preset)), json.dumps(provenance)),
            )
            found, earlier, first = self._base.execute(
                "select fingerprint, definition, provenance from runs "
                "where preset = ? and data = ?",
                (preset.name, data),
            ).fetchone()
        if found != mine:
            what = "the preset" if found.split(":")[1] == fingerprint[:16] else "the data"
            raise StoreError(
                f"{self.folder} holds trials of {preset.name} on {data} from before {what} "
                f"changed: choose another --out, or delete {preset.name}{SUFFIX} and {WORK} there"
            )
        joined = json.dumps(asdict(preset.joined_with(restore_preset(json.loads(earlier)))))
        if joined != earlier:
            with self._clear_errors():
                self._base.execute(
                    "update runs set definition = ? where preset = ? and data = ?",
                    (joined, preset.name, data),
                )
        kept: dict[str, str] = json.loads(first)
        commands = join_commands(kept.get("command", ""), provenance.get("command", ""))
        if commands != kept.get("command", ""):
            with self._clear_errors():
                self._base.execute(
                    "update runs set provenance = ? where preset = ? and data = ?",
                    (json.dumps(kept | {"command": commands}), preset.name, data),
                )
        return kept

    def add(self, preset: str, data: str, trial: Trial, result: Result, seconds: float) -> None:
        """Keep one trial; it is on the disk when this returns."""
        with self._clear_errors():
            self._insert(preset, data, trial, result, seconds)

    def _insert(self, preset: str, data: str, trial: Trial, result: Result, seconds: float) -> None:
        facts = {
            "means": result.means,
            "trees": result.trees,
            "curve": result.curve,
            "noise": result.noise,
        }
        self._base.execute(
            "insert or ignore into trials values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                preset,
                data,
                *trial,
                json.dumps(facts),
                zlib.compress(result.queries.astype("<i8").tobytes()),
                zlib.compress(result.values.astype("<f4").tobytes()),
                seconds,
            ),
        )

    def finished(self, preset: str, data: str) -> dict[Trial, float]:
        """Return the seconds that each finished trial took."""
        with self._clear_errors():
            rows = self._base.execute(
                "select setting, noise, level, objective, trial, seconds from trials "
                "where preset = ? and data = ?",
                (preset, data),
            ).fetchall()
        return {Trial(*row[:5]): row[5] for row in rows}

    def has(self, preset: str, data: str, trial: Trial) -> bool:
        """Return whether a trial is finished, perhaps by another process."""
        with self._clear_errors():
            found = self._base.execute(
                "select 1 from trials where preset = ? and data = ? and setting = ? and noise = ? "
                "and level = ? and objective = ? and trial = ?",
                (preset, data, *trial),
            ).fetchone()
        return found is not None

    def runs(self) -> list[tuple[str, str, dict[str, Any], dict[str, str]]]:
        """Return preset name, data set, whole preset and provenance of every run."""
        with self._clear_errors():
            rows = self._base.execute(
                "select preset, data, definition, provenance from runs order by preset, data"
            ).fetchall()
        found = []
        for preset, data, definition, provenance in rows:
            with self._clear_damage(f"{preset!r:.80} on {data!r:.80}"):
                _, facts = check_run(preset, data, definition, provenance)
                found.append((preset, data, json.loads(definition), facts))
        return found

    def results(self, preset: str, data: str) -> dict[Trial, Result]:
        """Return all finished trials of a run, in a fixed order."""
        with self._clear_errors():
            rows = self._base.execute(
                "select setting, noise, level, objective, trial, result, queries, per_query "
                "from trials where preset = ? and data = ? "
                "order by setting, noise, level, objective, trial",
                (preset, data),
            ).fetchall()
        found = {}
        for row in rows:
            with self._clear_damage(f"trial {row[:5]!r:.200} of {preset} on {data}"):
                found[Trial(*row[:5])] = check_result(row[:5], *row[5:])
        return found
