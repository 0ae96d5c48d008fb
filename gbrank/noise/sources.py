"""Data sets, by name, by folder or synthetic, and their splits."""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gbrank.core import check_file, numeric_matrix
from gbrank.data import RankingData, load_folds, make_ranking

SYNTHETIC = "synthetic"
SHARES = (0.6, 0.2, 0.2)
QUARTER = (0.75, 0.25)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Lists(RankingData):
    """Rows of whole queries, those of a query being contiguous.

    ``query`` is the query that a row's list was shown for: the same as ``qid`` but for clicks,
    where each impression is a list of its own. ``utility`` is the best score, where it is known.
    """

    query: np.ndarray
    utility: np.ndarray | None = None


def seed_of(*words: Any) -> int:
    """Return a seed that depends on the words alone, the same on every machine."""
    digest = hashlib.sha256("\0".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:4], "little")


class Source:
    """A data set that can be split; ``rows`` in memory once.

    Attributes
    ----------
    name : what it is called in results.
    grades : number of label values 0, 1, ...
    fingerprint : digest of its contents.
    """

    name: str
    grades: int
    fingerprint: str
    shape: tuple[int, int, int]

    #: Where training, validation and test queries come from, for the report.
    split_by: str = "drawn at random for each trial: 60% training, 20% validation, 20% test"

    def split(self, trial: int, kind: str) -> tuple[Lists, Lists, Lists]:
        """Return training, validation and test lists; rows within a query are shuffled."""
        raise NotImplementedError


@dataclass(frozen=True)
class OwnData:
    """Data in memory: whole, to be split at random, or as three parts that stay as they are.

    Attributes
    ----------
    name : what it is called in results.
    parts : all rows; or those of training, validation and test.
    """

    name: str
    parts: tuple[RankingData, ...]


def open_source(data: str | OwnData, synthetic: dict[str, Any], split: str = "random") -> Source:
    """Open "synthetic", a LETOR folder, a set of the folder GBRANK_DATA, or data in memory."""
    if isinstance(data, OwnData):
        return OwnSource(data)
    if data == SYNTHETIC:
        return SyntheticSource(synthetic)
    if Path(data).is_dir():
        return FolderSource(Path(data), split)
    return ArraySource(find_arrays(data))


def find_arrays(data: str) -> Path:
    """Return the .npz file of a data set given by name or path; say what there is otherwise."""
    if data.endswith(".npz") and Path(data).is_file():
        return Path(data)
    folder = os.environ.get("GBRANK_DATA")
    if not folder:
        raise ValueError(
            f"--data {data}: there is no such file or folder, and GBRANK_DATA does not name one "
            f'with data sets (files like {data}.npz); "--data synthetic" needs neither'
        )
    path = Path(folder) / f"{data}.npz"
    if not path.is_file():
        known = sorted(entry.stem for entry in Path(folder).glob("*.npz"))
        raise ValueError(
            f"--data {data}: there is no such file or folder, and no data set {data} in {folder}, "
            f"which has {', '.join(known) or 'none'}"
        )
    return path


