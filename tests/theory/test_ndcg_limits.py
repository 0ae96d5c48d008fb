"""Limits and pseudo-expectation of NDCG, against arithmetic by hand and against simulated lists.

Two profiles, both straight lines, so that every integral can be done by hand. With t = 1 - s:
binary, P(relevant) = .8 - .6 t, hence p = .5; graded, P(0), P(1), P(2) = .2 + .5 t, .3 - .1 t,
.5 - .4 t with gains 0, 1, 3, hence E[gain | s] = 1.8 - 1.3 t and shares .45, .25, .3.
"""

import math

import numpy as np
import pytest
from scipy import integrate

from gbrank.core.gains import PowerDiscount
from gbrank.theory import (
    RelevanceProfile,
    ndcg_difference_rate,
    ndcg_limit,
    pseudo_expectation,
)

GAINS = np.array([0.0, 1.0, 3.0])


def binary(s):
    return 0.2 + 0.6 * s


def graded(s):
    return np.column_stack([0.7 - 0.5 * s, 0.2 + 0.1 * s, 0.1 + 0.4 * s])


# --- by hand ------------------------------------------------------------------------------------


def test_theorem_4_log_tends_to_1_for_every_ranker():
    for profile in (binary, graded, lambda s: 1 - s, [0.0, 0.9, 0.1]):
        assert ndcg_limit(profile, discount="log") == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_theorems_7_and_14_power(beta):
    q = 1 - beta
    # (1 - beta) int t^-beta (a - b t) dt = a - b (1 - beta) / (2 - beta)
    assert ndcg_limit(binary, discount=PowerDiscount(beta)) == pytest.approx(
        (0.8 - 0.6 * q / (1 + q)) / 0.5**q, abs=1e-9
    )
    best = 3 * 0.3**q + 1 * (0.55**q - 0.3**q)
    assert ndcg_limit(graded, discount=PowerDiscount(beta)) == pytest.approx(
        (1.8 - 1.3 * q / (1 + q)) / best, abs=1e-9
    )


def test_power_by_name_is_one_half():
    assert ndcg_limit(binary, discount="power") == pytest.approx(0.6 / 0.5**0.5, abs=1e-9)


def test_theorems_9_11_and_15_only_the_top_counts():
    for discount, k in [("zipf", None), ("zipf", 0.3), ("log", "o(n)"), ("power", "o(n)")]:
        assert ndcg_limit(binary, discount=discount, k=k) == pytest.approx(0.8)
        assert ndcg_limit(graded, discount=discount, k=k) == pytest.approx(1.8 / 3)
    assert ndcg_limit(binary, discount=PowerDiscount(1.0)) == pytest.approx(0.8)
    assert ndcg_limit(binary, discount=lambda r: r**-0.3, k="o(n)") == pytest.approx(0.8)


@pytest.mark.parametrize("c", [0.2, 0.5, 0.8])
def test_theorem_12_log_binary_cutoff(c):
    # P(relevant | s >= 1 - c) = .8 - .6 c / 2
    expected = c / min(c, 0.5) * (0.8 - 0.3 * c)
    assert ndcg_limit(binary, discount="log", k=c) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("c", [0.2, 0.5, 0.8])
def test_theorem_13_power_binary_cutoff(c):
    # (1/2) int_0^c t^-1/2 (.8 - .6 t) dt = .8 c^(1/2) - .2 c^(3/2)
    expected = (0.8 * c**0.5 - 0.2 * c**1.5) / min(c, 0.5) ** 0.5
    assert ndcg_limit(binary, discount="power", k=c) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("c", "best_log", "best_power"),
    [
        (0.2, 3 * 0.2, 3 * 0.2**0.5),  # among the best documents
        (0.4, 3 * 0.3 + 0.1, 3 * 0.3**0.5 + 0.4**0.5 - 0.3**0.5),  # among the second best
        (0.9, 3 * 0.3 + 0.25, 3 * 0.3**0.5 + 0.55**0.5 - 0.3**0.5),  # among the worthless
    ],
)
def test_theorems_16_and_17_graded_cutoff(c, best_log, best_power):
    log = (1.8 * c - 1.3 * c**2 / 2) / best_log
    power = (1.8 * c**0.5 - 1.3 * c**1.5 / 3) / best_power
    assert ndcg_limit(graded, discount="log", k=c) == pytest.approx(log, abs=1e-9)
    assert ndcg_limit(graded, discount="power", k=c) == pytest.approx(power, abs=1e-9)


