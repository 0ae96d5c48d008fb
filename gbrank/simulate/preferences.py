"""Preferences of known strength: comparisons, partial orders and clicks from known utilities.

For every observation a query is drawn uniformly from those with at least two documents, then
documents of it, uniformly without replacement. Observations name rows of the arrays given, so they
fit any data set with these rows in this order.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
sections 5.2 and 6.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    check_integer,
    check_random_state,
)
from gbrank.preferences import Comparisons, PartialOrders, Selections
from gbrank.simulate._rows import labels_and_layout

_CHUNK = 4_000_000  # random numbers that are drawn at once


def bradley_terry(
    labels: RankingData | ArrayLike,
    qid: Any = None,
    n: int | None = None,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> Comparisons:
    """Draw comparisons of two documents each, won by the better one most of the time.

    Document i wins against j with probability ``1 / (1 + exp(-(r_i - r_j)))``. This is how Duchi,
    Mackey and Jordan make comparisons from the labels of a ranking data set.

    Parameters
    ----------
    labels : RankingData or array of shape (n_rows,)
        Labels or any utilities, finite numbers; or data that have labels and queries.
    qid : array of shape (n_rows,), default=None
        Query id of each row, of any type and in any order; only with an array.
    n : int
        Number of comparisons of all queries together.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    Comparisons
        Observations whose items are rows of ``labels``.

    References
    ----------
    Bradley, Terry, Rank analysis of incomplete block designs, Biometrika 1952.
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013.

    Examples
    --------
    >>> from gbrank.simulate import bradley_terry
    >>> bradley_terry([2, 0, 1, 0, 3], qid=["a", "a", "a", "b", "b"], n=1000)
    Comparisons(n=1000)
    """
    layout, values, queries, generator = _draw_queries(labels, qid, n, random_state)
    sizes, starts = layout.sizes[queries], layout.bounds[queries]
    first = _draw_below(sizes, generator)
    second = _draw_below(sizes - 1, generator)
    second += second >= first  # any document but the first, each as likely
    first, second = _rows(layout, starts + first), _rows(layout, starts + second)
    wins = generator.random(len(queries)) < expit(values[first] - values[second])
    return Comparisons(None, np.where(wins, first, second), np.where(wins, second, first))


def partial_orders(
    utilities: RankingData | ArrayLike,
    qid: Any = None,
    n: int | None = None,
    size: int = 3,
    top: int | None = None,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> PartialOrders:
    """Draw partial orders: judges who each put a few documents of a query into an order.

    A judge sees each utility with standard Gumbel noise added and orders by what he sees (the model
    of Plackett and Luce): of the documents left, i comes next with probability ``e^u_i / sum e^u``,
    and i comes before j with the probability of :func:`bradley_terry`.

    Parameters
    ----------
    utilities : RankingData or array of shape (n_rows,)
        Utilities, finite numbers; or data, whose labels are taken.
    qid : array of shape (n_rows,), default=None
        Query id of each row, of any type and in any order; only with an array.
    n : int
        Number of partial orders.
    size : int >= 2, default=3
        Documents that a judge sees; all of a query that has fewer.
    top : int >= 1, default=None
        Only the first ``top`` places are stated: each of these is preferred to all behind it, the
        others are not compared. ``None`` states all of them.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    PartialOrders
        Observations whose items are rows of ``utilities``.

    References
    ----------
    Plackett, The analysis of permutations, Applied Statistics 1975.

    Examples
    --------
    >>> from gbrank.simulate import partial_orders
    >>> partial_orders([2, 0, 1, 0, 3], qid=["a", "a", "a", "b", "b"], n=100)
    PartialOrders(n=100)
    """
    check_integer("size", size, low=2)
    if top is not None:
        check_integer("top", top, low=1, also="None")
    layout, checked, queries, generator = _draw_queries(utilities, qid, n, random_state)
    seen, lengths = _draw_documents(layout, queries, size, generator)
    filled = np.arange(seen.shape[1]) < lengths[:, None]
    values = np.where(filled, checked[seen] + generator.gumbel(size=seen.shape), -np.inf)
    ranked = np.take_along_axis(seen, np.argsort(-values, axis=1, kind="stable"), axis=1)
    # places (a, b) with a < b, the first of them among the top; those beyond a short list are cut
    above, below = np.triu_indices(seen.shape[1], 1)
    if top is not None:
        above, below = above[above < top], below[above < top]
    stated = below < lengths[:, None]
    return PartialOrders.from_flat(
        None, ranked[:, above][stated], ranked[:, below][stated], stated.sum(axis=1)
    )


def selections(
    probabilities: RankingData | ArrayLike,
    qid: Any = None,
    n: int | None = None,
    length: int = 10,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> Selections:
    """Draw clicks on lists from the cascade model.

    A list shows documents of a query in random order. The reader goes down it, is satisfied by
    document i with probability ``p_i``, clicks the first that satisfies and leaves; or comes to the
    end without a click.

    Parameters
    ----------
    probabilities : RankingData or array of shape (n_rows,)
        Chance of each document to satisfy, from 0 to 1; or data that have them as labels.
    qid : array of shape (n_rows,), default=None
        Query id of each row, of any type and in any order; only with an array.
    n : int
        Number of lists.
    length : int >= 1, default=10
        Documents on a list; all of a query that has fewer.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    Selections
        Observations whose items are rows of ``probabilities``.

    References
    ----------
    Craswell, Zoeter, Taylor, Ramsey, An experimental comparison of click position-bias models,
    WSDM 2008.

    Examples
    --------
    >>> from gbrank.simulate import selections
    >>> selections([0.9, 0.1, 0.5, 0.2, 0.3], qid=["a", "a", "a", "b", "b"], n=100, length=2)
    Selections(n=100)
    """
    check_integer("length", length, low=1)
    layout, chances, queries, generator = _draw_queries(probabilities, qid, n, random_state)
    wrong = ~((chances >= 0) & (chances <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"probabilities must be from 0 to 1, but {layout.describe_row(row)} has "
            f"{chances[row]:g}"
        )
    shown, lengths = _draw_documents(layout, queries, length, generator)
    filled = np.arange(shown.shape[1]) < lengths[:, None]
    satisfied = (generator.random(shown.shape) < chances[shown]) & filled
    clicked = np.where(satisfied.any(axis=1), np.argmax(satisfied, axis=1), -1)
    return Selections(None, shown[filled], clicked, lengths)


def _draw_queries(
    utilities: RankingData | ArrayLike, qid: Any, n: int | None, random_state: Any
) -> tuple[QueryLayout, FloatArray, IntArray, np.random.Generator]:
    """Check what all three are given, and draw the query of each observation."""
    checked, layout = labels_and_layout(utilities, qid, signed=True)
    check_integer("n", n, low=0)
    generator = check_random_state(random_state)
    candidates = np.flatnonzero(layout.sizes > 1)
    if n and not len(candidates):
        raise ValueError("qid must have a query of at least two documents: there is none")
    queries = candidates[generator.integers(0, len(candidates), n)] if n else candidates[:0]
    return layout, checked, queries, generator


def _draw_below(limits: IntArray, generator: np.random.Generator) -> IntArray:
    return generator.integers(0, limits, dtype=np.int64)


def _draw_documents(
    layout: QueryLayout, queries: IntArray, size: int, generator: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw ``size`` rows of each query in random order, without replacement.

    Returns an array (observations, rows), of which each observation uses as many as the second
    array says; what follows is a row of the same query or of the next one.
    """
    sizes, starts = layout.sizes[queries], layout.bounds[queries]
    lengths = np.minimum(sizes, size)
    widest = int(sizes.max(initial=1))
    drawn: NDArray[np.int64] = np.zeros((len(queries), min(size, widest)), dtype=np.int64)
    step = max(1, _CHUNK // widest)
    for low in range(0, len(queries), step):
        part = slice(low, low + step)
        lots = generator.random((len(queries[part]), widest))
        lots[np.arange(widest) >= sizes[part, None]] = np.inf  # no such document
        drawn[part] = np.argsort(lots, axis=1, kind="stable")[:, : drawn.shape[1]]
    places = np.minimum(starts[:, None] + drawn, layout.n_rows - 1)
    return _rows(layout, places), lengths


def _rows(layout: QueryLayout, places: IntArray) -> IntArray:
    """Return the user's rows at places in query order."""
    return places if layout.order is None else layout.order[places]
