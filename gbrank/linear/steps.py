r"""Monotone transforms of features as step functions, which trees can represent exactly.

A feature is cut at up to ``MAX_EDGES`` quantiles. Within a bin all values count alike: as their
mean rank among all rows, and as the mean of :math:`\mathrm{sign}(x - c) \log(1 + |x - c| / d)` with
:math:`c` the median and :math:`d` the upper quartile of :math:`|x - c|`, which tames heavy tails.
Missing values are a bin of their own, 0 in both, with an indicator as a third column where there
are any. A linear function of these columns is one number per bin, so one step function per feature.

Edges are float32 numbers, so that tools which read models in single precision put a value on the
same side: ``x <= edge`` goes left.
"""

from dataclasses import dataclass

import numpy as np

from gbrank.core import EXACT_MATH, FloatArray, IntArray, kernel

MAX_EDGES = 63
#: The greatest float32. What is above it, infinity above all, counts as missing; what is below its
#: negative falls into the first bin, as in a tree.
GREATEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class FeatureSteps:
    """One feature.

    Attributes
    ----------
    edges : increasing float32 numbers, as float64; bin b holds edges[b-1] < x <= edges[b].
    columns : (len(edges) + 2, n_columns): what a bin counts as; the last bin is "missing".
    counts : how many rows fell into each bin, at least 1 (explanations divide by them).
    """

    edges: FloatArray
    columns: FloatArray
    counts: IntArray

    def bins(self, values: FloatArray) -> IntArray:
        """Return the bin of each value."""
        found = np.empty(len(values), dtype=np.int64)
        _find_bins(self.edges, values, found)
        return found


@kernel(EXACT_MATH)
def _find_bins(edges, values, found):
    """Find the number of edges below each value; values that are missing get one more than all."""
    # Steps of a fixed number and without branches: what is compared is not to be predicted.
    n_edges = len(edges)
    for i in range(len(values)):
        value = values[i]
        low, left = 0, n_edges
        while left > 1:
            half = left // 2
            low += half * (edges[low + half - 1] < value)
            left -= half
        if left == 1:
            low += edges[low] < value
        # NaN too
        found[i] = low if value <= GREATEST else n_edges + 1


def fit_steps(values: FloatArray) -> FeatureSteps | None:
    """Return the step functions of one feature, or None if it has a single value."""
    known = np.sort(values[np.abs(values) <= GREATEST])
    n_missing = int(np.count_nonzero(~(values <= GREATEST)))
    if len(known) == 0 or (known[0] == known[-1] and n_missing == 0):
        return None
    edges = _edges(known)
    bin_of_known = np.searchsorted(edges, known, side="left")
    counts = np.bincount(bin_of_known, minlength=len(edges) + 1)
    middle = np.median(known)
    distance = np.quantile(np.abs(known - middle), 0.75) or np.abs(known - middle).max() or 1.0
    away = known - middle
    distance = max(distance, 1e-300 * np.abs(away).max())  # what is divided by it stays finite
    columns = []
    for transformed in (
        (np.arange(len(known)) + 0.5) / len(known) - 0.5,
        np.sign(away) * np.log1p(np.abs(away) / distance),
    ):
        sums = np.bincount(bin_of_known, transformed, minlength=len(edges) + 1)
        columns.append(np.append(sums / np.maximum(counts, 1), 0.0))
    if n_missing > 0:
        columns.append(np.append(np.zeros(len(edges) + 1), 1.0))
    counts[0] += len(values) - len(known) - n_missing  # what is below all numbers
    all_counts = np.append(counts, n_missing)
    return FeatureSteps(edges, np.stack(columns, axis=1), np.maximum(all_counts, 1))


def _edges(known: FloatArray) -> FloatArray:
    """Return cuts between different values of a sorted array, about evenly many rows apart."""
    places = np.unique(np.linspace(0, len(known), MAX_EDGES + 2).astype(np.int64)[1:-1])
    lower = known[np.maximum(places - 1, 0)]
    upper = known[np.minimum(np.searchsorted(known, lower, side="right"), len(known) - 1)]
    between = (0.5 * (lower + upper)).astype(np.float32).astype(np.float64)
    # rounding may reach the value above, which must stay to the right, or overflow
    usable = (lower <= between) & (between < upper) & np.isfinite(between)
    edges: FloatArray = np.unique(between[usable])
    return edges
