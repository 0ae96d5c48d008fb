"""Elementary functions against exact decimals; random numbers against plain integer arithmetic."""

import math
import re
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numba import njit
from scipy import stats

from gbrank.core.fastmath import exp, exp32, extremes, log, sigmoid
from gbrank.core.kernels import EXACT_MATH, LOOP_MATH
from gbrank.core.rng import random_key, random_uniform

LN_2 = math.log(2)


@njit
def _apply_exp(x, out):
    for i in range(len(x)):
        out[i] = exp(x[i])


@njit
def _apply_exp32(x, out):
    for i in range(len(x)):
        out[i] = exp32(x[i])


@njit
def _apply_sigmoid(x, out):
    for i in range(len(x)):
        out[i] = sigmoid(x[i])


@njit
def _apply_log(x, out):
    for i in range(len(x)):
        out[i] = log(x[i])


def apply(loop, x):
    out = np.empty_like(x)
    loop(x, out)
    return out


def largest_relative_error(values, x, exact):
    """Return the largest error relative to ``exact``, a function of decimals."""
    with localcontext() as context:
        context.prec = 40
        return max(
            abs(float((Decimal(value) - truth) / truth)) if (truth := exact(Decimal(point))) else 0
            for point, value in zip(x.tolist(), values.tolist(), strict=True)
        )


def arguments(low, high):
    """Return points all over an interval, and those where reducing by ln 2 is hardest."""
    generator = np.random.default_rng(0)
    steps = np.arange(-2050, 2051) * (LN_2 / 2)
    tiny = np.ldexp(generator.uniform(-1, 1, 300), generator.integers(-1070, 0, 300))
    points = np.concatenate(
        [
            generator.uniform(low, high, 8000),
            generator.uniform(-2, 2, 2000),
            np.arange(-745.0, 746.0),
            *(np.nextafter(steps, toward) for toward in (-np.inf, np.inf)),
            tiny,
            [low, high, 0.0, -0.0, 5e-324, -5e-324],
        ]
    )
    return points[(points >= low) & (points <= high)]


def test_error_of_exp():
    x = arguments(-708.0, 709.0)
    assert largest_relative_error(apply(_apply_exp, x), x, Decimal.exp) < 1e-15


def test_exp_beyond_its_range():
    e_709 = math.exp(709)
    for x in (709.0, np.nextafter(709, 1e3), 710.0, 1e3, 1e300, np.inf):
        assert exp(x) == pytest.approx(e_709, rel=1e-15)
    for x in (np.nextafter(-708, -1e3), -709.0, -1e3, -1e300, -np.inf):
        assert exp(x) == 0.0
    assert exp(0.0) == exp(-0.0) == exp(5e-324) == 1.0


def test_error_of_exp32():
    # every 997th float32 from -0 to -87
    bits = np.arange(0x80000000, np.float32(-87.0).view(np.uint32) + 1, 997, dtype=np.uint32)
    x = np.append(bits.view(np.float32), np.float32([-87.0, 0.0]))
    exact = np.exp(x.astype(np.float64))
    values = apply(_apply_exp32, x)
    assert values.dtype == np.float32
    assert np.abs(values / exact - 1.0).max() < 3e-7


def test_exp32_below_its_range():
    below = np.nextafter(np.float32(-87), np.float32(-88))
    for x in (below, np.float32(-1000), np.float32(-3e38), np.float32(-np.inf)):
        assert exp32(x) == 0.0
    assert exp32(np.float32(0.0)) == exp32(np.float32(-1e-45)) == 1.0


def test_error_of_sigmoid():
    x = arguments(-709.0, 709.0)
    values = apply(_apply_sigmoid, x)
    assert largest_relative_error(values, x, lambda t: 1 / (1 + (-t).exp())) < 1e-15
    np.testing.assert_allclose(values + apply(_apply_sigmoid, -x), 1.0, rtol=0, atol=4e-16)


def test_sigmoid_beyond_its_range():
    for x in (710.0, 1e3, 1e300, np.inf):
        assert sigmoid(x) == 1.0
        # as far as float64 can tell, 0; but not 0, so that its logarithm is finite
        assert 0.0 < sigmoid(-x) < 2e-308


