"""Synthetic data: labels, truth, and that the truth is what it claims to be."""

import math
from itertools import permutations, product
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from gbrank.data import make_ranking

NORMAL = NormalDist()
WEB_SEARCH = [0.5, 0.2, 0.15, 0.1, 0.05]


def dcg(gains, k):
    return sum(gain / math.log2(2 + place) for place, gain in enumerate(gains[:k]))


def expected_ndcg(label_probabilities, order, k, gain):
    """Sum NDCG@k over all label vectors; those without gain count for nothing."""
    total = 0.0
    for labels in product(range(label_probabilities.shape[1]), repeat=len(order)):
        probability = math.prod(label_probabilities[i, r] for i, r in enumerate(labels))
        gains = [gain(r) for r in labels]
        best = dcg(sorted(gains, reverse=True), k)
        if best > 0:
            total += probability * dcg([gains[i] for i in order], k) / best
    return total


@pytest.mark.parametrize("label_noise", [0.1, 0.5, 2.0])
@pytest.mark.parametrize(("k", "gain"), [(1, "exp"), (2, "exp"), (4, "exp"), (4, "linear")])
def test_no_order_has_a_larger_expected_ndcg_than_that_of_utilities(label_noise, k, gain):
    gain_of = {"exp": lambda r: 2.0**r - 1, "linear": float}[gain]
    data = make_ranking(12, list_length=4, grades=3, label_noise=label_noise, random_state=7)
    for query in range(data.n_queries):
        rows = data.qid == query
        bayes = tuple(np.argsort(-data.utility[rows]))
        values = {
            order: expected_ndcg(data.label_probabilities[rows], order, k, gain_of)
            for order in permutations(range(4))
        }
        assert values[bayes] >= max(values.values()) - 1e-12
        assert values[bayes] > values[bayes[::-1]]


def test_likelihood_ratio_of_labels_grows_with_utility():
    data = make_ranking(1, list_length=300, label_noise=0.7)
    probability = data.label_probabilities[np.argsort(data.utility)]
    for high in range(1, 5):
        ratio = probability[:, high] / probability[:, high - 1]
        assert (np.diff(ratio) >= -1e-9 * ratio[1:]).all()


def test_label_probabilities_are_those_of_thresholds_plus_normal_noise():
    data = make_ranking(3, list_length=4, grades=(0.6, 0.3, 0.1), label_noise=0.8)
    spread = math.sqrt(1 + 0.5**2 + 0.8**2)
    first, second = spread * NORMAL.inv_cdf(0.6), spread * NORMAL.inv_cdf(0.9)
    for utility, row in zip(data.utility, data.label_probabilities, strict=True):
        below_first = NORMAL.cdf((first - utility) / 0.8)
        below_second = NORMAL.cdf((second - utility) / 0.8)
        expected = [below_first, below_second - below_first, 1 - below_second]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("label_noise", [0.3, 1.0])
def test_labels_are_drawn_with_their_probabilities(label_noise):
    data = make_ranking(2000, list_length=50, label_noise=label_noise, random_state=3)
    probability = data.label_probabilities
    tenth = np.argsort(np.argsort(data.utility)) * 10 // data.n_rows
    p_values = []
    for part in range(10):
        for grade in range(5):
            p = probability[tenth == part, grade]
            if (variance := (p * (1 - p)).sum()) > 10:
                excess = (data.y[tenth == part] == grade).sum() - p.sum()
                p_values.append(2 * stats.norm.sf(abs(excess) / math.sqrt(variance)))
    assert len(p_values) > 20
    assert min(p_values) > 1e-3 / len(p_values)


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        (5, WEB_SEARCH),
        (2, [1 / 2, 1 / 2]),
        (3, [1 / 2, 1 / 3, 1 / 6]),
        ((0.9, 0.0, 0.1), [0.9, 0.0, 0.1]),
    ],
)
def test_label_frequencies(grades, expected):
    # without an effect of the query the documents are independent, so chi-square applies
    data = make_ranking(1000, list_length=100, grades=grades, query_effect=0.0, random_state=1)
    counts = np.bincount(data.y, minlength=len(expected))
    expected = np.array(expected) * data.n_rows
    possible = expected > 0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], expected[possible]).pvalue > 1e-3


def test_default_labels_look_like_web_search():
    data = make_ranking(2000, random_state=4)
    frequencies = np.bincount(data.y) / data.n_rows
    np.testing.assert_allclose(frequencies, WEB_SEARCH, atol=0.02)


