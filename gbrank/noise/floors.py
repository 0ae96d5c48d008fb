"""Rankers that every model must beat."""

import numpy as np

from gbrank.core import z_scores
from gbrank.data import RankingData
from gbrank.metrics import ndcg_score

#: Penalties of the ridge, as multiples of the number of rows.
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def best_single_feature(train: RankingData, k: int = 10) -> tuple[int, float]:
    """Return the feature, and its sign, that ranks the training queries best by NDCG@k."""
    candidates = []
    for feature in range(train.X.shape[1]):
        column = np.nan_to_num(train.X[:, feature].astype(np.float64))
        if np.ptp(column) > 0:
            for sign in (1.0, -1.0):
                value = ndcg_score(train.y, sign * column, qid=train.qid, k=k, n_jobs=1)
                candidates.append((value, feature, sign))
    _, feature, sign = max(candidates)
    return feature, sign


def single_feature_scores(part: RankingData, feature: int, sign: float) -> np.ndarray:
    """Return the scores that one feature gives."""
    values: np.ndarray = np.nan_to_num(part.X[:, feature].astype(np.float64))
    return sign * values


def zscore_within(X: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return features with mean 0 and variance 1 within each query; what is missing becomes 0.

    A feature that is constant in a query becomes 0 there.
    """
    _, codes, sizes = np.unique(query, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    scores = np.empty(X.shape)
    scores[order] = z_scores(np.asarray(X, dtype=np.float64)[order], np.append(0, np.cumsum(sizes)))
    return np.nan_to_num(scores)


def ridge_weights(features: np.ndarray, labels: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return one row of weights per penalty: least squares on labels centred within the query."""
    target = np.asarray(labels, dtype=np.float64)
    _, codes = np.unique(query, return_inverse=True)
    target = target - (np.bincount(codes, target) / np.bincount(codes))[codes]
    eigenvalues, vectors = np.linalg.eigh(features.T @ features / len(features))
    projected = vectors.T @ (features.T @ target / len(features))
    return np.array([vectors @ (projected / (np.maximum(eigenvalues, 0) + p)) for p in PENALTIES])


def ridge_scores(
    train: RankingData,
    valid: RankingData,
    test: RankingData,
    query_of: tuple[np.ndarray, ...],
    k: int = 5,
) -> tuple[np.ndarray, float]:
    """Fit on training, choose the penalty by NDCG@k on validation; return test scores and penalty.

    ``query_of`` has, for the three parts, the query within which features are put to scale: not
    the same as ``qid`` where several impressions belong to one query.
    """
    fit, choose, judge = (
        zscore_within(part.X, query)
        for part, query in zip((train, valid, test), query_of, strict=True)
    )
    weights = ridge_weights(fit, train.y, train.qid)
    quality = [
        float(ndcg_score(valid.y, choose @ row, qid=valid.qid, k=k, n_jobs=1)) for row in weights
    ]
    best = int(np.argmax(quality))
    return judge @ weights[best], PENALTIES[best]
