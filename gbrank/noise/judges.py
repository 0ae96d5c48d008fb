"""Labels by several judges: one fractional label an item, and how far each judge can be trusted.

Dawid and Skene's model: items have a true grade, and each judge a confusion matrix. EM goes back
and forth between the probabilities of true grades and the matrices. A judge weighs by what the
labels of that judge say about the truth, so that agreement counts and carelessness does not.

Reference: Dawid, Skene, Maximum likelihood estimation of observer error-rates using the EM
algorithm, Applied Statistics 1979.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    as_numbers,
    check_integer,
    column_names,
    is_table,
    take_column,
)

#: Judgments that a judge is given in advance, spread over the matrix with most on its diagonal.
_PRIOR = 1.0
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class JudgedLabels:
    """One label for each item that judges looked at.

    Attributes
    ----------
    query, item : arrays of shape (n_items,)
        Which item it is, in the order of first appearance.
    label : ndarray of shape (n_items,)
        Fractional label: the expected grade.
    probabilities : ndarray of shape (n_items, n_grades)
        Probability of each true grade.
    n_judgments : ndarray of shape (n_items,)
        How many judges looked at it.
    judges : list
        Names of the judges, the most reliable first.
    reliability : ndarray of shape (n_judges,)
        Probability that a label of each of them is the true grade, in that order.
    judged : ndarray of shape (n_judges,)
        How many labels each gave.
    matrices : ndarray of shape (n_judges, n_grades, n_grades)
        ``[l, u]``: probability of label ``l`` given the true grade ``u``, in that order.
    matrix : ndarray of shape (n_grades, n_grades)
        The same for one label of all judges taken together, for ``Ranker(noise=...)`` on labels of
        single judges.
    """

    query: Any
    item: Any
    label: FloatArray
    probabilities: FloatArray
    n_judgments: IntArray
    judges: list[Any]
    reliability: FloatArray
    judged: IntArray
    matrices: FloatArray
    matrix: FloatArray

    def to_frame(self) -> Any:
        """Return query, item, label and number of judgments as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(
            {
                "query": self.query,
                "item": self.item,
                "label": self.label,
                "n_judgments": self.n_judgments,
            }
        )

    def __str__(self) -> str:
        lines = [
            f"{len(self.label)} items, {int(self.judged.sum())} judgments; judges, best first:"
        ]
        lines += [
            f"  {name}: right in {reliability:.0%} of {count} labels"
            for name, reliability, count in zip(
                self.judges, self.reliability, self.judged, strict=True
            )
        ]
        return "\n".join(lines)


