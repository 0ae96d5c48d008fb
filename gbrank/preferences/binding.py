"""Observations tied to the rows of a training set: the one form that every kernel reads."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout, stable_argsort
from gbrank.preferences._ids import Ids
from gbrank.preferences._locate import Int32Array, Locator
from gbrank.preferences._orders import click_edges, find_cycle, find_repeated

if TYPE_CHECKING:
    from gbrank.preferences.base import Observations


class BoundObservations:
    """Observations sorted by query, their items as places within the query.

    All arrays are contiguous and read-only. Observation ``o`` has the edges ``edge_bounds[o]`` to
    ``edge_bounds[o + 1]``, query ``q`` the observations ``query_bounds[q]`` to
    ``query_bounds[q + 1]``, in the order in which they were given.

    Attributes
    ----------
    layout : the queries that the places belong to.
    query_bounds : int64, first observation of each query, and at last their number.
    edge_bounds : int64, first edge of each observation, and at last their number.
    winner, loser : int32, the two documents of each edge, from 0 within the query, in the order
        of the layout.
    edge_weight : float64, weight of each edge within its observation.
    observation_weight : float64, weight of each observation.
    source : int64, which observation of those given each is.
    shown_bounds, shown, clicked : for selections, else ``None``: first entry of each list, the
        documents shown (int32, from 0 within the query), and the clicked position, -1 for none.
    """

    __slots__ = (
        "clicked",
        "edge_bounds",
        "edge_weight",
        "layout",
        "loser",
        "observation_weight",
        "query_bounds",
        "shown",
        "shown_bounds",
        "source",
        "winner",
    )

    def __init__(
        self,
        layout: QueryLayout,
        query_bounds: IntArray,
        edge_bounds: IntArray,
        winner: Int32Array,
        loser: Int32Array,
        edge_weight: FloatArray,
        observation_weight: FloatArray,
        source: IntArray,
        shown_bounds: IntArray | None = None,
        shown: Int32Array | None = None,
        clicked: IntArray | None = None,
    ) -> None:
        self.layout = layout
        self.query_bounds = query_bounds
        self.edge_bounds = edge_bounds
        self.winner = winner
        self.loser = loser
        self.edge_weight = edge_weight
        self.observation_weight = observation_weight
        self.source = source
        self.shown_bounds = shown_bounds
        self.shown = shown
        self.clicked = clicked
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __len__(self) -> int:
        return len(self.observation_weight)

    def __repr__(self) -> str:
        queries = int(np.count_nonzero(np.diff(self.query_bounds)))
        return (
            f"BoundObservations(n={len(self)}, edges={len(self.winner)}, "
            f"queries={queries} of {self.layout.n_queries})"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "BoundObservations":
        return self

    def take(self, queries: IntArray) -> "BoundObservations":
        """Return the observations of some queries, bound to the rows of these alone.

        Parameters
        ----------
        queries : numbers of queries in the layout, in the order in which their rows come.
        """
        sizes = self.layout.sizes[queries]
        query_bounds, kept = _take_lists(self.query_bounds, queries)
        edge_bounds, edges = _take_lists(self.edge_bounds, kept)
        shown_bounds = shown = clicked = None
        if self.shown_bounds is not None and self.shown is not None and self.clicked is not None:
            shown_bounds, places = _take_lists(self.shown_bounds, kept)
            shown, clicked = self.shown[places], self.clicked[kept]
        return BoundObservations(
            QueryLayout.from_group(sizes),
            query_bounds,
            edge_bounds,
            self.winner[edges],
            self.loser[edges],
            self.edge_weight[edges],
            self.observation_weight[kept],
            self.source[kept],
            shown_bounds,
            shown,
            clicked,
        )


def bind_edges(
    observations: "Observations",
    winner: IntArray | Ids,
    loser: IntArray | Ids,
    bounds: IntArray | None,
    layout: QueryLayout | None,
    qid: Any,
    keys: Any,
    edge_weight: FloatArray | None = None,
) -> BoundObservations:
    """Bind observations made of edges, one each (``bounds`` None) or several."""
    locator = Locator(observations, layout, qid, keys)
    owner = None if bounds is None else _owners(bounds)
    winners = locator.locate(winner, owner, "winner")
    losers = locator.locate(loser, owner, "loser")
    same = winners == losers
    if same.any():
        at = int(np.argmax(same))
        where = locator.describe(at if owner is None else int(owner[at]))
        item = winner.entry(at) if isinstance(winner, Ids) else int(winner[at])
        raise ValueError(f"winner and loser must differ, but {where} compares {item!r} with itself")
    if bounds is not None:
        longest = int(locator.layout.sizes.max(initial=0))
        circle = find_cycle(bounds, winners, losers, longest)
        if circle >= 0:
            raise ValueError(
                f"a partial order must not run in a circle, but {locator.describe(circle)} does"
            )
    order, query_bounds = _sort_by_query(locator)
    edge_bounds, entries = _move_lists(bounds, order, len(observations))
    return BoundObservations(
        locator.layout,
        query_bounds,
        edge_bounds,
        winners[entries],
        losers[entries],
        np.ones(len(winners)) if edge_weight is None else edge_weight[entries],
        _weights(observations, order),
        order,
    )


def bind_lists(
    observations: "Observations",
    shown: IntArray | Ids,
    bounds: IntArray,
    clicked: IntArray,
    layout: QueryLayout | None,
    qid: Any,
    keys: Any,
) -> BoundObservations:
    """Bind lists with a click: what was shown, and the edges that the clicks stand for."""
    locator = Locator(observations, layout, qid, keys)
    places = locator.locate(shown, _owners(bounds), "shown")
    twice = find_repeated(bounds, places, int(locator.layout.sizes.max(initial=0)))
    if twice >= 0:
        raise ValueError(
            f"a list must show each item once, but {locator.describe(twice)} shows one twice"
        )
    order, query_bounds = _sort_by_query(locator)
    shown_bounds, entries = _move_lists(bounds, order, len(observations))
    places, clicks = places[entries], clicked[order]
    all_shown = observations.__dict__["edges"] == "shown"
    counts = np.diff(shown_bounds) - 1 if all_shown else clicks
    edge_bounds = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(np.where(clicks < 0, 0, counts), out=edge_bounds[1:])
    winner = np.empty(edge_bounds[-1], dtype=np.int32)
    loser = np.empty(edge_bounds[-1], dtype=np.int32)
    click_edges(shown_bounds, places, clicks, all_shown, edge_bounds, winner, loser)
    return BoundObservations(
        locator.layout,
        query_bounds,
        edge_bounds,
        winner,
        loser,
        np.ones(len(winner)),
        _weights(observations, order),
        order,
        shown_bounds,
        places,
        clicks,
    )


def _owners(bounds: IntArray) -> IntArray:
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def _sort_by_query(locator: Locator) -> tuple[IntArray, IntArray]:
    """Return the observations in the order of their queries, and the first one of each query."""
    queries = locator.query
    if queries is None:  # rows would have told, but there are no observations
        queries = np.empty(0, dtype=np.int64)
    query_bounds = np.zeros(locator.layout.n_queries + 1, dtype=np.int64)
    np.cumsum(np.bincount(queries, minlength=locator.layout.n_queries), out=query_bounds[1:])
    return stable_argsort(queries), query_bounds


def _move_lists(bounds: IntArray | None, order: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return where each list begins after reordering, and which entry comes to each place."""
    return (np.arange(count + 1), order) if bounds is None else _take_lists(bounds, order)


def _take_lists(bounds: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each of some lists begins, and which entry comes to each place."""
    lengths = np.diff(bounds)[chosen]
    moved = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(lengths, out=moved[1:])
    return moved, np.arange(moved[-1]) + np.repeat(bounds[:-1][chosen] - moved[:-1], lengths)


def _weights(observations: "Observations", order: IntArray) -> FloatArray:
    if observations.weight is None:
        return np.ones(len(order))
    weights: FloatArray = observations.weight[order]
    return weights
