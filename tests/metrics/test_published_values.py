"""Values that the tests of Rax, TensorFlow Ranking and ranx publish, written out as arithmetic."""

from math import log, log2

import pytest

from gbrank.metrics import (
    average_precision_score,
    dcg_score,
    ndcg_score,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_score,
)

METRICS = {
    "mrr": reciprocal_rank_score,
    "recall": recall_at_k,
    "precision": precision_at_k,
    "map": average_precision_score,
    "dcg": dcg_score,
    "ndcg": ndcg_score,
}
LINEAR = {"gain": "linear"}

# --- Rax: rax/_src/metrics_test.py ----------------------------------------------------------------
# A row: which test, labels, scores, then the metric, its options and the value.

FOUR = [0.0, 3.0, 1.0, 2.0]
TWO_RELEVANT = ("value", [0, 0, 1, 1], FOUR)  # ranks 4, 1, 3, 2
OTHER_ORDER = ("batch", [2, 0, 0, 1], [1.0, 4.0, 3.0, 2.0])  # ranks 4, 1, 2, 3
FIRST_OF_PAIR = ("reduced, first", [1, 0, 0], [2.0, 1.0, 3.0])  # ranks 2, 3, 1
SECOND_OF_PAIR = ("reduced, second", [0, 1, 2], [1.0, 0.5, 1.5])  # ranks 2, 3, 1
THREE_RELEVANT = ("topn", [1, 0, 1, 1], FOUR)
NONE_RELEVANT = ("no relevant", [0, 0, 0, 0], FOUR)
RAX = [
    (TWO_RELEVANT, "mrr", {}, 1 / 2),
    (TWO_RELEVANT, "recall", {"k": 4}, 1.0),
    (TWO_RELEVANT, "recall", {"k": 3}, 1.0),
    (TWO_RELEVANT, "precision", {"k": 4}, 0.5),
    (TWO_RELEVANT, "precision", {"k": 3}, 2 / 3),
    (TWO_RELEVANT, "map", {}, (0.5 + 2 / 3) / 2),
    (TWO_RELEVANT, "dcg", {}, 1 / log2(1 + 2) + 1 / log2(1 + 3)),
    (
        TWO_RELEVANT,
        "ndcg",
        {},
        (1 / log2(1 + 2) + 1 / log2(1 + 3)) / (1 / log2(1 + 1) + 1 / log2(1 + 2)),
    ),
    (OTHER_ORDER, "mrr", {}, 1 / 3),
    (OTHER_ORDER, "recall", {"k": 4}, 1.0),
    (OTHER_ORDER, "recall", {"k": 3}, 1 / 2),
    (OTHER_ORDER, "precision", {"k": 4}, 0.5),
    (OTHER_ORDER, "precision", {"k": 3}, 1 / 3),
    (OTHER_ORDER, "map", {}, (1 / 3 + 0.5) / 2),
    (OTHER_ORDER, "dcg", {}, 1 / log2(1 + 3) + (2**2 - 1) / log2(1 + 4)),
    (
        OTHER_ORDER,
        "ndcg",
        {},
        (1 / log2(1 + 3) + (2**2 - 1) / log2(1 + 4)) / ((2**2 - 1) / log2(1 + 1) + 1 / log2(1 + 2)),
    ),
    (FIRST_OF_PAIR, "mrr", {}, 1 / 2),
    (FIRST_OF_PAIR, "precision", {"k": 2}, 1 / 2),
    (FIRST_OF_PAIR, "recall", {"k": 2}, 1 / 1),
    (FIRST_OF_PAIR, "map", {}, 1 / 2),
    (FIRST_OF_PAIR, "dcg", {}, 1 / log2(1 + 2)),
    (FIRST_OF_PAIR, "ndcg", {}, 1 / log2(1 + 2)),
    (SECOND_OF_PAIR, "mrr", {}, 1.0),
    (SECOND_OF_PAIR, "precision", {"k": 2}, 1 / 2),
    (SECOND_OF_PAIR, "recall", {"k": 2}, 1 / 2),
    (SECOND_OF_PAIR, "map", {}, (1 + 2 / 3) / 2),
    (SECOND_OF_PAIR, "dcg", {}, 3 / log2(1 + 1) + 1 / log2(1 + 3)),
    (
        SECOND_OF_PAIR,
        "ndcg",
        {},
        (3 / log2(1 + 1) + 1 / log2(1 + 3)) / (3 + 1 / log2(1 + 2)),
    ),
    *((THREE_RELEVANT, name, {"k": 1}, 0.0) for name in METRICS),
    (THREE_RELEVANT, "mrr", {"k": 3}, 1 / 2),
    (THREE_RELEVANT, "recall", {"k": 3}, 2 / 3),
    (THREE_RELEVANT, "precision", {"k": 3}, 2 / 3),
    (THREE_RELEVANT, "map", {"k": 3}, (1 / 2 + 2 / 3) / 3),
    (THREE_RELEVANT, "dcg", {"k": 3}, 1 / log2(1 + 2) + 1 / log2(1 + 3)),
    (
        THREE_RELEVANT,
        "ndcg",
        {"k": 3},
        (1 / log2(1 + 2) + 1 / log2(1 + 3)) / (1 / log2(1 + 1) + 1 / log2(1 + 2) + 1 / log2(1 + 3)),
    ),
    *((NONE_RELEVANT, name, {"k": k}, 0.0) for name in ("recall", "precision") for k in (3, 4)),
    *((NONE_RELEVANT, name, {}, 0.0) for name in ("mrr", "map", "dcg", "ndcg")),
]

