"""Speed of a first minute: imports, help, and first trainings with and without compiled kernels.

    python benchmarks/start_speed.py

Each number is of a fresh process. What a first training costs is measured over the second one of
the same process, and LightGBM's own likewise.
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
    start = time.perf_counter()
    {run}
    seconds.append(time.perf_counter() - start)
print(seconds[0] - min(seconds[1:]))
"""
_TRAIN = (
    "lgb.train(dict(objective={}, verbose=-1, metric='None'), lgb.Dataset(X, y, group=sizes), 5)"
)
FIRST = {
    "lgb.train, rank_xendcg": _TRAIN.format("'rank_xendcg'"),
    "lgb.train, XENDCG": _TRAIN.format("XENDCG()"),
    'Ranker(preset="fast").fit': ("Ranker(preset='fast', n_estimators=5).fit(X, y, qid=qid)"),
}


def run_python(code: str, cache: str) -> float:
    """Return the number that a fresh Python prints, with numba's cache in the folder ``cache``."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return float(finished.stdout.strip().splitlines()[-1])


def measure_imports(cache: str, rounds: int) -> list[dict[str, Any]]:
    """Return medians of imports, taken in turn, and of ``gbrank --help``."""
    timed = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    seconds: dict[str, list[float]] = {what: [] for what in [*IMPORTS, "gbrank --help"]}
    for _ in range(rounds + 1):  # the first round fills the disk's cache and is dropped
        for what, code in IMPORTS.items():
            seconds[what].append(run_python(timed.format(code), cache))
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "gbrank", "--help"], check=True, capture_output=True)
        seconds["gbrank --help"].append(time.perf_counter() - start)
    return [
        {
            "what": what,
            "median of": rounds,
            "seconds": round(float(np.median(values[1:])), 3),
            "95% of them": [round(float(x), 3) for x in np.quantile(values[1:], [0.025, 0.975])],
        }
        for what, values in seconds.items()
    ]


def measure_first(sizes: str, rounds: int) -> list[dict[str, Any]]:
    """Return what first trainings cost over second ones, with an empty and with a full cache."""
    rows = []
    for what, run in FIRST.items():
        code = _DATA.format(sizes=sizes, run=run)
        with tempfile.TemporaryDirectory() as cache:
            cold = run_python(code, cache)
            warm = [run_python(code, cache) for _ in range(rounds)]
        rows.append(
            {
                "what": what,
                "lists": sizes,
                "empty cache, seconds": round(cold, 2),
                "full cache, seconds": round(float(np.median(warm)), 2),
            }
        )
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
