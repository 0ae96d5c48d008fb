"""LinearRanker: the estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    align_columns,
    check_integer,
    check_seed,
    compute_gains,
    numbered_columns,
    numeric_matrix,
    plain_features,
    take_rows,
)
from gbrank.linear.columns import (
    KINDS,
    MISSING,
    RELATIVE,
    centre_columns,
    relative_columns,
    write_columns,
)
from gbrank.linear.ridge import fit_ridge, tamed_gains
from gbrank.linear.step_sum import StepSum
from gbrank.linear.steps import FeatureSteps, fit_steps
from gbrank.metrics import ndcg_score


class LinearRanker(BaseEstimator):
    r"""Least squares on gains, in features that are tamed or relative to their query.

    Two kinds. The pointwise one gives every feature a monotone step function of its value (its
    rank among all training rows, and a logarithm), so that a document is scored by itself. The
    query-relative one takes the feature's z-score and its rank within the query instead: stronger
    where absolute values differ from query to query, but a document can only be scored together
    with its list.

    Parameters
    ----------
    relative : bool, default=False
        Whether features are taken relative to the query; :meth:`predict` then needs the queries.
    gain : str or callable, default="exp"
        Gain of a label, as :func:`gbrank.gains.compute_gains` takes it.
    max_rows : int, default=50000
        Whole queries with about so many rows are drawn to fit on, if there are more.
    random_state : int, default=0
        Seed of the draw, and of the folds that choose the penalty.

    Attributes
    ----------
    coef_ : array of shape (n_features, 5)
        Coefficients of each feature's rank, logarithm, missing indicator, z-score and rank within
        the query.
    penalty_ : float
        Ridge penalty, the one with the least squared error on held-out queries; with a single query
        the middle one of those tried, with none infinity.
    held_out_score_ : float
        Mean NDCG@10, of these gains, on held-out queries with that penalty; NaN if there are none.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    gbrank.linear.ridge : what is minimised.
    gbrank.linear.steps : the step functions.

    Examples
    --------
    >>> from gbrank.data import make_ranking
    >>> from gbrank.linear import LinearRanker
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = LinearRanker().fit(data.X, data.y, qid=data.qid)
    >>> bool(ranker.score(data.X, data.y, qid=data.qid) > 0.5)
    True
    """

    def __init__(
        self,
        relative: bool = False,
        *,
        gain: Any = "exp",
        max_rows: int = 50_000,
        random_state: int = 0,
    ) -> None:
        self.relative = relative
        self.gain = gain
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to labels.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features); may hold missing values.
        y : relevance of each row, finite and >= 0.
        qid, group : the queries, as in :meth:`gbrank.Ranker.fit`.
        sample_weight : weight of each row.
        """
        check_integer("max_rows", self.max_rows, low=1)
        check_seed(self.random_state)
        X = self._validate(X, reset=True)
        if y is None:
            raise ValueError("LinearRanker.fit requires y to be passed, but the target y is None")
        self.fit_data(RankingData.checked(X, y, qid, group, sample_weight), is_judged=True)
        return self

    def cut_features(self, data: RankingData) -> list[FeatureSteps | None]:
        """Return the step function of every feature, from about ``max_rows`` rows at most.

        Parameters
        ----------
        data : rows that are checked, whose features alone count.
        """
        rows = np.random.default_rng(self.random_state).permutation(data.n_rows)[: self.max_rows]
        values = _dense(numeric_matrix(take_rows(data.X, np.sort(rows))))
        return [fit_steps(column) for column in values.T]

    def fit_data(
        self,
        data: RankingData,
        steps: list[FeatureSteps | None] | None = None,
        signs: Sequence[int] = (),
        most_features: int | None = None,
        is_judged: bool = False,
    ) -> tuple[IntArray, FloatArray]:
        """Fit to rows that are checked, whatever the kind of their features.

        Parameters
        ----------
        data : the rows; columns of a table that are not numbers count as 0.
        steps : of :meth:`cut_features`, for a pointwise ranker; by default from these rows. Rankers
            with the same steps add up to one.
        signs : of each feature 1 if the score must not fall with it, -1 if it must not rise, else
            0; empty for none.
        most_features : how many features to use: others leave, those first whose going raises the
            squared error least. ``None`` for all.
        is_judged : whether ``held_out_score_`` is computed; else it is NaN.

        Returns
        -------
        rows : the numbers of the rows that were drawn to fit on.
        held_out : their scores by fits without them.
        """
        gains = compute_gains(data.y, self.gain, data.layout)
        rows, sizes = self._draw_rows(gains, data)
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        values, gains = _dense(numeric_matrix(take_rows(data.X, rows))), gains[rows]
        self.steps_: list[FeatureSteps | None] = []
        if not self.relative:
            self.steps_ = [fit_steps(column) for column in values.T] if steps is None else steps
        self.coef_ = np.zeros((values.shape[1], len(KINDS)))
        self.penalty_, self.held_out_score_ = np.inf, np.nan
        if len(sizes) == 0:
            return rows, np.zeros(0)
        columns, places = write_columns(values, bounds, None if self.relative else self.steps_)
        del values
        if len(places) == 0:
            return rows, np.zeros(len(rows))
        target = tamed_gains(gains, bounds)[None, :]
        centre_columns(target, bounds)
        row_weight = None if data.sample_weight is None else data.sample_weight[rows]
        ridge = fit_ridge(columns, target[0], sizes, row_weight, places[:, 0], most_features)
        if any(signs):
            # every column rises with its feature, but for the one that says "missing"
            wanted = np.where(places[:, 1] == MISSING, 0, np.asarray(signs)[places[:, 0]])
            kept = np.arange(len(places))
            while (wrong := wanted[kept] * ridge.coefficients < 0).any():
                kept = kept[~wrong]
                if len(kept) == 0:
                    return rows, np.zeros(len(rows))
                ridge = fit_ridge(
                    columns[:, kept],
                    target[0],
                    sizes,
                    row_weight,
                    places[kept, 0],
                    most_features,
                )
            places = places[kept]
        self.coef_[places[:, 0], places[:, 1]] = ridge.coefficients
        self.penalty_ = ridge.penalty
        if is_judged and len(sizes) > 1:
            self.held_out_score_ = float(
                ndcg_score(gains, ridge.held_out, group=sizes, gain="linear", k=10, n_jobs=1)
            )
        return rows, ridge.held_out

    def predict(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> FloatArray:
        """Return a score for each row; ``qid`` or ``group`` is needed if ``relative``."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if not self.relative:  # any queries do
            return self.scores(X, QueryLayout.from_group([X.shape[0]]))
        if qid is None and group is None:
            raise ValueError(
                "this model compares documents with those of the same query: predict needs qid= "
                "(the query id of each row) or group= (the number of rows of each query)"
            )
        return self.scores(X, QueryLayout.from_either(qid, group, X.shape[0]))

    def scores(self, X: Any, layout: QueryLayout) -> FloatArray:
        """Return a score for each row of features of any kind.

        Parameters
        ----------
        X : checked features; columns of a table that are not numbers count as 0.
        layout : the queries.
        """
        if self.relative:
            return relative_scores(self.coef_[:, RELATIVE:], numeric_matrix(X), layout)
        return self.step_sum().scores(X)

    def score(
        self, X: Any, y: ArrayLike, *, qid: Any = None, group: ArrayLike | None = None
    ) -> float:
        """Return the mean NDCG@10 over queries that have a relevant document."""
        scores = self.predict(X, qid=qid, group=group)
        return float(ndcg_score(y, scores, qid=qid, group=group, k=10))

    def step_sum(self) -> StepSum:
        """Return the scores of a pointwise ranker as step functions."""
        used = np.flatnonzero(self.coef_[:, :RELATIVE].any(axis=1)).tolist()
        return StepSum(self.steps_, {feature: self.step_values(feature) for feature in used})

    def step_values(self, feature: int) -> FloatArray:
        """Return what each bin of a feature adds to the score; the last bin is "missing"."""
        steps = self.steps_[feature]
        if steps is None:
            return np.zeros(2)
        values: FloatArray = steps.columns @ self.coef_[feature, : steps.columns.shape[1]]
        return values

    # ------------------------------------------------------------------------------------------

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if reset:
            self.column_names_ = numbered_columns(X)
        elif (known := getattr(self, "column_names_", None)) is not None:
            X = align_columns(X, known)
        return validate_data(
            self,
            plain_features(X),
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )

    def _draw_rows(self, gains: FloatArray, data: RankingData) -> tuple[IntArray, IntArray]:
        """Return rows, query by query, of queries to learn from; and the query sizes.

        Those are queries in which gains differ and whose weights are not all 0.
        """
        layout, weight = data.layout, data.sample_weight
        ordered, bounds = layout.sort(gains), layout.bounds
        filled = np.flatnonzero(layout.sizes > 1)
        ranges = list(zip(bounds[filled].tolist(), bounds[filled + 1].tolist(), strict=True))
        differ = np.array([np.ptp(ordered[a:b]) > 0 for a, b in ranges], dtype=bool)
        if weight is not None:
            weighed = layout.sort(weight)
            differ &= np.array([weighed[a:b].any() for a, b in ranges], dtype=bool)
        # in random order, so that stretches of them are random folds
        chosen = np.random.default_rng(self.random_state).permutation(filled[differ])
        if layout.sizes[chosen].sum() > self.max_rows:
            chosen = chosen[: np.searchsorted(np.cumsum(layout.sizes[chosen]), self.max_rows) + 1]
        sizes = layout.sizes[chosen]
        offsets = np.repeat(bounds[chosen] - (np.cumsum(sizes) - sizes), sizes)
        places = offsets + np.arange(sizes.sum())
        return (places if layout.order is None else layout.order[places]), sizes


def relative_scores(coefficients: FloatArray, X: Any, layout: QueryLayout) -> FloatArray:
    """Return what features relative to their query add up to.

    Parameters
    ----------
    coefficients : (n_features, 2), of z-scores and of ranks within the query.
    X : checked features, dense or sparse.
    layout : the queries.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.core import QueryLayout
    >>> from gbrank.linear import relative_scores
    >>> X = np.array([[1.0], [3.0], [50.0], [70.0]])
    >>> relative_scores(np.array([[2.0, 0.0]]), X, QueryLayout.from_group([2, 2]))  # z-scores
    array([-2.,  2., -2.,  2.])
    """
    used = np.flatnonzero(coefficients.any(axis=1))
    ordered = layout.sort(_dense(X[:, used]))
    bounds = np.concatenate(([0], np.cumsum(layout.sizes[layout.sizes > 0])))
    parts = zip(relative_columns(ordered, bounds), coefficients[used].T, strict=True)
    scores: FloatArray = layout.unsort(sum(columns @ weights for columns, weights in parts))
    return scores


def _dense(X: Any) -> FloatArray:
    """Return a copy in double precision, one column after the other."""
    values: FloatArray = np.array(X.toarray() if issparse(X) else X, dtype=np.float64, order="F")
    return values
