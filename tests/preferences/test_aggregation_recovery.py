"""Enough comparisons bring the true order and, at the rate of 1 / sqrt(n), the true utilities."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from gbrank.core.queries import QueryLayout
from gbrank.preferences import METHODS, Comparisons, Selections, aggregate, read_catboost_pairs

N_QUERIES, N_DOCUMENTS = 20, 10
UTILITY = np.linspace(0.0, 3.0, N_DOCUMENTS)
QID = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)


def draw_comparisons(n, seed):
    """Draw query and pair uniformly, then the winner by the Bradley-Terry model."""
    generator = np.random.default_rng(seed)
    query = generator.integers(0, N_QUERIES, size=n)
    a = generator.integers(0, N_DOCUMENTS, size=n)
    b = (a + generator.integers(1, N_DOCUMENTS, size=n)) % N_DOCUMENTS
    a_wins = generator.random(n) < 1.0 / (1.0 + np.exp(UTILITY[b] - UTILITY[a]))
    rows = query * N_DOCUMENTS
    return Comparisons(None, rows + np.where(a_wins, a, b), rows + np.where(a_wins, b, a))


@pytest.fixture(scope="module")
def million():
    return draw_comparisons(1_000_000, seed=0).bind(QueryLayout.from_qid(QID))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "cascade"])
def test_a_million_comparisons_recover_the_order(method, million):
    scores = aggregate(million, method)
    for query in range(N_QUERIES):
        assert kendalltau(scores[query == QID], UTILITY).statistic > 0.99


@pytest.mark.parametrize("method", ["log_odds", "thurstone_mosteller", "bradley_terry"])
def test_errors_fall_as_one_over_the_root_of_n(method, million):
    limit = np.tile(UTILITY - UTILITY.mean(), N_QUERIES)
    if method == "log_odds":  # the mean is over the m - 1 others
        limit *= N_DOCUMENTS / (N_DOCUMENTS - 1)
    sizes = [15_625, 62_500, 250_000, 1_000_000]
    layout = QueryLayout.from_qid(QID)
    samples = [draw_comparisons(n, seed=n).bind(layout) for n in sizes[:-1]] + [million]
    errors = [np.sqrt(np.mean((aggregate(part, method) - limit) ** 2)) for part in samples]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.58 < slope < -0.42, (slope, errors)
    assert errors[-1] < 0.03


def test_clicks_recover_probabilities_at_the_rate_of_one_over_the_root_of_n():
    """Lists of 6 documents in random order, read until one satisfies."""
    satisfies = np.linspace(0.05, 0.6, 6)
    errors = []
    for n in (20_000, 320_000):
        generator = np.random.default_rng(n)
        shown = np.argsort(generator.random((n, 6)), axis=1)
        satisfied = generator.random((n, 6)) < satisfies[shown]
        clicked = np.where(satisfied.any(axis=1), satisfied.argmax(axis=1), -1)
        lists = Selections([0] * n, shown.ravel(), clicked, lengths=np.full(n, 6))
        scores = aggregate(lists, "cascade", qid=[0] * 6)
        assert (np.diff(scores) > 0).all()
        errors.append(np.sqrt(np.mean((scores - satisfies) ** 2)))
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.002


class TestCatBoostFixture:
    @pytest.fixture
    def folder(self):
        path = Path(os.environ.get("GBRANK_DATA", "")) / "catboost_querywise"
        if not os.environ.get("GBRANK_DATA") or not path.exists():
            pytest.skip("GBRANK_DATA does not name a folder with catboost_querywise")
        return path

    @pytest.mark.parametrize("part", ["train", "test"])
    def test_pairs_prefer_the_higher_target(self, folder, part):
        lines = [line.split("\t") for line in (folder / part).read_text().splitlines()]
        qid, target = [line[1] for line in lines], np.array([float(line[2]) for line in lines])
        pairs = read_catboost_pairs(folder / f"{part}.pairs")
        figures = pairs.summary(qid=qid)
        assert figures.disagreement == 0.0
        assert figures.comparisons.sum() == len(pairs) > 0
        layout = QueryLayout.from_qid(qid)
        bound, ordered = pairs.bind(layout), layout.sort(target)
        start = np.repeat(layout.bounds[:-1], np.diff(bound.query_bounds))
        assert (ordered[start + bound.winner] > ordered[start + bound.loser]).all()

    @pytest.mark.parametrize("part", ["train", "test"])
    def test_grouped_pairs_say_the_same(self, folder, part):
        qid = [int(line.split("\t")[1]) for line in (folder / part).read_text().splitlines()]
        layout = QueryLayout.from_qid(qid)
        plain = read_catboost_pairs(folder / f"{part}.pairs").bind(layout)
        grouped = read_catboost_pairs(folder / f"{part}.grouped_pairs", grouped=True).bind(layout)
        np.testing.assert_array_equal(plain.query_bounds, grouped.query_bounds)
        for query in range(layout.n_queries):
            own = slice(plain.query_bounds[query], plain.query_bounds[query + 1])
            one, other = (
                sorted(zip(bound.winner[own].tolist(), bound.loser[own].tolist(), strict=True))
                for bound in (plain, grouped)
            )
            assert one == other
