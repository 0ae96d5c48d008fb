"""The page that benchmarks/quality.py writes: tables, paired tests, and what they say."""

import csv
from pathlib import Path

import numpy as np
from noise_robustness.store import Store
from noise_robustness.tables import NAN, RESAMPLES, by_query, mean_with_interval, paired_t
from noise_robustness.trial import Result, Trial
from quality_figure import draw_noise
from scipy import stats

from gbrank.metrics import holm, sign_flip_test

FOUR_SETS = ("MQ2008", "MQ2007_partial", "OHSUMED_QLN", "MSLR_merged")
#: The parts of the benchmark, and the data sets of each.
PARTS = {
    "losses": ("MQ2008", "OHSUMED_QLN"),
    "peers": FOUR_SETS,
    "ablation": FOUR_SETS,
    "noise": ("MQ2008", "MQ2007_partial"),
}
OURS = ("ranker:default", "ranker:default(start='query_linear')")
Results = dict[str, dict[Trial, Result]]


def write_page(store: Store, path: Path) -> None:
    """Write the page with its picture, its means as CSV, and the trials, compressed."""
    found: dict[str, Results] = {part: {} for part in PARTS}
    facts: dict[str, str] = {}
    for preset, data, _, provenance in store.runs():
        found[preset.removeprefix("quality-")][data] = store.results(preset, data)
        facts |= {**provenance, "command": "python benchmarks/quality.py"}
    makers = {"losses": _losses, "peers": _peers, "ablation": _ablation, "noise": _noise}
    sections = [maker(found[part]) for part, maker in makers.items() if found[part]]
    lines = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{_HEAD}\n{''.join(sections)}\n## How it was run\n\n{lines}\n")
    if found["noise"]:
        draw_noise(found["noise"], path.with_name("quality_noise.png"))
    _write_means(found, path.with_suffix(".csv"))
    store.export()


def _write_means(found: dict[str, Results], path: Path) -> None:
    """Write the mean of every model over its trials, and their standard error."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ("part", "data", "level", "objective", "metric", "trials", "mean", "standard_error")
        )
        for part, sets in found.items():
            for data, results in sets.items():
                values: dict[tuple[float, str, str], list[float]] = {}
                for trial, result in results.items():
                    for metric, value in result.means.items():
                        key = (trial.level, trial.objective, metric)
                        values.setdefault(key, []).append(value)
                for key, numbers in values.items():
                    error = stats.sem(numbers) if len(numbers) > 1 else NAN
                    cells = (len(numbers), f"{np.mean(numbers):.6f}", f"{error:.6f}")
                    writer.writerow((part, data, *key, *cells))


_HEAD = """# Quality

Means over folds, or trials, on test queries; queries without a relevant document are skipped, ties
averaged, the rows of each query shuffled. Every model stops when NDCG@5 on the validation queries
has not improved for 50 trees. `benchmarks/quality.py` wrote this page of the trials in `quality/`;
[defaults.md](defaults.md) shows how the Ranker's defaults were chosen, on validation queries. Under
noise MQ2008 has four draws of each fold, also at 0% (rows shuffled, other seeds), and differs there
by chance from the tables above it.
"""


def _folds(results: dict[Trial, Result], objective: str, level: float = 0.0) -> dict[int, Result]:
    return {
        trial.trial: result
        for trial, result in results.items()
        if trial.objective == objective and trial.level == level
    }


def _names(sets: Results) -> list[str]:
    return list(dict.fromkeys(trial.objective for found in sets.values() for trial in found))


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _mean(folds: dict[int, Result], metric: str) -> float:
    return float(np.mean([result.means[metric] for result in folds.values()])) if folds else NAN


def _cell(folds: dict[int, Result], metric: str) -> str:
    values = np.array([result.means[metric] for result in folds.values()])
    error = stats.sem(values) if len(values) > 1 else NAN
    return f"{values.mean():.4f} ± {error:.4f}"


def _losses(sets: Results) -> str:
    text = """
## Every loss

