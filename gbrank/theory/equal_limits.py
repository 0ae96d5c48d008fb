"""Two rankers that a power discount does not tell apart: theorem 8, condition 2, does not hold.

The theorem says: rankers whose NDCG with discount ``rank^-beta`` tends to the same limit are
distinguished on almost every growing list, provided that their relevance profiles are Hölder
continuous with an exponent above 3 (1 - beta) and differ at the top of the list. Its proof compares
the difference of the expectations, which falls as ``n^-(1 - beta)``, with a deviation from them
that lemma 34 claims to fall faster. It does not: the labels of the first few documents are random
however long the list, and they alone move NDCG by about ``n^-(1 - beta)`` too. The ranker that is
ahead in expectation is ahead with a probability that tends to a number below 1.

Reference: Wang, Wang, Li, He, Chen, Liu, A theoretical analysis of NDCG ranking measures, COLT
2013, theorem 8, lemmas 33 and 34. The computation is on the theory page of the documentation.
"""

import numpy as np

from gbrank.core import check_number
from gbrank.theory.profile import RelevanceProfile


def theorem_8_counterexample(
    beta: float = 0.8,
) -> tuple[RelevanceProfile, RelevanceProfile, float]:
    """Return two profiles with the same limit, and how often the better ranker is ahead.

    The second profile is 1/2 everywhere. The first is ``1/2 + a (1 + b t + c t^2)``, t counted from
    the top of the list, with b and c such that both have the same share of relevant documents and
    the same limit, and a as large as probabilities allow. They are smooth and differ at the top, as
    condition 2 of theorem 8 demands. With independent labels the difference of their DCGs has the
    mean ``a zeta(beta) < 0`` and the variance ``zeta(2 beta) (v_1 + v_2)`` in the limit, v the
    variances of the labels at the top: the second ranker is ahead in about Phi(mean / deviation) of
    lists, however long they are.

    Parameters
    ----------
    beta : float in (2/3, 1), default=0.8
        Decay of the discount; no profile meets the condition for a smaller one.

    Returns
    -------
    tuple
        The two profiles, and the share of lists in which the second ranker is ahead.

    Examples
    --------
    >>> from gbrank.core import PowerDiscount
    >>> from gbrank.theory import ndcg_limit, theorem_8_counterexample
    >>> first, second, share = theorem_8_counterexample(0.8)
    >>> [round(ndcg_limit(each, discount=PowerDiscount(0.8)), 6) for each in (first, second)]
    [0.574349, 0.574349]
    >>> first([1.0]).round(3), round(share, 3)
    (array([[0.45, 0.55]]), 0.582)
    """
    from scipy.stats import norm

    check_number("beta", beta, low=2 / 3, high=1.0, low_open=True, high_open=True)
    system = [[1 / 2, 1 / 3], [1 / (2 - beta), 1 / (3 - beta)]]
    b, c = np.linalg.solve(system, [-1.0, -1 / (1 - beta)])
    turn = min(max(-b / (2 * c), 0.0), 1.0)
    a = 0.5 / max(abs(1 + b * t + c * t * t) for t in (0.0, turn, 1.0))
    first = RelevanceProfile(lambda s: 0.5 + a * (1 + b * (1 - s) + c * (1 - s) ** 2))
    second = RelevanceProfile(lambda s: 0.5 + 0 * s)
    variance = (0.25 - a * a) + 0.25
    lead = -a * _zeta(beta) / np.sqrt(_zeta(2 * beta) * variance)
    return first, second, float(norm.cdf(lead))


def _zeta(s: float, terms: int = 1000) -> float:
    """Return Riemann's zeta function for s > 0, also below 1 (Euler and Maclaurin's formula)."""
    head = (np.arange(1.0, terms + 1) ** -s).sum() - terms ** (1 - s) / (1 - s)
    return float(head - terms**-s / 2 + s * terms ** (-s - 1) / 12)
