"""What every objective shares: the call LightGBM makes, the state of a training, threads, weights.

A subclass says what depends on labels alone (:meth:`Objective.prepare`), what one step does to a
range of queries (:meth:`Objective.step`) and what the loss of a query is
(:meth:`Objective.query_loss`). Everything else is here, once.
"""

import copy
import weakref
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    check_labels,
    check_scores,
    check_weights,
    compute_gains,
    count_rows,
    cut_queries,
    resolve_n_jobs,
    share_pieces,
)
from gbrank.objectives._reuse import ReusedArrays

Float32Array = NDArray[np.float32]

_LIGHTGBM_THREAD_NAMES = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")


_LARGEST = np.finfo(np.float32).max

#: Scratch rows are this much longer than the longest list, so that a kernel may run its loops up to
#: a multiple of this: such a loop has no scalar remainder, which for short lists is half the time.
PADDING = 32


#: Work is cut finer than there are threads, so that one which gets half a core does less of it.
PIECES_PER_THREAD = 8


class Training:
    """What one training keeps between its steps.

    Attributes
    ----------
    layout : the queries.
    prepared : what :meth:`Objective.prepare` returned.
    cuts : first query of each piece of work; threads take the next piece when they are done.
    n_threads : how many threads work.
    scratch : float64 array (threads, rows, longest list and padding), working space of each thread.
    weight : float32 weight of each row, or ``None``.
    arrays : gradient and hessian of the last step, for the next one.
    iteration : number of the next step.
    sources : the label, weight and group objects this was made from.
    """

    __slots__ = (
        "arrays",
        "cuts",
        "iteration",
        "layout",
        "n_threads",
        "prepared",
        "scratch",
        "sources",
        "weight",
    )

    def __init__(
        self,
        objective: "Objective",
        labels: ArrayLike,
        weight: ArrayLike | None,
        group: ArrayLike | None,
        n_jobs: int | None,
        iteration: int,
    ) -> None:
        objective.check_params()
        if group is None:
            raise ValueError(
                "the training data have no queries: give group= (rows per query) to the Dataset or "
                "to fit, or use gbrank.Ranker with qid="
            )
        self.layout = QueryLayout.from_group(group, count_rows(labels, "labels"))
        self.sources = (labels, weight, group)
        checked = check_labels(labels, self.layout)
        self.weight = None
        if weight is not None:
            self.weight = _as_single(check_weights(weight, self.layout), self.layout)
        self.prepared = objective.prepare(checked, self.layout)
        sizes = self.layout.sizes
        threads, cost = resolve_n_jobs(n_jobs), objective.query_cost(sizes)
        self.cuts = cut_queries(cost, threads * PIECES_PER_THREAD if threads > 1 else 1)
        self.n_threads = min(threads, len(self.cuts) - 1)
        width = int(sizes.max(initial=1)) + PADDING
        self.scratch = np.zeros((max(self.n_threads, 1), objective.scratch_rows, width))
        self.arrays = ReusedArrays()
        self.iteration = iteration


