"""Writes the page of the tuning benchmark from the runs that were kept."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from comparison.paired import Difference, over_queries, over_sets
from comparison.sets import FOLDS
from comparison.table import METRICS, Run, Table, load, table_path
from scipy.stats import norm

from gbrank.boosting.cross_fit import LARGEST_BY_ROWS as LARGEST
from gbrank.boosting.cross_fit import LEAST_FEATURES_BY_ROWS as FROM_SHARE

OURS, DEFAULTS = "gbrank.tune", "Ranker()"


class Kept:
    """NDCG@10 of test queries, by set, method and fold, with the seconds of ours and of peers."""

    def __init__(self, folder: Path, sets: Sequence[str], budget: float, theirs: float) -> None:
        self.budget, self.theirs, self.tables = budget, theirs, {}
        for name in sets:
            path = table_path(folder, name)
            if path.exists():
                with load(path) as saved:
                    qid = saved["qid"]
                self.tables[name] = Table(path, qid)

    def run(self, method: str, fold: int) -> Run:
        """Return what a run is called in the tables."""
        name = method if method == DEFAULTS else f"{method}, {self.seconds_of(method):g} s"
        return Run(name, 0.0, fold)

    def seconds_of(self, method: str) -> float:
        """Return the budget of a method."""
        return self.budget if method == OURS else self.theirs

    def folds(self, name: str, methods: Sequence[str]) -> list[int]:
        """Return the folds of a set that all methods were run on."""
        runs = self.tables[name].runs if name in self.tables else []
        return [fold for fold in FOLDS if all(self.run(each, fold) in runs for each in methods)]

    def queries(self, name: str, method: str, folds: Sequence[int]) -> np.ndarray:
        """Return NDCG@10 of the test queries of folds, one after the other."""
        table = self.tables[name]
        rows = [table.runs.index(self.run(method, fold)) for fold in folds]
        values: np.ndarray = table.values[rows, METRICS.index("ndcg@10")]
        return values.ravel()

    def seconds(self, method: str, done: dict[str, list[int]]) -> str:
        """Return on which sets a method took longer than the budget, to end what it had begun."""
        found = []
        for name, folds in done.items():
            table = self.tables[name]
            most = max(table.seconds[table.runs.index(self.run(method, fold))] for fold in folds)
            if most > 1.05 * self.seconds_of(method):
                found.append(f"{name} {most:.0f} s")
        return f" (over the budget: {', '.join(found)})" if found else ""

    def trials(self, name: str, method: str, folds: Sequence[int]) -> float:
        """Return how many trials were finished, on the mean of folds."""
        table = self.tables[name]
        return float(np.mean([table.trees[table.runs.index(self.run(method, f))] for f in folds]))


def budgets(folder: Path) -> list[float]:
    """Return the budgets that were run, in seconds."""
    found = set()
    for path in folder.glob("*.npz.xz"):
        with load(path) as saved:
            found |= {str(m).rsplit(", ", 1)[1][:-2] for m in saved["model"] if str(m) != DEFAULTS}
    return sorted(map(float, found))


def write_page(results: Path, sets: Sequence[str], methods: Sequence[str]) -> None:
    """Write results/tuning.md."""
    folder = results / "tuning"
    parts = [_HEAD]
    found = budgets(folder)
    for at, budget in enumerate(found):
        for theirs in found[at:]:  # the same, or more
            kept = Kept(folder, sets, budget, theirs)
            for peer in methods[2:]:
                parts.append(_section(kept, sets, [DEFAULTS, OURS, peer]))
    for name, section in (
        ("tuning_count.json", _counts),
        ("tuning_same_points.json", _same_points),
        ("tuning_profile.json", _shares),
        ("histograms.json", _histograms),
    ):
        if (results / name).exists():
            parts.append(section(json.loads((results / name).read_text())))
        if name == "tuning_count.json" and (folder / "trainings.json").exists():
            kept_counts = json.loads((folder / "trainings.json").read_text())
            parts += [_of_runs(kept_counts, sets, budget) for budget in found]
    parts.append(_LOOKS)
    (results / "tuning.md").write_text("\n".join(part for part in parts if part), encoding="utf-8")


def mean_of_sets(found: Sequence[Difference]) -> Difference:
    """Return the mean difference over sets, and how far their queries may move it."""
    mean = float(np.mean([each.mean for each in found]))
    error = float(np.sqrt(sum(each.error**2 for each in found)) / len(found))
    return Difference(mean, error, float(2 * norm.sf(abs(mean / error))) if error else 1.0)


def _section(kept: Kept, sets: Sequence[str], methods: Sequence[str]) -> str:
    """Return the table of one budget, for sets that all of the methods were run on."""
    done = {name: kept.folds(name, methods) for name in sets}
    done = {name: folds for name, folds in done.items() if folds}
    if not done or (kept.theirs > kept.budget and len(done) < len(sets)):
        return ""
    means = np.array(
        [
            [np.nanmean(kept.queries(name, method, folds)) for name, folds in done.items()]
            for method in methods
        ]
    )
    more = f" with {kept.theirs:g} s" if kept.theirs > kept.budget else ""
    lines = [
        f"## {kept.budget:g} s, against {methods[2]}{more}\n",
        f"NDCG@10 of test queries; {len(done)} of {len(sets)} sets were run. Folds: "
        f"{', '.join(f'{name} {folds}' for name, folds in done.items())}.\n",
        f"| | {' | '.join(done)} | mean |",
        f"|---|{'---|' * (len(done) + 1)}",
    ]
    for method, row in zip(methods, means, strict=True):
        cells = " | ".join(f"{value:.4f}" for value in [*row, row.mean()])
        lines.append(f"| {method} | {cells} |")
    runs = [(name, fold) for name, folds in done.items() for fold in folds]
    same = sum(
        np.array_equal(*(kept.queries(name, each, [fold]) for each in (OURS, DEFAULTS)), True)
        for name, fold in runs
    )
    lines.append(
        f"\nIn {same} of {len(runs)} runs what `gbrank.tune` trained was `Ranker()` as it comes."
    )
    lines.append("\nTrials finished: ")
    for method in methods[1:]:
        counts = ", ".join(
            f"{name} {kept.trials(name, method, folds):.0f}" for name, folds in done.items()
        )
        lines.append(f"{method}: {counts}{kept.seconds(method, done)}.")
    lines += [
        "\n`gbrank.tune` against each, paired over the test queries of a set. The mean of sets "
        "with its 95% interval and p are of these queries, the next p of signed ranks over sets:\n",
        "| against | mean of sets | p | p over sets | better, worse | better with p < .05 | "
        "worse with p < .05 |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in methods:
        if method == OURS:
            continue
        found = {
            name: over_queries(kept.queries(name, OURS, folds) - kept.queries(name, method, folds))
            for name, folds in done.items()
        }
        gains = [each.mean for each in found.values()]
        sure = {
            sign: [name for name, each in found.items() if each.p < 0.05 and sign * each.mean > 0]
            for sign in (1, -1)
        }
        named = {sign: ", ".join(names) or "none" for sign, names in sure.items()}
        mean = mean_of_sets(list(found.values()))
        ranked = f"{over_sets(np.array(gains)):.3f}" if len(gains) > 5 and any(gains) else "-"
        lines.append(
            f"| {method} | {mean.mean:+.4f} ± {1.96 * mean.error:.4f} | {mean.p:.3f} | {ranked} | "
            f"{sum(g > 0 for g in gains)}, {sum(g < 0 for g in gains)} | {named[1]} | "
            f"{named[-1]} |"
        )
    return "\n".join([*lines, ""])


def _counts(counts: dict[str, dict[str, float]]) -> str:
    lines = [
        "## How many fold-trainings fit into 100 s\n",
        "One core, 100 s of CPU time, MQ2008, training queries of fold 1, beside other work on the",
        "machine. A fold-training is a booster, up to 500 trees, ended by its own patience of 25;",
        "`gbrank.tune` gives up a trial that is behind after some of its folds; these are counted",
        "apart. Each searched its own space, and found points that need more trees, or fewer: the",
        "last column counts trees, each fold-training with its patience. The second loop is the",
        "first but for its value of a fold, by scikit-learn's `ndcg_score`, query by query,",
        "as people write it. The aim was twice the fold-trainings of such a loop.\n",
        "| | fold-trainings of complete trials | of dropped trials | trials | all fold-trainings, "
        "times the loop's | of complete trials, times | trees a fold-training | trees grown, times "
        "the loop's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ours = counts.get(OURS)
    for method, each in counts.items():
        lost = each["of trials that were dropped"]
        both, grown = each["ended"] + lost, _grown(each)
        more = complete = trees = ""
        if ours and method != OURS:
            all_ours = ours["ended"] + ours["of trials that were dropped"]
            more, complete = f"{all_ours / both:.2f}", f"{ours['ended'] / both:.2f}"
            trees = f"{_grown(ours) / grown:.2f}"
        lines.append(
            f"| {method} | {each['ended']} | {lost} | {each['trials']} | {more} | "
            f"{complete} | "
            f"{each['trees'] / both:.1f} | {trees} |"
        )
    return "\n".join([*lines, ""])


def _grown(count: dict[str, float]) -> float:
    """Return how many trees were grown, the patience of each fold-training included."""
    return count["trees"] + 25 * (count["ended"] + count["of trials that were dropped"])


def _of_runs(kept: dict[str, list[int]], sets: Sequence[str], budget: float) -> str:
    """Return how many fold-trainings the runs of a budget did, on folds that both have."""
    theirs = "Optuna, LightGBM lambdarank"
    rows = []
    for name in sets:
        both = [
            [kept.get(f"{name}, fold {fold}, {method}, {budget:g} s") for method in (OURS, theirs)]
            for fold in FOLDS
        ]
        done = np.array([[ours[:2], loop[:2]] for ours, loop in both if ours and loop])
        if len(done):
            (ended, lost), (loop, _) = done.sum(axis=0)
            rows.append(
                f"| {name} | {len(done)} | {ended} | {lost} | {loop} | {(ended + lost) / loop:.2f} "
                f"| {ended / loop:.2f} |"
            )
    if not rows:
        return ""
    where = ", most of ours on a slower one than the loop's" if budget == 100 else ""
    head = (
        f"The same in the runs of {budget:g} s above, beside other work on the machine{where}:\n\n"
        "| | folds | of complete trials | of dropped trials | the loop's | all, times the loop's | "
        "of complete trials, times |\n|---|---|---|---|---|---|---|"
    )
    return "\n".join([head, *rows, ""])


def _same_points(found: dict[str, Any]) -> str:
    points, n_folds = found["points"], found["folds"]
    n = n_folds * len(points)
    total = {name: sum(point[name] for point in points) for name in points[0]}
    mean = {name: 1e3 * each / n for name, each in total.items()}
    ours, growing = mean["seconds"], mean["growing"]
    lines = [
        "## At the same points\n",
        f"{len(points)} random points, on the same {n_folds} folds of MQ2008, in turns in one "
        "process: `lambdamart` from zero in `gbrank.tune`, `lambdarank` in the loop, the same "
        "trees and penalties, nothing dropped, Optuna not asked. A fold-training of `gbrank.tune` "
        f"took {ours:.0f} ms of CPU time, for {total['trees'] / n:.1f} trees and the patience of "
        f"25, of which LightGBM's growing of the trees {growing:.0f} ms. The loop had "
        f"{total['loop trees'] / n:.1f} trees; what it took depends on what it takes for the value "
        "of a fold:\n",
        "| value of a fold in the loop | ms a fold-training | times ours | if all but growing were "
        "free |",
        "|---|---|---|---|",
    ]
    for name, value in (
        ("loop training", "LightGBM's `best_score`"),
        ("loop seconds", "`gbrank.metrics.ndcg_score`, as in all runs on this page"),
        ("loop with sklearn", "`sklearn.metrics.ndcg_score`, query by query"),
    ):
        theirs = mean[name]
        lines.append(f"| {value} | {theirs:.0f} | {theirs / ours:.2f} | {theirs / growing:.2f} |")
    left = mean["loop seconds"] / 2 - growing
    lines.append(
        f"\nBesides growing, ours takes {ours - growing:.0f} ms for gradients, judging, boosters "
        + (
            f"and all else. Twice as many fold-trainings as the loop of this page does would leave "
            f"{left:.0f} ms for these.\n"
            if left > 0
            else "and all else. Growing the trees alone takes more than half of what the loop of "
            "this page does: twice as many fold-trainings cannot be had with the same trees.\n"
        )
    )
    return "\n".join(lines)


def _shares(found: dict[str, Any]) -> str:
    shares = sorted(found["shares"].items(), key=lambda each: -each[1])
    return (
        f"In {found['trials']} trials of `gbrank.tune` as it comes on MQ2008, "
        f"{found['fold-trainings']} fold-trainings, of the CPU time "
        + ", ".join(f"{name} took {share:.1%}" for name, share in shares)
        + ".\n"
    )


def _histograms(found: dict[str, Any]) -> str:
    shares = np.array([features for _, features, _ in found["points"]])
    ratios = np.array(list(found["ratios"].values()))
    by_rows, by_columns = ratios[:, shares >= FROM_SHARE], ratios[:, shares < FROM_SHARE]
    same = "the same" if found["same trees"] else "other"
    return (
        f"Trees that use at least {FROM_SHARE:.0%} of the features have their histograms made by "
        f"rows, where rows times features are at most {LARGEST:,}: on these sets that took "
        f"{by_rows.min():.2f} to {by_rows.max():.2f}, on the mean {by_rows.mean():.2f}, times as "
        "long as by columns, for making a booster and its first 40 trees. With fewer features it "
        f"would be {by_columns.min():.2f} to {by_columns.max():.2f}, on the mean "
        f"{by_columns.mean():.2f}. Both ways grew {same} trees.\n"
    )


_HEAD = """# What is tuning worth?

