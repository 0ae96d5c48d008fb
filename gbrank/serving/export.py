"""Models as search engines read them, with splits that decide there as they do in LightGBM."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gbrank.core import (
    FloatArray,
    as_lightgbm_input,
    atomic_file,
    check_choice,
    count_rows_of,
    numeric_matrix,
    take_rows,
    write_atomically,
)
from gbrank.serving._elasticsearch import Elasticsearch
from gbrank.serving._engine import Engine, Forest, Interval
from gbrank.serving._solr import Solr
from gbrank.serving._trees import ZERO, Dump, dump_of, nodes_of, plain_trees
from gbrank.serving._vespa import Vespa
from gbrank.serving._xgboost_json import XGBoostJson

#: What each format is for.
ENGINES: dict[str, Engine] = {
    "opensearch": XGBoostJson(),
    "elasticsearch-ltr": XGBoostJson(),
    "elasticsearch": Elasticsearch(),
    "solr": Solr(),
    "vespa": Vespa(),
}
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Export:
    """What :func:`export` has written.

    Attributes
    ----------
    path, features_path : pathlib.Path
        The model, and what belongs to it: names of features in their order, an example of how the
        engine is told to compute them, and ``intervals``.
    format : str
        For which engine.
    n_trees : int
        How many trees there are, those of a linear start included.
    intervals : list of Interval
        Values of features that the engine sends another way than LightGBM; mostly none.
    n_verified, n_swapped : int
        How many rows ``verify`` had, and how many neighbours in LightGBM's order stand the other
        way round in the engine's, as it adds leaves with fewer digits.
    """

    path: Path
    features_path: Path
    format: str
    n_trees: int
    intervals: list[Interval]
    n_verified: int = 0
    n_swapped: int = 0


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    format: str,  # noqa: A002 - what everybody calls it
    feature_names: Sequence[str] | None = None,
    name: str | None = None,
    verify: Any = None,
    strict: bool = False,
    num_iteration: int | None = None,
) -> Export:
    """Write a model for a search engine, such that it ranks there as it does here.

    Engines compare otherwise than LightGBM: with "<" for "<=", with float32 for float64, with a
    hidden slack. Thresholds are converted such that every value, also one that is equal to a
    threshold or next to it, goes the same way; where an engine cannot, the values that it sends
    elsewhere are named. Scores are the sums of the same leaves, in the arithmetic of the engine:
    documents whose scores differ by less than it resolves may change places.

    Beside the model, ``model.json`` say, stands ``model.features.json``: the names of the features
    and their order, and an example of the request that tells the engine how to compute them.

    Parameters
    ----------
    model : lightgbm.Booster or fitted estimator
        What to write: all trees that it predicts with, those of a linear start included. Splits on
        categories, linear leaves and starts that are not made of trees are refused.
    path : str or path-like
        The file to write, which is replaced in one step; its folder must exist.
    format : {"opensearch", "elasticsearch-ltr", "elasticsearch", "solr", "vespa"}
        The engine. "elasticsearch-ltr" is the plugin, "elasticsearch" its own trained models.
    feature_names : sequence of str, default=None
        What the engine calls each feature; ``None`` for the names in training.
    name : str, default=None
        What Solr is to call the model; ``None`` for the name of the file without suffix.
    verify : array-like of shape (n_rows, n_features), default=None
        Rows to score as the engine would, from what was written; an error says which row reaches
        another leaf than in LightGBM, and no file is written then.
    strict : bool, default=False
        Raise an error where finite values of a feature would go another way than in LightGBM,
        except those within 1e-35 of zero, which LightGBM takes for zero. For Solr more features
        then have a normalizer.
    num_iteration : int, default=None
        Number of trees; ``None`` for as many as ``model.predict`` uses.

    Returns
    -------
    Export
        What was written, and what to know about it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gbrank import Ranker, export
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = Ranker.lightgbm_defaults(n_estimators=5)
    >>> booster = ranker.fit(data.X, data.y, qid=data.qid).booster_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.json"
    ...     written = export(booster, path, format="opensearch", verify=data.X)
    >>> written.n_trees, written.intervals
    (5, [])
    """
    check_choice("format", format, list(ENGINES))
    engine, target = ENGINES[format], Path(path)
    beside = target.with_suffix(".features.json")
    if beside == target:
        raise ValueError(f"path must have another name, as the features go to {target}")
    dump = dump_of(model, num_iteration)
    names = _check_names(feature_names, dump.names)
    engine.check_names(names)
    forest = Forest(plain_trees(dump), names)
    document, intervals = engine.document(forest, name or target.stem, strict)
    if strict:
        _check_differences(intervals)
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    n_swapped = 0 if verify is None else _verify(engine, json.loads(text), dump, names, verify)
    used = [names[feature] for feature in forest.used()]
    about = {
        "model": target.name,
        "format": format,
        "features": names,
        "features_used": used,
        "trees": len(forest.trees),
        "example": engine.example(used, target.stem),
        "intervals": [_as_json(interval) for interval in intervals],
    }
    write_atomically(target, text.encode())
    # a name that was made here: a link under it is not one of the user's
    with atomic_file(beside, follow_links=False) as file:
        file.write((json.dumps(about, indent=1, allow_nan=False) + "\n").encode())
    return Export(
        target,
        beside,
        format,
        len(forest.trees),
        intervals,
        0 if verify is None else count_rows_of(verify),
        n_swapped,
    )


def _check_names(given: Sequence[str] | None, trained: list[str]) -> list[str]:
    names = trained if given is None else [str(name) for name in given]
    if len(names) != len(trained):
        raise ValueError(
            f"feature_names must be {len(trained)} names, as the model has so many features, got "
            f"{len(names)}"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or "" in names:
        raise ValueError(f"feature_names must differ and not be empty, got {(twice or [''])[0]!r}")
    return names


def _check_differences(intervals: Sequence[Interval]) -> None:
    for each in intervals:
        is_zero = max(abs(each.first), abs(each.last)) <= ZERO
        if np.isfinite(each.first) and not is_zero:
            raise ValueError(
                f"values of {each.feature!r} from {each.first!r} to {each.last!r} would go another "
                f"way than in LightGBM: {each.reason}. strict=False writes the model all the same"
            )


def _as_json(interval: Interval) -> dict[str, Any]:
    """Return an interval with infinities as text, since JSON has none."""
    entries = asdict(interval)
    ends = {end: entries[end] for end in ("first", "last")}
    return entries | {end: v if np.isfinite(v) else str(v) for end, v in ends.items()}


def _verify(engine: Engine, document: Any, dump: Dump, names: Sequence[str], X: Any) -> int:
    """Raise an error if a row reaches another leaf; return how many neighbours change places."""
    n_rows = count_rows_of(X)
    values = _leaf_values(dump)
    ours, theirs = [], []
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        rows = take_rows(X, np.arange(first, min(first + _ROWS_AT_ONCE, n_rows)))
        options = {"num_iteration": dump.num_iteration}
        matrix = numeric_matrix(rows)
        matrix = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            raise ValueError(
                f"verify must have {len(names)} columns, as the model, got shape {matrix.shape}"
            )
        features = as_lightgbm_input(rows)
        leaves = dump.booster.predict(features, pred_leaf=True, **options)
        leaves = np.asarray(leaves).reshape(len(matrix), -1)
        reached = np.stack([values[t][leaves[:, t]] for t in range(len(values))], axis=1)
        expected = engine.total(reached)
        with np.errstate(over="ignore"):
            scores = engine.total(engine.leaves(document, matrix.astype(engine.takes), names))
        wrong = np.flatnonzero(scores != expected)
        if len(wrong):
            at = int(wrong[0])
            raise ValueError(
                f"verify: {len(wrong)} of {len(matrix)} rows would have another score than in "
                f"LightGBM, the first is row {first + at} with {scores[at]!r} instead of "
                f"{expected[at]!r}. Values that are not float32 numbers, or lie in an interval "
                "that the export names, may do that"
            )
        ours.append(dump.booster.predict(features, raw_score=True, **options))
        theirs.append(scores)
    if not ours:
        return 0
    order = np.argsort(np.concatenate(ours), kind="stable")
    sorted_ours, sorted_theirs = np.concatenate(ours)[order], np.concatenate(theirs)[order]
    return int(((np.diff(sorted_ours) > 0) & (np.diff(sorted_theirs) < 0)).sum())


def _leaf_values(dump: Dump) -> list[FloatArray]:
    """Return the values of each tree by LightGBM's number of the leaf."""
    found = []
    for root in dump.roots:
        leaves = {n.get("leaf_index", 0): n for n in nodes_of(root) if "leaf_value" in n}
        found.append(np.array([leaves[at]["leaf_value"] for at in sorted(leaves)]) / dump.divisor)
    return found
