r"""Least squares on gains, within queries, its penalty chosen on held-out queries.

With :math:`z` the columns and :math:`t` the targets of :func:`tamed_gains`, both centred within
their query (a constant per query does not rank), the coefficients minimise

.. math:: \sum_q \sum_{i \in q} w_i (t_i - z_i^\top \beta)^2 + \lambda |\beta|^2,

columns being scaled to standard deviation 1 and weights to mean 1. Queries are cut into folds;
:math:`\lambda` is the one whose fits to the other folds have the least squared error.

A penalty chosen by NDCG of the held-out queries, which seems to suit better, follows chance in
their first places: on validation queries of four data sets it ranks worse, above all when labels
are noisy.
"""

import os
import threading
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from gbrank.core import FloatArray, IntArray, compute_discounts, ideal_dcg

N_FOLDS = 5
#: The number of threads of BLAS is one for the whole process: two fits at a time would each set it
#: back to what the other had set.
_BLAS = threading.Lock()
PENALTIES = 10.0 ** np.arange(-1.0, 7.0, 0.75)


def _renew_lock() -> None:
    """Give a forked child a lock that none of its threads holds; those of its parent are gone."""
    global _BLAS
    _BLAS = threading.Lock()


if hasattr(os, "register_at_fork"):  # not where there are no forks
    os.register_at_fork(after_in_child=_renew_lock)


@dataclass(frozen=True)
class Ridge:
    """Coefficients of the unscaled columns, and how they came about.

    Attributes
    ----------
    coefficients : one per column.
    penalty : the chosen penalty, of columns scaled to standard deviation 1.
    errors : weighted squared error on held-out queries for each of ``PENALTIES``; NaN with a single
        query.
    held_out : score of each row by the fit to the other folds, with the chosen penalty; by the fit
        itself, with a single query.
    """

    coefficients: FloatArray
    penalty: float
    errors: FloatArray
    held_out: FloatArray


def tamed_gains(gains: FloatArray, bounds: IntArray) -> FloatArray:
    r"""Return the targets: gains, in queries with unusually large ones relative to the others.

    .. math:: t_i = G_i / \max(Z_q, 4 \operatorname{median} Z),

    Z being the best DCG of a query. Gains over the best DCG in all queries, whose expectation is
    the best order for NDCG (Ravikumar, Tewari and Yang 2011, lemma 4), would be large where a query
    has few relevant documents, which is where they say least: they rank worse on validation
    queries of four data sets. Gains as they are would let one label of 15 among labels of up to 4
    outweigh all others.

    Parameters
    ----------
    gains : in query order.
    bounds : of the queries, none of which is empty or without gains.
    """
    relative = gains / gains.max()  # four times a median of large gains might overflow
    best = ideal_dcg(relative, bounds, compute_discounts(int(np.diff(bounds).max())))
    divisor = np.maximum(best, max(4.0 * float(np.median(best)), np.finfo(np.float64).tiny))
    targets: FloatArray = relative / np.repeat(divisor, np.diff(bounds))
    return targets


def fit_ridge(
    columns: FloatArray,
    target: FloatArray,
    sizes: IntArray,
    row_weight: FloatArray | None,
    features: IntArray | None = None,
    most_features: int | None = None,
) -> Ridge:
    """Fit; columns and target are centred within queries, rows in query order.

    Folds are stretches of queries, which must come in random order. With one thread of BLAS: with
    another number of them sums would differ in their last bits, and so would models.

    With ``features``, of which column it is each, no more than ``most_features`` of them have
    coefficients that are not 0.
    """
    with _BLAS, threadpool_limits(limits=1, user_api="blas"):
        return _fit(columns, target, sizes, row_weight, features, most_features)


def _fit(
    columns: FloatArray,
    target: FloatArray,
    sizes: IntArray,
    row_weight: FloatArray | None,
    features: IntArray | None,
    most_features: int | None,
) -> Ridge:
    sums = _Sums.of(columns, target, sizes, row_weight)
    ridge = _by_best_penalty(sums, columns, target, row_weight)
    if features is None or most_features is None or len(np.unique(features)) <= most_features:
        return ridge
    kept = _strongest(sums, ridge.penalty, features, most_features)
    few = _by_best_penalty(sums.take(kept), np.asfortranarray(columns[:, kept]), target, row_weight)
    coefficients = np.zeros(len(features))
    coefficients[kept] = few.coefficients
    return replace(few, coefficients=coefficients)


