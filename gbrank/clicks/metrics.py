"""How well scores rank, judged by clicks: weighted by propensities, with an interval.

With labels ``l = click / propensity``, ``DCG`` of a query is ``sum l_i / log2(1 + rank_i)``, and
its mean over queries that of the relevances, without the bias of positions. Self-normalised, the
sum of DCG is divided by the sum of the best DCG that the same labels allow. That sum does not
depend on the scores: it is a scale from 0 to 1 on which models can be compared, and each click
counts by its weight, which a mean of NDCG over queries would undo.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from gbrank.clicks.labels import ips_labels
from gbrank.core import FloatArray, QueryLayout, as_numbers, check_number, check_scores
from gbrank.metrics import dcg_score


@dataclass(frozen=True)
class ClickEstimate:
    """A metric estimated from clicks.

    Attributes
    ----------
    value : the estimate.
    lower, upper : limits of its interval.
    confidence : probability of the interval.
    standard_error : of the estimate, over queries.
    n_clusters : how many queries, or clusters of them, it rests on.
    effective_clicks : effective sample size of the weighted clicks, ``(sum w)^2 / sum w^2``.
    """

    value: float
    lower: float
    upper: float
    confidence: float
    standard_error: float
    n_clusters: int
    effective_clicks: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"{self.value:.4f}, {self.confidence:.0%} from {self.lower:.4f} to {self.upper:.4f}; "
            f"clicks worth {self.effective_clicks:.0f}"
        )


def ips_ndcg(
    click: ArrayLike,
    scores: ArrayLike,
    *,
    position: ArrayLike | None = None,
    propensities: Any,
    qid: Any = None,
    group: Any = None,
    k: int | None = 10,
    clip: float = 0.0,
    self_normalized: bool = True,
    clusters: Any = None,
    confidence: float = 0.95,
) -> ClickEstimate:
    """Return NDCG@k of scores, or DCG@k, judged by clicks that are weighted by propensities.

    Parameters
    ----------
    click : array of shape (n_rows,)
        1 where a row was clicked, else 0.
    scores : array of shape (n_rows,)
        What is judged.
    position : array of shape (n_rows,), default=None
        Where each row was shown; not needed if ``propensities`` are by row.
    propensities : Propensities, or array of shape (n_rows,)
        Of the positions, or of each row.
    qid, group : the lists that were shown, default=None
        An id per row, or numbers of rows.
    k : int, default=10
        Cut-off; ``None`` for none.
    clip : float, default=0.0
        The least propensity that is divided by.
    self_normalized : bool, default=True
        Whether to divide by the best sum of DCG that the clicks allow; else it is the mean DCG.
    clusters : array of shape (n_rows,), default=None
        What belongs together, such as the query text of lists that were shown several times, so
        that intervals do not take them for independent; ``None`` for each list by itself.
    confidence : float, default=0.95
        Probability of the interval, which is a normal one.

    Examples
    --------
    >>> from gbrank.clicks import Propensities, ips_ndcg
    >>> seen = Propensities([1, 2], [1.0, 0.5])
    >>> clicks, scores, position = [1, 0, 0, 1], [2, 1, 2, 1], [1, 2, 1, 2]
    >>> found = ips_ndcg(clicks, scores, position=position, propensities=seen, group=[2, 2])
    >>> round(found.value, 4)  # (1 + 2 / log2(3)) / (1 + 2)
    0.754
    """
    labels = ips_labels(click, position, propensities, clip)
    layout = QueryLayout.from_either(qid, group, len(labels))
    ranked = check_scores(scores, layout)
    check_number("confidence", confidence, low=0.0, high=1.0, low_open=True, high_open=True)
    weighted = labels[labels > 0]
    if len(weighted) == 0:
        raise ValueError("click must have at least one click, got none")
    reached = _dcg(labels, ranked, layout, k)
    best = _dcg(labels, labels, layout, k) if self_normalized else np.ones(layout.n_queries)
    if clusters is not None:
        reached, best = _add_up(clusters, layout, reached, best)
    n, total = len(reached), best.sum()
    value = float(reached.sum() / total)
    # of a ratio of two sums over independent clusters
    spread = np.sum((reached - value * best) ** 2) * n / max(n - 1, 1)
    error = float(np.sqrt(spread) / total)
    reach = float(stats.norm.ppf(0.5 + confidence / 2)) * error
    effective = float(weighted.sum() ** 2 / (weighted**2).sum())
    return ClickEstimate(value, value - reach, value + reach, confidence, error, n, effective)


def _dcg(labels: FloatArray, scores: FloatArray, layout: QueryLayout, k: int | None) -> FloatArray:
    found: Any = dcg_score(
        layout.sort(labels),
        layout.sort(scores),
        group=layout.sizes,
        k=k,
        gain="linear",
        empty=0.0,
        per_query=True,
    )
    values: FloatArray = found
    return values


def _add_up(clusters: Any, layout: QueryLayout, *values: FloatArray) -> list[FloatArray]:
    """Return sums over clusters of lists; a list must lie within one."""
    numbers = QueryLayout.from_qid(clusters, layout.n_rows)
    codes = np.empty(layout.n_rows, dtype=np.int64)
    codes[slice(None) if numbers.order is None else numbers.order] = np.repeat(
        np.arange(numbers.n_queries), numbers.sizes
    )
    by_list = layout.sort(codes)[layout.bounds[:-1]]
    return [as_numbers(np.bincount(by_list, each, numbers.n_queries), "sums") for each in values]
