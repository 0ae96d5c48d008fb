"""What a label is worth in its query: the targets of the losses that NDCG is consistent with.

The best order of documents for expected NDCG is that of ``E[G(r) / Z(r)]``, the gain divided by the
best DCG of the query, and not that of ``E[G(r)]`` (Ravikumar, Tewari, Yang, On NDCG consistency of
listwise ranking methods, AISTATS 2011, lemma 4). A loss on ``u = G / Z`` can therefore be
consistent where one on the labels is not.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gbrank.core import (
    DiscountSpec,
    FloatArray,
    GainSpec,
    QueryLayout,
    check_integer,
    compute_discounts,
    compute_gains,
    has_negative_gains,
    ideal_dcg,
)
from gbrank.objectives._topk import keep_top
from gbrank.objectives.base import Objective

# u is at most 1 / D(1), and must stay far inside the range of float32
_SMALLEST_FIRST_DISCOUNT = 1e-15


def compute_relevance(
    labels: FloatArray,
    layout: QueryLayout,
    gain: GainSpec = "exp",
    discount: DiscountSpec = "log",
    *,
    norm: str | None = "dcg",
    norm_at: int | None = None,
    k: int | None = None,
    signed: bool = False,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return ``u`` of every row and, per query, whether there is anything to rank.

    Parameters
    ----------
    labels : checked labels.
    layout : their queries.
    gain, discount : see :mod:`gbrank.gains`.
    norm : "dcg" for ``G / Z``, "l2" for ``G`` divided by its Euclidean norm, ``None`` for ``G``.
    norm_at : cut-off of ``Z``; ``None`` for none.
    k : gains below the k-th largest of their query count as 0; ``None`` keeps all.
    signed : whether gains may be negative. Where they are, queries of equal gains count too:
        which are left out must not depend on noisy labels.

    Returns
    -------
    relevance : float64 array, 0 in queries that do not count.
    used : bool array, per query: more than one document, different gains, and a best DCG > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.core.queries import QueryLayout
    >>> from gbrank.objectives._relevance import compute_relevance
    >>> layout = QueryLayout.from_group([3, 2])
    >>> compute_relevance(np.array([0.0, 2.0, 1.0, 4.0, 4.0]), layout, norm_at=1)
    (array([0.        , 1.        , 0.33333333, 0.        , 0.        ]), array([ True, False]))
    """
    gains = keep_top(compute_gains(labels, gain, layout, signed=signed), layout.bounds, k)
    sizes, filled = layout.sizes, layout.sizes > 0
    divisor = np.ones(layout.n_queries)
    if norm == "dcg":
        divisor = ideal_dcg(
            gains, layout.bounds, _discounts(int(sizes.max(initial=1)), discount), norm_at
        )
    used = (sizes > 1) & (divisor > 0)
    if filled.any() and not has_negative_gains(gain):
        starts = layout.bounds[:-1][filled]
        largest = np.maximum.reduceat(gains, starts)
        used[filled] &= np.minimum.reduceat(gains, starts) < largest
        if norm == "l2":  # of gains relative to the largest: squares of gains may overflow
            scale = np.where(largest > 0, largest, 1.0)
            squares = np.add.reduceat((gains / np.repeat(scale, sizes[filled])) ** 2, starts)
            divisor[filled] = scale * np.sqrt(squares)
    return gains / np.repeat(np.where(used, divisor, np.inf), sizes), used


def mean_of_queries(values: FloatArray, layout: QueryLayout) -> FloatArray:
    """Return the mean of a value per row in each query; 0 in queries without rows."""
    means, filled = np.zeros(layout.n_queries), layout.sizes > 0
    if filled.any():
        totals = np.add.reduceat(values, layout.bounds[:-1][filled])
        means[filled] = totals / layout.sizes[filled]
    return means


def query_relevance(
    labels: FloatArray,
    gain: GainSpec = "exp",
    discount: DiscountSpec = "log",
    *,
    norm: str | None = "dcg",
    norm_at: int | None = None,
    k: int | None = None,
    signed: bool = False,
) -> FloatArray | None:
    """Return ``u`` of one query in plain NumPy, as formulas of losses read it.

    ``None`` where :func:`compute_relevance` leaves the query out.
    """
    gains = compute_gains(labels, gain, signed=signed)
    if k is not None and k < len(gains):
        gains = np.where(gains >= np.sort(gains)[-k], gains, 0.0)
    if len(gains) < 2 or (gains.min() == gains.max() and not has_negative_gains(gain)):
        return None
    if norm is None:
        return gains
    if norm == "l2":
        relative: FloatArray = gains / gains.max()  # squares of gains may overflow
        return relative / float(np.sqrt(relative @ relative))
    best_first = np.sort(gains)[::-1][:norm_at]
    best = float(best_first @ _discounts(len(best_first), discount))
    return gains / best if best > 0 else None


def _discounts(n: int, discount: DiscountSpec) -> FloatArray:
    discounts = compute_discounts(n, discount)
    if 0 < discounts[0] < _SMALLEST_FIRST_DISCOUNT:
        raise ValueError(
            f"discount of rank 1 must be 0 or at least {_SMALLEST_FIRST_DISCOUNT:g}, "
            f"got {discounts[0]:g}"
        )
    return discounts


class RelevanceObjective(Objective):
    """An objective whose target is ``u``: parameters, their checks, and ``u`` in both forms.

    A subclass sets ``norm_at``, ``gain`` and ``discount``, and ``norm`` and ``k`` where it has
    them, in its constructor.
    """

    #: The scale of scores matters, and so does a common shift of them.
    shift_invariant: ClassVar[bool] = False

    norm: str | None = "dcg"
    norm_at: int | None = None
    gain: GainSpec | None = None
    discount: DiscountSpec = "log"
    k: int | None = None

    def check_params(self) -> None:
        if self.norm_at is not None:
            check_integer("norm_at", self.norm_at, low=1, also="None")
            if self.norm != "dcg":
                raise ValueError(
                    f'norm_at goes with norm="dcg", but norm is {self.norm!r} and norm_at is '
                    f"{self.norm_at!r}"
                )
        # Functions are called with the labels and ranks of the data, and not before.
        if not callable(self.gain):
            compute_gains(np.zeros(1), self.value_of("gain"), signed=self.takes_signed_gains)
        if not callable(self.discount):
            compute_discounts(1, self.discount)

    def _normalisation(self) -> dict[str, Any]:
        return {
            "gain": self.value_of("gain"),
            "discount": self.discount,
            "norm": self.norm,
            "norm_at": self.norm_at,
            "k": self.k,
            "signed": self.takes_signed_gains,
        }

    def relevance(
        self, labels: FloatArray, layout: QueryLayout
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return ``u`` of every row, and which queries count."""
        return compute_relevance(labels, layout, **self._normalisation())

    def relevance_of_query(self, labels: FloatArray) -> FloatArray | None:
        """Return ``u`` of one query in plain NumPy; ``None`` if the query does not count."""
        return query_relevance(labels, **self._normalisation())
