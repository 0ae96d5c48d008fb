"""Speed of the metrics: against LightGBM's C++, ranx and scikit-learn, and ten against one.

    python benchmarks/metrics_speed.py
    python benchmarks/metrics_speed.py --json metrics_speed.json

720,000 documents in 6,000 queries of 30 to 209. Every ratio compares two things timed in turn in
one process. LightGBM evaluates its own metric after what the labels decide has been computed, as
our ``feval`` does; ``ndcg_score`` reads the labels again at each call. ranx is given arrays that
are sorted already, and runs in a process of its own, since after numba's parallel kernels a process
cannot fork.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from common.provenance import provenance
from common.timing import interleave, ratio_with_interval

from gbrank.metrics import average_precision_score, evaluate, feval, ndcg_score

ROUNDS = 30
LABEL_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # those of the MSLR-WEB10K set
TEN_METRICS = [
    *("ndcg@10", "dcg@10", "err@10", "map", "mrr", "precision@5", "recall@10"),
    *("pairwise_disagreement", "topk_zero_one@3", "spearman"),
]
TEN_WHOLE_LISTS = [
    *("ndcg", "dcg", "err", "map", "mrr", "precision@5", "recall@10"),
    *("pairwise_disagreement", "topk_zero_one", "spearman"),
]


class Data:
    """Labels, scores and group sizes."""

    def __init__(self, n_queries: int = 6_000, length: int | None = None) -> None:
        rng = np.random.default_rng(0)
        self.lists_of = "30-209" if length is None else str(length)
        self.group = rng.integers(30, 210, n_queries)
        if length is not None:
            self.group = np.full(n_queries, length)
        self.n_rows = int(self.group.sum())
        self.labels = rng.choice(5, size=self.n_rows, p=LABEL_SHARES).astype(np.float64)
        self.scores = rng.normal(size=self.n_rows)

    def lists(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return labels and scores of each query."""
        cuts = np.cumsum(self.group)[:-1]
        return list(zip(np.split(self.labels, cuts), np.split(self.scores, cuts), strict=True))


def row(
    task: str,
    ours: Callable[[], object],
    peer_name: str,
    peer: Callable[[], object],
    target: str,
    documents: tuple[int, int],
    rounds: int = ROUNDS,
) -> dict[str, Any]:
    """Time both in turn; the ratio is how many times longer the peer takes for a document.

    The ratio of CPU times, of all threads, is given as well: it says more on a busy machine.
    """
    cpu: dict[str, list[float]] = {"ours": [], "peer": []}

    def clocked(name: str, run: Callable[[], object]) -> Callable[[], None]:
        def call() -> None:
            start = time.process_time()
            run()
            cpu[name].append(time.process_time() - start)

        return call

    seconds = interleave({"ours": clocked("ours", ours), "peer": clocked("peer", peer)}, rounds)
    ours_ns = seconds["ours"] / documents[0] * 1e9
    peer_ns = seconds["peer"] / documents[1] * 1e9
    ratio, low, high = ratio_with_interval(peer_ns, ours_ns)
    cpu_ratio = np.median(cpu["peer"]) / documents[1] / (np.median(cpu["ours"]) / documents[0])
    return {
        "task": task,
        "ours ns/doc": float(np.median(ours_ns)),
        "peer": peer_name,
        "peer ns/doc": float(np.median(peer_ns)),
        "peer/ours": ratio,
        "interval": [low, high],
        "CPU ratio": float(cpu_ratio),
        "target": target,
    }


def against_lightgbm(data: Data) -> list[dict[str, Any]]:
    rows = []
    for threads in (1, 2) if (os.cpu_count() or 1) > 1 else (1,):
        params = {"verbosity": -1, "num_threads": threads}
        dataset = lgb.Dataset(
            np.zeros((data.n_rows, 1)),
            data.labels,
            group=data.group,
            init_score=data.scores,
            params=params,
        )
        booster = lgb.Booster(
            {"objective": "none", "metric": "ndcg", "eval_at": [10], **params}, dataset
        )
        evaluator = feval("ndcg@10", convention="lightgbm")  # as many threads as LightGBM has
        ours, theirs = evaluator(data.scores, dataset)[1], booster.eval_train()[0][2]
        if abs(ours - theirs) > 1e-9:
            raise RuntimeError(f"the metrics differ: ours {ours}, LightGBM's {theirs}")
        name = f"LightGBM ndcg, {threads} thread{'s' if threads > 1 else ''}"
        rows.append(
            row(
                f"feval ndcg@10, lists of {data.lists_of}, n_jobs={threads}",
                lambda evaluator=evaluator, dataset=dataset: evaluator(data.scores, dataset),
                name,
                booster.eval_train,
                ">= 3",
                (data.n_rows, data.n_rows),
            )
        )
        rows.append(
            row(
                f"ndcg_score k=10, n_jobs={threads}",
                lambda threads=threads: ndcg_score(
                    data.labels, data.scores, group=data.group, k=10, n_jobs=threads
                ),
                name,
                booster.eval_train,
                "",
                (data.n_rows, data.n_rows),
            )
        )
    return rows


