r"""Why documents stand where they stand: what each feature adds to scores, compared within a list.

LightGBM's TreeSHAP shares the score of a row out to features: :math:`s_i = c_0 + \sum_f c_{if}`.
Only differences of scores within a query mean anything, and so only differences of contributions
do: from the mean of the list, or between two documents, where :math:`s_i - s_j = \sum_f (c_{if} -
c_{jf})`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    as_lightgbm_input,
    check_integer,
    count_rows_of,
    take_rows,
)
from gbrank.metrics import text_table

#: What a start that is not made of trees is called among the features.
START = "start"


@dataclass(frozen=True)
class Explanation:
    """What each feature adds to the score of each document, beyond the mean of its list.

    Attributes
    ----------
    names : list of str
        Of the features; the last is "start" if the model starts from something that is not trees.
    contributions : ndarray of shape (n_rows, n_names)
        Contributions minus their mean over the query: a row sums to its score minus the mean score
        of its query.
    scores : ndarray of shape (n_rows,)
        What the model predicts.
    queries : ndarray of shape (n_rows,)
        Number of the query of each row.
    """

    names: list[str]
    contributions: FloatArray
    scores: FloatArray
    queries: IntArray


@dataclass(frozen=True)
class PairExplanation:
    """Why one document scores higher than another.

    Attributes
    ----------
    names : list of str
        Of the features, as in :class:`Explanation`.
    contributions : ndarray of shape (n_names,)
        What each adds to the difference of the scores; they sum to it.
    scores : tuple of float
        Of the two documents.
    rows : tuple of int
        Which rows they are.
    """

    names: list[str]
    contributions: FloatArray
    scores: tuple[float, float]
    rows: tuple[int, int]

    def __str__(self) -> str:
        largest_first = np.argsort(-np.abs(self.contributions), kind="stable")
        shown = [at for at in largest_first if self.contributions[at] != 0.0]
        lines = [[self.names[at], f"{self.contributions[at]:+.4f}"] for at in shown]
        total = ["sum", f"{self.scores[0] - self.scores[1]:+.4f}"]
        return text_table(["feature", f"row {self.rows[0]} - row {self.rows[1]}"], [*lines, total])


def explain(model: Any, X: Any, *, qid: Any = None, group: Any = None) -> Explanation:
    """Return what each feature adds to each score, beyond the mean of the list.

    Parameters
    ----------
    model : lightgbm.Booster or fitted estimator
        What predicts: ``Ranker``, ``LGBMRanker``.
    X : array-like or table of shape (n_rows, n_features)
        The documents.
    qid : array-like of shape (n_rows,), default=None
        Query of each row.
    group : array-like of shape (n_queries,), default=None
        Rows of each query, instead of ``qid``; with neither, all rows are one list.

    Returns
    -------
    Explanation
        Contributions, centred within queries, and scores.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.serving import explain
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = Ranker.lightgbm_defaults(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    >>> one_list = explain(ranker, data.X[data.qid == 3])
    >>> best = one_list.scores.argmax()
    >>> above_mean = one_list.scores[best] - one_list.scores.mean()
    >>> bool(abs(one_list.contributions[best].sum() - above_mean) < 1e-9)
    True
    """
    n_rows = count_rows_of(X)
    if qid is None and group is None:
        group = [n_rows]
    layout = QueryLayout.from_either(qid, group, n_rows)
    names, contributions, scores = _contributions(model, X, qid, group)
    numbers = np.repeat(np.arange(layout.n_queries), layout.sizes)
    queries: IntArray = layout.unsort(numbers)
    sums = np.zeros((layout.n_queries, contributions.shape[1]))
    np.add.at(sums, queries, contributions)
    means = sums / np.maximum(layout.sizes, 1)[:, None]
    return Explanation(names, contributions - means[queries], scores, queries)


def explain_pair(
    model: Any, X: Any, i: int, j: int, *, qid: Any = None, group: Any = None
) -> PairExplanation:
    """Return why row ``i`` scores higher, or lower, than row ``j``: a sum over features.

    Parameters
    ----------
    model : lightgbm.Booster or fitted estimator
        What predicts.
    X : array-like or table of shape (n_rows, n_features)
        The documents.
    i, j : int
        Two rows.
    qid, group : array-like, default=None
        Queries; needed if the model starts from something that is relative to the query.

    Returns
    -------
    PairExplanation
        Contributions that sum to the difference of the scores.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.serving import explain_pair
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = Ranker.lightgbm_defaults(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    >>> why = explain_pair(ranker, data.X, 3, 5)
    >>> bool(abs(why.contributions.sum() - (why.scores[0] - why.scores[1])) < 1e-9)
    True
    """
    n_rows = count_rows_of(X)
    for name, row in (("i", i), ("j", j)):
        check_integer(name, row, low=0, high=n_rows - 1)
    places = (int(i), int(j))
    if _is_in_trees(model):  # what else is in the list does not matter
        X, qid, group, places = take_rows(X, np.array(places)), None, None, (0, 1)
    names, contributions, scores = _contributions(model, X, qid, group)
    first, second = places
    return PairExplanation(
        names,
        contributions[first] - contributions[second],
        (float(scores[first]), float(scores[second])),
        (int(i), int(j)),
    )


def _is_in_trees(model: Any) -> bool:
    return getattr(model, "start_kind_", "zero") in ("zero", "linear")


def _contributions(
    model: Any, X: Any, qid: Any, group: Any
) -> tuple[list[str], FloatArray, FloatArray]:
    """Return names, contributions (n_rows, n_names) and scores."""
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "dump_model"):
        raise TypeError(
            "model must be a lightgbm.Booster or a fitted estimator with booster_, such as "
            f"Ranker, got {type(model).__name__}"
        )
    if hasattr(X, "toarray"):  # of single precision LightGBM's answer would be of single precision
        X = X.astype(np.float64)
    features = as_lightgbm_input(X) if booster is model else X
    found = model.predict(features, pred_contrib=True)
    found = np.asarray(found.toarray() if hasattr(found, "toarray") else found)
    queries = {} if _is_in_trees(model) else {"qid": qid, "group": group}
    scores = np.asarray(model.predict(features, raw_score=True, **queries))
    of_trees = found[:, :-1]
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != of_trees.shape[1]:
        names = booster.feature_name()
    names = [str(name) for name in names]
    if _is_in_trees(model):
        return names, of_trees, scores
    start = scores - found.sum(axis=1)
    return [*names, START], np.column_stack([of_trees, start]), scores
