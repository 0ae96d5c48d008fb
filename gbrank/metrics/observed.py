"""Scores judged by what was observed: the metric of someone without labels.

Of the comparisons, edges of partial orders or clicks that were held out, the share that the scores
order wrongly, each with its weight; a tie counts 1/2::

    sum w_ij ([s_i < s_j] + [s_i = s_j] / 2) / sum w_ij    over observed pairs, i preferred to j

(J. Duchi, L. Mackey and M. Jordan, "The asymptotics of ranking algorithms", 2013, equations 10 and
11 with weights.) With few or noisy observations it is far above 0 for the best scores too: compare
models by it, not with 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import QueryLayout, check_scores
from gbrank.preferences import BoundObservations, Observations

_NAME = "observed_disagreement"


def observed_disagreement(
    observations: Observations | BoundObservations,
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    keys: Any = None,
) -> float:
    """Return the share of observed preferences that scores order wrongly, by weight.

    Parameters
    ----------
    observations : Comparisons, PartialOrders or Selections
        What was observed: see :mod:`gbrank.preferences`. A click counts as a preference over each
        document that was passed over. Weights of observations and of edges multiply.
    scores : array-like
        Score of each row.
    qid : array-like, default=None
        Query id of each row, or ``group``.
    group : array-like, default=None
        Number of rows of each query, rows of a query being consecutive.
    keys : array-like, default=None
        Key of each row, for observations with ``items="key"``.

    Returns
    -------
    float
        From 0, all as observed, to 1; 1/2 for constant scores.

    Examples
    --------
    >>> from gbrank.metrics import observed_disagreement
    >>> from gbrank.preferences import Comparisons
    >>> held_out = Comparisons(None, winner=[0, 0, 2], loser=[1, 2, 1], weight=[2.0, 1.0, 1.0])
    >>> observed_disagreement(held_out, [0.3, 0.5, 0.1], group=[3])  # only 0 > 2 is right
    0.75
    """
    n_rows = len(np.asarray(scores))
    if isinstance(observations, BoundObservations):
        bound = observations
    elif isinstance(observations, Observations):
        layout = QueryLayout.from_either(qid, group, n_rows)
        bound = observations.bind(layout, qid, keys)
    else:
        raise TypeError(
            "observations must be Comparisons, Selections or PartialOrders, got "
            f"{type(observations).__name__}"
        )
    sorted_scores = bound.layout.sort(check_scores(scores, bound.layout))
    edges = np.diff(bound.edge_bounds)
    first_rows = np.repeat(bound.layout.bounds[:-1], np.diff(bound.query_bounds))
    starts = np.repeat(first_rows, edges)
    weight = bound.edge_weight * np.repeat(bound.observation_weight, edges)
    total = float(weight.sum())
    if not total > 0:
        raise ValueError("observations have no pair with weight: there is nothing to judge by")
    margin = sorted_scores[starts + bound.winner] - sorted_scores[starts + bound.loser]
    return float(weight @ (0.5 * (1.0 - np.sign(margin))) / total)


def observed_feval(observations: Observations) -> Callable[..., tuple[str, float, bool]]:
    """Return the metric as LightGBM's ``feval``, and as ``eval_metric`` of a Ranker.

    Parameters
    ----------
    observations : Comparisons, PartialOrders or Selections
        Of the evaluation set; rows are counted in it, those of a query being consecutive.

    Returns
    -------
    callable
        ``f(scores, dataset)``, which returns name, value and False: smaller is better.

    Examples
    --------
    >>> from gbrank.metrics import observed_feval
    >>> from gbrank.preferences import Comparisons
    >>> import lightgbm as lgb
    >>> import numpy as np
    >>> held_out = Comparisons(None, winner=[0], loser=[1])
    >>> dataset = lgb.Dataset(np.zeros((2, 1)), group=[2])
    >>> observed_feval(held_out)(np.array([1.0, 0.0]), dataset)
    ('observed_disagreement', 0.0, False)
    """

    def observed(scores: Any, dataset: Any) -> tuple[str, float, bool]:
        return _NAME, observed_disagreement(observations, scores, group=dataset.get_group()), False

    return observed


def observed_scorer(observations: Observations, *, keys: Any = None) -> Callable[..., float]:
    """Return the metric as a scorer of scikit-learn: minus the share, so that greater is better.

    Parameters
    ----------
    observations : Comparisons, PartialOrders or Selections
        Of the rows that will be judged, or with ``items="key"`` of any rows.
    keys : str, default=None
        Name of the column of ``X`` that holds the keys.

    Returns
    -------
    callable
        ``f(estimator, X, y=None, qid=None)``. Without ``qid`` all rows are one query, unless the
        estimator knows the column.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.metrics import observed_scorer
    >>> from gbrank.simulate import bradley_terry
    >>> data = make_ranking(n_queries=40, random_state=0)
    >>> seen = bradley_terry(data, n=2000)
    >>> ranker = Ranker(preset="fast", n_estimators=20, n_jobs=1).fit(data.X, data.y, qid=data.qid)
    >>> bool(observed_scorer(seen)(ranker, data.X, qid=data.qid) > -0.35)
    True
    """

    def score(estimator: Any, X: Any, y: Any = None, qid: Any = None) -> float:
        name = getattr(estimator, "qid", None)
        queries = X[name] if qid is None and isinstance(name, str) else qid
        scores = np.asarray(estimator.predict(X), dtype=np.float64)
        if queries is None:
            queries = np.zeros(len(scores), dtype=np.int64)
        of_rows = None if keys is None else X[keys]
        return -observed_disagreement(observations, scores, qid=queries, keys=of_rows)

    return score
