"""Queries that lie in more than one partition: how they are found, and where they go."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from dask import delayed
from numpy.typing import NDArray

from gbrank.core import BoolArray, IntArray, QueryLayout


def queries_of(qid: Any) -> QueryLayout:
    """Return the queries of a partition and their sizes, without the order of its rows.

    Parameters
    ----------
    qid : query id of each row.
    """
    layout = QueryLayout.from_qid(qid)
    return QueryLayout(layout.bounds, None, layout.query_ids)


def rows_of_queries(layout: QueryLayout, queries: IntArray) -> BoolArray:
    """Return, for each row in the user's order, whether its query is one of these.

    Parameters
    ----------
    layout : the queries of a partition.
    queries : some of their numbers.
    """
    is_wanted = np.isin(np.arange(layout.n_queries), queries)
    rows: BoolArray = layout.unsort(np.repeat(is_wanted, layout.sizes))
    return rows


class QueryMap:
    """Which partition holds rows of which query.

    An entry is a query of a partition. Entries come partition by partition, and in a partition in
    the order of its queries, so that a query of a partition is known by its number there.

    Parameters
    ----------
    partitions : list of QueryLayout
        The queries of each partition.
    """

    def __init__(self, partitions: Sequence[QueryLayout]) -> None:
        self.n_queries = [each.n_queries for each in partitions]
        self.entries = QueryLayout.from_qid(_join_ids([_ids(each) for each in partitions]))
        numbers = np.arange(self.entries.n_queries)
        #: Of each entry: its query among all queries, its partition, its number of rows.
        self.query: IntArray = self.entries.unsort(np.repeat(numbers, self.entries.sizes))
        self.partition = np.repeat(np.arange(len(partitions)), self.n_queries)
        self.rows = np.concatenate([each.sizes for each in partitions])

    @property
    def cut(self) -> IntArray:
        """Numbers of the queries that lie in more than one partition."""
        return np.flatnonzero(self.entries.sizes > 1)

    def check_whole(self) -> None:
        """Raise a ``ValueError`` that names a cut query and two of its partitions, if any is."""
        cut = self.cut
        if len(cut):
            first, second = self.partition[self.query == cut[0]][:2]
            raise ValueError(
                f"{self.entries.describe_query(int(cut[0]))} is cut: partitions {first} and "
                f"{second} both hold rows of it ({len(cut)} of {self.entries.n_queries} queries "
                'are cut). Partition the data by query, or allow repartition="auto"'
            )

    def by_partition(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return values of entries as one array per partition.

        Parameters
        ----------
        values : array with one value per entry.
        """
        return np.split(values, np.cumsum(self.n_queries)[:-1])

    def cut_by_partition(self) -> list[IntArray]:
        """Return, for each partition, the numbers there of the queries that are cut."""
        is_cut = self.entries.sizes[self.query] > 1
        return [np.flatnonzero(each) for each in self.by_partition(is_cut)]

    def destinations(self, *, balanced: bool) -> IntArray:
        """Return, for each entry, the partition that is to have all rows of its query.

        Parameters
        ----------
        balanced : whether a cut query goes to the partition with the fewest rows of those that
            have some of it, so that queries scattered over all partitions stay spread evenly.
            Otherwise it goes to the first of them, so that all queries keep their order.
        """
        target = np.empty(self.entries.n_queries, dtype=np.int64)
        target[self.query[::-1]] = self.partition[::-1]  # the first entry is written last
        if balanced:
            is_cut = self.entries.sizes[self.query] > 1
            n_rows = self._sum_rows(self.partition[~is_cut], self.rows[~is_cut])
            partition, rows = self.entries.sort(self.partition), self.entries.sort(self.rows)
            for query in self.cut.tolist():
                own = slice(self.entries.bounds[query], self.entries.bounds[query + 1])
                target[query] = partition[own][np.argmin(n_rows[partition[own]])]
                n_rows[target[query]] += rows[own].sum()
        found: IntArray = target[self.query]
        return found

    def rows_after(self, destinations: IntArray) -> IntArray:
        """Return the number of rows of each partition when each entry is where it is to be.

        Parameters
        ----------
        destinations : array with one partition per entry.
        """
        return self._sum_rows(destinations, self.rows)

    def draw(
        self, seed: int, *, n_queries: int | None = None, n_rows: int | None = None
    ) -> list[IntArray]:
        """Return, for each partition, the numbers there of queries drawn at random.

        Parameters
        ----------
        seed : of the draw.
        n_queries : how many to draw; all if there are not more.
        n_rows : instead: about how many rows the queries drawn are to have.
        """
        drawn = np.random.default_rng(seed).permutation(self.entries.n_queries)
        if n_rows is not None:
            sizes = np.bincount(self.query, weights=self.rows)[drawn]
            n_queries = int(np.searchsorted(np.cumsum(sizes), n_rows)) + 1
        is_drawn = np.isin(self.query, drawn[:n_queries])
        return [np.flatnonzero(each) for each in self.by_partition(is_drawn)]

    def _sum_rows(self, partition: IntArray, rows: IntArray) -> IntArray:
        total = np.bincount(partition, weights=rows, minlength=len(self.n_queries))
        return total.astype(np.int64)


def find_cut(queries: list[Any], repartition: str) -> Any:
    """Return, for each partition, the numbers of its queries that are cut, delayed.

    Parameters
    ----------
    queries : query ids of each partition, delayed.
    repartition : "never" makes cut queries a ``ValueError`` when the result is computed.
    """
    layouts = [delayed(queries_of)(block) for block in queries]
    return delayed(_find_cut, pure=False)(layouts, repartition)


def _find_cut(partitions: list[QueryLayout], repartition: str) -> list[IntArray]:
    found = QueryMap(partitions)
    if repartition == "never":
        found.check_whole()
    return found.cut_by_partition()


def _ids(layout: QueryLayout) -> NDArray[Any]:
    return np.asarray(layout.query_ids)


def _join_ids(ids: list[NDArray[Any]]) -> NDArray[Any]:
    """Return one array; NumPy would make the same text of 1 and "1"."""
    filled = [each for each in ids if len(each)] or ids[:1]
    if len({each.dtype.kind for each in filled}) == 1:
        return np.concatenate(filled)
    entries = list(itertools.chain.from_iterable(each.tolist() for each in filled))
    return np.fromiter(entries, dtype=object, count=len(entries))