def test_without_label_noise_labels_never_contradict_utilities():
    data = make_ranking(50, label_noise=0.0)
    by_utility = np.argsort(data.utility)
    assert (np.diff(data.y[by_utility]) >= 0).all()
    np.testing.assert_array_equal(np.argmax(data.label_probabilities, axis=1), data.y)
    assert set(np.unique(data.label_probabilities)) == {0.0, 1.0}


def test_the_columns_determine_the_utility_up_to_a_constant_per_query():
    """Rebuild the utility from X alone, as the documentation describes the columns."""
    data = make_ranking(30, list_length=20, n_features=12, n_informative=10, random_state=9)
    cdf, quantile = np.vectorize(NORMAL.cdf), np.vectorize(NORMAL.inv_cdf)
    X = data.X.astype(float)
    effects = []
    for column, name in enumerate(data.feature_names[:10]):
        value = X[:, column]
        effects.append(
            {
                "shifted": lambda value: value,
                "skewed": np.log,
                "middle": lambda value: quantile(2 * cdf(-np.abs(value))),
                "gated": lambda value, gate=X[:, column - 1]: (
                    value * np.where(cdf(gate) > 0.25, 1, -1)
                ),
                "squashed": quantile,
            }[name.rsplit("_", 1)[0]](value)
        )
    weights = 1 / np.sqrt(np.arange(1, 11))
    rebuilt = np.array(effects).T @ weights / math.sqrt((weights**2).sum())
    for query in range(30):
        difference = (rebuilt - data.utility)[data.qid == query]
        np.testing.assert_allclose(difference, difference[0], atol=1e-3)  # X is float32


def test_utility_is_normal_with_the_stated_spread():
    data = make_ranking(4000, list_length=25, query_effect=0.0, random_state=2)
    assert stats.kstest(data.utility, "norm").pvalue > 1e-3
    data = make_ranking(4000, list_length=25, query_effect=3.0, random_state=2)
    means = data.utility.reshape(4000, 25).mean(axis=1)
    # the sample variance of 4000 normal numbers is within 10% of the truth, 9 + 1/25
    assert means.var() == pytest.approx(9.04, rel=0.1)


def test_shifted_columns_differ_between_queries_more_than_within():
    data = make_ranking(3000, list_length=20, query_shift=2.0)
    for column, name in enumerate(data.feature_names):
        by_query = data.X[:, column].reshape(3000, 20).astype(float)
        within, between = by_query.var(axis=1, ddof=1).mean(), by_query.mean(axis=1).var()
        if name.startswith("shifted"):
            assert within == pytest.approx(1.0, rel=0.1)
            assert between == pytest.approx(4.0 + 1 / 20, rel=0.1)
        elif name.startswith("query"):
            assert within == 0
            assert between == pytest.approx(4.0, rel=0.1)
        else:
            assert between == pytest.approx(within / 20, rel=0.2)


def test_query_shift_zero_takes_the_shift_away():
    data = make_ranking(500, list_length=20, query_shift=0.0)
    assert stats.kstest(data.X[:, 0], "norm").pvalue > 1e-3


def test_uninformative_columns_say_nothing_and_informative_ones_do():
    data = make_ranking(3000, list_length=20, query_effect=0.0)
    tenths = np.argsort(np.argsort(data.X, axis=0), axis=0) * 10 // data.n_rows
    gate_low = data.X[:, 2] < NORMAL.inv_cdf(0.25)
    for column, name in enumerate(data.feature_names):
        samples = [data.utility[tenths[:, column] == part] for part in range(10)]
        informative = column < 10
        p_value = stats.f_oneway(*samples).pvalue
        assert (p_value < 1e-6) == informative, name
        assert p_value > 1e-4 or informative
    # the interaction: the slope of column 3 turns round with column 2
    for rows, sign in ((gate_low, -1), (~gate_low, 1)):
        assert sign * np.corrcoef(data.X[rows, 3], data.utility[rows])[0, 1] > 0.1


