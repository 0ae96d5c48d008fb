"""Timing of alternatives in one run: interleaved, so that a slow moment of the machine hits all."""

import time
from collections.abc import Callable, Mapping

import numpy as np


def interleave(
    alternatives: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 2
) -> dict[str, np.ndarray]:
    """Return the seconds of each call, the alternatives taking turns for ``rounds`` rounds."""
    for _ in range(warm_up):
        for run in alternatives.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(rounds):
        for name, run in alternatives.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def ratio_with_interval(
    numerator: np.ndarray, denominator: np.ndarray, seed: int = 0
) -> tuple[float, float, float]:
    """Return the ratio of medians of paired timings, with a 95% bootstrap interval over pairs."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(numerator), size=(2000, len(numerator)))
    ratios = np.median(numerator[picks], axis=1) / np.median(denominator[picks], axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(np.median(numerator) / np.median(denominator)), float(low), float(high)
