"""Speed of the objectives, alone and against LightGBM's own C++.

    python benchmarks/speed.py                     # everything, about six minutes
    python benchmarks/speed.py --only steps native --json speed.json

Every ratio compares two things timed in turn in one process (two processes for the cold start).
The C++ pass of LightGBM is not callable alone: its cost is that of an iteration with the native
objective minus that of an iteration with ready-made gradients, on one feature and two leaves. Ours
is the whole call, as LightGBM makes it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path

import lightgbm as lgb
import numpy as np
from common.provenance import provenance
from common.timing import interleave, ratio_with_interval

from gbrank import Objective, get_objective, list_objectives
from gbrank.core.threads import resolve_n_jobs

SEED = 0
LABEL_SHARES = (0.5, 0.2, 0.15, 0.1, 0.05)
THREADS = (1, 2)
ROUNDS = 30
#: Losses over all pairs are not timed on lists with more pairs than this in all.
MOST_PAIRS = 2e9
PAIRWISE = {"pairwise_logistic", "gain_pairwise"}
NATIVE = {"xendcg": "rank_xendcg", "listnet": "rank_xendcg", "lambdamart": "lambdarank"}
TINY = {"num_leaves": 2, "metric": "None", "verbose": -1, "force_col_wise": True}
LARGE = TINY | {"num_leaves": 64, "learning_rate": 0.1}


class Layout:
    """Labels, scores and group sizes of one shape of data."""

    def __init__(self, group: np.ndarray) -> None:
        rng = np.random.default_rng(SEED)
        self.group = group.astype(np.int32)
        self.n_rows = int(group.sum())
        self.labels = rng.choice(5, size=self.n_rows, p=LABEL_SHARES).astype(np.float32)
        self.scores = rng.normal(size=self.n_rows)

    @property
    def n_pairs(self) -> float:
        return float((self.group.astype(float) ** 2).sum())


def web_layout() -> Layout:
    """Return 6,000 queries of 30 to 209 documents."""
    return Layout(np.random.default_rng(SEED).integers(30, 210, 6000))


def layouts() -> dict[str, Layout]:
    return {
        "6,000 of 30-209": web_layout(),
        "72,000 of 10": Layout(np.full(72_000, 10)),
        "720 of 1,000": Layout(np.full(720, 1_000)),
        "7 of 100,000": Layout(np.full(7, 100_000)),
    }


def measure_steps() -> list[dict[str, object]]:
    """Time the gradient step of every objective on every layout, one and two threads."""
    rows = []
    for shape, layout in layouts().items():
        for name in list_objectives(observations=False):
            if name in PAIRWISE and layout.n_pairs > MOST_PAIRS:
                continue
            row: dict[str, object] = {"objective": name, "lists": shape}
            for threads in THREADS:
                objective = get_objective(name, n_jobs=threads)
                arguments = (layout.labels, layout.scores, None, layout.group)
                seconds = interleave(
                    {"step": partial(objective, *arguments)},
                    rounds=5 if name in PAIRWISE else ROUNDS,
                )
                row[f"ns a document, {threads} thread(s)"] = round(
                    float(np.median(seconds["step"])) / layout.n_rows * 1e9, 2
                )
            rows.append(row)
    return rows


def measure_native_pass() -> list[dict[str, object]]:
    """Time the whole call of an objective against LightGBM's C++ pass."""
    layout = web_layout()
    rng = np.random.default_rng(SEED + 1)
    feature = rng.normal(size=(layout.n_rows, 1)).astype(np.float32)
    ready = (
        rng.normal(size=layout.n_rows).astype(np.float32),
        np.ones(layout.n_rows, dtype=np.float32),
    )
    rows = []
    for threads in THREADS:
        params = {**TINY, "num_threads": threads}
        for name, native in NATIVE.items():
            boosters = [
                lgb.Booster(
                    {**params, "objective": which},
                    lgb.Dataset(
                        feature,
                        layout.labels,
                        group=layout.group,
                        init_score=layout.scores,
                        params=params,
                    ),
                )
                for which in (native, "none", "none")
            ]
            objective = get_objective(name, n_jobs=threads)
            ours: list[float] = []

            def timed(scores, dataset, objective=objective, ours=ours):
                start = time.perf_counter()
                gradients = objective(scores, dataset)
                ours.append(time.perf_counter() - start)
                return gradients

            seconds = interleave(
                {
                    "native": boosters[0].update,
                    "ready-made": lambda b=boosters: b[1].update(fobj=lambda *_: ready),
                    "ours": lambda b=boosters, f=timed: b[2].update(fobj=f),
                },
                ROUNDS,
            )
            theirs = seconds["native"] - seconds["ready-made"]
            mine = np.array(ours[-ROUNDS:])
            ratio, low, high = ratio_with_interval(theirs, mine)
            rows.append(
                {
                    "objective": name,
                    "peer": native,
                    "threads": threads,
                    "peer's C++ pass, ms": round(float(np.median(theirs)) * 1e3, 2),
                    "ours, ms": round(float(np.median(mine)) * 1e3, 2),
                    "times faster": round(ratio, 2),
                    "95% interval": [round(low, 2), round(high, 2)],
                }
            )
    return rows