# --- TensorFlow Ranking: metrics_test.py and losses_impl_test.py ----------------------------------

ONE = ("one relevant", [0, 0, 1], [1.0, 3.0, 2.0])  # ranks 3, 1, 2
PERFECT = ("perfect", [0, 1, 2], [1.0, 2.0, 3.0])
IN_ORDER = ("in order", [1, 4, 1, 0], [4.0, 3.0, 2.0, 1.0])
FALLING = ("falling", [4, 2, 0, 3], [4.0, 3.0, 2.0, 1.0])
SORTED_RANKS = ("ranks 1, 3, 4, 2", [4, 2, 0, 3], [4.0, 2.0, 1.0, 3.0])
TENSORFLOW = [
    (ONE, "mrr", {}, 0.5),
    (PERFECT, "mrr", {}, 1.0),
    (ONE, "mrr", {"k": 1}, 0.0),
    (PERFECT, "mrr", {"k": 1}, 1.0),
    (ONE, "precision", {"k": 3}, 1 / 3),
    (ONE, "precision", {"k": 1}, 0 / 1),
    (ONE, "precision", {"k": 2}, 1 / 2),
    (PERFECT, "precision", {"k": 3}, 2 / 3),
    (ONE, "map", {}, (1 / 2) / 1),
    (ONE, "map", {"k": 1}, 0.0),
    (ONE, "map", {"k": 2}, (1 / 2) / 1),
    (PERFECT, "map", {}, (1 / 1 + 2 / 2) / 2),
    (ONE, "ndcg", {}, (1 / log2(3)) / (1 / log2(2))),
    (PERFECT, "ndcg", {}, 1.0),
    (ONE, "ndcg", {"gain": "linear", "discount": "zipf"}, (1 / 2) / (1 / 1)),
    (ONE, "dcg", {}, 1 / log2(3)),
    (PERFECT, "dcg", {}, 3 / log2(2) + 1 / log2(3)),
    (IN_ORDER, "ndcg", {}, 0.679685),
    (FALLING, "ndcg", {}, 0.95176),
    (SORTED_RANKS, "ndcg", {}, 1.0),
]

# --- ranx: tests/unit/ranx/metrics_test.py --------------------------------------------------------
# Documents in the order of the run; a relevant one that it misses comes last here.

