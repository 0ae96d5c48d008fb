"""LambdaMART: pairwise logistic gradients weighted by what a swap would change in NDCG.

For a pair (i, j) with G_i > G_j, ranked at pi_i and pi_j by the current scores::

    delta  = (G_i - G_j) |D(pi_i) - D(pi_j)| / Z_T        [/ (0.01 + |s_i - s_j|) if norm]
    p      = 1 / (1 + exp(sigmoid (s_i - s_j)))
    g_i   -= sigmoid delta p          g_j += sigmoid delta p
    h_i, h_j += sigmoid^2 delta p (1 - p)

summed over the pairs of which at least one document is ranked in the first T =
``truncation_level``. With ``norm`` the sums are scaled by ``log2(1 + L) / L``, L the sum of all
``|g|`` contributions, and the division by the score distance is left out when all scores are
equal. ``sigmoid``, ``truncation_level`` and ``norm`` mean exactly what LightGBM's parameters
``sigmoid``, ``lambdarank_truncation_level`` and ``lambdarank_norm`` mean. There is no loss behind
these gradients. Pairs are oriented by gain, which for a gain that grows with the label is the same
as by label, and computed in float32, which is also what LightGBM sums them in.

LightGBM reads p from a table over +-25 / sigmoid, always at the lower edge of a bin. Moving
``s_i - s_j`` to that edge before an exact ``exp`` reproduces it, so that a model trained with
``lambdarank`` and one trained here grow the same trees until float32 rounding parts them.

References: Burges, From RankNet to LambdaRank to LambdaMART, 2010; Bruch, The Web Conference 2021,
equations 4 and 5.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from gbrank.core import (
    FloatArray,
    GainSpec,
    IntArray,
    QueryLayout,
    check_choice,
    check_integer,
    check_number,
    compute_discounts,
    compute_gains,
    ideal_dcg,
    kernel,
    sort_by_score,
)
from gbrank.objectives._kernels import PADDING, zero_step
from gbrank.objectives._lambda_pairs import BIN, DISTANCE_FLOOR, FARTHEST, bin_edge, pair_terms
from gbrank.objectives._lambda_short import short_lambdamart_block
from gbrank.objectives._registry import register_objective
from gbrank.objectives.base import Objective

#: Up to here lists side by side are faster than one after the other.
_LONGEST_SHORT = 64


@kernel(part=True)
def _distances(score, scores, bins_per_unit, distances, edges):
    """Write ``s_i - s_j`` and the upper edge of its bin, counted in bins from zero."""
    for j in range(len(scores)):
        distance = min(score - scores[j], FARTHEST)
        distances[j] = np.float32(distance)
        edges[j] = bin_edge(distance, bins_per_unit)


@kernel(part=True)
def _pair_terms(gain, discount, distances, edges, gains, discounts, floor, lambdas, hessians):
    """Write the terms of one document against all those ranked below it.

    ``floor`` is negative when score distances do not divide.
    """
    one, zero = np.float32(1.0), np.float32(0.0)
    for j in range(len(distances)):
        divisor = floor + distances[j] if floor >= zero else one
        lambdas[j], hessians[j] = pair_terms(
            gain - gains[j], discount - discounts[j], edges[j], divisor
        )


@kernel(part=True)
def _accumulate(lambdas, hessians, lambda_sums, hessian_sums):
    """Add the terms to the lower documents; return the sums for the upper one."""
    total, total_abs, total_hessian = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for j in range(len(lambdas)):
        lambda_sums[j] += lambdas[j]
        hessian_sums[j] += hessians[j]
        total += lambdas[j]
        total_abs += abs(lambdas[j])
        total_hessian += hessians[j]
    return total, total_abs, total_hessian


@kernel(part=True)
def _lambdamart_query(
    scores, shares, order, discounts, sigmoid, truncation, norm, keys, spare_order, rows, grad, hess
):
    m = len(scores)
    sorted_shares, distances, lambdas, hessians = rows[0], rows[1], rows[2], rows[3]
    lambda_sums, hessian_sums, edges = rows[4], rows[5], rows[6]
    # the rows for pairs are free while sorting
    sort_by_score(scores, order, keys[:m], rows[1:3].reshape(-1).view(np.float64), spare_order)
    for i in range(m):
        sorted_shares[i] = shares[order[i]]
    # The rows are filled up with documents whose terms are dropped again below.
    keys[m : m + PADDING] = keys[m - 1]
    sorted_shares[m : m + PADDING] = 0.0
    lambda_sums[: m + PADDING] = 0.0
    hessian_sums[: m + PADDING] = 0.0
    floor = DISTANCE_FLOOR if norm and keys[0] != keys[m - 1] else np.float32(-1.0)
    sum_abs = 0.0
    for i in range(min(truncation, m - 1)):
        stop = i + 1 + -(-(m - 1 - i) // PADDING) * PADDING
        _distances(
            keys[i],
            keys[i + 1 : stop],
            sigmoid / BIN,
            distances[i + 1 : stop],
            edges[i + 1 : stop],
        )
        _pair_terms(
            sorted_shares[i],
            discounts[i],
            distances[i + 1 : stop],
            edges[i + 1 : stop],
            sorted_shares[i + 1 : stop],
            discounts[i + 1 : stop],
            floor,
            lambdas[i + 1 : stop],
            hessians[i + 1 : stop],
        )
        lambdas[m:stop] = 0.0
        hessians[m:stop] = 0.0
        total, total_abs, total_hessian = _accumulate(
            lambdas[i + 1 : stop],
            hessians[i + 1 : stop],
            lambda_sums[i + 1 : stop],
            hessian_sums[i + 1 : stop],
        )
        lambda_sums[i] -= total
        hessian_sums[i] += total_hessian
        sum_abs += total_abs
    scale = sigmoid
    sum_of_lambdas = 2.0 * sigmoid * sum_abs
    if norm and sum_of_lambdas > 0.0:
        scale *= np.log2(1.0 + sum_of_lambdas) / sum_of_lambdas
    for i in range(m):
        grad[order[i]] = np.float32(scale * lambda_sums[i])
        hess[order[i]] = np.float32(scale * sigmoid * hessian_sums[i])


@kernel()
def _lambdamart_block(
    first, last, bounds, scores, shares, order, counts, discounts, sigmoid, truncation, norm,
    longest_short, iteration, scratch, grad, hess,
):  # fmt: skip
    keys, spare_order = scratch[0], scratch[1].view(np.int64)
    rows = scratch[2:].reshape(-1).view(np.float32).reshape(8, scratch.shape[1])
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if b - a <= longest_short:
            continue
        if counts[q]:
            _lambdamart_query(
                scores[a:b], shares[a:b], order[a:b], discounts, sigmoid, truncation, norm,
                keys, spare_order, rows, grad[a:b], hess[a:b],
            )  # fmt: skip
        else:
            zero_step(grad[a:b], hess[a:b])


class LambdaMART(Objective):
    """LambdaMART's gradients, as LightGBM's ``lambdarank`` defines them.

    Parameters
    ----------
    sigmoid : float in [1e-6, 1e6], default=None
        Steepness of the pairwise logistic. ``None``, here as below, takes the value of the
        parameter that LightGBM has for it (``sigmoid``, ``lambdarank_truncation_level``,
        ``lambdarank_norm``, ``label_gain``) where that is given and visible, else LightGBM's
        default: 1, 30, ``True`` and "exp".
    truncation_level : int >= 1, default=None
        A pair counts if one of its documents is ranked this high; also the cut-off of the NDCG.
    norm : bool, default=None
        Divide by score distance and damp queries with large gradients.
    gain : "exp", "linear", table or callable, default=None
        What a label is worth: see :func:`gbrank.gains.compute_gains`.
    n_jobs : int, default=None
        Threads of a step; ``None`` follows LightGBM's ``num_threads`` where that is visible.

    References
    ----------
    Burges, From RankNet to LambdaRank to LambdaMART: an overview, MSR-TR-2010-82.

    Examples
    --------
    >>> from gbrank import LambdaMART
    >>> grad, hess = LambdaMART(norm=False).grad_hess([1, 0], [0.0, 0.0], group=[2])
    >>> grad  # (D(1) - D(2)) / 2
    array([-0.18453512,  0.18453512], dtype=float32)
    """

    formula = "none: gradients of pairs, weighted by what a swap of the two would change in NDCG"
    consistent_with = "nothing is proved"
    cost = "`m T` for `truncation_level=T`, and a sort"
    when = 'what `"lambdarank"` does now'

    kernel = staticmethod(_lambdamart_block)
    short_kernel = staticmethod(short_lambdamart_block)
    longest_short = _LONGEST_SHORT
    has_loss: ClassVar[bool] = False
    from_lightgbm: ClassVar[Mapping[str, tuple[str, Any]]] = {
        **Objective.from_lightgbm,
        "sigmoid": ("sigmoid", 1.0),
        "truncation_level": ("lambdarank_truncation_level", 30),
        "norm": ("lambdarank_norm", True),
    }
    scratch_rows: ClassVar[int] = 6

    def __init__(
        self,
        sigmoid: float | None = None,
        truncation_level: int | None = None,
        norm: bool | None = None,
        gain: GainSpec | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.sigmoid = sigmoid
        self.truncation_level = truncation_level
        self.norm = norm
        self.gain = gain
        self.n_jobs = n_jobs
        self.check_params()

    def check_params(self) -> None:
        check_number("sigmoid", self.value_of("sigmoid"), low=1e-6, high=1e6)
        check_integer("truncation_level", self.value_of("truncation_level"), low=1)
        check_choice("norm", self.value_of("norm"), (True, False))

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        gains = compute_gains(labels, self.value_of("gain"), layout)
        sizes, bounds = layout.sizes, layout.bounds
        longest = int(sizes.max(initial=1))
        discounts = compute_discounts(longest + PADDING)
        ideal = ideal_dcg(gains, bounds, discounts, self.value_of("truncation_level"))
        counts = (ideal > 0) & (sizes > 1)
        shares = gains / np.repeat(np.where(counts, ideal, np.inf), sizes)  # of the ideal DCG
        order = np.arange(layout.n_rows, dtype=np.int64) - np.repeat(bounds[:-1], sizes)
        return shares.astype(np.float32), order, counts, discounts.astype(np.float32)

    def kernel_params(self) -> tuple[Any, ...]:
        sigmoid, truncation = self.value_of("sigmoid"), self.value_of("truncation_level")
        norm = bool(self.value_of("norm"))
        return float(sigmoid), int(truncation), norm, self.longest_short

    def query_cost(self, sizes: IntArray) -> IntArray:
        # ranking and gathering a document costs about as much as eight pairs
        cost: IntArray = sizes * (8 + np.minimum(sizes, self.value_of("truncation_level"))) // 4
        return cost


register_objective("lambdamart", LambdaMART)
