"""Where boosting starts: from zero, from a linear ranker, or from any model that can predict.

A start gives every row a score; trees are grown on top. A pointwise linear start then becomes trees
itself, few and one a feature, and so part of the model; the other kinds are added by the Ranker
when it predicts. This file has the whole way: what is chosen, how it is fitted, and what becomes
of it.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import lightgbm as lgb
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gbrank.boosting import is_constrained, merge_models, step_tree
from gbrank.core import (
    LARGEST_GAIN,
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    check_scores,
    has_negative_gains,
    is_sequence,
    numeric_matrix,
)
from gbrank.linear import (
    MOST_FEATURES,
    RELATIVE,
    LinearRanker,
    StepSum,
    coarsened,
    relative_scores,
)
from gbrank.objectives import Objective

#: Features above which ``start="auto"`` is "zero": the cost of a linear fit grows with their cube.
_MOST_FEATURES = 1_000
#: Labels above it have no gain of the kind "exp".
_LARGEST_LABEL = float(np.log2(LARGEST_GAIN))
_NAMES = ("auto", "zero", "linear", "query_linear")


@dataclass(frozen=True)
class Start:
    """Where boosting starts.

    Attributes
    ----------
    kind : "zero", "linear", "query_linear" or "model".
    model : step functions of a linear start, or what the user gave.
    coefficients : of a query-relative start: of each feature's z-score and rank within the query.
    training_scores : scores of the rows that a linear start was fitted to.
    factor : what the scores of a user's model are multiplied by.

    Examples
    --------
    >>> from gbrank import get_objective
    >>> from gbrank.core import RankingData
    >>> from gbrank.data import make_ranking
    >>> from gbrank.start import Start
    >>> made = make_ranking(n_queries=40, random_state=0)
    >>> data = RankingData.checked(made.X, made.y, made.qid)
    >>> start = Start.fit("linear", data, get_objective("xendcg"))
    >>> start.kind, start.effects().shape
    ('linear', (20,))
    >>> bool((start.scores(data.X, data.layout) == start.added_to(data).init_score).all())
    True
    """

    kind: str = "zero"
    model: Any = None
    coefficients: FloatArray | None = None
    training_scores: FloatArray | None = None
    factor: float = 1.0

    # --- from what the user asks for to scores ---------------------------------------------------

    @classmethod
    def fit(
        cls,
        start: Any,
        data: RankingData,
        objective: Objective,
        *,
        has_labels: bool = True,
        seed: int = 0,
        steps: Any = None,
        left_out: Sequence[int] = (),
        signs: Sequence[int] = (),
        is_small: bool = True,
    ) -> Self:
        """Return the start that the Ranker's parameter ``start`` stands for, fitted.

        Parameters
        ----------
        start : "auto", "zero", "linear", "query_linear", an estimator or a function.
        data : checked training rows.
        objective : whose scale the scores of a linear start get.
        has_labels : whether the labels of ``data`` mean anything.
        seed : of a linear start.
        steps : of :meth:`gbrank.linear.LinearRanker.cut_features`, for a linear start; by default
            from ``data``.
        left_out : numbers of columns that a linear start does not use: those of categories, and
            those that trees may not use.
        signs : LightGBM's monotone constraints, 1, -1 or 0 for each column, which a linear start
            keeps; empty for none.
        is_small : whether a pointwise linear start is to be few trees of few steps, beside those of
            one booster. Among many more trees a whole one costs little.
        """
        if not isinstance(start, str):
            given = cls("model", _frozen(start, data, has_labels))
            return replace(given, factor=_scale_of_model(given, data, objective, has_labels))
        kind = choose_kind(start, data, has_labels)
        if kind == "zero":
            return cls()
        relative = kind == "query_linear"
        if left_out and relative:
            raise ValueError(
                "start='query_linear' takes all columns as numbers, but by lgb_params some are "
                "categorical_feature, or in no group of interaction_constraints: use "
                "start='linear' or 'zero'"
            )
        if left_out and steps is None:
            steps = _cut_features(data, seed, left_out)
        if relative:
            coefficients, training_scores = _fit_relative(data, objective, seed, signs)
            return cls(kind, coefficients=coefficients, training_scores=training_scores)
        return cls(kind, *_fit_pointwise(data, objective, seed, steps, signs, is_small))

    def scores(self, X: Any, layout: QueryLayout) -> FloatArray:
        """Return the score of each row.

        Parameters
        ----------
        X : checked features of any kind.
        layout : the queries, which matter only to a query-relative start.
        """
        if self.kind == "zero":
            return np.zeros(layout.n_rows)
        if self.kind == "query_linear":
            coefficients: Any = self.coefficients
            return relative_scores(coefficients, numeric_matrix(X), layout)
        if self.kind == "linear":
            scores: FloatArray = self.model.scores(X)
            return scores
        predict = getattr(self.model, "predict", self.model)
        return self.factor * check_scores(np.asarray(predict(X), dtype=np.float64).ravel(), layout)

    def added_to(self, data: RankingData, *, is_training: bool = False) -> RankingData:
        """Return rows whose first scores are those of the start, on top of those they had.

        Parameters
        ----------
        data : the rows.
        is_training : whether these are the rows that the start was fitted to.
        """
        if self.kind == "zero":
            return data
        known = self.training_scores if is_training else None
        scores = self.scores(data.X, data.layout) if known is None else known
        return data.with_init_score(scores if data.init_score is None else scores + data.init_score)

    # --- what becomes of it ----------------------------------------------------------------------

    def trees(self) -> list[str]:
        """Return a pointwise linear start as trees in LightGBM's text; no trees for other kinds."""
        if self.kind != "linear":
            return []
        functions: StepSum = self.model
        return [step_tree(*function) for function in functions.functions()]

    def merged_into(self, booster: lgb.Booster, n_trees: int) -> tuple[lgb.Booster, int]:
        """Return the model with the trees of the start in front, and their number.

        Parameters
        ----------
        booster : the model that was grown on top of the start.
        n_trees : how many of its trees count; where the start has trees, others are dropped.
        """
        trees = self.trees()
        merged = merge_models([booster], [n_trees], trees) if trees else booster
        return merged, len(trees)

    def effects(self) -> FloatArray | None:
        """Return one number per feature: how the score of a linear start rises with it.

        For a pointwise start, from the lowest to the highest values; for a query-relative one, per
        standard deviation within the query (of ranks: that of evenly spread ones).
        """
        if self.kind == "linear":
            functions: StepSum = self.model
            return functions.rises()
        if self.coefficients is None:
            return None
        effects: FloatArray = self.coefficients @ np.array([1.0, 12**-0.5])
        return effects


