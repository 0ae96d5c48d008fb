"""LETOR and SVMlight text: what LETOR, MSLR, Yahoo and Istella publish, read at disk speed."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix, issparse

from gbrank.core import RankingData, check_choice, check_integer, resolve_n_jobs
from gbrank.data._cache import Arrays, ParsedFiles
from gbrank.data._files import files_of
from gbrank.data._reader import ReadOptions, TooWideError, read_files

#: The folder, next to the data, of ``cache=True``.
CACHE_FOLDER = ".gbrank_cache"

_DOCID = re.compile(r"docid\s*=\s*(\S+)")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LetorData(RankingData):
    """Rows as a LETOR file has them, with the comments of its lines.

    Attributes
    ----------
    X : array of shape (n_rows, n_features) of float32 or float64, or a ``csr_matrix``.
    y : float64 array, the label of each row.
    qid : int64 array, the query of each row.
    comments : array of str, what follows ``#`` in each line; ``None`` unless asked for.
    """

    comments: NDArray[np.object_] | None = None

    @property
    def docid(self) -> NDArray[np.object_] | None:
        """The documents' names: ``X`` of the comment ``docid = X``, "" where there is none."""
        if self.comments is None:
            return None
        found = (_DOCID.search(comment) for comment in self.comments)
        return np.array([match[1] if match else "" for match in found], dtype=object)


def load_letor(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    sparse: bool | str = False,
    dtype: DTypeLike = np.float32,
    missing: float = 0.0,
    n_features: int | None = None,
    zero_based: bool = False,
    comments: bool = False,
    cache: bool | str | os.PathLike[str] | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
) -> LetorData:
    r"""Read LETOR text: lines of ``<label> qid:<query> <feature>:<value> ... # comment``.

    Every value is the float nearest to its text. ``NULL`` (LETOR 3.0) and ``nan`` are NaN, numbers
    too large for ``dtype`` are infinite (Istella marks missing values by 1.79769313486e+308). Lines
    that are blank or a comment are skipped. Anything else that is not such a line is a
    ``ValueError`` that names the file, the line and what was expected.

    Parameters
    ----------
    path : str or path, or a list of them
        A file; several files, read one after the other; or a folder of such files (not one of
        training, validation and test files: :func:`load_folds` keeps those apart). Files may be
        compressed by gzip, bzip2, xz or zstd (the last needs ``pip install "gbrank[zstd]"`` before
        Python 3.14).
    sparse : bool or "auto", default=False
        Whether ``X`` is a ``scipy.sparse.csr_matrix``, without zeros, or an array. "auto" means an
        array, unless that would take more than 256 MiB and 256 times the bytes of the text: then
        a matrix. With ``False`` that much is an error, unless ``n_features`` announces it.
    dtype : dtype
        Of ``X``, float32 (the default) or float64.
    missing : float, default=0.0
        Value of features that a line does not name: 0, as LETOR means it, or NaN, or any other
        number. In a sparse result it is 0.
    n_features : int, default=None
        Number of columns; by default, the largest feature number that occurs. To be given when
        another file may have features that this one has not.
    zero_based : bool, default=False
        Whether features count from 0; in LETOR, MSLR, Yahoo and Istella they count from 1.
    comments : bool, default=False
        Whether to keep what follows ``#``: ``LetorData.comments`` and ``LetorData.docid``.
    cache : bool, str or path, default=None
        Where to keep the parsed arrays, which the next call then maps into memory: a folder, or
        ``True`` for ``.gbrank_cache`` next to the file. By default nothing is written. A cached
        file that was changed, or a damaged cache, is read again. The arrays can be written to,
        which changes neither file.
    progress : bool, default=False
        Whether to show a progress bar (``pip install "gbrank[progress]"``).
    n_jobs : int, default=None
        Number of threads; ``None`` means ``OMP_NUM_THREADS`` or all CPUs.

    Returns
    -------
    LetorData
        ``X``, ``y``, ``qid``; rows as in the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gbrank.data import load_letor
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "train.txt"
    >>> _ = path.write_text('''2 qid:10 1:0.5 3:1e-2 # docid = GX1
    ... 0 qid:10 2:NULL # docid = GX2
    ... ''')
    >>> data = load_letor(path, comments=True)
    >>> data
    LetorData(n_rows=2, n_queries=1, n_features=3)
    >>> X, y, qid = data
    >>> X
    array([[0.5 , 0.  , 0.01],
           [0.  ,  nan, 0.  ]], dtype=float32)
    >>> data.docid
    array(['GX1', 'GX2'], dtype=object)
    >>> folder.cleanup()
    """
    options = check_options(sparse, dtype, missing, n_features, zero_based, comments)
    if not (cache is None or isinstance(cache, bool | str | os.PathLike)):
        raise TypeError(f"cache must be None, True, False or a folder, got {cache!r}")
    n_threads = resolve_n_jobs(n_jobs)
    paths = files_of(path)
    if cache is None or cache is False:
        return _read(paths, options, n_threads, progress)
    folder = paths[0].parent / CACHE_FOLDER if cache is True else Path(cache)
    parsed = ParsedFiles(folder, paths, asdict(options), own_folder=cache is True)
    cached = parsed.load(partial(_from_arrays, options=options))
    if cached is not None:
        return cached
    data = _read(paths, options, n_threads, progress)
    try:
        parsed.save(_to_arrays(data))
    except OSError as error:
        warnings.warn(f"the cache cannot be written: {error}", UserWarning, stacklevel=2)
        return data
    # another program may have replaced it by now
    return parsed.load(partial(_from_arrays, options=options)) or data


