"""Figures of observations against counts by hand and by another library."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from gbrank.core.queries import QueryLayout
from gbrank.preferences import Comparisons, Selections, summarize


def test_counts_by_hand():
    qid = ["a"] * 4 + ["b"] * 3 + ["c"]
    observations = Comparisons(
        None,
        winner=[0, 0, 1, 2, 4],
        loser=[1, 1, 0, 3, 6],
        weight=[1.0, 1.0, 0.5, 3.0, 0.0],
    )
    figures = observations.summary(QueryLayout.from_qid(qid))
    assert figures.observations.tolist() == [4, 1, 0]
    assert figures.comparisons.tolist() == [4, 0, 0]  # one has weight 0
    assert figures.pairs.tolist() == [2, 0, 0]
    assert figures.components.tolist() == [2, 3, 1]
    assert figures.unseen.tolist() == [0, 3, 1]
    # of 1 + 1 + .5 + 3 the .5 goes against the majority of its pair
    assert figures.disagreement == pytest.approx(0.5 / 5.5)
    np.testing.assert_allclose(figures.disagreement_per_query, [0.5 / 5.5, np.nan, np.nan])
    assert "queries observed         2 of 3" in repr(figures)
    assert "connected queries        1 of 3" in repr(figures)
    assert "share of disagreement    0.0909" in repr(figures)


def test_components_against_scipy():
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 30, size=40)
    starts = np.cumsum(sizes) - sizes
    winner, loser, expected = [], [], []
    for start, size in zip(starts, sizes, strict=True):
        count = int(generator.integers(0, size + 1)) if size > 1 else 0
        a = generator.integers(0, size, size=count)
        b = (a + generator.integers(1, max(size, 2), size=count)) % size
        graph = np.zeros((size, size))
        graph[a, b] = 1
        expected.append(connected_components(graph, directed=False)[0])
        winner.extend(start + a)
        loser.extend(start + b)
    figures = summarize(Comparisons(None, winner, loser), QueryLayout.from_group(sizes))
    assert figures.components.tolist() == expected
    assert len(set(expected)) > 5


def test_lists_without_clicks_count_as_observations_only():
    figures = summarize(Selections(None, [[0, 1], [1, 0]], [None, 1]), qid=["a", "a"])
    assert (figures.n_observations, figures.comparisons.tolist()) == (2, [1])


def test_nothing_observed():
    figures = summarize(Comparisons(None, [], []), qid=["a", "a"])
    assert figures.disagreement == 0.0
    assert "observations             0" in repr(figures)