class SyntheticSource(Source):
    """A new sample of :func:`gbrank.data.make_ranking` for every trial."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = {"n_queries": 1000, **options}
        sample = make_ranking(**{**self.options, "n_queries": 10})
        self.name = SYNTHETIC
        self.grades = len(sample.thresholds) + 1
        self.fingerprint = hashlib.sha256(repr(sorted(self.options.items())).encode()).hexdigest()
        n_queries = int(self.options["n_queries"])
        self.shape = (n_queries * sample.n_rows // 10, n_queries, sample.X.shape[1])

    def split(self, trial: int, kind: str) -> tuple[Lists, Lists, Lists]:
        data = make_ranking(**self.options, random_state=seed_of(SYNTHETIC, trial))
        whole = _lists(data.X, data.y, data.qid, data.utility)
        # Queries are drawn independently; their numbers are made different from trial to trial.
        parts = _cut(whole, np.arange(data.n_queries))
        offset = trial * data.n_queries
        train, valid, test = (replace(p, qid=p.qid + offset, query=p.query + offset) for p in parts)
        return train, valid, test


class ArraySource(Source):
    """Arrays ``X, y, qid, part`` of one file; parts 1 to 5, or 0, 1, 2, are folds."""

    def __init__(self, path: Path) -> None:
        try:
            with np.load(check_file(path), allow_pickle=False) as arrays:
                self.X, qid = arrays["X"], arrays["qid"]
                y, self.part = arrays["y"], arrays["part"]
        except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
            raise ValueError(
                f"{path} is not a data set, arrays X, y, qid and part: {error}"
            ) from error
        self._set(path.stem, y, qid)

    def _set(self, name: str, y: np.ndarray, qid: np.ndarray) -> None:
        self.name = name
        self.y, self.qid = y.astype(np.float64), qid
        self.grades = int(self.y.max()) + 1
        digest = hashlib.sha256()
        for array in (self.y, self.qid, np.ascontiguousarray(self.X[::101])):
            digest.update(array.tobytes())
        self.fingerprint = digest.hexdigest()
        self.shape = (len(self.y), len(np.unique(self.qid)), self.X.shape[1])

    def split(self, trial: int, kind: str) -> tuple[Lists, Lists, Lists]:
        seed = seed_of(self.name, "split", trial)
        rows = np.lexsort((np.random.default_rng(seed).random(len(self.y)), self.qid))
        whole = _lists(self.X, self.y, self.qid)
        part, fold = self.part[rows], trial % 5 + 1
        parts = set(np.unique(part).tolist())
        if kind == "folds" and parts == {1, 2, 3, 4, 5}:
            test, valid = part == fold, part == fold % 5 + 1
            return _take(whole, [rows[p] for p in (~test & ~valid, valid, test)])
        if kind == "folds" and parts == {0, 1, 2}:
            if fold == 1:
                return _take(whole, [rows[part == p] for p in (0, 1, 2)])
            rng = np.random.default_rng(1000 + fold)
        else:
            rng = np.random.default_rng(seed + 1)
        return _cut(whole, rng.permutation(np.unique(self.qid)), rows)


class OwnSource(ArraySource):
    """Data of a user, in memory; three parts are the split of every trial."""

    def __init__(self, data: OwnData) -> None:
        if len(data.parts) not in (1, 3):
            raise ValueError(
                f"data must be whole, or training, validation and test, got {len(data.parts)} parts"
            )
        checked = [_check_part(part, data.name) for part in data.parts]
        self.X = np.concatenate([part.X for part in checked])
        sizes = [part.n_rows for part in checked]
        self.part = np.repeat(np.arange(len(checked), dtype=np.int8), sizes)
        # a query id that comes in two parts is two queries there
        codes, last = [], 0
        for part in checked:
            codes.append(last + part.layout.unsort(_query_numbers(part)))
            last += part.n_queries
        self._set(data.name, np.concatenate([p.y for p in checked]), np.concatenate(codes))
        self.is_split = len(checked) == 3
        if self.is_split:
            self.split_by = "as given, training, validation and test; the same in every trial"

    def split(self, trial: int, kind: str) -> tuple[Lists, Lists, Lists]:
        if not self.is_split:
            return super().split(trial, "random")
        seed = seed_of(self.name, "split", trial)
        rows = np.lexsort((np.random.default_rng(seed).random(len(self.y)), self.qid))
        whole, part = _lists(self.X, self.y, self.qid), self.part[rows]
        return _take(whole, [rows[part == p] for p in (0, 1, 2)])


def _query_numbers(part: RankingData) -> np.ndarray:
    return np.repeat(np.arange(part.n_queries), part.layout.sizes)


def _check_part(data: RankingData, name: str) -> RankingData:
    """Return rows as arrays of numbers; refuse what cannot be corrupted or learned from."""
    if data.qid is None:
        raise ValueError(f"{name} has no queries: give qid, the query of each row")
    if data.y is None:
        raise ValueError(f"{name} has no labels")
    checked = RankingData.checked(data.X, data.y, data.qid)
    if (checked.y != np.floor(checked.y)).any() or checked.y.max(initial=0.0) > 30:
        row = int(np.argmax((checked.y != np.floor(checked.y)) | (checked.y > 30)))
        raise ValueError(
            f"{name}: labels must be grades 0, 1, ... up to 30, but "
            f"{checked.layout.describe_row(row)} has {checked.y[row]:g}"
        )
    if checked.n_queries < 5:
        raise ValueError(f"{name} has {checked.n_queries} queries: at least 5 are needed")
    X = numeric_matrix(checked.X)
    X = X.toarray() if hasattr(X, "toarray") else X
    return RankingData(np.asarray(X, dtype=np.float32), checked.y, np.asarray(checked.qid))


def own_rows(data: RankingData, name: str) -> tuple[RankingData, np.ndarray]:
    """Return the rows of a user query by query, as arrays, and where each row was before."""
    checked = _check_part(data, name)
    order = checked.layout.order
    order = np.arange(checked.n_rows) if order is None else order
    return checked.take_rows(order), order


class FolderSource(ArraySource):
    """A data set in the folders in which it is published; its folds are those of the folders.

    One fold is in memory at a time. Random splits are of all queries of the first fold.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        self.folds = load_folds(folder)
        first = self._read_fold(0)
        self._fold, self._parts = 0, first
        self.X = np.concatenate([part.X for part in first])
        y = np.concatenate([part.y for part in first])
        self.part = np.zeros(len(y), dtype=np.int8)
        self._set(folder.resolve().name, y, np.concatenate([part.qid for part in first]))
        if kind == "folds":
            self.X = self.X[:0]
        else:
            self._parts = []

    def _read_fold(self, fold: int) -> list[Lists]:
        """Return the lists of a fold, with queries numbered through."""
        found = self.folds[fold]
        parts = [part for part in (found.train, found.vali, found.test) if part is not None]
        if len(parts) < 2:
            raise ValueError(f"{found.name} needs training data and test data")
        ids = np.unique(np.concatenate([part.qid for part in parts]))
        numbers = [np.searchsorted(ids, part.qid) for part in parts]
        return [_lists(part.X, part.y, qid) for part, qid in zip(parts, numbers, strict=True)]

    def split(self, trial: int, kind: str) -> tuple[Lists, Lists, Lists]:
        if kind != "folds":
            return super().split(trial, kind)
        fold = trial % len(self.folds)
        if self._fold != fold:
            self._parts = []  # let go of the old one first
            self._fold, self._parts = fold, self._read_fold(fold)
        rng = np.random.default_rng(seed_of(self.name, "split", trial))
        lists = [
            part.take_rows(np.lexsort((rng.random(len(part.y)), part.qid))) for part in self._parts
        ]
        if len(lists) == 2:  # without validation data, a quarter of the training queries serves
            train, valid, _ = _cut(
                lists[0], rng.permutation(np.unique(lists[0].qid)), None, QUARTER
            )
            return train, valid, lists[1]
        return lists[0], lists[1], lists[2]


def _lists(
    X: np.ndarray, y: np.ndarray, qid: np.ndarray, utility: np.ndarray | None = None
) -> Lists:
    return Lists(X, np.asarray(y, dtype=np.float64), qid, query=qid, utility=utility)


def _cut(
    whole: Lists,
    queries: np.ndarray,
    rows: np.ndarray | None = None,
    shares: tuple[float, ...] = SHARES,
) -> tuple[Lists, Lists, Lists]:
    """Cut the queries, in the order given, into training, validation and test."""
    rows = np.arange(len(whole.y)) if rows is None else rows
    first = round(shares[0] * len(queries))
    second = round((shares[0] + shares[1]) * len(queries))
    part = np.zeros(len(queries), dtype=np.int8)
    part[first:second], part[second:] = 1, 2
    by_id = np.argsort(queries)
    of_row = part[by_id][np.searchsorted(queries[by_id], whole.qid[rows])]
    return _take(whole, [rows[of_row == p] for p in (0, 1, 2)])


def _take(whole: Lists, rows: list[np.ndarray]) -> tuple[Lists, Lists, Lists]:
    train, valid, test = (whole.take_rows(part) for part in rows)
    return train, valid, test
