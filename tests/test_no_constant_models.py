"""No objective ends as a constant model: small versions of real sets, clean and with noise."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from gbrank import Ranker, get_objective, list_objectives
from gbrank.data import make_ranking
from gbrank.simulate import cascade_clicks, perturb_labels

SETS = ("MQ2008", "OHSUMED_QLN", "MSLR_merged")


def small(arrays, n_queries=45):
    """Return the rows of some queries in which something can be ranked."""
    qid, y = arrays["qid"], arrays["y"].astype(float)
    wanted = [q for q in np.unique(qid) if np.ptp(y[qid == q]) > 0][:n_queries]
    rows = np.isin(qid, wanted)
    return arrays["X"][rows], y[rows], qid[rows]


def noisy_versions(X, y, qid):
    """Yield the kinds of noise: none, 60% of labels replaced, clicks of which many are random."""
    yield "clean", X, y, qid
    yield "labels", X, perturb_labels(y, qid, 0.6, random_state=0), qid
    clicks = cascade_clicks(y, qid, (0.3, 0.3, 0.5, 0.7, 0.95), random_state=0)
    yield "clicks", X[clicks.rows], clicks.clicks.astype(float), clicks.impressions


def constant_models(X, y, qid, starts):
    """Return which objectives, on which noise and from which start, learn nothing."""
    failed = []
    for name in list_objectives():
        objective = get_objective(name)
        if objective.needs_observations:
            objective = clone(objective).set_params(observations="labels")
        for kind, features, labels, queries in noisy_versions(X, y, qid):
            for start in starts:
                ranker = Ranker(
                    objective, preset="fast", start=start, n_estimators=3, n_jobs=1,
                    validation_fraction=None, early_stopping_rounds=None,
                )  # fmt: skip
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ranker.fit(features, labels, qid=queries)
                trees = ranker.booster_.dump_model()["tree_info"][ranker.n_start_trees_ :]
                if not any(tree["num_leaves"] > 1 for tree in trees):
                    failed.append((name, kind, start))
    return failed


def test_synthetic_data():
    data = make_ranking(n_queries=60, list_length=(10, 30), n_features=10, random_state=0)
    assert constant_models(data.X, data.y, data.qid, ("zero",)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_real_data(real_data, name):
    assert constant_models(*small(real_data(name)), ("zero", "linear")) == []
