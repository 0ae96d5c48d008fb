"""What every objective shares: the call that LightGBM makes, and the state of trainings under way.

A subclass says what depends on labels alone (:meth:`Objective.prepare`), what one step does to a
range of queries (:attr:`Objective.kernel`, with :meth:`Objective.kernel_params`) and what the loss
of a query is (:meth:`Objective.query_loss`). Everything else is here, once.
"""

from __future__ import annotations

import copy
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from gbrank.core import (
    NO_BAGGING_BY_QUERY,
    DMatrixData,
    Float32Array,
    FloatArray,
    IntArray,
    QueryLayout,
    TrainingData,
    calling_training,
    check_labels,
    check_positions,
    check_scores,
    compute_gains,
    count_rows,
    is_same_array,
    read_dataset,
)
from gbrank.objectives._lightgbm_params import read_lightgbm_params
from gbrank.objectives._training import Adjustment, Step, Training, single_weights

_POSITION_HELP = "wrap it, PositionBias(...), so that a bias of each position is learned"


class Objective(BaseEstimator, ABC):
    """A ranking loss that LightGBM can train on, in every way that LightGBM can be called.

    One object serves ``lgb.train({"objective": obj}, ...)``, ``lgb.LGBMRanker(objective=obj)``,
    ``lgb.DaskLGBMRanker(objective=obj)``, ``gbrank.Ranker(objective=obj)`` and
    ``xgb.train(..., obj=obj)``. Constructor
    arguments are its hyper-parameters (``get_params``, ``set_params``, ``sklearn.base.clone``).

    To write a new loss, subclass this, define :meth:`prepare`, :attr:`kernel`,
    :meth:`kernel_params` and :meth:`query_loss`, and pass an instance to
    :func:`gbrank.testing.check_objective`.
    """

    # What the table of losses says; formulas stand between backquotes. One query has m documents
    # with labels r, scores s and rho = softmax(s); G is the gain of a label, Z(r) the best DCG.
    #: The loss of a query.
    formula: ClassVar[str] = ""
    #: The metric that its minimiser is best for, and under which condition.
    consistent_with: ClassVar[str] = ""
    #: Of a step for a query, up to a constant.
    cost: ClassVar[str] = ""
    #: What speaks for it.
    when: ClassVar[str] = ""

    #: Whether the gradients are those of a loss that :meth:`loss` returns.
    has_loss: ClassVar[bool] = True
    #: Whether the hessian is the exact diagonal of the Hessian of :meth:`loss`.
    exact_hessian: ClassVar[bool] = False
    #: Whether adding a constant to all scores of a query leaves the loss as it is.
    shift_invariant: ClassVar[bool] = True
    #: Whether it learns from observations of :mod:`gbrank.preferences`, its parameter
    #: ``observations``, and cannot be trained without.
    needs_observations: ClassVar[bool] = False
    #: Whether it learns from the position at which each row was shown, and cannot be trained
    #: without.
    needs_position: ClassVar[bool] = False
    #: Whether the order of labels within the query is all that matters of them.
    by_order: bool = False
    #: Whether a step draws random numbers.
    uses_random_numbers: bool = False
    #: Whether the gradient is affine in gains and not divided by anything made from the labels, so
    #: that gains may be negative: see :func:`gbrank.gains.corrected_gain`.
    takes_signed_gains: bool = False
    #: How many float64 rows, each at least 32 longer than the longest list, a thread needs as
    #: working space.
    scratch_rows: ClassVar[int] = 0
    #: Lists of up to this many documents belong to ``short_kernel``, where there is one, and
    #: ``kernel`` leaves them alone.
    longest_short: int = 0
    #: As ``kernel``, for short lists, which it puts side by side; ``None`` where there is none. It
    #: may return how many lists it leaves to ``kernel``, which has to know them.
    short_kernel: Callable[..., Any] | None = None

    #: Parameters that LightGBM has too: its name, and what ``None`` stands for if LightGBM was not
    #: given it either. Only those count that the constructor has.
    from_lightgbm: ClassVar[Mapping[str, tuple[str, Any]]] = {
        "gain": ("label_gain", "exp"),
        "random_state": ("objective_seed", 0),
    }

    n_jobs: int | None = None
    #: Trees that a training goes on from but no step has made: those of a model's start. The Ranker
    #: says how many.
    n_start_trees: int = 0

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make the object; ``lgb.train({"objective": XENDCG}, ...)`` is a ``TypeError``."""
        if any(read_dataset(each) is not None for each in args):
            raise TypeError(
                f"the objective must be an instance, got the class {cls.__name__}: call it, "
                f"{cls.__name__}()"
            )
        made: Self = super().__new__(cls)
        return made

    # --- what a subclass defines ---------------------------------------------------------------

    @abstractmethod
    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        """Return what depends on the labels alone; computed once per training."""

    @property
    @abstractmethod
    def kernel(self) -> Callable[..., None]:
        """The function that writes gradient and hessian of a range of queries.

        A class attribute, ``kernel = staticmethod(function)``, or a property where the function
        depends on the parameters. The arguments are always ``first, last, bounds, scores,
        *prepare(), *kernel_params(), iteration, scratch, grad, hess``: query ``q`` is rows
        ``bounds[q]`` to ``bounds[q + 1]``, and queries ``first`` to ``last`` (exclusive) are to be
        written. Called on several threads at once, each with its own queries and its own
        ``scratch``; ``grad`` and ``hess``, float32, come with any numbers in them.
        """

    def kernel_params(self) -> tuple[Any, ...]:
        """Return the hyper-parameters as the kernel takes them: numbers of a fixed type."""
        return ()

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        """Return the loss of one query, written in plain NumPy as the formula reads."""
        raise NotImplementedError(f"{type(self).__name__} has no loss, only gradients")

    # --- what a subclass may define ------------------------------------------------------------

    def check_params(self) -> None:
        """Raise a ``ValueError`` that names the parameter, the allowed values and the one given."""

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        """Raise an error for labels that this objective cannot take; they are finite and >= 0.

        By default those whose ``gain`` is not finite, where the objective has that parameter. For
        callers that want the error before they do anything else; :meth:`prepare` raises it too.
        """
        if hasattr(self, "gain"):
            compute_gains(labels, self.value_of("gain"), layout, signed=self.takes_signed_gains)

    def query_losses(
        self, labels: FloatArray, scores: FloatArray, layout: QueryLayout, iteration: int
    ) -> FloatArray:
        """Return the loss of every query, by default :meth:`query_loss` of each."""
        losses = np.zeros(layout.n_queries)
        for query in np.flatnonzero(layout.sizes).tolist():  # without documents there is no loss
            rows = slice(layout.bounds[query], layout.bounds[query + 1])
            losses[query] = self.query_loss(
                labels[rows], scores[rows], query=query, iteration=iteration
            )
        return losses

    def query_cost(self, sizes: IntArray) -> IntArray:
        """Return the relative cost of a step for queries of these sizes; one document costs 1."""
        return sizes

    def longest_short_of(self, sizes: IntArray) -> int:
        """Return up to which length lists of these sizes belong to ``short_kernel``."""
        return self.longest_short

    def plain_gradient(self) -> Objective:
        """Return the same loss with its plain gradient as numerator, which differences can check.

        Objectives whose numerator carries off-diagonal hessian return a copy without it.
        """
        return self

    def bounded(self) -> Objective:
        """Return the same loss with a hessian that bounds every step, whatever the scores.

        Objectives whose hessian may be too small for that, and which have another one, return a
        copy that takes it; :class:`gbrank.Smoothed` asks for it.
        """
        return self

    def with_weights_at(self, scores: ArrayLike) -> Objective:
        """Return the loss whose gradient is that of this one at these scores, for all scores.

        It is the same loss, but for objectives that take weights of pairs from the scores and
        leave out, in the gradient, how these change: they return a copy whose weights stay those
        of ``scores``, so that differences can check the gradient.

        Parameters
        ----------
        scores : score of each row.
        """
        return self

    # --- parameters that were not given --------------------------------------------------------

    def value_of(self, name: str) -> Any:
        """Return a parameter of :attr:`from_lightgbm`, or what its ``None`` stands for.

        Parameters
        ----------
        name : name of the parameter, here.
        """
        value = getattr(self, name)
        return self.from_lightgbm[name][1] if value is None else value

    def with_lightgbm_params(self, params: Mapping[str, Any]) -> Self:
        """Return a copy that has LightGBM's values of parameters that were not given to this one.

        ``lgb.train`` needs no such call: LightGBM's parameters are read when training begins.
        LightGBM's ``sigmoid`` and ``lambdarank_*`` are a ``ValueError`` for a loss that has no such
        thing; ``label_gain`` and seeds never are.

        Parameters
        ----------
        params : parameters of LightGBM; what is not about a loss is left alone.

        Examples
        --------
        >>> from gbrank import LambdaMART
        >>> LambdaMART(norm=False).with_lightgbm_params({"sigmoid": 2.0, "lambdarank_norm": True})
        LambdaMART(norm=False, sigmoid=2.0)
        """
        said = read_lightgbm_params(params)
        known = self.lightgbm_names() | {"label_gain", "objective_seed"}
        wrong = sorted(said.keys() - known)
        if wrong:
            raise ValueError(
                f"LightGBM's parameter {wrong[0]!r} means nothing to {type(self).__name__}: remove "
                "it, or use LambdaMART"
            )
        twin = copy.deepcopy(self)
        twin.fill_in(said)
        return twin

    def lightgbm_names(self) -> set[str]:
        """Return LightGBM's names of the parameters that it has too."""
        own = self._get_param_names()
        return {theirs for name, (theirs, _) in self.from_lightgbm.items() if name in own}

    def fill_in(self, said: Mapping[str, Any]) -> None:
        """Take parameters that are ``None`` from what LightGBM's say, by LightGBM's names.

        Parameters
        ----------
        said : values that have been read and checked, as :meth:`with_lightgbm_params` does.
        """
        own = self._get_param_names()
        for name, (theirs, _) in self.from_lightgbm.items():
            if name in own and getattr(self, name) is None and theirs in said:
                setattr(self, name, said[theirs])

    def shift_seed(self, by: int) -> None:
        """Add to the seed, where there is one: for copies that are to draw other numbers.

        Parameters
        ----------
        by : what is added.
        """
        if "random_state" in self._get_param_names():
            self.set_params(random_state=self.value_of("random_state") + by)

    # --- what a user calls ---------------------------------------------------------------------

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
        """Return this objective bound to data, for many steps that prepare labels only once.

        Parameters
        ----------
        labels : relevance of each row, finite and >= 0.
        group : number of rows of each query; rows of a query are consecutive.
        weight : weight of each row, multiplied into gradient and hessian.
        position : where each row was shown, for objectives that learn from it; without, such an
            objective is what it is where all positions are alike.
        iteration : boosting iteration of the first step, which random numbers depend on.
        n_jobs : threads of a step; ``None`` takes those of the objective.

        Examples
        --------
        >>> from gbrank import XENDCG
        >>> training = XENDCG(gamma=0.0).bind([2, 0], group=[2])
        >>> for scores in ([0.0, 0.0], [9.0, 0.0]):
        ...     grad, hess = training.grad_hess(scores)
        ...     print(grad)
        [-0.3  0.3]
        [ 0.1998766 -0.1998766]
        """
        self.check_params()
        if group is None:
            raise ValueError(
                "the training data have no queries: give group= (rows per query) to the Dataset or "
                "to fit, qid= to XGBoost's DMatrix, or use gbrank.Ranker with qid="
            )
        layout = QueryLayout.from_group(group, count_rows(labels, "labels"))
        checked = check_labels(labels, layout)
        weights = None if weight is None else single_weights(weight, layout)
        adjustment = None
        if position is None:
            step = self.make_step(checked, layout)
        else:
            places = check_positions(position, layout)
            step, adjustment = self.make_step_with_positions(checked, layout, places)
        return Training(
            step,
            layout,
            weight=weights,
            query_cost=self.query_cost(layout.sizes),
            scratch_rows=self.scratch_rows,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
            iteration=iteration,
            adjustment=adjustment,
        )

    def make_step_with_positions(
        self, labels: FloatArray, layout: QueryLayout, position: IntArray
    ) -> tuple[Step, Adjustment]:
        """Return the step, and what it learns about positions.

        Parameters
        ----------
        labels : checked labels.
        layout : their queries.
        position : where each row was shown.
        """
        raise ValueError(f"{type(self).__name__} cannot learn from positions: {_POSITION_HELP}")

    def make_step(self, labels: FloatArray, layout: QueryLayout) -> Step:
        """Return the kernel with all that stays the same during a training filled in.

        It takes ``first, last, bounds, scores, iteration, scratch, grad, hess``. Objectives that
        change another one call the step of that one in their own kernel.

        Parameters
        ----------
        labels : checked labels.
        layout : their queries.
        """
        fixed = (*self.prepare(labels, layout), *self.kernel_params())
        long = self.kernel
        short, has_long = self._kernels_for(layout.sizes)

        def step(
            first: int,
            last: int,
            bounds: IntArray,
            scores: FloatArray,
            iteration: int,
            scratch: FloatArray,
            grad: Float32Array,
            hess: Float32Array,
        ) -> None:
            arguments = (first, last, bounds, scores, *fixed, iteration, scratch, grad, hess)
            left = 0 if short is None else short(*arguments)
            if has_long or left:
                long(*arguments)

        return step

    def _kernels_for(self, sizes: IntArray) -> tuple[Callable[..., Any] | None, bool]:
        """Return the kernel for short lists, if there are any, and whether there are others.

        What is not needed is not compiled.
        """
        is_short = sizes <= self.longest_short_of(sizes)
        if self.short_kernel is None or not is_short.any():
            return None, True
        return self.short_kernel, not is_short.all()

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

        For many scores of the same labels, :meth:`bind` once.

        Parameters
        ----------
        labels : relevance of each row, finite and >= 0.
        scores : current score of each row.
        group : number of rows of each query; rows of a query are consecutive.
        weight : weight of each row, multiplied into gradient and hessian.
        iteration : boosting iteration, which random numbers depend on.
        """
        return self.bind(labels, group, weight, iteration=iteration).grad_hess(scores)

    def loss(
        self, labels: ArrayLike, scores: ArrayLike, group: ArrayLike, *, iteration: int = 0
    ) -> FloatArray:
        """Return the loss of every query as float64, before weights.

        Parameters
        ----------
        labels, scores, group, iteration : as in :meth:`grad_hess`.
        """
        self.check_params()
        layout = QueryLayout.from_group(group, count_rows(labels, "labels"))
        checked_labels, checked_scores = check_labels(labels, layout), check_scores(scores, layout)
        self.check_labels(checked_labels, layout)
        return self.query_losses(checked_labels, checked_scores, layout, iteration)

    def __call__(
        self, a: Any, b: Any, weight: Any = None, group: Any = None
    ) -> tuple[Float32Array, Float32Array]:
        """Serve LightGBM and XGBoost: ``f(scores, dataset)``, ``f(labels, scores, weight, group)``.

        LightGBM's scikit-learn wrapper counts parameters and fills all four; ``lgb.train`` and
        ``xgb.train`` pass two, the second of which is the ``Dataset`` or ``DMatrix``.
        """
        handed = read_dataset(b)
        if handed is not None:
            scores = handed.scores(a)
        else:
            scores = b if isinstance(b, np.ndarray) else np.asarray(b, dtype=np.float64)
        data = calling_training() if handed is None else handed
        owner = scores if data is None else data.training_of(scores)
        version = None if handed is None else handed.version
        training, made_from, made_at = self._find_training(owner)
        if training is None or version is None or version != made_at:
            sources = (a, weight, group, None)
            if handed is not None:
                sources = (handed.labels, handed.weight, handed.group, handed.position)
            if training is None or not all(map(is_same_array, made_from, sources)):
                training = self._start_training(training, sources, scores, data)
                # Arrays of one's own may be changed in place between two calls, those of a library
                # not.
                kept = sources if data is not None else tuple(map(_copy_of, sources))
                self._keep_training(owner, training, kept, version)
        if data is not None and data.iteration is not None:
            training.iteration = data.iteration
        grad, hess = training.advance(scores)
        if not type(self).__module__.startswith("gbrank."):
            _check_finite(grad, hess, training.layout, type(self).__name__)
        return grad, hess

    def _start_training(
        self,
        before: Training | None,
        sources: tuple[Any, ...],
        scores: FloatArray,
        data: TrainingData | DMatrixData | None,
    ) -> Training:
        """Return a training on labels, weights, queries and positions; it counts on from another.

        Parameters
        ----------
        before : what trained on others so far; ``None`` where training begins.
        sources : labels, weights, queries and positions.
        scores : of the first step.
        data : of the library that calls.
        """
        labels, weight, group, position = sources
        iteration = 0 if before is None else before.iteration
        n_jobs, bound = self.n_jobs, self
        self._check_position(position)
        if data is not None:
            _check_training_data(data)
            n_jobs = data.n_threads if n_jobs is None else n_jobs
            if before is None:
                iteration = max(data.first_iteration - self.n_start_trees, 0)
            bound = self.with_lightgbm_params(data.params)
        training = bound.bind(
            labels, group, weight, position=position, iteration=iteration, n_jobs=n_jobs
        )
        if isinstance(data, TrainingData):
            training.in_lightgbm = self.n_jobs in (None, data.n_threads)
        check_scores(scores, training.layout)
        if getattr(self, "observations", None) is None and not self.needs_observations:
            _warn_of_nothing_to_rank(labels, training.layout)
        return training

    def _check_position(self, position: Any) -> None:
        if position is None and self.needs_position:
            raise ValueError(
                f"{type(self).__name__} needs the position of each row: give it to the Dataset of "
                "lightgbm.train, or to Ranker.fit. LGBMRanker and Dask hand none on"
            )
        if position is not None and not self.needs_position:
            raise ValueError(
                f"the Dataset has position=, which {type(self).__name__} does not read: remove it, "
                f"or {_POSITION_HELP}"
            )

    # --- the state of trainings under way ------------------------------------------------------
    # A training belongs to the Booster that calls or, where none does, to the array of scores: held
    # by weak reference, as an id alone may be used again.

    def _find_training(self, owner: Any) -> tuple[Training | None, tuple[Any, ...], Any]:
        nothing = (None, None, (), None)
        reference, training, sources, version = self._trainings().get(id(owner), nothing)
        if reference is None or reference() is not owner:
            return None, (), None
        return training, sources, version

    def _keep_training(
        self, owner: Any, training: Training, sources: tuple[Any, ...], version: Any
    ) -> None:
        trainings, key = self._trainings(), id(owner)
        # The callback runs before the owner's memory, and so its id, can be used again.
        reference = weakref.ref(owner, lambda _: trainings.pop(key, None))
        trainings[key] = (reference, training, sources, version)

    def _trainings(self) -> dict[int, tuple[Any, Training, tuple[Any, ...], Any]]:
        state: dict[int, Any] = self.__dict__.setdefault("_live", {})
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


def _check_finite(grad: Float32Array, hess: Float32Array, layout: QueryLayout, name: str) -> None:
    """Raise an error for what LightGBM would make a constant tree of; a loss of one's own may."""
    for what, values in (("gradient", grad), ("hessian", hess)):
        sound = np.isfinite(values)
        if not sound.all():
            row = int(np.argmin(sound))
            raise ValueError(
                f"the {what} of {name} must be finite, but at {layout.describe_row(row)} it is "
                f"{values[row]}"
            )


