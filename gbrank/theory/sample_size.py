r"""How many queries it takes to see a difference between two rankers.

The paired t-test over n queries, whose differences have mean :math:`\delta` and standard deviation
:math:`\sigma`, compares with Student's t a statistic that follows the noncentral t distribution
with n - 1 degrees of freedom and noncentrality :math:`\delta \sqrt n / \sigma`. Its power is the
probability that the statistic passes the critical value. Differences of NDCG are not normal, but
the mean of some thirty of them nearly is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import check_choice, check_integer, check_number

#: More queries than this are not counted out.
_MOST_QUERIES = 2**53


def required_queries(
    difference: float,
    *,
    std: float | None = None,
    differences: ArrayLike | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: str = "two-sided",
) -> int:
    """Return how many queries the paired t-test needs to see a difference between two rankers.

    Parameters
    ----------
    difference : the true difference of mean NDCG (or of any metric) that is to be seen.
    std : standard deviation, over queries, of the difference between the two; or
    differences : differences in a few queries, from which it is estimated, such as
        ``compare(...)["a", "b"].differences``; those that are NaN are left out. Exactly one of
        the two must be given.
    power : probability with which the test shall find the difference.
    alpha : probability with which it may find one where there is none.
    alternative : "two-sided", or "one-sided" if only one of the two rankers can be better.

    References
    ----------
    J. Cohen, "Statistical power analysis for the behavioral sciences", 1988, chapter 2.

    Examples
    --------
    >>> from gbrank.theory import required_queries
    >>> required_queries(0.01, std=0.1)
    787
    >>> required_queries(0.05, differences=[0.1, -0.2, 0.3, 0.1, 0.0, -0.1])
    99
    """
    effect = _effect(difference, std, differences)
    check_number("power", power, low=0.0, high=1.0, low_open=True, high_open=True)
    _check_test(alpha, alternative)
    if power <= alpha:
        raise ValueError(f"power must be greater than alpha, got power={power}, alpha={alpha}")
    if effect == math.inf:
        return 2
    enough = 2
    while _power(enough, effect, alpha, alternative) < power:
        enough *= 2
        if enough > _MOST_QUERIES:
            raise ValueError(
                f"difference={difference:g} is too small to be seen with any number of queries: "
                f"it is {effect:.2g} standard deviations"
            )
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if _power(middle, effect, alpha, alternative) < power:
            too_few = middle
        else:
            enough = middle
    return enough


def detection_power(
    n_queries: int,
    difference: float,
    *,
    std: float | None = None,
    differences: ArrayLike | None = None,
    alpha: float = 0.05,
    alternative: str = "two-sided",
) -> float:
    """Return the probability that the paired t-test sees a difference in ``n_queries`` queries.

    Parameters
    ----------
    n_queries : number of queries, at least 2.
    difference, std, differences, alpha, alternative : as in :func:`required_queries`.

    Examples
    --------
    >>> from gbrank.theory import detection_power
    >>> round(detection_power(787, 0.01, std=0.1), 3)
    0.8
    """
    check_integer("n_queries", n_queries, low=2)
    effect = _effect(difference, std, differences)
    _check_test(alpha, alternative)
    return 1.0 if effect == math.inf else _power(int(n_queries), effect, alpha, alternative)


def _power(n: int, effect: float, alpha: float, alternative: str) -> float:
    from scipy import stats

    shift = effect * math.sqrt(n)
    critical = stats.t.isf(alpha / 2 if alternative == "two-sided" else alpha, n - 1)
    above = stats.nct.sf(critical, n - 1, shift)
    if math.isnan(above):  # SciPy gives up on far shifts, where the statistic is all but normal
        above = stats.norm.sf(critical - shift)
    below = stats.nct.cdf(-critical, n - 1, shift) if alternative == "two-sided" else 0.0
    return float(min(1.0, above + (0.0 if math.isnan(below) else below)))


def _effect(difference: Any, std: Any, differences: Any) -> float:
    """Return the difference in standard deviations."""
    check_number("difference", difference)
    if difference == 0:
        raise ValueError(f"difference must be a number other than 0, got {difference!r}")
    if (std is None) == (differences is None):
        got = "neither" if std is None else "both"
        raise ValueError(f"give either std or differences, got {got}")
    if std is None:
        pilot = np.asarray(differences, dtype=np.float64)
        if pilot.ndim != 1:
            raise ValueError(f"differences must be one-dimensional, got shape {pilot.shape}")
        pilot = pilot[~np.isnan(pilot)]
        if len(pilot) < 2 or not np.isfinite(pilot).all():
            raise ValueError(
                f"differences must hold at least two finite numbers, got {len(pilot)} that are "
                "not NaN"
            )
        std = float(pilot.std(ddof=1))
    check_number("std", std, low=0.0)
    return math.inf if std == 0 else abs(float(difference)) / float(std)


def _check_test(alpha: Any, alternative: Any) -> None:
    check_number("alpha", alpha, low=0.0, high=1.0, low_open=True, high_open=True)
    check_choice("alternative", alternative, ("two-sided", "one-sided"))
