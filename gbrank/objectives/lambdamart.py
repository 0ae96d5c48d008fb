"""LambdaMART: pairwise logistic gradients weighted by what a swap would change in a metric.

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

Another ``metric``, or NDCG with a cut-off of its own, puts what a swap changes in it
(:mod:`gbrank.objectives._swap_weights`) in the place of delta; all else stays.

References: Burges, From RankNet to LambdaRank to LambdaMART, 2010; Bruch, The Web Conference 2021,
equations 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from gbrank.metrics import Metric
from gbrank.objectives._kernels import PADDING, zero_step
from gbrank.objectives._lambda_pairs import (
    BIN,
    DISTANCE_FLOOR,
    accumulate,
    pair_terms,
    write_distances,
    write_step,
)
from gbrank.objectives._lambda_short import short_lambdamart_block
from gbrank.objectives._registry import register_objective
from gbrank.objectives._swap_weights import (
    FORMS,
    LINEAR,
    bind_swaps,
    metric_to_optimise,
    next_above,
    row_of_changes,
)
from gbrank.objectives.base import Objective

#: Up to here lists side by side are faster than one after the other.
_LONGEST_SHORT = 64


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
def _lambdamart_query(
    scores, shares, order, discounts, form, unit, sigmoid, truncation, norm, keys, spare_order,
    rows, grad, hess,
):  # fmt: skip
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
    above, changes = 1.0, rows[7]
    for i in range(min(truncation, m - 1)):
        stop = i + 1 + -(-(m - 1 - i) // PADDING) * PADDING
        write_distances(
            keys[i],
            keys[i + 1 : stop],
            sigmoid / BIN,
            distances[i + 1 : stop],
            edges[i + 1 : stop],
        )
        discount, lower_discounts = discounts[i], discounts[i + 1 : stop]
        if form != LINEAR:
            # the change in the place of a difference of discounts
            discount, lower_discounts = np.float32(0.0), changes[i + 1 : stop]
            row_of_changes(form, above, i, sorted_shares, discounts, lower_discounts)
            lower_discounts *= np.float32(-unit)
            above = next_above(form, above, sorted_shares[i])
        _pair_terms(
            sorted_shares[i],
            discount,
            distances[i + 1 : stop],
            edges[i + 1 : stop],
            sorted_shares[i + 1 : stop],
            lower_discounts,
            floor,
            lambdas[i + 1 : stop],
            hessians[i + 1 : stop],
        )
        lambdas[m:stop] = 0.0
        hessians[m:stop] = 0.0
        total, total_abs, total_hessian = accumulate(
            lambdas[i + 1 : stop],
            hessians[i + 1 : stop],
            lambda_sums[i + 1 : stop],
            hessian_sums[i + 1 : stop],
        )
        lambda_sums[i] -= total
        hessian_sums[i] += total_hessian
        sum_abs += total_abs
    write_step(sigmoid, norm, sum_abs, order, lambda_sums, hessian_sums, grad, hess)


@kernel()
def _lambdamart_block(
    first, last, bounds, scores, shares, order, used, discounts, sigmoid, truncation, norm,
    longest_short, iteration, scratch, grad, hess,
):  # fmt: skip
    keys, spare_order = scratch[0], scratch[1].view(np.int64)
    rows = scratch[2:].reshape(-1).view(np.float32).reshape(8, scratch.shape[1])
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if b - a <= longest_short:
            continue
        if used[q]:
            _lambdamart_query(
                scores[a:b], shares[a:b], order[a:b], discounts, LINEAR, 1.0, sigmoid, truncation,
                norm, keys, spare_order, rows, grad[a:b], hess[a:b],
            )  # fmt: skip
        else:
            zero_step(grad[a:b], hess[a:b])


@kernel()
def _metric_block(
    first, last, bounds, scores, worth, order, used, discounts, units, sigmoid, truncation, norm,
    form, iteration, scratch, grad, hess,
):  # fmt: skip
    keys, spare_order = scratch[0], scratch[1].view(np.int64)
    rows = scratch[2:].reshape(-1).view(np.float32).reshape(8, scratch.shape[1])
    for q in range(first, last):
        a, b = bounds[q], bounds[q + 1]
        if used[q]:
            _lambdamart_query(
                scores[a:b], worth[a:b], order[a:b], discounts, form, units[q], sigmoid, truncation,
                norm, keys, spare_order, rows, grad[a:b], hess[a:b],
            )  # fmt: skip
        else:
            zero_step(grad[a:b], hess[a:b])


class LambdaMART(Objective):
    """LambdaMART's gradients, as LightGBM's ``lambdarank`` has them, for NDCG or another metric.

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
        What a label is worth: see :func:`gbrank.gains.compute_gains`. Of ERR, a table or function
        that gives the chance to satisfy.
    metric : str, default="ndcg"
        "ndcg", "dcg", "map", "mrr", "err", "precision" or "recall", with or without a cut-off, as
        in "map@10"; the last two need one. "ndcg" is LightGBM's, which is normalised at
        ``truncation_level`` but discounts places beyond it too. Of the others all that counts is
        what the swap of a pair changes in the metric; pairs whose documents are both ranked below
        ``truncation_level`` are left out of all.
    threshold : float, default=0.0
        Documents whose label is greater are relevant, for MAP, MRR, precision and recall.
    max_grade : float, default=None
        Of ERR, the largest label that can be given; ``None`` takes the largest of the data.
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

    formula = (
        "none: gradients of pairs, weighted by what a swap of the two would change in NDCG, or in "
        "another `metric`"
    )
    consistent_with = "nothing is proved"
    cost = "`m T` for `truncation_level=T`, and a sort"
    when = 'what `"lambdarank"` does now'

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
        metric: str = "ndcg",
        threshold: float = 0.0,
        max_grade: float | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.sigmoid = sigmoid
        self.truncation_level = truncation_level
        self.norm = norm
        self.gain = gain
        self.metric = metric
        self.threshold = threshold
        self.max_grade = max_grade
        self.n_jobs = n_jobs
        self.check_params()

    @property
    def kernel(self) -> Callable[..., None]:
        """The kernel of metrics that are differences of discounts, or that of others."""
        return _lambdamart_block if self._form() == LINEAR else _metric_block

    @property
    def short_kernel(self) -> Callable[..., None] | None:  # type: ignore[override]
        """Of metrics that are differences of discounts."""
        return short_lambdamart_block if self._form() == LINEAR else None

    def _form(self) -> int:
        return FORMS[self.metric.partition("@")[0]]

    def optimised(self) -> Metric:
        """Return the metric that is optimised.

        Examples
        --------
        >>> from gbrank import LambdaMART
        >>> LambdaMART(metric="map@10").optimised().full_name
        'map@10'
        """
        gain = self.value_of("gain")
        return metric_to_optimise(self.metric, None, gain, self.threshold, self.max_grade)

    def check_params(self) -> None:
        check_number("sigmoid", self.value_of("sigmoid"), low=1e-6, high=1e6)
        check_integer("truncation_level", self.value_of("truncation_level"), low=1)
        check_choice("norm", self.value_of("norm"), (True, False))
        if self.metric != "ndcg":
            self.optimised()

    def check_labels(self, labels: FloatArray, layout: QueryLayout) -> None:
        if self.metric == "ndcg":
            super().check_labels(labels, layout)
        else:
            bind_swaps(self.optimised(), labels, layout)

    def prepare(self, labels: FloatArray, layout: QueryLayout) -> tuple[Any, ...]:
        order = np.arange(layout.n_rows, dtype=np.int64)
        order -= np.repeat(layout.bounds[:-1], layout.sizes)
        if self.metric != "ndcg":
            swaps = bind_swaps(self.optimised(), labels, layout)
            worth, by_place = swaps.worth.astype(np.float32), swaps.discounts.astype(np.float32)
            prepared = (worth, order, swaps.used, by_place)
            return prepared if swaps.form == LINEAR else (*prepared, swaps.units)
        gains = compute_gains(labels, self.value_of("gain"), layout)
        sizes, bounds = layout.sizes, layout.bounds
        longest = int(sizes.max(initial=1))
        discounts = compute_discounts(longest + PADDING)
        ideal = ideal_dcg(gains, bounds, discounts, self.value_of("truncation_level"))
        used = (ideal > 0) & (sizes > 1)
        shares = gains / np.repeat(np.where(used, ideal, np.inf), sizes)  # of the ideal DCG
        return shares.astype(np.float32), order, used, discounts.astype(np.float32)

    def kernel_params(self) -> tuple[Any, ...]:
        sigmoid, truncation = self.value_of("sigmoid"), self.value_of("truncation_level")
        norm = bool(self.value_of("norm"))
        form = self._form()
        last = self.longest_short if form == LINEAR else form
        return float(sigmoid), int(truncation), norm, last

    def query_cost(self, sizes: IntArray) -> IntArray:
        # ranking and gathering a document costs about as much as eight pairs
        cost: IntArray = sizes * (8 + np.minimum(sizes, self.value_of("truncation_level"))) // 4
        return cost


register_objective("lambdamart", LambdaMART)
