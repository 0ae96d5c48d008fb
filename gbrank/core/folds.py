"""Splits of whole queries.

A split through the middle of a query trains on some of its documents and tests on the others: the
lists are then shorter than real ones, and the test has seen its queries.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gbrank.core.queries import QueryLayout
from gbrank.core.typing import BoolArray, FloatArray, IntArray
from gbrank.core.validation import check_choice, check_integer, check_seed

#: Row numbers of a training and a test part.
Split = tuple[IntArray, IntArray]

STRATA = (None, "length", "relevant", "both")


def query_folds(
    layout: QueryLayout,
    labels: FloatArray | None,
    n_folds: int,
    *,
    shuffle: bool,
    stratify: str | None,
    seed: int,
    name: str = "n_splits",
) -> Iterator[Split]:
    """Yield the row numbers of the training and the test part, fold by fold.

    Parameters
    ----------
    layout : the queries.
    labels : one per row, needed only to stratify by relevant documents.
    n_folds : number of folds, at least 2.
    shuffle : whether queries are dealt out in random order.
    stratify : see :func:`query_strata`.
    seed : of the shuffle.
    name : what the caller calls ``n_folds``, for error messages.
    """
    check_integer(name, n_folds, low=2)
    check_choice("shuffle", shuffle, (True, False))
    check_seed(seed)
    strata = query_strata(layout, labels, stratify)
    if layout.n_queries < n_folds:
        raise ValueError(f"{name}={n_folds} is more than the number of queries, {layout.n_queries}")
    fold = np.empty(layout.n_queries, dtype=np.int64)
    fold[_stratum_by_stratum(strata, seed if shuffle else None)] = (
        np.arange(layout.n_queries) % n_folds
    )
    for number in range(n_folds):
        yield split_rows(layout, fold == number)


def query_strata(layout: QueryLayout, labels: FloatArray | None, stratify: str | None) -> IntArray:
    """Return a number per query: queries of one number are spread over all parts.

    Parameters
    ----------
    layout : the queries.
    labels : one per row, needed only to stratify by relevant documents.
    stratify : ``None`` for one stratum, "length", "relevant" (number of labels above 0) or "both";
        counts are taken to the nearest power of two.
    """
    check_choice("stratify", stratify, STRATA)
    strata = np.zeros(layout.n_queries, dtype=np.int64)
    if stratify in ("length", "both"):
        strata += _bucket(layout.sizes)
    if stratify in ("relevant", "both"):
        if labels is None:
            raise ValueError(f"stratify={stratify!r} needs the labels y")
        padded = np.append(layout.sort(labels) > 0, False)
        counts = np.add.reduceat(padded, layout.bounds[:-1], dtype=np.int64)
        strata += 100 * _bucket(np.where(layout.sizes > 0, counts, 0))
    return strata


def draw_queries(strata: IntArray, n_drawn: int, seed: Any) -> BoolArray:
    """Return which queries are drawn: so many, with the same share of each stratum."""
    n_queries = len(strata)
    # evenly spaced places in an order sorted by stratum take the same share of each
    places = np.floor((np.arange(n_drawn) + 0.5) * n_queries / n_drawn).astype(np.int64)
    drawn = np.zeros(n_queries, dtype=bool)
    drawn[_stratum_by_stratum(strata, seed)[places]] = True
    return drawn


def hold_out_queries(n_queries: int, fraction: float, seed: int) -> Split:
    """Return the numbers of the queries to train on and of those held out, at least one."""
    n_held_out = max(round(fraction * n_queries), 1)
    shuffled = np.random.default_rng(seed).permutation(n_queries)
    return np.sort(shuffled[n_held_out:]), np.sort(shuffled[:n_held_out])


def split_rows(layout: QueryLayout, in_test: BoolArray) -> Split:
    """Return the row numbers of the queries that are not in the test part, and of those that are.

    Parameters
    ----------
    layout : the queries.
    in_test : one entry per query.
    """
    rows: BoolArray = layout.unsort(np.repeat(in_test, layout.sizes))
    return np.flatnonzero(~rows), np.flatnonzero(rows)


def check_whole_queries(folds: Iterable[tuple[Any, Any]], layout: QueryLayout) -> list[Split]:
    """Return folds as row numbers; raise a ``ValueError`` if one of them tears a query apart.

    Parameters
    ----------
    folds : row numbers of training and test part of each fold; rows of a query are consecutive.
    layout : the queries.
    """
    sizes = layout.sizes
    query = np.repeat(np.arange(layout.n_queries), sizes)
    parts = [(np.asarray(train), np.asarray(test)) for train, test in folds]
    for number, (train, test) in enumerate(parts):
        torn = np.intersect1d(query[train], query[test])
        for part in (train, test):
            counts = np.bincount(query[part], minlength=len(sizes))
            torn = np.union1d(torn, np.flatnonzero((counts > 0) & (counts < sizes)))
        if len(torn):
            raise ValueError(f"fold {number} tears query {torn[0]} apart; use QueryKFold")
    return parts


def _bucket(counts: IntArray) -> IntArray:
    """Return whole logarithms to base two: 0 for 0, 1 for 1, 2 for 2-3, 3 for 4-7 ..."""
    buckets: IntArray = np.ceil(np.log2(counts + 1.0)).astype(np.int64)
    return buckets


def _stratum_by_stratum(strata: IntArray, seed: Any) -> IntArray:
    """Return the queries sorted by stratum; within one, shuffled if there is a seed."""
    within = np.arange(len(strata))
    if seed is not None:
        within = np.random.default_rng(seed).permutation(len(strata))
    return np.lexsort((within, strata))
