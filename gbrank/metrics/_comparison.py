"""Is the difference between two models real? Paired tests over queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import FloatArray, check_integer, check_query_weights
from gbrank.metrics._base import EmptySpec, Metric, layout_of, weighted_mean
from gbrank.metrics._evaluation import MetricsSpec, choose_metrics, evaluate, text_table
from gbrank.metrics._registry import get_metric
from gbrank.metrics.conventions import AVERAGE, SKIP

#: Differences of a query up to this size come from rounding and count as a tie.
ROUNDING = 1e-12
#: Numbers that a batch of resamples may hold at once: 32 MB.
_BATCH = 2**22


@dataclass(frozen=True)
class PairComparison:
    """Model ``a`` against model ``b``, query by query.

    Attributes
    ----------
    a, b : str
        Names of the models.
    mean_a, mean_b : float
        Their means over queries.
    difference : float
        ``mean_a - mean_b``.
    interval : tuple of float
        Bootstrap confidence interval of the difference.
    p_t, p_t_holm : float
        p-value of the paired t-test, and corrected for all pairs of models.
    p_permutation, p_permutation_holm : float
        The same of the random permutation test.
    won, tied, lost : int
        In how many queries ``a`` is better, equal, worse.
    differences : ndarray
        ``a - b`` for each query that counts.
    """

    a: str
    b: str
    mean_a: float
    mean_b: float
    difference: float
    interval: tuple[float, float]
    p_t: float
    p_t_holm: float
    p_permutation: float
    p_permutation_holm: float
    won: int
    tied: int
    lost: int
    differences: FloatArray = field(repr=False, compare=False)


class Comparison:
    """All pairs of models compared by one metric: see :func:`compare`.

    Attributes
    ----------
    metric : str
        Name of the metric.
    means : dict
        The models' means.
    pairs : list of PairComparison
        ``comparison["a", "b"]`` finds one.
    confidence : float
        Level of the intervals.
    n_queries : int
        How many queries count.
    n_left_out : int
        How many do not, as they are blank or have weight 0.
    """

    def __init__(
        self,
        metric: str,
        greater_is_better: bool,
        means: dict[str, float],
        pairs: list[PairComparison],
        confidence: float,
        n_queries: int,
        n_left_out: int,
    ) -> None:
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.means = means
        self.pairs = pairs
        self.confidence = confidence
        self.n_queries = n_queries
        self.n_left_out = n_left_out

    def __getitem__(self, models: tuple[str, str]) -> PairComparison:
        for pair in self.pairs:
            if (pair.a, pair.b) == models:
                return pair
        known = ", ".join(f"({pair.a!r}, {pair.b!r})" for pair in self.pairs)
        raise KeyError(f"no pair {models!r}; the pairs are {known}")

    def __str__(self) -> str:
        better = "greater" if self.greater_is_better else "smaller"
        level = f"{100 * self.confidence:g}% interval"
        rows = [
            [
                f"{pair.a} - {pair.b}",
                f"{pair.difference:+.4f}",
                f"[{pair.interval[0]:+.4f}, {pair.interval[1]:+.4f}]",
                _show_p(pair.p_t_holm),
                _show_p(pair.p_permutation_holm),
                f"{pair.won}/{pair.tied}/{pair.lost}",
            ]
            for pair in self.pairs
        ]
        means = [[name, f"{mean:.4f}"] for name, mean in self.means.items()]
        header = ["pair", "difference", level, "p (t)", "p (perm.)", "won/tied/lost"]
        corrected = f" p-values Holm-corrected for {len(rows)} pairs." if len(rows) > 1 else ""
        n_queries = f"{self.n_queries} queries"
        if self.n_left_out:
            n_queries = f"{self.n_queries} of {self.n_queries + self.n_left_out} queries"
            corrected += f" {self.n_left_out} left out: blank, or of weight 0."
        return (
            f"{self.metric} over {n_queries} ({better} is better).{corrected}\n\n"
            f"{text_table(['model', 'mean'], means)}\n\n{text_table(header, rows)}"
        )

    __repr__ = __str__

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row per pair of models."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_pandas needs pandas: pip install "gbrank[pandas]"') from error
        rows = []
        for pair in self.pairs:
            row = {name: getattr(pair, name) for name in PairComparison.__dataclass_fields__}
            row["interval_low"], row["interval_high"] = row.pop("interval")
            del row["differences"]
            rows.append(row)
        return pd.DataFrame(rows).set_index(["a", "b"])


class Comparisons(dict[str, Comparison]):
    """Models compared by several metrics: a dict of comparisons that prints as their tables."""

    def __str__(self) -> str:
        return "\n\n\n".join(map(str, self.values()))

    __repr__ = __str__


def _show_p(p_value: float) -> str:
    return "< .0001" if p_value < 1e-4 else f"{p_value:.4f}"


def compare(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    qid: Any = None,
    group: Any = None,
    metric: MetricsSpec = "ndcg@10",
    sample_weight: ArrayLike | None = None,
    empty: EmptySpec = SKIP,
    ties: str = AVERAGE,
    convention: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 9_999,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Any:
    """Compare models query by query: whether their difference is real or may be chance.

    Queries are taken as a sample of all queries. For each pair of models this gives the mean
    difference with a bootstrap interval (percentile method), the p-values (two-sided) of the
    paired t-test and of the random permutation test, which flips the signs of the differences at
    random, and in how many queries the first is better. With more than two models the p-values are
    also corrected by Holm's method for the number of pairs.

    Parameters
    ----------
    labels, qid, group, sample_weight, empty, ties, convention, n_jobs :
        As in :func:`gbrank.metrics.ndcg_score`. Weights are those of queries in the mean.
    scores : dict of array-like of shape (n_rows,)
        At least two models: their scores, one per row, by name.
    metric : str, Metric, or list or dict of them, default="ndcg@10"
        The name of a metric, or a metric object; or several, as in :func:`evaluate`.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    n_resamples : int, default=9_999
        Number of bootstrap samples, and of random sign flips (all flips are tried where these are
        fewer).
    random_state : int, default=0
        Seed of both.

    Returns
    -------
    Comparison, or dict of them
        Means, and a :class:`PairComparison` for each pair; it prints as a table. For several
        metrics one by the name of each: p-values are corrected for the pairs of models, not for the
        number of metrics.

    References
    ----------
    M. Smucker, J. Allan and B. Carterette, "A comparison of statistical significance tests for
    information retrieval evaluation", 2007. S. Holm, "A simple sequentially rejective multiple test
    procedure", 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.metrics import compare
    >>> rng = np.random.default_rng(0)
    >>> labels, group = rng.integers(0, 3, 1000), [10] * 100
    >>> models = {"good": labels + rng.normal(size=1000), "random": rng.normal(size=1000)}
    >>> result = compare(labels, models, group=group, metric="ndcg@5")
    >>> pair = result["good", "random"]
    >>> pair.interval[0] > 0, pair.p_permutation < 0.001, pair.won + pair.tied + pair.lost
    (True, True, 100)
    """
    if not isinstance(scores, Mapping) or len(scores) < 2:
        got = f"{len(scores)} of them" if isinstance(scores, Mapping) else type(scores).__name__
        raise ValueError(f"scores must be a dict of at least two models, got {got}")
    _check_resampling(confidence, n_resamples)
    options = {"empty": empty, "ties": ties, "convention": convention}
    chosen = choose_metrics(metric, **options)
    samples = _samples(labels, scores, qid, group, chosen, sample_weight, n_jobs)
    compared = Comparisons(
        {
            name: _compare(sample, chosen[name], confidence, n_resamples, random_state)
            for name, sample in samples.items()
        }
    )
    return next(iter(compared.values())) if isinstance(metric, str | Metric) else compared


def _compare(
    sample: _Sample, metric: Metric, confidence: float, n_resamples: int, random_state: int
) -> Comparison:
    names, means = list(sample.values), sample.means()
    pairs = list(combinations(names, 2))
    differences = np.array([sample.values[a] - sample.values[b] for a, b in pairs])
    differences[np.abs(differences) <= ROUNDING] = 0.0
    influence = sample.influence(differences)

    intervals = bootstrap_intervals(influence, confidence, n_resamples, random_state)
    p_t = [_t_test(row) for row in influence]
    p_permutation = [
        sign_flip_test(row, n_resamples, random_state) for row in sample.relative * differences
    ]
    p_t_holm, p_permutation_holm = holm(p_t), holm(p_permutation)
    better = differences if metric.greater_is_better else -differences
    compared = [
        PairComparison(
            a=a,
            b=b,
            mean_a=means[a],
            mean_b=means[b],
            difference=means[a] - means[b],
            interval=intervals[i],
            p_t=p_t[i],
            p_t_holm=p_t_holm[i],
            p_permutation=p_permutation[i],
            p_permutation_holm=p_permutation_holm[i],
            won=int(np.count_nonzero(better[i] > 0)),
            tied=int(np.count_nonzero(better[i] == 0)),
            lost=int(np.count_nonzero(better[i] < 0)),
            differences=differences[i],
        )
        for i, (a, b) in enumerate(pairs)
    ]
    return Comparison(
        sample.metric,
        metric.greater_is_better,
        means,
        compared,
        confidence,
        len(sample.relative),
        sample.n_left_out,
    )


@dataclass(frozen=True)
class _Sample:
    """The queries that count: the value of each for every model, and its weight.

    Attributes
    ----------
    metric : str
        Name of the metric.
    values : dict of ndarray of shape (n_counted,)
        One value per query, by model.
    weights : ndarray of shape (n_counted,) or None
        As given.
    relative : ndarray of shape (n_counted,)
        Weights of mean 1.
    n_left_out : int
        How many queries do not count.
    """

    metric: str
    values: dict[str, FloatArray]
    weights: FloatArray | None
    relative: FloatArray
    n_left_out: int

    def means(self) -> dict[str, float]:
        """Return the weighted mean of every model."""
        return {
            name: weighted_mean(row, self.weights, self.metric) for name, row in self.values.items()
        }

    def influence(self, values: FloatArray) -> FloatArray:
        """Return what each query adds to the weighted mean of each row of values.

        To first order: its weight is random as well.
        """
        middle = (self.relative * values).mean(axis=1, keepdims=True)
        influence: FloatArray = middle + self.relative * (values - middle)
        return influence


def _samples(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    qid: Any,
    group: Any,
    metrics: dict[str, Metric],
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
) -> dict[str, _Sample]:
    """Measure models by each metric; leave out blank queries and those of weight 0."""
    table = evaluate(
        labels, scores, qid=qid, group=group, metrics=metrics, per_query=True, n_jobs=n_jobs
    )
    weights = None
    if sample_weight is not None:
        weights = check_query_weights(sample_weight, layout_of(labels, qid, group))
    samples = {}
    for name, values in table.items():
        counted = ~np.isnan(values[0])
        if weights is not None:
            counted &= weights > 0
        n_counted = int(np.count_nonzero(counted))
        if n_counted < 2:
            raise ValueError(
                f"{name}: at least two queries must count for an interval, but {n_counted} of "
                f"{len(counted)} do: the others are blank or have weight 0"
            )
        kept = None if weights is None else weights[counted]
        samples[name] = _Sample(
            name,
            dict(zip(table.models, values[:, counted], strict=True)),
            kept,
            np.ones(n_counted) if kept is None else kept / kept.mean(),
            len(counted) - n_counted,
        )
    return samples


def mean_intervals(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    qid: Any = None,
    group: Any = None,
    metric: str | Metric = "ndcg@10",
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 9_999,
    random_state: int = 0,
) -> dict[str, tuple[float, float, float]]:
    """Return the mean of a metric for each model, with a bootstrap interval over queries.

    Parameters
    ----------
    labels, qid, group, metric, sample_weight, confidence, n_resamples, random_state :
        As in :func:`gbrank.metrics.compare`.
    scores : dict of array-like of shape (n_rows,)
        One model or several: their scores, one per row, by name.

    Returns
    -------
    dict of tuples
        Mean, low and high end of the interval, by model.

    Examples
    --------
    >>> from gbrank.metrics import mean_intervals
    >>> scores = {"model": [1, 2, 2, 1, 1, 2]}
    >>> mean_intervals([0, 1, 1, 0, 1, 1], scores, group=[2, 2, 2], metric="ndcg@1")
    {'model': (1.0, 1.0, 1.0)}
    """
    _check_resampling(confidence, n_resamples)
    chosen = get_metric(metric)
    (sample,) = _samples(
        labels, scores, qid, group, {chosen.full_name: chosen}, sample_weight, None
    ).values()
    influence = sample.influence(np.array(list(sample.values.values())))
    intervals = bootstrap_intervals(influence, confidence, n_resamples, random_state)
    ends = dict(zip(sample.values, intervals, strict=True))
    return {name: (mean, *ends[name]) for name, mean in sample.means().items()}


def bootstrap_intervals(
    values: FloatArray, confidence: float, n_resamples: int, random_state: int
) -> list[tuple[float, float]]:
    """Return the percentile interval of the mean of each row; all rows share their samples.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_queries)
        What is averaged.
    confidence : float
        Level of the intervals, between 0 and 1.
    n_resamples : int
        Number of bootstrap samples.
    random_state : int
        Their seed.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.metrics import bootstrap_intervals
    >>> ((low, high),) = bootstrap_intervals(np.array([[0.0, 1.0, 1.0, 0.0]]), 0.9, 999, 0)
    >>> 0.0 <= low < 0.5 < high <= 1.0
    True
    """
    from scipy import stats

    found = stats.bootstrap(
        (values,),
        np.mean,
        axis=-1,
        confidence_level=confidence,
        n_resamples=n_resamples,
        method="percentile",
        vectorized=True,
        batch=max(1, _BATCH // values.size),
        **_seed(stats.bootstrap, random_state),
    ).confidence_interval
    return [(float(low), float(high)) for low, high in zip(found.low, found.high, strict=True)]


def _t_test(influence: FloatArray) -> float:
    """Return the p-value of the paired t-test; the same difference in all queries is certain."""
    if np.ptp(influence) == 0.0:
        return 0.0 if influence[0] else 1.0
    from scipy import stats

    return float(stats.ttest_1samp(influence, 0.0).pvalue)


def sign_flip_test(
    differences: FloatArray, n_resamples: int, random_state: int, precision: float = 0.0
) -> float:
    """Return the two-sided p-value of the random permutation test of paired differences.

    If two models were alike, each query could as well have given the opposite difference. The
    p-value is the share of random signs that make the mean at least as large as it is; the signs
    found count among them. All signs are tried where these are fewer than ``n_resamples``.
    SciPy's ``permutation_test`` gives the same, some twenty times more slowly.

    Parameters
    ----------
    differences : ndarray of shape (n_queries,)
        One difference per query.
    n_resamples : int
        Number of random signs to try.
    random_state : int
        Their seed.
    precision : float, default=0.0
        By how much each difference may be wrong, rounded to float32 for instance. Sums that are as
        large within the error of a sum count as as large: values like 1/3, of which sums are often
        equal, otherwise get p-values that are too small.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.metrics import sign_flip_test
    >>> sign_flip_test(np.array([1.0, 2.0, 3.0]), 9_999, 0)  # two of the eight signs: all, none
    0.25
    """
    n = len(differences)
    total = differences.sum()
    as_large = abs(total) * (1.0 - 1e-12) - n * precision
    all_signs = n < 63 and 2**n <= n_resamples
    rng = np.random.default_rng(random_state)
    found, tried = 0, 2**n if all_signs else n_resamples
    batch = max(1, _BATCH // n)
    for low in range(0, tried, batch):
        size = min(batch, tried - low)
        if all_signs:
            flipped: NDArray[Any] = np.arange(low, low + size)[:, None] >> np.arange(n) & 1
        else:
            packed = rng.integers(0, 256, (size, -(-n // 8)), dtype=np.uint8)
            flipped = np.unpackbits(packed, axis=1, count=n)
        sums = total - 2.0 * (flipped.astype(np.float64) @ differences)
        found += int(np.count_nonzero(np.abs(sums) >= as_large))
    return found / tried if all_signs else (found + 1) / (tried + 1)


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method.

    The smallest of n is multiplied by n, the next by n - 1, and so on; none falls below one that
    was smaller.

    Parameters
    ----------
    p_values : list of float
        The p-values of all tests.

    Examples
    --------
    >>> from gbrank.metrics import holm
    >>> holm([0.02, 0.01, 0.5])
    [0.04, 0.03, 0.5]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for done, at in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[at]))
        corrected[at] = largest
    return corrected


def _seed(function: Any, random_state: int) -> dict[str, Any]:
    """Return the seed under the name that this version of SciPy has for it."""
    name = "rng" if "rng" in signature(function).parameters else "random_state"
    return {name: np.random.default_rng(random_state)}


def _check_resampling(confidence: Any, n_resamples: Any) -> None:
    if not (isinstance(confidence, float) and math.isfinite(confidence) and 0 < confidence < 1):
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}")
    check_integer("n_resamples", n_resamples, low=1)