class Objective(BaseEstimator, ABC):
    """A ranking loss that LightGBM can train on, in every way that LightGBM can be called.

    One object serves ``lgb.train({"objective": obj}, ...)``, ``lgb.LGBMRanker(objective=obj)``,
    ``lgb.DaskLGBMRanker(objective=obj)`` and ``gbrank.Ranker(objective=obj)``. Constructor
    arguments are its hyper-parameters (``get_params``, ``set_params``, ``sklearn.base.clone``).

    To write a new loss, subclass this, define :meth:`prepare`, :meth:`step` and :meth:`query_loss`,
    and pass an instance to :func:`gbrank.testing.check_objective`.
    """

    #: Whether the gradients are those of a loss that :meth:`loss` returns.
    has_loss: ClassVar[bool] = True
    #: Whether the hessian is the exact diagonal of the Hessian of :meth:`loss`.
    exact_hessian: ClassVar[bool] = False
    #: Whether adding a constant to all scores of a query leaves the loss as it is.
    shift_invariant: ClassVar[bool] = True
    #: Whether it learns from observations of :mod:`gbrank.preferences`, its parameter
    #: ``observations``, and cannot be trained without.
    needs_observations: ClassVar[bool] = False
    #: Whether a step draws random numbers.
    uses_random_numbers: bool = False
    #: How many float64 rows, each at least :data:`PADDING` longer than the longest list, a thread
    #: needs as working space.
    scratch_rows: ClassVar[int] = 0

    n_jobs: int | None = None

    # --- what a subclass defines ---------------------------------------------------------------

    def check_params(self) -> None:
        """Raise a ``ValueError`` that names the parameter, the allowed values and the one given."""

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        """Refuse labels that this objective cannot take; they are known to be finite and >= 0.

        By default those whose ``gain`` is not finite, where the objective has that parameter. For
        callers that want the error before they do anything else; :meth:`prepare` raises it too.
        """
        gain = getattr(self, "gain", None)
        if gain is not None:
            compute_gains(labels, gain, layout)

    @abstractmethod
    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        """Return what depends on the labels alone; computed once per training."""

    @abstractmethod
    def step(
        self,
        first: int,
        last: int,
        bounds: IntArray,
        scores: FloatArray,
        prepared: tuple[Any, ...],
        iteration: int,
        scratch: FloatArray,
        grad: Float32Array,
        hess: Float32Array,
    ) -> None:
        """Write gradient and hessian of all rows of queries ``first`` to ``last`` (exclusive).

        Called on several threads at once, each with its own queries and its own ``scratch``.
        ``grad`` and ``hess`` come uninitialised, or with the numbers of an earlier step.
        """

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        """Return the loss of one query, written in plain NumPy as the formula reads."""
        raise NotImplementedError(f"{type(self).__name__} has no loss, only gradients")

    def query_cost(self, sizes: IntArray) -> IntArray:
        """Return the relative cost of a step for queries of these sizes; one document costs 1."""
        return sizes

    def plain_gradient(self) -> "Objective":
        """Return the same loss with its plain gradient as numerator, which differences can check.

        Objectives whose numerator carries off-diagonal hessian return a copy without it.
        """
        return self

    # --- what a user calls ---------------------------------------------------------------------

    def grad_hess(
        self,
        labels: ArrayLike,
        scores: ArrayLike,
        group: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        iteration: int = 0,
    ) -> tuple[Float32Array, Float32Array]:
        """Return gradient and hessian, one float32 per row: exactly what LightGBM receives.

        Parameters
        ----------
        labels : relevance of each row, finite and >= 0.
        scores : current score of each row.
        group : number of rows of each query; rows of a query are consecutive.
        weight : weight of each row, multiplied into gradient and hessian.
        iteration : boosting iteration, which random numbers depend on.
        """
        training = Training(self, labels, weight, group, self.n_jobs, iteration)
        return self._advance(training, check_scores(scores, training.layout))

    def loss(
        self, labels: ArrayLike, scores: ArrayLike, group: ArrayLike, *, iteration: int = 0
    ) -> FloatArray:
        """Return the loss of every query as float64, before weights."""
        self.check_params()
        layout = QueryLayout.from_group(group, count_rows(labels, "labels"))
        checked_labels, checked_scores = check_labels(labels, layout), check_scores(scores, layout)
        self.check_labels(checked_labels, layout)
        losses = np.zeros(layout.n_queries)
        for query in np.flatnonzero(layout.sizes).tolist():  # without documents there is no loss
            rows = slice(layout.bounds[query], layout.bounds[query + 1])
            losses[query] = self.query_loss(
                checked_labels[rows], checked_scores[rows], query=query, iteration=iteration
            )
        return losses

    def __call__(
        self, a: Any, b: Any, weight: Any = None, group: Any = None
    ) -> tuple[Float32Array, Float32Array]:
        """Serve LightGBM: ``f(scores, dataset)`` or ``f(labels, scores, weight, group)``.

        LightGBM's scikit-learn wrapper counts parameters and fills all four; ``lgb.train`` passes
        two, the second of which is the ``Dataset``.
        """
        n_jobs = self.n_jobs
        if isinstance(b, lgb.Dataset):
            scores, labels, weight, group = a, b.get_label(), b.get_weight(), b.get_group()
            dataset = b
        else:
            labels, scores = a, b
            dataset = None
        training = self._find_training(scores)
        if training is None or not _same_objects(training.sources, (labels, weight, group)):
            iteration = training.iteration if training is not None else 0
            if dataset is not None:
                _refuse_bagging_by_query(dataset)
                n_jobs = n_jobs if n_jobs is not None else _lightgbm_threads(dataset)
                iteration = iteration if training is not None else _resumed_iteration(dataset)
            training = Training(self, labels, weight, group, n_jobs, iteration)
            check_scores(scores, training.layout)
            self._keep_training(scores, training)
        gradients = self._advance(training, scores)
        training.iteration += 1
        return gradients

    def _advance(self, training: Training, scores: FloatArray) -> tuple[Float32Array, Float32Array]:
        grad, hess = training.arrays.take(training.layout.n_rows)
        bounds, prepared = training.layout.bounds, training.prepared
        scratch, iteration = training.scratch, training.iteration

        cuts = training.cuts

        def work(thread: int, piece: int) -> None:
            first, last = cuts[piece], cuts[piece + 1]
            self.step(first, last, bounds, scores, prepared, iteration, scratch[thread], grad, hess)

        share_pieces(work, len(cuts) - 1, training.n_threads)
        if training.weight is not None:
            _weigh(grad, training.weight)
            _weigh(hess, training.weight)
        training.arrays.keep(grad, hess)
        return grad, hess

    # --- the state of trainings under way ------------------------------------------------------
    # LightGBM hands over one scores buffer per booster, the same object at every call. The buffer
    # is therefore what identifies a training, held by weak reference: its id alone may be reused.

    def _find_training(self, scores: Any) -> Training | None:
        reference, training = self._trainings().get(id(scores), (None, None))
        return training if reference is not None and reference() is scores else None

    def _keep_training(self, scores: Any, training: Training) -> None:
        trainings, key = self._trainings(), id(scores)
        # The callback runs before the buffer's memory, and so its id, can be used again.
        reference = weakref.ref(scores, lambda _: trainings.pop(key, None))
        trainings[key] = (reference, training)

    def _trainings(self) -> dict[int, tuple[Any, Training]]:
        state: dict[int, tuple[Any, Training]] = self.__dict__.setdefault("_live", {})
        return state

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_live"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # LightGBM copies its parameters several times per training. Parameters are not changed in
        # place, so large ones (tables, observations) are shared; nested objectives hold state.
        twin = type(self).__new__(type(self))
        twin.__dict__.update(
            {
                name: copy.deepcopy(value, memo) if isinstance(value, Objective) else value
                for name, value in self.__getstate__().items()
            }
        )
        return twin


