"""Cross-validation on folds of whole queries, by ``lightgbm.cv``.

``lightgbm.cv`` with a custom objective makes folds of rows, which tear queries apart.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.model_selection import GroupKFold

from gbrank.boosting.datasets import check_columns, make_dataset
from gbrank.boosting.params import check_bagging_by_query, take_param
from gbrank.core import QueryLayout, RankingData, check_integer, check_whole_queries, query_folds
from gbrank.metrics import feval as make_feval
from gbrank.metrics import list_metrics
from gbrank.objectives import get_objective, list_objectives

_NO_METRIC = ("", "none", "null", "na", "custom")
# Names that LightGBM and gbrank both have; LightGBM's are at eval_at.
_LIGHTGBM_METRICS = ("ndcg", "map")


def cv(
    params: Mapping[str, Any],
    X: Any = None,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    train_set: lgb.Dataset | None = None,
    num_boost_round: int = 100,
    folds: Any = None,
    nfold: int = 5,
    stratified: bool = False,
    shuffle: bool | None = None,
    stratify: str | None = None,
    metrics: Any = None,
    feval: Any = None,
    early_stopping_rounds: int | None = None,
    init_model: Any = None,
    fpreproc: Callable[..., Any] | None = None,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    eval_train_metric: bool = False,
    seed: int = 0,
    return_cvbooster: bool = False,
) -> dict[str, Any]:
    """Cross-validate as ``lightgbm.cv`` does, with folds of whole queries, for any objective.

    A call of ``lightgbm.cv`` works as it is: ``cv(params, dataset, 30, nfold=3, feval=...)`` makes
    the folds that ``lightgbm.cv`` makes for its own ranking objectives, and returns the same keys.

    Parameters
    ----------
    params : dict
        LightGBM's parameters; ``objective`` is a name or instance of gbrank's, or a name of
        LightGBM's. Without one it is "xendcg".
    X : features, or a ``lightgbm.Dataset`` with label and group.
    y, qid, group, sample_weight : as in :meth:`gbrank.Ranker.fit`. With a Dataset none of them is
        given; a number in the place of ``y`` is ``num_boost_round``, as in ``lightgbm.cv``.
    train_set : another name of ``X``, for a Dataset.
    num_boost_round : number of trees.
    folds : a splitter, or row numbers of training and test parts; else ``nfold`` folds are made.
    nfold, shuffle, stratify, seed : passed to :class:`gbrank.model_selection.QueryKFold`. With a
        Dataset and neither ``shuffle`` nor ``stratify`` the folds are those of scikit-learn's
        ``GroupKFold``, as in ``lightgbm.cv``; otherwise ``shuffle=None`` stands for ``True``.
    stratified : must be ``False``: labels of rows say nothing about where a query belongs.
    metrics : name, callable or list of them; the first decides early stopping. Names are those of
        gbrank, such as "ndcg@10"; with a Dataset "ndcg" and "map" without a cut-off are LightGBM's
        own, at ``eval_at``. ``None`` stands for what ``params`` and ``feval`` say, and if these say
        nothing, for "ndcg@10" (for a native objective on a Dataset, for LightGBM's default).
    feval : LightGBM's: a metric function or a list of them, besides ``metrics``.
    early_stopping_rounds : stop when the mean of the first metric has not improved for so many
        trees; results then end at the best one.
    init_model, fpreproc, callbacks, eval_train_metric, return_cvbooster : passed to
        ``lightgbm.cv``.

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
    if stratified:
        raise ValueError(
            "stratified=True cannot be: queries are not torn apart by the labels of their rows "
            "(lightgbm.cv ignores it for its ranking objectives). Leave it out, or stratify "
            "queries with stratify='length' or 'relevant'"
        )
    if train_set is not None:
        if X is not None:
            raise ValueError("X and train_set are two names of one thing: give one of them")
        X = train_set
    is_dataset = isinstance(X, lgb.Dataset)
    if is_dataset and np.ndim(y) == 0 and y is not None:  # lightgbm.cv's third argument
        num_boost_round, y = y, None
    others, objective = take_param(params, "objective", "xendcg")
    if isinstance(objective, type) or objective in list_objectives():
        objective = get_objective(objective)
    is_native = isinstance(objective, str)
    if not is_native:
        check_bagging_by_query(others)
    others, fevals = _choose_metrics(others, metrics, feval, is_dataset, is_native)
    given = list(callbacks or [])
    if early_stopping_rounds is not None:
        check_integer("early_stopping_rounds", early_stopping_rounds, low=1, also="None")
        given.append(
            lgb.early_stopping(early_stopping_rounds, first_metric_only=True, verbose=False)
        )
    dataset = _as_dataset(X, y, qid, group, sample_weight, others, keep_rows=init_model is not None)
    layout = QueryLayout.from_group(dataset.get_group())
    labels = dataset.get_label()
    if not is_dataset:  # one that was made here knows its categories
        others, _ = take_param(others, "categorical_feature", None)
    if folds is None and is_dataset and shuffle is None and stratify is None:
        check_integer("nfold", nfold, low=2)
        folds = GroupKFold(nfold)
    if folds is None:
        shuffle = True if shuffle is None else shuffle
        how: dict[str, Any] = {"shuffle": shuffle, "stratify": stratify, "seed": seed}
        folds = query_folds(layout, labels, nfold, **how, name="nfold")
    elif hasattr(folds, "split"):
        query = np.repeat(np.arange(layout.n_queries), layout.sizes)
        folds = folds.split(np.empty((layout.n_rows, 1)), labels, query)
    result: dict[str, Any] = lgb.cv(
        {**others, "objective": objective},
        dataset,
        num_boost_round=num_boost_round,
        folds=check_whole_queries(folds, layout),
        feval=fevals or None,
        init_model=init_model,
        fpreproc=fpreproc,
        callbacks=given,
        seed=seed,
        eval_train_metric=eval_train_metric,
        return_cvbooster=return_cvbooster,
    )
    return result


def _choose_metrics(
    params: dict[str, Any], metrics: Any, feval: Any, is_dataset: bool, is_native: bool
) -> tuple[dict[str, Any], list[Any]]:
    """Return parameters with the metrics that LightGBM computes itself, and the fevals."""
    others, in_params = take_param(params, "metric", None)
    fevals = list(feval) if isinstance(feval, list | tuple) else [feval]
    fevals = [each for each in fevals if each is not None]
    wanted = in_params if metrics is None else metrics
    if wanted is None and (fevals or (is_dataset and is_native)):
        return others, fevals  # LightGBM's default, which a custom objective has none of
    names = wanted.split(",") if isinstance(wanted, str) else wanted
    names = list(names) if isinstance(names, list | tuple | set) else [names]
    names = [name for name in names if str(name).lower() not in _NO_METRIC]
    if not names and not fevals:
        names = ["ndcg@10"]
    theirs, ours = [], []
    for name in names:
        is_theirs = is_dataset or metrics is None
        known = name in list_metrics() and name not in _LIGHTGBM_METRICS
        if is_theirs and isinstance(name, str) and "@" not in name and not known:
            theirs.append(name)
        else:
            ours.append(make_feval(name) if isinstance(name, str) else name)
    return {**others, "metric": theirs or "None"}, [*ours, *fevals]


def _as_dataset(
    X: Any,
    y: Any,
    qid: Any,
    group: Any,
    sample_weight: Any,
    params: dict[str, Any],
    *,
    keep_rows: bool,
) -> lgb.Dataset:
    """Return a Dataset, constructed; with its rows, if another model is to see them."""
    if not isinstance(X, lgb.Dataset):
        if y is None:
            raise ValueError("cv needs the labels y")
        check_columns(X)
        dataset = make_dataset(RankingData.checked(X, y, qid, group, sample_weight), params)
        dataset.free_raw_data = not keep_rows
        return dataset.construct()
    given = {"y": y, "qid": qid, "group": group, "sample_weight": sample_weight}
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise ValueError(f"a Dataset has its own labels, queries and weights: {extra} given")
    X.free_raw_data = X.free_raw_data and not keep_rows
    # what lgb.cv does first: once a Dataset is constructed it is too late
    if X._update_params(params).construct().get_group() is None:
        raise ValueError("the Dataset has no queries: give it group=")
    return X
