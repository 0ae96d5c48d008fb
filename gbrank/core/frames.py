"""Features of every kind that LightGBM takes: their rows, columns and names, without converting.

NumPy arrays, SciPy matrices, frames of pandas and polars, pyarrow tables, ``lightgbm.Sequence``.
LightGBM ends the whole process when an Arrow column is not numeric, so such tables become pandas
frames, whose categories it knows and whose strings it refuses with an error.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from gbrank.core.ids import is_pandas_column
from gbrank.core.typing import FloatArray, IntArray


def is_table(X: Any) -> bool:
    """Return whether X has named columns: a frame of pandas or polars, or a table of pyarrow.

    A LazyFrame of polars is a ``TypeError``: what it would read may be read several times.
    """
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.LazyFrame):
        raise TypeError("X is a LazyFrame of polars, which has no rows yet: give X.collect()")
    return hasattr(X, "columns") or hasattr(X, "column_names")


def is_sequence(X: Any) -> bool:
    """Return whether X is a ``lightgbm.Sequence``, or a list of some."""
    lightgbm = sys.modules.get("lightgbm")  # whoever has a Sequence has imported it
    parts = X if isinstance(X, list) and X else [X]
    return lightgbm is not None and all(isinstance(part, lightgbm.Sequence) for part in parts)


def batches(X: Any) -> Iterator[FloatArray]:
    """Return the rows of a ``lightgbm.Sequence``, or of several, as matrices."""
    for part in X if isinstance(X, list) else [X]:
        for first in range(0, len(part), part.batch_size):
            yield np.asarray(part[first : first + part.batch_size])


def count_rows_of(X: Any) -> int:
    """Return the number of rows."""
    if is_sequence(X):
        return sum(len(part) for part in (X if isinstance(X, list) else [X]))
    return int(X.num_rows) if _is_arrow(X) else int(_num_samples(X))


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a table; none for anything else."""
    if not is_table(X):
        return []
    return list(X.column_names if _is_arrow(X) else X.columns)


def take_column(X: Any, name: Any) -> tuple[Any, Any]:
    """Return the values of a column, and the table without it."""
    if _is_arrow(X):
        return _column(X, name), X.drop_columns([name])
    return _column(X, name), X.drop(name) if _is_polars(X) else X.drop(columns=name)


def _column(X: Any, name: Any) -> Any:
    if _is_arrow(X):
        return X.column(name).to_numpy()
    return X.get_column(name).to_numpy() if _is_polars(X) else X[name]


def check_columns_of_ids(X: Any, qid: Any, column: str | None) -> None:
    """Raise an error for a column of query ids that differs from ``qid``; warn of one that is left.

    Ids among the features are learned from, and mean nothing for new queries.

    Parameters
    ----------
    X : features, as they were given; only tables are looked at.
    qid : query id of each row.
    column : the column that is known to hold ids, and is no feature; ``None`` if none is.
    """
    ids = np.asarray(qid)
    if not is_table(X) or ids.shape != (count_rows_of(X),):
        return  # whatever is wrong here has an error of its own
    if column in column_names(X) and not _has_ids(X, column, ids):
        raise ValueError(
            f"the column {column!r} of X holds query ids, but qid has others: give one of them"
        )
    same = [name for name in column_names(X) if name != column and _has_ids(X, name, ids)]
    if same and len(ids) and (ids != ids[0]).any():
        warnings.warn(
            f"the column {same[0]!r} of X holds the query ids, and is a feature: give "
            f"qid={same[0]!r}, or drop it",
            stacklevel=5,
        )


def _has_ids(X: Any, name: Any, ids: NDArray[Any]) -> bool:
    """Return whether a column of a table has the values of an array; most differ early."""
    try:
        column = _column(X, name)
        rows = getattr(column, "iloc", column)
        return all(
            np.array_equal(np.asarray(rows[:count]), ids[:count]) for count in (8, 1024, len(ids))
        )
    except Exception:  # of any library: what cannot be an array, or compared, is not the ids
        return False


def select_columns(X: Any, names: list[Any]) -> Any:
    """Return a table with these columns, in this order."""
    return X.select(names) if _is_arrow(X) or _is_polars(X) else X[names]


def unnamed(n_features: int) -> list[str]:
    """Return the names that LightGBM gives to features without one."""
    return [f"Column_{number}" for number in range(n_features)]


