"""Which measures tell rankers apart on growing lists, against plain loops and against theory."""

import numpy as np
import pytest
from scipy.stats import norm

from gbrank.core.gains import PowerDiscount
from gbrank.metrics import get_metric
from gbrank.theory import distinguish, ndcg_limit, theorem_8_counterexample
from gbrank.theory.distinguishability import _judge

DISCOUNTS = {
    "log": lambda r: 1 / np.log(1 + r),
    "power": lambda r: r**-0.5,
    "zipf": lambda r: 1 / r,
    "exp": lambda r: 0.5**r,
}


def ndcg(labels, scores, discount, k=None):
    k = len(labels) if k is None else k
    gains = 2.0 ** np.asarray(labels) - 1
    weights = discount(np.arange(1.0, k + 1))
    best = np.sort(gains)[::-1][:k] @ weights
    return gains[np.argsort(-scores)][:k] @ weights / best if best > 0 else np.nan


def make_population(n, seed=0):
    """Return labels 0, 1, 2, a good, a fair and a random ranker's scores.

    Quality is bounded, so that even the best document has any label with some probability, as
    theorem 10 assumes.
    """
    rng = np.random.default_rng(seed)
    quality = rng.uniform(-1, 1, size=n)
    labels = np.digitize(quality + rng.normal(size=n), [0.5, 1.5])
    return labels, quality + 0.3 * rng.normal(size=n), quality + rng.normal(size=n), rng.random(n)


@pytest.mark.parametrize("k", [None, 0.2])
def test_shares_and_means_agree_with_plain_loops(k):
    sizes, n_queries, length = [5, 20, 60], 7, 80
    labels, good, fair, _ = make_population(n_queries * length, seed=3)
    labels[:8] = 0  # the first lists of query 0 have nothing relevant
    found = distinguish(
        good, fair, labels, list(DISCOUNTS), sizes, group=[length] * n_queries, k=k, n_orders=0
    )
    assert found.n_lists == n_queries
    for name, discount in DISCOUNTS.items():
        a, b = (
            np.array(
                [
                    [
                        ndcg(
                            labels[q * length :][:n],
                            scores[q * length :][:n],
                            discount,
                            None if k is None else int(np.ceil(k * n - 1e-9)),
                        )
                        for n in sizes
                    ]
                    for q in range(n_queries)
                ]
            )
            for scores in (good, fair)
        )
        verdict = found[name if k is None else f"{name}@0.2"]
        np.testing.assert_allclose(verdict.mean_a, np.nanmean(a, axis=0))
        np.testing.assert_allclose(verdict.mean_b, np.nanmean(b, axis=0))
        np.testing.assert_allclose(verdict.std_b, np.nanstd(b, axis=0), atol=1e-12)
        np.testing.assert_allclose(verdict.a_better, (a - b > 1e-12).mean(axis=0))
        np.testing.assert_allclose(verdict.b_better, (b - a > 1e-12).mean(axis=0))


def test_verdict_spelled_out():
    # four lists, three sizes; list 3 is blank at first, list 2 tied in the middle
    a = [[0.5, 0.8, 0.9], [0.6, 0.7, 0.9], [0.9, 0.5, 0.8], [np.nan, 0.6, 0.7]]
    b = [[0.6, 0.7, 0.8], [0.5, 0.6, 0.8], [0.6, 0.5, 0.7], [np.nan, 0.5, 0.6]]
    sizes = np.array([10, 20, 40])
    verdict = _judge(np.array([a, b]), sizes, 0.7, True)
    assert verdict.winner == "a"
    assert verdict.a_better.tolist() == [0.5, 0.75, 1.0]
    assert verdict.b_better.tolist() == [0.25, 0.0, 0.0]
    # only list 1 from 10 on; lists 0, 1, 3 from 20 on; all from 40 on
    assert verdict.consistent.tolist() == [0.25, 0.75, 1.0]
    assert verdict.from_size == 20
    assert verdict.mean_a[0] == pytest.approx(2 / 3)
    assert verdict.from_size_in_expectation == 10
    assert _judge(np.array([a, b]), sizes, 0.8, True).from_size == 40
    # the smaller the better: the same numbers make b the winner
    smaller = _judge(np.array([a, b]), sizes, 0.7, False)
    assert (smaller.winner, smaller.from_size) == ("b", 20)
    assert smaller.b_better.tolist() == [0.5, 0.75, 1.0]
    # never apart
    equal = _judge(np.array([a, a]), sizes, 0.7, True)
    assert (equal.winner, equal.from_size, equal.from_size_in_expectation) == (None, None, None)
    # ahead in as many lists, the mean decides; ahead in half of the lists is not consistent
    even = _judge(np.array([[[0.9], [0.1]], [[0.2], [0.2]]]), sizes[:1], 0.7, True)
    assert (even.winner, even.from_size, even.from_size_in_expectation) == ("a", None, 10)


