"""The trials of a preset as one compressed file: what is kept under version control.

``PRESET.tar.xz`` holds ``trials.csv``, a row for each trial; ``runs.json``, what was run on each
data set and which queries were tested; and ``values/DATA.npy``, the metrics of every test query.
Values of one query stand together there, over all trials, and its metrics of a trial next to each
other (in Fortran's order): it takes few different ones, so that the file is less than half as large
as it would be trial by trial.
"""

import csv
import io
import json
import lzma
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gbrank.core import atomic_file
from gbrank.noise.checks import UNREADABLE, unpack_xz
from gbrank.noise.trial import Result, Trial

SUFFIX = ".tar.xz"


@dataclass(frozen=True)
class Run:
    """All trials of a preset on one data set, with the seconds that each took."""

    data: str
    fingerprint: str
    definition: dict[str, Any]
    provenance: dict[str, str]
    results: dict[Trial, tuple[Result, float]]


def write_archive(path: Path, runs: list[Run]) -> None:
    """Write the runs of one preset; the file stays as it is where it holds the same already."""
    plain = _pack(runs)
    if path.is_file() and unpack_xz(path) == plain:
        return  # another version of xz may write the same in other bytes
    with atomic_file(path, follow_links=False) as file:
        file.write(lzma.compress(plain, preset=9 | lzma.PRESET_EXTREME))


def read_archive(path: Path) -> list[Run]:
    """Return the runs that a file holds; ValueError where it is not such a file."""
    try:
        return _unpack(unpack_xz(path))
    except (*UNREADABLE, tarfile.TarError) as error:
        raise ValueError(f"{path} holds no trials that can be read: {error!r}") from error


def _pack(runs: list[Run]) -> bytes:
    members: dict[str, bytes] = {}
    kept, rows = [], []
    for run in runs:
        sets: dict[bytes, int] = {}
        for trial, (result, seconds) in run.results.items():
            tested = sets.setdefault(result.queries.astype("<i8").tobytes(), len(sets))
            rows.append(
                {
                    "data": run.data,
                    **trial._asdict(),
                    "trees": result.trees,
                    **result.means,
                    "document_noise": result.noise["documents"],
                    "pair_noise": result.noise["pairs"],
                    "curve": json.dumps(result.curve),
                    "test_set": tested,
                    "seconds": round(seconds, 3),
                }
            )
        kept.append(
            {
                "data": run.data,
                "fingerprint": run.fingerprint,
                "definition": run.definition,
                "provenance": run.provenance,
                "test_sets": [np.frombuffer(ids, "<i8").tolist() for ids in sets],
            }
        )
        found = [result for result, _ in run.results.values()]
        values = np.concatenate([result.values for result in found], axis=1)
        queries = np.concatenate([result.queries for result in found])
        members[f"values/{run.data}.npy"] = _as_npy(values[:, np.argsort(queries, kind="stable")])
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    members["trials.csv"] = text.getvalue().encode()
    members["runs.json"] = json.dumps(kept, indent=1).encode()
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, content in sorted(members.items()):
            head = tarfile.TarInfo(name)  # without a date: the same trials give the same bytes
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    return whole.getvalue()


def _unpack(plain: bytes) -> list[Run]:
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        members = {}
        for name in archive.getnames():
            file = archive.extractfile(name)
            members[name] = b"" if file is None else file.read()
    rows = list(csv.DictReader(io.StringIO(members["trials.csv"].decode())))
    runs = []
    for kept in json.loads(members["runs.json"]):
        test_sets = [np.array(ids, dtype=np.int64) for ids in kept.pop("test_sets")]
        mine = [row for row in rows if row["data"] == kept["data"]]
        tested = [test_sets[int(row["test_set"])] for row in mine]
        stored = np.load(io.BytesIO(members[f"values/{kept['data']}.npy"]), allow_pickle=False)
        values = np.empty_like(stored)
        values[:, np.argsort(np.concatenate(tested), kind="stable")] = stored
        ends = np.cumsum([len(queries) for queries in tested])
        metrics = kept["definition"]["metrics"]
        results = {}
        for row, queries, end in zip(mine, tested, ends, strict=True):
            trial = Trial(
                row["setting"], row["noise"], float(row["level"]), row["objective"],
                int(row["trial"]),
            )  # fmt: skip
            result = Result(
                means={name: float(row[name]) for name in metrics},
                queries=queries,
                values=values[:, end - len(queries) : end],
                trees=int(row["trees"]),
                curve=tuple(json.loads(row["curve"])),
                noise={
                    "documents": float(row["document_noise"]),
                    "pairs": float(row["pair_noise"]),
                },
            )
            results[trial] = result, float(row["seconds"])
        runs.append(Run(**kept, results=results))
    return runs


def _as_npy(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asfortranarray(values, dtype="<f4"), allow_pickle=False)
    return file.getvalue()
