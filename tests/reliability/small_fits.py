"""Fits that take milliseconds, for tests that do many or several at once."""

import hashlib

from gbrank import Ranker
from gbrank.data import make_ranking

#: One whose gradients draw random numbers, one that sorts.
OBJECTIVES = ("xendcg", "lambdamart")


def small_data(seed=0, n_queries=40):
    return make_ranking(n_queries=n_queries, random_state=seed)


def fit(seed, n_jobs=1, **parameters):
    """Train on data of this seed; with one thread LightGBM gives the same bits every time."""
    data = small_data(seed)
    given = {"preset": "fast", "n_estimators": 8, "num_leaves": 7, "n_jobs": n_jobs, **parameters}
    ranker = Ranker(OBJECTIVES[seed % 2], **given)
    return ranker.fit(data.X, data.y, qid=data.qid)


def fingerprint(seed):
    """Return a hash of what the model of this seed predicts: equal only if every bit is."""
    ranker = fit(seed)
    return hashlib.sha256(ranker.predict(small_data(seed).X).tobytes()).hexdigest()
