"""Expected reciprocal rank of a reader who stops at the first document that satisfies.

In the cascade model a reader goes down the list and is satisfied by document i with probability
``p_i``, independently of the rest. The expected value of 1 / F(rank at which the reader stops)::

    sum_i 1 / F(i) p_(i) prod_{j < i} (1 - p_(j))

is largest when documents come in descending order of p, for any increasing F (lemma 1): exchanging
two neighbours costs ``(1/F(i) - 1/F(i+1)) (p_(i) - p_(i+1))`` times the chance to get there.
An estimate of p, such as the cascade maximum likelihood of :mod:`gbrank.preferences`, therefore is
all that a ranker needs to learn.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
equation 16, lemma 1 and section 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import DiscountSpec, FloatArray, check_scores, compute_discounts

_LARGEST_M = 9  # 362,880 orders


def expected_reciprocal_rank(
    probabilities: ArrayLike,
    order: Sequence[int] | None = None,
    discount: DiscountSpec = "zipf",
) -> float:
    """Return the expected reciprocal rank of one list under the cascade model.

    Parameters
    ----------
    probabilities : array of numbers from 0 to 1
        Chance of each document to satisfy a reader who comes to it. Where relevance itself is
        random and independent between documents, its expectation.
    order : documents from first to last, default=None
        ``None`` for the order in which they are given.
    discount : "log", "power", "zipf", "exp" or callable, default="zipf"
        What satisfaction at a rank is worth, 1 / F(rank): "zipf" is 1 / rank; see
        :func:`gbrank.gains.compute_discounts`.

    Examples
    --------
    >>> from gbrank.theory import expected_reciprocal_rank
    >>> expected_reciprocal_rank([0.5, 1.0])  # 1/2 + 1/2 times 1/2
    0.75
    >>> expected_reciprocal_rank([0.5, 1.0], order=[1, 0])
    1.0
    """
    chances = _check_chances(probabilities)
    if order is not None:
        places = [int(place) for place in order]
        if sorted(places) != list(range(len(chances))):
            raise ValueError(
                f"order must hold each of 0 to {len(chances) - 1} once, got {tuple(order)}"
            )
        chances = chances[places]
    reach = np.concatenate(([1.0], np.cumprod(1.0 - chances)[:-1]))
    return float((compute_discounts(len(chances), discount) * chances) @ reach)


def best_cascade_orders(
    probabilities: ArrayLike, discount: DiscountSpec = "zipf"
) -> list[tuple[int, ...]]:
    """Return all orders with the largest expected reciprocal rank, found by trying every one.

    This is what lemma 1 is checked with: they are the orders of descending probability (and, where
    some document always satisfies, anything behind it).

    Parameters
    ----------
    probabilities, discount : see :func:`expected_reciprocal_rank`; at most 9 documents.

    Examples
    --------
    >>> from gbrank.theory import best_cascade_orders
    >>> best_cascade_orders([0.2, 0.7, 0.4])
    [(1, 2, 0)]
    """
    chances = _check_chances(probabilities)
    if len(chances) > _LARGEST_M:
        raise ValueError(
            f"probabilities must be at most {_LARGEST_M}: all orders are tried, got {len(chances)}"
        )
    orders = np.array(list(permutations(range(len(chances)))))
    ranked = chances[orders]
    reach = np.ones_like(ranked)
    reach[:, 1:] = np.cumprod(1.0 - ranked, axis=1)[:, :-1]
    values = (ranked * reach) @ compute_discounts(len(chances), discount)
    return [tuple(order) for order in orders[values >= values.max() - 1e-12].tolist()]


def dependent_relevances() -> tuple[FloatArray, FloatArray]:
    """Return label vectors and probabilities on which ``GainPairwise(norm=None)`` fails ERR.

    That loss sorts by expected gain, which is the best order for the expected reciprocal rank where
    the relevances of documents are independent (lemma 1). Here documents 0 and 1 are relevant
    together, or document 2 is: a reader whom 0 did not satisfy will not like 1 either, so that the
    best order has 2 between them. Sorted by expected gain ERR is 0.705, at best 0.762.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank import GainPairwise
    >>> from gbrank.theory import dependent_relevances, expected_reciprocal_rank, minimizer
    >>> vectors, probabilities = dependent_relevances()
    >>> satisfied = (2**vectors - 1) / 2**4
    >>> def expected_err(order):
    ...     of_vector = [expected_reciprocal_rank(p, order) for p in satisfied]
    ...     return round(float(probabilities @ of_vector), 3)
    >>> learned = np.argsort(-minimizer(GainPairwise(norm=None), vectors, probabilities))
    >>> expected_err(learned), expected_err([0, 2, 1])
    (0.705, 0.762)
    """
    return np.array([[4.0, 4.0, 0.0], [0.0, 0.0, 4.0]]), np.array([0.6, 0.4])


def _check_chances(probabilities: ArrayLike) -> FloatArray:
    chances = check_scores(probabilities)
    if len(chances) == 0:
        raise ValueError("probabilities must not be empty")
    wrong = ~((chances >= 0) & (chances <= 1))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"probabilities must be from 0 to 1, but probabilities[{at}] is {chances[at]:g}"
        )
    return chances
