"""What people preferred: comparisons, clicks on lists, partial orders. Written once, then shared.

Observations hold no features and no labels. They name items: rows of X in the user's own order
(``items="row"``), keys such as document ids (``items="key"``), or places within the query
(``items="position"``). What they mean for a given training set is found out when they are bound to
its :class:`~gbrank.core.queries.QueryLayout`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import IntArray, QueryLayout, check_choice, count_rows
from gbrank.preferences._frames import check_shared, click_positions, columns, split_pairs
from gbrank.preferences._ids import (
    ITEM_KINDS,
    check_count,
    read_clicks,
    read_items,
    read_ragged,
    read_weight,
)
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations, bind_edges, bind_lists


class Comparisons(Observations):
    """Pairs of documents of which one was preferred.

    Parameters
    ----------
    qid : query id of each comparison; ``None`` with ``items="row"``, where rows tell their query.
    winner : the preferred item of each comparison.
    loser : the other item.
    weight : weight >= 0 of each comparison, for example how often it was made; default=None
        for 1 each.
    items : {"row", "key", "position"}, default="row"
        Whether items are rows of X in the user's order, keys given when the rows are
        (``keys=``), or places among the rows of their query.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons
    >>> Comparisons(["a", "a", "b"], winner=[0, 2, 3], loser=[1, 1, 4])
    Comparisons(n=3, queries=2)
    """

    def __init__(
        self,
        qid: Any,
        winner: Any,
        loser: Any,
        weight: ArrayLike | None = None,
        *,
        items: str = "row",
    ) -> None:
        check_choice("items", items, ITEM_KINDS)
        winners, losers = (
            read_items(winner, "winner", items),
            read_items(loser, "loser", items),
        )
        count = len(winner)
        check_count(len(loser), count, "loser")
        self._fill_common(qid, count, weight, items)
        self._fill(_winner=winners, _loser=losers)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        qid: str | None = "qid",
        winner: str = "winner",
        loser: str = "loser",
        weight: str | None = None,
        *,
        items: str = "row",
    ) -> Comparisons:
        """Read one comparison per row of a data frame; the arguments name its columns."""
        return cls(*columns(frame, qid=qid, winner=winner, loser=loser, weight=weight), items=items)

    def bind(
        self, layout: QueryLayout | None, qid: Any = None, keys: Any = None
    ) -> BoundObservations:
        state = self.__dict__
        return bind_edges(self, state["_winner"], state["_loser"], None, layout, qid, keys)


class PartialOrders(Observations):
    """Several preferences that one judge stated together, without a circle.

    Parameters
    ----------
    qid : query id of each order; ``None`` with ``items="row"``, where rows tell their query.
    edges : list of ``(winner, loser)`` pairs for each order; or with ``lengths``, an array of two
        columns with the pairs of all orders below each other.
    lengths : number of pairs of each order; default=None.
    weight : weight >= 0 of each order; default=None for 1 each.
    items : {"row", "key", "position"}, default="row"
        What an item is: see :class:`Comparisons`.
    edge_weight : weight >= 0 of each pair, how much it is preferred; default=None for 1 each
        Given as ``edges`` are, as a list for each order, or with ``lengths`` in one row.

    Examples
    --------
    >>> from gbrank.preferences import PartialOrders
    >>> PartialOrders(["a", "b"], [[(0, 1), (1, 2)], [(3, 4)]])
    PartialOrders(n=2, queries=2)
    >>> PartialOrders(["a", "b"], [[0, 1], [1, 2], [3, 4]], lengths=[2, 1])
    PartialOrders(n=2, queries=2)
    """

    def __init__(
        self,
        qid: Any,
        edges: Any,
        lengths: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        items: str = "row",
        edge_weight: Any = None,
    ) -> None:
        check_choice("items", items, ITEM_KINDS)
        pairs, bounds = read_ragged(edges, lengths, "edges")
        if edge_weight is not None:
            edge_weight, weight_bounds = read_ragged(edge_weight, lengths, "edge_weight")
            if not np.array_equal(weight_bounds, bounds):
                raise ValueError("edge_weight must have one number for each pair of edges")
        winner, loser = split_pairs(pairs)
        self._fill_flat(qid, winner, loser, bounds, weight, items, edge_weight)

    def _fill_flat(
        self,
        qid: Any,
        winner: Any,
        loser: Any,
        bounds: IntArray,
        weight: Any,
        items: str,
        edge_weight: Any,
    ) -> None:
        winners = read_items(winner, "winner", items)
        losers = read_items(loser, "loser", items)
        self._fill_common(qid, len(bounds) - 1, weight, items)
        edge_weights = read_weight(edge_weight, int(bounds[-1]), "edge_weight", "edge")
        self._fill(_winner=winners, _loser=losers, _bounds=bounds, _edge_weight=edge_weights)

    @classmethod
    def from_flat(
        cls,
        qid: Any,
        winner: Any,
        loser: Any,
        lengths: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        items: str = "row",
        edge_weight: ArrayLike | None = None,
    ) -> PartialOrders:
        """Make orders from the winners and losers of all of them and the pairs of each."""
        check_choice("items", items, ITEM_KINDS)
        counts = count_rows(winner, "winner"), count_rows(loser, "loser")
        if counts[0] != counts[1]:
            raise ValueError(
                f"winner and loser must be of one length, got {counts[0]} and {counts[1]}"
            )
        winner, bounds = read_ragged(winner, lengths, "winner")
        orders = cls.__new__(cls)
        orders._fill_flat(qid, winner, loser, bounds, weight, items, edge_weight)
        return orders

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        qid: str | None = "qid",
        order: str = "order",
        winner: str = "winner",
        loser: str = "loser",
        weight: str | None = None,
        *,
        items: str = "row",
        edge_weight: str | None = None,
    ) -> PartialOrders:
        """Read one edge per row of a data frame; rows of one ``order`` make one partial order.

        Query and weight of an order are those of its first row.
        """
        names = {"qid": qid, "order": order, "winner": winner, "loser": loser}
        ids, orders, winners, losers, weights, edge_weights = columns(
            frame, **names, weight=weight, edge_weight=edge_weight
        )
        grouping = QueryLayout.from_qid(orders)
        heads = grouping.bounds[:-1]
        check_shared(ids, grouping, "order", "qid")
        return cls.from_flat(
            None if ids is None else grouping.sort(ids)[heads],
            grouping.sort(winners),
            grouping.sort(losers),
            grouping.sizes,
            None if weights is None else grouping.sort(weights)[heads],
            items=items,
            edge_weight=None if edge_weights is None else grouping.sort(edge_weights),
        )

    def bind(
        self, layout: QueryLayout | None, qid: Any = None, keys: Any = None
    ) -> BoundObservations:
        state = self.__dict__
        edges = (state["_winner"], state["_loser"], state["_bounds"])
        return bind_edges(self, *edges, layout, qid, keys, state["_edge_weight"])


class Selections(Observations):
    """Lists that were shown, and where each was clicked, if at all.

    Parameters
    ----------
    qid : query id of each list; ``None`` with ``items="row"``, where rows tell their query.
    shown : list of the items of each list, from the top; or with ``lengths``, those of all lists
        one after another.
    clicked : position in the list that was clicked, from 0; -1, None or NaN for none.
    lengths : number of items of each list; default=None.
    weight : weight >= 0 of each list; default=None for 1 each.
    items : {"row", "key", "position"}, default="row"
        What an item is: see :class:`Comparisons`.
    edges : {"examined", "shown"}, default="examined"
        What a click says: the clicked item is preferred to those above it, which were examined
        and passed over, or to all others shown. A list without a click says nothing that way;
        the cascade model (:func:`gbrank.preferences.cascade`) learns from it nevertheless.

    Examples
    --------
    >>> from gbrank.preferences import Selections
    >>> Selections(["a", "a"], [[0, 1, 2], [2, 0]], clicked=[2, None])
    Selections(n=2, queries=1)
    """

    def __init__(
        self,
        qid: Any,
        shown: Any,
        clicked: Any,
        lengths: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        items: str = "row",
        edges: str = "examined",
    ) -> None:
        check_choice("items", items, ITEM_KINDS)
        check_choice("edges", edges, ("examined", "shown"))
        flat, bounds = read_ragged(shown, lengths, "shown")
        clicks = read_clicks(clicked)
        check_count(len(clicks), len(bounds) - 1, "clicked")
        self._fill_common(qid, len(clicks), weight, items)
        beyond = clicks >= np.diff(bounds)
        if beyond.any():
            at = int(np.argmax(beyond))
            where = "" if self._qid is None else f" (query {self._qid.entry(at)!r})"
            raise ValueError(
                f"clicked must be a position in the list shown, but observation {at}{where} was "
                f"clicked at {clicks[at]} and shows {bounds[at + 1] - bounds[at]} items"
            )
        shown_items = read_items(flat, "shown", items)
        self._fill(_shown=shown_items, _bounds=bounds, _clicked=clicks, edges=edges)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        qid: str | None = "qid",
        list_id: str = "list",
        item: str = "item",
        clicked: str = "clicked",
        weight: str | None = None,
        *,
        items: str = "row",
        edges: str = "examined",
    ) -> Selections:
        """Read one shown item per row of a data frame, those of a list from the top.

        ``clicked`` is a column of 0 and 1, with at most one 1 for each ``list_id``. Query and
        weight of a list are those of its first row.
        """
        ids, lists, shown, flags, weights = columns(
            frame, qid=qid, list_id=list_id, item=item, clicked=clicked, weight=weight
        )
        grouping = QueryLayout.from_qid(lists)
        heads = grouping.bounds[:-1]
        check_shared(ids, grouping, "list_id", "qid")
        return cls(
            None if ids is None else grouping.sort(ids)[heads],
            grouping.sort(shown),
            click_positions(grouping.sort(flags), grouping),
            grouping.sizes,
            None if weights is None else grouping.sort(weights)[heads],
            items=items,
            edges=edges,
        )

    def bind(
        self, layout: QueryLayout | None, qid: Any = None, keys: Any = None
    ) -> BoundObservations:
        state = self.__dict__
        return bind_lists(
            self, state["_shown"], state["_bounds"], state["_clicked"], layout, qid, keys
        )