def given_names(names: Sequence[str]) -> list[str] | None:
    """Return the names of a model's features; ``None`` where LightGBM has numbered them.

    >>> from gbrank.core.frames import given_names
    >>> given_names(["price", "stars"]), given_names(["Column_0", "Column_1"])
    (['price', 'stars'], None)
    """
    return None if list(names) == unnamed(len(names)) else list(names)


def numbered_columns(X: Any) -> list[str] | None:
    """Return the names of a table as text where not all are text: scikit-learn keeps none of these.

    ``None`` for names that are all text, and for anything but a table.
    """
    names = column_names(X)
    return None if all(isinstance(name, str) for name in names) else [str(name) for name in names]


def align_columns(X: Any, known: list[str]) -> Any:
    """Return a table whose columns are in the order of training; other columns are an error.

    Parameters
    ----------
    X : the features; whatever is no table, or has names that are text, is returned as it is if it
        has other columns: for text scikit-learn raises the error.
    known : names of the columns of training, as text.
    """
    by_text = {str(name): name for name in column_names(X)}
    if not by_text or list(by_text) == known:
        return X
    if len(by_text) == len(known) and set(by_text) == set(known):
        return select_columns(X, [by_text[name] for name in known])
    if numbered_columns(X) is not None:
        raise ValueError(f"X must have the columns of training, {known}, got {list(by_text)}")
    return X


