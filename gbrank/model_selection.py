"""Splits and cross-validation that never tear a query apart.

A split through the middle of a query trains on some of its documents and tests on the others: the
lists are then shorter than real ones, and the test has seen its queries. scikit-learn's splitters
and, with a custom objective, ``lightgbm.cv`` do that silently.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from gbrank.boosting import check_rows, make_dataset
from gbrank.core import (
    IntArray,
    QueryLayout,
    check_choice,
    check_integer,
    check_labels,
    check_number,
    check_seed,
)
from gbrank.metrics import feval
from gbrank.objectives import get_objective, list_objectives

_STRATA = (None, "length", "relevant", "both")
Split = tuple[IntArray, IntArray]


class _QuerySplitter(BaseEstimator):
    """Splits queries, and turns the parts into row numbers."""

    stratify: str | None = None
    qid: str | None = None
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return int(self.n_splits)  # type: ignore[attr-defined]

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield row numbers of training and test queries.

        Parameters
        ----------
        X : features; only their number of rows counts, or their column ``qid``.
        y : labels; needed only to stratify by relevant documents.
        groups : query id of each row, under the name that scikit-learn uses.
        """
        self._check_params()
        layout = QueryLayout.from_qid(self._queries(X, groups), _num_samples(X))
        for in_test in self._test_queries(layout, self._strata(layout, y)):
            rows = np.repeat(in_test, layout.sizes)
            original: NDArray[np.bool_] = layout.unsort(rows)
            yield np.flatnonzero(~original), np.flatnonzero(original)

    def _check_params(self) -> None:
        check_choice("stratify", self.stratify, _STRATA)

    def _test_queries(self, layout: QueryLayout, strata: IntArray) -> Iterator[NDArray[np.bool_]]:
        raise NotImplementedError

    def _queries(self, X: Any, groups: Any) -> Any:
        if groups is not None:
            return groups
        if self.qid is not None and hasattr(X, "columns"):
            return X[self.qid]
        raise ValueError(
            f"{type(self).__name__} needs the query id of each row: pass groups=qid, or a data "
            "frame and the name of its column as qid="
        )

    def _strata(self, layout: QueryLayout, y: Any) -> IntArray:
        """Return a number per query: queries of one stratum are spread over all parts."""
        strata = np.zeros(layout.n_queries, dtype=np.int64)
        if self.stratify in ("length", "both"):
            strata += _bucket(layout.sizes)
        if self.stratify in ("relevant", "both"):
            if y is None:
                raise ValueError(f"stratify={self.stratify!r} needs the labels y")
            relevant = layout.sort(check_labels(np.asarray(y).ravel(), layout)) > 0
            padded = np.append(relevant, False)
            counts = np.add.reduceat(padded, layout.bounds[:-1], dtype=np.int64)
            strata += 100 * _bucket(np.where(layout.sizes > 0, counts, 0))
        return strata


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

    def _check_params(self) -> None:
        super()._check_params()
        check_integer("n_splits", self.n_splits, low=2)
        check_choice("shuffle", self.shuffle, (True, False))
        check_seed(self.random_state)

    def _test_queries(self, layout: QueryLayout, strata: IntArray) -> Iterator[NDArray[np.bool_]]:
        if layout.n_queries < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} is more than the number of queries, {layout.n_queries}"
            )
        order = _deal_order(strata, self.random_state if self.shuffle else None)
        fold = np.empty(layout.n_queries, dtype=np.int64)
        fold[order] = np.arange(layout.n_queries) % self.n_splits
        for part in range(self.n_splits):
            yield fold == part


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

    def _check_params(self) -> None:
        super()._check_params()
        check_integer("n_splits", self.n_splits, low=1)
        check_number("test_size", self.test_size, low=0.0, low_open=True, high=1.0)
        check_seed(self.random_state)

    def _test_queries(self, layout: QueryLayout, strata: IntArray) -> Iterator[NDArray[np.bool_]]:
        n_queries = layout.n_queries
        if n_queries < 2:
            raise ValueError(f"a split needs at least 2 queries, got {n_queries}")
        n_test = min(max(1, round(self.test_size * n_queries)), n_queries - 1)
        for number in range(self.n_splits):
            order = _deal_order(strata, [self.random_state, number])
            # evenly spaced places in an order sorted by stratum take the same share of each
            places = np.floor((np.arange(n_test) + 0.5) * n_queries / n_test).astype(np.int64)
            in_test = np.zeros(n_queries, dtype=bool)
            in_test[order[places]] = True
            yield in_test


def _bucket(counts: IntArray) -> IntArray:
    """Return whole logarithms to base two: 0 for 0, 1 for 1, 2 for 2-3, 3 for 4-7 ..."""
    buckets: IntArray = np.ceil(np.log2(counts + 1.0)).astype(np.int64)
    return buckets


