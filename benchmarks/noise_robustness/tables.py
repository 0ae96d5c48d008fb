"""What came out: means with intervals, and paired tests corrected for their number.

Two tests are made of every comparison. Over queries: the difference of each test query, averaged
over the trials that tested it, in the random permutation test of ``gbrank.metrics.compare``; it
asks whether other queries would show the same. Over trials: the paired t-test of the papers; as
trials share queries, it asks only whether more trials on these queries would show the same.
"""

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from common.objective_names import parse_objective
from scipy import stats

from gbrank.metrics.comparison import bootstrap_intervals, holm, sign_flip_test
from noise_robustness.presets import Preset
from noise_robustness.trial import Result, Trial

NAN = float("nan")
RESAMPLES = 9_999


@dataclass
class Row:
    """One objective at one level: a line of ``results.csv``."""

    preset: str
    data: str
    noise: str
    setting: str
    level: float
    objective: str
    metric: str
    trials: int
    mean: float
    low: float
    high: float
    trees: float
    document_noise: float
    pair_noise: float
    against: str = ""
    difference: float = NAN
    difference_low: float = NAN
    difference_high: float = NAN
    p_queries: float = NAN
    p_queries_holm: float = NAN
    p_trials: float = NAN
    p_trials_holm: float = NAN
    verdict: str = ""


def make_rows(preset: Preset, data: str, results: dict[Trial, Result]) -> list[Row]:
    """Return a row for each setting, noise, level, metric and objective that has trials."""
    cells: dict[tuple[str, str, float], dict[str, dict[int, Result]]] = {}
    for trial, result in results.items():
        cell = cells.setdefault((trial.noise, trial.setting, trial.level), {})
        cell.setdefault(trial.objective, {})[trial.trial] = result
    _share_floors(preset, cells)
    rows: list[Row] = []
    for noise, setting in _tables_of(preset, cells):
        levels = sorted(level for n, s, level in cells if (n, s) == (noise, setting))
        for at in range(len(preset.metrics)):
            table = []
            for level in levels:
                cell = cells[noise, setting, level]
                for objective in _in_order(preset, cell):
                    table.append(
                        _row(preset, data, (noise, setting, level), objective, cell[objective], at)
                    )
            _compare(preset, table, cells, at)
            rows += table
    return rows


def _share_floors(preset: Preset, cells: dict[tuple[str, str, float], dict]) -> None:
    """Floors do not depend on trees: they stand in the tables of all settings of a noise."""
    for noise in preset.noises:
        for level in {level for kind, _, level in cells if kind == noise.kind}:
            first = cells.get((noise.kind, noise.settings[0], level), {})
            fixed = {k: v for k, v in first.items() if not parse_objective(k).is_learner}
            for setting in noise.settings[1:]:
                if (noise.kind, setting, level) in cells:
                    cells[noise.kind, setting, level].update(fixed)


def _tables_of(preset: Preset, cells: Iterable[tuple[str, str, float]]) -> list[tuple[str, str]]:
    present = {(noise, setting) for noise, setting, _ in cells}
    wanted = [(noise.kind, s) for noise in preset.noises for s in noise.settings]
    return [table for table in wanted if table in present]


def _in_order(preset: Preset, cell: Iterable[str]) -> list[str]:
    known = list(preset.objectives)
    return sorted(cell, key=lambda name: (known.index(name) if name in known else len(known), name))


def _row(
    preset: Preset,
    data: str,
    where: tuple[str, str, float],
    objective: str,
    trials: dict[int, Result],
    metric: int,
) -> Row:
    name = preset.metrics[metric]
    ordered = [trials[number] for number in sorted(trials)]
    values = np.array([result.means[name] for result in ordered])
    mean, low, high = mean_with_interval(values)
    return Row(
        preset=preset.name,
        data=data,
        noise=where[0],
        setting=where[1],
        level=where[2],
        objective=objective,
        metric=name,
        trials=len(values),
        mean=mean,
        low=low,
        high=high,
        trees=float(np.mean([result.trees for result in ordered])),
        document_noise=float(np.mean([result.noise["documents"] for result in ordered])),
        pair_noise=float(np.mean([result.noise["pairs"] for result in ordered])),
    )