def measure_training(n_features: int = 136, rounds: int = ROUNDS) -> list[dict[str, object]]:
    """Time whole iterations on 136 features and 64 leaves against the native objective."""
    layout = web_layout()
    rng = np.random.default_rng(SEED + 2)
    X = rng.normal(size=(layout.n_rows, n_features)).astype(np.float32)
    layout.labels = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2]), 0, 4).astype(np.float32)
    threads = resolve_n_jobs(None)
    params = {**LARGE, "num_threads": threads}
    dataset = lgb.Dataset(
        X, layout.labels, group=layout.group, init_score=layout.scores, params=params
    ).construct()
    del X
    rows = []
    for name in ("xendcg", "lambdamart"):
        native = lgb.Booster({**params, "objective": NATIVE[name]}, dataset)
        mine = lgb.Booster({**params, "objective": "none"}, dataset)
        objective = get_objective(name, n_jobs=threads)
        seconds = interleave(
            {"native": native.update, "ours": lambda b=mine, o=objective: b.update(fobj=o)}, rounds
        )
        ratio, low, high = ratio_with_interval(seconds["ours"], seconds["native"])
        rows.append(
            {
                "objective": name,
                "peer": NATIVE[name],
                "threads": threads,
                "peer, ms a tree": round(float(np.median(seconds["native"])) * 1e3, 1),
                "ours, ms a tree": round(float(np.median(seconds["ours"])) * 1e3, 1),
                "ours / peer": round(ratio, 3),
                "95% interval": [round(low, 3), round(high, 3)],
            }
        )
    return rows


_FIRST_FITS = """
import time
import numpy as np
from gbrank import Ranker
rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 10)); y = rng.integers(0, 5, 5000); qid = np.repeat(np.arange(100), 50)
seconds = []
for _ in range(3):
    start = time.perf_counter()
    Ranker("{name}", preset="fast", n_estimators=5).fit(X, y, qid=qid)
    seconds.append(time.perf_counter() - start)
print(seconds[0] - min(seconds[1:]))
"""


def run_python(code: str, cache: str) -> float:
    """Return the number that a fresh Python prints, with numba's cache in the folder ``cache``."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return float(finished.stdout.strip().splitlines()[-1])


def measure_cold_start(rounds: int = 7) -> list[dict[str, object]]:
    """Time imports, and what the first fit of a process costs beyond the second one."""
    import_time = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    modules = {"peer": "import lightgbm, numba", "ours": "import gbrank"}
    imported: dict[str, list[float]] = {"peer": [], "ours": []}
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(rounds + 1):  # the first round fills the disk's cache and is dropped
            for which, code in modules.items():
                imported[which].append(run_python(import_time.format(code), cache))
        ours, peer = (np.array(imported[which][1:]) for which in ("ours", "peer"))
        ratio, low, high = ratio_with_interval(ours, peer)
        rows: list[dict[str, object]] = [
            {
                "what": "import gbrank / import lightgbm, numba",
                "seconds": round(float(np.median(ours)), 3),
                "ratio": round(ratio, 3),
                "95% interval": [round(low, 3), round(high, 3)],
            }
        ]
        for name in ("xendcg", "lambdamart"):
            cold = run_python(_FIRST_FITS.format(name=name), cache)
            warm = [run_python(_FIRST_FITS.format(name=name), cache) for _ in range(3)]
            rows += [
                {"what": f"first fit, {name}, nothing compiled", "seconds": round(cold, 3)},
                {"what": f"first fit, {name}, warm cache", "seconds": round(np.median(warm), 3)},
            ]
    return rows


def measure_memory() -> list[dict[str, object]]:
    """Measure what a training holds beyond LightGBM's own arrays, and the peak of a step."""
    layout = web_layout()
    rows = []
    for name in list_objectives(observations=False):
        objective: Objective = get_objective(name, n_jobs=2)
        objective(layout.labels[:60], layout.scores[:60], None, np.array([30, 30]))  # compile
        tracemalloc.start()
        kept = objective(layout.labels, layout.scores, None, layout.group)
        held, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        returned = sum(array.nbytes for array in kept)
        rows.append(
            {
                "objective": name,
                "held, bytes a document": round((held - returned) / layout.n_rows, 1),
                "peak of first step, bytes a document": round(peak / layout.n_rows, 1),
            }
        )
    return rows


def measure_metrics() -> list[dict[str, object]]:
    from metrics_speed import measure

    return measure()


def measure_preferences() -> list[dict[str, object]]:
    from preferences_speed import measure

    return measure()


SECTIONS = {
    "steps": ("Gradient step of every objective", measure_steps),
    "native": ("Against LightGBM's C++ pass (6,000 queries of 30-209)", measure_native_pass),
    "training": ("Whole training, 136 features, 64 leaves", measure_training),
    "start": ("Cold start", measure_cold_start),
    "memory": ("Memory", measure_memory),
    "metrics": ("Metrics against their peers", measure_metrics),
    "preferences": ("1.6 million comparisons over 10,000 queries", measure_preferences),
}


def as_table(rows: list[dict[str, object]]) -> str:
    """Return rows as a Markdown table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[str(row.get(column, "")) for column in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    arguments = parser.parse_args()
    results: dict[str, object] = {
        "provenance": provenance() | {"seed": str(SEED), "data": "synthetic, normal scores"}
    }
    for section in arguments.only:
        title, measure = SECTIONS[section]
        rows = measure()
        results[section] = rows
        print(f"\n## {title}\n\n{as_table(rows)}", flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