def test_cutoff_of_the_whole_list_is_none():
    for discount in ("log", "power", "zipf"):
        whole = ndcg_limit(graded, discount=discount)
        assert ndcg_limit(graded, discount=discount, k=1.0) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(
    ("discount", "k"),
    [("exp", None), (PowerDiscount(1.5), None), ("exp", "o(n)"), ("log", 10), ("zipf", 1)],
)
def test_theorem_10_no_limit_is_an_error(discount, k):
    with pytest.raises(ValueError, match="theorem 10"):
        ndcg_limit(binary, discount=discount, k=k)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"discount": "root"}, "discount must be one of"),
        ({"discount": lambda r: r**-0.3}, "no limit is known"),
        ({"k": "n/5"}, 'k must be None, a fraction in \\(0, 1\\] or "o\\(n\\)"'),
        ({"k": 0.0}, "fraction of the list"),
        ({"k": 1.5}, "fraction of the list"),
    ],
)
def test_bad_arguments_of_limits(options, message):
    with pytest.raises(ValueError, match=message):
        ndcg_limit(binary, **options)


# --- against simulated lists --------------------------------------------------------------------


def simulate(n, n_lists, at_least_1, at_least_2, seed=0):
    """Yield labels in the order of the ranker: quantiles downwards, then labels by chance."""
    rng = np.random.default_rng([seed, n])
    for _ in range(n_lists):
        steps = rng.exponential(size=n + 1).cumsum()
        s = 1 - steps[:-1] / steps[-1]  # n sorted uniform numbers
        u = rng.random(n)
        yield (u < at_least_1(s)).astype(int) + (u < at_least_2(s))


def simulated_ndcg(ordered_labels, discounts, k, gains):
    """Return the mean and its standard error."""
    values = []
    for labels in ordered_labels:
        reached = gains[labels]
        best = np.sort(reached)[::-1]
        values.append((reached[:k] @ discounts[:k]) / (best[:k] @ discounts[:k]))
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.fixture(scope="module")
def long_lists():
    """Return eight lists of a million documents of each kind."""
    n = 1_000_000
    return n, {
        binary: list(simulate(n, 8, lambda s: 0.2 + 0.6 * s, lambda s: 0.0)),
        graded: list(simulate(n, 8, lambda s: 0.3 + 0.5 * s, lambda s: 0.1 + 0.4 * s)),
    }


@pytest.mark.parametrize("profile", [binary, graded])
@pytest.mark.parametrize(
    ("discount", "beta", "k"),
    [
        ("power", 0.5, None),
        (PowerDiscount(0.25), 0.25, None),
        ("power", 0.5, 0.2),
        (PowerDiscount(0.25), 0.25, 0.6),
        ("log", None, "o(n)"),
        ("power", 0.5, "o(n)"),
    ],
)
def test_limits_reached_at_a_power_rate(long_lists, profile, discount, beta, k):
    n, lists = long_lists
    ranks = np.arange(1.0, n + 1)
    discounts = 1 / np.log(1 + ranks) if beta is None else ranks**-beta
    cut = {None: n, "o(n)": int(n**0.6)}.get(k) or int(k * n)
    mean, _ = simulated_ndcg(lists[profile], discounts, cut, GAINS)
    assert mean == pytest.approx(ndcg_limit(profile, discount=discount, k=k), abs=1e-2)


LOG_RATE_SIZES = [(1_000, 1000), (10_000, 200), (100_000, 40), (1_000_000, 8)]


def test_log_discount_nears_its_limit_as_one_over_log_n():
    # 1 - NDCG = C / log n + O(1 / log^2 n), expanding the integrals of definition 20 in 1 / log n:
    # C = 1 - log p + int_0^1 (.8 - .6 t) log t dt / p = 1 + log 2 + (-.8 + .6 / 4) / .5
    constant = 1 + np.log(2) - 1.3
    limit = ndcg_limit(binary, discount="log")
    for n, n_lists in LOG_RATE_SIZES:
        discounts = 1 / np.log(1 + np.arange(1.0, n + 1))
        lists = simulate(n, n_lists, lambda s: 0.2 + 0.6 * s, lambda s: 0.0)
        mean, _ = simulated_ndcg(lists, discounts, n, GAINS)
        scaled = (limit - mean) * np.log(n)
        assert abs(scaled - constant) * np.log(n) < 0.8


