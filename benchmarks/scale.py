"""How cost grows: with documents, list length, features, trees, threads and Dask workers.

    python benchmarks/scale.py                  # about six minutes; writes results/scale.{md,json}
    python benchmarks/scale.py --part steps     # one part; the others stay as they were written
    python benchmarks/scale.py --quick          # seconds; prints only
    python benchmarks/scale.py --dask           # Dask workers 1, 2, 3 too

Each curve is fitted by least squares of log time on log size; its slope is the growth exponent.
The projections at the end multiply measured costs per unit; their assumptions stand next to them.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from common.provenance import provenance
from numba import njit
from scale_report import page, print_tables

from gbrank import get_objective

RESULTS = Path(__file__).parent / "results"
#: Losses whose cost is that of their documents, and one that sorts and pairs.
LINEAR = ("xendcg", "listnet", "squared", "cosine", "kl", "bregman_logistic", "qnorm", "listmle")
STEPPED = (*LINEAR, "lambdamart")
#: No loss: a loop that moves the bytes of the cheapest ones.
PLAIN_PASS = "(plain pass)"
LIST_LENGTH = 100
LABEL_SHARES = (0.5, 0.2, 0.15, 0.1, 0.05)
#: What projections assume of a worker: threads, and the share of them that is gain.
THREADS, EFFICIENCY = 16, 0.6
#: Sizes below this are left out of fits: there the fixed cost of a call is what is measured.
SMALLEST_FITTED = 30_000


def labels_and_scores(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.choice(5, size=n, p=LABEL_SHARES).astype(np.float32), rng.normal(size=n)


def features(n: int, n_features: int) -> np.ndarray:
    return np.random.default_rng(1).random((n, n_features), dtype=np.float32)


def labels_of(X: np.ndarray) -> np.ndarray:
    """Return labels that features tell of; on noise alone trees split off crumbs: too cheap."""
    rng = np.random.default_rng(2)
    hidden = X[:, :5].sum(axis=1) + rng.normal(scale=0.5, size=len(X))
    edges = np.quantile(hidden, np.cumsum(LABEL_SHARES)[:-1])
    return np.searchsorted(edges, hidden).astype(np.float32)


def best_seconds(
    call: Callable[[], object], budget: float, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the shortest of several runs; others only add what the machine does besides."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - began < budget and len(times) < 50):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> dict[str, float]:
    """Return slope of log seconds on log size, its standard error, and the largest residual."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(seconds, float))
    centred = x - x.mean()
    slope = float(centred @ (y - y.mean()) / (centred @ centred))
    residual = y - y.mean() - slope * centred
    freedom = max(len(x) - 2, 1)
    error = float(np.sqrt(residual @ residual / freedom / (centred @ centred)))
    return {"exponent": slope, "standard error": error}


def step_seconds(name: str, group: np.ndarray, n_jobs: int, budget: float) -> float:
    """Time a gradient step as LightGBM asks for it, its preparation by labels done before."""
    n = int(group.sum())
    labels, scores = labels_and_scores(n)
    objective = get_objective(name, n_jobs=n_jobs)
    objective(labels, scores, None, group)
    # Of one thread, the time that it had a core: waiting for one is no cost of the step.
    clock = time.thread_time if n_jobs == 1 else time.perf_counter
    return best_seconds(lambda: objective(labels, scores, None, group), budget, clock)


@njit(nogil=True)
def _plain_pass(scores, target, curvature, grad, hess):
    for i in range(len(scores)):
        grad[i] = np.float32(scores[i] + target[i])
        hess[i] = np.float32(curvature[i])


def plain_pass_seconds(n: int, budget: float) -> float:
    """Time a loop that reads and writes what the cheapest losses do, and computes next to nothing.

    24 bytes read and 8 written per document, in arrays that are used again: all that it shows of
    growth above 1 is memory farther away from the processor, not work.
    """
    scores, target, curvature = np.random.default_rng(0).random((3, n))
    grad, hess = np.zeros((2, n), dtype=np.float32)
    call = functools.partial(_plain_pass, scores, target, curvature, grad, hess)
    return best_seconds(call, budget, time.thread_time)


