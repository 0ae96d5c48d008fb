"""Aggregated preferences against single ones: figures 3 and 4 of Duchi, Mackey, Jordan (2013).

    python benchmarks/preferences.py --data FOLDER     # writes benchmarks/results/preferences/
    python benchmarks/preferences.py --quick           # synthetic data only, a minute

From the labels of a data set n comparisons are drawn (Bradley-Terry: query, then pair, uniformly),
as many per query as the paper has: 20, 40, 80 and 160. ``UStatistic`` trains on aggregates of k of
them (mean log-odds, then squared error against normalised gains, equation 28, as printed and with
gains counted from the mean of their list), the baseline on the comparisons themselves
(``PairwiseLogistic``, equation 29), the reference on the scores that aggregates tend to (equation
27). Not in the paper, and with the first seeds only: ``PreferenceLogistic`` (equation 23), and
Bradley-Terry instead of log-odds, on all comparisons. The NDCG risk is 1 - NDCG on test queries
with these limit scores as labels. The paper's model is linear (``--model linear``, lambda chosen on
validation queries), ours are trees: equal ones for all losses, of which the first 10, 20, 50 or 100
are kept, whichever number is best on the validation queries.

What was computed is kept in trees.json.xz and linear.json.xz; a second call goes on where the first
one stopped, and the page shows what there is of both. Figure 2 is ``preferences_descent.py``.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013.
"""

import argparse
import json
import lzma
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

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


class Grid(NamedTuple):
    """What is tried of one kind of model."""

    per_query: tuple[int, ...]
    orders: tuple[int | None, ...]
    ridges: tuple[float, ...]


#: The paper's numbers of comparisons a query; trees, which take longer, on fewer points.
GRIDS = {
    "linear": Grid(
        (20, 40, 80, 160), (1, 2, 5, 10, 20, 50, 100, None), (0.001, 0.01, 0.1, 1.0, 10.0)
    ),
    "trees": Grid((20, 160), (1, 10, None), (0.001, 0.1, 10.0)),
    "quick": Grid((20, 40), (1, 10, None), (0.001, 1.0)),
}
#: Figure 4 is drawn with aggregates of so many of so many comparisons a query.
RIDGE_ORDER, RIDGE_PER_QUERY = 100, 80
TREE_COUNTS = (10, 20, 50, 100)
#: Equation 28 as printed, and with gains counted from the mean of their list.
CENTERED = ", from the mean"
BASES = {
    "": Squared(reduction="mean"),
    CENTERED: Squared(reduction="mean", center=True),
}
#: Losses that the paper does not have are run with so many seeds.
FEW_SEEDS = 5
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
        data = self.dataset(objective, labels, params)
        booster = lgb.train({**params, "objective": objective}, data, self.trees[-1])
        valid = {n: self.ndcg_risk(booster, 1, n) for n in self.trees}
        best = min(valid, key=valid.__getitem__)
        return {"risk": round(self.ndcg_risk(booster, 2, best), 6), "trees": best}

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


def jobs_of(task: Task, seed: int, grid: Grid) -> Iterator[tuple[Row, Callable[[], Row]]]:
    """Yield what to compute with one seed, as the key of a row and a function."""
    zeros, limits = np.zeros(task.layout.n_rows), task.limits[0]
    key: Row = {"set": task.name, "seed": seed}
    # comparisons of the last number only: losses on them come one after the other
    comparisons = lru_cache(1)(lambda count: task.comparisons(count, seed))

    def on_comparisons(
        make: Callable[[BoundObservations], Objective], count: int, **params: float
    ) -> Callable[[], Row]:
        return lambda: task.risk(make(comparisons(count)), zeros, seed, **params)

    def aggregated(base: str, **params: Any) -> Callable[[BoundObservations], Objective]:
        return lambda seen: UStatistic(seen, base=BASES[base], random_state=seed, **params)

    for base in BASES:
        name = f"complete information{base}"
        yield {**key, "loss": name}, lambda base=base: task.risk(BASES[base], limits, seed)
    for count in grid.per_query:
        of_count = {**key, "per_query": count}
        yield {**of_count, "loss": "pairwise logistic"}, on_comparisons(PairwiseLogistic, count)
        most = int(np.diff(comparisons(count).query_bounds).max())
        for order in [k for k in grid.orders if k is None or k < most]:
            for base in BASES:
                make = aggregated(base, order=order)
                yield {**of_count, "loss": f"k={order}{base}"}, on_comparisons(make, count)
        if seed < FEW_SEEDS:
            make = PreferenceLogistic
            yield {**of_count, "loss": "preference logistic"}, on_comparisons(make, count)
            make = aggregated("", method="bradley_terry")
            yield {**of_count, "loss": "all, Bradley-Terry"}, on_comparisons(make, count)
    for ridge in grid.ridges:
        for base in BASES:
            make = aggregated(base, order=RIDGE_ORDER)
            compute = on_comparisons(make, RIDGE_PER_QUERY, lambda_l2=ridge)
            yield {**key, "loss": f"ridge{base}", "ridge": ridge}, compute


def read_kept(path: Path) -> dict[str, Any]:
    """Return what is kept of one kind of model: provenance, and a row for each run."""
    return json.loads(lzma.decompress(path.read_bytes()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the real data sets; default: GBRANK_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--model", choices=("trees", "linear"), default="trees")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="synthetic data, few settings")
    default_out = Path(__file__).parent / "results" / "preferences"
    parser.add_argument("--out", type=Path, default=default_out)
    arguments = parser.parse_args()
    sets, seeds = (["synthetic"], 2) if arguments.quick else (arguments.sets, arguments.seeds)
    folder = None if sets == ["synthetic"] else data_folder(arguments.data)
    arguments.out.mkdir(parents=True, exist_ok=True)
    linear = arguments.model == "linear"
    path = arguments.out / f"{arguments.model}.json.xz"
    rows: list[Row] = read_kept(path)["rows"] if path.exists() else []
    done = {key_of(row) for row in rows}
    tasks = [load_task(name, folder, arguments.quick, linear) for name in sets]
    grid = GRIDS["quick" if arguments.quick else arguments.model]
    # seed by seed, so that a run cut short has something of each set
    for seed in range(seeds):
        for task in tasks:
            for key, compute in jobs_of(task, seed, grid):
                if key_of(key) not in done:
                    rows.append({**key, **compute()})
            kept = {"provenance": provenance() | {"trees": str(TREES)}, "rows": rows}
            path.write_bytes(lzma.compress(json.dumps(kept).encode()))
    from preferences_report import write_report

    write_report(arguments.out)
    print(f"wrote {arguments.out / 'README.md'}")


_VALUES = ("risk", "trees", "chosen")


def key_of(row: Row) -> str:
    return json.dumps({key: row[key] for key in sorted(row) if key not in _VALUES})


if __name__ == "__main__":
    main()
