r"""Where NDCG goes as lists grow: its limits, and what to expect of a list of n documents.

A ranker is described by its relevance profile: the probability of each label given the quantile
s of the document's score, s = 1 being the top of the list. With gains :math:`y_1 > y_2 > \dots`,
:math:`R_j = P(Y \ge y_j)`, :math:`g(s) = E[Y \mid s]` and n independent documents, NDCG tends to

=================  ===================================================  ==============
discount D(r)      limit, cut-off k = c n (c = 1: none)                 theorems
=================  ===================================================  ==============
1 / log(1 + r)     the next line with beta = 0; for c = 1 that is 1     4, 12, 16
r^-beta, beta < 1  (1 - beta) int_{1-c}^1 g(s) (1 - s)^-beta ds         7, 13, 14, 17
                   / sum_j y_j (min(R_j, c)^(1-beta)
                   - min(R_{j-1}, c)^(1-beta))
1 / r              g(1) / y_1, whatever c is                            9
any, k = o(n)      g(1) / y_1, if k and the sum of D grow unboundedly   11, 15
sum of D finite    none: such an NDCG does not converge                 10
=================  ===================================================  ==============

The logarithmic and Zipf discounts approach their limits only as fast as 1 / log n does, the others
as fast as a power of n. For a list of a given length the pseudo-expectation (definition 20) is
therefore the better guess.

Reference: Wang, Wang, Li, He, Chen, Liu, A theoretical analysis of NDCG ranking measures, COLT
2013. That a fraction c leaves Zipf's limit as it is, and that graded labels have the limit
g(1) / y_1 there too, follows from theorem 17 with beta -> 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    DISCOUNTS,
    DiscountSpec,
    GainSpec,
    PowerDiscount,
    check_integer,
    compute_discounts,
)
from gbrank.metrics import check_cutoff, cutoffs
from gbrank.theory.profile import RelevanceProfile

#: Panels and nodes of the quadrature. A kink of the profile inside a panel costs about 1e-6.
_PANELS, _NODES = 400, 8

#: Integrals that differ by less, relative to the mean gain, are equal: what quadrature leaves open.
_SAME_SHARE = 1e-5
_LARGEST_POWER = 8

ProfileSpec = RelevanceProfile | ArrayLike | Callable[[Any], ArrayLike]


def ndcg_limit(
    profile: ProfileSpec,
    *,
    discount: DiscountSpec = "log",
    k: float | str | None = None,
    gain: GainSpec = "exp",
) -> float:
    """Return the limit of a ranker's NDCG as its list grows.

    Parameters
    ----------
    profile : a :class:`~gbrank.theory.profile.RelevanceProfile`, or what its constructor takes: a
        function from score quantiles to probabilities of relevance, or an array of these.
    discount : "log", "power" (``rank^-1/2``), ``PowerDiscount(beta)`` with beta <= 1, or "zipf";
        with ``k="o(n)"`` also a function whose sum over all ranks is infinite.
    k : None for the whole list; a fraction c in (0, 1] for the cut-off k = c n; "o(n)" for any
        cut-off that grows without bound, but more slowly than the list.
    gain : gain of labels, for a profile that is not yet a ``RelevanceProfile``.

    Raises
    ------
    ValueError
        Where there is no limit: a discount whose sum over all ranks is finite, or a fixed cut-off.

    References
    ----------
    Wang, Wang, Li, He, Chen and Liu, "A theoretical analysis of NDCG ranking measures", 2013,
    theorems 4, 7, 9 and 11 to 17.

    Examples
    --------
    The better its score, the more often a document is relevant: never at the bottom, always at the
    top of the list.

    >>> from gbrank.theory import ndcg_limit
    >>> def profile(quantile):
    ...     return quantile
    >>> round(ndcg_limit(profile, discount="log"), 6)  # for any profile
    1.0
    >>> round(ndcg_limit(profile, discount="power"), 6)  # (2 - 2/3) / 2 / (1/2)^(1/2)
    0.942809
    >>> round(ndcg_limit(profile, discount="log", k=0.2), 6)  # 1 - 0.2/2
    0.9
    """
    found = RelevanceProfile.of(profile, gain)
    beta = _decay_with_limit(discount, k)
    if beta == 1 or k == "o(n)":
        return float(found.expected_gain([1.0])[0] / found.steps[0][0])
    c = 1.0 if k is None else float(k)
    power = 1.0 - beta
    # With u = t^(1 - beta), t = 1 - s, the integrand has no pole
    reached = _integrate(lambda u: found.expected_gain(1.0 - u ** (1.0 / power)), 0.0, c**power)
    gains, ends = found.steps
    best = gains @ np.diff(np.minimum(ends, c) ** power)
    return float(reached / best)


def pseudo_expectation(
    profile: ProfileSpec,
    n: int,
    *,
    discount: DiscountSpec = "log",
    k: int | float | None = None,
    gain: GainSpec = "exp",
) -> float:
    r"""Return about what NDCG to expect of a ranker on a list of ``n`` documents.

    The normalised pseudo-expectation puts the expected gain at each rank r at the quantile
    1 - r / n, and integrals for the sums over ranks:

    .. math:: N(n) = \int_1^k g(1 - s/n) D(s) ds \Big/
              \sum_j y_j (F(\min(n R_j, k)) - F(\min(n R_{j-1}, k))), \quad F(t) = \int_1^t D(s) ds

    For the logarithmic discount it differs from expected NDCG by no more than a multiple of
    n^(-1/3), up to logarithms (lemma 21), and in practice far less. The paper defines it for binary
    labels and whole lists; grades and cut-offs enter here as they do in the limits. The integrals
    leave out half of the first rank, so it says little about discounts that put most weight there
    ("zipf" at moderate n, "exp" at any).

    Parameters
    ----------
    profile, discount, gain : as in :func:`ndcg_limit`; any discount will do, but a function must
        take ranks that are not whole.
    n : number of documents, large enough that one relevant document is expected among them.
    k : cut-off: None, an integer, or a fraction of the list in (0, 1].

    References
    ----------
    Wang, Wang, Li, He, Chen and Liu, "A theoretical analysis of NDCG ranking measures", 2013,
    definition 20, lemmas 21 and 23.

    Examples
    --------
    >>> from gbrank.theory import pseudo_expectation
    >>> round(pseudo_expectation(lambda quantile: 0.2 + 0.6 * quantile, 100), 4)
    0.9064
    """
    found = RelevanceProfile.of(profile, gain)
    check_integer("n", n, low=2)
    compute_discounts(2, discount)  # checks it
    weight: Any = DISCOUNTS[discount] if isinstance(discount, str) else discount
    deepest = float(min(n, cutoffs(np.array([n]), check_cutoff(k))[0]))

    def area(gain_at: Callable[[Any], Any], end: float) -> float:
        """Integrate over ranks from 1 to ``end``, evenly in their logarithms."""
        return _integrate(
            lambda v: gain_at(np.exp(v)) * weight(np.exp(v)) * np.exp(v), 0.0, math.log(end)
        )

    reached = area(lambda rank: found.expected_gain(np.maximum(1.0 - rank / n, 0.0)), deepest)
    gains, ends = found.steps
    areas = [area(np.ones_like, end) for end in np.clip(n * ends, 1.0, deepest)]
    best = gains @ np.diff(areas)
    if not best > 0:
        raise ValueError(
            f"n={n} documents (k={k!r}) are too few for the pseudo-expectation: not even one "
            f"relevant document below the first rank is expected"
        )
    return float(reached / best)


def ndcg_difference_rate(
    profile_a: ProfileSpec, profile_b: ProfileSpec, *, gain: GainSpec = "exp"
) -> tuple[int, float]:
    r"""Return K and a: with the logarithmic discount NDCGs of two rankers differ by a / log(n)^K.

    To this order, for lists of n documents (lemma 22, of the pseudo-expectations). With g_a and g_b
    the expected gains at a quantile and E[Y] the mean gain,

    .. math:: a = \frac{1}{E[Y]} \int_0^1 (g_a - g_b)(1 - t) (-\log t)^K dt

    and K is the first power for which this is not 0: 1 for most pairs, as both rank the same
    documents. The paper leaves out :math:`1 / E[Y]`, which is 1/p for binary labels.

    Parameters
    ----------
    profile_a, profile_b : RelevanceProfile, array-like or callable
        See :func:`ndcg_limit`; the shares of labels must be the same.
    gain : str, array-like or callable, default="exp"
        Gain of labels, for profiles that are not yet a ``RelevanceProfile``.

    Returns
    -------
    tuple of int and float
        K, and a, which is positive if the first ranker is ahead on long lists.

    References
    ----------
    Wang, Wang, Li, He, Chen and Liu, "A theoretical analysis of NDCG ranking measures", 2013,
    lemma 22.

    Examples
    --------
    >>> from gbrank.theory import ndcg_difference_rate
    >>> k, a = ndcg_difference_rate(lambda s: 0.2 + 0.6 * s, lambda s: 0.5 + 0 * s)
    >>> k, round(a, 6)
    (1, 0.3)
    """
    one, other = (RelevanceProfile.of(profile, gain) for profile in (profile_a, profile_b))
    mean, other_mean = (float(each.shares @ each.gains) for each in (one, other))
    if abs(mean - other_mean) > _SAME_SHARE * mean:
        raise ValueError(
            "profile_a and profile_b must be of the same documents, but their mean gains are "
            f"{mean:g} and {other_mean:g}"
        )

    def difference(quantiles: Any) -> Any:
        return one.expected_gain(quantiles) - other.expected_gain(quantiles)

    for power in range(1, _LARGEST_POWER + 1):
        # with t = e^-v
        area = _integrate(lambda v: difference(1.0 - np.exp(-v)) * v**power * np.exp(-v), 0.0, 80.0)  # noqa: B023
        if abs(area) > _SAME_SHARE * mean * math.factorial(power):
            return power, area / mean
    raise ValueError(f"profiles must differ; these do not up to the power {_LARGEST_POWER}")


def _decay_with_limit(discount: DiscountSpec, k: Any) -> float:
    """Return the beta of ``rank^-beta``, 0 for "log"; measures without a known limit are errors."""
    compute_discounts(2, discount)  # checks it
    if isinstance(k, str):
        if k != "o(n)":
            raise ValueError(f'k must be None, a fraction in (0, 1] or "o(n)", got {k!r}')
    elif isinstance(check_cutoff(k), int):
        raise ValueError(
            f"NDCG with a fixed cut-off (k={k}) has no limit: it stays random however long the "
            'list (theorem 10); give k as a fraction of the list, or as "o(n)"'
        )
    if isinstance(discount, str):
        beta = {"log": 0.0, "power": 0.5, "zipf": 1.0, "exp": math.inf}[discount]
    elif isinstance(discount, PowerDiscount):
        beta = discount.beta
    elif k == "o(n)":
        return 1.0  # a function: only the top of the list counts, as for Zipf's discount
    else:
        raise ValueError(
            f"no limit is known for discount={discount!r} with k={k!r}: give a discount by name, a "
            'PowerDiscount, or k="o(n)"'
        )
    if beta > 1:
        raise ValueError(
            f"NDCG with discount={discount!r} has no limit: the sum of its discounts is finite, so "
            "that it stays random however long the list (theorem 10)"
        )
    return beta


def _integrate(function: Callable[[Any], Any], low: float, high: float) -> float:
    """Integrate by Gauss's rule on equal panels: smooth or not, all values in one call."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    width = (high - low) / _PANELS
    points = low + width * (np.arange(_PANELS)[:, None] + (nodes + 1.0) / 2.0)
    values = function(points.ravel()).reshape(points.shape)
    return float(width / 2.0 * (values @ weights).sum())