def steps_by_documents(sizes: Sequence[int], budget: float) -> list[dict[str, Any]]:
    rows = []
    for name in (*STEPPED, PLAIN_PASS):
        if name == PLAIN_PASS:
            plain_pass_seconds(1, 0.0)  # compiles
            seconds = [plain_pass_seconds(n, budget) for n in sizes]
        else:
            group = {n: np.full(n // LIST_LENGTH, LIST_LENGTH) for n in sizes}
            seconds = [step_seconds(name, group[n], 1, budget) for n in sizes]
        fitted = [i for i, n in enumerate(sizes) if n >= SMALLEST_FITTED] or range(len(sizes))
        fit = exponent([sizes[i] for i in fitted], [seconds[i] for i in fitted])
        rows.append({"objective": name, "sizes": list(sizes), "seconds": seconds, **fit})
    return rows


def steps_by_length(n: int, lengths: Sequence[int], budget: float) -> list[dict[str, Any]]:
    """The same number of documents, in ever longer lists."""
    rows = []
    for name in STEPPED:
        seconds = [step_seconds(name, np.full(n // m, m), 1, budget) for m in lengths]
        rows.append({"objective": name, "sizes": list(lengths), "seconds": seconds})
        rows[-1].update(exponent(lengths, seconds))
    return rows


def steps_by_threads(n: int, threads: Sequence[int], budget: float) -> list[dict[str, Any]]:
    group = np.full(n // LIST_LENGTH, LIST_LENGTH)
    return [
        {
            "objective": name,
            "sizes": list(threads),
            "seconds": [step_seconds(name, group, jobs, budget) for jobs in threads],
        }
        for name in ("xendcg", "lambdamart")
    ]


def training_seconds(
    name: str, n: int, n_features: int, n_trees: int, n_jobs: int
) -> tuple[float, float]:
    """Return seconds to bin the data, and to grow the trees."""
    X, group = features(n, n_features), np.full(n // LIST_LENGTH, LIST_LENGTH)
    labels = labels_of(X)
    params = {"verbose": -1, "num_leaves": 64, "metric": "None", "num_threads": n_jobs}
    params |= {"force_col_wise": True}
    clock = time.process_time if n_jobs == 1 else time.perf_counter  # as for steps
    start = clock()
    dataset = lgb.Dataset(X, labels, group=group, params=params).construct()
    binned = clock()
    lgb.train(params | {"objective": get_objective(name, n_jobs=n_jobs)}, dataset, n_trees)
    return binned - start, clock() - binned


def trainings(
    what: str, sizes: Sequence[int], base: dict[str, Any], min_fitted: float = 0
) -> list[dict[str, Any]]:
    """Vary one argument of :func:`training_seconds`, the others as in ``base``."""
    rows = []
    for name in ("xendcg", "lambdamart"):
        # the shorter of two: what else the machine does comes on top
        timed = [
            min((training_seconds(name, **(base | {what: size})) for _ in range(2)), key=sum)
            for size in sizes
        ]
        seconds = [growing for _, growing in timed]
        row = {"objective": name, "sizes": list(sizes), "seconds": seconds}
        row["binning seconds"] = [binning for binning, _ in timed]
        fitted = [i for i, size in enumerate(sizes) if size >= min_fitted]
        if what != "n_jobs" and len(fitted) > 1:
            row.update(exponent([sizes[i] for i in fitted], [seconds[i] for i in fitted]))
        rows.append(row)
    return rows


def dask_workers(counts: Sequence[int], n: int, n_features: int, n_trees: int) -> list[Any]:
    """Train on 1, 2, 3 processes of this machine, one thread each."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from gbrank.dask import DaskRanker

    X, qid = features(n, n_features), np.arange(n) // LIST_LENGTH
    labels = labels_of(X)
    rows: dict[str, Any] = {"objective": "xendcg", "sizes": list(counts), "seconds": []}
    for count in counts:
        rows_each = -(-n // count // LIST_LENGTH) * LIST_LENGTH
        with (
            LocalCluster(count, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            parts = [da.from_array(a, chunks=(rows_each, *a.shape[1:])) for a in (X, labels, qid)]
            parts = [part.persist() for part in parts]
            ranker = DaskRanker("xendcg", n_estimators=n_trees, num_leaves=64, client=client)

            def fit(ranker: Any = ranker, parts: Any = parts) -> None:
                ranker.fit(parts[0], parts[1], qid=parts[2])

            rows["seconds"].append(best_seconds(fit, 0.0))  # of three; the first compiles
    return [rows]


def projections(results: dict[str, Any], base: dict[str, Any]) -> list[dict[str, Any]]:
    """State what larger trainings would take, from costs per unit that were measured here."""
    largest = results["trainings by documents"][0]
    n, seconds = largest["sizes"][-1], largest["seconds"][-1]
    slope = max(1.0, largest["exponent"])
    per_cell = seconds / (n * base["n_features"] * base["n_trees"])
    binning_per_cell = largest["binning seconds"][-1] / (n * base["n_features"])
    step = next(row for row in results["steps by documents"] if row["objective"] == "xendcg")
    step_per_document = step["seconds"][-1] / step["sizes"][-1]
    rows = []
    for what, documents, n_features, n_trees, workers, network in (
        ("WEB30K, one machine", 3.8e6, 136, 500, 1, 0.0),
        ("1e9 documents, 100 workers", 1e9, 136, 500, 100, 1.25e9),
    ):
        local = documents / workers
        growth = (local / n) ** (slope - 1.0)
        growing = per_cell * local * n_features * n_trees * growth
        # per split, each worker sends its histograms (255 bins of 16 bytes a feature) once and
        # receives as much: reduce-scatter, then the best splits, which are small
        moved = n_trees * 63 * n_features * 255 * 16 if workers > 1 else 0
        rows.append(
            {
                "what": what,
                "documents": documents,
                "features": n_features,
                "trees": n_trees,
                "workers": workers,
                "hours of growing, one thread": growing / 3600,
                "hours of growing, 16 threads": growing / 3600 / (THREADS * EFFICIENCY),
                "hours of gradients within, one thread": step_per_document * local * n_trees / 3600,
                "hours of binning, one thread": binning_per_cell * local * n_features / 3600,
                "gigabytes sent per worker": moved / 1e9,
                "hours of sending": 2 * moved / network / 3600 if network else 0.0,
                "gigabytes of bins per worker": local * n_features / 1e9,
                "gigabytes of gradients and scores per worker": local * 20 / 1e9,
            }
        )
    return rows


def measure(quick: bool, parts: Sequence[str], results: dict[str, Any]) -> None:
    """Fill in the sections of the parts that are asked for, and the projections."""
    budget = 0.02 if quick else 0.3
    documents = (10_000, 30_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    base = {"n": 20_000 if quick else 200_000, "n_features": 20, "n_trees": 5 if quick else 20}
    base["n_jobs"] = 1  # LightGBM's threads wait for each other, so a busy core would distort all
    lengths = (10, 100, 1_000) if quick else (10, 100, 1_000, 10_000, 100_000)
    sizes = (10_000, 20_000) if quick else (30_000, 100_000, 300_000, 1_000_000)
    results["base"] = base

    def note(name: str, rows: list[Any]) -> None:
        results[name] = rows
        print(f"{name}: done", flush=True)

    if "steps" in parts:
        note("steps by documents", steps_by_documents(documents, budget))
        note("steps by list length", steps_by_length(20_000 if quick else 500_000, lengths, budget))
        note("steps by threads", steps_by_threads(documents[-2], (1, 2, 4), budget))
    if "trainings" in parts:
        note("trainings by documents", trainings("n", sizes, base))
        note("trainings by features", trainings("n_features", (5, 20, 80), base))
        note("trainings by trees", trainings("n_trees", (5, 20) if quick else (10, 30, 90), base))
        note("trainings by threads", trainings("n_jobs", (1, 2), base))
    if "dask" in parts:
        counts = (1, 2) if quick else (1, 2, 3)
        note("Dask workers", dask_workers(counts, base["n"], base["n_features"], base["n_trees"]))
    note("projections", projections(results, base))


def main() -> None:
    parser = argparse.ArgumentParser(description="How cost grows.")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing is written")
    parser.add_argument("--dask", action="store_true", help="Dask workers too")
    parser.add_argument("--part", choices=("steps", "trainings", "dask"), help="measure only this")
    parser.add_argument("--note", default="", help="a sentence for the page, e.g. on the machine")
    options = parser.parse_args()
    path = RESULTS / "scale.json"
    before = json.loads(path.read_text()) if options.part else {}
    parts = (options.part,) if options.part else ("steps", "trainings", *["dask"] * options.dask)
    results = {**before, "provenance": provenance(), "note": options.note}
    measure(options.quick, parts, results)
    print_tables(results)
    if not options.quick:
        path.write_text(json.dumps(results, indent=1) + "\n")
        (RESULTS / "scale.md").write_text(page(results))


if __name__ == "__main__":
    main()
