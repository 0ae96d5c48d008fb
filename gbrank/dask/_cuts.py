"""Queries that lie in more than one partition: how they are found, and brought together."""

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbrank.core import IntArray, QueryLayout


class QueryCounts(NamedTuple):
    """The queries of one partition, and how many rows each has there."""

    ids: NDArray[Any]
    rows: IntArray


def count_queries(qid: Any) -> QueryCounts:
    """Return the distinct query ids of a partition, and how often each occurs."""
    layout = QueryLayout.from_qid(qid)
    if layout.query_ids is None:  # never: the layout was made from ids
        raise TypeError("a layout of ids has ids")
    return QueryCounts(np.asarray(layout.query_ids), layout.sizes)


@dataclass(frozen=True)
class QueryMap:
    """Which partition holds rows of which query.

    Attributes
    ----------
    entries : pairs of a partition and a query of it, grouped by query.
    partition, rows : of each entry, as they came: partition after partition.
    n_partitions : number of partitions.
    """

    entries: QueryLayout
    partition: IntArray
    rows: IntArray
    n_partitions: int

    @classmethod
    def of(cls, counts: list[QueryCounts]) -> "QueryMap":
        """Put together what was counted in each partition."""
        sizes = [len(each.ids) for each in counts]
        return cls(
            QueryLayout.from_qid(_join_ids([each.ids for each in counts])),
            np.repeat(np.arange(len(counts)), sizes),
            np.concatenate([each.rows for each in counts]),
            len(counts),
        )

    @property
    def cut(self) -> IntArray:
        """Numbers of the queries that lie in more than one partition."""
        return np.flatnonzero(self.entries.sizes > 1)

    @property
    def rows_by_partition(self) -> IntArray:
        """Number of rows of each partition."""
        total: IntArray = np.bincount(
            self.partition, weights=self.rows, minlength=self.n_partitions
        ).astype(np.int64)
        return total

    def partitions_of(self, query: int) -> IntArray:
        """Return the partitions that hold rows of a query, in ascending order."""
        places: IntArray = self.entries.sort(self.partition)[
            self.entries.bounds[query] : self.entries.bounds[query + 1]
        ]
        return places

    def refuse_cut(self) -> None:
        """Raise a ``ValueError`` that names a cut query and two of its partitions."""
        cut = self.cut
        if len(cut):
            first, second = self.partitions_of(int(cut[0]))[:2]
            raise ValueError(
                f"{self.entries.describe_query(int(cut[0]))} is cut: partitions {first} and "
                f"{second} both hold rows of it ({len(cut)} of {self.entries.n_queries} queries "
                'are cut). Partition the data by query, or allow repartition="auto"'
            )

    def homes(self) -> dict[Any, int]:
        """Return, for each cut query, the partition that shall have all its rows.

        It is the one with the fewest rows of those that have some already: then queries cut at a
        border move to a neighbour, and queries strewn all over are spread evenly.
        """
        cut, bounds = self.cut, self.entries.bounds
        partition, rows = self.entries.sort(self.partition), self.entries.sort(self.rows)
        is_cut = np.repeat(self.entries.sizes > 1, self.entries.sizes)
        load = np.bincount(partition, weights=rows * ~is_cut, minlength=self.n_partitions)
        found = {}
        for query in cut.tolist():
            entries = slice(bounds[query], bounds[query + 1])
            candidates = partition[entries]
            home = int(candidates[np.argmin(load[candidates])])
            load[home] += rows[entries].sum()
            found[self.id_of(query)] = home
        return found

    def rows_after_repair(self) -> IntArray:
        """Return the number of rows of each partition when all cut queries are at home."""
        partition, rows = self.entries.sort(self.partition).copy(), self.entries.sort(self.rows)
        homes = self.homes()
        for query in self.cut.tolist():
            entries = slice(self.entries.bounds[query], self.entries.bounds[query + 1])
            partition[entries] = homes[self.id_of(query)]
        total: IntArray = np.bincount(partition, weights=rows, minlength=self.n_partitions).astype(
            np.int64
        )
        return total

    def cut_by_partition(self) -> list[NDArray[Any]]:
        """Return, for each partition, the ids of the cut queries it holds rows of."""
        ids = self.entries.query_ids
        if ids is None:  # never: the entries are grouped by id
            raise TypeError("entries are grouped by ids")
        query = np.repeat(np.arange(self.entries.n_queries), self.entries.sizes)
        partition = self.entries.sort(self.partition)
        is_cut = (self.entries.sizes > 1)[query]
        return [ids[query[is_cut & (partition == p)]] for p in range(self.n_partitions)]

    def id_of(self, query: int) -> Any:
        """Return the id of a query, as a plain Python object where it can be."""
        ids = self.entries.query_ids
        found = query if ids is None else ids[query]
        return found.item() if isinstance(found, np.generic) else found


def rows_in(qid: Any, ids: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell of each row whether its query is one of ``ids``."""
    layout = QueryLayout.from_qid(qid)
    wanted = set(ids.tolist())
    of_query = [id_ in wanted for id_ in count_queries(qid).ids.tolist()]
    found: NDArray[np.bool_] = layout.unsort(
        np.repeat(np.array(of_query, dtype=bool), layout.sizes)
    )
    return found


def _join_ids(ids: list[NDArray[Any]]) -> NDArray[Any]:
    """Return one array; NumPy would make the same text of 1 and "1"."""
    filled = [each for each in ids if len(each)] or ids[:1]
    if len({each.dtype.kind for each in filled}) == 1:
        return np.concatenate(filled)
    entries = list(itertools.chain.from_iterable(each.tolist() for each in filled))
    return np.fromiter(entries, dtype=object, count=len(entries))
