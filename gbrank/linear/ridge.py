r"""Least squares on normalised gains, within queries, its penalty chosen on held-out queries.

With :math:`z` the columns and :math:`u = G(r) / Z(r)` the gains over the best DCG, both centred
within their query (a constant per query does not rank), the coefficients minimise

.. math:: \sum_q \sum_{i \in q} (u_i - z_i^\top \beta)^2 + \lambda |\beta|^2,

columns being scaled to standard deviation 1. Its minimiser over all functions orders documents by
:math:`E[u]`, the order that is best for NDCG (Ravikumar, Tewari and Yang 2011, lemma 4). Queries
are dealt to folds; :math:`\lambda` is the one whose fits to the other folds have the best NDCG@10.
"""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from gbrank.layout import FloatArray, IntArray
from gbrank.metrics import ndcg_score

N_FOLDS = 5
PENALTIES = 10.0 ** np.arange(-1.0, 7.0, 0.75)


@dataclass(frozen=True)
class Ridge:
    """Coefficients of the unscaled columns, and how they came about.

    Attributes
    ----------
    coefficients : one per column.
    penalty : the chosen penalty, of columns scaled to standard deviation 1.
    scores : mean NDCG@10 on held-out queries for each of ``PENALTIES``.
    """

    coefficients: FloatArray
    penalty: float
    scores: FloatArray


def fit_ridge(
    columns: FloatArray,
    target: FloatArray,
    labels: FloatArray,
    sizes: IntArray,
    row_weight: FloatArray | None,
    seed: int,
) -> Ridge:
    """Fit; columns and target are centred within queries, rows in query order.

    With one thread of BLAS: with another number of them sums would differ in their last bits, and
    so would models.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        return _fit(columns, target, labels, sizes, row_weight, seed)


def _fit(
    columns: FloatArray,
    target: FloatArray,
    labels: FloatArray,
    sizes: IntArray,
    row_weight: FloatArray | None,
    seed: int,
) -> Ridge:
    n_queries = len(sizes)
    deviation = columns.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, np.inf)
    weighted = columns / scale
    if row_weight is not None and row_weight.max(initial=0.0) > 1e100:
        row_weight = row_weight / row_weight.max()  # the sums below would overflow
    weight = None if row_weight is None else np.sqrt(row_weight)[:, None]
    root = weighted if weight is None else weighted * weight
    right = target if weight is None else target * weight[:, 0]
    n_folds = min(N_FOLDS, n_queries)
    fold = np.random.default_rng(seed).permutation(n_queries) % n_folds
    fold_of_row = np.repeat(fold, sizes)
    grams, moments = [], []
    for number in range(n_folds):
        rows = fold_of_row == number
        grams.append(root[rows].T @ root[rows])
        moments.append(root[rows].T @ right[rows])
    gram, moment = sum(grams), sum(moments)
    scores = np.zeros(len(PENALTIES))
    if n_folds > 1:
        for number in range(n_folds):
            rows = fold_of_row == number
            paths = _solve(gram - grams[number], moment - moments[number], PENALTIES)
            predicted = weighted[rows] @ paths
            group = sizes[fold == number]
            for at in range(len(PENALTIES)):
                value = ndcg_score(labels[rows], predicted[:, at], group=group, k=10, n_jobs=1)
                scores[at] += np.nan_to_num(value) / n_folds
    best = int(np.argmax(scores)) if n_folds > 1 else len(PENALTIES) // 2
    fitted = _solve(gram, moment, PENALTIES[best : best + 1])[:, 0]
    return Ridge(fitted / scale, float(PENALTIES[best]), scores)


def _solve(gram: FloatArray, moment: FloatArray, penalties: FloatArray) -> FloatArray:
    """Return the coefficients for each penalty, one column each, from one decomposition."""
    values, vectors = np.linalg.eigh(gram)
    rotated = vectors.T @ moment
    path: FloatArray = vectors @ (
        rotated[:, None] / (np.maximum(values, 0.0)[:, None] + penalties[None, :])
    )
    return path
