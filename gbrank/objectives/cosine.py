"""DOC"""

from typing import Any, ClassVar

import numpy as np

from gbrank._compile import kernel
from gbrank.gains import DiscountSpec, GainSpec
from gbrank.layout import FloatArray, IntArray, QueryLayout
from gbrank.objectives.base import Float32Array
from gbrank.objectives.params import check_choice, check_number, check_whole
from gbrank.objectives.relevance import RelevanceObjective
from gbrank.objectives.softmax import zero_step

_LARGEST_SCORE = 1e15
_CURVATURE = 2.0


@kernel()
def _cosine_query(scores, target, target_norm, penalty, grad, hess):
    dot, squares = 0.0, 1.0
    for i in range(len(scores)):
        s = min(max(scores[i], -_LARGEST_SCORE), _LARGEST_SCORE)
        dot += s * target[i]
        squares += s * s
    inverse = 1.0 / np.sqrt(squares)
    along = dot * inverse * inverse * inverse + penalty
    curvature = np.float32(_CURVATURE * target_norm * inverse * inverse + penalty)
    for i in range(len(scores)):
        s = min(max(scores[i], -_LARGEST_SCORE), _LARGEST_SCORE)
        grad[i] = np.float32(along * s - inverse * target[i])
        hess[i] = curvature


@kernel()
def _cosine_block(first, last, bounds, scores, target, target_norms, penalty, grad, hess):
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if target_norms[q] > 0.0:
            _cosine_query(
                scores[a:b], target[a:b], target_norms[q], penalty, grad[a:b], hess[a:b]
            )
        else:
            zero_step(grad[a:b], hess[a:b])


class Cosine(RelevanceObjective):
    """TODO"""

    def __init__(
        self,
        norm: str = "dcg",
        norm_at: int | None = None,
        k: int | None = None,
        gain: GainSpec = "exp",
        discount: DiscountSpec = "log",
        penalty: float = 1e-3,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.norm = norm
        self.norm_at = norm_at
        self.k = k
        self.gain = gain
        self.discount = discount
        self.penalty = penalty
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_choice("norm", self.norm, ("dcg", "l2"))
        if self.k is not None:
            check_whole("k", self.k, low=1, also="None")
        check_number("penalty", self.penalty, low=0.0, high=1.0)
        super().check_params()

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        target, counts = self.relevance(labels, layout)
        norms = np.zeros(layout.n_queries)
        filled = layout.sizes > 0
        if filled.any():
            norms[filled] = np.sqrt(np.add.reduceat(target**2, layout.bounds[:-1][filled]))
        return target, np.where(counts, norms, 0.0)

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
        _cosine_block(first, last, bounds, scores, *prepared, float(self.penalty), grad, hess)

    def query_loss(
        self, labels: FloatArray, scores: FloatArray, *, query: int, iteration: int
    ) -> float:
        target = self.relevance_of_query(labels)
        if target is None:
            return 0.0
        s = np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)
        squares = float(s @ s)
        similarity = float(s @ target) / float(np.sqrt(squares + 1.0))
        return 1.0 - similarity + 0.5 * self.penalty * squares
