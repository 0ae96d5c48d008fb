"""The one record of rows: features, labels and what else comes by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core.frames import count_rows_of, take_rows
from gbrank.core.queries import QueryLayout
from gbrank.core.typing import FloatArray, IntArray
from gbrank.core.validation import (
    check_labels,
    check_number,
    check_positions,
    check_query_weights,
    check_random_state,
    check_scores,
    check_weights,
    one_column,
)


def describe_queries(labels: ArrayLike, layout: QueryLayout) -> str:
    """Return how many queries there are, how long, how many blank, and the share of positives.

    Parameters
    ----------
    labels : relevance of each row, in the order of the rows.
    layout : which rows belong to which query.

    Examples
    --------
    >>> from gbrank.core import QueryLayout, describe_queries
    >>> print(describe_queries([0, 2, 0, 0, 0], QueryLayout.from_group([2, 3])))
    2 queries of 2 to 3 documents, 5 in all; 1 blank (no label above 0); 20.0% of documents positive
    """
    sizes, positive = layout.sizes, layout.sort(np.asarray(labels)) > 0
    counts = np.diff(np.concatenate(([0], np.cumsum(positive)))[layout.bounds])
    blank = int((counts == 0).sum())
    return (
        f"{layout.n_queries:,} queries of {sizes.min(initial=layout.n_rows)} to "
        f"{sizes.max(initial=0)} documents, {layout.n_rows:,} in all; {blank:,} blank (no label "
        f"above 0); {positive.mean() if len(positive) else 0:.1%} of documents positive"
    )


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Rows of many queries: features, labels, queries; unpacks as ``X, y, qid``.

    Nothing is checked or copied here; :meth:`checked` does both. A subclass may add fields: they
    go with their rows, unless their metadata say ``by_row=False``.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        Features.
    y : array of shape (n_rows,)
        Relevance of each row; ``None`` where there are no labels.
    qid : array of shape (n_rows,)
        Query of each row: numbers, strings, categories. Rows of a query may lie anywhere. ``None``
        where it is not known.
    sample_weight : array of shape (n_rows,), default=None
        Weight of each row.
    init_score : array of shape (n_rows,), default=None
        Score that training starts from.
    position : array of shape (n_rows,), default=None
        Place at which the row was shown.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.data import RankingData
    >>> data = RankingData(np.arange(8.0).reshape(4, 2), [1, 0, 2, 0], ["a", "a", "b", "b"])
    >>> data
    RankingData(n_rows=4, n_queries=2, n_features=2)
    >>> data.group
    array([2, 2])
    >>> data.take([1]).X
    array([[4., 5.],
           [6., 7.]])
    """

    X: Any
    y: Any
    qid: Any
    sample_weight: Any = None
    init_score: Any = None
    position: Any = None

    @classmethod
    def checked(
        cls,
        X: Any,
        y: Any,
        qid: Any = None,
        group: Any = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        position: ArrayLike | None = None,
        *,
        signed: bool = False,
    ) -> Self:
        """Return data whose parts are checked, each once: lengths, labels, weights, scores.

        Parameters
        ----------
        X, y, qid, init_score, position : as of :class:`RankingData`.
        group : array of shape (n_queries,), default=None
            Number of rows of each query, instead of ``qid``.
        sample_weight : array, default=None
            One weight per row, or one per query: as many as there are queries, in the order in
            which these first appear.
        signed : bool, default=False
            Whether labels may be below 0.
        """
        layout = QueryLayout.from_either(qid, group, count_rows_of(X))
        data = cls(
            X,
            None if y is None else _check_y(y, layout, signed),
            qid if qid is not None else np.repeat(np.arange(layout.n_queries), layout.sizes),
            None if sample_weight is None else _row_weights(sample_weight, layout),
            None
            if init_score is None
            else check_scores(one_column(init_score, "init_score"), layout),
            None if position is None else check_positions(position, layout),
        )
        data.__dict__["layout"] = layout
        return data

    @cached_property
    def layout(self) -> QueryLayout:
        """Which rows belong to which query."""
        if self.qid is None:
            raise ValueError("these data have no queries: qid is None")
        return QueryLayout.from_qid(self.qid, self.n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows of all queries together."""
        return count_rows_of(self.X)

    @property
    def n_queries(self) -> int:
        """Number of distinct queries."""
        return self.layout.n_queries

    @property
    def group(self) -> IntArray:
        """Number of rows of each query, for LightGBM: the rows of each must be together."""
        if self.layout.order is not None:
            raise ValueError(
                "the rows of a query are not together, so that sizes do not say which they are: "
                "use qid"
            )
        return self.layout.sizes

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.qid))

    def __repr__(self) -> str:
        counts = {"n_rows": self.n_rows}
        if self.qid is not None:
            counts["n_queries"] = self.n_queries
        shape = getattr(self.X, "shape", None)
        if shape is not None and len(shape) == 2:
            counts["n_features"] = shape[1]
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in counts.items())})"

    def take(self, queries: ArrayLike) -> Self:
        """Return the data of some queries, given by their numbers from 0, in that order.

        Numbers count the queries by first appearance; ids stay what they are. The rows of a query
        are then together: ``data.take(range(data.n_queries))`` sorts by query.
        """
        chosen = self._check_queries(queries)
        sizes = self.layout.sizes[chosen]
        bounds = np.append(0, np.cumsum(sizes))
        places = np.repeat(self.layout.bounds[chosen] - bounds[:-1], sizes) + np.arange(bounds[-1])
        taken = self.take_rows(places if self.layout.order is None else self.layout.order[places])
        ids = self.layout.query_ids
        taken.__dict__["layout"] = QueryLayout(bounds, None, None if ids is None else ids[chosen])
        return taken

    def take_rows(self, rows: ArrayLike) -> Self:
        """Return these rows, in this order; queries may be cut, and rows come several times."""
        chosen = _as_places("rows", rows)
        parts = {
            part.name: take_rows(value, chosen)
            for part in fields(self)
            if part.metadata.get("by_row", True) and (value := getattr(self, part.name)) is not None
        }
        return replace(self, **parts)

    def split(
        self, fraction: float = 0.5, random_state: int | np.random.Generator | None = None
    ) -> tuple[Self, Self]:
        """Return two parts of whole queries, the first with this fraction of them.

        Queries keep their order, or are drawn if there is a ``random_state``.
        """
        check_number("fraction", fraction, low=0.0, high=1.0)
        order = np.arange(self.n_queries)
        if random_state is not None:
            order = check_random_state(random_state).permutation(self.n_queries)
        first = round(fraction * self.n_queries)
        return self.take(order[:first]), self.take(order[first:])

    def with_init_score(self, init_score: FloatArray | None) -> Self:
        """Return the same rows with other scores to start from, or none."""
        changed = replace(self, init_score=init_score)
        changed.__dict__["layout"] = self.layout
        return changed

    def _check_queries(self, queries: ArrayLike) -> IntArray:
        chosen = _as_places("queries", queries)
        wrong = (chosen < 0) | (chosen >= self.n_queries)
        if wrong.any():
            raise ValueError(
                f"queries must be numbers from 0 to {self.n_queries - 1}, "
                f"got {chosen[np.argmax(wrong)]}"
            )
        if len(np.unique(chosen)) != len(chosen):
            raise ValueError("queries must be named once each: two copies would share one qid")
        return chosen


def _as_places(name: str, places: ArrayLike) -> IntArray:
    """Return integers; a mask or fractions would name other rows than are meant."""
    values = np.asarray(places)
    if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
        raise ValueError(
            f"{name} must be one row of integers, got shape {values.shape} of {values.dtype}"
        )
    return values.astype(np.int64)


def _check_y(y: ArrayLike, layout: QueryLayout, signed: bool) -> FloatArray:
    return check_labels(one_column(y), layout, signed=signed, name="labels (y)")


def _row_weights(weight: ArrayLike, layout: QueryLayout) -> FloatArray:
    values = one_column(weight, "sample_weight")
    if values.shape == (layout.n_queries,) and layout.n_queries != layout.n_rows:
        by_query = check_query_weights(weight, layout)
        checked: FloatArray = layout.unsort(np.repeat(by_query, layout.sizes))
    else:
        checked = check_weights(weight, layout, name="weights (sample_weight)")
    if not np.any(checked):
        raise ValueError("sample weights must contain at least one non-zero number")
    return checked
