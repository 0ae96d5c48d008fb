"""Wrong labels: in every query, some documents get a label that has nothing to do with them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import (
    QueryLayout,
    check_labels,
    check_probabilities,
    check_random_state,
    draw_categories,
)


def perturb_labels(
    labels: ArrayLike,
    qid: Any,
    fraction: float,
    probabilities: ArrayLike = (0.5, 0.2, 0.15, 0.1, 0.05),
    *,
    random_state: int | np.random.Generator | None = 0,
) -> NDArray[Any]:
    """Replace the labels of a fraction of each query's documents by random ones.

    In a query of ``m`` documents, ``round(fraction * m)`` of them are drawn without replacement,
    and each gets label ``g`` with probability ``probabilities[g]``; the new label may happen to
    equal the old one. ``round`` is Python's, which sends a half to the even neighbour: of one
    document, ``fraction=0.5`` replaces none, of three it replaces two.

    With one seed the noise grows with ``fraction``: labels replaced at 20% are replaced, by the
    same new ones, at 40% too. Curves over ``fraction`` are smoother for it.

    Parameters
    ----------
    labels : array of numbers, finite and >= 0, one per document. It is not changed.
    qid : query id of each document, of any type and in any order.
    fraction : share of each query's documents whose label is replaced, from 0 to 1.
    probabilities : probability of each new label 0, 1, ...; they must sum to 1. The default is
        that of Bruch (2021), near the distribution of labels in web search.
    random_state : seed, generator, or ``None`` for other numbers every time.

    Returns
    -------
    New labels in the order of ``labels``, of the same dtype where that can hold the new labels.

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
    """
    layout = QueryLayout.from_qid(qid)
    checked = check_labels(labels, layout)
    _check_fraction(fraction)
    shares = check_probabilities(probabilities, "probabilities")
    generator = check_random_state(random_state)

    original = np.asarray(labels)
    if original.dtype.kind == "O":
        original = checked
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
    holds_both = np.promote_types(original.dtype, np.min_scalar_type(-len(shares)))
    noisy = original.astype(holds_both)  # a copy
    noisy[rows] = new_labels[drawn]
    return noisy


def _check_fraction(fraction: float) -> None:
    if not isinstance(fraction, int | float | np.integer | np.floating) or not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be a number from 0 to 1, got {fraction!r}")
