"""One trial: a pure function of preset, data, objective, noise, level and trial number."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gbrank.metrics import evaluate, find_metric
from gbrank.noise.contestants import ObjectiveName, is_learner, parse_objective
from gbrank.noise.corruption import corrupt
from gbrank.noise.floors import best_single_feature, ridge_scores, single_feature_scores
from gbrank.noise.learners import Fit, fit_trees
from gbrank.noise.linear import fit_linear
from gbrank.noise.presets import Preset
from gbrank.noise.sources import Lists, Source, seed_of

#: Values of queries are rounded to multiples of it and means to so many digits, so that they pack
#: well. Differences of values are known to as much: tests count as ties what may be one.
VALUE_STEP = 2.0**-16
_DIGITS = 7


class Trial(NamedTuple):
    """What tells one trial of a run from the others."""

    setting: str
    noise: str
    level: float
    objective: str
    trial: int


@dataclass(frozen=True)
class Result:
    """What a trial found.

    Attributes
    ----------
    means : mean of each metric over the test queries that have a relevant document.
    queries : the test queries.
    values : float32 array (metrics, queries), multiples of ``VALUE_STEP``; nan for a query without
        a relevant document.
    trees : number of trees (or steps) used.
    curve : validation NDCG@5 after each tree, where the preset asks for it.
    noise : how noisy the training labels were.
    """

    means: dict[str, float]
    queries: np.ndarray
    values: np.ndarray
    trees: int
    curve: tuple[float, ...]
    noise: dict[str, float]


def all_trials(preset: Preset) -> list[Trial]:
    """Return every trial, in the order of trial numbers: what is there is balanced at any time."""
    return [
        Trial(setting, noise.name, level, objective, number)
        for number in range(preset.trials)
        for noise in preset.noises
        for level in noise.levels
        for setting in noise.settings
        for objective in preset.objectives
        # floors do not depend on trees: they are trained once, under the first setting
        if setting == noise.settings[0] or is_learner(objective)
    ]


def run_trial(preset: Preset, source: Source, trial: Trial) -> Result:
    """Split, corrupt, train, measure on clean test queries."""
    (train, valid, report), test = _prepared(
        _Key(preset), source, (trial.noise, trial.level), trial.trial
    )
    objective = parse_objective(trial.objective)
    settings = preset.settings[trial.setting]
    seed = seed_of("learner", trial.trial)
    fit = _fit(objective, preset.model, train, valid, test, settings, seed)
    table = evaluate(
        test.y,
        {"model": fit.scores},
        qid=test.qid,
        metrics={name: find_metric(name, n_jobs=1) for name in preset.metrics},
        per_query=True,
        n_jobs=1,
    )
    values = np.array([table[name][0] for name in preset.metrics])
    means = {
        name: round(float(np.mean(row[~np.isnan(row)])), _DIGITS)
        for name, row in zip(preset.metrics, values, strict=True)
    }
    return Result(
        means=means,
        queries=test.layout.query_ids.astype(np.int64),
        values=rounded(values),
        trees=fit.trees,
        curve=fit.curve if preset.curves else (),
        noise={
            "documents": round(report.document_noise, _DIGITS),
            "pairs": round(report.pair_noise, _DIGITS),
        },
    )


def rounded(values: np.ndarray) -> np.ndarray:
    """Return values of queries as they are kept."""
    return (np.round(values / VALUE_STEP) * VALUE_STEP).astype(np.float32)


class _Key:
    """A preset as the key of a cache: equal where what trials depend on is equal."""

    def __init__(self, preset: Preset) -> None:
        self.preset, self.key = preset, preset.fingerprint()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.key == other.key


@lru_cache(maxsize=1)
def _prepared(key: _Key, source: Source, noise: tuple[str, float], number: int) -> Any:
    """Return corrupted training and validation lists, clean test lists; the last are kept."""
    kind, level = noise
    train, valid, test = source.split(number, key.preset.split)
    chosen = next(noise for noise in key.preset.noises if noise.name == kind)
    seed = seed_of(source.name, kind, number)
    return corrupt(train, valid, chosen, level, source.grades, seed), test


def _fit(
    objective: ObjectiveName,
    model: str,
    train: Lists,
    valid: Lists,
    test: Lists,
    settings: dict[str, Any],
    seed: int,
) -> Fit:
    if objective.text == "ceiling:bayes":
        if test.utility is None:
            raise ValueError("ceiling:bayes is known for synthetic data only")
        return Fit(test.utility, 0, ())
    if objective.text == "floor:single_feature":
        chosen = best_single_feature(train)
        return Fit(single_feature_scores(test, *chosen), 0, ())
    if objective.text == "floor:ridge":
        scores, _ = ridge_scores(train, valid, test, (train.query, valid.query, test.query))
        return Fit(scores, 0, ())
    if model == "linear":
        return fit_linear(objective, train, valid, test, settings, seed)
    return fit_trees(objective, train, valid, test.X, settings, seed, test.query)
