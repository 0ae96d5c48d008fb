"""Every aggregation against an independent computation, and where little or nothing was seen."""

import inspect
import pickle

import numpy as np
import preference_oracle as oracle
import pytest
from preference_oracle import draw
from scipy.optimize import minimize

from gbrank import preferences
from gbrank.core.queries import QueryLayout
from gbrank.preferences import (
    METHODS,
    Comparisons,
    PartialOrders,
    Selections,
    aggregate,
    make_workspace,
)
from gbrank.preferences._method import aggregation

PAIRWISE = [name for name in METHODS if name != "cascade"]


def dense_score(method, wins, observation_weight):
    """Return what the plain formula says."""
    if method == "mean_adjacency":
        return oracle.mean_adjacency(wins, observation_weight)
    if method == "bradley_terry":
        return penalised_likelihood(wins, 0.1)
    return getattr(oracle, method)(wins)


def penalised_likelihood(wins, penalty):
    def loss(s):
        difference = s[:, None] - s[None, :]
        value = (wins * np.logaddexp(0.0, -difference)).sum() + 0.5 * penalty * (s**2).sum()
        pull = wins / (1.0 + np.exp(difference))
        return value, penalty * s - pull.sum(axis=1) + pull.sum(axis=0)

    options = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10_000}
    return minimize(loss, np.zeros(len(wins)), jac=True, method="L-BFGS-B", options=options).x


SHAPES = [(2, 1), (2, 7), (3, 3), (8, 5), (8, 300), (25, 20), (25, 90), (60, 40), (40, 2000)]


@pytest.mark.parametrize("method", PAIRWISE)
@pytest.mark.parametrize(("n_documents", "n_edges"), SHAPES)
def test_equals_the_plain_formula(method, n_documents, n_edges):
    winner, loser, weight = draw(n_documents, n_edges, seed=n_edges)
    wins = oracle.wins_matrix(n_documents, zip(winner, loser, weight, strict=True))
    scores = aggregate(Comparisons(None, winner, loser, weight), method, qid=[0] * n_documents)
    expected = dense_score(method, wins, weight.sum())
    tolerance = 2e-6 if method == "bradley_terry" else 1e-9  # that of the oracle's optimiser
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("method", PAIRWISE)
def test_queries_do_not_mix(method):
    """Many queries at once, rows shuffled, equal one query at a time."""
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 9, size=30)
    starts = np.cumsum(sizes) - sizes
    row_of = generator.permutation(sizes.sum())  # document d is in row row_of[d]
    qid = np.empty(sizes.sum(), dtype=int)
    qid[row_of] = np.repeat(np.arange(30), sizes)
    expected = np.empty(sizes.sum())
    winners, losers = [], []
    for query, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        count = int(generator.integers(1, 12)) if size > 1 else 0
        winner, loser, _ = draw(size, count, seed=query) if count else ([], [], [])
        wins = oracle.wins_matrix(size, [(a, b, 1.0) for a, b in zip(winner, loser, strict=True)])
        rows = row_of[start : start + size]
        if size > 1:
            expected[rows] = dense_score(method, wins, count)
        else:
            expected[rows] = 0.5 if method in ("borda", "win_rate") else 0.0
        winners.extend(rows[winner] if count else [])
        losers.extend(rows[loser] if count else [])
    order = generator.permutation(len(winners))
    mixed = Comparisons(None, np.array(winners)[order], np.array(losers)[order])
    np.testing.assert_allclose(aggregate(mixed, method, qid=qid), expected, rtol=0, atol=2e-6)


