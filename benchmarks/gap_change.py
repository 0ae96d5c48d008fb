"""Does one loss degrade faster than another? The change of their gap with noise, trial by trial.

    python benchmarks/gap_change.py     # writes benchmarks/results/gap_change.md from kept trials

That a loss is better at every level of noise does not say that it degrades more slowly. The latter
is about the change of the gap: of each trial, the gap at the highest level less the gap at the
lowest, which are of the same split of the queries. Means with 95% intervals of Student's t over
trials, and its p; trials that test the same queries (the 20 of the preset results on MQ2008 test
five folds) are averaged first, and trials of different data sets are put together for a last row.
Random splits of one data set share queries: over these, p says only whether more trials on the same
queries would show the same. The tables of every report have such rows for all pairs that it
compares (gbrank/noise/changes.py).
"""

from pathlib import Path

import numpy as np

from gbrank.noise.archive import read_archive
from gbrank.noise.tables import by_test_set, mean_with_interval, paired_t

RESULTS = Path(__file__).parent / "results"
ARCHIVES = (
    "noise/results.tar.xz",
    "papers/bruch2021-fig2-labels.tar.xz",
    "papers/bruch2021-fig2-negatives.tar.xz",
    "papers/bruch2021-fig3-clicks.tar.xz",
)
FIRST, SECOND, METRIC = "xendcg", "lambdamart", "ndcg@10"


def trials_of(results: dict) -> dict:
    """Return both losses' results by setting and noise, number of the trial, and level."""
    found: dict = {}
    for trial, (result, _) in results.items():
        # the papers' presets name parameters too: lambdamart(norm=False)
        name = trial.objective.split("(")[0]
        if name in (FIRST, SECOND):
            of_kind = found.setdefault((trial.setting, trial.noise), {})
            of_kind.setdefault(trial.trial, {}).setdefault(trial.level, {})[name] = result
    return found


def changes_of(trials: dict) -> tuple[np.ndarray, int, float, float]:
    """Return the change of the gap on each set of test queries, number of trials, and levels."""
    levels = sorted({level for of_trial in trials.values() for level in of_trial})
    low, high = levels[0], levels[-1]
    tested, changes = [], []
    for of_trial in trials.values():
        if all(len(of_trial.get(level, ())) == 2 for level in (low, high)):
            gap = {
                level: of_trial[level][FIRST].means[METRIC] - of_trial[level][SECOND].means[METRIC]
                for level in (low, high)
            }
            changes.append(gap[high] - gap[low])
            tested.append(of_trial[low][FIRST])
    return by_test_set(tested, np.array(changes)), len(changes), low, high


def row(
    preset: str, data: str, kind: tuple, units: np.ndarray, trials: int, low: float, high: float
) -> str:
    mean, _, above = mean_with_interval(units)
    where = f"| {preset} | {data} | {kind[1]}, {kind[0]} | {low:g} to {high:g} | {trials} "
    interval = f"{mean:+.3f} ± {above - mean:.3f}"
    return f"{where}| {len(units)} | {interval} | {paired_t(units):.2g} |".replace("0.", ".")


def main() -> None:
    lines = [
        "# Does xendcg degrade more slowly than LambdaMART?",
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "",
        f"Change of the gap of {METRIC}, `{FIRST}` less `{SECOND}`: positive where `{FIRST}` "
        "degrades more slowly.",
        "",
        "| preset | data | noise, trees | levels | trials | test sets | change of the gap | p |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for archive in ARCHIVES:
        path = RESULTS / archive
        if not path.exists():
            continue
        together: dict = {}
        for run in read_archive(path):
            for kind, trials in trials_of(run.results).items():
                units, number, low, high = changes_of(trials)
                if low < high and len(units) > 2:
                    name = path.name.removesuffix(".tar.xz")
                    lines.append(row(name, run.data, kind, units, number, low, high))
                    together.setdefault((name, kind, low, high), []).append((units, number))
        for (name, kind, low, high), parts in together.items():
            if len(parts) > 1:
                units = np.concatenate([part for part, _ in parts])
                number = sum(number for _, number in parts)
                lines.append(row(name, "all sets", kind, units, number, low, high))
    (RESULTS / "gap_change.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
