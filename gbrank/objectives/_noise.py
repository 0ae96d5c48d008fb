"""Noise that is added to scores: one number for a document of a query, from the counter."""

import numpy as np

from gbrank.core import EXACT_MATH, kernel, log, random_uniform

#: What ``noise=`` takes, and the number by which kernels know it.
NOISES = {"gumbel": 0, "logistic": 1, "normal": 2}
# Uniform numbers are multiples of 2^-31 from 0; half a step more keeps logarithms finite.
_HALF_STEP = 2.0**-32


@kernel(EXACT_MATH)
def draw_noise(kind, low, high, document):
    """Return noise of scale 1; ``low`` and ``high`` are the key of the query and the draw."""
    u = random_uniform(low, high, 2 * document) + _HALF_STEP
    if kind == 0:
        return -log(-log(u))
    if kind == 1:
        return log(u) - log(1.0 - u)
    angle = 2.0 * np.pi * random_uniform(low, high, 2 * document + 1)
    return np.sqrt(-2.0 * log(u)) * np.cos(angle)
