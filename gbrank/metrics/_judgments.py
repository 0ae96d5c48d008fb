"""Labels, and what metrics derive from them alone."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import FloatArray, IntArray, QueryLayout, kernel
from gbrank.metrics._ranks import Ranking, rank_queries

#: Integer labels up to this one are grades: few, so that they can be counted and tabulated.
LARGEST_GRADE = 31


class Judgments:
    """Checked labels with their layout, as codes that stand for labels.

    What a label is worth (its gain, whether it is relevant) is a table indexed by code. Labels are
    mostly grades, small integers: a grade is its own code, tables have a few entries, and the
    labels of a query are counted instead of sorted. Other labels have a code for each document.

    Attributes
    ----------
    rows : the labels in the order in which they came.
    layout : which of them belong to which query.
    codes : the code of each document, in query order.
    n_grades : length of tables indexed by grade; 0 where labels are no grades.
    """

    def __init__(self, rows: FloatArray, layout: QueryLayout) -> None:
        self.rows = rows
        self.layout = layout
        self.n_grades = 0
        self.codes: NDArray[np.integer[Any]]
        largest = rows.max()
        if largest <= LARGEST_GRADE and rows.min() >= 0:
            grades = np.empty(len(rows), dtype=np.uint8)
            if _read_grades(rows, grades):
                self.codes = layout.sort(grades)
                self.n_grades = int(largest) + 1
                return
        self.codes = np.arange(len(rows), dtype=np.int32)

    def tabulate(
        self, function: Callable[[FloatArray, QueryLayout | None], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return ``function`` of the label of every code.

        ``function`` takes labels and, for its error messages, the layout of their rows.
        """
        if self.n_grades:
            present = np.flatnonzero(self.grade_counts.any(axis=0))
            try:
                values = function(present.astype(np.float64), None)
            except ValueError:
                function(self.rows, self.layout)  # says which row is wrong
                raise
            table = np.zeros(self.n_grades, dtype=values.dtype)
            table[present] = values
            return table
        return np.ascontiguousarray(self.layout.sort(function(self.rows, self.layout)))

    @cached_property
    def labels_of_codes(self) -> FloatArray:
        """The label of every code."""
        if self.n_grades:
            return np.arange(self.n_grades, dtype=np.float64)
        return np.ascontiguousarray(self.layout.sort(self.rows))

    @cached_property
    def grade_counts(self) -> FloatArray:
        """How many documents of each query (row) have each grade (column)."""
        n_queries, n_grades = self.layout.n_queries, self.n_grades
        cells = np.repeat(np.arange(n_queries) * n_grades, self.layout.sizes) + self.codes
        counts = np.bincount(cells, minlength=n_queries * n_grades)
        return counts.astype(np.float64).reshape(n_queries, n_grades)

    def sum_in_query(self, table: NDArray[Any]) -> FloatArray:
        """Return the sum of ``table`` over the documents of each query."""
        if self.n_grades:
            return np.asarray(self.grade_counts @ table)
        padded = np.append(table, table.dtype.type(0))
        sums = np.add.reduceat(padded, self.layout.bounds[:-1], dtype=np.float64)
        return np.where(self.layout.sizes > 0, sums, 0.0)

    @cached_property
    def by_label(self) -> Ranking:
        """The whole lists in the best order; equal labels are tied."""
        layout, codes = self.layout, self.codes
        if not self.n_grades:
            labels = self.labels_of_codes
            return rank_queries(labels, layout.bounds, layout.sizes, "average", codes, labels)
        ranking = Ranking(np.empty_like(codes), np.empty(len(codes), np.bool_), layout.sizes)
        _list_grades(self.grade_counts, layout.bounds, ranking.codes, ranking.tied)
        return ranking

    def by_query_and_code(self, dtype: type[Any]) -> tuple[NDArray[Any], IntArray]:
        """Return an array for values that depend on query and code, and each query's place in it.

        The value of a code of query ``q`` is at ``places[q] + code``.
        """
        n_queries = self.layout.n_queries
        if self.n_grades:
            values = np.zeros(n_queries * self.n_grades, dtype=dtype)
            return values, np.arange(n_queries, dtype=np.int64) * self.n_grades
        return np.zeros(len(self.codes), dtype=dtype), np.zeros(n_queries, dtype=np.int64)


@kernel()
def _read_grades(labels, grades):
    """Convert labels to integers; return whether they all are."""
    broken = 0
    for i in range(len(labels)):
        grades[i] = np.uint8(labels[i])
        broken += 1 if np.float64(grades[i]) != labels[i] else 0
    return broken == 0


@kernel()
def _list_grades(counts, bounds, ranked, tied):
    """List the grades of each query, the largest first, from their numbers."""
    for q in range(len(bounds) - 1):
        place = bounds[q]
        for grade in range(counts.shape[1] - 1, -1, -1):
            count = np.int64(counts[q, grade])
            for i in range(place, place + count):
                ranked[i] = grade
                tied[i] = True
            place += count
            if count > 0:
                tied[place - 1] = False