def mean_with_interval(values: np.ndarray, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the mean and Student's interval; nan ends for a single value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, NAN, NAN
    reach = stats.t.ppf(0.5 + confidence / 2, len(values) - 1) * stats.sem(values)
    return mean, float(mean - reach), float(mean + reach)


def _compare(preset: Preset, table: list[Row], cells: dict, metric: int) -> None:
    """Fill in the comparisons of one table; all of them are one family for Holm's correction."""
    compared: list[Row] = []
    influences: list[np.ndarray] = []
    for row in table:
        cell = cells[row.noise, row.setting, row.level]
        other = next((b for a, b in preset.comparisons() if a == row.objective), None)
        if other is None or other not in cell:
            continue
        mine, theirs = cell[row.objective], cell[other]
        common = sorted(set(mine) & set(theirs))
        if not common:
            continue
        row.against = other
        per_trial = np.array(
            [
                mine[t].means[row.metric] - theirs[t].means[row.metric] for t in common
            ]
        )  # fmt: skip
        row.difference = float(per_trial.mean())
        row.p_trials = paired_t(per_trial)
        weighted, influence = by_query(
            [(mine[t].queries, mine[t].values[metric] - theirs[t].values[metric]) for t in common]
        )
        if len(influence) > 1:
            low_high = bootstrap_intervals(influence[None, :], 0.95, RESAMPLES, 0)[0]
            row.difference_low, row.difference_high = low_high
            row.p_queries = sign_flip_test(weighted, RESAMPLES, 0)
        compared.append(row)
        influences.append(influence)
    for name in ("p_queries", "p_trials"):
        tested = [row for row in compared if not np.isnan(getattr(row, name))]
        for row, p in zip(tested, holm([getattr(row, name) for row in tested]), strict=True):
            setattr(row, f"{name}_holm", p)
    for row in compared:
        significant = row.p_queries_holm < preset.alpha
        row.verdict = ("better" if row.difference > 0 else "worse") if significant else "same"


def paired_t(differences: np.ndarray) -> float:
    """Return the p-value of the paired t-test over trials; nan for a single trial."""
    if len(differences) < 2:
        return NAN
    if np.ptp(differences) == 0.0:
        return 0.0 if differences[0] else 1.0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def by_query(
    trials: list[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Return what each query adds to the mean difference, plainly and to first order.

    A query's weight is the number of trials that tested it, as in ``gbrank.metrics.compare``.
    """
    queries = np.concatenate([queries for queries, _ in trials])
    values = np.concatenate([np.asarray(values, dtype=np.float64) for _, values in trials])
    queries, values = queries[~np.isnan(values)], values[~np.isnan(values)]
    ids, codes = np.unique(queries, return_inverse=True)
    if not len(ids):
        return np.zeros(0), np.zeros(0)
    counts = np.bincount(codes).astype(np.float64)
    differences = np.bincount(codes, values) / counts
    differences[np.abs(differences) <= 1e-7] = 0.0  # values are kept in single precision
    relative = counts / counts.mean()
    weighted = relative * differences
    middle = weighted.mean()
    return weighted, middle + relative * (differences - middle)


def write_csv(rows: list[Row], path: Path) -> None:
    """Write all rows, with every digit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: "" if v != v else v for k, v in asdict(row).items()})


def write_trials(preset: str, data: str, results: dict[Trial, Result], path: Path) -> None:
    """Append the metrics of every trial."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            names = ("preset", "data", *Trial._fields, "trees", "metric", "value")
            writer.writerow(names)
        for trial, result in results.items():
            for metric, value in result.means.items():
                writer.writerow([preset, data, *trial, result.trees, metric, value])