Mean over folds ± standard error. `ranker:...` starts from a linear ranker, the others from zero
with the same regularised trees. The floor is the single feature that ranks the training queries
best.
"""
    for data, results in sets.items():
        floor = _folds(results, "floor:single_feature")
        rows = []
        for name in _names({data: results}):
            folds = _folds(results, name)
            common = set(folds) & set(floor)
            above = sum(folds[f].means["ndcg@10"] > floor[f].means["ndcg@10"] for f in common)
            cells = [_cell(folds, metric) for metric in ("ndcg@10", "ndcg@5", "ndcg@1")]
            share = "" if name == "floor:single_feature" else f"{above} of {len(common)}"
            trees = f"{np.mean([result.trees for result in folds.values()]):.0f}"
            rows.append((_mean(folds, "ndcg@10"), [f"`{name}`", *cells, share, trees]))
        heads = ["objective", "NDCG@10", "NDCG@5", "NDCG@1", "folds above the floor", "trees"]
        ordered = [row for _, row in sorted(rows, key=lambda row: -row[0])]
        text += f"\n### {data}\n\n{_table(heads, ordered)}"
    return text


def _means_table(sets: Results) -> str:
    rows = []
    for name in _names(sets):
        folds = {data: _folds(results, name) for data, results in sets.items()}
        five = [_mean(folds[data], "ndcg@5") for data in sets]
        ten = [_mean(folds[data], "ndcg@10") for data in sets]
        cells = [f"{value:.4f}" for value in (*five, np.mean(five), np.mean(ten))]
        rows.append((-np.nan_to_num(np.mean(five)), [f"`{name}`", *cells]))
    heads = ["model", *(f"{data} @5" for data in sets), "mean @5", "mean @10"]
    return _table(heads, [row for _, row in sorted(rows, key=lambda row: row[0])])


def _differences(sets: Results, mine: str, theirs: str) -> tuple[np.ndarray, float]:
    """Return the differences of NDCG@5 of all folds, and the p-value with queries as units."""
    per_fold, per_query = [], []
    for number, results in enumerate(sets.values()):
        a, b = _folds(results, mine), _folds(results, theirs)
        for fold in sorted(set(a) & set(b)):
            per_fold.append(a[fold].means["ndcg@5"] - b[fold].means["ndcg@5"])
            queries = a[fold].queries + (number << 40)
            per_query.append((queries, a[fold].values[0] - b[fold].values[0]))
    weighted, _ = by_query(per_query)
    return np.array(per_fold), sign_flip_test(weighted, RESAMPLES, 0)


def _tests(sets: Results, pairs: list[tuple[str, str]], caption: str) -> str:
    rows, p_folds, p_queries = [], [], []
    for mine, theirs in pairs:
        differences, p = _differences(sets, mine, theirs)
        mean, low, high = mean_with_interval(differences)
        p_folds.append(paired_t(differences))
        p_queries.append(p)
        rows.append(
            [f"`{mine}`", f"`{theirs}`", f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]",
             str(len(differences))]
        )  # fmt: skip
    corrected = zip(rows, p_folds, holm(p_folds), p_queries, holm(p_queries), strict=True)
    lines = [
        [*row, *(f"{p:.3f}" for p in (fold, fold_holm, query, query_holm))]
        for row, fold, fold_holm, query, query_holm in corrected
    ]
    heads = ["model", "against", "difference of NDCG@5, 95% interval over folds", "folds",
             "p over folds", "Holm", "p over queries", "Holm"]  # fmt: skip
    return f"\n{caption}\n\n{_table(heads, lines)}"


def _peers(sets: Results) -> str:
    others = [name for name in _names(sets) if name not in OURS]
    pairs = [(mine, theirs) for mine in OURS for theirs in others]
    caption = (
        "Paired tests, all sets together: the t-test with folds as units, and the random "
        "permutation test with queries as units; Holm's correction is over this table."
    )
    return f"""
## The Ranker against its peers

Every library as it comes, but for a learning rate of 0.05 of the peers; up to 500 trees.
`ranker:default` is `Ranker()`.

{_means_table(sets)}{_tests(sets, pairs, caption)}"""


def _ablation(sets: Results) -> str:
    others = [name for name in _names(sets) if name != OURS[0]]
    caption = "Each change alone, against the Ranker as it comes:"
    return f"""
## What each part is worth

{_means_table(sets)}{_tests(sets, [(name, OURS[0]) for name in others], caption)}"""


def _noise(sets: Results) -> str:
    text = "\n## Under label noise\n\n![NDCG@5 against label noise](quality_noise.png)\n"
    for data, results in sets.items():
        levels = sorted({trial.level for trial in results})
        heads = ["model", *(f"{level:.0%} of labels replaced" for level in levels), "lost"]
        rows = []
        for name in _names({data: results}):
            means = [_mean(_folds(results, name, level), "ndcg@5") for level in levels]
            lost = means[0] - means[-1]
            rows.append([f"`{name}`", *(f"{mean:.4f}" for mean in means), f"{lost:.4f}"])
        trials = len({trial.trial for trial in results})
        text += f"\n### {data}, NDCG@5, {trials} trials\n\n{_table(heads, rows)}"
        tests = []
        for level in levels:
            for mine in OURS:
                a, b = (_folds(results, n, level) for n in (mine, "catboost:YetiRank"))
                common = sorted(set(a) & set(b))
                pairs = [(a[f].queries, a[f].values[0] - b[f].values[0]) for f in common]
                difference = np.mean([a[f].means["ndcg@5"] - b[f].means["ndcg@5"] for f in common])
                p = sign_flip_test(by_query(pairs)[0], RESAMPLES, 0) if pairs else NAN
                tests.append([f"{level:.0%}", f"`{mine}`", f"{difference:+.4f}", f"{p:.3f}"])
        heads = ["level", "model", "difference to catboost:YetiRank", "p over queries"]
        text += f"\n{_table(heads, tests)}"
    return text
