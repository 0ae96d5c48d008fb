"""The kept runs of all data sets, as arrays that the page reads."""

from pathlib import Path

import numpy as np

from comparison.sets import FOLDS, SETS
from comparison.table import METRICS, Run, Table, load, table_path


class Results:
    """What every model reached.

    Parameters
    ----------
    folder : where the tables are, one per data set.
    """

    def __init__(self, folder: Path) -> None:
        self.tables: dict[str, Table] = {}
        for name in SETS:
            path = table_path(folder, name)
            if path.exists():
                with load(path) as saved:
                    qid = saved["qid"]
                self.tables[name] = Table(path, qid)
        self._values = {name: table.values for name, table in self.tables.items()}
        self._places = {
            name: {run: at for at, run in enumerate(table.runs)}
            for name, table in self.tables.items()
        }

    def has(self, model: str, noise: float, *, clean_validation: bool = False) -> bool:
        """Return whether all folds of all data sets were run."""
        runs = [Run(model, noise, fold, clean_validation and noise > 0) for fold in FOLDS]
        return len(self._places) == len(SETS) and all(
            run in places for places in self._places.values() for run in runs
        )

    def queries(
        self, name: str, model: str, noise: float, metric: str, *, clean_validation: bool = False
    ) -> np.ndarray:
        """Return the metric of every test query of every fold, (folds, queries); NaN elsewhere."""
        rows = [
            self._places[name][Run(model, noise, fold, clean_validation and noise > 0)]
            for fold in FOLDS
        ]
        found: np.ndarray = self._values[name][rows, METRICS.index(metric)]
        return found

    def folds(
        self, model: str, noise: float, metric: str, *, clean_validation: bool = False
    ) -> np.ndarray:
        """Return the mean metric of every fold, (sets, folds)."""
        return np.array(
            [
                np.nanmean(
                    self.queries(name, model, noise, metric, clean_validation=clean_validation),
                    axis=1,
                )
                for name in self.tables
            ]
        )

    def column(self, name: str, model: str, noise: float, what: str) -> np.ndarray:
        """Return "trees" or "seconds" of the folds of a data set."""
        values = np.asarray(getattr(self.tables[name], what))
        return values[[self._places[name][Run(model, noise, fold)] for fold in FOLDS]]
