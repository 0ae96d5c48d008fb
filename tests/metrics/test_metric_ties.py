"""Every metric, cut-off and tie policy against the enumeration of all orders."""

import numpy as np
import pytest
from metric_oracle import METRICS, WITHOUT_CUTOFF, by_enumeration, err, normalized_precision

from gbrank.metrics import err_score, get_metric, list_metrics, ndcg_score, precision_at_k

POLICIES = ["average", "stable", "reverse", "worst"]


def test_the_oracle_knows_every_metric():
    assert sorted(METRICS) == list_metrics()


def _cases(seed, n_cases, n_levels=4):
    """Yield labels, scores with ties, and a cut-off; at least two labels differ.

    Every other case has labels that are no integers, which take another way.
    """
    rng = np.random.default_rng(seed)
    while n_cases:
        m = int(rng.integers(2, 7))
        labels = rng.integers(0, 5, m) * (1.0 if n_cases % 2 else 0.75)
        if labels.min() == labels.max():
            continue
        n_cases -= 1
        yield labels, rng.integers(0, n_levels, m).astype(float), int(rng.integers(1, 8))


@pytest.mark.parametrize("ties", POLICIES)
@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_tie_policy_agrees_with_enumeration(name, ties):
    definition, higher_is_better = METRICS[name]
    options = {"max_grade": 4} if name == "err" else {}
    cases = [
        *_cases(seed=0, n_cases=30),
        *_cases(seed=1, n_cases=10, n_levels=1),  # constant models
    ]
    for labels, scores, k in cases:
        cutoff = None if name in WITHOUT_CUTOFF else k
        metric = get_metric(name, k=cutoff, ties=ties, **options)
        expected = by_enumeration(definition, higher_is_better, labels, scores, k, ties)
        assert metric(labels, scores, group=[len(labels)]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", POLICIES)
@pytest.mark.parametrize("name", sorted(METRICS))
def test_the_whole_list_is_the_default_cutoff(name, ties):
    definition, higher_is_better = METRICS[name]
    options = {"max_grade": 4} if name == "err" else {}
    metric = get_metric(name, ties=ties, **options)
    for labels, scores, _ in _cases(seed=2, n_cases=10):
        expected = by_enumeration(definition, higher_is_better, labels, scores, len(labels), ties)
        assert metric(labels, scores, group=[len(labels)]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", POLICIES)
def test_normalized_precision(ties):
    for labels, scores, k in _cases(seed=3, n_cases=20):
        expected = by_enumeration(normalized_precision, True, labels, scores, k, ties)
        value = precision_at_k(labels, scores, group=[len(labels)], k=k, normalized=True, ties=ties)
        assert value == pytest.approx(expected, abs=1e-12)


def test_expected_reciprocal_rank_of_long_ties_against_random_orders():
    rng = np.random.default_rng(0)
    labels = rng.choice([0.0, 1.0, 3.0, 4.0], 60, p=[0.7, 0.2, 0.05, 0.05])
    exact = err_score(labels, np.zeros(60), group=[60], max_grade=4)
    draws = [err(rng.permutation(labels), 60) for _ in range(20_000)]
    assert exact == pytest.approx(np.mean(draws), abs=4 * np.std(draws) / np.sqrt(len(draws)))


@pytest.mark.parametrize("name", list_metrics())
@pytest.mark.parametrize("scale", [1.0, 0.75])
def test_a_long_tie_equals_the_mean_over_random_orders(name, scale):
    rng = np.random.default_rng(0)
    m = 300
    labels = scale * rng.choice([0.0, 1.0, 2.0, 4.0], m, p=[0.9, 0.06, 0.03, 0.01])
    options = {} if name in WITHOUT_CUTOFF else {"k": 20}
    if name == "err":
        options["max_grade"] = 4
    metric = get_metric(name, **options)
    exact = metric(labels, np.zeros(m), group=[m])
    n_draws = 2_000
    scores = np.array([rng.permutation(m) for _ in range(n_draws)], dtype=float)
    draws = metric(np.tile(labels, n_draws), scores.ravel(), group=[m] * n_draws, per_query=True)
    error = np.std(draws) / np.sqrt(n_draws)
    assert exact == pytest.approx(np.mean(draws), abs=5 * error + 1e-12)


def test_a_gain_that_does_not_grow_with_the_label_has_its_own_worst_order():
    table = [0.0, 5.0, 1.0]  # label 1 is worth most
    labels, scores = [1, 2, 0, 2], [0, 0, 0, 0]
    # worst first: gains 0, 1, 1, 5
    expected = (0 + 1 / np.log2(3) + 1 / 2 + 5 / np.log2(5)) / (5 + 1 / np.log2(3) + 1 / 2 + 0)
    value = ndcg_score(labels, scores, group=[4], gain=table, ties="worst")
    assert value == pytest.approx(expected, abs=1e-12)