def test_slow_discounts_distinguish_and_fast_ones_do_not():
    # theorems 6, 8 and 10: the same two rankers under discounts of different decay
    labels, good, fair, _ = make_population(400_000)
    found = distinguish(
        fair, good, labels, ["log", "power", "exp"], [20, 200, 2000], n_orders=200, confidence=0.95
    )
    for name in ("log", "power"):
        assert found[name].winner == "b"
        assert found[name].from_size == 2000  # before that chance still decides
        assert found[name].consistent[-1] > 0.99
        assert found[name].from_size_in_expectation == 20
        assert (np.diff(found[name].std_a) < 0).all()
    assert found["exp"].from_size is None
    assert found["exp"].b_better[-1] < 0.75
    assert found["exp"].std_a[-1] > 0.8 * found["exp"].std_a[0]  # no convergence


@pytest.mark.parametrize("beta", [0.7, 0.8, 0.95])
def test_theorem_8_condition_2_in_numbers(beta):
    """Profiles 1/2 + a (1 + b t + c t^2) and 1/2: same share, same limit, different at the top."""
    first, second, share = theorem_8_counterexample(beta)
    for discount in (PowerDiscount(beta),):
        limits = [ndcg_limit(each, discount=discount) for each in (first, second)]
        assert limits[0] == pytest.approx(limits[1], abs=1e-6)
        assert limits[1] == pytest.approx(0.5**beta, abs=1e-6)
    np.testing.assert_allclose(first.shares, [0.5, 0.5], atol=1e-6)
    at_top = first([1.0])[0, 1]
    assert at_top > 0.51
    # the expected difference of DCGs and its variance, over many more ranks than matter
    n = 1_000_000
    ranks = np.arange(1.0, n + 1)
    chances, weights = first(1 - ranks / n)[:, 1], ranks**-beta
    mean = (chances - 0.5) @ weights
    variance = (chances * (1 - chances) + 0.25) @ weights**2
    assert share == pytest.approx(norm.cdf(-mean / np.sqrt(variance)), abs=2e-3)
    assert 0.5 < share < 0.75  # never near 1, however long the list


def test_theorem_8_is_for_some_beta_only():
    for beta in (0.5, 2 / 3, 1.0):
        with pytest.raises(ValueError, match=r"beta must be a number in \(0.666667, 1\)"):
            theorem_8_counterexample(beta)


def test_rankers_with_equal_limits_under_a_power_discount():
    # theorem 8's second condition promises that such rankers are told apart; they are not.
    # With t = 1 - s the profile 1/2 + a (1 - 24 t + 33 t^2) has the share 1/2 of relevant documents
    # and, for beta = .8, the limit of a random ranker, int t^-.8 (...) dt being 0 too
    terms = np.array([1, -24, 33])
    assert abs(terms @ [1, 1 / 2, 1 / 3]) < 1e-12
    assert abs(terms @ [1 / 0.2, 1 / 1.2, 1 / 2.2]) < 1e-12
    first, _, share = theorem_8_counterexample(0.8)
    rng = np.random.default_rng(0)
    t = rng.random(1_000_000)
    np.testing.assert_allclose(
        first(1 - t[:100])[:, 1], 0.5 + 0.05 * (1 - 24 * t + 33 * t**2)[:100], atol=1e-12
    )
    labels = rng.random(t.size) < first(1 - t)[:, 1]
    found = distinguish(
        -t, rng.random(t.size), labels, PowerDiscount(0.8), [500, 5_000, 20_000], n_orders=200
    )
    verdict = found["PowerDiscount(0.8)"]
    # 200 lists: three standard deviations are .105
    np.testing.assert_allclose(verdict.b_better, share, atol=0.105)
    assert verdict.from_size is None