def _deal_order(strata: IntArray, seed: Any) -> IntArray:
    """Return the queries stratum by stratum; within one, shuffled if there is a seed."""
    n_queries = len(strata)
    if seed is None:
        within = np.arange(n_queries)
    else:
        within = np.random.default_rng(seed).permutation(n_queries)
    return np.lexsort((within, strata))


def cv(
    params: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    num_boost_round: int = 100,
    folds: Any = None,
    nfold: int = 5,
    shuffle: bool = True,
    stratify: str | None = None,
    metrics: Any = "ndcg@10",
    early_stopping_rounds: int | None = None,
    init_model: Any = None,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    seed: int = 0,
    return_cvbooster: bool = False,
) -> dict[str, Any]:
    """Cross-validate as ``lightgbm.cv`` does, with folds of whole queries, for any objective.

    Parameters
    ----------
    params : dict
        LightGBM's parameters; ``objective`` is a name or instance of gbrank's, or LightGBM's.
    X : features, or a ``lightgbm.Dataset`` with label and group.
    y, qid, group, sample_weight : as in :meth:`gbrank.Ranker.fit`; not with a Dataset.
    num_boost_round : number of trees.
    folds : a splitter, or row numbers of training and test parts; else ``nfold`` folds are made.
    nfold, shuffle, stratify, seed : passed to :class:`QueryKFold`.
    metrics : name, callable or list of them; the first decides early stopping.
    early_stopping_rounds : stop when the mean of the first metric has not improved for so many
        trees; results then end at the best one.
    init_model, callbacks, return_cvbooster : passed to ``lightgbm.cv``.

    Returns
    -------
    dict
        ``"valid ndcg@10-mean"`` and ``"valid ndcg@10-stdv"``: a number per tree; and
        ``"cvbooster"`` if asked for.

    Examples
    --------
    >>> import gbrank
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> params = {"objective": "xendcg", "num_leaves": 7, "verbose": -1}
    >>> result = gbrank.cv(params, data.X, data.y, qid=data.qid, num_boost_round=10)
    >>> len(result["valid ndcg@10-mean"])
    10
    """
    params = dict(params)
    objective = params.get("objective", "xendcg")
    if isinstance(objective, str) and objective in list_objectives():
        objective = get_objective(objective)
    if str(params.get("bagging_by_query", False)).lower() == "true" and not isinstance(
        objective, str
    ):
        raise ValueError("bagging_by_query=True is not supported with a custom objective")
    wanted = metrics if isinstance(metrics, list | tuple) else [metrics]
    given = list(callbacks or [])
    if early_stopping_rounds is not None:
        check_integer("early_stopping_rounds", early_stopping_rounds, low=1, also="None")
        given.append(
            lgb.early_stopping(early_stopping_rounds, first_metric_only=True, verbose=False)
        )
    splitter = folds
    if splitter is None:
        splitter = QueryKFold(nfold, shuffle=shuffle, stratify=stratify, random_state=seed)
    of_data = {name: value for name, value in params.items() if name != "objective"}
    dataset = _as_dataset(X, y, qid, group, sample_weight, of_data).construct()
    result: dict[str, Any] = lgb.cv(
        {**params, "objective": objective, "metric": "None"},
        dataset,
        num_boost_round=num_boost_round,
        folds=_whole_queries(splitter, dataset),
        feval=[feval(metric) if isinstance(metric, str) else metric for metric in wanted],
        init_model=init_model,
        callbacks=given,
        seed=seed,
        return_cvbooster=return_cvbooster,
    )
    return result


def _as_dataset(
    X: Any, y: Any, qid: Any, group: Any, sample_weight: Any, params: Mapping[str, Any]
) -> lgb.Dataset:
    if not isinstance(X, lgb.Dataset):
        if y is None:
            raise ValueError("cv needs the labels y")
        return make_dataset(check_rows(X, y, qid, group, sample_weight), dict(params))
    given = {"y": y, "qid": qid, "group": group, "sample_weight": sample_weight}
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise ValueError(f"a Dataset carries its own labels, queries and weights: {extra} given")
    if X.construct().get_group() is None:
        raise ValueError("the Dataset has no queries: give it group=")
    return X


def _whole_queries(folds: Any, dataset: lgb.Dataset) -> list[Split]:
    """Return the folds as row numbers; refuse any that tear a query apart."""
    sizes = np.asarray(dataset.get_group(), dtype=np.int64)
    query = np.repeat(np.arange(len(sizes)), sizes)
    if hasattr(folds, "split"):
        folds = folds.split(np.empty((len(query), 1)), dataset.get_label(), query)
    parts = [(np.asarray(train), np.asarray(test)) for train, test in folds]
    for number, (train, test) in enumerate(parts):
        torn = np.intersect1d(query[train], query[test])
        for part in (train, test):
            counts = np.bincount(query[part], minlength=len(sizes))
            torn = np.union1d(torn, np.flatnonzero((counts > 0) & (counts < sizes)))
        if len(torn):
            raise ValueError(f"fold {number} tears query {torn[0]} apart; use QueryKFold")
    return parts
