"""LightGBM Datasets of whole queries, from checked input."""

from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    as_lightgbm_input,
    check_labels,
    check_query_weights,
    check_scores,
    check_weights,
    count_rows_of,
    one_column,
    take_rows,
)


@dataclass(frozen=True)
class Rows:
    """Rows as the user gave them: in the user's order, checked, the queries known."""

    X: Any
    labels: FloatArray
    layout: QueryLayout
    weight: FloatArray | None = None
    init_score: FloatArray | None = None

    def of_queries(self, queries: IntArray) -> tuple["Rows", IntArray]:
        """Return the rows of some queries, in query order, and their numbers in the user's."""
        sizes = self.layout.sizes[queries]
        starts = np.repeat(self.layout.bounds[queries] - (np.cumsum(sizes) - sizes), sizes)
        places = starts + np.arange(sizes.sum())
        rows = places if self.layout.order is None else self.layout.order[places]
        part = Rows(
            take_rows(self.X, rows),
            self.labels[rows],
            QueryLayout.from_group(sizes),
            None if self.weight is None else self.weight[rows],
            None if self.init_score is None else self.init_score[rows],
        )
        return part, rows


def check_rows(
    X: Any,
    y: Any,
    qid: Any = None,
    group: Any = None,
    weight: ArrayLike | None = None,
    init_score: ArrayLike | None = None,
) -> Rows:
    """Check everything that comes by row or by query.

    Weights are one per row, or one per query: as many as there are queries, in the order in which
    these first appear.
    """
    layout = QueryLayout.from_either(qid, group, count_rows_of(X))
    return Rows(
        X,
        check_labels(one_column(y), layout),
        layout,
        None if weight is None else _row_weights(weight, layout),
        None if init_score is None else check_scores(one_column(init_score, "init_score"), layout),
    )


def _row_weights(weight: ArrayLike, layout: QueryLayout) -> FloatArray:
    values = one_column(weight, "sample_weight")
    if values.shape == (layout.n_queries,) and layout.n_queries != layout.n_rows:
        by_query = check_query_weights(weight, layout)
        checked: FloatArray = layout.unsort(np.repeat(by_query, layout.sizes))
    else:
        checked = check_weights(weight, layout)
    if not np.any(checked):
        raise ValueError("sample weights must contain at least one non-zero number")
    return checked


def make_dataset(
    rows: Rows, params: dict[str, Any], reference: lgb.Dataset | None = None
) -> lgb.Dataset:
    """Return a Dataset, its rows in query order."""
    layout, X = rows.layout, as_lightgbm_input(rows.X)
    if layout.order is not None:
        X = take_rows(X, layout.order)
    return lgb.Dataset(
        X,
        layout.sort(rows.labels),
        group=layout.sizes,
        weight=None if rows.weight is None else layout.sort(rows.weight),
        init_score=None if rows.init_score is None else layout.sort(rows.init_score),
        reference=reference,
        params=params,
    )


def check_dataset(dataset: lgb.Dataset, params: dict[str, Any], name: str) -> lgb.Dataset:
    """Return a user's own Dataset, constructed; refuse one without labels or queries."""
    # What lgb.train does first, and must come before a Dataset is constructed: then it is too late.
    dataset._update_params(params).construct()
    labels = dataset.get_label()
    if labels is None or not np.any(labels):
        raise ValueError(f"the Dataset {name} has no labels, or none above 0: give it label=")
    if dataset.get_group() is None:
        raise ValueError(f"the Dataset {name} has no queries: give it group= (rows per query)")
    return dataset


def refuse_if_nothing_can_be_split(training: lgb.Dataset, min_child_samples: int) -> None:
    """Say clearly what LightGBM, with a custom objective, answers with a failed C++ check."""
    training.construct()
    if all(training.feature_num_bin(feature) == 0 for feature in range(training.num_feature())):
        raise ValueError(
            "no feature can be split on: every one is constant, or there are too few rows "
            f"({training.num_data()}) for leaves of min_child_samples={min_child_samples}"
        )
