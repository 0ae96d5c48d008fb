"""The folders in which learning-to-rank data sets come, as training, validation and test data."""

import inspect
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from scipy.sparse import csr_matrix, issparse

from gbrank.data._files import data_files, natural_key, part_of
from gbrank.data.letor import LetorData, check_options, load_letor

_FOLD = re.compile(r"fold[ _-]?[0-9]+", re.IGNORECASE)
_PARTITION = re.compile(r"(.*[^a-z0-9])?s(?P<number>[0-9]+)", re.IGNORECASE)

_Files = dict[str, list[Path]]


@dataclass(frozen=True, eq=False)
class LetorFold:
    """Training, validation and test data that belong together.

    Attributes
    ----------
    name : str, such as "Fold1" or "set1".
    train, vali, test : LetorData with the same number of features; ``None`` where there is no such
        file (Istella's larger set has no validation data).
    """

    name: str
    train: LetorData | None
    vali: LetorData | None
    test: LetorData | None


class LetorFolds(Sequence[LetorFold]):
    """The folds of a folder, each read when it is asked for.

    Attributes
    ----------
    files : list of (name, {"train" | "vali" | "test": list of files}).
    """

    def __init__(self, files: list[tuple[str, _Files]], options: dict[str, Any]) -> None:
        self.files = files
        self._options = options

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"LetorFolds({', '.join(name for name, _ in self.files)})"

    @overload
    def __getitem__(self, index: int) -> LetorFold: ...
    @overload
    def __getitem__(self, index: slice) -> "LetorFolds": ...
    def __getitem__(self, index: int | slice) -> "LetorFold | LetorFolds":
        if isinstance(index, slice):
            return LetorFolds(self.files[index], self._options)
        name, files = self.files[index]
        data = {part: load_letor(paths, **self._options) for part, paths in files.items()}
        width = max(part.X.shape[1] for part in data.values())
        missing = self._options.get("missing", 0.0)
        same = {part: _with_columns(some, width, missing) for part, some in data.items()}
        return LetorFold(name, same.get("train"), same.get("vali"), same.get("test"))

    def __iter__(self) -> Iterator[LetorFold]:
        return (self[index] for index in range(len(self)))


def load_folds(folder: str | os.PathLike[str], **options: Any) -> LetorFolds:
    """Read a data set in the folder structure in which it is published.

    Recognised are, with any of the suffixes that :func:`load_letor` knows,

    - folders ``Fold1``, ``Fold2``, ... of ``train.txt``, ``vali.txt``, ``test.txt`` (LETOR 4.0,
      MSLR-WEB10K and 30K) or ``trainingset.txt``, ``validationset.txt``, ``testset.txt`` (LETOR
      3.0);
    - ``set1.train.txt``, ``set1.valid.txt``, ``set1.test.txt``, ``set2...`` (Yahoo): a fold per
      set;
    - ``train.txt``, ``vali.txt``, ``test.txt`` (Istella, one fold of the above): one fold;
    - ``S1.txt`` to ``S5.txt`` (partitions of LETOR), as LETOR has them: fold f trains on parts f,
      f + 1 and f + 2, validates on f + 3 and tests on f + 4, starting again after the last;
    - a folder with one single folder in it that is one of the above.

    Folds are read one at a time, as the loop comes to them. All parts of a fold have the same
    number of features.

    Parameters
    ----------
    folder : str or path
        The folder.
    **options : dict
        As of :func:`load_letor`.

    Returns
    -------
    LetorFolds
        A sequence of :class:`LetorFold`: ``name``, ``train``, ``vali``, ``test``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gbrank.data import load_folds
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name in ("train", "vali", "test"):
    ...     path = Path(folder.name) / "Fold1" / f"{name}.txt"
    ...     path.parent.mkdir(exist_ok=True)
    ...     _ = path.write_text("1 qid:1 1:0.5")
    >>> folds = load_folds(folder.name)
    >>> folds
    LetorFolds(Fold1)
    >>> for fold in folds:
    ...     print(fold.name, fold.train)
    Fold1 LetorData(n_rows=1, n_queries=1, n_features=1)
    >>> folder.cleanup()
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder")
    arguments = inspect.signature(load_letor).bind(folder, **options)
    arguments.apply_defaults()
    names = inspect.signature(check_options).parameters
    check_options(**{name: arguments.arguments[name] for name in names})
    return LetorFolds(_recognise(root), options)


def _recognise(folder: Path) -> list[tuple[str, _Files]]:
    folds = _folds_in(folder)
    if folds:
        return folds
    inner = {path.name: _folds_in(path) for path in _folders_in(folder)}
    inner = {name: folds for name, folds in inner.items() if folds}
    if len(inner) == 1:
        return next(iter(inner.values()))
    if inner:
        raise ValueError(f"{folder} holds several data sets, name one of them: {', '.join(inner)}")
    raise ValueError(
        f"{folder} is not known as a data set: expected folders Fold1, Fold2, ... or files "
        "train.txt, vali.txt and test.txt, set1.train.txt and so on, or S1.txt to S5.txt"
    )


def _folds_in(folder: Path) -> list[tuple[str, _Files]]:
    folders = [path for path in _folders_in(folder) if _FOLD.fullmatch(path.name)]
    if not folders:
        files = data_files(folder)
        return _sets_in(files) or _rotations_of(files)
    folds = []
    for path in folders:
        sets = _sets_in(data_files(path))
        if len(sets) != 1:
            raise ValueError(f"{path} must hold one training file and one for test or validation")
        folds.append((path.name, sets[0][1]))
    return folds


def _folders_in(folder: Path) -> list[Path]:
    folders = [path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."]
    return sorted(folders, key=lambda path: natural_key(path.name))


def _sets_in(files: dict[str, Path]) -> list[tuple[str, _Files]]:
    """Return the sets that have a training file and another one."""
    sets: dict[str, _Files] = {}
    for stem, path in files.items():
        named = part_of(stem)
        if named:
            name, part = named
            if part in sets.setdefault(name, {}):
                raise ValueError(
                    f"{path.parent}: cannot tell which of {sets[name][part][0].name} and "
                    f"{path.name} is meant"
                )
            sets[name][part] = [path]
    whole = [(name or "all", parts) for name, parts in sets.items() if "train" in parts]
    return [(name, parts) for name, parts in whole if len(parts) > 1]


def _rotations_of(files: dict[str, Path]) -> list[tuple[str, _Files]]:
    """Return the folds that LETOR makes of the partitions S1 to S5."""
    matches = {stem: _PARTITION.fullmatch(stem) for stem in files}
    parts = {int(match["number"]): files[stem] for stem, match in matches.items() if match}
    n_parts = len(parts)
    if n_parts < 3 or sorted(parts) != list(range(1, n_parts + 1)):
        return []
    folds = []
    for first in range(n_parts):
        turned = [parts[(first + step) % n_parts + 1] for step in range(n_parts)]
        files_of_fold = {"train": turned[:-2], "vali": turned[-2:-1], "test": turned[-1:]}
        folds.append((f"Fold{first + 1}", files_of_fold))
    return folds


def _with_columns(data: LetorData, n_columns: int, missing: float) -> LetorData:
    n_rows, n_present = data.X.shape
    if n_present == n_columns:
        return data
    if issparse(data.X):
        parts = (data.X.data, data.X.indices, data.X.indptr)
        return replace(data, X=csr_matrix(parts, shape=(n_rows, n_columns), copy=False))
    X = np.full((n_rows, n_columns), missing, dtype=data.X.dtype)
    X[:, :n_present] = data.X
    return replace(data, X=X)
