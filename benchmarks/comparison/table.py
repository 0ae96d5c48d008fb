"""Results of one data set, query by query, in one small file: runs can stop and go on.

A run is a model on a fold, with some noise in the labels, those of the validation queries
included or not. Its values are NDCG@5 and NDCG@10 of every test query of the fold.
"""

import io
import lzma
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

METRICS = ("ndcg@5", "ndcg@10")
#: Values are kept as integers, in units of 1 / UNIT.
UNIT = 10_000
NOT_TESTED, UNDEFINED = -2, -1


class Run(NamedTuple):
    """What tells one run from the others."""

    model: str
    noise: float
    fold: int
    clean_validation: bool = False


class Table:
    """The runs of one data set; every new one is written at once.

    Attributes
    ----------
    runs : list of Run.
    trees, seconds : of each run: number of trees, CPU seconds of training.
    values : array (runs, metrics, queries); nan where a query was not tested or has no NDCG.
    """

    def __init__(self, path: Path, all_qid: np.ndarray) -> None:
        self.path, self.all_qid = path, all_qid
        self.runs: list[Run] = []
        self.trees: list[int] = []
        self.seconds: list[float] = []
        self._values: list[np.ndarray] = []
        if path.exists():
            with load(path) as saved:
                if not np.array_equal(saved["qid"], all_qid):
                    raise ValueError(f"{path} has results of other queries")
                keys = ("model", "noise", "fold", "clean_validation")
                kept = zip(*(saved[key] for key in keys), strict=True)
                self.runs = [
                    Run(str(m), round(float(n), 3), int(f), bool(clean)) for m, n, f, clean in kept
                ]
                self.trees, self.seconds = saved["trees"].tolist(), saved["seconds"].tolist()
                self._values = list(saved["values"])

    @property
    def values(self) -> np.ndarray:
        """Values as numbers."""
        kept = np.array(self._values)
        return np.where(kept < 0, np.nan, kept / UNIT)

    def add(
        self, run: Run, qid: np.ndarray, values: np.ndarray, trees: int, seconds: float
    ) -> None:
        """Keep a run; ``values`` (metrics, queries) are those of the ascending queries ``qid``."""
        row = np.full((len(METRICS), len(self.all_qid)), NOT_TESTED, dtype=np.int16)
        whole = np.where(np.isnan(values), UNDEFINED, np.rint(UNIT * np.nan_to_num(values)))
        row[:, np.searchsorted(self.all_qid, qid)] = whole
        self.runs.append(run)
        self.trees.append(trees)
        self.seconds.append(round(seconds, 3))
        self._values.append(row)
        self._write()

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(f"{self.path.name}.unfinished")
        arrays = io.BytesIO()
        np.savez(
            arrays,
            qid=self.all_qid,
            model=np.array([run.model for run in self.runs]),
            noise=np.array([run.noise for run in self.runs], dtype=np.float32),
            fold=np.array([run.fold for run in self.runs], dtype=np.int8),
            clean_validation=np.array([run.clean_validation for run in self.runs]),
            trees=np.array(self.trees, dtype=np.int32),
            seconds=np.array(self.seconds, dtype=np.float32),
            values=np.array(self._values),
        )
        unfinished.write_bytes(lzma.compress(arrays.getvalue()))
        unfinished.replace(self.path)


def table_path(folder: Path, name: str) -> Path:
    """Return where the runs of a data set are kept."""
    return folder / f"{name}.npz.xz"


def load(path: Path) -> Any:
    """Return the arrays of a kept table."""
    return np.load(io.BytesIO(lzma.decompress(path.read_bytes())))
