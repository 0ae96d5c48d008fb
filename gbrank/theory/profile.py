"""The relevance profile of a ranker: how likely each label is, given the quantile of the score."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_integer,
    check_labels,
    check_scores,
    compute_gains,
)

#: Probabilities may miss 0, 1 or the sum 1 by this much, from rounding.
_ROUNDING = 1e-8
#: Panels of the midpoint rule for the shares of labels.
_PANELS = 100_000


class RelevanceProfile:
    """The probability of each label given the quantile of a document's score.

    Quantile 1 is the top of the list, 0 its bottom. The theorems want the profile to be continuous.

    Parameters
    ----------
    probabilities : for two labels, the probability of the larger one: a function from an array of
        quantiles in [0, 1] to an array, or an array of its values. For more, an array with a
        column for each label (a function returns such), whose rows sum to 1.
    labels : the labels, in the order of the columns; None for 0, 1, 2, ...
    quantiles : where the values of an array lie, increasing; None for equal steps from 0 to 1.
        Between them the profile is a straight line, beyond them constant.
    gain : gain of labels, as in :func:`gbrank.metrics.ndcg_score`.

    Attributes
    ----------
    labels : the labels.
    gains : their gains.
    shares : probability of each label, over all quantiles.
    steps : gains that occur, largest first, and the quantile from the top where each begins and
        ends in the best order: ``(y_1, y_2, ...), (0, R_1, R_2, ..., 1)``.

    Examples
    --------
    >>> from gbrank.theory import RelevanceProfile
    >>> profile = RelevanceProfile([[1, 0, 0], [0.5, 0.3, 0.2], [0, 0.2, 0.8]])
    >>> profile([0.5, 0.75])
    array([[0.5 , 0.3 , 0.2 ],
           [0.25, 0.25, 0.5 ]])
    >>> profile.expected_gain([1.0])  # 0.2 * 1 + 0.8 * 3
    array([2.6])
    >>> profile.shares.round(3)
    array([0.5, 0.2, 0.3])
    """

    def __init__(
        self,
        probabilities: ArrayLike | Callable[[Any], ArrayLike],
        *,
        labels: ArrayLike | None = None,
        quantiles: ArrayLike | None = None,
        gain: GainSpec = "exp",
    ) -> None:
        if callable(probabilities):
            if quantiles is not None:
                raise ValueError(
                    "quantiles say where the values of an array lie, but probabilities "
                    "is a function"
                )
            self._evaluate: Callable[[FloatArray], Any] = probabilities
        else:
            self._evaluate = _interpolation(probabilities, quantiles)
        n_labels = _columns(self._evaluate(np.linspace(0.0, 1.0, 3)), 3).shape[1]
        self.labels = check_labels(np.arange(n_labels) if labels is None else labels)
        if len(self.labels) != n_labels or len(np.unique(self.labels)) != n_labels:
            raise ValueError(
                f"labels must be {n_labels} different numbers, one for each column of "
                f"probabilities, got {self.labels.tolist()}"
            )
        self.gains = compute_gains(self.labels, gain)
        if not (self.gains[self.shares > 0] > 0).any():
            raise ValueError(
                "probabilities leave no document relevant: labels with a gain > 0 must occur"
            )

    @classmethod
    def of(cls, profile: Any, gain: GainSpec = "exp") -> RelevanceProfile:
        """Return a profile as it is, or make one of what the constructor takes."""
        return profile if isinstance(profile, cls) else cls(profile, gain=gain)

    @classmethod
    def from_scores(
        cls,
        labels: ArrayLike,
        scores: ArrayLike,
        *,
        qid: Any = None,
        group: Any = None,
        n_bins: int = 20,
        gain: GainSpec = "exp",
    ) -> RelevanceProfile:
        """Estimate the profile of a ranker from its scores of judged documents.

        Documents fall into ``n_bins`` bins by the quantile of their score within their query; the
        shares of labels in a bin are the profile at its centre. Equal scores share the middle of
        their quantiles.

        Parameters
        ----------
        labels, scores : one per row.
        qid, group : the query of each row, or rows per query; neither if there is but one query.
        n_bins : number of bins; every one must have a document.
        gain : gain of labels.

        Examples
        --------
        >>> from gbrank.theory import RelevanceProfile
        >>> profile = RelevanceProfile.from_scores([0, 1, 0, 1], [1, 4, 2, 3], n_bins=2)
        >>> profile([0.25, 0.75])
        array([[1., 0.],
               [0., 1.]])
        """
        check_integer("n_bins", n_bins, low=2)
        layout = single_or_many(len(np.asarray(labels)), qid, group)
        sorted_labels = layout.sort(check_labels(labels, layout))
        quantiles = _score_quantiles(layout.sort(check_scores(scores, layout)), layout)
        bins = np.minimum((quantiles * n_bins).astype(np.int64), n_bins - 1)
        grades, codes = np.unique(sorted_labels, return_inverse=True)
        if len(grades) < 2:
            raise ValueError(f"labels must not all be equal, but all are {grades[0]:g}")
        counts = np.bincount(bins * len(grades) + codes, minlength=n_bins * len(grades))
        counts = counts.reshape(n_bins, len(grades))
        sizes = counts.sum(axis=1, keepdims=True)
        if (sizes == 0).any():
            empty = int(np.argmin(sizes))
            raise ValueError(
                f"n_bins={n_bins} is too many for these scores: no document lies between the "
                f"quantiles {empty / n_bins:g} and {(empty + 1) / n_bins:g}"
            )
        centres = (np.arange(n_bins) + 0.5) / n_bins
        return cls(counts / sizes, labels=grades, quantiles=centres, gain=gain)

    def __call__(self, quantiles: ArrayLike) -> FloatArray:
        """Return the probability of each label, one row per quantile."""
        at = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if not ((at >= 0) & (at <= 1)).all():
            raise ValueError(f"quantiles must lie in [0, 1], got {at.min():g} to {at.max():g}")
        values = _columns(self._evaluate(at), len(at))
        wrong = ~(
            (values >= -_ROUNDING).all(axis=1) & (np.abs(values.sum(axis=1) - 1.0) <= _ROUNDING)
        )
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                "probabilities must lie in [0, 1] and sum to 1 over labels, but at quantile "
                f"{at[row]:g} they are {values[row].tolist()}"
            )
        return np.clip(values, 0.0, 1.0)

    def expected_gain(self, quantiles: ArrayLike) -> FloatArray:
        """Return the expected gain of a document at each quantile."""
        expected: FloatArray = self(quantiles) @ self.gains
        return expected

    @cached_property
    def shares(self) -> FloatArray:
        """Probability of each label, over all quantiles."""
        middles = (np.arange(_PANELS) + 0.5) / _PANELS
        found: FloatArray = self(middles).mean(axis=0)
        return found

    @cached_property
    def steps(self) -> tuple[FloatArray, FloatArray]:
        """The best order: gains, largest first, and where from the top each begins and ends."""
        order = np.argsort(-self.gains, kind="stable")
        order = order[self.shares[order] > 0]
        ends = np.minimum(np.cumsum(self.shares[order]), 1.0)
        return self.gains[order], np.concatenate(([0.0], ends))


def single_or_many(n_rows: int, qid: Any, group: Any) -> QueryLayout:
    """Return the layout of the rows: those of one query, if neither ``qid`` nor ``group`` is given.

    >>> from gbrank.theory.profile import single_or_many
    >>> single_or_many(3, None, None).bounds
    array([0, 3])
    """
    if n_rows == 0:
        raise ValueError("labels must have at least one row, got none")
    if qid is None and group is None:
        return QueryLayout(np.array([0, n_rows], dtype=np.int64))
    return QueryLayout.from_either(qid, group, n_rows)


def _columns(values: Any, n_rows: int) -> FloatArray:
    """Return probabilities with a column per label; one value per row is that of the second."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim == 0:
        found = np.full(n_rows, float(found))
    if found.ndim == 1:
        found = np.column_stack([1.0 - found, found])
    if found.ndim != 2 or len(found) != n_rows or found.shape[1] < 2:
        raise ValueError(
            f"probabilities must be one number, or one row of numbers, for each of {n_rows} "
            f"quantiles, got shape {np.shape(values)}"
        )
    return found


