"""Finished trials, kept in one SQLite file: a transaction each, safe against kill -9.

Several processes may write to one file; a trial that two of them ran is kept once.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from noise_robustness.presets import Preset, restore_preset
from noise_robustness.trial import Result, Trial

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
"""


class StoreError(Exception):
    """The folder cannot be read or written, or holds something else; the message says what."""


class Store:
    """The trials of one results folder."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.path = folder / FILE
        if not create and not self.path.is_file():
            raise StoreError(f"{folder} holds no trials: there is no {FILE} in it")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the results folder {folder} cannot be made: {error}") from error
        with self._clear_errors():
            # Waits for other processes; a commit returns when the disk has it.
            self._base = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
            self._base.execute("pragma journal_mode=wal")
            self._base.execute("pragma synchronous=full")
            if create:
                self._base.executescript(_SCHEMA)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path} cannot be read or written: {error}. Trials finished before are kept; "
                "the same command goes on with the others once that is mended"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def open_run(
        self, preset: Preset, data: str, fingerprint: str, provenance: dict[str, str]
    ) -> dict[str, str]:
        """Note what is run; refuse to mix it with trials of another definition or other data.

        What several commands ask for of one preset is joined. Returns the provenance of the first.
        """
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
                f"{self.path.parent} holds trials of {preset.name} on {data} from before {what} "
                "changed: choose another --out, or delete that folder"
            )
        joined = json.dumps(asdict(preset.joined_with(restore_preset(json.loads(earlier)))))
        if joined != earlier:
            with self._clear_errors():
                self._base.execute(
                    "update runs set definition = ? where preset = ? and data = ?",
                    (joined, preset.name, data),
                )
        kept: dict[str, str] = json.loads(first)
        return kept

    def add(self, preset: str, data: str, trial: Trial, result: Result, seconds: float) -> None:
        """Keep one trial; it is on the disk when this returns."""
        facts = {
            "means": result.means,
            "trees": result.trees,
            "curve": result.curve,
            "noise": result.noise,
        }
        with self._clear_errors():
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
        return [(preset, data, json.loads(d), json.loads(p)) for preset, data, d, p in rows]

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
            facts = json.loads(row[5])
            queries = np.frombuffer(zlib.decompress(row[6]), dtype="<i8")
            values = np.frombuffer(zlib.decompress(row[7]), dtype="<f4")
            found[Trial(*row[:5])] = Result(
                means=facts["means"],
                queries=queries,
                values=values.reshape(len(facts["means"]), len(queries)),
                trees=facts["trees"],
                curve=tuple(facts["curve"]),
                noise=facts["noise"],
            )
        return found
