"""How noisy are labels? The confusion matrix, from predictions of models that did not see them.

A label ``l`` has, given features ``x``, the probability ``sum_u T[l, u] P(u | x)``. Where features
make the true grade certain, a row called an anchor, that is a column of ``T``. The rows to which
out-of-fold models give a grade most surely are taken for its anchors, and the labels of these,
which the models did not see, are counted. Are there no such rows, the count holds what features
cannot say too: it is then an upper bound of the noise, and the noise itself is not identified.
"""

from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout, RankingData, query_folds

#: Share of the labels of a grade that are taken for its anchors; their least and largest number.
ANCHORS = 0.1
FEWEST_ANCHORS, MOST_ANCHORS = 30, 400
#: Rows whose probability is so much lower are as sure as the surest.
AS_SURE = 0.05
RESAMPLES = 400
#: Small trees: probabilities are wanted that are neither too sure nor the same for all.
_TREES = {
    "objective": "multiclass",
    "num_leaves": 7,
    "learning_rate": 0.05,
    "feature_fraction": 0.7,
    "lambda_l2": 1.0,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}
_ROUNDS = 80


@dataclass(frozen=True)
class NoiseEstimate:
    """The confusion matrix of labels, with intervals over queries.

    Attributes
    ----------
    matrix : ndarray of shape (n_grades, n_grades)
        ``matrix[l, u]`` is the probability of label ``l`` given the true grade ``u``.
    low, high : ndarray of shape (n_grades, n_grades)
        Ends of the intervals of its entries.
    document_noise : tuple of float
        Share of labels that differ from the truth: estimate, low and high end.
    pair_noise : tuple of float
        Share of pairs of unequal truth that labels put in the wrong order, ties counting half.
    shares : ndarray of shape (n_grades,)
        Share of each true grade.
    anchors : ndarray of shape (n_grades,)
        Number of rows that each column was counted on.
    is_certain : ndarray of shape (n_grades,)
        Whether these rows look like anchors: the surer half of them is labelled as the other half.
    method : str
        "anchors", or "judges" where several judgments exist.
    """

    matrix: FloatArray
    low: FloatArray
    high: FloatArray
    document_noise: tuple[float, float, float]
    pair_noise: tuple[float, float, float]
    shares: FloatArray
    anchors: IntArray
    is_certain: Any
    method: str = "anchors"