def test_zipf_discount_nears_its_limit_as_one_over_log_n():
    limit = ndcg_limit(binary, discount="zipf")
    # E[DCG] = .8 (log n + .5772) - .6, the best (log n + .5772 - log 2): error C / log n, with
    # C = .8 log 2 - .6
    constant = 0.8 * np.log(2) - 0.6
    for n, n_lists in [(1_000, 4000), (10_000, 1000), (100_000, 200), (1_000_000, 40)]:
        discounts = 1 / np.arange(1.0, n + 1)
        # the list is long, but all the chance is in its first ranks: the rest has its expectation
        expected = discounts * (0.8 - 0.6 * np.arange(1, n + 1) / (n + 1))
        best = discounts[: n // 2].sum()
        rng = np.random.default_rng(n)
        top = 500
        chances = 0.8 - 0.6 * np.arange(1, top + 1) / (n + 1)
        drawn = (rng.random((n_lists, top)) < chances) @ discounts[:top]
        mean = (drawn.mean() + expected[top:].sum()) / best
        noise = drawn.std() / np.sqrt(n_lists) / best
        scaled = (mean - limit) * np.log(n)
        assert abs(scaled - constant) < 0.3 / np.log(n) + 4 * noise * np.log(n)


@pytest.mark.parametrize("profile", [binary, graded])
def test_log_discount_with_a_cutoff_stays_close_to_its_limit(profile):
    limit = ndcg_limit(profile, discount="log", k=0.2)
    for n, n_lists in LOG_RATE_SIZES:
        discounts = 1 / np.log(1 + np.arange(1.0, n + 1))
        chances = {
            binary: (lambda s: 0.2 + 0.6 * s, lambda s: 0.0),
            graded: (lambda s: 0.3 + 0.5 * s, lambda s: 0.1 + 0.4 * s),
        }[profile]
        mean, noise = simulated_ndcg(simulate(n, n_lists, *chances), discounts, n // 5, GAINS)
        assert abs(mean - limit) * np.log(n) < 0.1
        expected = pseudo_expectation(profile, n, discount="log", k=0.2)
        assert abs(mean - expected) < 4 * noise + 3 / n**0.75


# --- pseudo-expectation -------------------------------------------------------------------------


def test_pseudo_expectation_of_definition_20():
    def numerator(s):
        return (0.2 + 0.6 * (1 - s / 100)) / np.log(1 + s)

    reached, _ = integrate.quad(numerator, 1, 100)
    best, _ = integrate.quad(lambda s: 1 / np.log(1 + s), 1, 50)
    found = pseudo_expectation(binary, 100)
    assert found == pytest.approx(reached / best, rel=1e-9)
    assert round(found, 4) == 0.9064


def test_pseudo_expectation_is_near_what_is_expected():
    # at n = 100 the mean of simulated lists is .900; lemma 21 allows a multiple of 100^(-1/3) = .2
    lists = simulate(100, 20_000, lambda s: 0.2 + 0.6 * s, lambda s: 0.0)
    mean, noise = simulated_ndcg(lists, 1 / np.log(1 + np.arange(1.0, 101)), 100, GAINS)
    assert noise < 5e-4
    assert abs(mean - pseudo_expectation(binary, 100)) < 0.01
    lists = simulate(10_000, 200, lambda s: 0.2 + 0.6 * s, lambda s: 0.0)
    mean, noise = simulated_ndcg(lists, 1 / np.log(1 + np.arange(1.0, 10_001)), 10_000, GAINS)
    assert abs(mean - pseudo_expectation(binary, 10_000)) < 4 * noise + 2e-4


def test_pseudo_expectation_with_grades_and_a_cutoff():
    n, k = 2000, 900

    def gain_at(s):
        return 1.8 - 1.3 * s / n

    def area(low, high):
        return integrate.quad(lambda s: s**-0.5, low, high)[0]

    reached, _ = integrate.quad(lambda s: gain_at(s) * s**-0.5, 1, k)
    best = 3 * area(1, 0.3 * n) + 1 * area(0.3 * n, k)  # 900 documents end among the second best
    found = pseudo_expectation(graded, n, discount="power", k=k)
    assert found == pytest.approx(reached / best, rel=1e-8)
    assert pseudo_expectation(graded, n, discount="power", k=0.45) == pytest.approx(found)


def test_pseudo_expectation_tends_to_the_limit():
    for profile in (binary, graded):
        for discount, k in [("power", None), ("power", 0.2), (PowerDiscount(0.3), None)]:
            found = pseudo_expectation(profile, 10**8, discount=discount, k=k)
            assert found == pytest.approx(ndcg_limit(profile, discount=discount, k=k), abs=2e-4)


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (1, {}, "n must be an integer >= 2, got 1"),
        (100.0, {}, "n must be an integer"),
        (2, {}, "too few"),
        (100, {"k": 0}, "k must be at least 1"),
        (100, {"k": 1}, "too few"),
        (100, {"discount": "root"}, "discount must be one of"),
    ],
)
def test_bad_arguments_of_pseudo_expectation(n, options, message):
    with pytest.raises(ValueError, match=message):
        pseudo_expectation(binary, n, **options)


