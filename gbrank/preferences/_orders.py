"""Checks of many small graphs and lists at once: circles in orders, items shown twice."""

import numpy as np

from gbrank.core import kernel


@kernel()
def find_cycle(bounds, winner, loser, n_documents):
    """Return the first order whose edges run in a circle, -1 if none does.

    Documents that lose to nobody are taken away until none is left (Kahn, 1962).
    """
    losses = np.zeros(n_documents, np.int64)  # edges into each document that are left
    head = np.empty(n_documents, np.int64)  # first edge out of each document
    n_longest = 0
    for order in range(len(bounds) - 1):
        n_longest = max(n_longest, bounds[order + 1] - bounds[order])
    following = np.empty(n_longest, np.int64)
    waiting = np.empty(2 * n_longest, np.int64)
    for order in range(len(bounds) - 1):
        first, last = bounds[order], bounds[order + 1]
        for edge in range(first, last):
            losses[winner[edge]] = losses[loser[edge]] = 0
            head[winner[edge]] = head[loser[edge]] = -1
        for edge in range(first, last):
            losses[loser[edge]] += 1
            following[edge - first] = head[winner[edge]]
            head[winner[edge]] = edge - first
        n_waiting = 0
        for edge in range(first, last):
            if losses[winner[edge]] == 0:
                losses[winner[edge]] = -1  # listed once
                waiting[n_waiting] = winner[edge]
                n_waiting += 1
        removed = 0
        while n_waiting > 0:
            n_waiting -= 1
            edge = head[waiting[n_waiting]]
            while edge >= 0:
                removed += 1
                document = loser[first + edge]
                losses[document] -= 1
                if losses[document] == 0:
                    losses[document] = -1
                    waiting[n_waiting] = document
                    n_waiting += 1
                edge = following[edge]
        if removed < last - first:
            return order
    return -1


@kernel()
def find_repeated(bounds, shown, n_documents):
    """Return the first list that shows a document twice, -1 if none does."""
    last_list = np.full(n_documents, -1, np.int64)
    for number in range(len(bounds) - 1):
        for at in range(bounds[number], bounds[number + 1]):
            if last_list[shown[at]] == number:
                return number
            last_list[shown[at]] = number
    return -1


@kernel()
def click_edges(bounds, shown, clicked, all_shown, edge_bounds, winner, loser):
    """Write clicked > examined above it (or all others shown) for each list with a click."""
    for number in range(len(bounds) - 1):
        edge = edge_bounds[number]
        if clicked[number] < 0:
            continue
        first = bounds[number]
        last = bounds[number + 1] if all_shown else first + clicked[number]
        for at in range(first, last):
            if at - first != clicked[number]:
                winner[edge] = shown[first + clicked[number]]
                loser[edge] = shown[at]
                edge += 1


@kernel()
def find_keys(bounds, ordered, order, queries, wanted, places):
    """Write where each wanted key is among those of its query, -1 where it is not.

    ``ordered`` has the keys of each query in rising order, ``order`` the places they come from.
    """
    for at in range(len(wanted)):
        first, end = bounds[queries[at]], bounds[queries[at] + 1]
        last = end
        while first < last:
            middle = (first + last) // 2
            if ordered[middle] < wanted[at]:
                first = middle + 1
            else:
                last = middle
        found = first < end and ordered[first] == wanted[at]
        places[at] = order[first] if found else -1
