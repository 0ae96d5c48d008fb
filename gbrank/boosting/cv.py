"""Cross-validation on folds of whole queries, by ``lightgbm.cv``.

``lightgbm.cv`` with a custom objective makes folds of rows, which tear queries apart, silently.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting.datasets import check_columns, make_dataset
from gbrank.boosting.params import check_bagging_by_query
from gbrank.core import QueryLayout, RankingData, check_integer, check_whole_queries, query_folds
from gbrank.metrics import feval
from gbrank.objectives import get_objective, list_objectives


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
    nfold, shuffle, stratify, seed : passed to :class:`gbrank.model_selection.QueryKFold`.
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
    if not isinstance(objective, str):
        check_bagging_by_query(params)
    wanted = metrics if isinstance(metrics, list | tuple) else [metrics]
    given = list(callbacks or [])
    if early_stopping_rounds is not None:
        check_integer("early_stopping_rounds", early_stopping_rounds, low=1, also="None")
        given.append(
            lgb.early_stopping(early_stopping_rounds, first_metric_only=True, verbose=False)
        )
    of_data = {name: value for name, value in params.items() if name != "objective"}
    dataset = _as_dataset(X, y, qid, group, sample_weight, of_data).construct()
    layout = QueryLayout.from_group(dataset.get_group())
    if folds is None:
        how: dict[str, Any] = {
            "shuffle": shuffle,
            "stratify": stratify,
            "seed": seed,
            "name": "nfold",
        }
        folds = query_folds(layout, dataset.get_label(), nfold, **how)
    elif hasattr(folds, "split"):
        query = np.repeat(np.arange(layout.n_queries), layout.sizes)
        folds = folds.split(np.empty((layout.n_rows, 1)), dataset.get_label(), query)
    result: dict[str, Any] = lgb.cv(
        {**params, "objective": objective, "metric": "None"},
        dataset,
        num_boost_round=num_boost_round,
        folds=check_whole_queries(folds, layout),
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
        check_columns(X)
        return make_dataset(RankingData.checked(X, y, qid, group, sample_weight), dict(params))
    given = {"y": y, "qid": qid, "group": group, "sample_weight": sample_weight}
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise ValueError(f"a Dataset has its own labels, queries and weights: {extra} given")
    if X.construct().get_group() is None:
        raise ValueError("the Dataset has no queries: give it group=")
    return X