# --- profiles -----------------------------------------------------------------------------------


def test_an_array_is_a_profile_of_straight_lines():
    tent = RelevanceProfile([0.0, 1.0, 0.0])
    np.testing.assert_allclose(tent([0.25, 0.5, 0.9])[:, 1], [0.5, 1.0, 0.2])
    assert tent.shares == pytest.approx([0.5, 0.5])
    # (1/2) int t^-1/2 tent dt = int_0^1 tent(u^2) du, tent = 2 t below 1/2, 2 - 2 t above
    half = 0.5**0.5
    reached = 2 * half**3 / 3 + 2 * (1 - half) - 2 * (1 - half**3) / 3
    assert ndcg_limit(tent, discount="power") == pytest.approx(reached / half, abs=1e-5)
    assert ndcg_limit([0.2, 0.8], discount="power") == pytest.approx(
        ndcg_limit(binary, discount="power")
    )


def test_gains_and_labels_of_a_profile():
    linear = RelevanceProfile(graded, gain="linear")
    assert linear.expected_gain([1.0])[0] == pytest.approx(0.3 + 2 * 0.5)
    swapped = RelevanceProfile(lambda s: graded(s)[:, ::-1], labels=[2, 1, 0])
    assert ndcg_limit(swapped, discount="power") == pytest.approx(
        ndcg_limit(graded, discount="power")
    )
    # a label that never occurs does not count as the best
    never = RelevanceProfile(lambda s: np.column_stack([1 - binary(s), binary(s), 0 * s]))
    assert ndcg_limit(never, discount="zipf") == pytest.approx(0.8)


def test_profile_estimated_from_scores():
    rng = np.random.default_rng(0)
    quantile = rng.random((50, 2000))
    labels = (rng.random(quantile.shape) < binary(quantile)).astype(int)
    scores = np.exp(3 * quantile) * rng.uniform(1, 9, (50, 1))  # any increasing function
    found = RelevanceProfile.from_scores(
        labels.ravel(), scores.ravel(), qid=np.repeat(np.arange(50), 2000), n_bins=10
    )
    middles = np.arange(0.05, 1, 0.1)
    assert found(middles)[:, 1] == pytest.approx(binary(middles), abs=0.02)
    assert found.shares[1] == pytest.approx(labels.mean(), abs=1e-9)


