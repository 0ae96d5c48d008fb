"""Gains of labels and discounts of ranks: the public door to ``gbrank.gains``."""

from gbrank.core import (
    PowerDiscount,
    compute_discounts,
    compute_gains,
    corrected_gain,
    correction_variance,
    ideal_dcg,
)

__all__ = [
    "PowerDiscount",
    "compute_discounts",
    "compute_gains",
    "corrected_gain",
    "correction_variance",
    "ideal_dcg",
]
