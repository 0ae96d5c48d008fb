"""Aggregations by their names."""

from typing import Any

from gbrank.core import FloatArray, QueryLayout, check_choice
from gbrank.preferences._method import METHODS, Method
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations


def get_method(method: str) -> Method:
    """Return the aggregation of that name; the error for an unknown one lists all.

    Parameters
    ----------
    method : one of the keys of :data:`METHODS`.

    Examples
    --------
    >>> from gbrank.preferences import METHODS, get_method
    >>> get_method("borda") is METHODS["borda"]
    True
    """
    check_choice("method", method, tuple(METHODS))
    return METHODS[method]


def aggregate(
    observations: Observations | BoundObservations,
    method: str = "log_odds",
    *,
    layout: QueryLayout | None = None,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
    **parameters: Any,
) -> FloatArray:
    """Turn observations into one score per document.

    Scores of different queries are not comparable. All methods give finite scores whatever was
    observed; what they say of documents that were never seen is in the function of their name.

    Parameters
    ----------
    observations : Comparisons, PartialOrders or Selections.
    method : str, default="log_odds"
        A key of :data:`METHODS`, each the name of a function here; "cascade" is for Selections.
    layout : the queries of the rows, default=None
        May be left out where ``qid`` is given.
    qid : query id of each row, default=None.
    keys : key of each row, for ``items="key"``, default=None.
    n_jobs : number of threads, default=None
        See :func:`gbrank.core.threads.resolve_n_jobs`; scores do not depend on it.
    **parameters : those of the method, such as ``smoothing``.

    Returns
    -------
    float64 array, one score per row in the user's order.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, aggregate
    >>> seen = Comparisons(["a", "a"], winner=["x", "x"], loser=["y", "z"], items="key")
    >>> aggregate(seen, "borda", qid=["a", "a", "a"], keys=["z", "y", "x"])
    array([0., 0., 1.])
    """
    return get_method(method).scores(observations, layout, qid, keys, n_jobs, **parameters)
