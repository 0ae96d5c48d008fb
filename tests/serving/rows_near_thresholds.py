"""Models with every kind of split, and rows on and beside all their thresholds."""

import numpy as np

from gbrank import Ranker

KINDS = ["plain", "missing", "zero is missing", "linear start", "averaged"]
SCALES = np.array([1.0, 1e-3, 1e-5, 1e-6, 1e-8, 1e5, 1.0, 1.0])
TINY = np.float32(1e-45)
ZERO = np.float32(1e-35)


def make_features(rng, n_rows):
    """Return float32 features of many scales: some small, some with zeros, one of whole numbers."""
    X = rng.standard_normal((n_rows, len(SCALES))) * SCALES
    X[:, 6] = rng.integers(-2, 4, n_rows)
    X[rng.random(n_rows) < 0.4, 7] = 0.0
    X[rng.random(n_rows) < 0.2, 0] = 0.0
    return X.astype(np.float32)


def make_model(kind, n_estimators=12, num_leaves=15):
    """Return a fitted Ranker and the features it was fitted on."""
    rng = np.random.default_rng(KINDS.index(kind))
    n_queries, length = 60, 20
    X = make_features(rng, n_queries * length)
    parts = X / SCALES
    signal = parts[:, :6].sum(axis=1) + 2 * (parts[:, 6] == 1) - (parts[:, 7] == 0)
    y = np.digitize(signal + rng.standard_normal(len(X)), [-2, 0, 2, 4])
    more = {}
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    elif kind == "zero is missing":
        more = {"lgb_params": {"zero_as_missing": True}}
    elif kind == "linear start":
        X[rng.random(len(X)) < 0.2, 1] = np.nan
        more = {"start": "linear"}
    elif kind == "averaged":
        more = {"preset": "balanced"}
    ranker = Ranker.lightgbm_defaults(
        "xendcg", n_estimators=n_estimators, num_leaves=num_leaves, n_jobs=1, **more
    )
    return ranker.fit(X, y, qid=np.repeat(np.arange(n_queries), length)), X


def thresholds_of(booster):
    """Return the thresholds of each feature, as LightGBM has them."""
    found = {feature: set() for feature in range(booster.num_feature())}
    waiting = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    while waiting:
        node = waiting.pop()
        if "left_child" in node:
            if node["decision_type"] == "<=":
                found[node["split_feature"]].add(float(node["threshold"]))
            waiting += [node["left_child"], node["right_child"]]
    return {feature: np.array(sorted(values)) for feature, values in found.items()}


def beside(values, dtype):
    """Return the numbers next to some, on both sides, and the nearest."""
    with np.errstate(over="ignore"):
        nearest = np.asarray(values, dtype=np.float64).astype(dtype)
        below = np.nextafter(nearest, dtype(-np.inf))
        above = np.nextafter(nearest, dtype(np.inf))
    return np.concatenate([below, nearest, above])


def rows_near(booster, n_rows, dtype, seed, infinities=0.02):
    """Return rows whose values are near thresholds, strange, or neither."""
    rng = np.random.default_rng(seed)
    strange = np.array([np.nan, 0.0, -0.0, TINY, -TINY, 3e38, -3e38, 1e-38], dtype=dtype)
    strange = np.concatenate([strange, beside([ZERO, -ZERO], dtype)])
    X = make_features(rng, n_rows).astype(dtype)
    for feature, thresholds in thresholds_of(booster).items():
        near = beside(thresholds, dtype)
        if len(near):
            chosen = rng.random(n_rows) < 0.7
            X[chosen, feature] = rng.choice(near, chosen.sum())
        chosen = rng.random(n_rows) < 0.15
        X[chosen, feature] = rng.choice(strange, chosen.sum())
        chosen = rng.random(n_rows) < infinities
        X[chosen, feature] = rng.choice(np.array([np.inf, -np.inf], dtype=dtype), chosen.sum())
    return X


def rows_at_each_threshold(booster, dtype):
    """Return rows that differ from an ordinary one in one feature, on or beside a threshold."""
    rows = []
    ordinary = make_features(np.random.default_rng(9), 1)[0].astype(dtype)
    for feature, thresholds in thresholds_of(booster).items():
        for value in beside(thresholds, dtype):
            rows.append(ordinary.copy())
            rows[-1][feature] = value
    return np.array(rows)
