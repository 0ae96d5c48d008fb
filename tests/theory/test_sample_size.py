"""Numbers of queries against published tables of power, and against simulated t-tests."""

import numpy as np
import pytest
from scipy import stats

from gbrank.metrics import compare
from gbrank.theory import detection_power, required_queries


@pytest.mark.parametrize(
    ("effect", "power", "alternative", "expected"),
    [
        # sample sizes of the paired t-test at alpha = .05 as power tables and G*Power list them
        (0.2, 0.8, "two-sided", 199),
        (0.5, 0.8, "two-sided", 34),
        (0.8, 0.8, "two-sided", 15),
        (0.5, 0.95, "two-sided", 54),
        (0.5, 0.8, "one-sided", 27),
    ],
)
def test_published_sample_sizes(effect, power, alternative, expected):
    found = required_queries(0.03 * effect, std=0.03, power=power, alternative=alternative)
    assert found == expected
    # the sign says which ranker is better, not how visible that is
    assert required_queries(-effect, std=1.0, power=power, alternative=alternative) == expected


@pytest.mark.parametrize(("effect", "alternative"), [(0.3, "two-sided"), (0.5, "one-sided")])
def test_power_of_simulated_tests(effect, alternative):
    n = required_queries(effect, std=1.0, power=0.8, alternative=alternative)
    rng = np.random.default_rng(0)
    drawn = rng.normal(effect, 1.0, size=(20_000, n))
    tails = {"two-sided": "two-sided", "one-sided": "greater"}[alternative]
    seen = np.mean(stats.ttest_1samp(drawn, 0.0, axis=1, alternative=tails).pvalue < 0.05)
    noise = 4 * np.sqrt(0.8 * 0.2 / 20_000)
    assert 0.8 - noise < seen < 0.8 + 0.02 + noise
    assert detection_power(n, effect, std=1.0, alternative=alternative) == pytest.approx(
        seen, abs=noise
    )
    assert detection_power(n - 1, effect, std=1.0, alternative=alternative) < 0.8


def test_power_with_differences_of_ndcg():
    # differences of NDCG are bounded, skewed and often 0; the number of queries still does
    rng = np.random.default_rng(1)
    n_queries, size = 20_000, 10
    labels = rng.choice(3, p=[0.6, 0.3, 0.1], size=n_queries * size)
    models = {
        "a": labels + rng.normal(scale=1.0, size=labels.size),
        "b": labels + rng.normal(scale=1.3, size=labels.size),
    }
    pair = compare(labels, models, group=[size] * n_queries, n_resamples=10)["a", "b"]
    n = required_queries(pair.difference, differences=pair.differences, power=0.8)
    assert 20 < n < 1000
    samples = pair.differences[rng.integers(0, len(pair.differences), size=(4_000, n))]
    seen = np.mean(stats.ttest_1samp(samples, 0.0, axis=1).pvalue < 0.05)
    assert seen == pytest.approx(0.8, abs=0.03)


def test_differences_give_the_sample_standard_deviation():
    pilot = [0.1, -0.2, 0.3, 0.1, 0.0, -0.1, np.nan]
    std = ((0.16 - 0.2**2 / 6) / 5) ** 0.5  # squares sum to .16, numbers to .2
    assert required_queries(0.05, differences=pilot) == required_queries(0.05, std=std)


def test_extremes():
    assert required_queries(0.1, std=0.0) == 2
    assert detection_power(2, 0.1, std=0.0) == 1.0
    assert required_queries(1.0, std=1e-6) == 2
    assert detection_power(10**6, 1.0, std=0.01) == 1.0
    # no difference to speak of: the test finds what alpha allows
    assert detection_power(50, 1e-9, std=1.0) == pytest.approx(0.05, abs=1e-6)
    # far from small samples the normal approximation holds: (1.95996 + .84162)^2 / effect^2
    normal = (1.959964 + 0.841621) ** 2 * 1e8
    assert required_queries(1e-4, std=1.0) == pytest.approx(normal, rel=1e-5)
    with pytest.raises(ValueError, match="too small to be seen"):
        required_queries(1e-12, std=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"difference": 0.0}, "difference must be a number other than 0"),
        ({"difference": np.nan}, "difference must be a finite number"),
        ({"std": None}, "either std or differences, got neither"),
        ({"differences": [0.1, 0.2]}, "either std or differences, got both"),
        ({"std": -1.0}, "std must be a number >= 0, got -1.0"),
        ({"std": None, "differences": [0.1]}, "at least two finite numbers"),
        ({"std": None, "differences": [0.1, np.inf]}, "at least two finite numbers"),
        ({"std": None, "differences": [[0.1, 0.2]]}, "one-dimensional"),
        ({"power": 1.0}, r"power must be a number in \(0, 1\), got 1.0"),
        ({"alpha": 0.0}, r"alpha must be a number in \(0, 1\), got 0.0"),
        ({"power": 0.04}, "power must be greater than alpha"),
        ({"alternative": "greater"}, "alternative must be 'two-sided' or 'one-sided'"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        required_queries(**{"difference": 0.1, "std": 1.0, **options})


def test_bad_number_of_queries():
    with pytest.raises(ValueError, match="n_queries must be an integer >= 2, got 1"):
        detection_power(1, 0.1, std=1.0)