class TestLittleSeen:
    """Whatever was observed, scores are finite, and what is documented."""

    @pytest.mark.parametrize("method", METHODS)
    def test_nothing(self, method):
        empty = Selections([], [], [])
        scores = aggregate(empty, method, qid=[0, 0, 1])
        expected = 0.5 if method in ("borda", "win_rate") else 0.0
        np.testing.assert_array_equal(scores, [expected] * 3)

    @pytest.mark.parametrize("method", PAIRWISE)
    def test_one_comparison(self, method):
        scores = aggregate(Comparisons(None, [2], [0]), method, qid=[0] * 4)
        assert np.isfinite(scores).all()
        assert scores[2] > scores[1] == scores[3] > scores[0]

    @pytest.mark.parametrize("method", PAIRWISE)
    def test_contradictions_cancel(self, method):
        scores = aggregate(Comparisons(None, [0, 1], [1, 0]), method, qid=[0] * 3)
        middle = 0.5 if method in ("borda", "win_rate") else 0.0
        np.testing.assert_allclose(scores, middle, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("method", PAIRWISE)
    def test_disconnected_groups(self, method):
        """Two groups of the same shape get the same scores, and a lone document lies between."""
        seen = Comparisons(None, [0, 1, 3, 4], [1, 2, 4, 5])
        scores = aggregate(seen, method, qid=[0] * 7)
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores[:3], scores[3:6], rtol=0, atol=1e-9)
        assert scores[0] > scores[6] > scores[2]

    @pytest.mark.parametrize("method", PAIRWISE)
    def test_weight_zero_is_not_seen(self, method):
        with_zero = Comparisons(None, [0, 2], [1, 1], weight=[1.0, 0.0])
        without = Comparisons(None, [0], [1])
        np.testing.assert_array_equal(
            aggregate(with_zero, method, qid=[0] * 3), aggregate(without, method, qid=[0] * 3)
        )

    @pytest.mark.parametrize("method", PAIRWISE)
    def test_huge_and_tiny_weights(self, method):
        seen = Comparisons(None, [0, 1, 2], [1, 2, 0], weight=[1e12, 1e-12, 1.0])
        assert np.isfinite(aggregate(seen, method, qid=[0] * 3)).all()


@pytest.mark.parametrize("method", PAIRWISE)
def test_weights_count_repetitions(method):
    repeated = Comparisons(None, [0, 0, 0, 1, 2], [1, 1, 1, 2, 0])
    weighted = Comparisons(None, [0, 1, 2], [1, 2, 0], weight=[3.0, 1.0, 1.0])
    np.testing.assert_allclose(
        aggregate(weighted, method, qid=[0] * 3),
        aggregate(repeated, method, qid=[0] * 3),
        rtol=0,
        atol=1e-10,
    )


