"""How ``random_state`` and probabilities are read, where whole arrays are drawn at once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.layout import FloatArray, IntArray


def check_random_state(random_state: Any) -> np.random.Generator:
    """Return the generator that ``random_state`` stands for.

    Parameters
    ----------
    random_state : a whole number >= 0 (the same numbers every time), ``None`` (other numbers every
        time), or a ``numpy.random.Generator``, which is used as it is and moves on.

    Examples
    --------
    >>> from gbrank._random import check_random_state
    >>> int(check_random_state(0).integers(100)) == int(check_random_state(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    is_number = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not is_number or random_state < 0:
        raise ValueError(
            "random_state must be a whole number >= 0, None or a numpy.random.Generator, "
            f"got {random_state!r}"
        )
    return np.random.default_rng(int(random_state))


def check_probabilities(probabilities: ArrayLike, name: str) -> FloatArray:
    """Return probabilities that sum to 1; refuse negative ones, and those that do not."""
    try:
        values = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, got {probabilities!r}") from None
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be one row of numbers, got shape {values.shape}")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{name} must be finite and >= 0, but {name}[{at}] is {values[at]:g}")
    if abs(values.sum() - 1.0) > 1e-8:
        raise ValueError(f"{name} must sum to 1, they sum to {values.sum():g}")
    normalised: FloatArray = values / values.sum()
    return normalised


def draw_categories(
    probabilities: FloatArray, size: int, generator: np.random.Generator
) -> IntArray:
    """Draw ``size`` numbers 0, 1, ... with the given probabilities."""
    cumulated = np.cumsum(probabilities)
    cumulated /= cumulated[-1]  # exactly 1, so that no draw falls beyond the last category
    return np.searchsorted(cumulated, generator.random(size), side="right").astype(np.int64)
