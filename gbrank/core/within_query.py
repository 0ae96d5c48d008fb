"""Features relative to the query they belong to: centred, z-scores, ranks, shares.

All functions take a float64 matrix whose rows are in query order and the bounds of the queries, and
return a new matrix. Missing values stay missing, and others are compared among themselves.
"""

import numpy as np

from gbrank.core.kernels import EXACT_MATH, kernel
from gbrank.core.typing import FloatArray, IntArray


def query_sums(values: FloatArray, bounds: IntArray) -> FloatArray:
    """Return the sums over each query, one row per query; there must be no empty query."""
    sums: FloatArray = np.add.reduceat(values, bounds[:-1], axis=0)
    return sums


def centred(values: FloatArray, bounds: IntArray) -> FloatArray:
    """Return values minus their mean over the query; missing ones are left out of the mean."""
    sizes = np.diff(bounds)
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    counts = query_sums(known.astype(np.float64), bounds)
    means = query_sums(filled, bounds) / np.maximum(counts, 1.0)
    difference: FloatArray = np.where(known, filled - np.repeat(means, sizes, axis=0), np.nan)
    return difference


def _without_extremes(values: FloatArray, bounds: IntArray) -> FloatArray:
    """Return values in other units where their squares or sums would overflow or vanish."""
    known = np.isfinite(values)
    largest = np.maximum.reduceat(np.where(known, np.abs(values), 0.0), bounds[:-1], axis=0)
    extreme = (largest > 1e100) | ((largest > 0.0) & (largest < 1e-100))
    if not extreme.any():
        return values
    unit = np.where(extreme, largest, 1.0)
    scaled: FloatArray = values / np.repeat(unit, np.diff(bounds), axis=0)
    return scaled


def z_scores(values: FloatArray, bounds: IntArray) -> FloatArray:
    """Return values minus mean over standard deviation of the query; 0 where all are equal."""
    values = _without_extremes(values, bounds)
    difference = centred(values, bounds)
    known = np.isfinite(difference)
    squares = query_sums(np.where(known, difference, 0.0) ** 2, bounds)
    counts = query_sums(known.astype(np.float64), bounds)
    deviation = np.sqrt(squares / np.maximum(counts, 1.0))
    largest = np.maximum.reduceat(np.where(known, np.abs(values), 0.0), bounds[:-1], axis=0)
    # equal values leave differences of rounding, which must not be blown up to z-scores of 1
    spread = np.where(deviation > 1e-12 * largest, deviation, np.inf)
    scores: FloatArray = difference / np.repeat(spread, np.diff(bounds), axis=0)
    return scores


def shares(values: FloatArray, bounds: IntArray) -> FloatArray:
    """Return values over the sum of absolute values of the query; 0 where all are 0."""
    values = _without_extremes(values, bounds)
    known = np.isfinite(values)
    totals = query_sums(np.where(known, np.abs(values), 0.0), bounds)
    totals = np.where(totals > 0.0, totals, np.inf)
    share: FloatArray = values / np.repeat(totals, np.diff(bounds), axis=0)
    return share


def ranks(values: FloatArray, bounds: IntArray) -> FloatArray:
    """Return mid-ranks within the query over the number of known values: (rank - 1/2) / m."""
    columns = np.ascontiguousarray(values.T)
    out = np.empty_like(columns)
    _rank_columns(columns, bounds, out)
    return np.ascontiguousarray(out.T)


@kernel(EXACT_MATH)  # it asks for NaN
def _rank_columns(columns, bounds, out):
    for column in range(columns.shape[0]):
        for q in range(len(bounds) - 1):
            first, last = bounds[q], bounds[q + 1]
            entries = columns[column, first:last]
            order = np.argsort(entries)  # NaN come last
            known = 0
            for i in range(len(entries)):
                if not np.isnan(entries[i]):
                    known += 1
            start = 0
            while start < known:
                end = start + 1
                while end < known and entries[order[end]] == entries[order[start]]:
                    end += 1
                for i in range(start, end):
                    out[column, first + order[i]] = 0.5 * (start + end) / known
                start = end
            for i in range(known, len(entries)):
                out[column, first + order[i]] = np.nan