def against_ranx(data: Data) -> list[dict[str, Any]]:
    """Run in a process of its own: see :func:`measure`."""
    import numba
    from numba.typed import List
    from ranx.metrics import ndcg_burges

    numba.set_num_threads(1)
    qrels, run = List(), List()
    for labels, scores in data.lists():
        ids = np.arange(len(labels), dtype=np.float64)
        qrels.append(np.column_stack([ids, labels])[np.argsort(-labels, kind="stable")])
        run.append(np.column_stack([ids, scores])[np.argsort(-scores, kind="stable")])
    options = {"group": data.group, "k": 10, "empty": 0.0, "n_jobs": 1}
    ours = ndcg_score(data.labels, data.scores, **options)
    if abs(ours - ndcg_burges(qrels, run, 10).mean()) > 1e-9:
        raise RuntimeError("the metrics differ")
    return [
        row(
            "ndcg_score k=10, n_jobs=1",
            lambda: ndcg_score(data.labels, data.scores, **options),
            "ranx ndcg_burges@10 on sorted arrays",
            lambda: ndcg_burges(qrels, run, 10),
            ">= 2",
            (data.n_rows, data.n_rows),
        )
    ]


def against_scikit_learn(data: Data) -> list[dict[str, Any]]:
    from sklearn import metrics

    lists = data.lists()[:100]  # of so slow a loop a part is enough

    def loop() -> float:
        return float(
            np.mean([metrics.ndcg_score([labels], [scores], k=10) for labels, scores in lists])
        )

    return [
        row(
            "ndcg_score k=10, n_jobs=1",
            lambda: ndcg_score(
                data.labels, data.scores, group=data.group, k=10, convention="sklearn", n_jobs=1
            ),
            "loop over sklearn ndcg_score",
            loop,
            ">= 100",
            (data.n_rows, sum(len(labels) for labels, _ in lists)),
            rounds=9,
        )
    ]


def ten_against_one(data: Data) -> list[dict[str, Any]]:
    rows = []
    for task, metrics in (
        ("ten metrics at once", TEN_METRICS),
        ("ten metrics, whole lists", TEN_WHOLE_LISTS),
    ):
        found = row(
            task,
            lambda metrics=metrics: evaluate(
                data.labels, data.scores, group=data.group, metrics=metrics, n_jobs=1
            ),
            "average_precision_score alone",
            lambda: average_precision_score(data.labels, data.scores, group=data.group, n_jobs=1),
            ">= 0.4 (at most 2.5x the time)",
            (data.n_rows, data.n_rows),
        )
        rows.append(found)
    return rows


def measure() -> list[dict[str, Any]]:
    """Return one entry per comparison, with nanoseconds a document and their ratio."""
    data = Data()
    of_lengths = [Data(400_000 // length, length) for length in (10, 100)]
    rows = [line for each in [data, *of_lengths] for line in against_lightgbm(each)]
    rows += [*_ranx_apart(), *against_scikit_learn(data)]
    return [*rows, *ten_against_one(data)]


def _ranx_apart() -> list[dict[str, Any]]:
    """Measure against ranx in another process; nothing where ranx is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "ranx.json"
        command = [sys.executable, __file__, "--ranx-only", "--json", str(results)]
        # idle OpenMP threads of ranx must not spin while ours is timed
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            print(f"not compared with ranx: {done.stderr.strip().splitlines()[-1]}")
            return []
        found: list[dict[str, Any]] = json.loads(results.read_text())["metrics"]
        return found


def as_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| task | ns/doc | peer | ns/doc | peer/ours | in CPU time | target |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in rows:
        low, high = found["interval"]
        lines.append(
            f"| {found['task']} | {found['ours ns/doc']:.1f} | {found['peer']} "
            f"| {found['peer ns/doc']:.1f} | {found['peer/ours']:.2f} [{low:.2f}, {high:.2f}] "
            f"| {found['CPU ratio']:.2f} | {found['target']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--ranx-only", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    rows = against_ranx(Data()) if arguments.ranx_only else measure()
    print(as_table(rows))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        results = {"provenance": provenance(), "metrics": rows}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