SINGLE = ("second of five", [0, 1, 0, 0, 0], [5, 4, 3, 2, 1])
MISSED = ("missed", [0, 0, 0, 0, 1], [5, 4, 3, 2, 1])
OF_SEVEN = ("three of seven", [1, 0, 1, 1, 0, 0, 0], [7, 6, 5, 4, 3, 2, 1])
TWO_OF_SEVEN = ("two of seven", [1, 0, 0, 1, 0, 0, 0], [7, 6, 5, 4, 3, 2, 1])
FIVE_OF_RUN = ("run 1", [0, 5, 0, 4, 3, 2], [6, 5, 4, 3, 2, 1])
WITHOUT_GAPS = ("run 2", [2, 3, 5, 4, 0], [5, 4, 3, 2, 1])
BEST = 5 / log2(2) + 4 / log2(3) + 3 / log2(4) + 2 / log2(5)
BEST_EXP = 31 / log2(2) + 15 / log2(3) + 7 / log2(4) + 3 / log2(5)
FIRST_RUN = 5 / log2(3) + 4 / log2(5) + 3 / log2(6)
FIRST_RUN_EXP = 31 / log2(3) + 15 / log2(5) + 7 / log2(6)
SECOND_RUN = 2 / log2(2) + 3 / log2(3) + 5 / log2(4) + 4 / log2(5)
SECOND_RUN_EXP = 3 / log2(2) + 7 / log2(3) + 31 / log2(4) + 15 / log2(5)
RANX = [
    (SINGLE, "mrr", {"k": 5}, 0.5),
    (MISSED, "mrr", {"k": 4}, 0.0),
    (OF_SEVEN, "precision", {"k": 3}, 2 / 3),  # R-precision: three are relevant
    (TWO_OF_SEVEN, "precision", {"k": 2}, 1 / 2),
    (OF_SEVEN, "recall", {"k": 2}, 1 / 3),
    (TWO_OF_SEVEN, "recall", {"k": 2}, 1 / 2),
    (FIVE_OF_RUN, "dcg", {"k": 5, **LINEAR}, FIRST_RUN),
    (WITHOUT_GAPS, "dcg", {"k": 5, **LINEAR}, SECOND_RUN),
    (FIVE_OF_RUN, "ndcg", {"k": 5, **LINEAR}, FIRST_RUN / BEST),
    (WITHOUT_GAPS, "ndcg", {"k": 5, **LINEAR}, SECOND_RUN / BEST),
    (FIVE_OF_RUN, "dcg", {"k": 5}, FIRST_RUN_EXP),
    (WITHOUT_GAPS, "dcg", {"k": 5}, SECOND_RUN_EXP),
    (FIVE_OF_RUN, "ndcg", {"k": 5}, FIRST_RUN_EXP / BEST_EXP),
    (WITHOUT_GAPS, "ndcg", {"k": 5}, SECOND_RUN_EXP / BEST_EXP),
]


def name_of(row):
    return f"{row[0][0]}-{row[1]}-{row[2].get('k', 'all')}"


@pytest.mark.parametrize("row", RAX, ids=name_of)
def test_values_of_rax(row):
    (_, labels, scores), name, options, value = row
    found = METRICS[name](labels, scores, group=[len(labels)], empty=0.0, **options)
    assert found == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("row", TENSORFLOW, ids=name_of)
def test_values_of_tensorflow_ranking(row):
    (_, labels, scores), name, options, value = row
    found = METRICS[name](labels, scores, group=[len(labels)], **options)
    digits = 5e-6 if value in (0.679685, 0.95176) else 1e-12  # two are published in digits
    assert found == pytest.approx(value, abs=digits)


@pytest.mark.parametrize("row", RANX, ids=name_of)
def test_values_of_ranx(row):
    (_, labels, scores), name, options, value = row
    found = METRICS[name](labels, scores, group=[len(labels)], **options)
    assert found == pytest.approx(value, abs=1e-12)


def test_means_over_queries():
    """The mean of two queries, as all three average."""
    parts = (ONE, PERFECT)
    labels = [label for part in parts for label in part[1]]
    scores = [score for part in parts for score in part[2]]
    group = [3, 3]
    assert reciprocal_rank_score(labels, scores, group=group) == (0.5 + 1.0) / 2
    assert reciprocal_rank_score(labels, scores, group=group, k=1) == (0.0 + 1.0) / 2
    precision = precision_at_k(labels, scores, group=group, k=3)
    assert precision == pytest.approx((1 / 3 + 2 / 3) / 2, abs=1e-12)
    assert average_precision_score(labels, scores, group=group) == (1 / 2 + 1) / 2
    ndcg = ndcg_score(labels, scores, group=group)
    assert ndcg == pytest.approx((1 / log2(3) + 1) / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "k", "inverse"),
    [
        ([1, 4, 1, 0], None, 0.04297),
        ([4, 2, 0, 3], None, 0.033139),
        ([1, 4, 1, 0], 1, 0.04621),
        ([4, 2, 0, 3], 1, 0.04621),
    ],
)
def test_inverse_of_the_best_dcg_of_tensorflow_ranking(labels, k, inverse):
    """Their discount is 1 / log(1 + rank) with the natural logarithm."""
    best = dcg_score(labels, labels, group=[4], k=k) / log(2)
    assert 1 / best == pytest.approx(inverse, abs=5e-6)
