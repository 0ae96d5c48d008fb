"""Splits and cross-validation that never tear a query apart.

A split through the middle of a query trains on some of its documents and tests on the others: the
lists are then shorter than real ones, and the test has seen its queries. scikit-learn's splitters
and, with a custom objective, ``lightgbm.cv`` do that silently.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from gbrank.boosting import cv
from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    check_integer,
    check_labels,
    check_number,
    check_seed,
    column_names,
    draw_queries,
    is_table,
    query_folds,
    query_strata,
    split_rows,
    take_column,
)

__all__ = ["QueryKFold", "QueryShuffleSplit", "cv"]

Split = tuple[IntArray, IntArray]


class _QuerySplitter(BaseEstimator):
    """Splits queries, and turns the parts into row numbers."""

    stratify: str | None = None
    qid: str | None = None
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True, "qid": True}

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, *, qid: Any = None
    ) -> int:
        """Return the number of splits."""
        return int(self.n_splits)  # type: ignore[attr-defined]

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, qid: Any = None
    ) -> Iterator[Split]:
        """Yield row numbers of training and test queries.

        Parameters
        ----------
        X : features; only their number of rows counts, or their column ``qid``.
        y : labels; needed only to stratify by relevant documents.
        groups : query id of each row, under the name that scikit-learn uses.
        qid : the same, under the name that :class:`gbrank.Ranker` uses; metadata routing hands it
            over.
        """
        layout = QueryLayout.from_qid(self._queries(X, groups, qid), _num_samples(X))
        labels = None
        if y is not None and self.stratify in ("relevant", "both"):
            labels = check_labels(np.asarray(y).ravel(), layout)
        yield from self._split_queries(layout, labels)

    def _split_queries(self, layout: QueryLayout, labels: FloatArray | None) -> Iterator[Split]:
        raise NotImplementedError

    def _queries(self, X: Any, groups: Any, qid: Any) -> Any:
        if groups is not None and qid is not None and not np.array_equal(groups, qid):
            raise ValueError("groups and qid are both the query id of each row, but they differ")
        if groups is not None or qid is not None:
            return qid if groups is None else groups
        if self.qid is not None and is_table(X):
            if self.qid not in column_names(X):
                raise ValueError(
                    f"X has no column {self.qid!r} of query ids; it has {column_names(X)}"
                )
            return take_column(X, self.qid)[0]
        raise ValueError(
            f"{type(self).__name__} needs the query id of each row: pass groups= or qid=, or a "
            f"data frame and the name of its column, {type(self).__name__}(qid=...)"
        )


class QueryKFold(_QuerySplitter):
    """K folds of whole queries.

    Parameters
    ----------
    n_splits : int >= 2, default=5
        Number of folds.
    shuffle : bool, default=False
        Deal queries out in random order, instead of in the order of their first rows.
    stratify : {None, "length", "relevant", "both"}, default=None
        Give every fold its share of queries of each length, number of relevant documents (label
        above 0), or both; both are taken to the nearest power of two.
    qid : str, default=None
        Name of the column of a data frame ``X`` that holds query ids, used without ``groups``.
    random_state : int, default=0
        Seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.model_selection import QueryKFold
    >>> qid = np.array([1, 1, 2, 2, 2, 3, 1])
    >>> for train, test in QueryKFold(n_splits=3).split(np.zeros((7, 1)), groups=qid):
    ...     print(test)
    [0 1 6]
    [2 3 4]
    [5]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        stratify: str | None = None,
        qid: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.stratify = stratify
        self.qid = qid
        self.random_state = random_state

    def _split_queries(self, layout: QueryLayout, labels: FloatArray | None) -> Iterator[Split]:
        return query_folds(
            layout,
            labels,
            self.n_splits,
            shuffle=self.shuffle,
            stratify=self.stratify,
            seed=self.random_state,
        )


class QueryShuffleSplit(_QuerySplitter):
    """Random splits of whole queries.

    Parameters
    ----------
    n_splits : int >= 1, default=10
        Number of splits, drawn again each.
    test_size : float in (0, 1), default=0.2
        Share of queries in the test part, at least one and not all.
    stratify : {None, "length", "relevant", "both"}, default=None
        Give both parts their share of queries of each kind: see :class:`QueryKFold`.
    qid : str, default=None
        Name of the column of a data frame ``X`` that holds query ids, used without ``groups``.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.model_selection import QueryShuffleSplit
    >>> qid = np.repeat(np.arange(10), 3)
    >>> train, test = next(QueryShuffleSplit(1).split(np.zeros((30, 1)), groups=qid))
    >>> len(train), len(test), set(qid[train]) & set(qid[test])
    (24, 6, set())
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float = 0.2,
        stratify: str | None = None,
        qid: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_splits = n_splits
        self.test_size = test_size
        self.stratify = stratify
        self.qid = qid
        self.random_state = random_state

    def _split_queries(self, layout: QueryLayout, labels: FloatArray | None) -> Iterator[Split]:
        check_integer("n_splits", self.n_splits, low=1)
        check_number("test_size", self.test_size, low=0.0, low_open=True, high=1.0)
        check_seed(self.random_state)
        strata, n_queries = query_strata(layout, labels, self.stratify), layout.n_queries
        if n_queries < 2:
            raise ValueError(f"a split needs at least 2 queries, got {n_queries}")
        n_test = min(max(1, round(self.test_size * n_queries)), n_queries - 1)
        for number in range(self.n_splits):
            in_test = draw_queries(strata, n_test, [self.random_state, number])
            yield split_rows(layout, in_test)
