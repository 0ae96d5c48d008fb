"""Data files of any format as a :class:`gbrank.data.RankingData`."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gbrank
from gbrank.cli.options import UsageError

if TYPE_CHECKING:
    from gbrank.data import RankingData

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
}
#: Names of files that are certainly no LETOR text, which any other name stands for.
_OTHER_FORMATS = (
    *(".xlsx", ".xls", ".xlsm", ".ods", ".numbers", ".json", ".jsonl", ".xml", ".html", ".pdf"),
    *(".feather", ".arrow", ".orc", ".avro", ".h5", ".hdf5", ".mat", ".rds", ".sas7bdat", ".dta"),
    *(".npy", ".pkl", ".pickle", ".joblib", ".sqlite", ".db", ".zip", ".tar", ".tgz", ".7z"),
)
_MOST_NAMES = 12
_NO_NUMBERS = (
    "{path}: column {name!r} does not hold numbers: leave it out with --drop, or name it with "
    "--categorical"
)


def format_of(path: Path, given: str | None = None) -> str:
    """Return the format of a file by its name, unless given.

    >>> from pathlib import Path
    >>> from gbrank.cli.files import format_of
    >>> format_of(Path("a.csv.gz")), format_of(Path("a.parquet")), format_of(Path("a.txt.xz"))
    ('csv', 'parquet', 'letor')
    """
    if given is not None:
        return given
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    if last in _OTHER_FORMATS:
        raise ValueError(
            f"{path}: {last} files are neither read nor written: use CSV, parquet, npz or LETOR "
            "text (--format says what a file is, whatever its name)"
        )
    return _FORMAT_OF_SUFFIX.get(last, "letor")


def read_data(
    name: str,
    options: argparse.Namespace,
    *,
    model: Any = None,
    judged: bool = True,
    signed: bool = True,
    plain: bool = False,
) -> "RankingData":
    """Read a data file.

    Parameters
    ----------
    name : str
        Path of the file.
    options : argparse.Namespace
        What ``add_data_options`` added; ``n_features`` too where a command has it.
    model : estimator, default=None
        What the features are for: its columns are taken, and no others.
    judged : bool, default=True
        Whether labels and query ids must be there; they are checked then, here and once.
    signed : bool, default=True
        Whether labels may be below 0.
    plain : bool, default=False
        Whether names of features do not matter, so that CSV is read without pandas where there is
        none.
    """
    path = Path(name)
    if not path.is_dir():  # as one of LETOR text, or of parquet
        from gbrank.core import check_file

        check_file(name)
    kind = format_of(path, options.format)
    if kind == "letor":
        data = _read_letor(path, options, model)
    elif kind == "npz":
        data = _read_npz(path, options)
    elif kind == "csv" and plain and not options.categorical and not _has_pandas():
        data = _read_plain(path, options)
    else:
        data = _from_frame(_read_frame(path, kind), path, options, model, judged)
    if not judged:
        return data
    try:
        return gbrank.data.RankingData.checked(
            data.X, data.y, data.qid, sample_weight=data.sample_weight, signed=signed
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from error


def _check_no_columns(path: Path, options: argparse.Namespace, kind: str) -> None:
    for option in ("weight", "drop", "categorical", "label", "qid"):
        if getattr(options, option, None):
            raise UsageError(f"--{option} names a column, but {path} is {kind}: it has none")


def _read_letor(path: Path, options: argparse.Namespace, model: Any) -> "RankingData":
    _check_no_columns(path, options, "LETOR text")
    n_features = getattr(options, "n_features", None) if model is None else model.n_features_in_
    return gbrank.data.load_letor(
        path,
        sparse=options.sparse or "auto",
        zero_based=options.zero_based,
        cache=options.cache,
        n_features=n_features,
        n_jobs=getattr(options, "threads", None),
    )


def _read_npz(path: Path, options: argparse.Namespace) -> "RankingData":
    import numpy as np

    _check_no_columns(path, options, "npz")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in ("X", "y", "qid", "weight") if name in arrays}
    except OSError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy have many ways to say it
        raise ValueError(f"{path} is not a readable npz file: {error}") from error
    missing = [name for name in ("X", "y", "qid") if name not in found]
    if missing:
        raise ValueError(f"{path} has no array {missing[0]!r}: X, y and qid are expected")
    if found["X"].ndim != 2 or found["X"].dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: X must be a matrix of numbers, got shape {found['X'].shape} of "
            f"{found['X'].dtype}"
        )
    return gbrank.data.RankingData(found["X"], found["y"], found["qid"], found.get("weight"))


def _read_frame(path: Path, kind: str) -> Any:
    pandas = import_pandas(path, kind)
    try:
        if kind == "parquet":
            return pandas.read_parquet(path)
        separator = "\t" if ".tsv" in [suffix.lower() for suffix in path.suffixes] else ","
        return pandas.read_csv(
            path, sep=separator, low_memory=False, **_nearest_floats(pandas.__version__)
        )
    except ImportError as error:
        extra = "pandas,arrow" if kind == "parquet" else "zstd"
        raise ImportError(f'{path} needs another package: pip install "gbrank[{extra}]"') from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{path} is not a readable {kind} file: {error}") from error
    except Exception as error:  # the parsers' own types of error, of several packages
        raise ValueError(f"{path} is not a readable {kind} file: {error}") from error


def _nearest_floats(version: str) -> dict[str, str]:
    """Return the option by which pandas reads exactly; newer ones do and deprecate it."""
    major, minor = (int(number) for number in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def import_pandas(path: Path, kind: str) -> Any:
    """Return pandas, or say which extra has what this kind of file needs."""
    extra = "pandas,arrow" if kind == "parquet" else "pandas"
    try:
        import pandas

        if kind == "parquet":
            import pyarrow  # type: ignore[import-untyped,unused-ignore]  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{path}: {kind} files need {error.name}: pip install "gbrank[{extra}]"'
        ) from error
    return pandas


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def _read_plain(path: Path, options: argparse.Namespace) -> "RankingData":
    """Read CSV without pandas: features are a matrix."""
    import numpy as np

    from gbrank.cli.plain_csv import read_columns

    label, qid = options.label or "label", options.qid or "qid"
    columns = read_columns(path, qid)
    _check_there([label, qid, *filter(None, [options.weight]), *options.drop], columns, path)
    names = [n for n in columns if n not in {label, qid, options.weight, *options.drop}]
    _check_shape((len(columns[label]), len(names)), path)
    for name in names:
        if columns[name].dtype.kind != "f":
            raise ValueError(_NO_NUMBERS.format(path=path, name=name))
    X = np.stack([columns[name] for name in names], axis=1)
    return gbrank.data.RankingData(X, columns[label], columns[qid], columns.get(options.weight))


def _check_there(names: Iterable[str], columns: Iterable[str], path: Path) -> None:
    for name in names:
        if name not in columns:
            raise ValueError(f"{path} has no column {name!r}; it has {_some(columns)}")


def _check_shape(shape: tuple[int, int], path: Path) -> None:
    if shape[1] == 0:
        raise ValueError(f"{path} has no columns of features")
    if shape[0] == 0:
        raise ValueError(f"{path} has no rows")


def _from_frame(
    frame: Any, path: Path, options: argparse.Namespace, model: Any, judged: bool
) -> "RankingData":
    frame.columns = [str(column) for column in frame.columns]
    label, qid = options.label or "label", options.qid or "qid"
    named = [*([label, qid] if judged else []), *([options.weight] if options.weight else [])]
    _check_there((*named, *options.drop, *options.categorical), frame.columns, path)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise ValueError(
                f"{path} has no column {absent[0]!r}, which the model was trained on; "
                f"it has {_some(frame.columns)}"
            )
        features = frame[list(names)]
    else:
        others = {label, qid, options.weight, *options.drop}
        features = frame[[column for column in frame.columns if column not in others]]

    def column(name: str | None) -> Any:
        return frame[name] if name in frame.columns else None

    X = _as_features(features, path, options.categorical, model)
    return gbrank.data.RankingData(X, column(label), column(qid), column(options.weight))


def _as_features(features: Any, path: Path, categorical: list[str], model: Any) -> Any:
    """Return a frame of numbers and categories; refuse columns of texts."""
    _check_shape(features.shape, path)
    kinds = {name: "category" for name in categorical if features[name].dtype.name != "category"}
    had_categories = bool(getattr(getattr(model, "booster_", None), "pandas_categorical", None))
    for name, dtype in features.dtypes.items():
        if name in kinds or dtype.name == "category" or dtype.kind in "biuf":
            continue
        if not had_categories:
            raise ValueError(_NO_NUMBERS.format(path=path, name=name))
        kinds[name] = "category"
    return features.astype(kinds) if kinds else features


def _some(columns: Any) -> str:
    names = [repr(str(name)) for name in columns]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
