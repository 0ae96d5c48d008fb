"""Data files of any format as features, labels, query ids and weights."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gbrank.cli.options import UsageError

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
}
_MOST_NAMES = 12


@dataclass
class Documents:
    """What a data file holds; labels, ids and weights are ``None`` where it has none.

    Attributes
    ----------
    X : features, an array, a sparse matrix or a data frame.
    y, qid, weight : one entry per row, or ``None``.
    path : where they come from.
    """

    X: Any
    y: Any
    qid: Any
    weight: Any
    path: Path

    @property
    def n_queries(self) -> int:
        """Number of distinct query ids."""
        from gbrank.core import QueryLayout

        return QueryLayout.from_qid(self.qid).n_queries


def format_of(path: Path, given: str | None = None) -> str:
    """Tell the format of a file by its name, unless given.

    >>> from pathlib import Path
    >>> from gbrank.cli.files import format_of
    >>> format_of(Path("a.csv.gz")), format_of(Path("a.parquet")), format_of(Path("a.txt.xz"))
    ('csv', 'parquet', 'letor')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return given or _FORMAT_OF_SUFFIX.get(suffixes[-1] if suffixes else "", "letor")


def read_documents(
    name: str,
    options: argparse.Namespace,
    *,
    model: Any = None,
    judged: bool = True,
    signed: bool = True,
) -> Documents:
    """Read a data file.

    Parameters
    ----------
    name : path of the file.
    options : what ``add_data_options`` added; ``n_features`` too where a command has it.
    model : what the features are for: its columns are taken, and no others.
    judged : whether labels and query ids must be there.
    signed : whether labels may be below 0.
    """
    path = Path(name)
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", name)
    kind = format_of(path, options.format)
    if kind == "letor":
        documents = _read_letor(path, options, model)
    elif kind == "npz":
        documents = _read_npz(path, options)
    else:
        documents = _from_frame(_read_frame(path, kind), path, options, model, judged)
    if judged:
        _check(documents, signed)
    return documents


def _check(documents: Documents, signed: bool) -> None:
    """Refuse labels, ids and weights that nobody can use, and say in which file they are."""
    from gbrank.core import QueryLayout, check_labels, check_weights

    try:
        layout = QueryLayout.from_qid(documents.qid, documents.X.shape[0])
        check_labels(documents.y, layout, signed=signed)
        if documents.weight is not None:
            check_weights(documents.weight, layout)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{documents.path}: {error}") from error


def _read_letor(path: Path, options: argparse.Namespace, model: Any) -> Documents:
    from gbrank.data import load_letor

    for option in ("weight", "drop", "categorical", "label", "qid"):
        if getattr(options, option, None):
            raise UsageError(f"--{option} names a column, but {path} is LETOR text: it has none")
    n_features = getattr(options, "n_features", None) if model is None else model.n_features_in_
    data = load_letor(
        path,
        sparse=options.sparse,
        zero_based=options.zero_based,
        cache=options.cache,
        n_features=n_features,
        n_jobs=getattr(options, "threads", None),
    )
    return Documents(data.X, data.y, data.qid, None, path)


def _read_npz(path: Path, options: argparse.Namespace) -> Documents:
    import numpy as np

    for option in ("weight", "drop", "categorical", "label", "qid"):
        if getattr(options, option, None):
            raise UsageError(f"--{option} names a column, but {path} is npz: it has none")
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
    return Documents(found["X"], found["y"], found["qid"], found.get("weight"), path)


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


def _from_frame(
    frame: Any, path: Path, options: argparse.Namespace, model: Any, judged: bool
) -> Documents:
    frame.columns = [str(column) for column in frame.columns]
    label, qid = options.label or "label", options.qid or "qid"
    named = [*([label, qid] if judged else []), *([options.weight] if options.weight else [])]
    for name in (*named, *options.drop, *options.categorical):
        if name not in frame.columns:
            raise ValueError(f"{path} has no column {name!r}; it has {_some(frame.columns)}")
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

    return Documents(
        _as_features(features, path, options.categorical, model),
        column(label),
        column(qid),
        column(options.weight),
        path,
    )


def _as_features(features: Any, path: Path, categorical: list[str], model: Any) -> Any:
    """Return a frame of numbers and categories; refuse columns of texts."""
    if features.shape[1] == 0:
        raise ValueError(f"{path} has no columns of features")
    if features.shape[0] == 0:
        raise ValueError(f"{path} has no rows")
    kinds = {name: "category" for name in categorical if features[name].dtype.name != "category"}
    had_categories = bool(getattr(getattr(model, "booster_", None), "pandas_categorical", None))
    for name, dtype in features.dtypes.items():
        if name in kinds or dtype.name == "category" or dtype.kind in "biuf":
            continue
        if not had_categories:
            raise ValueError(
                f"{path}: column {name!r} does not hold numbers: leave it out with --drop, or "
                "name it with --categorical"
            )
        kinds[name] = "category"
    return features.astype(kinds) if kinds else features


def _some(columns: Any) -> str:
    names = [repr(str(name)) for name in columns]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
