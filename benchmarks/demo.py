"""Which loss survives wrong labels? Five trainings at two noise levels, in about two minutes.

Synthetic queries whose best order is known; the labels of half of each training query's documents
are replaced at random (Bruch, 2021); all objectives get the same trees, and are judged by NDCG@10
on other queries with clean labels. Run it with ``make demo``; ``-h`` lists what may be changed.
"""

import argparse
import json
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np

import gbrank
from gbrank.data import RankingData, make_ranking
from gbrank.metrics import ndcg_score
from gbrank.simulate import perturb_labels

NOISE_LEVELS = (0.0, 0.5)
OURS = ("xendcg", "listnet", "lambdamart")
LIGHTGBM = ("rank_xendcg", "lambdarank")
BASELINE = "LightGBM lambdarank"
BEST = "best possible order"

N_TREES = 150
TREES = {
    "num_leaves": 31,
    "learning_rate": 0.05,
    "num_threads": 1,  # trainings run side by side instead: quicker, and the same digits everywhere
    "force_col_wise": True,
    "deterministic": True,
    "metric": "None",
    "verbose": -1,
}

Scores = dict[str, list[list[float]]]  # name -> noise level -> seed -> NDCG@10


def learners(seed: int) -> dict[str, Any]:
    """Return LightGBM's ``objective`` for each row of the table."""
    ours = {f"gbrank {name}": gbrank.get_objective(name) for name in OURS}
    for objective in ours.values():
        if "random_state" in objective.get_params():
            objective.set_params(random_state=seed)
    return ours | {f"LightGBM {name}": name for name in LIGHTGBM}


def ndcg_of(objective: Any, train: RankingData, labels: Any, test: RankingData, seed: int) -> float:
    dataset = lgb.Dataset(train.X, labels, group=train.group)
    params = {**TREES, "objective": objective, "seed": seed}
    booster = lgb.train(params, dataset, num_boost_round=N_TREES)
    return float(ndcg_score(test.y, booster.predict(test.X), group=test.group, k=10))


def measure(n_seeds: int, n_queries: int, n_jobs: int) -> Scores:
    names = [*learners(0), BEST]
    scores: Scores = {name: [[] for _ in NOISE_LEVELS] for name in names}
    with ThreadPoolExecutor(n_jobs) as pool:  # LightGBM and our kernels let go of Python's lock
        for seed in range(n_seeds):
            train = make_ranking(n_queries, random_state=2 * seed)
            test = make_ranking(n_queries, random_state=2 * seed + 1)
            best = float(ndcg_score(test.y, test.utility, group=test.group, k=10))
            running = {}
            for level, noise in enumerate(NOISE_LEVELS):
                labels = perturb_labels(train.y, train.qid, noise, random_state=seed)
                for name, objective in learners(seed).items():
                    work = pool.submit(ndcg_of, objective, train, labels, test, seed)
                    running[name, level] = work
                scores[BEST][level].append(best)
            for (name, level), work in running.items():
                scores[name][level].append(work.result())
            print(f"seed {seed + 1} of {n_seeds} done", file=sys.stderr, flush=True)
    return scores


def mean_and_error(values: Any) -> tuple[float, float]:
    """Return the mean and its standard error (nan for a single value)."""
    values = np.asarray(values, dtype=float)
    spread = values.std(ddof=1) if len(values) > 1 else np.nan
    return float(values.mean()), float(spread / np.sqrt(len(values)))


def as_table(scores: Scores) -> str:
    """Return a Markdown table; the last column is paired: the same seeds, the same queries."""
    heads = [f"{noise:.0%} of labels replaced" for noise in NOISE_LEVELS]
    last = f"against {BASELINE}, {NOISE_LEVELS[-1]:.0%}"
    rows = [["objective", *heads, last]]
    baseline = np.array(scores[BASELINE][-1])
    for name, levels in scores.items():
        cells = ["{:.4f} ± {:.4f}".format(*mean_and_error(values)) for values in levels]
        change = "{:+.4f} ± {:.4f}".format(*mean_and_error(np.array(levels[-1]) - baseline))
        rows.append([name, *cells, "" if name in (BASELINE, BEST) else change])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, row, widths)).rstrip() + " |" for row in rows)


