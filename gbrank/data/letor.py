"""LETOR and SVMlight text: what LETOR, MSLR, Yahoo and Istella publish, read at disk speed."""

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix, issparse

from gbrank.core import RankingData, check_integer, resolve_n_jobs
from gbrank.data._cache import Arrays, ParsedFiles
from gbrank.data._files import files_of
from gbrank.data._reader import ReadOptions, read_files

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
    sparse: bool = False,
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
    path : a file; several files, read one after the other; or a folder of such files (not one of
        training, validation and test files: :func:`load_folds` keeps those apart). Files may be
        compressed by gzip, bzip2, xz or zstd (the last needs ``pip install "gbrank[zstd]"`` before
        Python 3.14).
    sparse : whether ``X`` is a ``scipy.sparse.csr_matrix``, without zeros, or an array.
    dtype : of ``X``, float32 or float64.
    missing : value of features that a line does not name: 0, as LETOR means it, or NaN, or any
        other number. In a sparse result it is 0.
    n_features : number of columns; by default, the largest feature number that occurs. To be given
        when another file may have features that this one has not.
    zero_based : whether features count from 0; in LETOR, MSLR, Yahoo and Istella they count from 1.
    comments : whether to keep what follows ``#``: ``LetorData.comments`` and ``LetorData.docid``.
    cache : where to keep the parsed arrays, which the next call then maps into memory: a folder, or
        ``True`` for ``.gbrank_cache`` next to the file. By default nothing is written. A cached
        file that was changed, or a damaged cache, is read again. The arrays can be written to,
        which changes neither file.
    progress : whether to show a progress bar (``pip install "gbrank[progress]"``).
    n_jobs : number of threads; ``None`` means ``OMP_NUM_THREADS`` or all CPUs.

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
    parsed = ParsedFiles(folder, paths, options)
    arrays = parsed.load()
    if arrays is None:
        data = _read(paths, options, n_threads, progress)
        try:
            parsed.save(_to_arrays(data))
        except OSError as error:
            warnings.warn(f"the cache cannot be written: {error}", UserWarning, stacklevel=2)
            return data
        arrays = parsed.load()
        if arrays is None:  # another program may have replaced it by now
            return data
    return _from_arrays(arrays)


def check_options(
    sparse: Any, dtype: Any, missing: Any, n_features: Any, zero_based: Any, comments: Any
) -> ReadOptions:
    """Refuse options that make no sense, before any file is opened."""
    for name, flag in (("sparse", sparse), ("zero_based", zero_based), ("comments", comments)):
        if not isinstance(flag, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {flag!r}")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype)}")
    if isinstance(missing, bool) or not isinstance(missing, int | float | np.integer | np.floating):
        raise TypeError(f"missing must be a number or NaN, got {missing!r}")
    if sparse and missing != 0:
        raise ValueError(
            f"missing must be 0 if sparse=True, as that is what a sparse matrix means, "
            f"got {missing!r}"
        )
    if n_features is not None:
        check_integer("n_features", n_features, low=1, high=2**31 - 1)
    return ReadOptions(
        single=np.dtype(dtype) == np.float32,
        sparse=bool(sparse),
        missing=float(missing),
        n_features=None if n_features is None else int(n_features),
        zero_based=bool(zero_based),
        comments=bool(comments),
    )


def _read(paths: list[Path], options: ReadOptions, n_threads: int, progress: bool) -> LetorData:
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


def _from_arrays(arrays: Arrays) -> LetorData:
    if "X" in arrays:
        X = arrays["X"]
    else:
        parts = (arrays["values"], arrays["columns"], arrays["row_ends"])
        X = csr_matrix(parts, shape=tuple(arrays["shape"].tolist()), copy=False)
    comments = None
    if "comments" in arrays:
        text = arrays["comments"].tobytes().decode("utf-8", errors="surrogateescape")
        comments = np.array(text.split("\n"), dtype=object)
    return LetorData(X, arrays["y"], arrays["qid"], comments=comments)