def test_tied_scores_share_the_middle():
    found = RelevanceProfile.from_scores([0, 2, 0, 2, 2, 2], [1, 1, 1, 1, 5, 5], n_bins=2)
    assert found.labels.tolist() == [0, 2]
    # the four tied lie at quantile 1/3, in the lower bin
    np.testing.assert_allclose(found([0.25, 0.75]), [[0.5, 0.5], [0, 1]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RelevanceProfile([0.5, 1.2]), r"quantile .* they are \[-"),
        (lambda: RelevanceProfile(lambda s: 2 * s), "must lie in \\[0, 1\\]"),
        (lambda: RelevanceProfile(lambda s: s * np.nan), "must lie in \\[0, 1\\]"),
        (lambda: RelevanceProfile([0.5, np.nan]), "finite, but row 1"),
        (lambda: RelevanceProfile([0.5]), "at least two rows"),
        (lambda: RelevanceProfile([[0.5, 0.6], [0.5, 0.5]]), "sum to 1"),
        (lambda: RelevanceProfile([0.0, 0.0]), "no document relevant"),
        (lambda: RelevanceProfile(lambda s: s[:2]), "for each of 3 quantiles"),
        (lambda: RelevanceProfile([0.5, 0.5], labels=[0, 1, 2]), "labels must be 2 different"),
        (lambda: RelevanceProfile([0.5, 0.5], quantiles=[0.5, 0.2]), "increasing numbers"),
        (lambda: RelevanceProfile(binary, quantiles=[0, 1]), "is a function"),
        (lambda: RelevanceProfile(binary)([1.5]), "quantiles must lie in"),
        (lambda: RelevanceProfile.from_scores([1, 1], [0, 1], n_bins=2), "must not all be equal"),
        (lambda: RelevanceProfile.from_scores([0, 1], [0, 1], n_bins=4), "quantiles 0 and 0.25"),
        (lambda: RelevanceProfile.from_scores([0, 1], [0, 1], n_bins=1), "n_bins must be"),
        (lambda: RelevanceProfile.from_scores([0, 1], [0, np.nan]), "row 1"),
        (lambda: RelevanceProfile.from_scores([], []), "at least one row"),
    ],
)
def test_bad_profiles(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# --- the leading term of the difference of two rankers ------------------------------------------


def extrapolated(profile_a, profile_b, power, **options):
    """Return the limit of the difference of pseudo-expectations times log(n)^power."""
    sizes = [10**digits for digits in range(8, 19)]
    x = np.array([1 / math.log(n) for n in sizes])
    differences = [
        pseudo_expectation(profile_a, n, **options) - pseudo_expectation(profile_b, n, **options)
        for n in sizes
    ]
    return np.polynomial.Polynomial.fit(x, np.array(differences) / x**power, 4)(0.0)


def test_lemma_22_with_the_missing_factor():
    # int (.6 (1 - t) - .3) (-log t) dt = .6 (3/4) - .3 = .15, divided by p = 1/2
    k, a = ndcg_difference_rate(lambda s: 0.2 + 0.6 * s, lambda s: 0.5 + 0 * s)
    assert (k, round(a, 8)) == (1, 0.3)
    found = extrapolated(lambda s: 0.2 + 0.6 * s, lambda s: 0.5 + 0 * s, 1)
    assert found == pytest.approx(0.3, abs=5e-3)  # and not .15
    # the other way round, and p = 1/4
    assert ndcg_difference_rate(lambda s: 0.5 + 0 * s, lambda s: s)[1] == pytest.approx(-0.5)
    k, a = ndcg_difference_rate(lambda s: 0.5 * s, lambda s: 0.25 + 0 * s)
    assert (k, round(a, 8)) == (1, 0.5)
    assert extrapolated(lambda s: 0.5 * s, lambda s: 0.25 + 0 * s, 1) == pytest.approx(
        0.5, abs=0.01
    )


def test_lemma_22_with_a_second_power():
    """1 - t b + c t^2: no mean, nor one against log t; that against log^2 t decides."""
    # int t^j (-log t)^k dt = k! / (j + 1)^(k + 1)
    b, c = np.linalg.solve([[1 / 2, 1 / 3], [1 / 4, 1 / 9]], [-1, -1])

    def wavy(s):
        t = 1 - np.asarray(s)
        return 0.5 + 0.1 * (1 + b * t + c * t * t)

    k, a = ndcg_difference_rate(wavy, lambda s: 0.5 + 0 * s)
    by_hand = 0.1 * 2 * (1 + b / 8 + c / 27) / 0.5
    assert k == 2
    assert a == pytest.approx(by_hand, rel=1e-5)
    assert extrapolated(wavy, lambda s: 0.5 + 0 * s, 2) == pytest.approx(a, rel=0.03)


def test_lemma_22_with_grades():
    """Gains 0, 1 and 3: the mean gain stands where p does."""
    graded = RelevanceProfile([[0.8, 0.2, 0.0], [0.0, 0.2, 0.8]])
    random = RelevanceProfile([[0.4, 0.2, 0.4], [0.4, 0.2, 0.4]])
    # g = .2 + 2.4 s against 1.4: int (2.4 (1 - t) - 1.2) (-log t) dt = .6, E[Y] = 1.4
    k, a = ndcg_difference_rate(graded, random)
    assert (k, round(a, 6)) == (1, round(0.6 / 1.4, 6))
    assert extrapolated(graded, random, 1) == pytest.approx(a, abs=0.01)


def test_rankers_without_a_difference_are_errors():
    with pytest.raises(ValueError, match="must be of the same documents"):
        ndcg_difference_rate(lambda s: 0.4 + 0 * s, lambda s: 0.5 + 0 * s)
    with pytest.raises(ValueError, match="profiles must differ"):
        ndcg_difference_rate(lambda s: s, lambda s: s)
