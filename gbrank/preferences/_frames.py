"""Observations that come as tables or as pairs: columns, groups of rows, clicks as flags."""

from typing import Any

import numpy as np

from gbrank.core import IntArray, QueryLayout
from gbrank.preferences._ids import read_clicks, read_ids


def split_pairs(pairs: Any) -> tuple[Any, Any]:
    """Return winners and losers of a list of pairs or an array of two columns."""
    if isinstance(pairs, np.ndarray):
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"edges must have two columns, got shape {pairs.shape}")
        return pairs[:, 0], pairs[:, 1]
    for at, pair in enumerate(pairs):
        if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"edges must be (winner, loser) pairs, but entry {at} is {pair!r}")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def columns(frame: Any, **names: str | None) -> list[Any]:
    """Return the named columns of a frame; None for a column that is not wanted."""
    found: list[Any] = []
    for argument, name in names.items():
        if name is not None and name not in frame:
            raise ValueError(
                f"{argument} must name a column of the frame, but it has no {name!r}; "
                f"its columns are {list(getattr(frame, 'columns', frame))}"
            )
        found.append(None if name is None else frame[name])
    return found


def check_shared(ids: Any, grouping: QueryLayout, group: str, name: str) -> None:
    """Raise an error for rows that belong together and yet differ in what they must share."""
    if ids is None:
        return
    codes = read_ids(grouping.sort(ids), name).codes
    first = np.repeat(codes[grouping.bounds[:-1]], grouping.sizes)
    if (codes != first).any():
        place = int(np.argmax(codes != first))
        at = int(np.searchsorted(grouping.bounds, place, side="right")) - 1
        number = grouping.describe_query(at).removeprefix("query ")
        raise ValueError(f"{name} must be the same for all rows of one {group}, but {number} mixes")


def click_positions(flags: Any, grouping: QueryLayout) -> IntArray:
    """Return where each list has its 1, counted from its top; -1 where it has none."""
    chosen = np.flatnonzero(read_clicks(flags) > 0)
    lists = np.searchsorted(grouping.bounds, chosen, side="right") - 1
    twice = lists[1:] == lists[:-1]
    if twice.any():
        number = grouping.describe_query(int(lists[:-1][twice][0])).removeprefix("query ")
        raise ValueError(f"clicked must have at most one 1 for each list, but list {number} has 2")
    positions = np.full(grouping.n_queries, -1, dtype=np.int64)
    positions[lists] = chosen - grouping.bounds[lists]
    return positions
