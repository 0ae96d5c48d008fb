"""LightGBM Datasets of whole queries, and which columns go with which model."""

from collections import Counter
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting.model_text import numeric_features
from gbrank.core import (
    RankingData,
    as_lightgbm_input,
    column_names,
    is_sequence,
    is_table,
    take_rows,
)

# LightGBM writes names into JSON and, line by line, into its own text.
_SPECIAL = '",:[]{}\n\r\0'


def make_dataset(
    data: RankingData,
    params: dict[str, Any],
    reference: lgb.Dataset | None = None,
    continued: lgb.Booster | None = None,
) -> lgb.Dataset:
    """Return a Dataset, its rows in query order.

    Parameters
    ----------
    data : checked rows.
    params : parameters of LightGBM.
    reference : the Dataset whose bins are used, for evaluation sets.
    continued : the model whose training goes on, whose numbers of categories are used.
    """
    layout, X = data.layout, as_lightgbm_input(data.X)
    if layout.order is not None:
        X = take_rows(X, layout.order)
    if continued is not None and not is_sequence(X):
        names = [str(name) for name in column_names(X)]
        check_same_columns(continued, names or None, X.shape[1])
        X = _with_categories_of(continued, X)
    weight, init_score = data.sample_weight, data.init_score
    return lgb.Dataset(
        X,
        layout.sort(data.y),
        group=layout.sizes,
        weight=None if weight is None else layout.sort(weight),
        init_score=None if init_score is None else layout.sort(init_score),
        reference=reference,
        params=params,
    )


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
    types = X.schema.items() if hasattr(X, "get_column") else ()  # of polars
    for name, kind in types:
        if "Int128" in str(kind):
            raise ValueError(
                f"column {name!r} is of type {kind}, which LightGBM has no numbers for: cast it "
                "to Float64 or Int64"
            )


def _as_written(name: str) -> str:
    return name.replace(" ", "_")


def feature_names(model: lgb.Booster | lgb.Dataset) -> list[str] | None:
    """Return the names of a model's or a Dataset's features; ``None`` if these are but numbers."""
    names = model.feature_name() if isinstance(model, lgb.Booster) else model.get_feature_name()
    return None if names == [f"Column_{number}" for number in range(len(names))] else list(names)


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
