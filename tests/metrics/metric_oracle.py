"""Slow, plain definitions of the metrics for one query, and of ties by trying every order.

A metric here takes the labels in the order of their ranks (no ties left) and a cut-off.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from statistics import mean

Metric = Callable[[Sequence[float], int], float]


def gain(label: float) -> float:
    return 2.0**label - 1.0


def dcg(ranked: Sequence[float], k: int) -> float:
    return sum(gain(label) / math.log2(rank + 1) for rank, label in enumerate(ranked[:k], 1))


def ndcg(ranked: Sequence[float], k: int) -> float:
    return dcg(ranked, k) / dcg(sorted(ranked, reverse=True), k)


def err(ranked: Sequence[float], k: int, max_grade: float = 4.0) -> float:
    total, reading = 0.0, 1.0
    for rank, label in enumerate(ranked[:k], 1):
        satisfied = gain(label) / 2.0**max_grade
        total += reading * satisfied / rank
        reading *= 1.0 - satisfied
    return total


def precision(ranked: Sequence[float], k: int) -> float:
    return sum(label > 0 for label in ranked[:k]) / k


def normalized_precision(ranked: Sequence[float], k: int) -> float:
    return sum(ranked[:k]) / sum(sorted(ranked, reverse=True)[:k])


def recall(ranked: Sequence[float], k: int) -> float:
    return sum(label > 0 for label in ranked[:k]) / sum(label > 0 for label in ranked)


def average_precision(ranked: Sequence[float], k: int) -> float:
    hits = [precision(ranked, rank) for rank, label in enumerate(ranked[:k], 1) if label > 0]
    return sum(hits) / sum(label > 0 for label in ranked)


def reciprocal_rank(ranked: Sequence[float], k: int) -> float:
    return next((1.0 / rank for rank, label in enumerate(ranked[:k], 1) if label > 0), 0.0)


def pairwise_disagreement(ranked: Sequence[float], k: int) -> float:
    pairs = [(a, b) for a, b in itertools.combinations(ranked, 2) if a != b]
    return sum(a < b for a, b in pairs) / len(pairs)


def topk_zero_one(ranked: Sequence[float], k: int) -> float:
    return float(list(ranked[:k]) != sorted(ranked, reverse=True)[:k])


def spearman(ranked: Sequence[float], k: int) -> float:
    m = len(ranked)
    by_score = range(1, m + 1)
    by_label = [
        mean(at for at, other in enumerate(sorted(ranked, reverse=True), 1) if other == label)
        for label in ranked
    ]
    middle = (m + 1) / 2
    covariance = sum((a - middle) * (b - middle) for a, b in zip(by_score, by_label, strict=True))
    spread = math.sqrt(sum((a - middle) ** 2 for a in by_score))
    return covariance / spread / math.sqrt(sum((b - middle) ** 2 for b in by_label))


#: The definition of every registered metric, and whether larger is better.
METRICS: dict[str, tuple[Metric, bool]] = {
    "dcg": (dcg, True),
    "ndcg": (ndcg, True),
    "err": (err, True),
    "map": (average_precision, True),
    "mrr": (reciprocal_rank, True),
    "precision": (precision, True),
    "recall": (recall, True),
    "pairwise_disagreement": (pairwise_disagreement, False),
    "topk_zero_one": (topk_zero_one, False),
    "spearman": (spearman, True),
}
WITHOUT_CUTOFF = {"pairwise_disagreement", "spearman"}


def orders(scores: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """Yield every order of the documents in which the scores do not increase."""
    for order in itertools.permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            yield order


def by_enumeration(
    metric: Metric,
    higher_is_better: bool,
    labels: Sequence[float],
    scores: Sequence[float],
    k: int,
    ties: str,
) -> float:
    """Return the value of one query under a tie policy, by trying every order."""
    rows = range(len(labels))
    if ties == "stable":
        return metric([labels[i] for i in sorted(rows, key=lambda i: (-scores[i], i))], k)
    if ties == "reverse":
        return metric([labels[i] for i in sorted(rows, key=lambda i: (-scores[i], -i))], k)
    values = [metric([labels[i] for i in order], k) for order in orders(scores)]
    if ties == "average":
        return mean(values)
    return min(values) if higher_is_better else max(values)