def plain_features(X: Any) -> Any:
    """Return features that mean the same to everybody: masked values are NaN, entries come once.

    NumPy drops the masks of masked arrays on the way, and LightGBM takes one of several entries
    that a sparse matrix has for one place, where SciPy takes their sum. A sparse matrix whose
    indices lie outside of it is a ``ValueError``.

    Parameters
    ----------
    X : features of any kind; it is not changed.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from gbrank.core.frames import plain_features
    >>> plain_features(np.ma.array([[1, 2]], mask=[[False, True]]))
    array([[ 1., nan]])
    >>> twice = csr_matrix(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    >>> plain_features(twice).data
    array([3.])
    """
    if isinstance(X, np.ma.MaskedArray):
        kind = X.dtype if X.dtype.kind == "f" else np.float64
        return np.ma.filled(X.astype(kind), np.nan)
    if issparse(X) and X.format in ("csr", "csc"):
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"X is no sound sparse matrix: {error}") from None
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def replace_values(X: Any, names: list[Any], values: FloatArray) -> Any:
    """Return a table in which these columns have other values, one column of a matrix each."""
    if _is_arrow(X):
        for name, column in zip(names, values.T, strict=True):
            X = X.set_column(X.column_names.index(name), name, [column])
        return X
    if _is_polars(X):
        series = sys.modules["polars"].Series
        return X.with_columns([series(name, c) for name, c in zip(names, values.T, strict=True)])
    X = X.copy(deep=False)
    for name, column in zip(names, values.T, strict=True):
        X[name] = column
    return X


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return these rows, in this order, as the same kind of table, matrix or column."""
    if is_sequence(X):
        raise ValueError(
            "rows of a lightgbm.Sequence are read in their order only: give it with the rows of "
            "each query next to each other, and with an evaluation set of its own"
        )
    if _is_arrow(X) or is_pandas_column(X):
        return X.take(rows)
    return _safe_indexing(X.tocsr() if issparse(X) else X, rows)


def permute_column(X: Any, at: int, rows: IntArray) -> Any:
    """Return a copy of X in which one column has the values of other rows.

    Parameters
    ----------
    X : matrix, sparse matrix or table.
    at : number of the column.
    rows : of which row each value comes, every row once.
    """
    if _is_arrow(X):
        name = X.column_names[at]
        return X.set_column(at, name, X.column(name).take(rows))
    if _is_polars(X):
        return X.with_columns(X.to_series(at).gather(rows))
    if is_table(X):
        name, X = X.columns[at], X.copy(deep=False)
        X[name] = X[name].take(rows).set_axis(X.index)
        return X
    if issparse(X):
        X = X.tocsc(copy=True)
        entries = slice(X.indptr[at], X.indptr[at + 1])
        X.indices[entries] = np.argsort(rows)[X.indices[entries]]
        X.has_sorted_indices = False
        return X.tocsr()
    X = np.array(X)
    X[:, at] = X[rows, at]
    return X


def as_lightgbm_input(X: Any) -> Any:
    """Return X as something that LightGBM takes, or refuses with an error rather than a crash."""
    X = plain_features(X)
    to_categories = "X[{0!r}] = X[{0!r}].astype('category')"
    if _is_polars(X):
        to_categories = "X = X.with_columns(pl.col({0!r}).cast(pl.Categorical))"
        if "pyarrow" not in sys.modules:
            _import_pyarrow()
        X = X.to_arrow()
    if _is_arrow(X) and not all(_is_number(field.type) for field in X.schema):
        X = _arrow_to_pandas(X)
    if hasattr(X, "dtypes") and is_table(X):
        _check_no_text(X, to_categories)
        _check_categories(X)
    return X


def numeric_matrix(X: Any, *, strict: bool = False) -> Any:
    """Return features as a float matrix, dense or CSR; columns that are not numbers become 0.

    Parameters
    ----------
    X : features of any kind.
    strict : whether columns that are not numbers are an error instead.
    """
    X = plain_features(X)
    if issparse(X):
        return X.tocsr()
    if not is_table(X):
        return np.asarray(X)
    columns = []
    for name in column_names(X):
        values = _numeric_column(X, name)
        kind = getattr(values, "dtype", None)
        is_number = isinstance(kind, np.dtype) and kind.kind in "biuf"
        if not is_number and hasattr(values, "to_numpy") and _is_nullable_number(kind):
            values, is_number = values.to_numpy(dtype=np.float64, na_value=np.nan), True
        if strict and not is_number:
            raise ValueError(f"column {name!r} must be numbers or categories, got type {kind}")
        columns.append(np.asarray(values, dtype=np.float64) if is_number else np.zeros(len(values)))
    return np.stack(columns, axis=1)


def _numeric_column(X: Any, name: Any) -> Any:
    """Return a column whose type alone, and not what is in these rows, says if it is numbers."""
    if _is_arrow(X):
        kind, types = X.schema.field(name).type, _import_pyarrow().types
        if types.is_boolean(kind):  # with nulls they would become objects
            return X.column(name).cast("uint8").to_numpy()
        if types.is_dictionary(kind):  # LightGBM sees numbers of categories, not their values
            return np.empty(X.num_rows, dtype=object)
    elif _is_polars(X) and X.schema[name] == sys.modules["polars"].Boolean:
        return X.get_column(name).cast(sys.modules["polars"].UInt8).to_numpy()
    return _column(X, name)


def _is_nullable_number(dtype: Any) -> bool:
    """Return whether a dtype of pandas is a number that may be missing: Int64, Float32, boolean."""
    return getattr(dtype, "kind", "O") in "biuf" and not isinstance(dtype, np.dtype)


def _is_arrow(X: Any) -> bool:
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(X, pyarrow.Table)


def _is_polars(X: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.DataFrame)


def _import_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            'polars frames reach LightGBM through pyarrow: pip install "gbrank[polars]"'
        ) from error
    return pyarrow


def _is_number(arrow_type: Any) -> bool:
    types = _import_pyarrow().types
    is_float = types.is_float32(arrow_type) or types.is_float64(arrow_type)
    return bool(is_float or types.is_integer(arrow_type) or types.is_boolean(arrow_type))


def _arrow_to_pandas(table: Any) -> Any:
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'columns that are not numbers need pandas: pip install "gbrank[pandas]"'
        ) from error
    return table.to_pandas()


def _check_no_text(frame: Any, to_categories: str) -> None:
    """Refuse columns of text, with the code that makes categories of them."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if str(dtype).startswith(("object", "str")):
            raise ValueError(
                f"column {name!r} of X holds text or objects (dtype {dtype}), where numbers or "
                f"categories are needed: {to_categories.format(name)}, or drop it"
            )


def _check_categories(frame: Any) -> None:
    """Refuse categories that LightGBM cannot write into its model: all but text and numbers."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        categories = getattr(dtype, "categories", None)
        for category in [] if categories is None else categories:
            if not isinstance(category, str | bool | int | float | np.number | np.bool_):
                raise ValueError(
                    f"categories of column {name!r} must be text or numbers, which a model can "
                    f"hold, but one is {category!r} ({type(category).__name__})"
                )
