"""Features relative to their query, for data where absolute values mean little."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gbrank.core import FloatArray, IntArray, QueryLayout, check_choice, ranks, shares, z_scores

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

    In a pipeline with metadata routing, ask for the query ids with
    ``QueryScaler().set_transform_request(qid=True)``.
    """

    def __init__(self, method: str = "zscore") -> None:
        self.method = method

    def fit(
        self, X: Any, y: Any = None, *, qid: Any = None, group: ArrayLike | None = None
    ) -> Self:
        """Remember the number and names of the features; ``y``, ``qid``, ``group`` are not used."""
        check_choice("method", self.method, tuple(_METHODS))
        self._validate(X, reset=True)
        return self

    def transform(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> FloatArray:
        """Return the features, scaled within queries, rows in their order.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features); a sparse matrix is
            made dense, since zeros do not stay zeros.
        qid : query of each row, rows in any order.
        group : instead of qid, number of rows of each query.
        """
        check_is_fitted(self)
        check_choice("method", self.method, tuple(_METHODS))
        values = self._validate(X, reset=False)
        layout = QueryLayout.from_either(qid, group, len(values))
        filled = layout.sizes > 0
        bounds = np.concatenate(([0], np.cumsum(layout.sizes[filled])))
        scaled: FloatArray = layout.unsort(_METHODS[self.method](layout.sort(values), bounds))
        return scaled

    def fit_transform(
        self, X: Any, y: Any = None, *, qid: Any = None, group: ArrayLike | None = None
    ) -> FloatArray:
        """Return ``fit(X).transform(X, qid=qid, group=group)``."""
        return self.fit(X).transform(X, qid=qid, group=group)

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
