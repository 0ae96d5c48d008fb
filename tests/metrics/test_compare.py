"""Tests of the difference between models, against SciPy and spelled-out cases."""

import numpy as np
import pytest
from scipy import stats

from gbrank.metrics import compare, evaluate, get_metric, holm, sign_flip_test


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    labels[:10] = 0  # a blank query
    scores = {
        "a": labels + rng.normal(size=600),
        "b": labels + 2 * rng.normal(size=600),
        "c": rng.normal(size=600),
    }
    return labels, scores, np.repeat(np.arange(60), 10)


@pytest.fixture(scope="module")
def compared(models):
    labels, scores, qid = models
    return compare(labels, scores, qid=qid, metric="ndcg@5")


def _per_query(models, metric="ndcg@5"):
    labels, scores, qid = models
    values = evaluate(labels, scores, qid=qid, metrics=metric, per_query=True)[metric]
    return dict(zip(scores, values[:, 1:], strict=True))  # the first query is blank


def test_means_differences_and_counts(models, compared):
    values = _per_query(models)
    assert compared.n_queries == 59
    assert [(pair.a, pair.b) for pair in compared.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair in compared.pairs:
        a, b = values[pair.a], values[pair.b]
        assert pair.mean_a == pytest.approx(a.mean(), abs=1e-12)
        assert pair.mean_b == pytest.approx(b.mean(), abs=1e-12)
        assert pair.difference == pytest.approx((a - b).mean(), abs=1e-12)
        np.testing.assert_allclose(pair.differences, a - b, atol=1e-12)
        assert pair.won == sum(x > y + 1e-12 for x, y in zip(a, b, strict=True))
        assert pair.lost == sum(x < y - 1e-12 for x, y in zip(a, b, strict=True))
        assert pair.won + pair.tied + pair.lost == 59


def test_p_values_and_intervals_are_those_of_scipy(models, compared):
    values = _per_query(models)
    for pair in compared.pairs:
        a, b = values[pair.a], values[pair.b]
        assert pair.p_t == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=1e-9)
        # two random tests agree up to their own errors
        theirs = stats.permutation_test(
            (a - b,),
            np.mean,
            permutation_type="samples",
            n_resamples=9_999,
            vectorized=True,
            random_state=1,
        ).pvalue
        error = 5 * np.sqrt(2 * theirs * (1 - theirs) / 10_000) + 2e-4
        assert pair.p_permutation == pytest.approx(theirs, abs=error)
        interval = stats.bootstrap(
            (a - b,),
            np.mean,
            n_resamples=9_999,
            method="percentile",
            vectorized=True,
            random_state=1,
        ).confidence_interval
        spread = np.std(a - b) / np.sqrt(59)
        np.testing.assert_allclose(pair.interval, interval, atol=0.15 * spread)


def test_the_interval_covers_as_often_as_it_says():
    """200 samples of 40 queries whose true mean difference is 0.1."""
    rng = np.random.default_rng(1)
    n_covered = 0
    for _ in range(200):
        labels = np.tile([1, 0], 40)
        # the better document is first in 60 % of queries for a, in 40 % for b: MRR differs by 0.1
        first = rng.random((2, 40)) < [[0.6], [0.4]]
        scores = {
            name: np.column_stack([row, ~row]).astype(float).ravel()
            for name, row in zip("ab", first, strict=True)
        }
        found = compare(labels, scores, group=[2] * 40, metric="mrr", n_resamples=299)
        low, high = found["a", "b"].interval
        n_covered += low <= 0.1 <= high
    assert 0.88 <= n_covered / 200 <= 0.99


def test_sign_flips_of_few_queries_are_tried_all():
    differences = np.array([0.3, -0.1, 0.2, 0.25])
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert sign_flip_test(differences, 9_999, 0) == pytest.approx(expected, abs=1e-12)
    assert sign_flip_test(differences, 16, 0) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2, 0.3])
def test_random_sign_flips_agree_with_scipy(shift):
    differences = np.random.default_rng(4).normal(shift, 1.0, 50)
    theirs = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=9_999,
        vectorized=True,
        random_state=1,
    ).pvalue
    error = 5 * np.sqrt(2 * theirs * (1 - theirs) / 10_000)
    assert sign_flip_test(differences, 9_999, 0) == pytest.approx(theirs, abs=error)
    assert sign_flip_test(differences, 1, 0) in (0.5, 1.0)  # the signs found are one of the two


def test_sums_that_are_equal_but_for_rounding_count_as_large():
    """Differences of NDCG@1 or precision@3 are thirds; rounded ones must find the same ties."""
    thirds = np.random.default_rng(0).integers(-3, 4, 200)
    exact = sign_flip_test(thirds.astype(float), 9_999, 0)
    step = 2.0**-16
    kept = np.round(thirds / 3 / step) * step
    assert sign_flip_test(kept, 9_999, 0, precision=step) == exact
    assert sign_flip_test((thirds / 3).astype(np.float32), 9_999, 0, precision=1e-7) == exact
    assert sign_flip_test(kept, 9_999, 0) < exact


def test_holm_spelled_out():
    # sorted: .01 * 4, .02 * 3, .03 * 2 (not below the one before), .9 * 1
    assert holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]


def test_holm_is_applied_over_pairs(compared):
    p_values = [pair.p_t for pair in compared.pairs]
    assert [pair.p_t_holm for pair in compared.pairs] == holm(p_values)
    p_values = [pair.p_permutation for pair in compared.pairs]
    assert [pair.p_permutation_holm for pair in compared.pairs] == holm(p_values)


