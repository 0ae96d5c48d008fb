"""Where the items of observations lie among the rows, and what is wrong with those that do not."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import IntArray, QueryLayout, stable_argsort
from gbrank.preferences._ids import Ids, read_ids
from gbrank.preferences._orders import find_keys

if TYPE_CHECKING:
    from gbrank.preferences.base import Observations

Int32Array = NDArray[np.int32]

#: Which observation each item belongs to; None where every observation has exactly one.
Owner = IntArray | None


class Locator:
    """What a layout says about items: which query they are of, and where in it they lie."""

    def __init__(
        self, observations: "Observations", layout: QueryLayout | None, qid: Any, keys: Any
    ) -> None:
        if layout is None and qid is None:
            raise ValueError("layout or qid must be given: the query id of each row")
        if layout is not None and not isinstance(layout, QueryLayout):
            raise TypeError(
                f"layout must be a gbrank.core.queries.QueryLayout, got {type(layout).__name__}; "
                "with query ids give qid= instead"
            )
        self.observations = observations
        self.layout = QueryLayout.from_qid(qid) if layout is None else layout
        if layout is not None and qid is not None:
            self.layout = _name_queries(layout, qid)
        self.count = len(observations)
        if observations.items == "key":
            if keys is None:
                raise ValueError('keys must be given for items="key": the key of each row')
            self._number_keys(keys)
        self.query = self._queries_by_id()

    def _queries_by_id(self) -> IntArray | None:
        layout, given = self.layout, self.observations._qid
        if given is None:
            return None
        ids = np.arange(layout.n_queries) if layout.query_ids is None else layout.query_ids
        queries = given.numbered_by(ids)
        if (queries < 0).any():
            at = int(np.argmax(queries < 0))
            raise ValueError(
                f"qid of an observation must be the id of a query among the rows, but observation "
                f"{at} has {given.entry(at)!r}, of which there are no rows"
            )
        return queries

    def _number_keys(self, keys: Any) -> None:
        layout, ids = self.layout, read_ids(keys, "keys")
        if len(ids.codes) != layout.n_rows:
            raise ValueError(
                f"keys must have one entry per row: got {len(ids.codes)} for {layout.n_rows} rows"
            )
        self.distinct_keys = ids.distinct
        codes = layout.sort(ids.codes)
        queries = np.repeat(np.arange(layout.n_queries), layout.sizes)
        both = queries * max(len(ids.distinct), 1) + codes
        self.key_order = stable_argsort(both)
        self.ordered_keys = codes[self.key_order]
        repeated = both[self.key_order[1:]] == both[self.key_order[:-1]]
        if repeated.any():
            place = int(self.key_order[1:][repeated].min())
            row = place if layout.order is None else int(layout.order[place])
            raise ValueError(
                "keys must be unique within a query, but "
                f"{layout.describe_row(row)} repeats {ids.entry(row)!r}"
            )

    def locate(self, items: IntArray | Ids, owner: Owner, name: str) -> Int32Array:
        """Return the place of each item within the query of the observation that owns it."""
        layout = self.layout
        if isinstance(items, Ids):
            places = self._places_of_keys(items, owner, name)
        elif self.observations.items == "position":
            queries = self._query_of(owner)
            self._check(items >= layout.sizes[queries], items, owner, name, "lies beyond its rows")
            places = layout.bounds[queries] + items
        else:
            n_rows = layout.n_rows
            self._check(items >= n_rows, items, owner, name, f"is no row: there are {n_rows} rows")
            places = items if layout.order is None else layout.inverse[items]
            if self.query is None:
                self._queries_by_item(places, owner)
        queries = self._query_of(owner)
        local = places - layout.bounds[queries]
        self._check(
            (local < 0) | (local >= layout.sizes[queries]),
            items,
            owner,
            name,
            "belongs to another query",
        )
        return local.astype(np.int32)

    def _places_of_keys(self, items: Ids, owner: Owner, name: str) -> IntArray:
        numbers = items.numbered_by(self.distinct_keys)
        places = np.empty(len(numbers), dtype=np.int64)
        queries, bounds = self._query_of(owner), self.layout.bounds
        find_keys(bounds, self.ordered_keys, self.key_order, queries, numbers, places)
        self._check(places < 0, items, owner, name, "is not a key of its rows")
        return places

    def _queries_by_item(self, places: IntArray, owner: Owner) -> None:
        """Let the first item of each observation tell its query, where no id was given."""
        layout = self.layout
        query_of_place = np.repeat(np.arange(layout.n_queries), layout.sizes)
        queries = np.full(self.count, -1, dtype=np.int64)
        if owner is None:
            queries[:] = query_of_place[places]
        else:
            queries[owner[::-1]] = query_of_place[places[::-1]]  # the last to be written stays
        if (queries < 0).any():
            at = int(np.argmax(queries < 0))
            raise ValueError(
                f"qid must be given where an observation has no items, as observation {at}"
            )
        self.query = queries

    def _query_of(self, owner: Owner) -> IntArray:
        if self.query is None:
            raise RuntimeError("queries are looked up before they are known")
        queries: IntArray = self.query if owner is None else self.query[owner]
        return queries

    def _check(
        self,
        wrong: NDArray[np.bool_],
        items: IntArray | Ids,
        owner: Owner,
        name: str,
        reason: str,
    ) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            item = items.entry(at) if isinstance(items, Ids) else int(items[at])
            kind = "" if self.observations.items == "key" else f"{self.observations.items} "
            where = self.describe(at if owner is None else int(owner[at]))
            raise ValueError(f"{name} of {where} is {kind}{item!r}, which {reason}")

    def describe(self, observation: int) -> str:
        """Name an observation and its query, as far as that is known."""
        if self.query is None:
            return f"observation {observation}"
        query = self.layout.describe_query(int(self.query[observation]))
        return f"observation {observation} ({query})"


def _name_queries(layout: QueryLayout, qid: Any) -> QueryLayout:
    """Return the layout with the ids of its queries, given one per row."""
    named = QueryLayout.from_qid(qid, layout.n_rows)
    number = np.repeat(np.arange(named.n_queries), named.sizes)
    number = layout.sort(named.unsort(number))
    filled = np.flatnonzero(layout.sizes)
    first = number[layout.bounds[filled]]
    mixed = number != np.repeat(first, layout.sizes[filled])
    if mixed.any():
        place = int(np.argmax(mixed))
        row = place if layout.order is None else int(layout.order[place])
        raise ValueError(
            "qid must be the same for all rows of a query of the layout, but "
            f"{layout.describe_row(row)} has another than the rows before it"
        )
    ids = np.full(layout.n_queries, None, dtype=object)
    ids[filled] = named.query_ids[first] if named.query_ids is not None else first
    return QueryLayout(layout.bounds, layout.order, ids)