def test_seeds_reproduce_and_differ():
    first, again = make_ranking(20, random_state=5), make_ranking(20, random_state=5)
    other = make_ranking(20, list_length=30, random_state=6)
    for name in ("X", "y", "qid", "group", "utility", "thresholds"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert first.feature_names == again.feature_names
    # another seed is another sample of the same population
    np.testing.assert_array_equal(first.thresholds, other.thresholds)
    assert first.utility[0] != other.utility[0]
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(first.X, make_ranking(20, random_state=generator).X)


def test_list_lengths():
    assert (make_ranking(7, list_length=3).group == 3).all()
    lengths = make_ranking(6000, list_length=(2, 7), n_features=1, n_informative=1).group
    assert stats.chisquare(np.bincount(lengths)[2:]).pvalue > 1e-3
    assert lengths.min() == 2
    assert lengths.max() == 7
    lengths = make_ranking(4000, list_length="lognormal", n_features=1, n_informative=1).group
    assert np.median(lengths) == pytest.approx(80, rel=0.05)
    assert (lengths > 215).mean() == pytest.approx(0.05, abs=0.015)
    assert lengths.min() >= 1
    assert lengths.max() <= 1000
    lengths = make_ranking(4, list_length=lambda generator, n: np.arange(1, n + 1)).group
    np.testing.assert_array_equal(lengths, [1, 2, 3, 4])


def test_shapes_and_types():
    data = make_ranking(9, list_length=(1, 5), n_features=7, n_informative=3)
    n = data.group.sum()
    assert data.X.shape == (n, 7)
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    assert data.y.dtype == data.qid.dtype == data.group.dtype == np.int64
    assert np.isfinite(data.X).all()
    np.testing.assert_array_equal(data.qid, np.repeat(np.arange(9), data.group))
    X, y, qid = data
    assert X is data.X
    assert y is data.y
    assert qid is data.qid
    assert data.feature_names[2:] == (
        "middle_2",
        "noise_3",
        "query_4",
        "shifted_noise_5",
        "noise_6",
    )
    with pytest.raises(AttributeError):
        data.X = X


def test_one_document():
    data = make_ranking(1, list_length=1, n_features=1, n_informative=1)
    assert data.X.shape == (1, 1)
    assert data.label_probabilities.sum() == pytest.approx(1)


def test_take_and_split_keep_whole_queries():
    data = make_ranking(10, list_length=(1, 9), random_state=8)
    some = data.take([7, 2])
    rows = np.concatenate((np.flatnonzero(data.qid == 7), np.flatnonzero(data.qid == 2)))
    for name in ("X", "y", "qid", "utility"):
        np.testing.assert_array_equal(getattr(some, name), getattr(data, name)[rows])
    np.testing.assert_array_equal(some.group, [(data.qid == 7).sum(), (data.qid == 2).sum()])
    train, test = data.split(0.7)
    assert set(train.qid) == set(range(7))
    assert set(test.qid) == {7, 8, 9}
    np.testing.assert_array_equal(np.concatenate((train.X, test.X)), data.X)
    everything, nothing = data.split(1)
    assert everything.n_rows == data.n_rows
    assert nothing.n_rows == nothing.n_queries == 0
    with pytest.raises(ValueError, match="queries must be numbers from 0 to 9, got 10"):
        data.take([0, 10])
    with pytest.raises(ValueError, match="once each"):
        data.take([1, 1])
    with pytest.raises(ValueError, match=r"fraction must be a number in \[0, 1\], got 2"):
        data.split(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_queries": 0}, "n_queries must be an integer >= 1, got 0"),
        ({"n_queries": 2.5}, "n_queries must be an integer >= 1, got 2.5"),
        ({"n_informative": 0}, "n_informative must be an integer >= 1, got 0"),
        ({"n_features": 9}, "n_features must be an integer >= 10, got 9"),
        ({"grades": 1}, "grades must be an integer >= 2, got 1"),
        ({"grades": (0.5, 0.6)}, "grades must sum to 1, they sum to 1.1"),
        ({"label_noise": -1}, "label_noise must be a number >= 0, got -1"),
        ({"query_shift": np.inf}, "query_shift must be a finite number >= 0, got inf"),
        ({"query_effect": "big"}, "query_effect must be a number >= 0, got 'big'"),
        ({"list_length": 0}, "list_length must be an integer >= 1, got 0"),
        ({"list_length": (5, 4)}, r"list_length\[1\] must be an integer >= 5, got 4"),
        ({"list_length": (0, 4)}, r"list_length\[0\] must be an integer >= 1, got 0"),
        ({"list_length": "long"}, "list_length must be a number, a range, .* got 'long'"),
        ({"list_length": lambda rng, n: [3]}, "list_length must return 2 integers"),
        ({"list_length": lambda rng, n: [3, 0]}, "got 0 for query 1"),
        ({"random_state": 1.5}, "random_state must be an integer >= 0"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**{"n_queries": 2, **arguments})


def test_list_length_of_a_wrong_type_is_named():
    with pytest.raises(TypeError, match="list_length must be a number, a range"):
        make_ranking(2, list_length=(1, 2, 3))
