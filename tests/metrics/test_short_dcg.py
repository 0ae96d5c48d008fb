"""DCG of short lists by counting pairs: what ranking gives, for every policy of ties."""

import numpy as np
import pytest

from gbrank.core import QueryLayout
from gbrank.metrics import dcg_score, feval, get_metric, ndcg_score
from gbrank.metrics._judgments import Judgments
from gbrank.metrics._short_dcg import LONGEST, discounts_of_ties

SIZES = np.r_[np.arange(LONGEST + 1), np.random.default_rng(0).integers(0, LONGEST, 3_000)]


def bound(metric, labels, sizes):
    layout = QueryLayout.from_group(sizes, len(labels))
    return get_metric(*metric[:1], **metric[1]).bind(Judgments(labels, layout))


def lists(sizes, seed, *, tied, grades=True):
    rng = np.random.default_rng(seed)
    n = int(sizes.sum())
    labels = rng.integers(0, 5, n).astype(float) if grades else rng.random(n)
    return labels, rng.integers(0, 7, n) / 3.0 if tied else rng.normal(size=n)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("ties", ["average", "stable", "reverse"])
@pytest.mark.parametrize("score", [ndcg_score, dcg_score])
@pytest.mark.parametrize("k", [1, 10, None])
def test_equals_ranking(score, k, ties, tied):
    """One list that is too long has all of them ranked."""
    labels, scores = lists(SIZES, 1, tied=tied)
    options = {"k": k, "ties": ties, "per_query": True}
    short = score(labels, scores, group=SIZES, **options)
    more = np.zeros(LONGEST + 1)
    ranked = score(
        np.append(labels, more), np.append(scores, more), group=[*SIZES, LONGEST + 1], **options
    )
    np.testing.assert_allclose(short, ranked[:-1], rtol=1e-13)


def test_labels_that_are_no_grades():
    labels, scores = lists(SIZES, 2, tied=True, grades=False)
    more = np.linspace(0, 1, LONGEST + 1)
    ranked = ndcg_score(
        np.append(labels, more), np.append(scores, more), group=[*SIZES, len(more)], per_query=True
    )
    short = ndcg_score(labels, scores, group=SIZES, per_query=True)
    np.testing.assert_allclose(short, ranked[:-1], rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "options", "longest", "is_short"),
    [
        ("ndcg@10", {}, LONGEST, True),
        ("dcg", {}, LONGEST, True),
        ("ndcg@10", {}, LONGEST + 1, False),
        ("ndcg@0.2", {}, LONGEST, False),
        ("ndcg@10", {"ties": "worst"}, LONGEST, False),
        ("map", {}, LONGEST, False),
    ],
)
def test_where_there_is_a_shortcut(name, options, longest, is_short):
    sizes = np.array([0, 1, longest])
    found = bound((name, options), np.zeros(int(sizes.sum())), sizes)
    assert (found.shortcut is not None) == is_short


def test_huge_and_tiny_scores():
    largest = np.finfo(float).max
    scores = [largest, -largest, 0.0, 5e-324, -0.0]
    # 0.0 and -0.0 share ranks 3 and 4
    d = 1 / np.log2(np.arange(2, 7))
    expected = 1 * d[0] + 3 * d[4] + (7 + 1) * (d[2] + d[3]) / 2 + 3 * d[1]
    found = dcg_score([1, 2, 3, 2, 1], scores, group=[5])
    assert found == pytest.approx(expected, rel=1e-14)


def test_discounts_of_ties_spelled_out():
    table = discounts_of_ties(np.array([1.0, 0.5, 0.25, 0.125]), 3)
    np.testing.assert_array_equal(table[0, :5], [1.0, 0.5, 0.25, 0.0, 0.0])
    np.testing.assert_array_equal(table[2, :3], [1.75 / 3, 0.25, 0.25 / 3])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scores_that_are_not_finite_are_refused_in_training_too(wrong, n_jobs):
    sizes = np.full(6_000, 10)
    labels, scores = lists(sizes, 3, tied=False)
    scores[[41_234, 50_000]] = wrong
    with pytest.raises(
        ValueError, match=r"scores must be finite numbers, but row 41234 .*query 4123"
    ):
        feval("ndcg@10", n_jobs=n_jobs)(labels, scores, None, sizes)


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_any_number_of_threads_gives_the_same_bits(n_jobs):
    sizes = np.random.default_rng(4).integers(0, LONGEST, 6_000)
    labels, scores = lists(sizes, 5, tied=True)
    one = ndcg_score(labels, scores, group=sizes, n_jobs=1, per_query=True)
    many = ndcg_score(labels, scores, group=sizes, n_jobs=n_jobs, per_query=True)
    np.testing.assert_array_equal(one, many)