def test_of_a_loss_the_smaller_wins(models):
    labels, scores, qid = models
    pair = compare(labels, scores, qid=qid, metric="pairwise_disagreement")["a", "c"]
    assert pair.difference < 0
    assert pair.won > pair.lost


def test_equal_models_and_constant_differences():
    labels, group = np.tile([2, 0, 1], 8), [3] * 8
    good, bad = labels.astype(float), -labels.astype(float)
    pair = compare(labels, {"x": good, "y": 2 * good}, group=group)["x", "y"]
    assert (pair.difference, pair.interval) == (0.0, (0.0, 0.0))
    assert (pair.p_t, pair.p_permutation) == (1.0, 1.0)
    assert (pair.won, pair.tied, pair.lost) == (0, 8, 0)
    pair = compare(labels, {"x": good, "y": bad}, group=group)["x", "y"]
    assert pair.interval == pytest.approx((pair.difference, pair.difference))
    assert pair.p_t == 0.0
    assert pair.p_permutation == 2 / 2**8  # all signs equal, one way or the other
    assert (pair.won, pair.tied, pair.lost) == (8, 0, 0)


def test_weights(models):
    labels, scores, qid = models
    weights = np.random.default_rng(3).integers(0, 4, 60).astype(float)
    found = compare(labels, scores, qid=qid, metric="ndcg@5", sample_weight=weights)
    values, counted = _per_query(models), weights[1:]
    assert found.n_queries == np.count_nonzero(counted)
    for pair in found.pairs:
        differences = values[pair.a] - values[pair.b]
        expected = np.average(differences, weights=counted)
        assert pair.difference == pytest.approx(expected, abs=1e-12)
        # bootstrap of the weighted mean: resample queries with their weights
        rng = np.random.default_rng(0)
        kept = counted > 0
        rows = rng.integers(0, kept.sum(), (4_000, kept.sum()))
        w, d = counted[kept][rows], differences[kept][rows]
        low, high = np.quantile((w * d).sum(axis=1) / w.sum(axis=1), [0.025, 0.975])
        np.testing.assert_allclose(pair.interval, (low, high), atol=0.1 * (high - low))
    uniform = compare(labels, scores, qid=qid, metric="ndcg@5", sample_weight=np.full(60, 2.0))
    plain = compare(labels, scores, qid=qid, metric="ndcg@5")
    assert uniform["a", "b"].interval == pytest.approx(plain["a", "b"].interval, abs=1e-12)
    assert uniform["a", "b"].p_permutation == plain["a", "b"].p_permutation


def test_the_seed_decides(models, compared):
    labels, scores, qid = models
    again = compare(labels, scores, qid=qid, metric="ndcg@5")
    assert [pair.interval for pair in again.pairs] == [pair.interval for pair in compared.pairs]
    assert again["b", "c"].p_permutation == compared["b", "c"].p_permutation
    other = compare(labels, scores, qid=qid, metric="ndcg@5", random_state=1)
    assert other["a", "b"].interval != compared["a", "b"].interval


def test_text_table_and_frame(models, compared):
    pytest.importorskip("pandas")
    text = str(compared)
    assert (
        "ndcg@5 over 59 of 60 queries (greater is better). p-values Holm-corrected for 3 pairs. "
        "1 left out: blank, or of weight 0." in text
    )
    pair = compared["a", "b"]
    assert f"{pair.difference:+.4f}" in text
    assert f"{pair.won}/{pair.tied}/{pair.lost}" in text
    frame = compared.to_pandas()
    assert frame.loc[("a", "b"), "won"] == pair.won
    assert frame.loc[("a", "b"), "interval_low"] == pair.interval[0]
    with pytest.raises(KeyError, match="no pair"):
        compared["b", "a"]


def test_small_p_values_are_not_shown_as_zero(compared):
    assert compared["a", "c"].p_t_holm < 1e-4  # of a test that is not limited by resamples
    lines = str(compared).splitlines()
    (line,) = [line for line in lines if line.startswith("a - c")]
    assert "< .0001" in line
    assert "0.0000" not in str(compared)


def test_all_queries_count(models):
    labels, scores, qid = models
    kept = qid > 0
    some = {name: model[kept] for name, model in scores.items()}
    found = compare(labels[kept], some, qid=qid[kept], metric="ndcg@5")
    assert str(found).startswith("ndcg@5 over 59 queries (greater is better).")
    assert found.n_left_out == 0


def test_several_metrics(models, compared):
    labels, scores, qid = models
    found = compare(labels, scores, qid=qid, metric=["ndcg@5", "pairwise_disagreement"])
    assert list(found) == ["ndcg@5", "pairwise_disagreement"]
    assert str(found["ndcg@5"]) == str(compared)
    alone = compare(labels, scores, qid=qid, metric="pairwise_disagreement")
    assert str(found["pairwise_disagreement"]) == str(alone)
    assert str(found) == f"{compared}\n\n\n{alone}"
    named = compare(labels, scores, qid=qid, metric={"mine": get_metric("ndcg@5", gain="linear")})
    assert named["mine"].metric == "mine"


def test_a_metric_object(models):
    labels, scores, qid = models
    metric = get_metric("ndcg@5", gain="linear")
    found = compare(labels, scores, qid=qid, metric=metric)
    assert found.means["a"] == pytest.approx(metric(labels, scores["a"], qid=qid), abs=1e-12)
