"""Features relative to their query, for data where absolute values mean little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    check_choice,
    column_names,
    is_table,
    ranks,
    replace_values,
    shares,
    take_column,
    z_scores,
)

__all__ = ["QueryScaler"]

_METHODS: dict[str, Callable[[FloatArray, IntArray], FloatArray]] = {
    "zscore": z_scores,
    "rank": ranks,
    "share": shares,
}


class QueryScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Express each feature relative to the other documents of the query.

    A BM25 of 12 is much for one query and little for another; what ranks documents is how it
    compares with those of the same list. With :math:`x` the values of a feature in a query of
    :math:`m` documents:

    - ``"zscore"``: :math:`(x_i - \bar x) / \sigma(x)`, 0 where all are equal;
    - ``"rank"``: :math:`(\mathrm{rank}(x_i) - 1/2) / m`, ties in the middle of their ranks;
    - ``"share"``: :math:`x_i / \sum_j |x_j|`, 0 where all are 0.

    Missing values stay missing. Nothing is learned from one call for another, but the number and
    names of the features: a query is scaled by itself.

    Parameters
    ----------
    method : {"zscore", "rank", "share"}, default="zscore"
        How values are expressed.
    qid : str, default=None
        Name of the column of a table ``X`` that holds query ids. It is no feature, and stays in
        the table as it is, for the next step of a pipeline: ``Ranker(qid=...)``.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the input had names.

    Examples
    --------
    >>> from gbrank.preprocessing import QueryScaler
    >>> X, qid = [[1.0], [3.0], [10.0], [30.0]], [1, 1, 2, 2]
    >>> QueryScaler().fit_transform(X, qid=qid).ravel()
    array([-1.,  1., -1.,  1.])
    >>> QueryScaler("share").fit_transform(X, qid=qid).ravel()
    array([0.25, 0.75, 0.25, 0.75])

    In a pipeline, name the column of query ids in every step that needs it:

    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from gbrank import Ranker
    >>> frame = pd.DataFrame({"query": qid, "bm25": [1.0, 3.0, 10.0, 30.0]})
    >>> QueryScaler(qid="query").fit_transform(frame)
       query  bm25
    0      1  -1.0
    1      1   1.0
    2      2  -1.0
    3      2   1.0
    >>> pipeline = make_pipeline(QueryScaler(qid="query"), Ranker(qid="query"))

    With metadata routing there need not be such a column: ask for the query ids with
    ``QueryScaler().set_transform_request(qid=True)``.
    """

    def __init__(self, method: str = "zscore", *, qid: str | None = None) -> None:
        self.method = method
        self.qid = qid

    def fit(
        self, X: Any, y: Any = None, *, qid: Any = None, group: ArrayLike | None = None
    ) -> Self:
        """Remember the number and names of the features; ``y``, ``qid``, ``group`` are not used."""
        check_choice("method", self.method, tuple(_METHODS))
        self._validate(self._take_queries(X)[1], reset=True)
        self._columns = column_names(X)
        return self

    def transform(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> Any:
        """Return the features, scaled within queries, rows in their order.

        As an array; with a column of query ids as the same kind of table, that column in its place.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features); a sparse matrix is
            made dense, since zeros do not stay zeros.
        qid : query of each row, rows in any order.
        group : instead of qid, number of rows of each query.
        """
        check_is_fitted(self)
        check_choice("method", self.method, tuple(_METHODS))
        table = X
        column, X = self._take_queries(X)
        if column is not None and qid is None and group is None:
            qid = column
        values = self._validate(X, reset=False)
        layout = QueryLayout.from_either(qid, group, len(values))
        filled = layout.sizes > 0
        bounds = np.concatenate(([0], np.cumsum(layout.sizes[filled])))
        scaled: FloatArray = layout.unsort(_METHODS[self.method](layout.sort(values), bounds))
        return scaled if column is None else replace_values(table, column_names(X), scaled)

    def fit_transform(
        self, X: Any, y: Any = None, *, qid: Any = None, group: ArrayLike | None = None
    ) -> Any:
        """Return ``fit(X).transform(X, qid=qid, group=group)``."""
        return self.fit(X).transform(X, qid=qid, group=group)

    def _take_queries(self, X: Any) -> tuple[Any, Any]:
        """Return the column of query ids and X without it; ``None`` and X where none is named."""
        if self.qid is None:
            return None, X
        if self.qid not in column_names(X):
            found = f"the columns {column_names(X)}" if is_table(X) else "no names"
            raise ValueError(f"qid={self.qid!r} must be a column of X, but X has {found}")
        return take_column(X, self.qid)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of the output, that of query ids among them."""
        if self.qid is None:
            return super().get_feature_names_out(input_features)
        check_is_fitted(self)
        return np.asarray(self._columns, dtype=object)

    def _validate(self, X: Any, *, reset: bool) -> FloatArray:
        if issparse(X):
            X = X.toarray()
        values: FloatArray = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
