"""Speed of learning from preferences: aggregation, and a boosting iteration on drawn aggregates.

    python benchmarks/speed.py --only preferences

1.6 million comparisons over 10,000 queries of 40 to 200 documents. Aggregation runs on one thread;
whole iterations have 136 features and 64 leaves, against the same with ``Squared`` on labels.
"""

import lightgbm as lgb
import numpy as np
from common.timing import interleave, ratio_with_interval

from gbrank import PairwiseLogistic, PreferenceLogistic, Squared, UStatistic
from gbrank.core.queries import QueryLayout
from gbrank.core.threads import resolve_n_jobs
from gbrank.preferences import METHODS, aggregate
from gbrank.simulate import bradley_terry

SEED = 0
N_COMPARISONS, N_QUERIES, N_FEATURES, ORDER = 1_600_000, 10_000, 136, 100
PARAMS = {
    "num_leaves": 64,
    "learning_rate": 0.1,
    "metric": "None",
    "verbose": -1,
    "force_col_wise": True,
}


def measure(rounds: int = 10) -> list[dict[str, object]]:
    """Return one row per method of aggregation and per objective."""
    rng = np.random.default_rng(SEED)
    layout = QueryLayout.from_group(rng.integers(40, 201, N_QUERIES))
    qid = np.repeat(np.arange(N_QUERIES), layout.sizes)
    X = rng.normal(size=(layout.n_rows, N_FEATURES)).astype(np.float32)
    labels = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2]), 0, 4)
    comparisons = bradley_terry(labels, qid, N_COMPARISONS, random_state=SEED)
    bound = comparisons.bind(layout)
    named = {"bind": lambda: comparisons.bind(layout)}
    for name, method in METHODS.items():
        if not method.needs_lists:
            named[name] = lambda name=name: aggregate(bound, name, n_jobs=1)
    seconds = interleave(named, rounds=3, warm_up=1)
    rows: list[dict[str, object]] = [
        {"what": name if name == "bind" else f"aggregate, {name}, 1 thread", "seconds": each}
        for name, each in ((name, round(float(np.median(s)), 3)) for name, s in seconds.items())
    ]
    threads = resolve_n_jobs(None)
    params = {**PARAMS, "num_threads": threads}
    data = lgb.Dataset(X, labels, group=layout.sizes, params=params).construct()
    del X
    objectives = {
        "squared, on labels": Squared(n_jobs=threads),
        f"ustatistic, order {ORDER}": UStatistic(bound, order=ORDER, n_jobs=threads),
        "ustatistic, complete": UStatistic(bound, n_jobs=threads),
        "preference_logistic": PreferenceLogistic(bound, n_jobs=threads),
        "pairwise_logistic, comparisons": PairwiseLogistic(bound, n_jobs=threads),
    }
    boosters = {name: lgb.Booster({**params, "objective": "none"}, data) for name in objectives}
    seconds = interleave(
        {
            name: lambda b=boosters[name], o=objective: b.update(fobj=o)
            for name, objective in objectives.items()
        },
        rounds,
    )
    reference = seconds["squared, on labels"]
    for name, each in seconds.items():
        ratio, low, high = ratio_with_interval(each, reference)
        rows.append(
            {
                "what": f"iteration, {name}",
                "seconds": round(float(np.median(each)), 3),
                "threads": threads,
                "ratio to squared": round(ratio, 3),
                "95% interval": [round(low, 3), round(high, 3)],
            }
        )
    return rows
