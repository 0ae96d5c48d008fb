"""Ten million rows: the log, its report and all-pairs harvesting, in seconds and memory."""

import resource
import time

import numpy as np

from click_study.store import load, save
from gbrank.clicks import ClickLog, estimate_propensities, report

RANKS = 10


def run(n_rows: int) -> None:
    """Measure in this process, kernels compiled before; peak memory includes the input."""
    warm = ClickLog([0, 0, 0, 0], [1, 1, 2, 2], [1, 2, 1, 2], [1, 1, 0, 1])
    report(warm)
    rng = np.random.default_rng(0)
    sessions = n_rows // RANKS
    query = np.repeat(rng.integers(0, sessions // 100, sessions), RANKS)
    item = rng.integers(0, 25, n_rows) + 25 * query
    position = np.tile(np.arange(1, RANKS + 1), sessions)
    click = rng.random(n_rows) < 0.3 / position
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    started, used = time.perf_counter(), time.process_time()
    log = ClickLog(query, item, position, click)
    made = time.perf_counter()
    report(log)
    estimate_propensities(log, "all_pairs", n_bootstrap=0)
    found = load("scale")
    found["trials"][str(n_rows)] = {
        "seconds": round(time.perf_counter() - started, 2),
        "seconds of the log": round(made - started, 2),
        "cpu seconds": round(time.process_time() - used, 2),
        "peak memory, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "input, GB": round(before, 2),
        "entries": len(log.places),
        "queries": log.n_queries,
    }
    save("scale", found)
    print(found["trials"][str(n_rows)])