def fit_starts(
    start: str,
    data: RankingData,
    parts: Sequence[IntArray],
    objectives: Sequence[Objective],
    *,
    has_labels: bool = True,
    seed: int = 0,
    left_out: Sequence[int] = (),
    signs: Sequence[int] = (),
) -> list[Start]:
    """Return the start of each part of the data; features are cut into steps once, for all.

    They are whole ones: a blend has many trees, and the start alone is a member of it.

    Parameters
    ----------
    start : "auto", "zero" or "linear".
    data : checked rows.
    parts : the numbers of the queries that each start is fitted to.
    objectives : whose scale the scores of each get.
    has_labels, seed, left_out, signs : as in :meth:`Start.fit`.
    """
    kind = choose_kind(start, data, has_labels)
    if kind == "zero":
        return [Start() for _ in parts]
    steps = _cut_features(data, seed, left_out)
    return [
        Start.fit(
            kind,
            data.take(queries),
            objective,
            seed=seed,
            steps=steps,
            signs=signs,
            is_small=False,
        )
        for queries, objective in zip(parts, objectives, strict=True)
    ]


def _cut_features(data: RankingData, seed: int, left_out: Sequence[int]) -> list[Any]:
    steps = LinearRanker(random_state=seed).cut_features(data)
    return [None if at in left_out else each for at, each in enumerate(steps)]


def rescaled(
    start: Start, data: RankingData, scores: FloatArray, objective: Objective
) -> tuple[Start, float]:
    """Return a linear start on the scale of another objective, and the factor between them.

    Parameters
    ----------
    start : of :func:`fit_starts`.
    data : the rows that it was fitted to.
    scores : of these rows, by the start.
    objective : whose scale it gets.
    """
    factor = _best_scale(objective, data, scores)
    return Start(start.kind, start.model.times(factor)), factor


def add_up(starts: Sequence[Start], factors: Sequence[float]) -> Start:
    """Return one start that is a sum of others, multiplied by factors.

    Parameters
    ----------
    starts : of :func:`fit_starts`, so that linear ones have the same steps.
    factors : one for each.
    """
    parts = [
        start.model.times(factor)
        for start, factor in zip(starts, factors, strict=True)
        if start.kind == "linear" and factor
    ]
    return Start("linear", reduce(StepSum.plus, parts)) if parts else Start()


def check_start(start: Any, lgb_params: Mapping[str, Any] | None = None) -> None:
    """Raise an error for a start that is none: a ``ValueError`` for a name, else a ``TypeError``.

    Parameters
    ----------
    start : as in the Ranker.
    lgb_params : parameters of LightGBM, whose constraints a model of the user does not know of.
    """
    allowed = f"one of {_NAMES}, an estimator or a callable"
    if isinstance(start, str):
        if start not in _NAMES:
            raise ValueError(f"start must be {allowed}, got {start!r}")
    elif not callable(start) and not hasattr(start, "predict"):
        raise TypeError(f"start must be {allowed}, got {type(start).__name__}")
    elif is_constrained(lgb_params or {}):
        raise ValueError(
            "lgb_params has constraints of features, which a start that is a model of its own may "
            "break: use start='linear' or 'zero', or give its predictions as init_score"
        )