def check_options(
    sparse: Any, dtype: Any, missing: Any, n_features: Any, zero_based: Any, comments: Any
) -> ReadOptions:
    """Return the options of the reader; raise an error for those that make no sense."""
    check_choice("sparse", sparse, (True, False, "auto"))
    for name, flag in (("zero_based", zero_based), ("comments", comments)):
        if not isinstance(flag, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {flag!r}")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype)}")
    if isinstance(missing, bool) or not isinstance(missing, int | float | np.integer | np.floating):
        raise TypeError(f"missing must be a number or NaN, got {missing!r}")
    if sparse is not False and missing != 0:
        raise ValueError(
            f"missing must be 0 if sparse={sparse!r}, as that is what a sparse matrix means, "
            f"got {missing!r}"
        )
    if n_features is not None:
        check_integer("n_features", n_features, low=1, high=2**31 - 1)
    return ReadOptions(
        single=np.dtype(dtype) == np.float32,
        sparse=sparse is True or sparse is np.True_,
        missing=float(missing),
        n_features=None if n_features is None else int(n_features),
        zero_based=bool(zero_based),
        comments=bool(comments),
        limited=sparse == "auto" or n_features is None,
        may_be_sparse=sparse == "auto",
    )


def _read(paths: list[Path], options: ReadOptions, n_threads: int, progress: bool) -> LetorData:
    try:
        return _read_once(paths, options, n_threads, progress)
    except TooWideError:
        if not options.may_be_sparse:
            raise
        return _read_once(paths, replace(options, sparse=True), n_threads, progress)


def _read_once(
    paths: list[Path], options: ReadOptions, n_threads: int, progress: bool
) -> LetorData:
    if progress:
        with _progress_bar(paths) as bar:
            X, y, qid, texts = read_files(paths, options, n_threads, bar)
    else:
        X, y, qid, texts = read_files(paths, options, n_threads)
    comments = np.array(texts, dtype=object) if options.comments else None
    return LetorData(X, y, qid, comments=comments)


def _progress_bar(paths: list[Path]) -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError(
            'progress=True needs the tqdm package: pip install "gbrank[progress]"'
        ) from error
    n_bytes = sum(path.stat().st_size for path in paths)
    return tqdm(total=n_bytes, unit="B", unit_scale=True, desc=paths[0].name)


def _to_arrays(data: LetorData) -> Arrays:
    arrays: Arrays = {"y": data.y, "qid": data.qid}
    if issparse(data.X):
        shape = np.array(data.X.shape, dtype=np.int64)
        X: Arrays = {"values": data.X.data, "columns": data.X.indices, "row_ends": data.X.indptr}
        arrays |= {"shape": shape, **X}
    else:
        arrays["X"] = data.X
    if data.comments is not None:
        text = "\n".join(data.comments).encode("utf-8", errors="surrogateescape")
        arrays["comments"] = np.frombuffer(text, dtype=np.uint8)
    return arrays


def _from_arrays(arrays: Arrays, options: ReadOptions) -> LetorData:
    """Return the data that arrays of a cache hold; a ``ValueError`` if they do not fit together.

    SciPy believes what it is told: a column or a row end out of range would end the process.
    """
    y, qid = _of_type(arrays["y"], "<f8"), _of_type(arrays["qid"], "<i8")
    floats = "<f4" if options.single else "<f8"
    if "X" in arrays:
        X = arrays["X"]
        _require(X.ndim == 2 and X.dtype == floats and not options.sparse)
    else:
        _require(options.sparse or options.may_be_sparse)
        X = _sparse_matrix(arrays, floats)
    comments = None
    if options.comments:
        text = _of_type(arrays["comments"], "|u1").tobytes()
        lines = text.decode("utf-8", errors="surrogateescape").split("\n")
        comments = np.array(lines, dtype=object)
        _require(len(comments) == len(y))
    _require(X.shape[0] == len(y) == len(qid))
    return LetorData(X, y, qid, comments=comments)


def _sparse_matrix(arrays: Arrays, floats: str) -> csr_matrix:
    values, columns, row_ends = (arrays[name] for name in ("values", "columns", "row_ends"))
    _require(columns.dtype == row_ends.dtype and columns.dtype.kind == "i")
    for part in (_of_type(values, floats), columns, row_ends):
        _require(part.ndim == 1)
    n_rows, n_columns = _of_type(arrays["shape"], "<i8").tolist()
    _require(len(row_ends) == n_rows + 1 and row_ends[0] == 0 and row_ends[-1] == len(values))
    _require(len(columns) == len(values) and bool((np.diff(row_ends) >= 0).all()))
    _require(len(columns) == 0 or (columns.min() >= 0 and columns.max() < n_columns))
    return csr_matrix((values, columns, row_ends), shape=(n_rows, n_columns), copy=False)


def _of_type(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    _require(array.dtype == dtype and array.ndim == 1)
    return array


def _require(holds: Any) -> None:
    if not holds:
        raise ValueError("the arrays of a cache do not fit together")
