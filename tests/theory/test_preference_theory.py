"""Low-noise preferences that mislead convex pairwise losses, and the cure by averaging first."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from gbrank.theory import (
    check_margins,
    check_preferences,
    difference_graph,
    find_misleading_preferences,
    is_low_noise,
    misleading_margins,
    misleading_preferences,
    preference_minimizer,
)

PHI = {
    "logistic": lambda x: np.logaddexp(0.0, -x),
    "exponential": lambda x: np.exp(-x),
    "squared_hinge": lambda x: np.maximum(1.0 - x, 0.0) ** 2,
}


def expected_loss(scores, weights, phi):
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            total += weights[i][j] * float(PHI[phi](scores[i] - scores[j]))
    return total


def by_scipy(weights, phi):
    found = minimize(expected_loss, np.zeros(len(weights)), args=(weights, phi), method="BFGS")
    return found.x - found.x.mean()


@pytest.mark.parametrize("phi", PHI)
def test_minimizer_is_that_of_a_general_optimiser(phi):
    weights = misleading_preferences()
    expected = by_scipy(weights, phi)
    np.testing.assert_allclose(preference_minimizer(weights, phi=phi), expected, atol=2e-5)


def test_theorem_2_in_numbers():
    a = misleading_preferences()
    np.testing.assert_array_equal(a, [[0, 0.3, 1.5], [0.1, 0, 1.0], [1.2, 0.9, 0]])
    # differences .2 from 0 to 1, .3 from 0 to 2, .1 from 1 to 2: .3 >= .2 + .1
    assert is_low_noise(a)
    raw = check_preferences(a)
    np.testing.assert_allclose(raw.scores, [0.225, -0.128, -0.097], atol=5e-4)
    assert raw.wrong_pairs == ((1, 2),)
    assert raw.risk == pytest.approx(0.1)
    cured = check_preferences(a, aggregate=True)
    assert cured.consistent
    assert cured.scores[0] > cured.scores[1] > cured.scores[2]


@pytest.mark.parametrize("phi", PHI)
def test_every_convex_phi_has_low_noise_preferences_that_mislead_it(phi):
    matrix, check = find_misleading_preferences(trials=300, phi=phi)
    assert check.low_noise
    assert not check.consistent
    # independently: the minimiser that scipy finds has a wrong pair, and some order has none
    scores, difference = by_scipy(matrix, phi), matrix - matrix.T
    wrong = [(i, j) for i in range(3) for j in range(3) if difference[i, j] > 0]
    assert any(scores[i] < scores[j] for i, j in wrong)
    assert any(
        all(order.index(i) < order.index(j) for i, j in wrong) for order in permutations(range(3))
    )


@pytest.mark.parametrize("phi", PHI)
@pytest.mark.parametrize("m", [3, 5])
def test_averaging_first_cures_all_of_them(phi, m):
    assert find_misleading_preferences(m, trials=60, aggregate=True, phi=phi) is None


def test_mean_adjacency_orders_low_noise_preferences_right():
    for seed in range(20):
        found = find_misleading_preferences(5, trials=20, random_state=seed)
        assert found is not None
        matrix, _ = found
        net = (matrix - matrix.T).sum(axis=1)
        for i, j in np.argwhere(difference_graph(matrix) > 0):
            assert net[i] > net[j]


@pytest.mark.parametrize("phi", PHI)
def test_theorem_3_margins_mislead_too(phi):
    graphs, chances = misleading_margins()
    assert chances.tolist() == [0.49, 0.36, 0.15]
    edges = [{(0, 1): 0.5, (1, 2): 1}, {(1, 0): 8, (2, 0): 8, (2, 1): 1}, {(1, 0): 4}]
    mean = np.zeros((3, 3))
    for graph, chance, weights in zip(graphs, chances, edges, strict=True):
        assert {tuple(e): graph[tuple(e)] for e in np.argwhere(graph).tolist()} == weights
        mean += chance * graph
    # 1 is preferred to 2 by .13, both to 0, and the whole is low-noise: 3.235 >= .13 + 2.88
    np.testing.assert_allclose(
        difference_graph(mean), [[0, 0, 0], [3.235, 0, 0.13], [2.88, 0, 0]], atol=1e-12
    )
    assert low_noise_by_loops(mean.tolist())

    def loss(s):
        total = 0.0
        for chance, weights in zip(chances, edges, strict=True):
            for (i, j), y in weights.items():
                total += chance * float(PHI[phi](s[i] - s[j] - y))
        return total

    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 10_000}
    expected = minimize(loss, np.zeros(3), method="Nelder-Mead", options=options).x
    check = check_margins(graphs, chances, phi=phi)
    np.testing.assert_allclose(check.scores, expected - expected.mean(), atol=1e-4)
    assert check.low_noise
    assert check.wrong_pairs == ((1, 2),)
    assert check.risk == pytest.approx(0.13)
    if phi == "logistic":
        np.testing.assert_allclose(check.scores, [-4.85, 2.06, 2.79], atol=5e-3)
    assert check_preferences(mean, aggregate=True, phi=phi).consistent  # the cure


def test_margins_of_ones_own():
    graphs, chances = misleading_margins()
    none = check_margins(graphs, chances, margin=np.zeros_like)
    edges = np.einsum("g,gij->ij", chances, (graphs > 0).astype(float))
    np.testing.assert_allclose(none.scores, preference_minimizer(edges), atol=1e-9)
    # one graph of one edge, phi(x) = (1 - x)_+^2: no loss from s_0 - s_1 = margin + 1 on
    one = check_margins([[[0, 3.0], [0, 0]]], [1.0], phi="squared_hinge")
    assert one.scores[0] - one.scores[1] == pytest.approx(4.0, abs=1e-5)
    for wrong, message in [
        ({"graphs": graphs[0]}, r"graphs must be an array \(3, m, m\)"),
        ({"graphs": graphs[:2]}, r"graphs must be an array \(3, m, m\)"),
        ({"margin": lambda y: y[0]}, "margin must return one finite number for each weight"),
        ({"probabilities": [0.5, 0.5, 0.5]}, "probabilities must sum to 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_margins(**{"graphs": graphs, "probabilities": chances, **wrong})


def low_noise_by_loops(a):
    m = len(a)
    for i in range(m):
        for j in range(m):
            for k in range(m):
                if a[i][j] > a[j][i] and a[j][k] > a[k][j]:
                    path = a[i][j] - a[j][i] + a[j][k] - a[k][j]
                    if a[i][k] - a[k][i] < path:
                        return False
    return True


def test_low_noise_is_the_reverse_triangle_inequality():
    rng = np.random.default_rng(0)
    verdicts = []
    for _ in range(300):
        a = rng.integers(0, 4, size=(4, 4)) * rng.integers(0, 2, size=(4, 4))
        np.fill_diagonal(a, 0)
        verdicts.append(is_low_noise(a))
        assert verdicts[-1] == low_noise_by_loops(a.tolist())
    assert 20 < sum(verdicts) < 280
    assert not is_low_noise([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # a cycle


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1]], r"square matrix, got shape \(1, 2\)"),
        ([[0, -1], [0, 0]], r"entry \(0, 1\) is -1"),
        ([[0, np.nan], [0, 0]], r"entry \(0, 1\) is nan"),
    ],
)
def test_what_is_no_matrix_of_preferences_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        difference_graph(matrix)


def test_parameters_are_checked():
    a = misleading_preferences()
    with pytest.raises(TypeError, match="matrix of numbers"):
        difference_graph([["a", "b"], ["c", "d"]])
    with pytest.raises(ValueError, match="phi must be"):
        preference_minimizer(a, phi="hinge")
    with pytest.raises(ValueError, match="ridge must be a number > 0"):
        preference_minimizer(a, ridge=0.0)
    with pytest.raises(ValueError, match="m must be an integer >= 3"):
        find_misleading_preferences(2)
