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
import time
import tracemalloc
from collections.abc import Collection
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
LENGTHS = (5, 10, 20, 50, 120, 1_000)
TRIES = 4
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
                training = get_objective(name, n_jobs=threads).bind(layout.labels, layout.group)
                seconds = interleave(
                    {"step": partial(training.advance, layout.scores)},
                    rounds=5 if name in PAIRWISE else ROUNDS,
                )
                row[f"ns a document, {threads} thread(s)"] = round(
                    float(np.median(seconds["step"])) / layout.n_rows * 1e9, 2
                )
            rows.append(row)
    return rows


def list_lengths() -> dict[str, Layout]:
    """Return layouts of 300,000 documents by the length of their lists, and the web's."""
    found = {f"{length:,}": Layout(np.full(300_000 // length, length)) for length in LENGTHS}
    found["2-40"] = Layout(np.random.default_rng(SEED).integers(2, 41, 300_000 // 21))
    return found | {"30-209": web_layout()}


def native_pass(name: str, layout: Layout, threads: int) -> dict[str, object]:
    """Time the whole call of an objective against LightGBM's C++ pass."""
    rng = np.random.default_rng(SEED + 1)
    feature = rng.normal(size=(layout.n_rows, 1)).astype(np.float32)
    ready = (
        rng.normal(size=layout.n_rows).astype(np.float32),
        np.ones(layout.n_rows, dtype=np.float32),
    )
    params = {**TINY, "num_threads": threads}
    fields = {"label": layout.labels, "group": layout.group, "init_score": layout.scores}
    boosters = [
        lgb.Booster(
            {**params, "objective": which}, lgb.Dataset(feature, **fields, params=dict(params))
        )
        for which in (NATIVE[name], "none", "none")
    ]
    objective = get_objective(name)  # as many threads as LightGBM has
    ours: list[float] = []

    def timed(scores, dataset):
        start = time.perf_counter()
        gradients = objective(scores, dataset)
        ours.append(time.perf_counter() - start)
        return gradients

    seconds = interleave(
        {
            "native": boosters[0].update,
            "ready-made": lambda: boosters[1].update(fobj=lambda *_: ready),
            "ours": lambda: boosters[2].update(fobj=timed),
        },
        ROUNDS,
    )
    theirs = seconds["native"] - seconds["ready-made"]
    mine = np.array(ours[-ROUNDS:])
    ratio, low, high = ratio_with_interval(theirs, mine)
    return {
        "objective": name,
        "peer": NATIVE[name],
        "threads": threads,
        "peer's C++ pass, ns a document": round(float(np.median(theirs)) / layout.n_rows * 1e9, 2),
        "ours, ns a document": round(float(np.median(mine)) / layout.n_rows * 1e9, 2),
        "times faster": round(ratio, 2),
        "95% interval": [round(low, 2), round(high, 2)],
    }


def measure_native_pass(chosen: Collection[str] = ()) -> list[dict[str, object]]:
    """Compare with LightGBM's C++ at every length of lists, one and two threads.

    Where LightGBM's own pass gains too little from its second thread, something else had the other
    core: two threads are then measured again, ``TRIES`` times at most. Ours has no say in that.
    """
    rows = []
    for lists, layout in list_lengths().items():
        if chosen and lists not in chosen:
            continue
        for name in ("xendcg", "lambdamart"):
            one = native_pass(name, layout, 1)
            two = [native_pass(name, layout, 2)]
            while len(two) < TRIES and not gains_from_two(one, two[-1]):
                two.append(native_pass(name, layout, 2))
            last = two[-1] | {"tries": len(two), "undisturbed": gains_from_two(one, two[-1])}
            rows += [{"lists": lists} | one, {"lists": lists} | last]
    return rows


def gains_from_two(one: dict[str, object], two: dict[str, object]) -> bool:
    """Return whether LightGBM's pass took at most 0.8 of the time of one thread with two."""
    pass_ns = "peer's C++ pass, ns a document"
    return bool(two[pass_ns] <= 0.8 * one[pass_ns])


def measure_training(n_features: int = 136, rounds: int = 30) -> list[dict[str, object]]:
    """Time whole iterations on 136 features and 64 leaves against the native objective.

    What trees cost whose gradients are there already is what no objective can be below.
    """
    rng = np.random.default_rng(SEED + 2)
    threads = resolve_n_jobs(None)
    params = {**LARGE, "num_threads": threads}
    rows = []
    for length in (10, 120):
        layout = Layout(np.full(240_000 // length, length))
        X = rng.normal(size=(layout.n_rows, n_features)).astype(np.float32)
        layout.labels = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2]), 0, 4).astype(np.float32)
        dataset = lgb.Dataset(
            X, layout.labels, group=layout.group, init_score=layout.scores, params=params
        ).construct()
        del X
        for name in ("xendcg", "lambdamart"):
            native = lgb.Booster({**params, "objective": NATIVE[name]}, dataset)
            mine = lgb.Booster({**params, "objective": "none"}, dataset)
            free = lgb.Booster({**params, "objective": "none"}, dataset)
            objective = get_objective(name)
            ready = objective.grad_hess(layout.labels, layout.scores, layout.group)
            seconds = interleave(
                {
                    "native": native.update,
                    "ours": lambda b=mine, o=objective: b.update(fobj=o),
                    "free": lambda b=free, g=ready: b.update(fobj=lambda *_: g),
                },
                rounds,
            )
            ratio, low, high = ratio_with_interval(seconds["ours"], seconds["native"])
            floor, _, _ = ratio_with_interval(seconds["free"], seconds["native"])
            rows.append(
                {
                    "objective": name,
                    "peer": NATIVE[name],
                    "lists": str(length),
                    "threads": threads,
                    "peer, ms a tree": round(float(np.median(seconds["native"])) * 1e3, 1),
                    "ours, ms a tree": round(float(np.median(seconds["ours"])) * 1e3, 1),
                    "ours / peer": round(ratio, 3),
                    "95% interval": [round(low, 3), round(high, 3)],
                    "ready-made gradients / peer": round(floor, 3),
                }
            )
    return rows


def measure_cold_start() -> list[dict[str, object]]:
    from start_speed import measure

    return measure()


def measure_serving() -> list[dict[str, object]]:
    from serving_speed import measure

    return measure()


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
    "native": ("Against LightGBM's C++ pass, by length of lists", measure_native_pass),
    "training": ("Whole training, 136 features, 64 leaves", measure_training),
    "start": ("Imports and first trainings", measure_cold_start),
    "serving": ("Serving, one thread", measure_serving),
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
    parser.add_argument("--lists", nargs="+", help='of "native" only these lengths of lists')
    parser.add_argument("--json", type=Path, help="also write the numbers to this file, in which "
                        "sections that are not run stay")  # fmt: skip
    arguments = parser.parse_args()
    results: dict[str, object] = {}
    if arguments.json and arguments.json.exists():
        results = json.loads(arguments.json.read_text())
    facts = {"seed": str(SEED), "data": "synthetic, normal scores"}
    if results:  # some sections stay as another run left them
        facts["command"] = "python benchmarks/speed.py, in parts"
    results["provenance"] = provenance() | facts
    for section in arguments.only:
        title, measure = SECTIONS[section]
        if section == "native" and arguments.lists:
            rows = measure(arguments.lists)
            rows += [r for r in results.get(section, []) if r["lists"] not in arguments.lists]
            rows.sort(key=lambda row: list(list_lengths()).index(row["lists"]))
        else:
            rows = measure()
        results[section] = rows
        print(f"\n## {title}\n\n{as_table(rows)}", flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
