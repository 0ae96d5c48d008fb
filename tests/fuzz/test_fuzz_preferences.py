"""Observations of any kind: bound and aggregated to finite scores, or an error of ours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_input import columns, fuzzed, odd_columns, ours_or_fine, positive_edges

from gbrank.core.queries import QueryLayout
from gbrank.preferences import METHODS, Comparisons, PartialOrders, Selections, aggregate

QID = np.array([0, 0, 0, 1, 1, 1, 1, 2])  # of the rows that items are
rows = st.integers(0, len(QID) - 1).map(float)
weights = st.floats(0, 3)


@st.composite
def items(draw, size):
    """Rows of one query, rows of any, or anything."""
    how = draw(st.integers(0, 5))
    if how < 3:
        return draw(st.lists(st.integers(3, 6), min_size=size, max_size=size))
    if how < 5:
        return draw(st.lists(st.integers(-1, 9), min_size=size, max_size=size))
    return draw(odd_columns(size, rows))


@st.composite
def weight(draw, size):
    return draw(st.one_of(st.none(), columns(size, weights, positive_edges)))


@st.composite
def observation_arguments(draw):
    """Return a class and arguments for it."""
    size = draw(st.integers(0, 5))
    kind = draw(st.sampled_from(["comparisons", "orders", "flat", "selections", "flat selections"]))
    qid = draw(st.one_of(st.none(), st.just([1] * size), odd_columns(size, rows)))
    given_weight = draw(weight(size))
    if kind == "comparisons":
        return Comparisons, (qid, draw(items(size)), draw(items(size)), given_weight)
    if kind == "orders":
        pair = st.tuples(st.integers(-1, 8), st.integers(-1, 8))
        odd = st.sampled_from([None, 3, "ab", (1,), (1, 2, 3), (None, 1), ("a", "b"), (0.5, 1)])
        edges = draw(st.lists(st.lists(pair | odd, max_size=3), min_size=size, max_size=size))
        return PartialOrders, (qid, edges, None, given_weight)
    if kind == "flat":
        lengths = draw(odd_columns(size, st.integers(0, 2).map(float)))
        total = draw(st.integers(0, 6))
        arguments = (qid, draw(items(total)), draw(items(total)), lengths, given_weight)
        return PartialOrders.from_flat, arguments
    clicked = draw(
        st.one_of(st.lists(st.integers(-1, 3), min_size=size, max_size=size), items(size))
    )
    if kind == "selections":
        item = st.one_of(st.integers(3, 6), st.sampled_from([None, "a", -1, 99, 0.5, []]))
        shown = draw(
            st.lists(st.lists(item, max_size=4, unique_by=repr), min_size=size, max_size=size)
        )
        return Selections, (qid, shown, clicked, None, given_weight)
    lengths = draw(odd_columns(size, st.integers(0, 3).map(float)))
    return Selections, (qid, draw(items(draw(st.integers(0, 8)))), clicked, lengths, given_weight)


kinds_of_items = st.sampled_from(["row", "row", "row", "key", "position", "other", None])


@pytest.mark.parametrize("method", METHODS)
@fuzzed
@given(given_input=observation_arguments(), kind=kinds_of_items, rows_named=st.booleans())
def test_aggregate(method, given_input, kind, rows_named):
    make, arguments = given_input
    with ours_or_fine():
        observed = make(*arguments, items=kind)
        bound = observed.bind(None, qid=QID, keys=np.arange(len(QID)) if rows_named else None)
        assert len(bound) == len(observed)
        scores = aggregate(bound, method)
        assert scores.shape == QID.shape
        assert np.isfinite(scores).all()


@fuzzed
@given(given_input=observation_arguments(), chosen=odd_columns(3, st.integers(0, 4).map(float)))
def test_cut_and_summarize(given_input, chosen):
    make, arguments = given_input
    observed = None
    with ours_or_fine():
        observed = make(*arguments)
    if observed is None:
        return
    with ours_or_fine():
        observed.take(chosen)
    with ours_or_fine():
        observed.for_rows(chosen)
    with ours_or_fine():
        observed.for_queries(chosen)
    with ours_or_fine():
        observed.summary(qid=QID)
    with ours_or_fine():
        observed.bind(QueryLayout.from_group([3, 4, 1]))
