"""Wrong labels: in every query, some documents get a label that has nothing to do with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    RankingData,
    check_number,
    check_probabilities,
    check_random_state,
    draw_categories,
)
from gbrank.simulate._rows import labels_and_layout

#: Bruch (2021): the probabilities of new labels 0 to 4, near those of labels in web search.
_WEB_SEARCH = (0.5, 0.2, 0.15, 0.1, 0.05)


def perturb_labels(
    labels: RankingData | ArrayLike,
    qid: Any = None,
    fraction: float | None = None,
    probabilities: ArrayLike | None = None,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> Any:
    """Replace the labels of a fraction of each query's documents by random ones.

    In a query of ``m`` documents, ``round(fraction * m)`` of them are drawn without replacement,
    and each gets label ``g`` with probability ``probabilities[g]``; the new label may happen to
    equal the old one. ``round`` is Python's, which sends a half to the even neighbour: of one
    document, ``fraction=0.5`` replaces none, of three it replaces two.

    With one seed the noise grows with ``fraction``: labels replaced at 20% are replaced, by the
    same new ones, at 40% too. Curves over ``fraction`` are smoother for it.

    Parameters
    ----------
    labels : RankingData or array of shape (n_rows,)
        Labels, finite and >= 0; or data that have labels and queries. They are not changed.
    qid : array of shape (n_rows,), default=None
        Query id of each row, of any type and in any order; only with an array of labels.
    fraction : float
        Share of each query's documents whose label is replaced, from 0 to 1.
    probabilities : array of shape (n_grades,), default=None
        Probability of each new label 0, 1, ...; they must sum to 1. ``None`` means those of
        Bruch (2021), .5 .2 .15 .1 .05, cut to the grades up to the largest label that occurs and
        scaled to sum to 1: binary labels stay binary.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    array or RankingData
        New labels in the order of ``labels``, of the same dtype where that can hold them; with
        data, a copy that has these labels.

    References
    ----------
    S. Bruch (2021). An alternative cross entropy loss for learning-to-rank. Section 5.4.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.simulate import perturb_labels
    >>> labels = np.full(8, 9)
    >>> noisy = perturb_labels(labels, qid=[0, 0, 0, 0, 1, 1, 1, 1], fraction=0.5)
    >>> (noisy[:4] != 9).sum(), (noisy[4:] != 9).sum()
    (np.int64(2), np.int64(2))
    >>> from gbrank.data import make_ranking
    >>> perturb_labels(make_ranking(n_queries=10, list_length=5), fraction=0.5)
    SyntheticData(n_rows=50, n_queries=10, n_features=20)
    """
    checked, layout = labels_and_layout(labels, qid)
    check_number("fraction", fraction, low=0.0, high=1.0)
    assert fraction is not None  # it comes behind qid, which may be left out
    if probabilities is None:
        shares = _of_grades_up_to(checked.max(initial=0.0))
    else:
        shares = check_probabilities(probabilities, "probabilities")
    generator = check_random_state(random_state)

    # Every document draws its lot and its new label, whatever the fraction: this is what makes the
    # noise of a larger fraction contain that of a smaller one.
    lots = generator.random(layout.n_rows)
    new_labels = draw_categories(shares, layout.n_rows, generator)

    counts = np.rint(fraction * layout.sizes).astype(np.int64)
    query_of_row = np.repeat(np.arange(layout.n_queries), layout.sizes)
    by_lot = np.lexsort((lots, query_of_row))
    place_in_query = np.arange(layout.n_rows) - layout.bounds[query_of_row]
    drawn = by_lot[place_in_query < counts[query_of_row]]

    rows = drawn if layout.order is None else layout.order[drawn]
    original = np.asarray(labels.y if isinstance(labels, RankingData) else labels)
    if original.dtype.kind == "O":
        original = checked
    holds_both = np.promote_types(original.dtype, np.min_scalar_type(-len(shares)))
    noisy = original.astype(holds_both)  # a copy
    noisy[rows] = new_labels[drawn]
    return replace(labels, y=noisy) if isinstance(labels, RankingData) else noisy


def _of_grades_up_to(largest: float) -> FloatArray:
    """Return the probabilities of the grades that a data set has, scaled to sum to 1."""
    kept = np.array(_WEB_SEARCH[: int(min(largest, len(_WEB_SEARCH))) + 1])
    shares: FloatArray = kept / kept.sum()
    return shares
