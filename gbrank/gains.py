"""What labels are worth at which ranks: the public names of :mod:`gbrank.core.gains`."""

from gbrank.core import (
    PowerDiscount,
    compute_discounts,
    compute_gains,
    corrected_gain,
    correction_variance,
)

__all__ = [
    "PowerDiscount",
    "compute_discounts",
    "compute_gains",
    "corrected_gain",
    "correction_variance",
]
