"""Whether intervals of propensities hold what they promise, on logs whose truth is known.

A log has 100,000 sessions of 10 results in random order, from 2,000 queries of 10 items each, so
that every item has 50 impressions. Relevances are drawn from Beta(1, 3), propensities are 1 / rank.
"""

import numpy as np

from click_study.store import load, save
from gbrank.clicks import ClickLog, estimate_propensities

QUERIES, SESSIONS, RANKS = 2_000, 50, 10
METHODS = ("pivot", "neighbours", "all_pairs", "em")
TRUTH = 1.0 / np.arange(1, RANKS + 1)
#: Logs on which features are given too: three that tell relevance with noise.
WITH_FEATURES = 5


def draw(seed: int) -> tuple[ClickLog, np.ndarray]:
    """Return a log, and the relevance of each of its rows."""
    rng = np.random.default_rng(seed)
    relevance = rng.beta(1, 3, (QUERIES, RANKS))
    query = np.repeat(np.arange(QUERIES), SESSIONS)
    order = np.argsort(rng.random((len(query), RANKS)), axis=1)
    gamma = relevance[query[:, None], order]
    clicks = rng.random(gamma.shape) < TRUTH * gamma
    rows = np.repeat(query, RANKS)
    position = np.tile(np.arange(1, RANKS + 1), len(query))
    log = ClickLog(rows, rows * RANKS + order.ravel(), position, clicks.ravel())
    return log, gamma.ravel()


def run(n_logs: int) -> None:
    """Measure as many logs as are missing."""
    found = load("coverage")
    for seed in range(n_logs):
        trial = found["trials"].setdefault(str(seed), {})
        wanted = [*METHODS, *(["em_features"] if seed < WITH_FEATURES else [])]
        missing = [method for method in wanted if method not in trial]
        if not missing:
            continue
        log, gamma = draw(seed)
        for method in missing:
            if method == "em_features":
                trial[method] = with_features(log, gamma, seed)
                continue
            made = estimate_propensities(log, method, random_state=seed)
            inside = (made.lower <= TRUTH) & (made.upper >= TRUTH)
            trial[method] = {
                "error": np.round(made.values / TRUTH - 1, 5).tolist()[1:],
                "inside": inside.astype(int).tolist()[1:],
            }
        save("coverage", found)


def with_features(log: ClickLog, gamma: np.ndarray, seed: int) -> dict[str, list[float]]:
    """Return the errors of EM with features that tell relevance with noise."""
    rng = np.random.default_rng(seed)
    logit = np.log(gamma / (1 - gamma))
    X = np.column_stack([logit + rng.normal(0, noise, len(logit)) for noise in (0.3, 0.6, 1.0)])
    made = estimate_propensities(log, "em_features", X=X)
    return {"error": np.round(made.values / TRUTH - 1, 5).tolist()[1:]}
