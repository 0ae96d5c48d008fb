"""Estimators against plain loops, against the truth of simulated logs, and in what they refuse."""

import warnings

import numpy as np
import pytest
from click_oracle import count, draw_log, expectation_maximisation, harvested_rate
from scipy.optimize import minimize

from gbrank.clicks import ClickLog, Propensities, estimate_propensities
from gbrank.clicks._likelihood import _relevance, most_likely
from gbrank.core import EXACT_MATH, kernel

HARVESTS = ("pivot", "neighbours", "all_pairs", "em")


@pytest.fixture(scope="module")
def drawn():
    return draw_log(np.random.default_rng(3), n_queries=15, n_items=5, sessions=40)


@pytest.fixture(scope="module")
def log(drawn):
    return ClickLog(*drawn[:4])


def test_pivot_and_neighbours(drawn, log):
    counts = count(*drawn[:4])
    pivot = [1] + [harvested_rate(counts, k, 1) / harvested_rate(counts, 1, k) for k in (2, 3, 4)]
    found = estimate_propensities(log, "pivot", n_bootstrap=0)
    assert found.values == pytest.approx(pivot, rel=1e-12)
    steps = [harvested_rate(counts, k + 1, k) / harvested_rate(counts, k, k + 1) for k in (1, 2, 3)]
    found = estimate_propensities(log, "neighbours", n_bootstrap=0)
    assert found.values == pytest.approx([1, *np.cumprod(steps)], rel=1e-12)


def test_all_pairs_is_the_maximum(drawn, log):
    """Maximise the likelihood of MATH over theta and r with a general optimiser."""
    counts = count(*drawn[:4])
    pairs = [(k, l) for k in range(1, 5) for l in range(k + 1, 5)]  # noqa: E741
    seen = {
        (k, l): sum((q, i, l) in counts for (q, i, p) in counts if p == k)
        for k in range(1, 5)
        for l in range(1, 5)  # noqa: E741
    }
    rate = {key: harvested_rate(counts, *key) for key in seen}

    def loss(z):
        a = np.append(0, z[:3])
        total = 0.0
        for r, (k, l) in zip(z[3:], pairs, strict=True):  # noqa: E741
            for first, second in ((k, l), (l, k)):
                log_p = min(a[first - 1] + r, -1e-12)
                clicked = rate[first, second]
                missed = seen[first, second] - clicked
                total -= clicked * log_p + missed * np.log1p(-np.exp(log_p))
        return total

    best = minimize(loss, np.full(9, -1.0), method="Nelder-Mead", options={
        "maxiter": 40_000, "maxfev": 40_000, "xatol": 1e-9, "fatol": 1e-12, "adaptive": True,
    })  # fmt: skip
    found = estimate_propensities(log, "all_pairs", n_bootstrap=0)
    assert found.values[1:] == pytest.approx(np.exp(best.x[:3]), rel=1e-4)


@kernel(EXACT_MATH)
def relevances(bounds, places, clicks, misses, theta, gamma):
    """Write the relevance of each item that its clicks are most likely with."""
    for item in range(len(bounds) - 1):
        gamma[item] = _relevance(bounds[item], bounds[item + 1], places, clicks, misses, theta)


def test_em_is_where_expectation_maximisation_goes(drawn, log):
    theta, gamma = expectation_maximisation(count(*drawn[:4]), [1, 2, 3, 4], 2_000)
    arrays = log.item_bounds, log.places, log.clicks, log.impressions - log.clicks
    free = np.array([False, True, True, True])
    found = most_likely(*arrays, np.ones(log.n_items), np.ones(4), free)
    assert found == pytest.approx(theta, rel=1e-5)
    items = drawn[1][log.first_rows]
    expected = [gamma[q, i] for q, i in zip(log.queries_of_items, items, strict=True)]
    of_items = np.empty(log.n_items)
    relevances(*arrays, found, of_items)
    assert of_items == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_few_clicks_an_item_do_not_bias_em():
    """Fifty impressions an item: the plain maximum is more than a percent low at position 2."""
    truth, errors = 1 / np.arange(1, 11), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        log = ClickLog(*draw_log(rng, 1000, 10, 50, truth)[:4])
        errors.append(estimate_propensities(log, "em", n_bootstrap=0).values / truth - 1)
    assert np.abs(np.mean(errors, axis=0)[1:4]).max() < 0.009


@pytest.mark.parametrize("method", HARVESTS)
def test_the_truth_is_found(method):
    truth = np.array([1.0, 0.6, 0.4, 0.3])
    rng = np.random.default_rng(5)
    log = ClickLog(*draw_log(rng, n_queries=150, n_items=5, sessions=60)[:4])
    found = estimate_propensities(log, method, n_bootstrap=100)
    assert found.values == pytest.approx(truth, rel=0.12)
    assert found.values[0] == found.lower[0] == found.upper[0] == 1.0
    spread = (found.upper - found.lower)[1:] / found.values[1:]
    assert (spread < 0.4).all()
    assert (spread > 0.05).all()
    assert ((found.lower <= truth * 1.05) & (truth <= found.upper * 1.05)).all()
    again = estimate_propensities(log, method, n_bootstrap=100)
    assert (again.lower == found.lower).all()


