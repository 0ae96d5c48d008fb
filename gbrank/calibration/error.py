"""How far probabilities are from what came true."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import check_integer, one_dimensional


def calibration_error(probability: ArrayLike, outcome: ArrayLike, *, n_bins: int = 10) -> float:
    """Return how far probabilities are from the shares that came true, on the mean.

    Rows are sorted by probability into bins of as many rows each; the error is the mean over rows
    of the difference between the mean probability of a bin and the share of outcomes in it.

    Parameters
    ----------
    probability : array of shape (n_rows,)
        Probabilities, in [0, 1].
    outcome : array of shape (n_rows,)
        Whether it came true: 0 or 1.
    n_bins : int >= 1, default=10
        Number of bins.

    Examples
    --------
    >>> from gbrank import calibration_error
    >>> calibration_error([0.2, 0.2, 0.7, 0.7], [0, 0, 1, 1], n_bins=2)  # off by .2 and by .3
    0.25
    """
    p = np.asarray(one_dimensional(probability, "probability"), dtype=np.float64)
    if not len(p) or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probability must be at least one number, all of them from 0 to 1")
    came_true = np.asarray(one_dimensional(outcome, "outcome"), dtype=np.float64)
    if came_true.shape != p.shape or not np.isin(came_true, (0.0, 1.0)).all():
        raise ValueError("outcome must be 0 or 1 for each probability")
    check_integer("n_bins", n_bins, low=1)
    bins = np.array_split(np.argsort(p, kind="stable"), min(n_bins, len(p)))
    return float(sum(abs(np.sum(p[rows] - came_true[rows])) for rows in bins) / len(p))
