"""Paired tests over folds, over queries and over data sets."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

#: A fold's test queries over those that it trains on: folds share training queries, so that their
#: results vary together, and the variance of their mean is larger by so much (Nadeau and Bengio).
TEST_OVER_TRAINING = 1 / 4


@dataclass(frozen=True)
class Difference:
    """A mean difference between two models, and how far chance may move it.

    Attributes
    ----------
    mean, error : the difference and its standard error.
    p : of a two-sided test.
    """

    mean: float
    error: float
    p: float


def over_folds(differences: np.ndarray | list[np.ndarray]) -> Difference:
    """Compare by folds of several data sets, a row a set, with Nadeau and Bengio's correction.

    Sets are independent of each other; folds of a set are not, as they share training queries. The
    variance of a set's mean over J folds is (1/J + test/training) times that of its folds.
    """
    n_folds = np.array([len(of_set) for of_set in differences])
    of_folds = np.array([of_set.var(ddof=1) for of_set in differences])
    variances = of_folds * (1 / n_folds + TEST_OVER_TRAINING)
    mean = float(np.mean([of_set.mean() for of_set in differences]))
    error = float(np.sqrt(variances.sum()) / len(n_folds))
    if error == 0:
        return Difference(mean, error, 1.0 if mean == 0 else 0.0)
    # Welch and Satterthwaite: as many degrees of freedom as the variances are even
    freedom = variances.sum() ** 2 / (variances**2 / (n_folds - 1)).sum()
    return Difference(mean, error, float(2 * stats.t.sf(abs(mean / error), freedom)))


def over_queries(differences: np.ndarray) -> Difference:
    """Compare by queries of one data set: a t test, differences being one per query."""
    known = differences[~np.isnan(differences)]
    mean, error = float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known)))
    if error == 0:
        return Difference(mean, error, 1.0)
    return Difference(mean, error, float(2 * stats.t.sf(abs(mean / error), len(known) - 1)))


def over_sets(differences: np.ndarray) -> float:
    """Return the p of Wilcoxon's signed ranks, two-sided, differences being one per data set."""
    return float(stats.wilcoxon(differences).pvalue)


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Return the mean rank of each model, 1 being the best; values are (models, sets)."""
    ranks: np.ndarray = stats.rankdata(-values, axis=0).mean(axis=1)
    return ranks


def critical_difference(n_models: int, n_sets: int, level: float = 0.05) -> float:
    """Return by how much mean ranks must differ to be told apart (Nemenyi)."""
    q = stats.studentized_range.ppf(1 - level, n_models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6 * n_sets)))
