"""Labels most worth a second look: the likeliest to be wrong, with what the metric would change."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout
from gbrank.metrics import Metric, evaluate
from gbrank.noise.estimation import NoiseEstimate

#: Rows of copied queries that are judged at once.
_BATCH = 2_000_000
#: Rows whose effect on the metric is computed; the others are the least likely to be wrong.
_MOST_ROWS = 20_000


@dataclass(frozen=True)
class Suspects:
    """Rows in the order in which to look at them again.

    Attributes
    ----------
    rows : numbers of the rows, the most urgent first.
    chance : probability that the label is wrong, by row of the data.
    change : expected absolute change of the query's metric if the label were put right, likewise.
    better : the grade that is most probable instead, likewise.
    """

    rows: IntArray
    chance: FloatArray
    change: FloatArray
    better: IntArray


def find_suspects(
    labels: IntArray,
    probabilities: FloatArray,
    layout: QueryLayout,
    metric: Metric,
    estimate: NoiseEstimate,
) -> Suspects:
    """Rank rows by the chance that they are wrong; rows are in the order of the layout.

    Parameters
    ----------
    labels : grade of each row.
    probabilities : of each label, out of fold.
    layout : the queries.
    metric : what would change.
    estimate : how labels come from grades; used for grades that had anchors.
    """
    posterior = true_grades(labels, probabilities, estimate)
    n = len(labels)
    chance = 1.0 - posterior[np.arange(n), labels]
    others = posterior.copy()
    others[np.arange(n), labels] = -1.0
    change = np.zeros(n)
    candidates = np.argsort(-chance, kind="stable")[:_MOST_ROWS]
    gains = np.exp2(np.arange(probabilities.shape[1])) - 1.0
    scores = probabilities @ gains
    effects = _changes(labels, scores, layout, metric, candidates, probabilities.shape[1])
    change[candidates] = (np.abs(effects) * posterior[candidates]).sum(axis=1)
    # not by the change first: by it few of the errors that were put in are found
    order = np.lexsort((-change, -chance))
    return Suspects(order, chance, change, others.argmax(axis=1))


def true_grades(labels: IntArray, probabilities: FloatArray, estimate: NoiseEstimate) -> FloatArray:
    """Return the probability of each true grade, given features and the label.

    Where the matrix is identified, by Bayes' rule with it; else what features say stands for the
    truth, and a label counts as one that was drawn from it.
    """
    if not np.all(estimate.is_certain):
        return probabilities
    # p(l | x) = sum_u T[l, u] P(u | x): invert, then weigh with the label that was given
    truth = np.clip(np.linalg.pinv(estimate.matrix) @ probabilities.T, 1e-3, None).T
    truth /= truth.sum(axis=1, keepdims=True)
    joint = truth * np.maximum(estimate.matrix[labels], 1e-3)
    posterior: FloatArray = joint / joint.sum(axis=1, keepdims=True)
    return posterior


def _changes(
    labels: IntArray,
    scores: FloatArray,
    layout: QueryLayout,
    metric: Metric,
    rows: IntArray,
    n_grades: int,
) -> FloatArray:
    """Return by how much the metric of its query changes if a row had each other grade."""
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    base = _values(labels, scores, layout.sizes, metric)
    effects = np.zeros((len(rows), n_grades))
    sizes = layout.sizes[query[rows]]
    ends = np.cumsum(sizes)
    start = 0
    while start < len(rows):
        stop = int(np.searchsorted(ends, (ends[start - 1] if start else 0) + _BATCH, "right"))
        stop = max(stop, start + 1)
        mine = rows[start:stop]
        lengths = layout.sizes[query[mine]]
        firsts = layout.bounds[query[mine]]
        shift = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        copied = np.repeat(firsts - shift, lengths) + np.arange(lengths.sum())
        places = shift + mine - firsts
        for grade in range(n_grades):
            changed = labels[copied].copy()
            changed[places] = grade
            after = _values(changed, scores[copied], lengths, metric)
            effects[start:stop, grade] = after - base[query[mine]]
        start = stop
    return effects


def _values(labels: Any, scores: FloatArray, sizes: IntArray, metric: Metric) -> FloatArray:
    """Return the metric of each query; one that has nothing to find counts 0."""
    table = evaluate(
        labels.astype(np.float64),
        {"model": scores},
        group=sizes,
        metrics={"m": metric},
        per_query=True,
        n_jobs=1,
    )
    values: FloatArray = np.nan_to_num(table["m"][0], nan=0.0)
    return values