def test_features_tell_where_items_stay_in_place():
    """No item moves, so that only features relate positions; they know the relevance here."""
    rng = np.random.default_rng(0)
    n, truth = 40_000, np.array([1.0, 0.6, 0.4, 0.3])
    qid = np.repeat(np.arange(n // 4), 4)
    position = np.tile(np.arange(4), n // 4)
    gamma = rng.beta(1.5, 3, n)
    click = rng.random(n) < truth[position] * gamma
    log = ClickLog(qid, np.arange(n), position, click)
    with pytest.raises(ValueError, match="cannot tell the propensity of positions 1, 2, 3"):
        estimate_propensities(log)
    with pytest.raises(ValueError, match="needs X"):
        estimate_propensities(log, "em_features")
    with pytest.raises(ValueError, match=r"one row per row of the log: got 3 for 40000"):
        estimate_propensities(log, "em_features", X=np.ones((3, 1)))
    found = estimate_propensities(log, "em_features", X=gamma[:, None])
    assert found.values == pytest.approx(truth, rel=0.15)
    assert found.lower is None


def test_items_seen_once_do_not_move_em(drawn, log):
    """Clicked or not, what was seen at one position says nothing about positions."""
    qid, item, position, click, _ = drawn
    more = np.arange(300)
    again = ClickLog(
        np.append(qid, more % 15),
        np.append(item, 1000 + more),
        np.append(position, 1 + more % 4),
        np.append(click, more % 3 == 0),
    )
    arrays = [
        most_likely(
            each.item_bounds,
            each.places,
            each.clicks,
            each.impressions - each.clicks,
            np.ones(each.n_items),
            np.ones(4),
            np.array([False, True, True, True]),
        )
        for each in (log, again)
    ]
    assert arrays[1] == pytest.approx(arrays[0], rel=1e-9)


def test_cut_off_positions(drawn):
    qid, item, position, click, _ = drawn
    apart = np.where(position == 3, item + 100, item)  # what position 3 shows is nowhere else
    log = ClickLog(qid, apart, position, click)
    for method, cut in (("all_pairs", "3"), ("em", "3"), ("pivot", "3"), ("neighbours", "3, 4")):
        with pytest.raises(ValueError, match=rf"propensity of positions {cut}: no item"):
            estimate_propensities(log, method)
    with pytest.warns(UserWarning, match=r"positions 3: .* interpolated"):
        found = estimate_propensities(log, unconnected="interpolate", n_bootstrap=20)
    assert found.interpolated.tolist() == [False, False, True, False]
    assert found.values[2] == pytest.approx(np.sqrt(found.values[1] * found.values[3]))


def test_a_position_without_clicks(drawn):
    qid, item, position, click, _ = drawn
    log = ClickLog(qid, item, position, np.where(position == 2, 0, click))
    for method in HARVESTS:
        with pytest.raises(ValueError, match=r"needs a click, but 2 have none.*would be 0"):
            estimate_propensities(log, method)


def test_monotone():
    rows = [("a", 1, 10, 100), ("a", 2, 3, 100), ("a", 3, 5, 100)]
    item, position, click, shown = zip(*rows, strict=True)
    log = ClickLog(["q"] * 3, item, position, click, shown)
    free = estimate_propensities(log, "pivot", n_bootstrap=0)
    assert free.values == pytest.approx([1, 0.3, 0.5])
    held = estimate_propensities(log, "pivot", monotone=True, n_bootstrap=0)
    assert held.values == pytest.approx([1, 0.4, 0.4])


def test_weights_and_files(tmp_path):
    given = Propensities([3, 1, 2], [0.25, 1.0, 0.5], [0.2, 1, 0.4], [0.3, 1, np.nan], method="m")
    assert given.positions.tolist() == [1, 2, 3]
    assert given.weights().tolist() == [1, 2, 4]
    assert given.weights(clip=0.4).tolist() == [1, 2, 2.5]
    assert given.weights([3, 3, 1]).tolist() == [4, 4, 1]
    given.save(tmp_path / "p.json")
    again = Propensities.load(tmp_path / "p.json")
    for name in ("positions", "values", "lower", "upper", "interpolated"):
        assert np.array_equal(getattr(again, name), getattr(given, name), equal_nan=name == "upper")
    assert (again.method, again.confidence) == ("m", 0.95)
    for text in ("{}", "no json", '{"format": "gbrank propensities", "positions": [1]}', "[1]"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match=r"bad\.json"):
            Propensities.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 0]), r"that of position 2 is 0: no weight makes up"),
        (([1, 1], [1, 1]), r"positions must be at least one, and different"),
        (([1, 2], [1, np.nan]), r"that of position 2 is nan"),
        (([1, 2], [1]), r"values must be as many as positions, 2, got 1"),
    ],
)
def test_refused_propensities(arguments, message):
    with pytest.raises(ValueError, match=message):
        Propensities(*arguments)


def test_unknown_positions():
    with pytest.raises(ValueError, match=r"with a propensity, 1, 2, but row 1 has 7"):
        Propensities([1, 2], [1, 0.5]).at([1, 7])
    with pytest.raises(ValueError, match=r"clip must be a number in \[0, 1\], got 2"):
        Propensities([1, 2], [1, 0.5]).weights(clip=2)


def test_wrong_arguments(log):
    with pytest.raises(ValueError, match="method must be 'all_pairs' or"):
        estimate_propensities(log, "magic")
    with pytest.raises(TypeError, match="log must be a ClickLog, got list"):
        estimate_propensities([1])
    with pytest.raises(ValueError, match="X and regressor are for method='em_features'"):
        estimate_propensities(log, X=np.ones((3, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate_propensities(log, n_bootstrap=2)