@pytest.mark.parametrize("method", PAIRWISE)
def test_orders_and_clicks_count_by_their_edges(method):
    comparisons = Comparisons(None, [0, 0, 1], [1, 2, 2])
    orders = PartialOrders(None, [[(0, 1)], [(0, 2)], [(1, 2)]])
    clicks = Selections(None, [[1, 0], [2, 0], [2, 1]], [1, 1, 1])
    expected = aggregate(comparisons, method, qid=[0] * 3)
    for other in (orders, clicks):
        np.testing.assert_array_equal(aggregate(other, method, qid=[0] * 3), expected)
    # an observation of two edges is one observation: mean adjacency divides by observations
    merged = aggregate(PartialOrders(None, [[(0, 1), (0, 2), (1, 2)]]), method, qid=[0] * 3)
    factor = 3.0 if method == "mean_adjacency" else 1.0
    np.testing.assert_allclose(merged, factor * expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", PAIRWISE)
@pytest.mark.parametrize("seed", range(3))
def test_what_wins_when_all_comparisons_are_turned_round_is_what_lost(method, seed):
    winner, loser, weight = draw(15, 60, seed)
    scores = aggregate(Comparisons(None, winner, loser, weight), method, qid=[0] * 15)
    turned = aggregate(Comparisons(None, loser, winner, weight), method, qid=[0] * 15)
    if method == "principal_eigenvector":
        # of a matrix and its transpose: the left vector, which is not the inverse of the right one
        wins = oracle.wins_matrix(15, zip(loser, winner, weight, strict=True))
        np.testing.assert_allclose(turned, oracle.principal_eigenvector(wins), rtol=0, atol=1e-9)
        return
    middle = 1.0 if method in ("borda", "win_rate") else 0.0
    np.testing.assert_allclose(scores + turned, middle, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", PAIRWISE)
def test_numbers_of_documents_do_not_matter(method):
    winner, loser, weight = draw(15, 60, seed=1)
    scores = aggregate(Comparisons(None, winner, loser, weight), method, qid=[0] * 15)
    other = np.random.default_rng(0).permutation(15)
    moved = aggregate(Comparisons(None, other[winner], other[loser], weight), method, qid=[0] * 15)
    np.testing.assert_allclose(moved[other], scores, rtol=0, atol=1e-9)


def many_queries(n_queries=300, n_documents=12, n=12_000, seed=9):
    generator = np.random.default_rng(seed)
    query = generator.integers(0, n_queries, size=n)
    winner = generator.integers(0, n_documents, size=n)
    loser = (winner + generator.integers(1, n_documents, size=n)) % n_documents
    rows = query * n_documents
    return rows + winner, rows + loser, np.repeat(np.arange(n_queries), n_documents)


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_a_bit(method):
    winner, loser, qid = many_queries(n=60_000)  # so many that threads are worth their while
    shown = np.column_stack((loser, winner))
    clicked = np.arange(len(winner)) % 3 - 1
    observations = Selections(None, shown.ravel(), clicked, lengths=[2] * len(winner))
    expected = aggregate(observations, method, qid=qid, n_jobs=1)
    for n_jobs in (2, 3, 8):
        np.testing.assert_array_equal(
            aggregate(observations, method, qid=qid, n_jobs=n_jobs), expected
        )


@pytest.mark.parametrize("method", PAIRWISE)
def test_a_drawn_part_is_aggregated_as_if_it_were_all(method):
    winner, loser, qid = many_queries(n_queries=20, n=900)
    bound = Comparisons(None, winner, loser).bind(QueryLayout.from_qid(qid))
    generator = np.random.default_rng(0)
    drawn = [
        generator.permutation(np.arange(first, last))[:10]
        for first, last in zip(bound.query_bounds[:-1], bound.query_bounds[1:], strict=True)
    ]
    bounds = np.concatenate(([0], np.cumsum([len(entry) for entry in drawn])))
    chosen = np.concatenate(drawn)
    out = np.full(len(qid), np.nan)
    chosen_method = METHODS[method]
    numbers, space = chosen_method.read_parameters(), make_workspace(bound, most_edges=10)
    chosen_method.run(0, 7, bound, bounds, chosen, numbers, space, out)
    chosen_method.run(7, 20, bound, bounds, chosen, numbers, space, out)
    part = bound.source[chosen]
    expected = aggregate(Comparisons(None, winner[part], loser[part]), method, qid=qid)
    np.testing.assert_array_equal(out, expected)


class TestArguments:
    def test_an_unknown_method_lists_all(self):
        with pytest.raises(ValueError, match=r"method must be 'borda' or .*, got 'elo'"):
            aggregate(Comparisons(None, [0], [1]), "elo", qid=[0, 0])

    def test_an_unknown_parameter_names_the_known_ones(self):
        with pytest.raises(ValueError, match="method 'log_odds' takes smoothing, got 'penalty'"):
            aggregate(Comparisons(None, [0], [1]), "log_odds", qid=[0, 0], penalty=1.0)
        with pytest.raises(ValueError, match="method 'borda' takes no parameters, got 'penalty'"):
            aggregate(Comparisons(None, [0], [1]), "borda", qid=[0, 0], penalty=1.0)

    @pytest.mark.parametrize(
        ("method", "parameters", "message"),
        [
            ("log_odds", {"smoothing": 0.0}, "smoothing must be a number > 0, got 0.0"),
            ("bradley_terry", {"penalty": -1.0}, "penalty must be a number > 0, got -1.0"),
            ("cascade", {"prior": 2.0}, r"prior must be a number in \[0, 1\] or None, got 2.0"),
            ("cascade", {"strength": -1.0}, "strength must be a number >= 0, got -1.0"),
        ],
    )
    def test_bad_parameters(self, method, parameters, message):
        with pytest.raises(ValueError, match=message):
            aggregate(Selections(None, [[0, 1]], [1]), method, qid=[0, 0], **parameters)

    def test_what_is_not_an_observation(self):
        with pytest.raises(TypeError, match=r"observations must be Comparisons, .* got list"):
            aggregate([(0, 1)], qid=[0, 0])

    def test_a_layout_of_the_wrong_kind(self):
        with pytest.raises(TypeError, match=r"layout must be a .*QueryLayout, got list; .* qid="):
            aggregate(Comparisons(None, [0], [1]), layout=[2])

    def test_bound_observations_keep_their_layout(self):
        layout = QueryLayout.from_group([2])
        bound = Comparisons(None, [0], [1]).bind(layout)
        assert aggregate(bound, layout=QueryLayout.from_group([2])).tolist() == [
            pytest.approx(np.log(3)),
            pytest.approx(-np.log(3)),
        ]
        with pytest.raises(ValueError, match="the one that the observations are bound to"):
            aggregate(bound, layout=QueryLayout.from_group([1, 1]))


@pytest.mark.parametrize("method", METHODS)
def test_functions_show_what_they_take(method):
    function = getattr(preferences, method)
    parameters = list(inspect.signature(function).parameters.values())
    own = METHODS[method].defaults
    assert [parameter.name for parameter in parameters] == [
        *("observations", "layout"),
        *own,
        *("qid", "keys", "n_jobs"),
    ]
    assert [parameter.kind.name for parameter in parameters[2:]] == ["KEYWORD_ONLY"] * (
        3 + len(own)
    )
    assert {p.name: p.default for p in parameters if p.name in own} == own
    text = inspect.getdoc(function)
    for parameter in parameters:
        assert f"\n{parameter.name} : " in text
        if parameter.default is not parameter.empty:
            assert f"default={parameter.default}" in text
    titles = [
        line
        for line, rule in zip(text.split("\n"), text.split("\n")[1:], strict=False)
        if rule and set(rule) == {"-"}
    ]
    assert titles == ["Parameters", "Returns", "References", "Examples"]


@pytest.mark.parametrize("method", METHODS)
def test_the_function_of_a_method_is_the_method(method):
    seen = Selections(None, [[0, 1, 2], [2, 1, 0]], [1, 2])
    function = getattr(preferences, method)
    np.testing.assert_array_equal(
        function(seen, QueryLayout.from_group([3])), aggregate(seen, method, qid=[0, 0, 0])
    )
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_new_aggregation_is_one_kernel_and_one_function():
    def count_observations(first, last, queries, tables, numbers, workspace, out):
        bounds, chosen_bounds, _ = queries
        for query in range(first, last):
            n = chosen_bounds[query + 1] - chosen_bounds[query]
            out[bounds[query] : bounds[query + 1]] = numbers[0] * n

    try:

        @aggregation(count_observations)
        def observed(*, factor=1.0):
            """Return the number of observations.

            Parameters
            ----------
            factor : float, default=1.0
                Times which they are counted.
            """
            return factor, 0.0

        seen = Comparisons(None, [0, 0, 2], [1, 1, 3])
        assert aggregate(seen, "observed", qid=[0, 0, 1, 1], factor=2.0).tolist() == [4, 4, 2, 2]
        assert observed(seen, qid=[0, 0, 1, 1]).tolist() == [2, 2, 1, 1]
        assert str(inspect.signature(observed)) == (
            "(observations, layout=None, *, factor=1.0, qid=None, keys=None, n_jobs=None)"
        )
    finally:
        METHODS.pop("observed", None)
