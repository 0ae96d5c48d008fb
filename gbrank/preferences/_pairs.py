"""From the edges of chosen observations of one query to counts per pair of documents.

Everything is linear in edges and documents, and nothing is allocated: a caller may aggregate a few
observations of each of many queries over and over. Scratch of one thread is a tuple of four arrays,
see :func:`make_workspace`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import IntArray, check_number, kernel
from gbrank.preferences.binding import BoundObservations

_EDGE_INTS, _EDGE_FLOATS, _DOCUMENT_INTS, _DOCUMENT_FLOATS = 5, 4, 3, 7

Workspace = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]


def make_workspace(bound: BoundObservations, most_edges: int | None = None) -> Workspace:
    """Return scratch for one thread, enough for the longest query and its observations.

    Parameters
    ----------
    bound : the observations.
    most_edges : most edges of the chosen observations of one query; None for those of all.

    Examples
    --------
    >>> from gbrank.core.queries import QueryLayout
    >>> from gbrank.preferences import Comparisons, make_workspace
    >>> bound = Comparisons(None, winner=[0, 1], loser=[1, 2]).bind(QueryLayout.from_group([3], 3))
    >>> len(make_workspace(bound)) > 0
    True
    """
    n_documents = int(bound.layout.sizes.max(initial=1))
    if most_edges is None:
        edges_before = bound.edge_bounds[bound.query_bounds]
        most_edges = int(np.diff(edges_before).max(initial=1))
    return (
        np.empty((_EDGE_INTS, most_edges), dtype=np.int32),
        np.empty((_EDGE_FLOATS, most_edges)),
        np.empty((_DOCUMENT_INTS, n_documents + 1), dtype=np.int32),
        np.empty((_DOCUMENT_FLOATS, n_documents)),
    )


def tables_of(bound: BoundObservations) -> tuple[Any, ...]:
    """Return the arrays of bound observations in the order in which drivers take them."""
    lists: tuple[Any, ...] = (bound.shown_bounds, bound.shown, bound.clicked)
    if bound.shown is None:
        lists = _NO_LISTS
    return (
        bound.edge_bounds,
        bound.winner,
        bound.loser,
        bound.edge_weight,
        bound.observation_weight,
        *lists,
    )


def _read_only(values: IntArray | NDArray[np.int32]) -> Any:
    values.flags.writeable = False
    return values


_NO_LISTS = (
    _read_only(np.zeros(1, dtype=np.int64)),
    _read_only(np.zeros(0, dtype=np.int32)),
    _read_only(np.zeros(0, dtype=np.int64)),
)


def check_smoothing(smoothing: float) -> tuple[float, float]:
    """Check what is added to the wins of a pair; return it as the numbers of a driver."""
    check_number("smoothing", smoothing, low=0.0, low_open=True)
    return float(smoothing), 0.0


@kernel(part=True)
def take_query(query, queries, out):
    """Return the chosen observations of a query, and the place for the scores of its documents."""
    bounds, chosen_bounds, chosen = queries
    drawn = chosen[chosen_bounds[query] : chosen_bounds[query + 1]]
    return drawn, out[bounds[query] : bounds[query + 1]]


@kernel()
def gather_edges(chosen, tables, winner, loser, weight):
    """Copy the edges of chosen observations, their weights multiplied; return how many.

    Edges of weight 0 are left out: a pair that nobody compared is not a pair.
    """
    edge_bounds, winners, losers, edge_weights, observation_weights = tables[:5]
    n_edges = 0
    for observation in chosen:
        for edge in range(edge_bounds[observation], edge_bounds[observation + 1]):
            both = observation_weights[observation] * edge_weights[edge]
            if both > 0.0:
                winner[n_edges] = winners[edge]
                loser[n_edges] = losers[edge]
                weight[n_edges] = both
                n_edges += 1
    return n_edges


@kernel()
def count_pairs(chosen, tables, n_documents, workspace):
    """Count wins per pair; return how many pairs were compared.

    Row 2 of the edge integers then has the document of the pair that comes first in the query, row
    3 the other one; rows 1 and 2 of the edge numbers the wins of either.
    """
    edge_ints, edge_floats, document_ints, _ = workspace
    winner, loser, order = edge_ints[0], edge_ints[1], edge_ints[4]
    low, high = edge_ints[2], edge_ints[3]
    weight, wins_low, wins_high = edge_floats[0], edge_floats[1], edge_floats[2]
    start, slot = document_ints[0], document_ints[1]
    n_edges = gather_edges(chosen, tables, winner, loser, weight)
    # edges by their lower document; within it, slot says which pair a higher document has
    start[: n_documents + 1] = 0
    slot[:n_documents] = -1
    for edge in range(n_edges):
        start[min(winner[edge], loser[edge]) + 1] += 1
    for document in range(n_documents):
        start[document + 1] += start[document]
    for edge in range(n_edges):
        document = min(winner[edge], loser[edge])
        order[start[document]] = edge
        start[document] += 1  # ends as the start of the next document
    n_pairs = 0
    at = 0
    for document in range(n_documents):
        first_pair = n_pairs
        while at < start[document]:
            edge = order[at]
            at += 1
            won = winner[edge] == document
            other = loser[edge] if won else winner[edge]
            pair = slot[other]
            if pair < 0:
                pair = n_pairs
                slot[other] = pair
                low[pair], high[pair] = document, other
                wins_low[pair] = wins_high[pair] = 0.0
                n_pairs += 1
            if won:
                wins_low[pair] += weight[edge]
            else:
                wins_high[pair] += weight[edge]
        for pair in range(first_pair, n_pairs):
            slot[high[pair]] = -1
    return n_pairs


@kernel()
def label_components(low, high, n_pairs, n_documents, component):
    """Write the lowest document that each document is connected with, itself if with none."""
    for document in range(n_documents):
        component[document] = document
    for pair in range(n_pairs):
        a, b = low[pair], high[pair]
        while component[a] != a:
            component[a] = component[component[a]]
            a = component[a]
        while component[b] != b:
            component[b] = component[component[b]]
            b = component[b]
        if a < b:
            component[b] = a
        else:
            component[a] = b
    for document in range(n_documents):  # a root comes before those that point to it
        component[document] = component[component[document]]


@kernel()
def centre_components(values, component, n_documents, totals, sizes):
    """Subtract from each value the mean of its component."""
    totals[:n_documents] = 0.0
    sizes[:n_documents] = 0.0
    for document in range(n_documents):
        totals[component[document]] += values[document]
        sizes[component[document]] += 1.0
    for document in range(n_documents):
        values[document] -= totals[component[document]] / sizes[component[document]]
