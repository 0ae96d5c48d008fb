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
from dataclasses import dataclass
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
    columns: FloatArray, target: FloatArray, sizes: IntArray, row_weight: FloatArray | None
) -> Ridge:
    """Fit; columns and target are centred within queries, rows in query order.

    Folds are stretches of queries, which must come in random order. With one thread of BLAS: with
    another number of them sums would differ in their last bits, and so would models.
    """
    with _BLAS, threadpool_limits(limits=1, user_api="blas"):
        return _fit(columns, target, sizes, row_weight)


def _fit(
    columns: FloatArray, target: FloatArray, sizes: IntArray, row_weight: FloatArray | None
) -> Ridge:
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
    gram, moment = np.sum(grams, axis=0), np.sum(moments, axis=0)
    if n_folds == 1:  # nothing to choose by, and no fit without these rows to start from
        middle = len(PENALTIES) // 2
        fitted = _solve(gram, moment, PENALTIES[middle : middle + 1])[:, 0] / scale
        unknown = np.full(len(PENALTIES), np.nan)
        return Ridge(fitted, float(PENALTIES[middle]), unknown, columns @ fitted)
    errors = np.zeros(len(PENALTIES))
    held_out = np.zeros((len(columns), len(PENALTIES)))
    for number, rows in enumerate(folds):
        paths = _solve(gram - grams[number], moment - moments[number], PENALTIES)
        held_out[rows] = columns[rows] @ (paths / scale[:, None])
        missed = held_out[rows] - target[rows, None]
        if weight is not None:
            missed *= weight[rows, None]
        errors += np.einsum("ij,ij->j", missed, missed)
    # the strongest of those that are alike: where other folds say nothing of this one, all are
    best = int(np.flatnonzero(errors <= errors.min() * (1.0 + 1e-9))[-1])
    fitted = _solve(gram, moment, PENALTIES[best : best + 1])[:, 0] / scale
    return Ridge(fitted, float(PENALTIES[best]), errors, held_out[:, best].copy())


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
