"""Where boosting starts: from zero, from a linear ranker, or from any model that can predict.

A start gives every row a score; trees are grown on top. A pointwise linear start then becomes trees
itself, one per feature, and so part of the model; the other kinds are added by the Ranker when it
predicts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gbrank.boosting import Rows
from gbrank.core import (
    LARGEST_GAIN,
    FloatArray,
    IntArray,
    QueryLayout,
    check_scores,
    is_sequence,
    is_table,
    numeric_matrix,
    take_rows,
)
from gbrank.linear import RELATIVE, LinearRanker, relative_scores, step_tree
from gbrank.objectives import Objective

#: Features above which ``start="auto"`` is "zero": the cost of a linear fit grows with their cube.
_MOST_FEATURES = 1_000
#: Rows of a table that are made numbers at a time.
_CHUNK = 100_000
#: Labels above it have no gain of the kind "exp".
_LARGEST_LABEL = float(np.log2(LARGEST_GAIN))
_NAMES = ("auto", "zero", "linear", "query_linear")


def resolve_start(start: Any, rows: Rows, *, has_labels: bool) -> Any:
    """Return "zero", "linear", "query_linear" or the model given; refuse anything else."""
    if not isinstance(start, str):
        if not callable(start) and not hasattr(start, "predict"):
            raise TypeError(
                f"start must be one of {_NAMES}, a fitted estimator or a callable, got "
                f"{type(start).__name__}"
            )
        return start
    if start not in _NAMES:
        raise ValueError(
            f"start must be one of {_NAMES}, a fitted estimator or a callable, got {start!r}"
        )
    if start == "zero":
        return start
    n_features = 0 if is_sequence(rows.X) else rows.X.shape[1]
    fits = has_labels and 0 < n_features <= _MOST_FEATURES
    if start == "auto":
        return "linear" if fits else "zero"
    if not fits:
        why = (
            "learns from labels, and there are none"
            if not has_labels
            else f"needs features in memory, at most {_MOST_FEATURES}"
        )
        raise ValueError(f"start={start!r} {why}; use start='zero'")
    return start


def fit_linear(
    kind: str, rows: Rows, objective: Objective, seed: int
) -> tuple[LinearRanker, FloatArray]:
    """Return a linear ranker on the scale of the objective, and the scores of the rows by it.

    The scores that a query-relative one gives to rows which it was fitted to are those of fits
    without them: as good as the scores of new rows will be, so that trees correct what is wrong
    with these. With a single query there is no such fit. (A pointwise one is part of the trees, and
    its rows have the scores of the trees.)
    """
    gain = getattr(objective, "gain", None)
    if gain is None:  # an objective without gains takes labels that exp has none for
        gain = "exp" if rows.labels.max(initial=0.0) <= _LARGEST_LABEL else "linear"
    ranker = LinearRanker(relative=kind == "query_linear", gain=gain, random_state=seed)
    features = _NumericRows(rows.X)
    drawn, held_out = ranker._fit_queries(features, rows.labels, rows.layout, rows.weight)
    scores = linear_scores(ranker, rows.X, rows.layout)
    if ranker.relative:
        scores[drawn] = held_out
    factor = _best_scale(objective, rows, scores)
    ranker.coef_ *= factor
    return ranker, factor * scores


def linear_scores(ranker: LinearRanker, X: Any, layout: QueryLayout) -> FloatArray:
    """Return the scores of features of any kind."""
    if ranker.relative:
        return relative_scores(ranker.coef_[:, RELATIVE:], numeric_matrix(X), layout)
    if not is_table(X):
        return ranker._pointwise_scores(numeric_matrix(X))
    features, n_rows = _NumericRows(X), layout.n_rows
    chunks = [np.arange(at, min(at + _CHUNK, n_rows)) for at in range(0, max(n_rows, 1), _CHUNK)]
    return np.concatenate([ranker._pointwise_scores(features[rows]) for rows in chunks])


class _NumericRows:
    """Rows of a table as numbers, made so when they are asked for; there is no whole copy."""

    def __init__(self, X: Any) -> None:
        self.X = X if is_table(X) else numeric_matrix(X)

    def __getitem__(self, rows: IntArray) -> Any:
        return numeric_matrix(take_rows(self.X, rows)) if is_table(self.X) else self.X[rows]


def start_trees(ranker: LinearRanker) -> list[str]:
    """Return a pointwise linear ranker as tree blocks of LightGBM's text."""
    return [
        step_tree(feature, steps.edges, ranker.step_values(feature), steps.counts)
        for feature, steps in enumerate(ranker.steps_)
        if steps is not None and ranker.coef_[feature].any()
    ]