def choose_kind(start: str, data: RankingData, has_labels: bool) -> str:
    """Return the kind of start that a name stands for: "zero", "linear" or "query_linear".

    Parameters
    ----------
    start : a name that the Ranker takes.
    data : training rows, of which only the number of features counts.
    has_labels : whether they have labels to learn from.
    """
    if start == "zero":
        return start
    n_features = 0 if is_sequence(data.X) else data.X.shape[1]
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


def _frozen(start: Any, data: RankingData, has_labels: bool) -> Any:
    """Return a copy of an estimator, so that what is done to it later changes no finished model.

    One that is not fitted yet, as ``clone`` leaves it, is fitted. A function is itself.
    """
    if not hasattr(start, "predict"):
        return start
    if not hasattr(start, "get_params") or _is_fitted(start):
        return copy.deepcopy(start)
    if not has_labels:
        raise ValueError(
            f"start={start!r} is not fitted, and there are no labels to fit it to; use start='zero'"
        )
    given = {"qid": data.qid, "sample_weight": data.sample_weight}
    known = {
        name: value
        for name, value in given.items()
        if value is not None and has_fit_parameter(start, name)
    }
    return clone(start).fit(data.X, data.y, **known)


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _fit_pointwise(
    data: RankingData,
    objective: Objective,
    seed: int,
    steps: Any,
    signs: Sequence[int],
    is_small: bool,
) -> tuple[StepSum, None, FloatArray]:
    """Return a linear ranker as steps, on the scale of the objective; and the scores of its rows.

    These are scores of rows that it was fitted to, as those of trees are, which it becomes.
    """
    linear = LinearRanker(gain=_gain_to_fit(data, objective), random_state=seed)
    linear.fit_data(data, steps, signs, MOST_FEATURES if is_small else None)
    fitted = coarsened(linear.step_sum()) if is_small else linear.step_sum()
    scores = fitted.scores(data.X)
    factor = _best_scale(objective, data, scores)
    return fitted.times(factor), None, factor * scores


def _fit_relative(
    data: RankingData, objective: Objective, seed: int, signs: Sequence[int]
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients on the scale of the objective, and scores of the rows.

    The scores of rows that it was fitted to are those of fits without them: as good as the scores
    of new rows will be, so that trees correct what is wrong with these. With a single query there
    is no such fit.
    """
    linear = LinearRanker(True, gain=_gain_to_fit(data, objective), random_state=seed)
    drawn, held_out = linear.fit_data(data, signs=signs)
    scores = linear.scores(data.X, data.layout)
    scores[drawn] = held_out
    factor = _best_scale(objective, data, scores)
    return factor * linear.coef_[:, RELATIVE:], factor * scores


def _gain_to_fit(data: RankingData, objective: Objective) -> Any:
    """Return the gain of an objective, as least squares can have it."""
    gain = getattr(objective, "gain", None)
    if gain is None:  # an objective without gains takes labels that exp has none for
        return "exp" if data.y.max(initial=0.0) <= _LARGEST_LABEL else "linear"
    if has_negative_gains(gain):
        # targets are centred within queries: gains corrected for noise may count from their lowest
        return np.asarray(gain, dtype=np.float64) - np.min(gain)
    return gain


def _scale_of_model(
    start: Start, data: RankingData, objective: Objective, has_labels: bool
) -> float:
    """Return what the scores of a user's model are multiplied by: 1 where nothing can be told.

    They are brought to a standard deviation of 1 first, as the search is about 1.
    """
    if not has_labels or is_sequence(data.X) or data.layout.n_rows == 0:
        return 1.0
    scores = start.scores(data.X, data.layout)
    spread = float(np.std(scores))
    if not (spread > 0 and np.isfinite(spread)):
        return 1.0
    return _best_scale(objective, data, scores / spread) / spread


def _best_scale(objective: Objective, data: RankingData, scores: FloatArray) -> float:
    """Return the factor of the scores at which the objective pulls them neither up nor down.

    Least squares gives scores on the scale of gains, a loss may want logits. Along the
    ray of scaled scores a convex loss is least where its gradient is orthogonal to the scores.
    """
    layout = data.layout
    labels, ordered = layout.sort(data.y), layout.sort(scores)
    weight = None if data.sample_weight is None else layout.sort(data.sample_weight)
    if weight is not None and weight.any():
        weight = weight / weight.max()  # gradients are in single precision
    # its iteration stays 0, so that the same random numbers are drawn at all factors
    training = objective.plain_gradient().bind(labels, layout.sizes, weight)

    def slope(factor: float) -> float:
        grad, _ = training.grad_hess(factor * ordered)
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
