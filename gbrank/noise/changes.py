"""Does one loss degrade faster than another? How their gap changes from little noise to much.

That a loss is better at every level of noise does not say that it degrades more slowly: the latter
is about the change of the gap. Of each trial, that is the gap at the highest level less the gap at
the lowest, which are of the same split of the queries. Over trials there are Student's interval and
the paired t-test; trials that test the same queries are averaged first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbrank.metrics import holm
from gbrank.noise.presets import Preset
from gbrank.noise.tables import by_test_set, make_cells, mean_with_interval, paired_t, verdict_of
from gbrank.noise.trial import Result, Trial


@dataclass
class ChangeRow:
    """By how much the gap of two objectives differs between the levels of a noise."""

    noise: str
    setting: str
    objective: str
    against: str
    metric: str
    lowest: float
    highest: float
    trials: int
    test_sets: int
    change: float
    low: float
    high: float
    p_trials: float
    p_trials_holm: float = float("nan")
    verdict: str = "same"


def make_change_rows(preset: Preset, results: dict[Trial, Result]) -> list[ChangeRow]:
    """Compare each pair of the preset at the ends of each noise, by the first metric.

    The pairs of a noise and a setting are one family for Holm's correction.
    """
    cells, metric = make_cells(results), preset.metrics[0]
    rows = []
    for noise, setting in dict.fromkeys((noise, setting) for noise, setting, _ in cells):
        levels = sorted(level for n, s, level in cells if (n, s) == (noise, setting))
        if len(levels) == 1:
            continue
        low, high = cells[noise, setting, levels[0]], cells[noise, setting, levels[-1]]
        family = []
        for name, other in preset.comparisons():
            four = [end.get(which, {}) for end in (high, low) for which in (name, other)]
            common = sorted(set.intersection(*map(set, four)))
            if not common:
                continue
            means = np.array([[cell[t].means[metric] for t in common] for cell in four])
            changes = (means[0] - means[1]) - (means[2] - means[3])
            units = by_test_set([four[0][t] for t in common], changes)
            family.append(
                ChangeRow(
                    noise,
                    setting,
                    name,
                    other,
                    metric,
                    levels[0],
                    levels[-1],
                    len(common),
                    len(units),
                    *mean_with_interval(units),
                    paired_t(units),
                )
            )
        tested = [row for row in family if not np.isnan(row.p_trials)]
        for row, p in zip(tested, holm([row.p_trials for row in tested]), strict=True):
            row.p_trials_holm = p
            row.verdict = verdict_of(row.change, p, preset.alpha)
        rows += family
    return rows