def _copy_of(values: Any) -> Any:
    return None if values is None else np.array(values)


def _warn_of_nothing_to_rank(labels: Any, layout: QueryLayout) -> None:
    """Warn where no query has two documents that could be in a wrong order."""
    what = ""
    filled = layout.sizes > 0
    if layout.sizes.max(initial=0) < 2:
        what = "every query has a single document: check that qid is the query's id, not the row's"
    elif filled.any():
        values, starts = np.asarray(labels), layout.bounds[:-1][filled]
        if (np.maximum.reduceat(values, starts) == np.minimum.reduceat(values, starts)).all():
            what = "the labels of every query are all equal: check the labels, and the queries"
    if what:
        warnings.warn(f"there is nothing to rank, as {what}", stacklevel=4)
    largest = float(np.max(labels, initial=0.0))
    if np.asarray(labels).dtype == np.float32 and largest > 2**24:
        warnings.warn(
            f"labels go up to {largest:.0f}, but LightGBM keeps them in single precision, where "
            f"those around it are {np.spacing(np.float32(largest)):g} apart: subtract what they "
            "have in common, or use their ranks",
            stacklevel=4,
        )


def _check_training_data(data: TrainingData | DMatrixData) -> None:
    """Raise an error for what LightGBM would do wrong, or leave out, without a word."""
    if data.bags_by_query:
        raise ValueError(NO_BAGGING_BY_QUERY)
    torn = data.torn_query()
    if torn is not None:
        raise ValueError(
            f"query {torn} is torn apart: only some of its rows are in this part of the Dataset, "
            "as lgb.cv does with a custom objective. Use gbrank.cv, or folds of whole queries"
        )