def test_any_metric_and_names_of_ones_own():
    labels, good, _, random = make_population(5_000)
    found = distinguish(
        good,
        random,
        labels,
        {"slow": "log", "map": get_metric("map"), "wrong": get_metric("pairwise_disagreement")},
        [50, 500],
    )
    assert list(found.verdicts) == ["slow", "map", "wrong"]
    assert {verdict.winner for verdict in found.verdicts.values()} == {"a"}
    assert found["wrong"].mean_a[-1] < found["wrong"].mean_b[-1]
    assert found.n_lists == 100
    assert list(distinguish(good, random, labels, get_metric("ndcg@5"), [50]).verdicts) == [
        "ndcg@5"
    ]
    with pytest.raises(KeyError, match="there are slow, map, wrong"):
        found["log"]


def test_orders_are_nested_random_and_repeatable(monkeypatch):
    from gbrank.theory import distinguishability as module

    labels, good, fair, _ = make_population(90)
    options = {"qid": np.arange(90) % 3, "n_orders": 4}
    once = distinguish(good, fair, labels, "log", [5, 30], **options)
    again = distinguish(good, fair, labels, "log", [5, 30], **options)
    other = distinguish(good, fair, labels, "log", [5, 30], random_state=1, **options)
    monkeypatch.setattr(module, "_BATCH", 1)  # one list at a time
    single = distinguish(good, fair, labels, "log", [5, 30], **options)
    assert once.n_lists == 12
    np.testing.assert_array_equal(once["log"].mean_a, again["log"].mean_a)
    np.testing.assert_array_equal(once["log"].mean_a, single["log"].mean_a)
    assert once["log"].mean_a[0] != other["log"].mean_a[0]
    # at the size of the query every order holds the same documents
    whole = [ndcg(labels[q::3], good[q::3], DISCOUNTS["log"]) for q in range(3)]
    assert once["log"].mean_a[1] == pytest.approx(np.mean(whole))


def test_default_sizes_and_printing():
    labels, good, fair, _ = make_population(300)
    found = distinguish(good, fair, labels)
    assert found.sizes[0] == 10
    assert found.sizes[-1] == 300
    lines = str(found).splitlines()
    assert lines[0].startswith("100 lists of 10 to 300 documents")
    assert [line.split()[0] for line in lines[4:]] == ["log", "power", "zipf", "exp"]
    assert lines[4].split()[-2:] == [
        f"{found['log'].mean_a[-1]:.4f}",
        f"{found['log'].mean_b[-1]:.4f}",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores_b": [1.0, 2.0]}, "scores_b: scores must have one entry per row: got 2"),
        ({"scores_a": [0, np.nan, 1, 2]}, "scores_a: .*row 1"),
        ({"labels": [0, -1, 1, 2]}, "row 1"),
        ({"sizes": [3, 2]}, "sizes must be increasing integers"),
        ({"sizes": [0, 2]}, "sizes must be increasing integers"),
        ({"sizes": [1.5]}, "sizes must be increasing integers"),
        ({"sizes": []}, "sizes must be increasing integers"),
        ({"sizes": [2, 5]}, "sizes go up to 5, but query 0 has only 4 documents"),
        ({"sizes": [2], "qid": ["x", "y", "x", "x"]}, "query y has only 1 documents"),
        ({"discounts": []}, "at least one discount"),
        ({"discounts": ["log", "log"]}, "'log' comes twice"),
        ({"discounts": ["root"]}, "discount must be one of"),
        ({"k": 0}, "k must be at least 1"),
        ({"n_orders": -1}, "n_orders must be an integer >= 0 or None, got -1"),
        ({"confidence": 0.5}, "confidence must be above 1/2"),
        ({"labels": [], "scores_a": [], "scores_b": []}, "at least one row"),
    ],
)
def test_bad_arguments(change, message):
    good = {"scores_a": [1, 2, 3, 4], "scores_b": [4, 3, 2, 1], "labels": [0, 1, 0, 2]}
    with pytest.raises(ValueError, match=message):
        distinguish(**{**good, "discounts": ["log"], "sizes": [2, 4], **change})
