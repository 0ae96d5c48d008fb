"""Cross entropy of whole permutations: the loss of ListNet as first defined, by enumeration.

In the model of Plackett and Luce scores s give a permutation y, or its first k places, the
probability ``prod_t e^s_y(t) / sum_{u >= t} e^s_y(u)``. The top-one form (:class:`gbrank.ListNet`)
compares what two score vectors say about the first place only, which costs m instead of m!.

References: Cao, Qin, Liu, Tsai, Li, Learning to rank: from pairwise approach to listwise approach,
ICML 2007; Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009, equation 12.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import FloatArray, IntArray, check_integer, check_labels, check_scores

_LARGEST_M = 8  # 40,320 permutations


def luce_cross_entropy(
    labels: ArrayLike, scores: ArrayLike, k: int | None = None, *, top: int | None = None
) -> float:
    """Return the divergence of the permutations that labels stand for from those of scores.

    Over all permutations, or all first k places, ``sum P log(P / Q)``, P the Plackett-Luce
    distribution of the labels and Q that of the scores.

    With ``top`` this is equation 12 of Xia, Liu and Li after their modification: labels behind the
    ``top`` best count as 0. The loss is top-k order sensitive
    (:func:`gbrank.theory.check_order_sensitivity`) with ``top=k``, whatever number of places is
    compared; with ``k`` alone it is not.

    Parameters
    ----------
    labels : array-like
        Labels >= 0 of one query, at most 8 documents.
    scores : array-like
        One score per document.
    k : int, default=None
        Number of places whose distribution is compared; None for all. 1 is the top-one form.
    top : int, default=None
        Number of places in which labels count; documents tied with the last of them stay.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.theory import luce_cross_entropy
    >>> luce_cross_entropy([2, 1, 0], [2.0, 1.0, 0.0])
    0.0
    >>> p = 1 / (1 + np.exp(-1.0))  # two documents: the first place says it all
    >>> by_hand = p * np.log(2 * p) + (1 - p) * np.log(2 * (1 - p))
    >>> bool(np.isclose(luce_cross_entropy([1, 0], [0.0, 0.0]), by_hand))
    True
    """
    target, given = check_labels(labels), check_scores(scores)
    m = len(target)
    if len(given) != m or not 0 < m <= _LARGEST_M:
        raise ValueError(
            f"labels and scores must be of one length, 1 to {_LARGEST_M}, got {m} and {len(given)}"
        )
    for name, value in (("k", k), ("top", top)):
        if value is not None:
            check_integer(name, value, low=1, also="None")
    if top is not None and top < m:
        target = np.where(target >= np.sort(target)[-top], target, 0.0)
    places = np.array(list(permutations(range(m), m if k is None else min(k, m))))
    ours, theirs = _log_probabilities(target, places), _log_probabilities(given, places)
    return float(np.exp(ours) @ (ours - theirs))


def _log_probabilities(scores: FloatArray, places: IntArray) -> FloatArray:
    """Return the logarithm of the probability of each row of first places."""
    chosen = scores[places]
    left = np.ones((len(places), len(scores)), dtype=np.bool_)
    total = np.zeros(len(places))
    for place in range(places.shape[1]):
        total += chosen[:, place]
        total -= np.logaddexp.reduce(np.where(left, scores, -np.inf), axis=1)
        left[np.arange(len(places)), places[:, place]] = False
    return total
