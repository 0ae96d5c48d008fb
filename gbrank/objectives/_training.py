"""One objective on one data set: what its steps share, the threads, the weights of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    Float32Array,
    FloatArray,
    IntArray,
    QueryLayout,
    check_scores,
    check_weights,
    cut_queries,
    resolve_n_jobs,
    share_pieces,
)
from gbrank.objectives._kernels import PADDING
from gbrank.objectives._reuse import ReusedArrays

#: Writes gradient and hessian of queries ``first`` to ``last`` (exclusive): a kernel with all that
#: stays the same during a training filled in. Its arguments are ``first, last, bounds, scores,
#: iteration, scratch, grad, hess``.
Step = Callable[..., None]


class Adjustment:
    """What changes with every step of a training besides the trees: a bias that is learned too."""

    def before(self, scores: FloatArray) -> FloatArray:
        """Return the scores at which gradients are taken.

        Parameters
        ----------
        scores : of the trees.
        """
        return scores

    def after(self, scores: FloatArray, grad: Float32Array, hess: Float32Array) -> None:
        """Learn from a step.

        Parameters
        ----------
        scores : of the trees.
        grad, hess : what LightGBM gets, weights included.
        """
        raise NotImplementedError


#: Work is cut finer than there are threads, so that one which gets half a core does less of it.
_PIECES_PER_THREAD = 4
_LARGEST = np.finfo(np.float32).max


class Training:
    """An objective bound to labels, queries and weights, ready for any number of steps.

    :meth:`gbrank.Objective.bind` makes one. What depends on the labels is computed then, so that a
    step costs the kernel and nothing else.

    Attributes
    ----------
    layout : the queries.
    iteration : number of the next step, which random numbers depend on; it may be set.
    in_lightgbm : whether LightGBM calls, with as many threads as this training has; it may be set.

    Examples
    --------
    >>> from gbrank import Squared
    >>> training = Squared(norm_at=1).bind([1, 0], group=[2])
    >>> training.grad_hess([0.0, 0.0])[0]
    array([-2.,  0.], dtype=float32)
    >>> training.grad_hess([1.0, 0.5])[0]
    array([0., 1.], dtype=float32)
    """

    __slots__ = ("_adjustment", "_arrays", "_cuts", "_n_threads", "_scratch", "_step", "_weight",
                 "in_lightgbm", "iteration", "layout")  # fmt: skip

    def __init__(
        self,
        step: Step,
        layout: QueryLayout,
        *,
        weight: Float32Array | None,
        query_cost: IntArray,
        scratch_rows: int,
        n_jobs: int | None,
        iteration: int,
        adjustment: Adjustment | None = None,
    ) -> None:
        self._adjustment = adjustment
        self.layout, self.iteration = layout, iteration
        self._step, self._weight, self.in_lightgbm = step, weight, False
        threads = resolve_n_jobs(n_jobs)
        self._cuts = cut_queries(query_cost, threads * _PIECES_PER_THREAD if threads > 1 else 1)
        self._n_threads = min(threads, len(self._cuts) - 1)
        width = int(layout.sizes.max(initial=1)) + PADDING
        self._scratch = np.zeros((max(self._n_threads, 1), scratch_rows, width))
        self._arrays = ReusedArrays()

    def grad_hess(self, scores: ArrayLike) -> tuple[Float32Array, Float32Array]:
        """Return gradient and hessian at these scores, of the iteration that comes next.

        The iteration stays the same. Arrays that nobody kept are written again by later calls.

        Parameters
        ----------
        scores : current score of each row.
        """
        return self._run(check_scores(scores, self.layout))

    def write_query(
        self, query: int, scores: FloatArray, grad: Float32Array, hess: Float32Array
    ) -> None:
        """Write gradient and hessian of one query, without weights of rows, into arrays of all.

        Parameters
        ----------
        query : number of the query.
        scores : float64 array, of all rows; only those of the query are read.
        grad, hess : float32 arrays, of all rows; only those of the query are written.
        """
        bounds, scratch = self.layout.bounds, self._scratch[0]
        self._step(query, query + 1, bounds, scores, self.iteration, scratch, grad, hess)

    def advance(self, scores: FloatArray) -> tuple[Float32Array, Float32Array]:
        """Return gradient and hessian at scores that are known to be sound; go on by a step.

        Parameters
        ----------
        scores : float64 array, the current score of each row.
        """
        gradients = self._run(scores)
        self.iteration += 1
        if self._adjustment is not None:
            self._adjustment.after(scores, *gradients)
        return gradients

    def _run(self, scores: FloatArray) -> tuple[Float32Array, Float32Array]:
        grad, hess = self._arrays.take(self.layout.n_rows)
        step, cuts, bounds = self._step, self._cuts, self.layout.bounds
        scratch, iteration = self._scratch, self.iteration
        if self._adjustment is not None:
            scores = self._adjustment.before(scores)

        def work(thread: int, piece: int) -> None:
            first, last = cuts[piece], cuts[piece + 1]
            step(first, last, bounds, scores, iteration, scratch[thread], grad, hess)

        share_pieces(work, len(cuts) - 1, self._n_threads, in_lightgbm=self.in_lightgbm)
        if self._weight is not None:
            _weigh(grad, self._weight)
            _weigh(hess, self._weight)
        self._arrays.keep(grad, hess)
        return grad, hess


def single_weights(weight: ArrayLike, layout: QueryLayout) -> Float32Array:
    """Return weights, checked, in single precision, as LightGBM keeps them."""
    checked = check_weights(weight, layout)
    beyond = checked > _LARGEST
    if beyond.any():
        row = int(np.argmax(beyond))
        raise ValueError(
            f"weights must be at most {_LARGEST:g}, the largest number of single precision, but "
            f"{layout.describe_row(row)} has {checked[row]:g}"
        )
    return checked.astype(np.float32)


def _weigh(values: Float32Array, weight: Float32Array) -> None:
    """Multiply in place; a product beyond single precision becomes its largest number."""
    with np.errstate(over="ignore"):
        values *= weight
        ordinary = np.isfinite(values.sum())  # one quick pass
    if not ordinary:
        np.clip(values, -_LARGEST, _LARGEST, out=values)