def _interpolation(
    probabilities: ArrayLike, quantiles: ArrayLike | None
) -> Callable[[FloatArray], FloatArray]:
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim not in (1, 2) or len(given) < 2:
        raise ValueError(
            "probabilities must be a function or an array of at least two rows, got shape "
            f"{given.shape}"
        )
    values = _columns(given, len(given))
    at = np.linspace(0.0, 1.0, len(values)) if quantiles is None else np.asarray(quantiles, float)
    if at.shape != (len(values),) or not ((at >= 0) & (at <= 1)).all() or (np.diff(at) <= 0).any():
        raise ValueError(
            f"quantiles must be {len(values)} increasing numbers in [0, 1], one per row of "
            "probabilities"
        )
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise ValueError(f"probabilities must be finite, but row {row} has {given[row]}")
    return lambda s: np.column_stack([np.interp(s, at, column) for column in values.T])


def _score_quantiles(scores: FloatArray, layout: QueryLayout) -> FloatArray:
    """Return each document's place in its query, (rank from the bottom - 1/2) / documents."""
    from scipy.stats import rankdata

    quantiles = np.empty(layout.n_rows)
    bounds: IntArray = layout.bounds
    for q in range(layout.n_queries):
        rows = slice(bounds[q], bounds[q + 1])
        quantiles[rows] = (rankdata(scores[rows]) - 0.5) / max(1, bounds[q + 1] - bounds[q])
    return quantiles
