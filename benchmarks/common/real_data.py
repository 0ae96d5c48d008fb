"""The real data sets, from a folder that the user names, and their folds."""

import os
from pathlib import Path

import numpy as np

from gbrank.data import RankingData


def data_folder(given: str | None = None) -> Path:
    """Return the folder with the data sets: the one given, else that of ``GBRANK_DATA``."""
    folder = given or os.environ.get("GBRANK_DATA")
    if not folder:
        raise SystemExit("name the folder of the data sets with --data or GBRANK_DATA")
    if not Path(folder).is_dir():
        raise SystemExit(f"there is no folder {folder}")
    return Path(folder)


def load_fold(folder: Path, name: str, fold: int) -> tuple[RankingData, RankingData, RankingData]:
    """Return training, validation and test queries of fold 1 to 5.

    Fold f tests on part f, validates on part f + 1 and trains on the other three, cyclically. The
    rows of each query are shuffled: the file order of some sets gives labels away.
    """
    path = folder / f"{name}.npz"
    if not path.exists():
        known = sorted(entry.stem for entry in folder.glob("*.npz"))
        raise SystemExit(f"there is no data set {name} in {folder}; there are {known}")
    with np.load(path) as arrays:
        X, y, qid, part = (arrays[key] for key in ("X", "y", "qid", "part"))
    if set(np.unique(part)) != {1, 2, 3, 4, 5}:
        raise SystemExit(f"{name} does not come in five parts")
    rng = np.random.default_rng(fold)
    order = np.lexsort((rng.random(len(y)), qid))
    whole, part = RankingData(X, y.astype(np.float64), qid), part[order]
    test, valid = part == fold, part == fold % 5 + 1
    return tuple(whole.take_rows(order[rows]) for rows in (~test & ~valid, valid, test))