@dataclass(frozen=True)
class _Sums:
    """What a fit needs to know of the rows of each fold, columns being scaled.

    Attributes
    ----------
    folds : their rows.
    grams, moments : sums of products of columns with each other and with the target, a fold each.
    scale : of each column; infinity for one that is 0.
    """

    folds: list[slice]
    grams: list[FloatArray]
    moments: list[FloatArray]
    scale: FloatArray

    @classmethod
    def of(
        cls,
        columns: FloatArray,
        target: FloatArray,
        sizes: IntArray,
        row_weight: FloatArray | None,
    ) -> "_Sums":
        n_folds = min(N_FOLDS, len(sizes))
        cuts = np.arange(n_folds + 1) * len(sizes) // n_folds
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        folds = [slice(bounds[a], bounds[b]) for a, b in pairwise(cuts.tolist())]
        # Sums of products are scaled instead of the columns, of which there is then no other copy.
        deviation = np.sqrt(np.einsum("ij,ij->j", columns, columns) / len(columns))
        scale = np.where(deviation > 1e-12, deviation, np.inf)
        weight = _square_root(row_weight)
        grams, moments = [], []
        for rows in folds:
            root = columns[rows] if weight is None else columns[rows] * weight[rows, None]
            right = target[rows] if weight is None else target[rows] * weight[rows]
            grams.append(root.T @ root / np.outer(scale, scale))
            moments.append(root.T @ right / scale)
        return cls(folds, grams, moments, scale)

    def take(self, kept: IntArray) -> "_Sums":
        """Return those of some columns."""
        grams = [gram[np.ix_(kept, kept)] for gram in self.grams]
        return _Sums(self.folds, grams, [each[kept] for each in self.moments], self.scale[kept])


def _by_best_penalty(
    sums: _Sums, columns: FloatArray, target: FloatArray, row_weight: FloatArray | None
) -> Ridge:
    scale, weight = sums.scale, _square_root(row_weight)
    gram, moment = np.sum(sums.grams, axis=0), np.sum(sums.moments, axis=0)
    if len(sums.folds) == 1:  # nothing to choose by, and no fit without these rows to start from
        middle = len(PENALTIES) // 2
        fitted = _solve(gram, moment, PENALTIES[middle : middle + 1])[:, 0] / scale
        unknown = np.full(len(PENALTIES), np.nan)
        return Ridge(fitted, float(PENALTIES[middle]), unknown, columns @ fitted)
    errors = np.zeros(len(PENALTIES))
    held_out = np.zeros((len(columns), len(PENALTIES)))
    for rows, own_gram, own_moment in zip(sums.folds, sums.grams, sums.moments, strict=True):
        paths = _solve(gram - own_gram, moment - own_moment, PENALTIES)
        held_out[rows] = columns[rows] @ (paths / scale[:, None])
        missed = held_out[rows] - target[rows, None]
        if weight is not None:
            missed *= weight[rows, None]
        errors += np.einsum("ij,ij->j", missed, missed)
    # the strongest of those that are alike: where other folds say nothing of this one, all are
    best = int(np.flatnonzero(errors <= errors.min() * (1.0 + 1e-9))[-1])
    fitted = _solve(gram, moment, PENALTIES[best : best + 1])[:, 0] / scale
    return Ridge(fitted, float(PENALTIES[best]), errors, held_out[:, best].copy())


def _strongest(sums: _Sums, penalty: float, features: IntArray, most: int) -> IntArray:
    r"""Return the columns of so many features, a tenth of the others having left at a time.

    With :math:`A` the matrix of the penalised squares, these grow by
    :math:`\beta_J^\top (A^{-1})_{JJ}^{-1} \beta_J` without the columns :math:`J`; those features
    leave that raise them least.
    """
    matrix, moment = np.sum(sums.grams, axis=0), np.sum(sums.moments, axis=0)
    matrix[np.diag_indices_from(matrix)] += penalty
    kept = np.arange(len(features))
    while (n_features := len(left := np.unique(features[kept]))) > most:
        inverse = np.linalg.inv(matrix[np.ix_(kept, kept)])
        fitted = inverse @ moment[kept]
        raised = np.empty(n_features)
        for number, feature in enumerate(left):
            own = np.flatnonzero(features[kept] == feature)
            raised[number] = fitted[own] @ np.linalg.solve(inverse[np.ix_(own, own)], fitted[own])
        n_leaving = min(max(n_features // 10, 1), n_features - most)
        leaving = left[np.argsort(raised, kind="stable")[:n_leaving]]
        kept = kept[~np.isin(features[kept], leaving)]
    return kept


def _square_root(weight: FloatArray | None) -> FloatArray | None:
    if weight is None:
        return None
    relative = weight / weight.max()  # a mean of weights might overflow
    root: FloatArray = np.sqrt(relative / relative.mean())  # penalties suit a mean of 1
    return root


def _solve(gram: FloatArray, moment: FloatArray, penalties: FloatArray) -> FloatArray:
    """Return the coefficients for each penalty, one column each, from one decomposition."""
    values, vectors = np.linalg.eigh(gram)
    rotated = vectors.T @ moment
    path: FloatArray = vectors @ (
        rotated[:, None] / (np.maximum(values, 0.0)[:, None] + penalties[None, :])
    )
    return path
