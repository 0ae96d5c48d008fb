"""The ten real data sets of the comparison, their folds, and noise in their labels.

Fold f tests on part f, validates on part f + 1 and trains on the other three, cyclically. The rows
of each query are shuffled: the file order of some sets gives labels away. Labels are counted from
0 and cut at 5, where a gain is 31.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gbrank.simulate import perturb_labels

SETS = (
    "table_www2018",
    "MQ2008",
    "target_types_sigir2017",
    "OHSUMED_QLN",
    "aslib_maxsat15",
    "f1_races",
    "MSLR_merged",
    "trec_object_runs",
    "aslib_sat12indu",
    "MQ2007_partial",
)
FOLDS = (1, 2, 3, 4, 5)
HIGHEST_LABEL = 5
#: Probabilities of the new labels 0, 1, ... (Bruch 2021), cut to the grades that occur.
NEW_LABELS = (0.5, 0.2, 0.15, 0.1, 0.05)
TRAIN, VALID, TEST = 0, 1, 2


@dataclass(frozen=True)
class Queries:
    """Rows of whole queries, those of a query being contiguous; ``qid`` ascends."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each query."""
        return np.unique(self.qid, return_counts=True)[1]

    def take(self, rows: np.ndarray) -> "Queries":
        """Return the rows of a mask."""
        return Queries(self.X[rows], self.y[rows], self.qid[rows])


@dataclass(frozen=True)
class Fold:
    """One data set cut into training, validation and test queries; ``all_qid`` has every query."""

    train: Queries
    valid: Queries
    rest: Queries  # training and validation
    test: Queries
    all_qid: np.ndarray


def load_fold(
    folder: Path, name: str, fold: int, noise: float = 0.0, *, clean_validation: bool = False
) -> Fold:
    """Return fold 1 to 5; ``noise`` is the share of replaced labels in all but the test queries.

    With ``clean_validation`` the labels of the validation queries are as they were.
    """
    with np.load(folder / f"{name}.npz") as arrays:
        X, y, qid, part = (arrays[key] for key in ("X", "y", "qid", "part"))
    order = np.lexsort((np.random.default_rng(fold).random(len(y)), qid))
    X, y, qid, part = X[order], y[order].astype(np.float64), qid[order], part[order].astype(int)
    y = np.minimum(y - y.min(), HIGHEST_LABEL)
    role = _roles(qid, part, fold)
    rest = role != TEST
    if noise > 0:
        grades = int(y.max()) + 1
        shares = np.array(NEW_LABELS[:grades]) / sum(NEW_LABELS[:grades])
        seed = _seed(name, fold)
        noisy = y.copy()
        noisy[rest] = perturb_labels(y[rest], qid[rest], noise, shares, random_state=seed)
        y = np.where(role == VALID, y, noisy) if clean_validation else noisy
    whole = Queries(X, y, qid)
    parts = (whole.take(rows) for rows in (role == TRAIN, role == VALID, rest, role == TEST))
    return Fold(*parts, all_qid=np.unique(qid))


def _roles(qid: np.ndarray, part: np.ndarray, fold: int) -> np.ndarray:
    if part.min() > 0:  # parts 1 to 5, or 1 to 10
        part = (part - 1) % 5 + 1
        return np.where(part == fold, TEST, np.where(part == fold % 5 + 1, VALID, TRAIN))
    if fold == 1:  # one split into training, validation and test: that is the first fold
        return part
    queries = np.random.default_rng(1000 + fold).permutation(np.unique(qid))
    cuts = round(0.6 * len(queries)), round(0.8 * len(queries))
    role = np.full(qid.max() + 1, TEST)
    role[queries[: cuts[0]]] = TRAIN
    role[queries[cuts[0] : cuts[1]]] = VALID
    return role[qid]


def _seed(*words: object) -> int:
    digest = hashlib.sha256("\0".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:4], "little")