`gbrank.tune` against loops that people write with Optuna, each on one core with the same number of
CPU seconds to search. Fold f tests on part f of a data set; every method has the queries of all
other parts, searches on five folds of whole queries with up to 500 trees and a patience of 25, and
then trains on all of them: `gbrank.tune` a blend of its best trials and the defaults where these
trials were ahead of the defaults with p < .05 on folds that did not choose, else the defaults as
they come; the loops their best trial with the mean number of trees of its folds. That last
training, and the compilation of kernels, is not counted. `Ranker()` is trained as it comes, in no
budget. The loops search the loss too where their library has several (XGBoost `rank:ndcg` and
`rank:pairwise`, CatBoost `YetiRank` and `QueryRMSE`). Written by `python benchmarks/tuning.py`,
which says more.

Few folds were run: differences of single sets are mostly chance.
"""
_LOOKS = """
## What was looked at

After a first look at test queries of table_www2018, fold 1, the blend of tuned trials was made
to shrink towards the defaults. The runs of 10 and 20 s, on folds 1 to 3, are of that version, whose
blend always held tuned trials. It gained nothing over `Ranker()`, so that now tuned trials count
only where they are ahead with p < .05: the level of the verdict, tried on training queries of
fold 4, where it could not be told apart from other ways to blend.

When one test fold had been run, table_www2018, fold 4, what comes out where nothing is gained was
changed from the folds of the defaults to `Ranker()` itself, which was better there: that set is no
clean judge of this step either. What was run on folds 4 and 5 is of that version. Fold 5 had not
been looked at by tuning before, but for the defaults; nothing that changes a model was changed
after these runs. Other work shared the machine, so that less is done in a CPU second than when it
is idle, by all methods.

Of the runs of 100 s those of the loop, but for trec_object_runs, fold 4, and of `gbrank.tune` on
table_www2018, on MQ2008, fold 4, and on trec_object_runs, fold 5, came first, on a machine where a
fold-training of the loop at the same points took 196 ms. The others came later, with judging made
faster and the same trees and scores, on a busier and slower one, where it took 300 to 360 ms: the
loop could do half as much again in its 100 s. Nothing was changed because of what these runs said;
steps of losses have become faster since, and differ in last bits.
"""
