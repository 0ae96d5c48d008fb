"""What came out: means with intervals, and paired tests corrected for their number.

Two tests are made of every comparison. Over queries: the difference of each test query, averaged
over the trials that tested it, in the random permutation test of ``gbrank.metrics.compare``; it
asks whether other queries would show the same. Over trials: the paired t-test of the papers; as
random splits share queries, it asks only whether more trials on these queries would show the same.
Trials that test the same queries, a fold run again with other noise, are no units of their own and
are averaged before anything is computed over trials.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import stats

from gbrank.core import atomic_file
from gbrank.metrics import holm, sign_flip_test
from gbrank.noise.contestants import is_learner
from gbrank.noise.presets import Preset
from gbrank.noise.trial import VALUE_STEP, Result, Trial

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
    test_sets: int
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


@dataclass
class SettingRow:
    """One objective under two settings of the trees: a line of ``settings.csv``."""

    preset: str
    data: str
    noise: str
    level: float
    objective: str
    metric: str
    setting: str
    against: str
    trials: int
    difference: float
    difference_low: float
    difference_high: float
    p_queries: float
    p_queries_holm: float = NAN
    verdict: str = ""


Cells = dict[tuple[str, str, float], dict[str, dict[int, Result]]]


def make_cells(results: dict[Trial, Result]) -> Cells:
    """Return the trials of each noise, setting and level, by objective and number."""
    cells: Cells = {}
    for trial, result in results.items():
        cell = cells.setdefault((trial.noise, trial.setting, trial.level), {})
        cell.setdefault(trial.objective, {})[trial.trial] = result
    return cells


def make_setting_rows(preset: Preset, data: str, results: dict[Trial, Result]) -> list[SettingRow]:
    """Compare each noise's first setting with its others, objective by objective: the trees alone.

    The comparisons of a noise and a pair of settings are one family for Holm's correction.
    """
    cells = make_cells(results)
    metric = preset.metrics[0]
    rows: list[SettingRow] = []
    for noise in preset.noises:
        first = noise.settings[0]
        for other in noise.settings[1:]:
            family = []
            for level in sorted(at for kind, s, at in cells if (kind, s) == (noise.name, first)):
                mine = cells[noise.name, first, level]
                theirs = cells.get((noise.name, other, level), {})
                for name in _in_order(preset, set(mine) & set(theirs)):
                    found = paired(mine[name], theirs[name], metric, 0)
                    if is_learner(name) and found is not None:
                        row = SettingRow(
                            preset.name, data, noise.name, level, name, metric, first, other,
                            found.trials, found.difference, found.low, found.high, found.p_queries,
                        )  # fmt: skip
                        family.append(row)
            _correct(family, "p_queries", preset.alpha)
            rows += family
    return rows


def make_rows(preset: Preset, data: str, results: dict[Trial, Result]) -> list[Row]:
    """Return a row for each setting, noise, level, metric and objective that has trials."""
    cells = make_cells(results)
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


def _share_floors(preset: Preset, cells: Cells) -> None:
    """Floors do not depend on trees: they stand in the tables of all settings of a noise."""
    for noise in preset.noises:
        for level in {level for kind, _, level in cells if kind == noise.name}:
            first = cells.get((noise.name, noise.settings[0], level), {})
            fixed = {k: v for k, v in first.items() if not is_learner(k)}
            for setting in noise.settings[1:]:
                if (noise.name, setting, level) in cells:
                    cells[noise.name, setting, level].update(fixed)


def _tables_of(preset: Preset, cells: Iterable[tuple[str, str, float]]) -> list[tuple[str, str]]:
    present = {(noise, setting) for noise, setting, _ in cells}
    wanted = [(noise.name, s) for noise in preset.noises for s in noise.settings]
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
    units = by_test_set(ordered, values)
    mean, low, high = mean_with_interval(units)
    return Row(
        preset=preset.name,
        data=data,
        noise=where[0],
        setting=where[1],
        level=where[2],
        objective=objective,
        metric=name,
        trials=len(values),
        test_sets=len(units),
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


@dataclass
class Difference:
    """One objective minus another, or one setting minus another, over the trials both have."""

    trials: int
    difference: float
    low: float
    high: float
    p_queries: float
    p_trials: float


def paired(
    mine: dict[int, Result], theirs: dict[int, Result], metric: str, at: int
) -> Difference | None:
    """Compare trial by trial and query by query; ``at`` is the metric's place in the values."""
    common = sorted(set(mine) & set(theirs))
    if not common:
        return None
    per_trial = by_test_set(
        [mine[t] for t in common],
        np.array([mine[t].means[metric] - theirs[t].means[metric] for t in common]),
    )
    weighted, influence = by_query(
        [(mine[t].queries, mine[t].values[at] - theirs[t].values[at]) for t in common]
    )
    found = Difference(len(common), float(per_trial.mean()), NAN, NAN, NAN, paired_t(per_trial))
    if len(influence) > 1:
        found.low, found.high = bootstrap_interval(influence)
        found.p_queries = sign_flip_test(weighted, RESAMPLES, 0, VALUE_STEP)
    return found