def grade_probabilities(
    data: RankingData, n_grades: int, n_folds: int, random_state: int
) -> tuple[FloatArray, IntArray]:
    """Return the probability of each label for each row, by models that saw no row of its query.

    And the fold of each row: the one that its model did not see.
    """
    found = np.zeros((data.n_rows, n_grades))
    fold_of = np.zeros(data.n_rows, dtype=np.int64)
    folds = query_folds(
        data.layout, data.y, n_folds, shuffle=True, stratify="relevant", seed=random_state
    )
    for number, (train, test) in enumerate(folds):
        fold_of[test] = number
        least = max(20, len(train) // 40)  # leaves of few rows would follow wrong labels
        params = {**_TREES, "num_class": n_grades, "seed": random_state, "min_data_in_leaf": least}
        part = lgb.Dataset(data.X[train], data.y[train], params=params)
        found[test] = lgb.train(params, part, _ROUNDS).predict(data.X[test], num_threads=1)
    return found, fold_of


def estimate_matrix(
    labels: IntArray,
    probabilities: FloatArray,
    fold_of: IntArray,
    layout: QueryLayout,
    *,
    confidence: float = 0.95,
    random_state: int = 0,
) -> NoiseEstimate:
    """Return the confusion matrix as counted on the rows whose grade is surest.

    Parameters
    ----------
    labels : grade of each row, in the order of the layout.
    probabilities : of each grade, out of fold, likewise.
    fold_of : fold of each row, likewise. Anchors are chosen fold by fold: a label that is rare in a
        fold by chance is frequent in the others, whose model is then the surer of it there, so that
        the surest rows of all folds together would be too often labelled otherwise.
    layout : the queries, which the bootstrap draws.
    confidence : level of the intervals.
    random_state : seed of the bootstrap.
    """
    n_grades = probabilities.shape[1]
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    counts = np.zeros((layout.n_queries, n_grades, n_grades))  # of labels, by query and truth
    anchors, certain = np.zeros(n_grades, dtype=np.int64), np.zeros(n_grades, dtype=bool)
    for grade in range(n_grades):
        rows = _surest(probabilities[:, grade], fold_of, int((labels == grade).sum()))
        anchors[grade], certain[grade] = len(rows), _looks_alike(labels[rows] == grade)
        np.add.at(counts[:, :, grade], (query[rows], labels[rows]), 1.0)
    of_labels = np.zeros((layout.n_queries, n_grades))
    np.add.at(of_labels, (query, labels), 1.0)

    rng = np.random.default_rng(random_state)
    weights = rng.multinomial(
        layout.n_queries, np.full(layout.n_queries, 1.0 / layout.n_queries), RESAMPLES
    )
    whole = _noise_of(counts.sum(axis=0), of_labels.sum(axis=0))
    drawn = [_noise_of(np.tensordot(w, counts, 1), w @ of_labels, pseudo=0.5) for w in weights]
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile([each[0] for each in drawn], ends, axis=0)
    # counts of few anchors: a bootstrap of zero errors has no width, a binomial interval has
    low, high = _at_least_wilson(whole[0], anchors, low, high, confidence)
    documents, pairs = (
        (float(whole[at]), *map(float, np.quantile([each[at] for each in drawn], ends)))
        for at in (1, 2)
    )
    return NoiseEstimate(whole[0], low, high, documents, pairs, whole[3], anchors, certain)  # type: ignore[arg-type]


def _surest(probability: FloatArray, fold_of: IntArray, n_labelled: int) -> IntArray:
    """Return the rows of each fold that a grade is most probable for, the surest first."""
    wanted = float(np.clip(ANCHORS * n_labelled, FEWEST_ANCHORS, MOST_ANCHORS))
    order = np.argsort(-probability, kind="stable")
    rows, places = [], []
    for fold in np.unique(fold_of):
        mine = order[fold_of[order] == fold]
        n_mine = min(round(wanted * len(mine) / len(order)) or 1, len(mine))
        # all rows that are about as sure: between them only the noise of other labels decides
        cut = probability[mine[n_mine - 1]] - AS_SURE
        n_mine = int(np.searchsorted(-probability[mine], -cut, side="right"))
        rows.append(mine[:n_mine])
        places.append(np.arange(n_mine) / n_mine)
    # those that are the first of their fold come first
    return np.concatenate(rows)[np.argsort(np.concatenate(places), kind="stable")]


def _looks_alike(is_right: Any) -> bool:
    """Return whether the surer half is labelled as the other half, as anchors would be."""
    middle = len(is_right) // 2
    first, second = is_right[:middle].mean(), is_right[middle:].mean()
    pooled = is_right.mean()
    error = np.sqrt(max(pooled * (1 - pooled), 1e-12) * (1 / middle + 1 / (len(is_right) - middle)))
    # most are labelled so, and no slope is seen
    return bool(pooled > 0.5 and first - second < 2.0 * error)


def _noise_of(
    counts: FloatArray, of_labels: FloatArray, pseudo: float = 0.0
) -> tuple[FloatArray, float, float, FloatArray]:
    """Return matrix, document noise, pair noise and shares of true grades."""
    n_grades = len(counts)
    filled = counts + pseudo * np.eye(n_grades) + 1e-12 * np.eye(n_grades)
    matrix: FloatArray = filled / filled.sum(axis=0)
    shares = true_shares(matrix, of_labels / of_labels.sum())
    return matrix, *noise_of_matrix(matrix, shares), shares


def true_shares(matrix: FloatArray, of_labels: FloatArray) -> FloatArray:
    """Return the shares of true grades that a matrix turns into those of labels."""
    from scipy.optimize import nnls

    found, _ = nnls(np.vstack([matrix, 10.0 * np.ones(len(matrix))]), np.append(of_labels, 10.0))
    shares: FloatArray = found / found.sum()
    return shares


def noise_of_matrix(matrix: FloatArray, shares: FloatArray) -> tuple[float, float]:
    """Return document noise and pair noise of labels drawn independently by a matrix."""
    documents = float(1.0 - shares @ np.diag(matrix))
    above = np.cumsum(matrix, axis=0)
    wrong = pairs = 0.0
    for low in range(len(matrix)):
        for high in range(low + 1, len(matrix)):
            chance = shares[low] * shares[high]
            tied = float(matrix[:, low] @ matrix[:, high])
            # the higher one's label is l, the lower one's above it
            reversed_ = float(matrix[:, high] @ (1.0 - above[:, low]))
            wrong += chance * (reversed_ + 0.5 * tied)
            pairs += chance
    return documents, wrong / pairs if pairs > 0 else float("nan")


def _at_least_wilson(
    matrix: FloatArray, anchors: IntArray, low: FloatArray, high: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    from scipy.stats import norm

    # a quarter wider: labels of other folds choose the anchors, so that counts vary more
    z = 1.25 * float(norm.ppf(0.5 + confidence / 2))
    middle = (matrix + z**2 / (2 * anchors)) / (1 + z**2 / anchors)
    reach = (
        z
        / (1 + z**2 / anchors)
        * np.sqrt(matrix * (1 - matrix) / anchors + z**2 / (4 * anchors**2))
    )
    return np.minimum(low, middle - reach).clip(0.0), np.maximum(high, middle + reach).clip(None, 1)