def test_error_of_log():
    generator = np.random.default_rng(1)
    near_one = 1.0 + np.ldexp(generator.uniform(-1, 1, 3000), generator.integers(-52, 0, 3000))
    turns = np.sqrt(0.5) * 2.0 ** np.arange(-1000, 1000, 7)
    x = np.concatenate(
        [
            np.ldexp(generator.uniform(1, 2, 5000), generator.integers(-1022, 1024, 5000)),
            generator.uniform(0, 4, 2000),
            near_one[near_one > 0],
            *(np.nextafter(turns, toward) for toward in (0.0, np.inf)),
            2.0 ** np.arange(-1022, 1024),
            [np.finfo(float).max, np.finfo(float).tiny],
        ]
    )
    assert largest_relative_error(apply(_apply_log, x), x, Decimal.ln) < 3e-16


def test_log_beyond_its_range():
    for x in (0.0, -0.0, 5e-324, 2.0**-1023, 2.0**-1022):
        assert log(x) == pytest.approx(-1022 * LN_2, rel=1e-15)
    assert log(np.inf) == pytest.approx(1024 * LN_2, rel=1e-15)
    assert log(1.0) == 0.0


@pytest.mark.parametrize("flags", [LOOP_MATH, EXACT_MATH], ids=["loop", "exact"])
@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (exp, "double"),
        (sigmoid, "double"),
        (log, "double"),
        (exp32, "float"),
    ],
    ids=["exp", "sigmoid", "log", "exp32"],
)
def test_loops_vectorise(function, dtype, flags):
    """One branch or one call too many, and a loop runs element by element: slower, not wrong."""

    def loop(x, out):
        for i in range(len(x)):
            out[i] = function(x[i])

    compiled = njit(fastmath=set(flags), error_model="numpy")(loop)
    x = np.zeros(8, dtype=np.float64 if dtype == "double" else np.float32)
    compiled(x, x.copy())
    assert re.search(rf"fmul [a-z ]*<\d+ x {dtype}>", compiled.inspect_llvm(compiled.signatures[0]))


@njit
def _extremes(values):
    return extremes(values)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 33, 1000])
def test_extremes(size):
    rng = np.random.default_rng(size)
    rows = [
        rng.normal(size=size),
        -rng.uniform(size=size),
        rng.choice([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf], size),
        np.full(size, -0.0),
        np.full(size, -np.inf),
    ]
    for values in rows:
        assert _extremes(values) == (values.min(), values.max())
        assert _extremes(values[::-1]) == (values.min(), values.max())


def test_extremes_are_found_in_vectors():
    _extremes(np.zeros(8))
    for signature in _extremes.signatures:
        assert re.search(r"<\d+ x i64>", _extremes.inspect_llvm(signature))


# --- random numbers ---------------------------------------------------------------------------


@njit
def _draw(seeds, iterations, queries, n_documents):
    out = np.empty((len(seeds), n_documents))
    for row in range(len(seeds)):
        low, high = random_key(seeds[row], iterations[row], queries[row])
        for i in range(n_documents):
            out[row, i] = random_uniform(low, high, i)
    return out


def draw(seeds, iterations, queries, n_documents):
    columns = np.broadcast_arrays(*map(np.atleast_1d, (seeds, iterations, queries)))
    return _draw(*(np.array(column, dtype=np.int64) for column in columns), n_documents)