def explained(ranker: LinearRanker) -> FloatArray:
    """Return one number per feature: how the score rises with it.

    For a pointwise start, from the lowest to the highest values; for a query-relative one, per
    standard deviation within the query (of ranks: that of evenly spread ones).
    """
    if ranker.relative:
        effect: FloatArray = ranker.coef_[:, RELATIVE:] @ np.array([1.0, 12**-0.5])
        return effect
    return np.array(
        [
            0.0 if steps is None else float(np.diff(ranker.step_values(feature)[[0, -2]])[0])
            for feature, steps in enumerate(ranker.steps_)
        ]
    )


def model_scores(model: Any, X: Any, layout: QueryLayout) -> FloatArray:
    """Return what a fitted estimator, or a callable, says of features."""
    predict = getattr(model, "predict", model)
    return check_scores(np.asarray(predict(X), dtype=np.float64).ravel(), layout)


def _best_scale(objective: Objective, rows: Rows, scores: FloatArray) -> float:
    """Return the factor of the scores at which the objective pulls them neither up nor down.

    Least squares gives scores on the scale of gains, a loss may want logits. Along the
    ray of scaled scores a convex loss is least where its gradient is orthogonal to the scores.
    """
    layout = rows.layout
    labels, ordered = layout.sort(rows.labels), layout.sort(scores)
    weight = None if rows.weight is None else layout.sort(rows.weight)
    if weight is not None and weight.any():
        weight = weight / weight.max()  # gradients are in single precision
    plain = objective.plain_gradient()

    def slope(factor: float) -> float:
        grad, _ = plain.grad_hess(labels, factor * ordered, layout.sizes, weight)
        return float(grad.astype(np.float64) @ ordered)

    low, high = 0.0, 1.0
    if not slope(1e-6) < 0:
        return 1.0
    while slope(high) < 0 and high < 256:
        low, high = high, 2 * high
    for _ in range(8):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


@dataclass
class Start:
    """Where boosting starts.

    Attributes
    ----------
    kind : "zero", "linear", "query_linear" or "model".
    trees : text blocks of a pointwise linear start.
    coefficients : of a query-relative start: of each feature's z-score and rank within the query.
    explained : one number per feature, or None: see ``Ranker.linear_coef_``.
    training_scores : scores of the training rows, where they are known already.
    scores : function of features and layout, or None for zero.
    """

    kind: str = "zero"
    trees: list[str] = field(default_factory=list)
    coefficients: FloatArray | None = None
    explained: FloatArray | None = None
    training_scores: FloatArray | None = None
    scores: Callable[..., FloatArray] | None = None

    def added_to(self, rows: Rows, known: FloatArray | None = None) -> Rows:
        """Return rows whose first scores are those of the start, or ``known``."""
        if self.scores is None:
            return rows
        scores = self.scores(rows.X, rows.layout) if known is None else known
        if rows.init_score is not None:
            scores = scores + rows.init_score
        return replace(rows, init_score=scores)


def make_start(start: Any, rows: Rows, objective: Objective, seed: int) -> Start:
    """Fit, or take as it is, what :func:`gbrank.start.resolve_start` returned."""
    if isinstance(start, str) and start == "zero":
        return Start()
    if not isinstance(start, str):
        return Start("model", scores=lambda X, layout: model_scores(start, X, layout))
    linear, training_scores = fit_linear(start, rows, objective, seed)
    relative = start == "query_linear"
    return Start(
        start,
        trees=[] if relative else start_trees(linear),
        coefficients=linear.coef_[:, RELATIVE:].copy() if relative else None,
        explained=explained(linear),
        training_scores=training_scores,
        scores=lambda X, layout: linear_scores(linear, X, layout),
    )
