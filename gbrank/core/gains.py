"""Gains of labels, discounts of ranks, and the best DCG that a query allows.

Objectives and metrics share these, so that a loss and the NDCG it is judged by can never disagree
about what a label is worth.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core.queries import QueryLayout
from gbrank.core.typing import FloatArray, IntArray
from gbrank.core.validation import check_probabilities

#: What ``gain=`` takes: "exp" (2^r - 1), "linear" (r), a table indexed by labels, or a function.
GainSpec = str | ArrayLike | Callable[[FloatArray], ArrayLike]
#: What ``discount=`` takes: "log", "power", "zipf", "exp", or a function of the ranks 1, 2, ...
DiscountSpec = str | Callable[[FloatArray], ArrayLike]

#: 2^22 documents of this gain still have a finite sum.
LARGEST_GAIN = 2.0**1000
#: Whole labels up to this one are looked up in a table, which is faster than exp2.
_LARGEST_TABULATED = 255
_LN_2 = float(np.log(2.0))


def compute_gains(
    labels: FloatArray,
    gain: GainSpec = "exp",
    layout: QueryLayout | None = None,
    *,
    signed: bool = False,
) -> FloatArray:
    """Return the gain of every label, checked to be finite and >= 0.

    Parameters
    ----------
    labels : float64 array, finite and >= 0.
    gain : "exp" for ``2^r - 1`` (default), "linear" for ``r``, a table whose entry ``r`` is the
        gain of label ``r`` (labels must then be integers), or a function from an array of
        labels to an array of gains.
    layout : used only to say which query a bad label belongs to.
    signed : whether gains may be negative, as :func:`corrected_gain` makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.gains import compute_gains
    >>> compute_gains(np.array([0.0, 1.0, 2.0]))
    array([0., 1., 3.])
    >>> compute_gains(np.array([0.0, 1.0, 2.0]), [0, 1, 5])
    array([0., 1., 5.])
    """
    if isinstance(gain, str):
        gains = _named_gain(labels, gain)
    elif callable(gain):
        gains = _returned_numbers(gain(labels.copy()), "gain")  # a copy: it may work in place
        if gains.shape != labels.shape:
            raise ValueError(
                f"gain must return one number per label: got shape {gains.shape} "
                f"for labels of shape {labels.shape}"
            )
    else:
        gains = _table_gain(labels, gain, layout)
    # NaN passes no comparison
    lowest = -LARGEST_GAIN if signed else 0.0
    if len(gains) and not (gains.min() >= lowest and gains.max() <= LARGEST_GAIN):
        row = int(np.argmax(~((gains >= lowest) & (gains <= LARGEST_GAIN))))
        hint = '; gain="linear" takes labels up to 2^1000' if isinstance(gain, str) else ""
        if -LARGEST_GAIN <= gains[row] < 0:
            hint = (
                ". Negative gains, as corrected_gain makes them, are for Squared, KL and "
                "GainPairwise with norm=None: other losses divide by what the noisy labels of the "
                "query make, so that a correction does not reach them"
            )
        raise ValueError(
            f"gain must be finite, {'' if signed else '>= 0 '}and at most 2^1000, but that of "
            f"label {labels[row]:g} at "
            f"{_where(row, layout)} is {gains[row]:g}{hint}"
        )
    return np.ascontiguousarray(gains)


#: A matrix whose largest singular value is so many times its smallest is refused.
_WORST_CONDITION = 1e3


def corrected_gain(matrix: ArrayLike, gain: GainSpec = "exp") -> FloatArray:
    """Return the table of gains that undoes label noise in expectation.

    With ``T[l, u]`` the probability that a document of true grade ``u`` is labelled ``l``, the
    corrected gains ``(T')^-1 G`` have, given the truth, the expectation ``G``. A loss that is
    affine in the gains, and not divided by a normaliser made from the noisy labels, then has the
    expected risk that clean labels would give: :class:`gbrank.Squared`, :class:`gbrank.KL` and
    :class:`gbrank.GainPairwise` with ``norm=None``. Gains may become negative, which these take and
    other losses refuse. :func:`correction_variance` says what it costs.

    Parameters
    ----------
    matrix : array-like of shape (n_grades, n_grades)
        ``matrix[l, u]`` is the probability of label ``l`` given the true grade ``u``: columns sum
        to 1.
    gain : "exp", "linear", table or callable, default="exp"
        What a true grade is worth, as in :func:`compute_gains`.

    Returns
    -------
    ndarray of shape (n_grades,)
        A table for ``gain=``. Gains that do not rise with the grade are warned of.

    Examples
    --------
    >>> from gbrank.gains import corrected_gain
    >>> corrected_gain([[0.9, 0.2], [0.1, 0.8]])  # .9 * -1/7 + .1 * 9/7 = 0, as grade 0 is worth
    array([-0.14285714,  1.28571429])
    """
    noise, gains = _noise_and_gains(matrix, gain)
    corrected: FloatArray = np.linalg.solve(noise.T, gains).astype(np.float64) + 0.0  # no -0.0
    if (np.diff(corrected) <= 0).any() and (np.diff(gains) > 0).all():
        at = int(np.argmax(np.diff(corrected) <= 0))
        warnings.warn(
            f"corrected gains do not rise with the grade: that of {at} is {corrected[at]:.4g}, "
            f"that of {at + 1} is {corrected[at + 1]:.4g}. With this noise the higher label speaks "
            "for a lower grade: check the matrix",
            stacklevel=2,
        )
    return corrected


def correction_variance(
    matrix: ArrayLike, gain: GainSpec = "exp", shares: ArrayLike | None = None
) -> float:
    """Return by which factor :func:`corrected_gain` raises the variance of a document's gain.

    Trees need about so many times the documents for the same precision, so that correcting pays
    where data are many and noise is strong.

    Parameters
    ----------
    matrix, gain : as in :func:`corrected_gain`.
    shares : array-like of shape (n_grades,), default=None
        Share of each true grade; ``None`` for equal ones.

    Examples
    --------
    >>> from gbrank.gains import correction_variance
    >>> round(correction_variance([[0.9, 0.2], [0.1, 0.8]]), 3)
    2.02
    """
    noise, gains = _noise_and_gains(matrix, gain)
    if shares is None:
        shares = np.full(len(gains), 1.0 / len(gains))
    share = check_probabilities(shares, "shares")
    if len(share) != len(gains):
        raise ValueError(
            f"shares must have an entry for each grade, {len(gains)}, got {len(share)}"
        )
    corrected = np.linalg.solve(noise.T, gains)
    clean = share @ gains**2 - (share @ gains) ** 2
    if clean <= 0:
        raise ValueError("shares must give at least two grades of different gain a part")
    return float(((noise @ share) @ corrected**2 - (share @ gains) ** 2) / clean)


def _noise_and_gains(matrix: ArrayLike, gain: GainSpec) -> tuple[FloatArray, FloatArray]:
    """Return the matrix, checked, and the gain of each of its grades."""
    noise = check_noise_matrix(matrix)
    smallest = np.linalg.svd(noise, compute_uv=False)
    if smallest[-1] * _WORST_CONDITION < smallest[0]:
        raise ValueError(
            "matrix cannot be inverted: it is singular or nearly so (its singular values are "
            f"{smallest[0]:.3g} to {smallest[-1]:.3g}), as where two grades get the same labels. "
            "Merge such grades, or do not correct"
        )
    return noise, compute_gains(np.arange(len(noise), dtype=np.float64), gain)


def check_noise_matrix(matrix: Any, name: str = "matrix") -> FloatArray:
    """Return ``T[l, u] = P(label l | truth u)``, checked: square, probabilities, columns sum to 1.

    Parameters
    ----------
    matrix : what was given.
    name : what the caller calls it, for error messages.

    Examples
    --------
    >>> from gbrank.core import check_noise_matrix
    >>> check_noise_matrix([[1, 0.5], [0, 0.5]])
    array([[1. , 0.5],
           [0. , 0.5]])
    """
    try:
        noise = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a square matrix of numbers, got {matrix!r}") from None
    if noise.ndim != 2 or noise.shape[0] != noise.shape[1] or len(noise) < 2:
        raise ValueError(
            f"{name} must be square, with a row and a column for each grade, got shape "
            f"{noise.shape}"
        )
    if not ((noise >= 0) & (noise <= 1)).all():
        label, truth = np.argwhere(~((noise >= 0) & (noise <= 1)))[0]
        raise ValueError(
            f"{name}[{label}, {truth}] must be a probability, got {noise[label, truth]:g}"
        )
    sums = noise.sum(axis=0)
    if (np.abs(sums - 1.0) > 1e-6).any():
        truth = int(np.argmax(np.abs(sums - 1.0)))
        rows = " (its rows do: transpose it)" if np.allclose(noise.sum(axis=1), 1.0) else ""
        raise ValueError(
            f"columns of {name} must sum to 1, as {name}[l, u] is the probability of label l "
            f"given the true grade u, but column {truth} sums to {sums[truth]:g}{rows}"
        )
    return noise


def has_negative_gains(gain: Any) -> bool:
    """Return whether a gain is a table with negative entries, as :func:`corrected_gain` makes."""
    if gain is None or isinstance(gain, str) or callable(gain):
        return False
    try:
        return bool((np.asarray(gain, dtype=np.float64) < 0).any())
    except (TypeError, ValueError, OverflowError):
        return False


def _named_gain(labels: FloatArray, gain: str) -> FloatArray:
    if gain == "exp":
        with np.errstate(over="ignore"):  # reported by the caller, with the row
            if len(labels) and labels.max() <= _LARGEST_TABULATED:
                whole = labels.astype(np.uint8)  # labels are mostly small integers
                if (whole == labels).all():
                    gains: FloatArray = (np.exp2(np.arange(_LARGEST_TABULATED + 1)) - 1.0)[whole]
                    return gains
            # below 1 the difference would lose the digits of a small label
            return np.where(labels < 1, np.expm1(labels * _LN_2), np.exp2(labels) - 1.0)
    if gain == "linear":
        return labels.astype(np.float64)
    raise ValueError(f'gain must be "exp", "linear", a table of gains or a function, got {gain!r}')


def _table_gain(labels: FloatArray, table: Any, layout: QueryLayout | None) -> FloatArray:
    try:
        entries = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        entries = np.array(np.nan)
    if entries.ndim == 0:
        raise TypeError(
            f'gain must be "exp", "linear", a table of gains or a function, got {table!r}'
        )
    if entries.ndim != 1 or len(entries) == 0:
        raise ValueError(
            f"gain given as a table must be one row of numbers, got shape {entries.shape}"
        )
    wrong = ~((labels == np.floor(labels)) & (labels >= 0) & (labels < len(entries)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"gain is a table of {len(entries)} entries, so labels must be integers from 0 to "
            f"{len(entries) - 1}, but {_where(row, layout)} has {labels[row]:g}"
        )
    gains: FloatArray = entries[labels.astype(np.int64)]
    return gains


def _returned_numbers(values: Any, name: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must return numbers, got {values!r}") from None


def _where(row: int, layout: QueryLayout | None) -> str:
    return f"row {row}" if layout is None else layout.describe_row(row)


class PowerDiscount:
    """The discount ``rank^-beta``.

    Parameters
    ----------
    beta : float, default=0.5
        The exponent, finite and > 0.

    Examples
    --------
    >>> from gbrank.gains import PowerDiscount, compute_discounts
    >>> compute_discounts(4, PowerDiscount(0.5))[3]
    np.float64(0.5)
    """

    def __init__(self, beta: float = 0.5) -> None:
        if not (isinstance(beta, int | float | np.number) and 0 < beta < np.inf):
            raise ValueError(f"beta must be a finite number > 0, got {beta!r}")
        self.beta = beta

    def __call__(self, ranks: FloatArray) -> FloatArray:
        return ranks**-self.beta

    def __repr__(self) -> str:
        return f"PowerDiscount({self.beta!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerDiscount) and other.beta == self.beta

    def __hash__(self) -> int:
        return hash((PowerDiscount, self.beta))


def compute_discounts(n: int, discount: DiscountSpec = "log") -> FloatArray:
    """Return the discounts of ranks 1 to ``n``, checked to be finite, >= 0 and not increasing.

    Parameters
    ----------
    n : number of ranks.
    discount : "log" for ``1 / log2(1 + rank)`` (default), "power" for ``rank^-1/2``
        (:class:`PowerDiscount` takes other exponents), "zipf" for ``1 / rank``, "exp" for
        ``2^-rank``, or a function from the array of ranks 1, 2, ... to an array of discounts.

    Examples
    --------
    >>> from gbrank.gains import compute_discounts
    >>> compute_discounts(3)
    array([1.        , 0.63092975, 0.5       ])
    """
    ranks = np.arange(1, n + 1, dtype=np.float64)
    if isinstance(discount, str):
        if discount not in DISCOUNTS:
            raise ValueError(
                f"discount must be one of {sorted(DISCOUNTS)} or a function of the rank, "
                f"got {discount!r}"
            )
        values = DISCOUNTS[discount](ranks)
    elif callable(discount):
        values = _returned_numbers(discount(ranks), "discount")
    else:
        raise TypeError(f"discount must be a name or a function of the rank, got {discount!r}")
    if values.shape != ranks.shape:
        raise ValueError(f"discount must return one number per rank, got shape {values.shape}")
    # NaN passes no comparison
    wrong = ~((values >= 0) & (values < np.inf) & (values <= np.append(np.inf, values[:-1])))
    if wrong.any():
        rank = int(np.argmax(wrong)) + 1
        before = f", after {values[rank - 2]:g}" if rank > 1 else ""
        raise ValueError(
            "discount must be finite, >= 0 and must not increase with the rank, but that of rank "
            f"{rank} is {values[rank - 1]:g}{before}"
        )
    return np.ascontiguousarray(values)


DISCOUNTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log": lambda ranks: 1.0 / np.log2(1.0 + ranks),
    "power": PowerDiscount(0.5),
    "zipf": lambda ranks: 1.0 / ranks,
    "exp": lambda ranks: 2.0**-ranks,
}


def ideal_dcg(
    gains: FloatArray, bounds: IntArray, discounts: FloatArray, k: int | None = None
) -> FloatArray:
    """Return for every query the largest DCG@k that any order of its documents reaches.

    >>> import numpy as np
    >>> from gbrank.core.gains import compute_discounts, ideal_dcg
    >>> ideal_dcg(np.array([0.0, 1.0, 3.0]), np.array([0, 1, 3]), compute_discounts(2), k=1)
    array([0., 3.])
    """
    depth = len(discounts) if k is None else min(k, len(discounts))
    sizes = np.diff(bounds)
    query = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(len(query)) - np.repeat(bounds[:-1] - bounds[0], sizes)
    gains = gains[bounds[0] : bounds[-1]]
    counted = np.flatnonzero(rank < depth)
    best_first = np.lexsort((-gains, query))[counted]
    terms = gains[best_first] * discounts[rank[counted]]
    best: FloatArray = np.bincount(query[counted], terms, minlength=len(sizes)).astype(np.float64)
    return best