def aggregate_judges(
    query: Any,
    item: Any = "item",
    judge: Any = "judge",
    label: Any = "label",
    *,
    max_iter: int = 200,
) -> JudgedLabels:
    """Return one fractional label for each item, of labels by several judges.

    Parameters
    ----------
    query : frame, or array of shape (n_judgments,)
        A long frame, a row for each label of each judge, whose columns are named by the other
        parameters ("query" is the column of queries); or the query of each judgment.
    item : str or array, default="item"
        Name of the column of items, or the item of each judgment; items of different queries are
        different items.
    judge : str or array, default="judge"
        Likewise, who judged.
    label : str or array, default="label"
        Likewise, grades 0, 1, ...
    max_iter : int, default=200
        Most rounds of EM.

    Returns
    -------
    JudgedLabels

    Examples
    --------
    >>> from gbrank.noise import aggregate_judges
    >>> found = aggregate_judges(
    ...     ["q"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [2, 2, 0, 0, 0, 2, 1, 1, 1]
    ... )
    >>> found.label.round().tolist(), found.judges[-1]
    ([2.0, 0.0, 1.0], 'eve')
    """
    check_integer("max_iter", max_iter, low=1)
    if is_table(query):
        frame, names = query, {"query": "query", "item": item, "judge": judge, "label": label}
        for what, name in names.items():
            if name not in list(column_names(frame)):
                raise ValueError(
                    f"the frame has no column {name!r} for {what}; it has "
                    f"{list(column_names(frame))}"
                )
        query, item, judge, label = (take_column(frame, name)[0] for name in names.values())
    elif isinstance(item, str) or isinstance(judge, str) or isinstance(label, str):
        raise ValueError("item, judge and label must be arrays where query is no frame")
    grades = _grades(label)
    queries, items, judges = (QueryLayout.from_qid(each) for each in (query, item, judge))
    codes = [_codes(each) for each in (queries, items, judges)]
    for name, each in zip(("query", "item", "judge"), codes, strict=True):
        if len(each) != len(grades):
            raise ValueError(f"{name} has {len(each)} entries, label {len(grades)}")
    both = codes[0] * items.n_queries + codes[1]
    _, first, place = np.unique(both, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    of_item, rows = rank[place], first[order]
    _check_once(of_item, codes[2], judges)
    probabilities, matrices, shares = _dawid_skene(of_item, codes[2], grades, max_iter)
    right = np.einsum("jll,l->j", matrices, shares)
    ranked = np.argsort(-right, kind="stable")
    counts = np.bincount(codes[2], minlength=judges.n_queries)
    called = np.asarray(judges.query_ids)
    pooled = np.tensordot(counts / counts.sum(), matrices, 1)
    return JudgedLabels(
        query=np.asarray(queries.query_ids)[codes[0][rows]],
        item=np.asarray(items.query_ids)[codes[1][rows]],
        label=probabilities @ np.arange(probabilities.shape[1], dtype=np.float64),
        probabilities=probabilities,
        n_judgments=np.bincount(of_item),
        judges=called[ranked].tolist(),
        reliability=right[ranked],
        judged=counts[ranked],
        matrices=matrices[ranked],
        matrix=pooled,
    )


def _codes(layout: QueryLayout) -> IntArray:
    codes: IntArray = layout.unsort(np.repeat(np.arange(layout.n_queries), layout.sizes))
    return codes


def _grades(label: ArrayLike) -> IntArray:
    values = as_numbers(label, "label")
    wrong = ~((values >= 0) & (values == np.floor(values)) & (values <= 30))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"label must be grades 0, 1, ... up to 30, but row {at} has {values[at]:g}"
        )
    if len(values) == 0:
        raise ValueError("there are no judgments")
    return values.astype(np.int64)


def _check_once(item: IntArray, judge: IntArray, judges: QueryLayout) -> None:
    both = item * judges.n_queries + judge
    _, first, counts = np.unique(both, return_index=True, return_counts=True)
    if (counts > 1).any():
        at = int(first[np.argmax(counts > 1)])
        raise ValueError(
            f"a judge judges an item once, but the judge and the item of row {at} come "
            f"{int(counts.max())} times"
        )


def _dawid_skene(
    item: IntArray, judge: IntArray, grade: IntArray, max_iter: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return probabilities of true grades, a matrix for each judge, and shares of true grades."""
    n_items, n_judges, n_grades = int(item.max()) + 1, int(judge.max()) + 1, int(grade.max()) + 1
    prior = np.full((n_grades, n_grades), 0.3 / n_grades) + 0.7 * np.eye(n_grades)
    votes = np.zeros((n_items, n_grades))
    np.add.at(votes, (item, grade), 1.0)
    truth: FloatArray = votes / votes.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        matrices = np.tile(_PRIOR * prior, (n_judges, 1, 1))
        np.add.at(matrices, (judge, grade), truth[item])
        matrices /= matrices.sum(axis=1, keepdims=True)
        shares = (truth.sum(axis=0) + 0.1) / (n_items + 0.1 * n_grades)
        logs = np.tile(np.log(shares), (n_items, 1))
        np.add.at(logs, item, np.log(matrices[judge, grade]))
        updated = np.exp(logs - logs.max(axis=1, keepdims=True))
        updated /= updated.sum(axis=1, keepdims=True)
        moved = float(np.abs(updated - truth).max())
        truth = updated
        if moved < _TOLERANCE:
            break
    return truth, matrices, shares
