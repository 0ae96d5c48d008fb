"""Rankers that every model must beat."""

import numpy as np

from common.real_data import Part
from gbrank.metrics import ndcg_score


def best_single_feature(train: Part, k: int = 10) -> tuple[int, float]:
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


def single_feature_scores(part: Part, feature: int, sign: float) -> np.ndarray:
    """Return the scores that one feature gives."""
    return sign * np.nan_to_num(part.X[:, feature].astype(np.float64))
