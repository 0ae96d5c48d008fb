r"""What a swap of two documents changes in a metric: the weights of YetiLoss and LambdaMART.

Documents a and b stand at places p < q, counted from 1; w is what they are worth, D(p) the discount
of a place, 0 beyond the cut-off. The change of the metric is :math:`|w_a - w_b|` times

- DCG, NDCG, precision, recall: :math:`D(p) - D(q)`. Precision and recall have D = 1 up to the
  cut-off, so that only pairs on both sides of it count.
- MAP: :math:`(n + 1)(D(p) - D(q)) + \sum_r (D(r) - D(q))`, over the relevant places r between p and
  q, n of them being above p, divided by the number of relevant documents; :math:`D(p) = 1/p`.
- ERR: :math:`P \, (D(p) - \sum_r P_r w_r D(r) - P_q D(q))`, over all places r between p and q, with
  P the product of :math:`1 - w` above p and :math:`P_r` that of the places from p + 1 to r - 1. MRR
  is the same with w = 1 for relevant documents and 0 for others: a user who stops at the first.

All terms of a sum are of one sign, so that nothing cancels. Going from q to q + 1 adds one term:
``mid`` and ``more`` carry the sums and products from place to place.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import FloatArray, GainSpec, QueryLayout, kernel
from gbrank.metrics import Judgments, Metric, get_metric
from gbrank.objectives._kernels import PADDING

#: The three forms of the change, by the numbers that kernels know them by.
LINEAR, AVERAGE, CASCADE = 0, 1, 2
#: Metrics that can be optimised, and the form of their change.
FORMS = {
    "dcg": LINEAR,
    "err": CASCADE,
    "map": AVERAGE,
    "mrr": CASCADE,
    "ndcg": LINEAR,
    "precision": LINEAR,
    "recall": LINEAR,
}
#: Of these only pairs on both sides of the cut-off count.
ACROSS = ("precision", "recall")
# Where in what a metric has prepared its divisor is.
_DIVISORS = {"map": 1, "ndcg": 2, "precision": 2, "recall": 2}
# What a document is worth must stay far inside the range of float32.
_MOST = 1e30


def metric_to_optimise(
    name: Any,
    top: int | None,
    gain: GainSpec,
    threshold: float,
    max_grade: float | None,
) -> Metric:
    """Return the metric that a loss is to optimise; raise an error for one that cannot be.

    Parameters
    ----------
    name : its name, with or without a cut-off.
    top : the cut-off, where the name has none.
    gain : what a label is worth in DCG and NDCG, and the chance to satisfy in ERR.
    threshold : documents whose label is greater are relevant, for MAP, MRR, precision and recall.
    max_grade : largest label that can be given, for ERR.

    Examples
    --------
    >>> from gbrank.objectives._swap_weights import metric_to_optimise
    >>> metric_to_optimise("map@10", None, "exp", 0.0, None)
    <map@10: empty='skip', ties='average', threshold=0.0, divide_by='relevant'>
    """
    base = name.partition("@")[0] if isinstance(name, str) else ""
    if base not in FORMS:
        raise ValueError(
            f"metric must be one of {', '.join(sorted(FORMS))}, with or without a cut-off as in "
            f"'map@10', got {name!r}"
        )
    if top is not None and "@" in name:
        raise ValueError(f"the cut-off is given twice: in metric={name!r} and as top={top!r}")
    options: dict[str, Any] = {} if top is None else {"k": top}
    if base in ("ndcg", "dcg"):
        options["gain"] = gain
    elif base == "err":
        options |= {"gain": gain, "max_grade": max_grade}
    else:
        options["threshold"] = threshold
    metric = get_metric(name, **options)
    if isinstance(metric.k, float):
        raise ValueError(
            f"the cut-off of a metric that is optimised must be an integer, got {metric.full_name}"
        )
    if base in ACROSS and metric.k is None:
        raise ValueError(
            f"{base} of the whole list is the same in every order: give a cut-off, as in "
            f"'{base}@10'"
        )
    return metric


def can_be_optimised(metric: Metric) -> bool:
    """Return whether a metric is one that :func:`metric_to_optimise` makes, but for its options.

    Examples
    --------
    >>> from gbrank.metrics import get_metric
    >>> from gbrank.objectives._swap_weights import can_be_optimised
    >>> can_be_optimised(get_metric("mrr")), can_be_optimised(get_metric("recall"))
    (True, False)
    """
    if metric.name not in FORMS or isinstance(metric.k, float):
        return False
    discount = metric.options.get("discount")
    usual = metric.own_options.get("discount")
    return discount == usual and not (metric.name in ACROSS and metric.k is None)


@dataclass(frozen=True)
class Swaps:
    """A metric bound to labels, as far as swaps of documents change it.

    Attributes
    ----------
    form : LINEAR, AVERAGE or CASCADE.
    worth : what each row is worth.
    units : what the changes of each query are multiplied by.
    used : whether a query has two documents that differ.
    discounts : by place, 0 beyond the cut-off, at least PADDING longer than the longest list.
    """

    form: int
    worth: FloatArray
    units: FloatArray
    used: NDArray[np.bool_]
    discounts: FloatArray


def bind_swaps(metric: Metric, labels: FloatArray, layout: QueryLayout) -> Swaps:
    """Return what a swap changes, as far as the labels decide it.

    Parameters
    ----------
    metric : from :func:`metric_to_optimise`.
    labels : checked labels.
    layout : their queries.
    """
    form, sizes = FORMS[metric.name], layout.sizes
    longest = int(sizes.max(initial=1))
    discounts = np.zeros(longest + PADDING)
    units, worth = np.zeros(layout.n_queries), np.zeros(0)
    used = np.zeros(layout.n_queries, dtype=np.bool_)
    filled = sizes > 0
    if filled.any():
        bound = metric.bind(Judgments(labels, layout))
        worth = bound.data[0][bound.codes].astype(np.float64)
        if metric.name in ("map", "mrr"):
            of_places = 1.0 / np.arange(1.0, longest + 1.0)[: metric.k]
        else:
            of_places = bound.data[1]
        discounts[: len(of_places)] = of_places
        starts = layout.bounds[:-1][filled]
        used[filled] = np.minimum.reduceat(worth, starts) < np.maximum.reduceat(worth, starts)
        used &= ~bound.blank
        units[used] = 1.0
        at = _DIVISORS.get(metric.name)
        if at is not None:
            divisors = bound.data[at]
            # where gains are as small as 5e-324 a reciprocal is no number: other units for those
            larger = np.where(divisors < np.finfo(np.float64).tiny, 2.0**200, 1.0)
            worth *= np.repeat(larger, sizes)
            units[used] /= (divisors * larger)[used]
        if form == LINEAR:  # gains as large as 2^1000 must not meet float32
            worth = np.minimum(worth * np.repeat(units, sizes), _MOST)
            units[used] = 1.0
    return Swaps(form, worth, units, used, discounts)


def swap_changes(form: int, worth: FloatArray, discounts: FloatArray, apart: int) -> FloatArray:
    """Return the change, over ``|w_a - w_b|``, of each pair ``apart`` places from each other.

    In plain NumPy, as the formulas read; ``worth`` is in the order of places.

    Parameters
    ----------
    form, worth, discounts : as of :class:`Swaps`.
    apart : difference of the places, from 1 to the length of the list less 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.objectives._swap_weights import CASCADE, swap_changes
    >>> swap_changes(CASCADE, np.array([1.0, 0.0, 1.0]), 1 / np.arange(1.0, 4.0), 1)  # of MRR
    array([0.5, 0. ])
    """
    m = len(worth)
    upper, lower = discounts[: m - apart], discounts[apart:m]
    if form == LINEAR:
        return upper - lower
    if form == AVERAGE:
        above = np.cumsum(worth) - worth + 1.0
        changes = above[: m - apart] * (upper - lower)
        for step in range(1, apart):
            middle = slice(step, m - apart + step)
            changes += worth[middle] * (discounts[middle] - lower)
        return changes
    above = np.concatenate(([1.0], np.cumprod(1.0 - worth)[:-1]))[: m - apart]
    seen, more = np.zeros(m - apart), np.ones(m - apart)
    for step in range(1, apart):
        middle = slice(step, m - apart + step)
        seen += more * worth[middle] * discounts[middle]
        more = more * (1.0 - worth[middle])
    return above * (upper - seen - more * lower)


# The same for kernels, a place at a time, in the precision of what they are given.


@kernel(part=True)
def next_above(form, above, worth):
    """Return what the documents above the next place come to; above the first place it is 1."""
    return above + worth if form == AVERAGE else above - above * worth


@kernel(part=True)
def change(form, above, upper, lower, mid, more):
    """Return the change for discounts ``upper`` and ``lower`` of two places."""
    if form == LINEAR:
        return upper - lower
    if form == AVERAGE:
        return above * (upper - lower) + (mid - more * lower)
    return above * (upper - mid - more * lower)


@kernel(part=True)
def pass_by(form, worth, discount, mid, more):
    """Return ``mid`` and ``more`` with one more document between; they begin with 0, and 0 or 1."""
    if form == AVERAGE:
        return mid + worth * discount, more + worth
    return mid + more * worth * discount, more - more * worth


@kernel(part=True)
def first_more(form):
    """Return what ``more`` is for neighbours."""
    return 0.0 if form == AVERAGE else 1.0


@kernel(part=True)
def row_of_changes(form, above, place, worth, discounts, changes):
    """Write the changes of one place with all those below it; ``changes`` begins below it."""
    mid, more = 0.0, first_more(form)
    for j in range(len(changes)):
        q = place + 1 + j
        changes[j] = change(form, above, discounts[place], discounts[q], mid, more)
        mid, more = pass_by(form, worth[q], discounts[q], mid, more)
