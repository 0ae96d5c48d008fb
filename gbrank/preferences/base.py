"""What comparisons, selections and partial orders share: they never change, and can be cut."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import FloatArray, IntArray, QueryLayout, one_dimensional
from gbrank.preferences._ids import Ids, check_count, read_ids, read_integers, read_weight
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.summary import Summary, summarize


class Observations:
    """What the three kinds of observations share: they never change, so nobody copies them.

    ``copy``, ``deepcopy`` and ``sklearn.base.clone`` return the object itself, so that an objective
    that LightGBM copies shares its observations. Two objects are equal only if they are the same.
    """

    items: str
    weight: FloatArray | None
    _qid: Ids | None
    _count: int

    def _fill(self, **attributes: Any) -> None:
        for value in attributes.values():
            for array in (value.codes, value.distinct) if isinstance(value, Ids) else (value,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
        self.__dict__.update(attributes)

    def _fill_common(self, qid: Any, count: int, weight: Any, items: str) -> None:
        ids = None if qid is None else read_ids(qid, "qid")
        if ids is None and items != "row":
            raise ValueError(f'qid must be given with items="{items}": one query id an observation')
        if ids is not None:
            check_count(len(ids.codes), count, "qid")
        self._fill(items=items, weight=read_weight(weight, count), _qid=ids, _count=count)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed; make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed; make a new one")

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: (value.codes, value.distinct) if isinstance(value, Ids) else value
            for name, value in self.__dict__.items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._fill(
            **{
                name: Ids(*value) if isinstance(value, tuple) else value
                for name, value in state.items()
            }
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        queries = "" if self._qid is None else f", queries={len(self._qid.distinct)}"
        return f"{type(self).__name__}(n={self._count}{queries})"

    def bind(
        self, layout: QueryLayout | None, qid: Any = None, keys: Any = None
    ) -> BoundObservations:
        """Check the observations against rows and return them in the form that kernels read.

        Parameters
        ----------
        layout : the queries of the rows; ``None`` to make it from ``qid``.
        qid : query id of each row, in the user's order; needed only where the layout does not know
            ids because it was made from group sizes. Without either, ids are query numbers from 0.
        keys : key of each row, in the user's order; needed with ``items="key"``. Keys must be
            unique within a query.
        """
        raise NotImplementedError

    def summary(
        self, layout: QueryLayout | None = None, *, qid: Any = None, keys: Any = None
    ) -> Summary:
        """Return figures of the observations: see :func:`gbrank.preferences.summarize`."""
        return summarize(self, layout, qid=qid, keys=keys)

    def take(self, chosen: ArrayLike) -> Self:
        """Return some of the observations: their numbers, or a mask of one bool per observation.

        >>> from gbrank.preferences import Comparisons
        >>> Comparisons(["a", "b", "b"], [0, 2, 3], [1, 3, 2]).take([1, 2])
        Comparisons(n=2, queries=1)
        """
        numbers = _read_chosen(chosen, self._count, "chosen")
        state = dict(self.__dict__)
        entries = numbers
        if "_bounds" in state:
            lengths = np.diff(state["_bounds"])[numbers]
            bounds = np.zeros(len(numbers) + 1, dtype=np.int64)
            np.cumsum(lengths, out=bounds[1:])
            moved = np.repeat(state["_bounds"][:-1][numbers] - bounds[:-1], lengths)
            entries = np.arange(bounds[-1]) + moved
            state["_bounds"] = bounds
        for name, value in state.items():
            if name in ("_winner", "_loser", "_shown", "_edge_weight") and value is not None:
                state[name] = value[entries]
            elif name in ("weight", "_qid", "_clicked") and value is not None:
                state[name] = value[numbers]
        state["_count"] = len(numbers)
        part = type(self).__new__(type(self))
        part._fill(**state)
        return part

    def for_queries(self, qid: Any) -> Self:
        """Return the observations of some queries, given by their ids, each once or more often.

        >>> from gbrank.preferences import Comparisons
        >>> Comparisons(["a", "b", "b"], [0, 2, 3], [1, 3, 2]).for_queries(["b", "b", "c"])
        Comparisons(n=2, queries=1)
        """
        if self._qid is None:
            raise ValueError("for_queries needs the query id of each observation; use for_rows")
        return self.take(self._qid.numbered_by(read_ids(qid, "qid").distinct) >= 0)

    def for_rows(self, rows: ArrayLike) -> Self:
        """Return the observations of some rows of X, renumbered for ``X[rows]``.

        For training and test sets: ``ranker.fit(X[train], qid=qid[train],
        preferences=observations.for_rows(train))``. An observation with an item that is not among
        the rows is left out.

        Parameters
        ----------
        rows : row numbers, each once, or a mask of one bool per row.

        Examples
        --------
        >>> from gbrank.preferences import Comparisons
        >>> part = Comparisons(["a", "b", "b"], [0, 2, 3], [1, 3, 2]).for_rows([2, 3])
        >>> part.bind(None, qid=["b", "b"]).winner
        array([0, 1], dtype=int32)
        """
        if self.items != "row":
            raise ValueError(f'for_rows needs items="row", these have items="{self.items}"')
        numbers = _read_chosen(rows, None, "rows")
        state = self.__dict__
        fields = [name for name in ("_winner", "_loser", "_shown") if name in state]
        highest = max((int(state[name].max(initial=-1)) for name in fields), default=-1)
        place = np.full(max(highest, int(numbers.max(initial=-1))) + 1, -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        if (place[numbers] != np.arange(len(numbers))).any():
            raise ValueError("rows must name each row once")
        lost = np.zeros(self._count, dtype=np.bool_)
        for name in fields:
            gone = place[state[name]] < 0
            if "_bounds" in state:
                gone = np.repeat(np.arange(self._count), np.diff(state["_bounds"]))[gone]
            lost[gone] = True
        part = self.take(~lost)
        part._fill(**{name: place[part.__dict__[name]] for name in fields})
        return part


def _read_chosen(chosen: ArrayLike, count: int | None, name: str) -> IntArray:
    """Return numbers or a mask as numbers."""
    array: NDArray[Any] = one_dimensional(chosen, name)
    if array.dtype == np.bool_:
        if count is not None:
            check_count(len(array), count, name)
        return np.flatnonzero(array)
    numbers = read_integers(array, name)
    if count is not None and (numbers >= count).any():
        raise ValueError(f"{name} must be below {count}, got {int(numbers.max())}")
    return numbers