def provenance(n_seeds: int, n_queries: int) -> str:
    versions = ", ".join(
        [f"gbrank {gbrank.__version__}", f"LightGBM {lgb.__version__}", f"NumPy {np.__version__}"]
    )
    return (
        f"Mean NDCG@10 ± standard error over {n_seeds} seeds; the last column is paired by seed.\n"
        f"Synthetic data (gbrank.data.make_ranking with its defaults): a seed has {n_queries} "
        f"training and {n_queries} test queries\nof 10 to 60 documents; only training labels are "
        f"replaced. {N_TREES} trees of {TREES['num_leaves']} leaves, learning rate "
        f"{TREES['learning_rate']},\nnothing tuned, no early stopping. {versions}, "
        f"Python {platform.python_version()}.\n"
        f"Command: python benchmarks/demo.py --seeds {n_seeds} --queries {n_queries}"
    )


def draw(scores: Scores, path: Path, n_seeds: int) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('the plot needs matplotlib: pip install "gbrank[plot]"') from error
    names = [name for name in scores if name != BEST]
    figure, axes = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    for level, (noise, marker) in enumerate(zip(NOISE_LEVELS, "oD", strict=True)):
        for place, name in enumerate(reversed(names)):
            values = scores[name][level]
            mean, error = mean_and_error(values)
            color = "#1f5fa8" if name.startswith("gbrank") else "#777777"
            axes.plot(values, np.full(n_seeds, place), ".", color=color, alpha=0.25, zorder=1)
            axes.errorbar(mean, place, xerr=error, fmt=marker, color=color, capsize=3)
        middle = np.mean([np.mean(scores[name][level]) for name in names])
        axes.text(middle, len(names) - 0.45, f"{noise:.0%} of labels replaced", ha="center")
    best = mean_and_error(scores[BEST][0])[0]
    axes.axvline(best, ymax=0.9, color="black", linestyle=":", linewidth=1)
    axes.text(best, len(names) - 0.45, BEST, ha="center")
    axes.set_yticks(range(len(names)), reversed(names))
    axes.set_ylim(-0.5, len(names) - 0.1)
    axes.set_xlabel(
        "NDCG@10 on clean test queries of synthetic data:\n"
        f"mean and standard error of {n_seeds} seeds, a faint dot for each seed"
    )
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the results")
    parser.add_argument("--seeds", type=int, default=10, help="data sets a point (default: 10)")
    parser.add_argument(
        "--queries", type=int, default=1000, help="queries to train on, and to test"
    )
    parser.add_argument("--jobs", type=int, default=2, help="trainings at once (default: 2)")
    options = parser.parse_args(arguments)
    if min(options.seeds, options.queries, options.jobs) < 1:
        parser.error("--seeds, --queries and --jobs must be at least 1")
    return options


def main(arguments: list[str] | None = None) -> None:
    options = parse_arguments(arguments)
    options.out.mkdir(parents=True, exist_ok=True)  # a folder that cannot be written is found now
    started = time.perf_counter()
    scores = measure(options.seeds, options.queries, options.jobs)
    table, origin = as_table(scores), provenance(options.seeds, options.queries)
    print(f"\n{table}\n\n{origin}")
    (options.out / "demo.md").write_text(f"{table}\n\n{origin}\n", encoding="utf-8")
    (options.out / "demo.json").write_text(
        json.dumps({"origin": origin, "noise": NOISE_LEVELS, "ndcg@10": scores}, indent=1) + "\n",
        encoding="utf-8",
    )
    picture = options.out / "demo.png"
    draw(scores, picture, options.seeds)
    print(f"\nPlot: {picture.resolve()} ({time.perf_counter() - started:.0f} s in all)")


if __name__ == "__main__":
    main()