def _as_single(weight: FloatArray, layout: QueryLayout) -> Float32Array:
    """Return weights in single precision, as LightGBM keeps them; refuse those beyond it."""
    beyond = weight > _LARGEST
    if beyond.any():
        row = int(np.argmax(beyond))
        raise ValueError(
            f"weights must be at most {_LARGEST:g}, the largest number of single precision, but "
            f"{layout.describe_row(row)} has {weight[row]:g}"
        )
    return weight.astype(np.float32)


def _weigh(values: Float32Array, weight: Float32Array) -> None:
    """Multiply in place; a product beyond single precision becomes its largest number."""
    with np.errstate(over="ignore"):
        values *= weight
        ordinary = np.isfinite(np.dot(values, values))  # one quick pass
    if not ordinary:
        np.clip(values, -_LARGEST, _LARGEST, out=values)


def _same_objects(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    return all(x is y for x, y in zip(before, now, strict=True))


def _lightgbm_threads(dataset: lgb.Dataset) -> int | None:
    """Return LightGBM's ``num_threads`` where the Dataset knows it; 0 and below mean default."""
    for name in _LIGHTGBM_THREAD_NAMES:
        threads = (dataset.params or {}).get(name)
        if threads is not None:
            return int(threads) if int(threads) > 0 else None
    return None


def _refuse_bagging_by_query(dataset: lgb.Dataset) -> None:
    chosen = (dataset.params or {}).get("bagging_by_query", False)
    if str(chosen).lower() in ("true", "1", "+"):
        raise ValueError(
            "bagging_by_query=True is not supported: with a custom objective LightGBM then pairs "
            "gradients with the wrong rows. Remove it from the parameters"
        )


def _resumed_iteration(dataset: lgb.Dataset) -> int:
    """Return how many trees ``init_model`` brought; ``_predictor`` is private, so with a guard."""
    predictor = getattr(dataset, "_predictor", None)
    current_iteration = getattr(predictor, "current_iteration", None)
    return int(current_iteration()) if callable(current_iteration) else 0
