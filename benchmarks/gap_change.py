"""Does one loss degrade faster than another? The change of their gap with noise, trial by trial.

    python benchmarks/gap_change.py     # writes benchmarks/results/gap_change.md from kept trials

That a loss is better at every level of noise does not say that it degrades more slowly. The latter
is about the change of the gap: of each trial, the gap at the highest level less the gap at the
lowest, which are of the same split of the queries. Means with 95% intervals of Student's t over
trials, and its p; trials of different data sets are put together for a last row. The 20 trials of
the preset results on MQ2008 share five test folds, so that their p is too small.
"""

from pathlib import Path

import numpy as np
from scipy import stats

from gbrank.noise.archive import read_archive

RESULTS = Path(__file__).parent / "results"
ARCHIVES = (
    "noise/results.tar.xz",
    "papers/bruch2021-fig2-labels.tar.xz",
    "papers/bruch2021-fig2-negatives.tar.xz",
    "papers/bruch2021-fig3-clicks.tar.xz",
)
FIRST, SECOND, METRIC = "xendcg", "lambdamart", "ndcg@10"


def gaps_of(results: dict) -> dict:
    """Return the gap of each trial by setting, noise, level and number of the trial."""
    gaps: dict = {}
    for trial, (result, _) in results.items():
        # the papers' presets name parameters too: lambdamart(norm=False)
        name = trial.objective.split("(")[0]
        if name in (FIRST, SECOND):
            of_trial = gaps.setdefault((trial.setting, trial.noise), {}).setdefault(trial.trial, {})
            of_trial.setdefault(trial.level, {})[name] = result.means[METRIC]
    return gaps


def changes_of(trials: dict) -> tuple[list[float], float, float]:
    """Return the change of the gap of each trial, and the lowest and the highest level."""
    levels = sorted({level for of_trial in trials.values() for level in of_trial})
    low, high = levels[0], levels[-1]
    changes = []
    for of_trial in trials.values():
        if all(len(of_trial.get(level, ())) == 2 for level in (low, high)):
            gap = {level: of_trial[level][FIRST] - of_trial[level][SECOND] for level in (low, high)}
            changes.append(gap[high] - gap[low])
    return changes, low, high


def row(preset: str, data: str, kind: tuple, changes: list[float], low: float, high: float) -> str:
    mean, n = float(np.mean(changes)), len(changes)
    error = float(np.std(changes, ddof=1) / np.sqrt(n))
    half, p = stats.t.ppf(0.975, n - 1) * error, 2 * stats.t.sf(abs(mean) / error, n - 1)
    where = f"| {preset} | {data} | {kind[1]}, {kind[0]} | {low:g} to {high:g} | {n} "
    return f"{where}| {mean:+.3f} ± {half:.3f} | {p:.2g} |".replace("0.", ".")


def main() -> None:
    lines = [
        "# Does xendcg degrade more slowly than LambdaMART?",
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "",
        f"Change of the gap of {METRIC}, `{FIRST}` less `{SECOND}`: positive where `{FIRST}` "
        "degrades more slowly.",
        "",
        "| preset | data | noise, trees | levels | trials | change of the gap | p |",
        "|---|---|---|---|---|---|---|",
    ]
    for archive in ARCHIVES:
        path = RESULTS / archive
        if not path.exists():
            continue
        together: dict = {}
        for run in read_archive(path):
            for kind, trials in gaps_of(run.results).items():
                changes, low, high = changes_of(trials)
                if low < high and len(changes) > 2:
                    name = path.name.removesuffix(".tar.xz")
                    lines.append(row(name, run.data, kind, changes, low, high))
                    together.setdefault((name, kind, low, high), []).append(changes)
        for (name, kind, low, high), parts in together.items():
            if len(parts) > 1:
                every = [change for part in parts for change in part]
                lines.append(row(name, "all sets", kind, every, low, high))
    (RESULTS / "gap_change.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
