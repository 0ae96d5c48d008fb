"""LightGBM Datasets of whole queries, and which columns go with which model."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting.model_text import numeric_features
from gbrank.boosting.params import monotone_constraints, take_param, unused_features
from gbrank.core import (
    RankingData,
    as_lightgbm_input,
    column_names,
    given_names,
    is_sequence,
    is_table,
    single_labels,
    take_rows,
)

# How types of dates, times and their differences are called in NumPy, pandas, polars and pyarrow.
_TIMES = ("date", "time", "duration", "period")
# LightGBM writes names into JSON and, line by line, into its own text.
_SPECIAL = '",:[]{}\n\r\0'


def make_dataset(
    data: RankingData,
    params: dict[str, Any],
    reference: lgb.Dataset | None = None,
    continued: lgb.Booster | None = None,
    *,
    by_order: bool = False,
) -> lgb.Dataset:
    """Return a Dataset, its rows in query order.

    Parameters
    ----------
    data : checked rows.
    params : parameters of LightGBM.
    reference : the Dataset whose bins are used, for evaluation sets.
    continued : the model whose training goes on, whose numbers of categories are used.
    by_order : whether the loss needs no more of labels than their order within the query.
    """
    layout, X = data.layout, as_lightgbm_input(data.X)
    if layout.order is not None:
        X = take_rows(X, layout.order)
    if continued is not None and not is_sequence(X):
        names = [str(name) for name in column_names(X)]
        check_same_columns(continued, names or None, X.shape[1])
        X = _with_categories_of(continued, X)
    weight, init_score, position = data.sample_weight, data.init_score, data.position
    others, _ = take_param(params, "categorical_feature", None)
    categorical = categorical_columns(params, X)
    return lgb.Dataset(
        X,
        layout.sort(single_labels(data.y, layout, by_order=by_order)),
        group=layout.sizes,
        weight=None if weight is None else layout.sort(weight),
        init_score=None if init_score is None else layout.sort(init_score),
        position=None if position is None else layout.sort(position),
        reference=reference,
        # of those that a table says by itself LightGBM finds out more
        categorical_feature=categorical or "auto",
        params=others,
    )


def linear_limits(params: Mapping[str, Any], X: Any) -> dict[str, Any]:
    """Return what a linear start must keep of LightGBM's parameters, as ``Start.fit`` takes it.

    Constraints of interactions are kept by any sum over features, but for features in no group,
    which trees do not use.

    Parameters
    ----------
    params : parameters of LightGBM.
    X : the features.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.boosting.datasets import linear_limits
    >>> params = {"monotone_constraints": [1, 0], "interaction_constraints": [[0]]}
    >>> linear_limits(params, np.ones((5, 2)))
    {'left_out': [1], 'signs': [1, 0]}
    """
    n_features = 0 if is_sequence(X) else int(X.shape[1])
    signs = monotone_constraints(params)
    left_out = {*categorical_columns(params, X), *unused_features(params, n_features)}
    # of another length they are an error of LightGBM
    return {"left_out": sorted(left_out), "signs": signs if len(signs) == n_features else []}


def categorical_columns(params: Mapping[str, Any], X: Any) -> list[int]:
    """Return the numbers of the columns that ``categorical_feature`` names; none without it.

    Parameters
    ----------
    params : parameters of LightGBM: numbers or names, in a list or as LightGBM's text.
    X : the features.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.boosting.datasets import categorical_columns
    >>> categorical_columns({"categorical_feature": [0, 2]}, np.ones((5, 3)))
    [0, 2]
    """
    _, given = take_param(params, "categorical_feature", None)
    if given is None or (isinstance(given, str) and given in ("", "auto")):
        return []
    if isinstance(given, str):
        given = given.removeprefix("name:").split(",")
    names = [str(name) for name in column_names(X)]
    n_columns = len(names) if names else None if is_sequence(X) else X.shape[1]
    numbers = []
    for each in np.ravel(given).tolist():
        word = str(each)
        number = names.index(word) if word in names else int(word) if word.isdigit() else -1
        if number < 0 or (n_columns is not None and number >= n_columns):
            known = f"names {names}" if names else f"numbers 0 to {(n_columns or 0) - 1}"
            raise ValueError(
                f"lgb_params: categorical_feature must be columns of X, by {known}, got {each!r}"
            )
        numbers.append(number)
    return sorted(set(numbers))


def check_dataset(dataset: lgb.Dataset, params: dict[str, Any], name: str) -> lgb.Dataset:
    """Return a user's own Dataset, constructed; one without labels or queries is a ``ValueError``.

    Parameters
    ----------
    dataset : the Dataset.
    params : parameters of LightGBM.
    name : what the user calls it.
    """
    # What lgb.train does first, and must come before a Dataset is constructed: then it is too late.
    dataset._update_params(params).construct()
    labels = dataset.get_label()
    if labels is None or not np.any(labels):
        raise ValueError(f"the Dataset {name} has no labels, or none above 0: give it label=")
    if dataset.get_group() is None:
        raise ValueError(f"the Dataset {name} has no queries: give it group= (rows per query)")
    return dataset


def check_splittable(training: lgb.Dataset, min_child_samples: int) -> None:
    """Raise a ``ValueError`` where LightGBM, with a custom objective, has a failed C++ check.

    Parameters
    ----------
    training : the Dataset to train on.
    min_child_samples : rows that a leaf needs, for the message.
    """
    training.construct()
    if all(training.feature_num_bin(feature) == 0 for feature in range(training.num_feature())):
        raise ValueError(
            "no feature can be split on: every one is constant, or there are too few rows "
            f"({training.num_data()}) for leaves of min_child_samples={min_child_samples}"
        )


# --- names of columns ----------------------------------------------------------------------------


def check_columns(X: Any) -> None:
    """Raise a ``ValueError`` for columns that LightGBM cannot name or read.

    Parameters
    ----------
    X : features of any kind; only tables have names and types.
    """
    names = [str(name) for name in column_names(X)]
    for name in names:
        if any(character in name for character in _SPECIAL):
            raise ValueError(
                f"column names must not contain any of {_SPECIAL!r}, which mean something in "
                f"LightGBM's model text, but one is {name!r}: rename it"
            )
    written, times = next(iter(Counter(map(_as_written, names)).most_common(1)), ("", 1))
    if times > 1:
        same = dict.fromkeys(name for name in names if _as_written(name) == written)
        raise ValueError(
            "column names must differ, also when LightGBM writes _ for a space, but "
            f"{times} columns are named {' or '.join(map(repr, same))}"
        )
    for name, kind in _types(X):
        if str(kind).lower().startswith(_TIMES):
            raise ValueError(
                f"{name} is of type {kind}, which trees have no numbers for: turn it into numbers, "
                "such as days since a date"
            )
        if "Int128" in str(kind):
            raise ValueError(
                f"{name} is of type {kind}, which LightGBM has no numbers for: cast it "
                "to Float64 or Int64"
            )


def _types(X: Any) -> list[tuple[str, Any]]:
    """Return what each column of a table is called and its type; of an array, that of the whole."""
    if is_table(X):
        fields = X.dtypes if hasattr(X, "dtypes") else X.schema.types
        return [
            (f"column {name!r}", kind) for name, kind in zip(column_names(X), fields, strict=True)
        ]
    return [("X", X.dtype)] if hasattr(X, "dtype") else []


def _as_written(name: str) -> str:
    return name.replace(" ", "_")


def feature_names(model: lgb.Booster | lgb.Dataset) -> list[str] | None:
    """Return the names of a model's or a Dataset's features; ``None`` if these are but numbers."""
    names = model.feature_name() if isinstance(model, lgb.Booster) else model.get_feature_name()
    return given_names(names)


def check_same_columns(continued: lgb.Booster, names: list[str] | None, n_features: int) -> None:
    """Raise a ``ValueError`` if rows have other columns than a model whose training goes on.

    Parameters
    ----------
    continued : the model.
    names : names of the columns, ``None`` if they have none.
    n_features : number of the columns.
    """
    expected = feature_names(continued)
    if continued.num_feature() != n_features:
        raise ValueError(
            f"X has {n_features} features, but the model whose training goes on has "
            f"{continued.num_feature()}"
        )
    if expected is not None and names is not None and expected != list(map(_as_written, names)):
        raise ValueError(
            f"X has the features {names}, but the model whose training goes on has {expected}, in "
            "this order"
        )


def check_continued_dataset(continued: lgb.Booster, dataset: lgb.Dataset) -> None:
    """Raise a ``ValueError`` if a Dataset has other columns or categories than a model.

    Parameters
    ----------
    continued : the model whose training goes on.
    dataset : a Dataset that is constructed, so that nothing in it can be put in another order.
    """
    check_same_columns(continued, feature_names(dataset), dataset.num_feature())
    if (continued.pandas_categorical or []) != (dataset.pandas_categorical or []):
        raise ValueError(
            "the Dataset X must have the categories of the model whose training goes on, in their "
            f"order, {continued.pandas_categorical}, got {dataset.pandas_categorical}"
        )


def check_columns_of_categories(model: lgb.Booster, X: Any) -> None:
    """Raise a ``ValueError`` if other columns of a frame hold categories than in training.

    Parameters
    ----------
    model : a model that was trained on a frame with the same columns.
    X : features, as LightGBM takes them; only frames are looked at.
    """
    if not (is_table(X) and hasattr(X, "dtypes")):
        return
    now = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if str(kind) == "category"]
    before = len(model.pandas_categorical or [])
    if len(now) != before:
        raise ValueError(
            f"X has {len(now)} columns of categories, {now}, but in training there were {before}: "
            "use X[name].astype('category') for each column that had them, and for no other"
        )


def _with_categories_of(continued: lgb.Booster, X: Any) -> Any:
    """Return a frame whose categories have the numbers that a model knows them by; new ones follow.

    LightGBM numbers categories by their order in the frame, and looks at no names when it adds
    trees to those of another model.
    """
    is_frame = is_table(X) and hasattr(X, "dtypes")
    kinds = list(zip(X.columns, X.dtypes, strict=True)) if is_frame else []
    now = {name: kind for name, kind in kinds if hasattr(kind, "categories")}
    before = continued.pandas_categorical or []
    if len(before) != len(now):
        raise ValueError(
            f"X has {len(now)} columns of categories, {list(now)}, but the model whose training "
            f"goes on has {len(before)}"
        )
    were_numbers = numeric_features(continued) if now else []
    for number, (name, kind) in enumerate(kinds):
        if name in now and not kind.ordered and were_numbers[number]:
            raise ValueError(
                f"column {name!r} has categories, but in the model whose training goes on it has "
                "numbers"
            )
    for (name, kind), known in zip(now.items(), before, strict=True):
        new = [category for category in kind.categories if category not in known]
        if list(kind.categories) != known + new:
            X = X.copy(deep=False)
            X[name] = X[name].cat.set_categories(known + new)
    return X