def bootstrap_interval(influence: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of the mean, as ``gbrank.metrics.compare`` has it.

    A report has thousands of them, so the samples are drawn once for each number of queries.
    """
    means = _sample_weights(len(influence)) @ influence.astype(np.float32) / len(influence)
    low, high = np.quantile(means.astype(np.float64), [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)


@lru_cache(maxsize=2)
def _sample_weights(n: int) -> np.ndarray:
    """Return how often each of n queries is drawn in each of the bootstrap samples."""
    drawn = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
    weights = np.zeros((RESAMPLES, n), dtype=np.float32)
    for line, picks in zip(weights, drawn, strict=True):
        line += np.bincount(picks, minlength=n)
    return weights


def by_test_set(results: list[Result], values: np.ndarray) -> np.ndarray:
    """Average the values of trials that tested the same queries: repeats are no new evidence."""
    keys = [np.sort(result.queries).tobytes() for result in results]
    return np.array(
        [
            np.mean([value for value, mine in zip(values, keys, strict=True) if mine == key])
            for key in dict.fromkeys(keys)
        ]
    )


def _compare(preset: Preset, table: list[Row], cells: Cells, metric: int) -> None:
    """Fill in the comparisons of one table; all of them are one family for Holm's correction."""
    compared: list[Row] = []
    opponents = dict(reversed(preset.comparisons()))
    for row in table:
        cell = cells[row.noise, row.setting, row.level]
        other = opponents.get(row.objective)
        if other is None or other not in cell:
            continue
        found = paired(cell[row.objective], cell[other], row.metric, metric)
        if found is None:
            continue
        row.against = other
        row.difference = found.difference
        row.difference_low, row.difference_high = found.low, found.high
        row.p_queries, row.p_trials = found.p_queries, found.p_trials
        compared.append(row)
    _correct(compared, "p_trials", preset.alpha)
    _correct(compared, "p_queries", preset.alpha)


def _correct(rows: Sequence[Row | SettingRow], name: str, alpha: float) -> None:
    """Correct the p-values of one family by Holm's method; those over queries give the verdict."""
    tested = [row for row in rows if not np.isnan(getattr(row, name))]
    for row, p in zip(tested, holm([getattr(row, name) for row in tested]), strict=True):
        setattr(row, f"{name}_holm", p)
    for row in rows:
        row.verdict = verdict_of(row.difference, row.p_queries_holm, alpha)


def verdict_of(difference: float, p: float, alpha: float) -> str:
    """Return "better", "worse", or "same" where the test cannot tell."""
    if not p < alpha:
        return "same"
    return "better" if difference > 0 else "worse"


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


def write_csv(rows: Sequence[Row | SettingRow], path: Path, kind: type = Row) -> None:
    """Write all rows, with six digits: later ones depend on the machine."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(kind)], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in asdict(row).items()})
    with atomic_file(path, follow_links=False) as file:
        file.write(text.getvalue().encode())


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return value
