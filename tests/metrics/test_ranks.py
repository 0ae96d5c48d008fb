"""The ranking of documents, against NumPy's sorts."""

import numpy as np
import pytest

from gbrank.metrics._ranks import check_cutoff, cutoffs, rank_queries

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "constant": lambda rng, n: np.zeros(n),
    "few values": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "outlier above": lambda rng, n: np.append(rng.normal(size=n - 1), 1e12),
    "outlier below": lambda rng, n: np.append(rng.normal(size=n - 1), -1e12),
    "long tail": lambda rng, n: np.exp(rng.normal(size=n) * 20),
    "whole range": lambda rng, n: rng.choice([-1.7e308, 1.7e308, 0.0, 1.0], n),
    "denormal": lambda rng, n: rng.integers(0, 9, n) * 5e-324,
    "signed zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.0], n),
    "close": lambda rng, n: 1.0 + rng.integers(0, 50, n) * np.finfo(float).eps,
    "sorted": lambda rng, n: np.arange(n, 0, -1.0),
    "reversed": lambda rng, n: np.arange(n, dtype=float),
    "clusters": lambda rng, n: rng.choice([0.0, 1e6], n) + rng.normal(size=n),
}


def _rank(scores, sizes, k, ties, labels=None):
    bounds = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = np.arange(len(scores), dtype=np.int32)
    labels = np.zeros(len(scores)) if labels is None else labels
    depths = cutoffs(np.asarray(sizes, dtype=np.int64), k)
    ranking = rank_queries(scores, bounds, depths, ties, rows, labels)
    for q, start in enumerate(bounds[:-1]):
        listed = slice(start, start + ranking.counts[q])
        yield ranking.codes[listed] - start, ranking.tied[listed]


@pytest.mark.parametrize("k", [None, 1, 3, 10, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_order_and_ties_are_those_of_a_stable_sort(shape, k):
    rng = np.random.default_rng(0)
    sizes = [1, 2, 5, 8, 9, 13, 16, 17, 40, 100, 301, 7]  # lists up to 16 are counted
    lists = [SHAPES[shape](rng, size) for size in sizes]
    labels = [rng.integers(0, 3, size).astype(float) for size in sizes]
    found = {
        ties: list(_rank(np.concatenate(lists), sizes, k, ties, np.concatenate(labels)))
        for ties in ("average", "stable", "reverse", "worst")
    }
    for q, (scores, judged) in enumerate(zip(lists, labels, strict=True)):
        size = len(scores)
        rows = np.arange(size)
        depth = {None: size, 0.3: max(1, int(np.ceil(0.3 * size - 1e-9)))}.get(k, k)
        depth = min(depth, size)
        lowest = np.sort(scores)[::-1][depth - 1]
        whole = int(np.count_nonzero(scores >= lowest))  # a tie at the cut-off is listed whole

        order, tied = found["average"][q]
        expected = np.lexsort((rows, -scores))[:whole]
        assert order.tolist() == expected.tolist()
        ranked = scores[expected]
        assert tied.tolist() == [*(ranked[1:] == ranked[:-1]).tolist(), False]

        order, tied = found["stable"][q]
        assert order[:depth].tolist() == expected[:depth].tolist()
        assert not tied.any()
        order, tied = found["reverse"][q]
        assert order[:depth].tolist() == np.lexsort((-rows, -scores))[:depth].tolist()
        assert not tied.any()
        order, tied = found["worst"][q]
        by_label = np.lexsort((judged, -scores))
        assert judged[order[:depth]].tolist() == judged[by_label][:depth].tolist()
        assert scores[order[:depth]].tolist() == scores[by_label][:depth].tolist()
        assert not tied.any()


def test_long_lists_whatever_their_scores_are_sorted_in_time():
    """Insertion alone would take minutes for these."""
    rng = np.random.default_rng(0)
    n = 100_000
    for scores in (np.exp(rng.normal(size=n) * 50), np.append(rng.normal(size=n - 1), 1e300)):
        ((order, _),) = _rank(scores, [n], None, "average")
        assert order.tolist() == np.argsort(-scores, kind="stable").tolist()


@pytest.mark.parametrize(
    ("k", "size", "expected"),
    [
        (None, 7, 7),
        (3, 7, 3),
        (10, 7, 10),
        (0.2, 10, 2),
        (0.2, 11, 3),
        (0.01, 7, 1),
        (1.0, 7, 7),
        (0.7, 10, 7),  # 0.7 * 10 is 7.000000000000001 in floats
        (np.float32(0.5), 9, 5),
        (np.int32(4), 9, 4),
    ],
)
def test_cutoffs_of_numbers_and_fractions(k, size, expected):
    assert cutoffs(np.array([size]), check_cutoff(k)).tolist() == [expected]
