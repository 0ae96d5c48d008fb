"""Which files are meant: data files by their names, compressed or not, in their natural order."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_DATA_FILE = re.compile(
    r"(?P<stem>[^.].*?)"
    r"(?P<kind>\.(txt|dat|data|svm|letor|libsvm|svmlight|ltr))?"
    r"(?P<compression>\.(gz|bz2|xz|zst))?"
)
_NO_DATA = re.compile(r"readme|licen[cs]e")

#: The names that training, validation and test files go by, without suffixes, in lower case.
_PARTS = {
    "train": ("train", "training", "trainingset"),
    "vali": ("vali", "valid", "validation", "validationset", "dev"),
    "test": ("test", "testing", "testset"),
}
_PART_OF_NAME = {name: part for part, names in _PARTS.items() for name in names}
_PART = re.compile(rf"((?P<of>.+)[._-])?(?P<name>{'|'.join(_PART_OF_NAME)})")


def part_of(stem: str) -> tuple[str, str] | None:
    """Return the set and the part that a file name stands for: "set1" and "vali" of "set1.valid".

    >>> from gbrank.data._files import part_of
    >>> part_of("set1.valid"), part_of("trainingset"), part_of("S1")
    (('set1', 'vali'), ('', 'train'), None)
    """
    match = _PART.fullmatch(stem)
    return (match["of"] or "", _PART_OF_NAME[match["name"]]) if match else None


def natural_key(path: str | os.PathLike[str]) -> list[Any]:
    """Sort key by which S2 comes before S10.

    >>> from gbrank.data._files import natural_key
    >>> sorted(["S10.txt", "S2.txt"], key=natural_key)
    ['S2.txt', 'S10.txt']
    """
    pieces = re.split(r"([0-9]+)", os.fspath(path).lower())
    return [int(piece) if piece.isdecimal() else piece for piece in pieces]


def data_files(folder: Path) -> dict[str, Path]:
    """Return the data files of a folder by their names without suffixes, in lower case.

    Of a file and its compressed copies the file counts, or the first.
    """
    found: dict[str, Path] = {}
    kinds: dict[str, str] = {}
    for path in sorted(folder.iterdir(), key=lambda path: natural_key(path.name)):
        match = _DATA_FILE.fullmatch(path.name.lower())
        if not match or _NO_DATA.match(path.name.lower()) or not path.is_file():
            continue
        stem, kind = match["stem"], match["kind"] or ""
        if not kind and not match["compression"]:
            continue
        if stem not in found:
            found[stem], kinds[stem] = path, kind
        elif kinds[stem] != kind:
            raise ValueError(
                f"{folder}: cannot tell which of {found[stem].name} and {path.name} is meant"
            )
    return found


def files_of(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return the files that a file, a folder or a list of files stands for."""
    if not isinstance(path, str | os.PathLike):
        if not isinstance(path, Sequence) or isinstance(path, bytes):
            raise TypeError(f"path must be a file, a folder or a list of files, got {path!r}")
        if not path:
            raise ValueError("path must name at least one file, got an empty list")
        return [_existing_file(Path(one)) for one in path]
    if not Path(path).is_dir():
        return [_existing_file(Path(path))]
    files = data_files(Path(path))
    if not files:
        raise FileNotFoundError(f"{path} holds no data files, such as train.txt or S1.txt.gz")
    if any(part_of(stem) for stem in files):
        raise ValueError(
            f"{path} holds training and test files: name one of them, or use load_folds"
        )
    return list(files.values())


def _existing_file(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if not path.is_file():
        raise ValueError(f"{path} is not a file")
    return path