def scramble(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def slow_key(seed, iteration, query):
    z = 0
    for number in (seed, iteration, query):
        z = scramble(((z ^ number) + 0x9E3779B97F4A7C15) % 2**64)
    return z % 2**32, z >> 32


def slow_uniform(low, high, document):
    z = (document * 0x9E3779B9 + low) % 2**32
    z = ((z ^ (z >> 16)) * 0x21F0AAAD) % 2**32
    z = ((z ^ (z >> 15) ^ high) * 0x735A2D97) % 2**32
    return ((z ^ (z >> 15)) >> 1) / 2**31


CORNERS = [(0, 0, 0), (2**32 - 1, 10**6, 10**9), (1, 2, 3), (7, 2**40, 2**62)]


@pytest.mark.parametrize("place", CORNERS)
def test_numbers_are_a_function_of_their_place(place):
    """The same inside a kernel, from Python, and in integers without end."""
    key = slow_key(*place)
    assert tuple(map(int, random_key(*place))) == key
    expected = [slow_uniform(*key, document) for document in range(50)]
    assert draw(*place, 50)[0].tolist() == expected
    assert [random_uniform(*random_key(*place), document) for document in range(50)] == expected


@pytest.mark.parametrize("document", [10**5, 10**7, 2**31 - 1, 2**31, 2**32 - 1])
def test_numbers_of_documents_far_down(document):
    key = slow_key(3, 1, 4)
    for low, high in (key, (np.uint32(key[0]), np.uint32(key[1]))):
        assert random_uniform(low, high, document) == slow_uniform(*key, document)


def test_numbers_do_not_depend_on_integer_types():
    expected = random_key(5, 6, 7)
    for integer in (np.int32, np.uint32, np.int64, np.uint64):
        assert random_key(integer(5), integer(6), integer(7)) == expected


def weyl(seeds, iterations, queries, n_documents):
    """A bad generator: multiples of the golden ratio, which fill [0, 1) all too evenly."""
    seeds, iterations, queries = np.broadcast_arrays(seeds, iterations, queries)
    starts = ((seeds + iterations + queries) * 0.7548776662)[:, None]
    return (starts + np.arange(n_documents) * 0.6180339887) % 1.0


def shared(seeds, iterations, queries, n_documents):
    """A bad generator: the same numbers for any two queries 64 apart."""
    seeds, iterations, queries = np.broadcast_arrays(seeds, iterations, queries)
    return draw(seeds % 64, iterations % 64, queries % 64, n_documents)


def smallest_p_value(u):
    """Test rows of numbers for uniformity, and for independence along and between rows."""

    def pair_p_value(first, second):
        cells = (first * 16).astype(int) * 16 + (second * 16).astype(int)
        return stats.chisquare(np.bincount(cells.ravel(), minlength=256)).pvalue

    bits = (u.ravel() * 2**31).astype(np.int64)
    n_rows, n_documents = u.shape
    p_values = [
        stats.chisquare(np.bincount(bits >> 21, minlength=1024)).pvalue,
        stats.chisquare(np.bincount(bits & 1023, minlength=1024)).pvalue,
        stats.kstest(u.ravel(), "uniform").pvalue,
        stats.kstest((u.mean(axis=1) - 0.5) * math.sqrt(12 * n_documents), "norm").pvalue,
        stats.kstest((u.mean(axis=0) - 0.5) * math.sqrt(12 * n_rows), "norm").pvalue,
    ]
    for lag in (1, 2, 3, 7, 64):
        p_values.append(pair_p_value(u[:, :-lag], u[:, lag:]))
        p_values.append(pair_p_value(u[:-lag], u[lag:]))
        for first, second in ((u[:, :-lag], u[:, lag:]), (u[:-lag], u[lag:])):
            p_values.append(stats.pearsonr(first.ravel(), second.ravel()).pvalue)
    return min(p_values)


COUNT = np.arange(2000)
PLACES = {
    "queries": (0, 0, COUNT),
    "iterations": (0, COUNT, 0),
    "seeds": (COUNT, 0, 0),
    "largest seeds": (2**32 - 1 - COUNT, 0, 0),
    "all together": (COUNT, COUNT, COUNT),
    "queries far apart": (42, 100, COUNT * 2**20),
}


@pytest.mark.parametrize("place", PLACES)
def test_numbers_are_uniform_and_independent(place):
    u = draw(*PLACES[place], 128)
    assert u.min() >= 0.0
    assert u.max() < 1.0
    np.testing.assert_array_equal(u * 2**31 % 1.0, 0.0)  # NaN would not be 0 either
    # 25 tests, each of which a perfect generator fails once in 10,000 times
    assert smallest_p_value(u) > 1e-4


@pytest.mark.parametrize("bad", [weyl, shared])
def test_the_tests_of_randomness_can_fail(bad):
    assert smallest_p_value(bad(*PLACES["queries"], 128)) < 1e-12


def test_numbers_of_a_long_list():
    """The documents of one query share a key: among a million of them nothing may show."""
    u = draw(1, 2, 3, 1_000_000)[0]
    assert stats.chisquare(np.bincount((u * 4096).astype(int), minlength=4096)).pvalue > 1e-4
    for lag in (1, 2, 3, 5, 8, 1024, 65536):
        cells = (u[:-lag] * 32).astype(int) * 32 + (u[lag:] * 32).astype(int)
        assert stats.chisquare(np.bincount(cells, minlength=1024)).pvalue > 1e-4


@pytest.mark.parametrize("other", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_every_part_of_the_place_counts(other):
    one, two = draw(0, 0, 0, 10_000)[0], draw(*other, 10_000)[0]
    assert np.mean(one == two) < 0.001
    assert stats.pearsonr(one, two).pvalue > 1e-4
    # neither does one list start somewhere inside the other
    assert len(np.intersect1d(one, two)) < 5


def test_seed_iteration_and_query_are_not_added_up():
    places = [(s, i, q) for s in range(12) for i in range(12) for q in range(12)]
    assert len({tuple(random_key(*place)) for place in places}) == 12**3
