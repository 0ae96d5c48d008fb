"""A number in the range of the metric (NaN where no query counts), or an error of ours."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_input import (
    any_float,
    columns,
    finite_edges,
    fuzzed,
    labels,
    odd_columns,
    ours_or_fine,
    plain_floats,
    positive_edges,
    ranking_input,
)

from gbrank import metrics
from gbrank.core.queries import QueryLayout

#: Each metric function with its range.
FUNCTIONS = {
    "ndcg_score": (0.0, 1.0),
    "dcg_score": (0.0, np.inf),
    "err_score": (0.0, 1.0),
    "average_precision_score": (0.0, 1.0),
    "reciprocal_rank_score": (0.0, 1.0),
    "precision_at_k": (0.0, 1.0),
    "recall_at_k": (0.0, 1.0),
    "pairwise_disagreement": (0.0, 1.0),
    "topk_zero_one_loss": (0.0, 1.0),
    "spearman_score": (-1.0, 1.0),
}

cutoffs = st.one_of(
    st.none(), st.integers(-2, 10), st.sampled_from([0.2, 1.0, 2**62, 2**70, np.nan, "3", 1e300])
)


@pytest.mark.parametrize("name", FUNCTIONS)
@fuzzed
@given(given_input=ranking_input(), k=cutoffs, per_query=st.booleans())
def test_metric(name, given_input, k, per_query):
    judged, scores, group, weight = given_input
    lowest, highest = FUNCTIONS[name]
    with ours_or_fine(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        values = getattr(metrics, name)(
            judged,
            scores,
            group=group,
            k=k,
            sample_weight=None if per_query else weight,
            per_query=per_query,
        )
        values = np.asarray(values)
        assert values.shape == ((len(group),) if per_query else ())
        known = values[~np.isnan(values)]
        assert per_query or known.size or caught, "NaN without a word"
        assert (known >= lowest - 1e-12).all()
        assert (known <= highest * (1 + 1e-12)).all()


@fuzzed
@given(st.data())
def test_evaluate_and_compare(data):
    size = data.draw(st.integers(0, 8))
    judged = data.draw(columns(size, labels, positive_edges))
    models = {
        name: data.draw(columns(size, plain_floats, finite_edges)) for name in ("one", "other")
    }
    qid = data.draw(odd_columns(size, st.integers(0, 2).map(float)))
    with ours_or_fine():
        metrics.evaluate(judged, models, qid=qid, metrics=["ndcg@3", "err", "map"])
    with ours_or_fine():
        metrics.compare(judged, models, qid=qid, metric="ndcg", n_resamples=20)


@fuzzed
@given(st.data())
def test_layout(data):
    size = data.draw(st.integers(0, 12))
    qid = data.draw(odd_columns(size, st.integers(0, 3).map(float)))
    with ours_or_fine():
        layout = QueryLayout.from_qid(qid)
        assert layout.n_rows == len(qid)
        assert layout.sizes.sum() == layout.n_rows
        assert (layout.sizes > 0).all()
        rows = np.arange(layout.n_rows)
        np.testing.assert_array_equal(layout.unsort(layout.sort(rows)), rows)
        np.testing.assert_array_equal(np.sort(layout.sort(rows)), rows)
    group = data.draw(odd_columns(size, st.integers(0, 3).map(float)))
    with ours_or_fine():
        layout = QueryLayout.from_group(group)
        assert layout.n_queries == len(group)
        assert (layout.sizes >= 0).all()


@fuzzed
@given(st.data())
def test_layout_of_edge_group_sizes(data):
    group = data.draw(st.lists(any_float, max_size=4))
    with ours_or_fine():
        assert QueryLayout.from_group(group, 3).n_rows == 3
