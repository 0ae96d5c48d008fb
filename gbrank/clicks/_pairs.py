"""Items that were seen at two positions: what harvesting lives on.

An item seen at positions ``k`` and ``l`` has the same relevance at both, so that the ratio of its
click rates there is the ratio of their propensities, whatever the item.
"""

from collections.abc import Iterator

import numpy as np

from gbrank.clicks.log import ClickLog
from gbrank.core import FloatArray, IntArray, kernel

#: Tables of queries that are held at a time have about so many numbers.
_BATCH = 2**21


@kernel()
def _fill_tables(first, last, query_bounds, item_bounds, places, impressions, clicks, tables):
    """Add up, for each query and pair of positions, click rates at the first, and items."""
    for q in range(first, last):
        for item in range(query_bounds[q], query_bounds[q + 1]):
            a, b = item_bounds[item], item_bounds[item + 1]
            for i in range(a, b):
                rate = clicks[i] / impressions[i]
                for j in range(a, b):
                    if i != j:
                        tables[q - first, 0, places[i], places[j]] += rate
                        tables[q - first, 1, places[i], places[j]] += 1.0


@kernel()
def _count_links(item_bounds, places, clicks, n_shared, links):
    """Count the items seen at each two positions, and those among them with a click there."""
    for item in range(len(item_bounds) - 1):
        a, b = item_bounds[item], item_bounds[item + 1]
        for i in range(a, b):
            for j in range(i + 1, b):
                n_shared[places[i], places[j]] += 1
                if clicks[i] + clicks[j] > 0.0:
                    links[places[i], places[j]] += 1


def count_links(log: ClickLog) -> tuple[IntArray, IntArray]:
    """Return how many items each two positions share, and how many of them were clicked there.

    An item that was never clicked at either says nothing about their ratio.
    """
    shape = (log.n_positions, log.n_positions)
    shared, links = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    _count_links(log.item_bounds, log.places, log.clicks, shared, links)
    return shared + shared.T, links + links.T


def batches_of_queries(log: ClickLog) -> Iterator[tuple[int, int]]:
    """Yield queries ``first`` to ``last`` whose tables are held at a time."""
    size = max(1, _BATCH // (2 * log.n_positions**2))
    for first in range(0, log.n_queries, size):
        yield first, min(first + size, log.n_queries)


def pair_tables(log: ClickLog, generator: np.random.Generator | None, n: int) -> FloatArray:
    """Return tables of shape (n, 2, positions, positions): those of the log, or of resamples.

    Entry ``[b, 0, k, l]`` is the sum over items seen at ``k`` and ``l`` of their click rates at
    ``k``, entry ``[b, 1, k, l]`` the number of these items. A resample weighs each query by a
    Poisson number of mean 1, which is the bootstrap over queries.

    Parameters
    ----------
    log : the log.
    generator : of the resamples; ``None`` for the log itself.
    n : number of resamples.
    """
    shape = (2, log.n_positions, log.n_positions)
    totals = np.zeros((n, int(np.prod(shape))))
    for first, last in batches_of_queries(log):
        tables = np.zeros((last - first, *shape))
        _fill_tables(
            first,
            last,
            log.query_bounds,
            log.item_bounds,
            log.places,
            log.impressions,
            log.clicks,
            tables,
        )
        flat = tables.reshape(last - first, -1)
        if generator is None:
            totals += flat.sum(axis=0)
        else:
            totals += generator.poisson(1.0, (n, last - first)) @ flat
    return totals.reshape(n, *shape)


def components(links: IntArray) -> IntArray:
    """Return the number of the connected group of each position, from a matrix of links."""
    groups = np.arange(len(links))
    while True:
        # the least number among a position and those it is linked to
        least = np.where(links > 0, groups[None, :], len(links)).min(axis=1)
        new = np.minimum(groups, least)
        if (new == groups).all():
            return groups
        groups = new
