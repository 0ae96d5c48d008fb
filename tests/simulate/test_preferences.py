"""Simulated preferences against the closed forms of their models, by chi-square."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from gbrank.core.queries import QueryLayout
from gbrank.simulate import bradley_terry, partial_orders, selections

# rows of two queries in no order, and one document alone
QID = np.array(["b", "a", "b", "a", "c", "a"])
UTILITIES = np.array([1.0, 0.0, -0.5, 2.0, 9.0, 0.7])
N = 20_000


def bound_rows(observations):
    """Return winner and loser of every edge as rows of the user, and the bound form."""
    bound = observations.bind(QueryLayout.from_qid(QID))
    layout = bound.layout
    edges_of_query = np.diff(bound.edge_bounds[bound.query_bounds])
    starts = np.repeat(layout.bounds[:-1], edges_of_query)
    rows = np.arange(len(QID)) if layout.order is None else layout.order
    return rows[starts + bound.winner], rows[starts + bound.loser], bound


def assert_shares(counts, probabilities):
    counts = np.asarray(counts, dtype=float)
    expected = np.asarray(probabilities) * counts.sum()
    assert expected.sum() == pytest.approx(counts.sum())
    assert chisquare(counts, expected).pvalue > 1e-4


def test_comparisons_follow_bradley_and_terry():
    observations = bradley_terry(UTILITIES, QID, N, random_state=3)
    assert len(observations) == N
    winner, loser, _ = bound_rows(observations)
    pairs = [(1, 3), (1, 5), (3, 5), (0, 2)]  # rows of query a, and of b
    counts, expected = [], []
    for i, j in pairs:
        of_pair = 1 / 2 * (1 / 3 if (i, j) != (0, 2) else 1.0)  # query, then pair, uniformly
        p = np.exp(UTILITIES[i]) / (np.exp(UTILITIES[i]) + np.exp(UTILITIES[j]))
        counts += [((winner == i) & (loser == j)).sum(), ((winner == j) & (loser == i)).sum()]
        expected += [of_pair * p, of_pair * (1 - p)]
    assert sum(counts) == N
    assert_shares(counts, expected)


def test_partial_orders_follow_plackett_and_luce():
    observations = partial_orders(UTILITIES, QID, N, size=3, random_state=4)
    winner, loser, bound = bound_rows(observations)
    counts = dict.fromkeys(permutations([1, 3, 5]), 0)
    counts |= dict.fromkeys(permutations([0, 2]), 0)
    for low, high in zip(bound.edge_bounds[:-1], bound.edge_bounds[1:], strict=True):
        wins = dict.fromkeys([*winner[low:high], *loser[low:high]], 0)
        for row in winner[low:high]:
            wins[row] += 1
        counts[tuple(sorted(wins, key=wins.get, reverse=True))] += 1
    expected = []
    for order in counts:
        left, probability = [np.exp(UTILITIES[row]) for row in order], 0.5
        while left:
            probability *= left[0] / sum(left)
            left.pop(0)
        expected.append(probability)
    assert_shares(list(counts.values()), expected)


def test_top_states_only_the_first_places():
    observations = partial_orders(UTILITIES, QID, 500, size=3, top=1)
    winner, _, bound = bound_rows(observations)
    for low, high in zip(bound.edge_bounds[:-1], bound.edge_bounds[1:], strict=True):
        assert len(set(winner[low:high])) == 1
        assert high - low == (2 if winner[low] in (1, 3, 5) else 1)


def test_clicks_follow_the_cascade():
    chances = np.array([0.3, 0.6, 0.1, 0.0, 0.5, 0.9])
    observations = selections(chances, QID, N, length=2, random_state=5)
    bound = observations.bind(QueryLayout.from_qid(QID))
    layout = bound.layout
    lists = np.repeat(np.arange(3), np.diff(bound.query_bounds))
    counts = {}
    for n, query in enumerate(lists):
        places = (
            layout.bounds[query] + bound.shown[bound.shown_bounds[n] : bound.shown_bounds[n + 1]]
        )
        key = (*layout.order[places].tolist(), int(bound.clicked[n]))
        counts[key] = counts.get(key, 0) + 1
    expected = {}
    for rows in ([1, 3, 5], [0, 2]):
        pairs = list(permutations(rows, 2))
        for i, j in pairs:
            shown = 0.5 / len(pairs)
            expected[i, j, 0] = shown * chances[i]
            expected[i, j, 1] = shown * (1 - chances[i]) * chances[j]
            expected[i, j, -1] = shown * (1 - chances[i]) * (1 - chances[j])
    possible = [key for key, p in expected.items() if p > 0]
    assert set(counts) <= set(possible)
    assert_shares([counts.get(key, 0) for key in possible], [expected[key] for key in possible])


@pytest.mark.parametrize("simulate", [bradley_terry, partial_orders, selections])
def test_seeds(simulate):
    chances = np.linspace(0, 1, len(QID))

    def arrays(seed):
        bound = simulate(chances, QID, 200, random_state=seed).bind(QueryLayout.from_qid(QID))
        return np.concatenate((bound.winner, bound.loser, bound.edge_bounds))

    np.testing.assert_array_equal(arrays(1), arrays(1))
    assert not np.array_equal(arrays(1), arrays(2))
    generator = np.random.default_rng(1)
    np.testing.assert_array_equal(arrays(generator), arrays(1))


@pytest.mark.parametrize("simulate", [bradley_terry, partial_orders, selections])
def test_bad_input(simulate):
    with pytest.raises(ValueError, match="two documents"):
        simulate([0.1, 0.2], ["a", "b"], 5)
    with pytest.raises(ValueError, match="n must be an integer >= 0"):
        simulate([0.1, 0.2], ["a", "a"], -1)
    with pytest.raises(ValueError, match="row 1"):
        simulate([0.1, np.nan], ["a", "a"], 5)
    with pytest.raises(ValueError, match="random_state"):
        simulate([0.1, 0.2], ["a", "a"], 5, random_state=-1)
    assert len(simulate([0.1, 0.2], ["a", "a"], 0)) == 0


def test_what_only_some_refuse():
    with pytest.raises(ValueError, match="probabilities must be from 0 to 1, but row 0"):
        selections([1.5, 0.2], ["a", "a"], 5)
    with pytest.raises(ValueError, match="length must be"):
        selections([0.5, 0.2], ["a", "a"], 5, length=0)
    with pytest.raises(ValueError, match="size must be"):
        partial_orders([0.5, 0.2], ["a", "a"], 5, size=1)
    with pytest.raises(ValueError, match="top must be"):
        partial_orders([0.5, 0.2], ["a", "a"], 5, top=0)
