"""Random numbers: counter-based ones inside kernels, whole arrays of NumPy outside.

Those of kernels are a pure function of (seed, iteration, query, document): the same whatever the
number of threads, the order of queries, and whether training was interrupted in between.
"""

import numpy as np

from gbrank.core.kernels import EXACT_MATH, kernel
from gbrank.core.typing import FloatArray, IntArray


@kernel(EXACT_MATH)
def _mix64(z):
    """Scramble 64 bits (the finaliser of splitmix64: Steele, Lea and Flood, 2014)."""
    z = np.uint64(z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = np.uint64(z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@kernel(EXACT_MATH)
def random_key(seed, iteration, query):
    """Return the key of one query at one boosting iteration, as two 32-bit halves."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    z = _mix64(np.uint64(seed) + golden)
    z = _mix64(np.uint64(z ^ np.uint64(iteration)) + golden)
    z = _mix64(np.uint64(z ^ np.uint64(query)) + golden)
    return np.uint32(z), np.uint32(z >> np.uint64(32))


@kernel(EXACT_MATH)
def random_bits(key_low, key_high, document):
    """Return an integer of 31 random bits for one document of the query of a key.

    A 32-bit mixer (constants: Wellons, hash-prospector) keyed with both halves; 32-bit
    multiplications vectorise on every CPU with SSE4, 64-bit ones only with AVX-512.

    >>> from gbrank.core.rng import random_bits, random_key
    >>> 0 <= int(random_bits(*random_key(0, 0, 0), 0)) < 2**31
    True
    """
    z = np.uint32(np.uint32(document) * np.uint32(0x9E3779B9) + np.uint32(key_low))
    z = np.uint32(z ^ (z >> np.uint32(16)))
    z = np.uint32(z * np.uint32(0x21F0AAAD))
    z = np.uint32(z ^ (z >> np.uint32(15)) ^ np.uint32(key_high))
    z = np.uint32(z * np.uint32(0x735A2D97))
    z = np.uint32(z ^ (z >> np.uint32(15)))
    return np.int32(z >> np.uint32(1))


@kernel(EXACT_MATH)
def random_uniform(key_low, key_high, document):
    """Return a number in [0, 1), a multiple of 2^-31, for one document of the query of a key.

    >>> from gbrank.core.rng import random_key, random_uniform
    >>> u = float(random_uniform(*random_key(0, 0, 0), 0))
    >>> 0.0 <= u < 1.0
    True
    """
    return np.float64(random_bits(key_low, key_high, document)) * (1.0 / 2147483648.0)


def draw_categories(
    probabilities: FloatArray, size: int, generator: np.random.Generator
) -> IntArray:
    """Draw ``size`` numbers 0, 1, ... with the given probabilities."""
    cumulated = np.cumsum(probabilities)
    cumulated /= cumulated[-1]  # exactly 1, so that no draw falls beyond the last category
    return np.searchsorted(cumulated, generator.random(size), side="right").astype(np.int64)
