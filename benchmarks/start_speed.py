"""Speed of a first minute: imports, help, and first trainings with and without compiled kernels.

    python benchmarks/start_speed.py

Each number is of a fresh process. What a first training costs is measured over the second one of
the same process, and LightGBM's own likewise; by the clock, and as CPU time of the thread that
trains, which other work on the machine disturbs less. Python keeps bytecode, as it does of what pip
installs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

IMPORTS = {
    "import lightgbm": "import lightgbm",
    "from gbrank import Ranker": "from gbrank import Ranker",
}
_DATA = """
import time
import lightgbm as lgb
import numpy as np
from gbrank import XENDCG, Ranker
rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 10)); y = rng.integers(0, 5, 6000)
sizes = np.tile([{sizes}], 6000 // sum([{sizes}])); n = int(sizes.sum())
X, y, qid = X[:n], y[:n], np.repeat(np.arange(len(sizes)), sizes)
seconds = []
for _ in range(3):
    start = np.array([time.perf_counter(), time.thread_time()])
    {run}
    seconds.append([time.perf_counter(), time.thread_time()] - start)
print(*(seconds[0] - np.min(seconds[1:], axis=0)))
"""
_TRAIN = (
    "lgb.train(dict(objective={}, verbose=-1, metric='None'), lgb.Dataset(X, y, group=sizes), 5)"
)
FIRST = {
    "lgb.train, rank_xendcg": _TRAIN.format("'rank_xendcg'"),
    "lgb.train, XENDCG": _TRAIN.format("XENDCG()"),
    'Ranker(preset="fast").fit': ("Ranker(preset='fast', n_estimators=5).fit(X, y, qid=qid)"),
}


def run_python(code: str, cache: str) -> list[float]:
    """Return the numbers that a fresh Python prints, with numba's cache in the folder ``cache``."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""}
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return [float(each) for each in finished.stdout.strip().splitlines()[-1].split()]


def measure_imports(cache: str, rounds: int) -> list[dict[str, Any]]:
    """Return medians of imports, taken in turn, and of ``gbrank --help``."""
    timed = (
        "import time; start = time.perf_counter(), time.thread_time(); {}; "
        "print(time.perf_counter() - start[0], time.thread_time() - start[1])"
    )
    taken: dict[str, list[list[float]]] = {what: [] for what in [*IMPORTS, "gbrank --help"]}
    for _ in range(rounds + 1):  # the first round fills the disk's cache and is dropped
        for what, code in IMPORTS.items():
            taken[what].append(run_python(timed.format(code), cache))
        start, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, "-m", "gbrank", "--help"], check=True, capture_output=True)
        after = os.times()
        cpu = sum(after[2:4]) - sum(before[2:4])  # of children
        taken["gbrank --help"].append([time.perf_counter() - start, cpu])
    rows = []
    for what, values in taken.items():
        seconds, cpu = np.median(values[1:], axis=0)
        inside = np.quantile([by_clock for by_clock, _ in values[1:]], [0.025, 0.975])
        rows.append(
            {
                "what": what,
                "median of": rounds,
                "seconds": round(float(seconds), 3),
                "CPU": round(float(cpu), 3),
                "95% of them": [round(float(x), 3) for x in inside],
            }
        )
    return rows


def measure_first(sizes: str, rounds: int) -> list[dict[str, Any]]:
    """Return what first trainings cost over second ones, with an empty and with a full cache."""
    rows: list[dict[str, Any]] = []
    for what, run in FIRST.items():
        code = _DATA.format(sizes=sizes, run=run)
        cold, warm = [], []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(run_python(code, cache))
                warm.append(run_python(code, cache))
        row: dict[str, Any] = {"what": what, "lists": sizes}
        for name, values in (("empty cache", cold), ("full cache", warm)):
            by_clock, cpu = np.median(values, axis=0)
            row |= {f"{name}, seconds": round(by_clock, 2), f"{name}, CPU": round(cpu, 2)}
        rows.append(row)
    return rows


def measure(rounds: int = 20) -> list[dict[str, Any]]:
    """Return imports and first trainings, on short, long and mixed lists."""
    with tempfile.TemporaryDirectory() as cache:
        rows = measure_imports(cache, rounds)
    for sizes in ("10", "120", "10, 120"):
        rows += measure_first(sizes, 3)
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
