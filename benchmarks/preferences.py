"""Aggregated preferences against single ones: figures 2, 3 and 4 of Duchi, Mackey, Jordan (2013).

    python benchmarks/preferences.py --data FOLDER     # writes benchmarks/results/preferences/
    python benchmarks/preferences.py --quick           # synthetic data only, a minute

From the labels of a data set n comparisons are drawn (Bradley-Terry: query, then pair, uniformly),
as many per query as the paper has: 20, 40, 80 and 160. ``UStatistic`` trains on aggregates of k of
them (mean log-odds, then squared error against normalised gains, equation 28), the baseline on the
comparisons themselves (``PairwiseLogistic``, equation 29), the reference on the scores that
aggregates tend to (equation 27). Not in the paper: ``PreferenceLogistic`` (equation 23), and
Bradley-Terry instead of log-odds, on all comparisons. The NDCG risk is 1 - NDCG on test queries
with these limit scores as labels. The paper's model is linear (``--model linear``, lambda chosen on
validation queries), ours are trees: equal ones for all losses, of which the first 10, 20, 50 or 100
are kept, whichever number is best on the validation queries.

What was computed is kept in trees.json and linear.json; a second call goes on where the first one
stopped, and the page shows what there is of both.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from common.provenance import provenance
from common.real_data import data_folder, load_fold

from gbrank import Objective, PairwiseLogistic, PreferenceLogistic, Squared, UStatistic
from gbrank.data import RankingData, make_ranking
from gbrank.metrics import ndcg_score
from gbrank.preferences import BoundObservations
from gbrank.simulate import bradley_terry

SETS = ("MSLR_merged", "MQ2007_partial", "synthetic")
PER_QUERY = (20, 40, 80, 160)
ORDERS: tuple[int | None, ...] = (1, 2, 5, 10, 20, 50, 100, None)
RIDGES = (0.001, 0.01, 0.1, 1.0, 10.0)
TREE_COUNTS = (10, 20, 50, 100)
BASE = Squared(reduction="mean")
TREES = {
    "num_leaves": 16,
    "learning_rate": 0.1,
    "min_data_in_leaf": 50,
    "min_sum_hessian_in_leaf": 0.0,
    "lambda_l2": 0.01,
    "feature_fraction": 0.5,
    "num_threads": 1,
    "force_col_wise": True,
    "metric": "None",
    "verbose": -1,
}
Row = dict[str, Any]


class Task:
    """One data set: three parts, their limit scores, and what does not change between runs."""

    def __init__(self, name: str, parts: tuple[RankingData, ...], trees: tuple[int, ...]) -> None:
        self.name, self.trees = name, trees
        self.train, self.valid, self.test = parts
        self.layout = self.train.layout
        self.limits = [limit_scores(part) for part in parts]
        self.n_queries = int((self.layout.sizes > 1).sum())

    def comparisons(self, per_query: int, seed: int) -> BoundObservations:
        n = per_query * self.n_queries
        drawn = bradley_terry(self.train, n=n, random_state=seed)
        return drawn.bind(self.layout)

    def dataset(self, objective: Objective, labels: np.ndarray, params: Row) -> lgb.Dataset:
        """Return the training rows; scores start at the best constant, as an intercept would.

        From 0, a common step upwards is worth more to the squared error than any split, and with a
        strong ridge LightGBM then finds no split to make at all.
        """
        group = self.layout.sizes
        grad, hess = objective.grad_hess(labels, np.zeros(len(labels)), group)
        start = np.full(len(labels), -grad.sum(dtype=float) / hess.sum(dtype=float))
        return lgb.Dataset(self.train.X, labels, group=group, init_score=start, params=params)

    def risk(self, objective: Objective, labels: np.ndarray, seed: int, **params: float) -> Row:
        """Train and return the test risk at the number of trees that is best in validation."""
        params = {**TREES, **params, "seed": seed}
        start = time.perf_counter()
        data = self.dataset(objective, labels, params)
        booster = lgb.train({**params, "objective": objective}, data, self.trees[-1])
        seconds = time.perf_counter() - start
        valid = {n: self.ndcg_risk(booster, 1, n) for n in self.trees}
        best = min(valid, key=valid.__getitem__)
        return {"risk": self.ndcg_risk(booster, 2, best), "trees": best, "seconds": seconds}

    def ndcg_risk(self, booster: lgb.Booster, part: int, trees: int) -> float:
        rows = (self.train, self.valid, self.test)[part]
        return self.risk_of_scores(
            booster.predict(rows.X, num_iteration=trees, num_threads=1), part
        )

    def risk_of_scores(self, scores: np.ndarray, part: int) -> float:
        qid = (self.train, self.valid, self.test)[part].qid
        return 1.0 - float(ndcg_score(self.limits[part], scores, qid=qid, n_jobs=1))


def limit_scores(part: RankingData) -> np.ndarray:
    """Return m / (m - 1) (r - mean r), equation 27 simplified, counted from the lowest."""
    layout = part.layout
    filled = np.maximum(layout.sizes, 2)
    lowest = np.minimum.reduceat(part.y, layout.bounds[:-1])
    return (part.y - np.repeat(lowest, layout.sizes)) * np.repeat(
        filled / (filled - 1), layout.sizes
    )


def load_task(name: str, folder: Path | None, quick: bool, linear: bool) -> Task:
    trees = TREE_COUNTS[:3] if quick else TREE_COUNTS
    if linear:
        from preferences_linear import LinearTask

        return LinearTask(name, load_parts(name, folder, quick))
    return Task(name, load_parts(name, folder, quick), trees)


def load_parts(name: str, folder: Path | None, quick: bool) -> tuple[RankingData, ...]:
    if name == "synthetic":
        data = make_ranking(n_queries=80 if quick else 300, list_length=50, random_state=0)
        groups = np.array_split(np.arange(data.n_queries), [int(0.6 * data.n_queries)])
        tail = np.array_split(groups[1], 2)
        return tuple(data.take(some) for some in (groups[0], *tail))
    if name == "MSLR_merged":  # comes split into training, validation and test
        with np.load(folder / f"{name}.npz") as arrays:
            X, y, qid, part = (arrays[key] for key in ("X", "y", "qid", "part"))
        order = np.lexsort((np.random.default_rng(1).random(len(y)), qid))
        whole, part = RankingData(X, y.astype(np.float64), qid), part[order]
        return tuple(whole.take_rows(order[part == p]) for p in range(3))
    return load_fold(folder, name, 1)


def jobs_of(task: Task, seeds: int, quick: bool) -> Iterator[tuple[Row, Callable[[], Row]]]:
    """Yield what to compute, as the key of a row and a function: seed by seed."""
    zeros = np.zeros(task.layout.n_rows)
    per_query = PER_QUERY[:2] if quick else PER_QUERY
    for seed in range(seeds):
        key = {"set": task.name, "seed": seed}
        yield (
            {**key, "loss": "complete information"},
            lambda seed=seed: task.risk(BASE, task.limits[0], seed),
        )
        for count in per_query:
            losses: dict[str, Callable[[BoundObservations], Objective]] = {
                "pairwise logistic": PairwiseLogistic,
                "preference logistic": PreferenceLogistic,
            }
            for order in ORDERS:
                losses[f"k={order}"] = lambda bound, order=order, seed=seed: UStatistic(
                    bound, base=BASE, order=order, random_state=seed
                )
            losses["all, Bradley-Terry"] = lambda bound: UStatistic(
                bound, base=BASE, method="bradley_terry"
            )
            # orders that no query has more comparisons than are all the same
            complete: list[Row] = []

            def train(
                make: Callable[[BoundObservations], Objective],
                count: int = count,
                seed: int = seed,
                complete: list[Row] = complete,
            ) -> Row:
                bound = task.comparisons(count, seed)
                objective = make(bound)
                most = int(np.diff(bound.query_bounds).max())
                log_odds = isinstance(objective, UStatistic) and objective.method == "log_odds"
                if not log_odds or (objective.order or most) < most:
                    return task.risk(objective, zeros, seed)
                if not complete:
                    complete.append(task.risk(objective, zeros, seed))
                return complete[0]

            for name, make in losses.items():
                yield {**key, "loss": name, "per_query": count}, partial(train, make)
        for ridge in RIDGES:  # figure 4
            yield (
                {**key, "loss": "ridge", "ridge": ridge},
                lambda ridge=ridge, seed=seed: task.risk(
                    UStatistic(
                        task.comparisons(per_query[-2], seed),
                        base=BASE,
                        order=100,
                        random_state=seed,
                    ),
                    zeros,
                    seed,
                    lambda_l2=ridge,
                ),
            )


def descent(task: Task, per_query: int, order: int | None, seed: int, n_trees: int) -> list[float]:
    """Return the surrogate risk, estimated from fresh draws, after each tree (figure 2)."""
    objective = UStatistic(
        task.comparisons(per_query, seed), base=BASE, order=order, random_state=seed
    )
    params = {**TREES, "seed": seed}
    zeros, group = np.zeros(task.layout.n_rows), task.layout.sizes
    data = task.dataset(objective, zeros, params)
    booster = lgb.Booster({**params, "objective": "none"}, data)
    risks: list[float] = []

    def step(scores: np.ndarray, data: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
        losses = objective.loss(zeros, scores, group, iteration=1_000_000 + len(risks))
        risks.append(float(losses.mean()))
        return objective(scores, data)

    for _ in range(n_trees):
        booster.update(fobj=step)
    return risks


def step_seconds(task: Task, per_query: int, order: int | None) -> float:
    """Return the median seconds of one gradient step: draw, aggregate, gradients."""
    objective = UStatistic(task.comparisons(per_query, 0), base=BASE, order=order, n_jobs=1)
    scores, zeros = np.zeros(task.layout.n_rows), np.zeros(task.layout.n_rows)
    group, seconds = task.layout.sizes, []
    for _ in range(12):
        start = time.perf_counter()
        objective(zeros, scores, None, group)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[2:]))


def figure_2_jobs(task: Task, seeds: int, n_trees: int) -> Iterator[tuple[Row, Callable[[], Row]]]:
    curves = [(PER_QUERY[1], k) for k in (1, 10, 100, None)] + [(p, 100) for p in PER_QUERY]
    for seed in range(seeds):
        for count, order in dict.fromkeys(curves):
            key = {"set": task.name, "seed": seed, "loss": f"k={order}", "per_query": count}
            yield (
                {**key, "what": "descent"},
                lambda c=count, o=order, s=seed: {"risks": descent(task, c, o, s, n_trees)},
            )
    for count in PER_QUERY:
        for order in ORDERS:
            key = {"set": task.name, "loss": f"k={order}", "per_query": count, "what": "step"}
            yield key, lambda c=count, o=order: {"seconds": step_seconds(task, c, o)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the real data sets; default: GBRANK_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--model", choices=("trees", "linear"), default="trees")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop computing after these")
    parser.add_argument("--quick", action="store_true", help="synthetic data, few settings")
    default_out = Path(__file__).parent / "results" / "preferences"
    parser.add_argument("--out", type=Path, default=default_out)
    arguments = parser.parse_args()
    sets, seeds = (["synthetic"], 2) if arguments.quick else (arguments.sets, arguments.seeds)
    folder = None if sets == ["synthetic"] else data_folder(arguments.data)
    arguments.out.mkdir(parents=True, exist_ok=True)
    linear = arguments.model == "linear"
    path = arguments.out / f"{arguments.model}.json"
    rows: list[Row] = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {key_of(row) for row in rows}
    tasks = [load_task(name, folder, arguments.quick, linear) for name in sets]
    start = time.perf_counter()

    def work(jobs: Iterator[tuple[Row, Callable[[], Row]]]) -> None:
        for key, compute in jobs:
            if time.perf_counter() - start > 60 * arguments.minutes:
                return
            if key_of(key) not in done:
                rows.append({**key, **compute()})
                done.add(key_of(key))
                kept = {"provenance": provenance() | {"trees": str(TREES)}, "rows": rows}
                path.write_text(json.dumps(kept) + "\n")

    # the first seed of every set comes first, so that a run cut short has something of each
    if not linear:
        work(figure_2_jobs(tasks[0], min(seeds, 2), 20 if arguments.quick else 60))
    for seed in range(1, seeds + 1):
        for task in tasks:
            work(jobs_of(task, seed, arguments.quick))
    from preferences_report import write_report

    write_report(arguments.out)
    print(f"wrote {arguments.out / 'README.md'}")


_VALUES = ("risk", "trees", "chosen", "seconds", "risks")


def key_of(row: Row) -> str:
    return json.dumps({key: row[key] for key in sorted(row) if key not in _VALUES})


if __name__ == "__main__":
    main()
