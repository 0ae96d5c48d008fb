"""A score that is a sum of step functions, one a feature: what trees can be, and can be added."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gbrank.core import FloatArray, IntArray, is_table, numeric_matrix, take_rows
from gbrank.linear.steps import FeatureSteps

#: Rows of a table that are made numbers at a time.
_CHUNK = 100_000


@dataclass(frozen=True)
class StepSum:
    """Step functions of some features.

    Attributes
    ----------
    steps : of every feature, where it is cut.
    values : by number of feature, what each bin adds to the score; the last bin is "missing". A
        feature that is not there adds nothing.
    """

    steps: Sequence[FeatureSteps | None]
    values: Mapping[int, FloatArray]

    def times(self, factor: float) -> "StepSum":
        """Return it with all scores multiplied."""
        return StepSum(self.steps, {at: factor * each for at, each in self.values.items()})

    def plus(self, other: "StepSum") -> "StepSum":
        """Return the sum with another one that has the same cuts."""
        total = dict(self.values)
        for at, each in other.values.items():
            total[at] = total[at] + each if at in total else each
        return StepSum(self.steps, dict(sorted(total.items())))

    def scores(self, X: Any) -> FloatArray:
        """Return a score for each row of features of any kind.

        Parameters
        ----------
        X : checked features; columns of a table that are not numbers count as 0.
        """
        if not is_table(X):
            return self._scores(numeric_matrix(X))
        starts = range(0, max(len(X), 1), _CHUNK)  # there is no whole copy of a table
        chunks = [np.arange(at, min(at + _CHUNK, len(X))) for at in starts]
        return np.concatenate([self._scores(numeric_matrix(take_rows(X, rows))) for rows in chunks])

    def _scores(self, X: Any) -> FloatArray:
        scores = np.zeros(X.shape[0])
        for feature, values in self.values.items():
            column = X[:, [feature]].toarray().ravel() if issparse(X) else X[:, feature]
            bins = self._steps_of(feature).bins(np.ascontiguousarray(column, dtype=np.float64))
            scores += values[bins]
        return scores

    def rises(self) -> FloatArray:
        """Return how much higher the highest values of each feature score than the lowest."""
        found = np.zeros(len(self.steps))
        for feature, values in self.values.items():
            found[feature] = values[-2] - values[0]
        return found

    def counts(self, feature: int) -> IntArray:
        """Return how many rows fell into each bin of a feature."""
        return self._steps_of(feature).counts

    def functions(self) -> list[tuple[int, FloatArray, FloatArray, IntArray]]:
        """Return feature, edges, values and counts of each step function.

        Neighbouring bins that add the same are one.
        """
        return [self._function(feature) for feature in self.values]

    def _function(self, feature: int) -> tuple[int, FloatArray, FloatArray, IntArray]:
        steps, values = self._steps_of(feature), self.values[feature]
        kept = np.flatnonzero(np.diff(values[:-1]))
        firsts = np.concatenate(([0], kept + 1, [len(values) - 1]))
        return feature, steps.edges[kept], values[firsts], np.add.reduceat(steps.counts, firsts)

    def _steps_of(self, feature: int) -> FeatureSteps:
        steps = self.steps[feature]
        assert steps is not None  # what has values is cut
        return steps
