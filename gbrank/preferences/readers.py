"""Comparisons from files that other systems use."""

from os import PathLike

import numpy as np

from gbrank.core import check_file
from gbrank.preferences.observations import Comparisons


def read_catboost_pairs(path: str | PathLike[str], *, grouped: bool = False) -> Comparisons:
    r"""Read a file of pairs as CatBoost takes it.

    Each line has the row of the winner, that of the loser and, optionally, a weight, separated by
    tabs. Rows count from 0 in the order of the data set; which query they are of follows when the
    comparisons are bound to its rows.

    Parameters
    ----------
    path : the file.
    grouped : bool, default=False
        Whether a column with the query id comes first, and documents count from 0 within each query
        (CatBoost's ``dsv-grouped`` scheme).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from gbrank.preferences import read_catboost_pairs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.pairs"
    ...     _ = path.write_text("0\t1\n2\t1\n")
    ...     read_catboost_pairs(path)
    Comparisons(n=2)
    """
    names = ["winner", "loser"]
    expected = f"{'query id, ' if grouped else ''}winner, loser and optionally a weight"
    first = 1 if grouped else 0
    queries: list[str] = []
    numbers: list[list[float]] = []
    width = 0
    for number, line in enumerate(check_file(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) - first not in (2, 3) or (width and len(fields) != width):
            raise ValueError(
                f"{path}, line {number}: expected {expected}, separated by tabs, got {line!r}"
            )
        width = len(fields)
        try:
            values = [int(field) for field in fields[first : first + len(names)]]
            numbers.append([*values, *(float(field) for field in fields[first + 2 :])])
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: winner and loser must be integers and the weight a "
                f"number, got {line!r}"
            ) from None
        if grouped:
            queries.append(fields[0])
    table = np.array(numbers).reshape(len(numbers), -1) if numbers else np.empty((0, 2))
    weight = table[:, 2] if table.shape[1] == 3 else None
    if not grouped:
        return Comparisons(None, table[:, 0], table[:, 1], weight)
    ids = [int(entry) for entry in queries] if all(map(str.isdecimal, queries)) else queries
    return Comparisons(ids, table[:, 0], table[:, 1], weight, items="position")
