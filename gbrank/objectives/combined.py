"""Several losses on several labels at once: relevance and revenue, grades and clicks.

Every loss sees its own column of a matrix of labels. At each tree the gradients of the others are
put on the scale of the first's::

    g = w_1 g_1 + sum_k w_k c_k g_k,    c_k = sum |g_1| / sum |g_k|    over all rows

and hessians likewise, with the same factors: weights then say how much each loss counts, whatever
its own scale is. A loss of weight 0 is left out, so that weights (1, 0) are the first loss alone,
to the bit.

A floor, ``at_least``, asks for a value of a metric of one column on the training queries, instead
of a weight that one would have to search for. The weight of that column grows while the metric is
below its floor and shrinks, down to the weight given, while it is above: dual ascent on a
constraint, as an augmented Lagrangian does it with losses.

References: Carmel, Haramaty, Lazerson, Lewin-Eytan, Multi-objective ranking optimization for
product search using stochastic label aggregation, WWW 2020; Momma, Bagheri Garakani, Ma, Sun,
Multi-objective ranking via constrained optimization, WWW 2020 companion (the constraints).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    Float32Array,
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    check_integer,
    check_labels,
    check_number,
    check_scores,
    one_column,
)
from gbrank.metrics import Judgments, get_metric, measure_all
from gbrank.objectives._registry import get_objective, register_objective
from gbrank.objectives._training import Training
from gbrank.objectives._wrapped import WrappedObjective
from gbrank.objectives.base import Objective

#: By how much a weight grows in a tree for each unit that its metric is below the floor, relative
#: to the sum of all weights.
_ASCENT = 1.0


def _first_block(first, last, bounds, scores, step, iteration, scratch, grad, hess):
    step(first, last, bounds, scores, iteration, scratch, grad, hess)


class Combined(WrappedObjective):
    """A weighted sum of losses, each on its own column of a matrix of labels.

    ``Ranker.fit(X, Y)`` takes the matrix as ``Y``, of shape (n_rows, n_labels). With ``lgb.train``
    give it as ``labels``, in the order of the rows of the Dataset, whose own label is the column of
    the first loss; ``LGBMRanker`` takes no arrays among its parameters. Metrics are computed on the
    column of the first loss.

    Parameters
    ----------
    parts : list of (objective, column, weight), default=(("xendcg", 0, 1.0),)
        The losses, by name or as instances; the column of labels that each sees; and how much it
        counts, at least 0. The first gives the scale and must have a weight above 0.
    at_least : dict, default=None
        Floors: ``{column: ("ndcg@10", 0.7)}`` raises the weight of the loss on that column as long
        as the metric of the training queries is below the value. Not of the first loss's column.
    labels : array of shape (n_rows, n_labels), default=None
        The labels of all columns, where training cannot hand them over; training data, not a
        setting, so that it is not saved.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank import Combined, LambdaMART, Ranker, XENDCG
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=40, random_state=0)
    >>> revenue = np.random.default_rng(0).random(len(data.y)) * data.y
    >>> both = Combined([(XENDCG(), 0, 0.7), (LambdaMART(gain="linear"), 1, 0.3)])
    >>> Y = np.column_stack([data.y, revenue])
    >>> ranker = Ranker(both, n_estimators=10).fit(data.X, Y, qid=data.qid)
    >>> ranker.predict(data.X).shape == data.y.shape
    True
    """

    formula = "`sum_k w_k c_k loss_k`, each on its own label, `c_k` puts gradients on one scale"
    consistent_with = "as its losses, where they agree"
    cost = "that of its losses"
    when = "several labels at once: relevance and revenue"

    wraps: ClassVar[str] = "parts"
    kernel = staticmethod(_first_block)

    def __init__(
        self,
        parts: Sequence[tuple[str | Objective, int, float]] = (("xendcg", 0, 1.0),),
        at_least: Mapping[int, tuple[str, float]] | None = None,
        labels: ArrayLike | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.parts = parts
        self.at_least = at_least
        self.labels = labels
        self.n_jobs = n_jobs
        self.check_params()

    # --- parameters ----------------------------------------------------------------------------

    def check_params(self) -> None:
        parts = list(self.parts) if isinstance(self.parts, list | tuple) else []
        if not parts or not all(isinstance(p, list | tuple) and len(p) == 3 for p in parts):
            raise ValueError(
                "parts must be a list of (objective, column, weight), with at least one entry, got "
                f"{self.parts!r}"
            )
        for number, (objective, column, weight) in enumerate(parts):
            inner = get_objective(objective)
            if isinstance(inner, Combined):
                raise ValueError(f"parts[{number}] must be a single loss, got {inner!r}")
            if inner.needs_observations or inner.needs_position:
                raise ValueError(f"parts[{number}] must learn from labels alone, got {inner!r}")
            inner.check_params()
            check_integer(f"the column of parts[{number}]", column, low=0)
            check_number(f"the weight of parts[{number}]", weight, low=0.0)
        if parts[0][2] <= 0:
            raise ValueError(f"the weight of parts[0] must be above 0, got {parts[0][2]!r}")
        for column, floor in (self.at_least or {}).items():
            if column not in self._columns()[1:] or column == self.first_column:
                raise ValueError(
                    "at_least must name columns of the parts after the first, "
                    f"{sorted(set(self._columns()[1:]) - {self.first_column})}, got {column!r}"
                )
            if not (isinstance(floor, list | tuple) and len(floor) == 2):
                raise ValueError(f"at_least[{column}] must be (metric, value), got {floor!r}")
            get_metric(floor[0])
            check_number(f"the value of at_least[{column}]", floor[1])

    def _columns(self) -> list[int]:
        return [int(column) for _, column, _ in self.parts]

    @property
    def first_column(self) -> int:
        """The column of labels that the first loss sees, and metrics are computed on."""
        return self._columns()[0]

    @property
    def uses_random_numbers(self) -> bool:  # type: ignore[override]
        """Whether one of the losses draws random numbers."""
        return any(get_objective(each).uses_random_numbers for each, _, _ in self.parts)

    @property
    def inner(self) -> Objective:
        """The first loss."""
        return get_objective(self.parts[0][0])

    @property
    def has_loss(self) -> bool:  # type: ignore[override]
        """Whether it is a single loss: a sum on a scale that changes is the gradient of none."""
        return len(self.parts) == 1 and self.inner.has_loss

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether all losses are."""
        return all(get_objective(each).shift_invariant for each, _, _ in self.parts)

    def lightgbm_names(self) -> set[str]:
        return set().union(*(get_objective(each).lightgbm_names() for each, _, _ in self.parts))

    def fill_in(self, said: Mapping[str, Any]) -> None:
        self._change_parts(lambda inner: inner.fill_in(said))

    def shift_seed(self, by: int) -> None:
        self._change_parts(lambda inner: inner.shift_seed(by))

    def _change_parts(self, change: Callable[[Objective], None]) -> None:
        changed = []
        for objective, column, weight in self.parts:
            inner = copy.deepcopy(get_objective(objective))
            change(inner)
            changed.append((inner, column, weight))
        self.parts = changed

    def plain_gradient(self) -> Combined:
        plain = self.__deepcopy__({})
        plain.parts = [(get_objective(one).plain_gradient(), c, w) for one, c, w in self.parts]
        return plain

    # --- labels --------------------------------------------------------------------------------

    def with_labels(self, labels: ArrayLike | None) -> Self:
        """Return a copy that has these labels.

        Parameters
        ----------
        labels : matrix of all columns, in the order of the rows that it will be trained on.
        """
        twin = self.__deepcopy__({})
        twin.labels = labels
        return twin

    def check_matrix(self, labels: ArrayLike) -> FloatArray:
        """Return a matrix of labels, checked: its columns are there, numbers, finite and >= 0.

        Parameters
        ----------
        labels : array of shape (n_rows, n_labels).
        """
        try:
            matrix = np.asarray(labels, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("labels of Combined must be numbers") from None
        needed = max(self._columns()) + 1
        if matrix.ndim != 2 or matrix.shape[1] < needed:
            raise ValueError(
                f"Combined needs a matrix of labels with at least {needed} columns, one for each "
                f"label, got an array of shape {matrix.shape}"
            )
        return matrix

    def _columns_for(self, labels: ArrayLike) -> Callable[[int], ArrayLike]:
        """Return what gives the labels of a column; a single loss's own checks see what came."""
        if self.labels is None and set(self._columns()) == {0}:
            return lambda _: labels
        matrix = self._matrix_for(labels)
        return lambda column: matrix[:, column]

    def _matrix_for(self, labels: ArrayLike) -> FloatArray:
        if _n_dimensions(labels) == 2:
            return self.check_matrix(labels)
        given = np.asarray(one_column(labels), dtype=np.float64)
        if self.labels is None:
            raise ValueError(
                "Combined has no matrix of labels: use Ranker.fit(X, Y) with Y of shape (rows, "
                "labels), or Combined(..., labels=Y) in lgb.train"
            )
        matrix = self.check_matrix(self.labels)
        if len(matrix) != len(given):
            raise ValueError(
                f"Combined(labels=) must have a row for each of the {len(given)} training rows, "
                f"got {len(matrix)}"
            )
        # LightGBM keeps labels in single precision
        differs = matrix[:, self.first_column].astype(np.float32) != given.astype(np.float32)
        if differs.any():
            row = int(np.argmax(differs))
            raise ValueError(
                f"column {self.first_column} of Combined(labels=) must be the label of the "
                f"training data, but row {row} has {matrix[row, self.first_column]:g} and "
                f"{given[row]:g}: are the rows in another order?"
            )
        return matrix

    # --- training ------------------------------------------------------------------------------

    def bind(
        self,
        labels: ArrayLike,
        group: ArrayLike | None,
        weight: ArrayLike | None = None,
        *,
        position: ArrayLike | None = None,
        iteration: int = 0,
        n_jobs: int | None = None,
    ) -> Training:
        self.check_params()
        if position is not None:
            raise ValueError("Combined cannot learn from positions")
        column_of = self._columns_for(labels)
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        trainings = [
            get_objective(objective).bind(
                column_of(column), group, weight, iteration=iteration, n_jobs=n_jobs
            )
            for objective, column, _ in self.parts
        ]
        weights = [float(weight) for _, _, weight in self.parts]
        layout = trainings[0].layout
        floors = []
        for column, (metric, value) in (self.at_least or {}).items():
            judgments = Judgments(check_labels(column_of(column), layout), layout)
            floors.append(
                (self._columns().index(column), get_metric(metric).bind(judgments), value)
            )
        return _CombinedTraining(trainings, weights, floors)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        if len(self.parts) > 1:
            raise TypeError(
                "Combined of several losses cannot be part of another objective: what puts them on "
                "one scale is a sum over all rows"
            )
        return (self.inner.make_step(labels, layout),)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        return self.inner.query_loss(labels, scores, query=query, iteration=iteration)


class _CombinedTraining(Training):
    """The losses, each bound to its own labels, and their weights as training goes on."""

    def __init__(
        self,
        trainings: Sequence[Training],
        weights: Sequence[float],
        floors: Sequence[tuple[int, Any, float]],
    ) -> None:
        self.layout, self._trainings, self._floors = trainings[0].layout, trainings, floors
        self._least, self.weights = list(weights), list(weights)

    @property
    def iteration(self) -> int:  # type: ignore[override]
        """The boosting iteration that comes next."""
        return self._trainings[0].iteration

    @iteration.setter
    def iteration(self, number: int) -> None:
        for each in self._trainings:
            each.iteration = number

    def grad_hess(self, scores: ArrayLike) -> tuple[Float32Array, Float32Array]:
        checked = check_scores(scores, self.layout)
        return self._sum([each.grad_hess(checked) if w else None for each, w in self._counted()])

    def advance(self, scores: FloatArray) -> tuple[Float32Array, Float32Array]:
        self._follow_floors(scores)
        found = self._sum([each.advance(scores) if w else None for each, w in self._counted()])
        for each in self._trainings:
            each.iteration = self.iteration
        return found

    def _counted(self) -> list[tuple[Training, float]]:
        return list(zip(self._trainings, self.weights, strict=True))

    def _sum(
        self, gradients: Sequence[tuple[Float32Array, Float32Array] | None]
    ) -> tuple[Float32Array, Float32Array]:
        assert gradients[0] is not None  # the first has a weight
        grad, hess = gradients[0]
        size, first = _size(grad), self.weights[0]
        if first != 1.0 or any(self.weights[1:]):
            grad, hess = grad * np.float32(first), hess * np.float32(first)
        for each, weight in zip(gradients[1:], self.weights[1:], strict=True):
            if each is None or not (other := _size(each[0])):
                continue
            factor = np.float32(weight * size / other) if size else np.float32(weight)
            grad += factor * each[0]
            hess += factor * each[1]
        return grad, hess

    def _follow_floors(self, scores: FloatArray) -> None:
        for part, metric, floor in self._floors:
            values = measure_all([metric], scores, 1)[0]
            below = floor - float(np.nanmean(values))
            raised = self.weights[part] + _ASCENT * sum(self._least) * below
            self.weights[part] = max(self._least[part], raised)


def _size(values: Float32Array) -> float:
    return float(np.abs(values).sum(dtype=np.float64))


register_objective("combined", Combined)


# --- labels of several columns, for whoever trains -----------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class _RowsOfManyLabels(RankingData):
    """Rows with a matrix of labels beside those that metrics are computed on."""

    labels: Any = None


def _n_dimensions(labels: Any) -> int:
    try:
        return np.asarray(labels).ndim
    except ValueError:  # lists of different lengths, which others say more about
        return 0


def split_labels(objective: Any, y: Any) -> tuple[Any, FloatArray | None]:
    """Return the labels of the first loss and the matrix of all; ``y`` itself if it is no matrix.

    Parameters
    ----------
    objective : what is trained; a matrix of labels is an error for all but :class:`Combined`.
    y : labels.
    """
    if _n_dimensions(y) != 2 or np.asarray(y).shape[1] == 1:
        return y, None
    if not isinstance(objective, Combined):
        raise ValueError(
            f"y must be one-dimensional, got an array of shape {np.asarray(y).shape}: for several "
            "labels at once use objective=Combined([(loss, column, weight), ...])"
        )
    matrix = objective.check_matrix(y)
    return matrix[:, objective.first_column], matrix


def with_label_matrix(data: RankingData, labels: FloatArray) -> RankingData:
    """Return the same rows with a matrix of labels, which goes with them.

    Parameters
    ----------
    data : rows, labelled by the first loss's column.
    labels : matrix, in the order of the rows.
    """
    known = {each.name: getattr(data, each.name) for each in fields(data)}
    rows = _RowsOfManyLabels(**known, labels=labels)
    rows.__dict__["layout"] = data.layout
    return rows


def with_labels_of(
    objective: Objective, data: RankingData, parts: Sequence[IntArray | None]
) -> list[Objective]:
    """Return a copy of the objective for each part of the data, with the labels of its rows.

    Where there is no matrix of labels it is the objective itself each time.

    Parameters
    ----------
    objective : what is trained.
    data : rows; LightGBM will see them in the order of queries.
    parts : numbers of queries, increasing; ``None`` for all.
    """
    if not (isinstance(data, _RowsOfManyLabels) and isinstance(objective, Combined)):
        return [objective] * len(parts)
    labels, sizes = data.layout.sort(data.labels), data.layout.sizes
    query = np.repeat(np.arange(len(sizes)), sizes)
    return [
        objective.with_labels(labels if part is None else labels[np.isin(query, part)])
        for part in parts
    ]
