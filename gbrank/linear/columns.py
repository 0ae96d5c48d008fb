"""The columns that a linear ranker weighs, written one after the other into one matrix.

The matrix is in Fortran order: a column is contiguous to write and to centre, and BLAS takes
stretches of its rows as they are.
"""

import numpy as np

from gbrank.core import EXACT_MATH, FloatArray, IntArray, kernel, ranks, z_scores
from gbrank.linear.steps import FeatureSteps

#: What a feature may count as; the columns of ``LinearRanker.coef_``.
KINDS = ("rank", "logarithm", "missing", "z-score", "rank within the query")
MISSING = KINDS.index("missing")
#: The first of those that are relative to the query.
RELATIVE = 3


def relative_columns(values: FloatArray, bounds: IntArray) -> list[FloatArray]:
    """Return z-scores and centred ranks within the query; what is missing becomes 0.

    So does infinity, of which no mean can be taken; in ``values`` it becomes NaN.
    """
    values[np.isinf(values)] = np.nan
    return [
        np.nan_to_num(z_scores(values, bounds), copy=False),
        np.nan_to_num(ranks(values, bounds) - 0.5, copy=False),
    ]


def write_columns(
    values: FloatArray, bounds: IntArray, steps: list[FeatureSteps | None] | None
) -> tuple[FloatArray, IntArray]:
    """Return columns centred within queries, and for each its feature and its place in ``KINDS``.

    ``steps`` are the step functions of a pointwise ranker, ``None`` for a relative one.
    """
    n_rows, n_features = values.shape
    places: list[tuple[int, int]] = []
    if steps is None:
        blocks = relative_columns(values, bounds)
        columns = np.concatenate([np.asfortranarray(block) for block in blocks], axis=1)
        for kind in range(RELATIVE, len(KINDS)):
            places += [(feature, kind) for feature in range(n_features)]
    else:
        used = [(feature, kept) for feature, kept in enumerate(steps) if kept is not None]
        places = [(f, kind) for f, kept in used for kind in range(kept.columns.shape[1])]
        columns = np.empty((n_rows, len(places)), order="F")
        at = 0
        for feature, kept in used:
            bins = kept.bins(np.ascontiguousarray(values[:, feature]))
            for kind in range(kept.columns.shape[1]):
                np.take(kept.columns[:, kind], bins, out=columns[:, at])
                at += 1
    centre_columns(columns.T, bounds)
    return columns, np.array(places, dtype=np.int64).reshape(-1, 2)


@kernel(EXACT_MATH)
def centre_columns(columns, bounds):
    """Subtract from each entry the mean of its query; a row of ``columns`` is one column."""
    for c in range(columns.shape[0]):
        for q in range(len(bounds) - 1):
            first, last = bounds[q], bounds[q + 1]
            total = 0.0
            for i in range(first, last):
                total += columns[c, i]
            mean = total / (last - first)
            for i in range(first, last):
                columns[c, i] -= mean
