r"""The maximum likelihood of ``P(click) = theta_k gamma_i``, by Newton's method.

In ``a = log theta`` and ``log gamma`` the likelihood

    sum  clicks (a_k + log gamma_i)  +  misses log(1 - exp(a_k + log gamma_i))

is concave. Given ``theta`` each ``gamma_i`` is the root of one increasing convex function, which
Newton's method reaches from above; what is left is concave in ``a`` alone, and its Hessian is that
of the rows less, for each item, the part that its own ``gamma`` takes up. A few steps find the
point that expectation maximisation climbs to in hundreds, which is what makes a bootstrap cheap.

Both all-pairs harvesting and the position-based model are of this form: an item is a pair of
positions in the first, and an item of a query in the second.
"""

import numpy as np

from gbrank.core import EXACT_MATH, BoolArray, FloatArray, IntArray, kernel

_MAX_STEPS = 100
_LONGEST_STEP = 2.0


@kernel(EXACT_MATH, part=True)
def _relevance(a, b, places, clicks, misses, theta):
    """Return the gamma, at most 1, that entries ``a`` to ``b`` are most likely with."""
    total = 0.0
    for i in range(a, b):
        total += clicks[i]
    if total <= 0.0:
        return 0.0
    gamma = 1.0
    for i in range(a, b):
        if misses[i] > 0.0 and theta[places[i]] > 0.0:
            # here one term of the sum alone reaches the total
            gamma = min(gamma, total / (theta[places[i]] * (total + misses[i])))
    for _ in range(100):
        value, slope = -total, 0.0
        for i in range(a, b):
            if misses[i] > 0.0:
                x = theta[places[i]] * gamma
                inverse = 1.0 / max(1.0 - x, 1e-300)
                value += misses[i] * x * inverse
                slope += misses[i] * theta[places[i]] * inverse * inverse
        if value <= 0.0 or slope <= 0.0:
            break  # at the root, or at gamma = 1 below it
        step = value / slope
        gamma -= step
        if step <= 1e-7 * gamma:  # the error left is about the square of this step
            break
    return gamma


@kernel(EXACT_MATH)
def _derivatives(bounds, places, clicks, misses, weight, theta, scratch, gradient, hessian):
    """Write the derivatives by ``log theta``, gammas at their best; return the log-likelihood."""
    gradient[:] = 0.0
    hessian[:] = 0.0
    likelihood = 0.0
    for item in range(len(bounds) - 1):
        w, a, b = weight[item], bounds[item], bounds[item + 1]
        missed = 0.0
        for i in range(a, b):
            missed += misses[i]
        # What was seen at one position only, or always clicked, is explained by its own gamma; the
        # limit of 1 on that must not move theta.
        if w == 0.0 or b - a < 2 or missed <= 0.0:
            continue
        gamma = _relevance(a, b, places, clicks, misses, theta)
        if gamma <= 0.0:
            continue
        own = 0.0
        for i in range(a, b):
            k = places[i]
            x = theta[k] * gamma
            scratch[i - a] = 0.0
            if x <= 0.0:
                continue
            if clicks[i] > 0.0:
                likelihood += w * clicks[i] * np.log(x)
            slope = 0.0
            if misses[i] > 0.0:
                rest = max(1.0 - x, 1e-300)
                likelihood += w * misses[i] * np.log(rest)
                slope = misses[i] * x / rest
                curvature = slope / rest
                scratch[i - a] = curvature
                hessian[k, k] += w * curvature
                own += curvature
            gradient[k] += w * (clicks[i] - slope)
        if gamma < 1.0 and own > 0.0:
            for i in range(a, b):
                share = w * scratch[i - a] / own
                for j in range(a, b):
                    hessian[places[i], places[j]] -= share * scratch[j - a]
    return likelihood


def most_likely(
    bounds: IntArray,
    places: IntArray,
    clicks: FloatArray,
    misses: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    free: BoolArray,
    tolerance: float = 1e-8,
) -> FloatArray:
    """Return the propensities that maximise the likelihood.

    Parameters
    ----------
    bounds, places, clicks, misses : entries of items; the position, clicks and misses of each.
    weight : weight of each item.
    start : propensities to begin with, > 0.
    free : which of them may change: all but the first position, and those that are not linked.
    tolerance : the relative change below which the last step was enough; as steps are Newton's, the
        error left is about its square.
    """
    clicked = np.bincount(places, clicks * np.repeat(weight, np.diff(bounds)), len(start))
    theta = np.where(clicked > 0, start, np.where(free, 0.0, start))
    moving = np.flatnonzero(free & (clicked > 0))
    if len(moving) == 0:
        return theta
    gradient, hessian = np.empty(len(theta)), np.empty((len(theta), len(theta)))
    scratch = np.empty(len(theta))  # an item has an entry per position at the most
    arrays = (bounds, places, clicks, misses, weight)
    value = _derivatives(*arrays, theta, scratch, gradient, hessian)
    for _ in range(_MAX_STEPS):
        inner = hessian[np.ix_(moving, moving)]
        inner[np.diag_indices_from(inner)] *= 1.0 + 1e-12
        try:
            step = np.linalg.solve(inner, gradient[moving])
        except np.linalg.LinAlgError:
            step = np.linalg.lstsq(inner, gradient[moving])[0]
        longest = float(np.abs(step).max())
        if not np.isfinite(longest):
            break
        step *= min(1.0, _LONGEST_STEP / longest) if longest > 0 else 1.0
        tried = theta.copy()
        for _ in range(40):
            tried[moving] = theta[moving] * np.exp(step)
            new = _derivatives(*arrays, tried, scratch, gradient, hessian)
            if new >= value - 1e-10 * abs(value):
                break
            step *= 0.5
        theta, value = tried, new
        if longest < tolerance:
            break
    return theta
