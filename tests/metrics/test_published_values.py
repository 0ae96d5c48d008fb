"""Values that the tests of Rax, TensorFlow Ranking and ranx publish, written out as arithmetic."""

from math import log, log2

import pytest

from gbrank.metrics import (
    average_precision_score,
    dcg_score,
    ndcg_score,
    pairwise_disagreement,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_score,
)


def ordered_pairs(*arguments, **options):
    """Ordered pair accuracy, which a list without a pair has not: both call it 0."""
    return 1.0 - pairwise_disagreement(*arguments, **{**options, "empty": 1.0})


METRICS = {
    "opa": ordered_pairs,
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
    (TWO_RELEVANT, "opa", {}, 2 / 4),
    (OTHER_ORDER, "opa", {}, 0 / 4),
    (FIRST_OF_PAIR, "opa", {}, 1 / 2),
    (SECOND_OF_PAIR, "opa", {}, 2 / 3),
    (NONE_RELEVANT, "opa", {}, 0.0),
    *((THREE_RELEVANT, name, {"k": 1}, 0.0) for name in METRICS if name != "opa"),
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

# --- TensorFlow Ranking: metrics_impl_test.py, in the order of that file --------------------------
# What it masks or pads is left out here; a hit is a recall where one document is relevant.

FIRST = ("first of three", [1, 0, 0], [3.0, 2.0, 1.0])
MIDDLE = ("second of three", [0, 1, 0], [3.0, 2.0, 1.0])
LAST = ("third of three", [0, 0, 1], [3.0, 2.0, 1.0])
BLANK = ("blank", [0, 0, 0], [1.0, 3.0, 2.0])
PAIR = ("pair in order", [0, 1], [1.0, 2.0])
UP = ("two of three", [0, 1, 1], [1.0, 2.0, 3.0])
MASKED = ("masked", [0, 1, 0, 1], [5.0, 3.0, 2.0, 1.0])
FOUR_LAST = ("third of four", [0, 0, 1, 0], [1.0, 3.0, 2.0, 4.0])
ENDS = ("graded ends", [1, 0, 2], [1.0, 2.0, 3.0])
FIRST_AND_LAST = ("first and last", [1, 0, 1], [1.0, 3.0, 2.0])
TOP_TWO = ("top two", [0, 1, 1], [1.0, 3.0, 4.0])
BOTH = ("two of four", [0, 0, 1, 1], [1.0, 3.0, 2.0, 4.0])
ONE_OF_FOUR = ("one of four", [0, 0, 1, 0], [4.0, 1.0, 3.0, 2.0])
OUTER = ("outer two", [1, 0, 1], [3.0, 2.0, 1.0])
OUTER_GRADED = ("outer two, graded", [1, 0, 2], [3.0, 2.0, 1.0])
TWO_LEFT = ("masked to two", [0, 1], [4.0, 3.0])
GRADES = ("three grades", [0, 2, 1, 3], [3.0, 4.0, 1.0, 2.0])
SECOND_THIRD = ("second and third", [0, 1, 1], [1.0, 3.0, 2.0])
THIRD_OF_FOUR = ("ragged four", [0, 0, 1, 0], [1.0, 4.0, 3.0, 2.0])
TWO_BELOW = ("ragged three", [1, 1, 0], [1.0, 3.0, 2.0])
GRADED = ("graded", [0, 3, 1, 0], [4.0, 3.0, 2.0, 1.0])
THREE_LEFT = ("masked to three", [2, 1, 0], [1.0, 3.0, 2.0])
RAGGED = ("ragged, two of four", [1, 1, 0, 0], [4.0, 1.0, 2.0, 3.0])
OF_THREE = ("first and third", [1, 1, 0], [3.0, 1.0, 2.0])


def tenth(rank):
    """The discount of their own in two of their tests."""
    return 1 / (rank + 10)


BEST_OF_GRADED = 7 / log2(2) + 1 / log2(3)
TENSORFLOW_LISTS = [
    # MRR
    (ONE, "mrr", {}, 1 / 2),
    (BLANK, "mrr", {}, 0.0),
    (ONE, "mrr", {"k": 1}, 0.0),
    *((FIRST, "mrr", {"k": k}, 1.0) for k in (1, 2, 6)),
    *((MIDDLE, "mrr", {"k": k}, value) for k, value in ((1, 0.0), (2, 1 / 2), (6, 1 / 2))),
    *((LAST, "mrr", {"k": k}, value) for k, value in ((1, 0.0), (2, 0.0), (6, 1 / 3))),
    (PAIR, "mrr", {}, 1.0),
    (("ragged", [0, 1, 0], [1.0, 2.0, 3.0]), "mrr", {}, 1 / 2),
    (UP, "mrr", {}, 1.0),
    # hits
    (ONE, "recall", {}, 1.0),
    (ONE, "recall", {"k": 1}, 0.0),
    *((FIRST, "recall", {"k": k}, 1.0) for k in (1, 2, 6)),
    *((MIDDLE, "recall", {"k": k}, value) for k, value in ((1, 0.0), (2, 1.0), (6, 1.0))),
    *((LAST, "recall", {"k": k}, value) for k, value in ((1, 0.0), (2, 0.0), (6, 1.0))),
    (PAIR, "recall", {"k": 1}, 1.0),
    # recall
    (BLANK, "recall", {}, 0.0),
    (MASKED, "recall", {"k": 3}, 1 / 2),
    (FOUR_LAST, "recall", {"k": 2}, 0 / 1),
    (ENDS, "recall", {"k": 2}, 1 / 2),
    *((ONE, "recall", {"k": k}, value) for k, value in ((2, 1.0), (6, 1.0))),
    (FIRST_AND_LAST, "recall", {"k": 2}, 1 / 2),
    (TOP_TWO, "recall", {"k": 2}, 1.0),
    # precision; without a cut-off, or beyond the list, theirs is at its length
    (ONE, "precision", {"k": 3}, 1 / 3),
    (BLANK, "precision", {"k": 3}, 0.0),
    (BOTH, "precision", {"k": 4}, 2 / 4),
    (ONE_OF_FOUR, "precision", {"k": 4}, 1 / 4),
    *((OUTER, "precision", {"k": k}, value) for k, value in ((1, 1 / 1), (2, 1 / 2), (3, 2 / 3))),
    *((MIDDLE, "precision", {"k": k}, value) for k, value in ((1, 0 / 1), (2, 1 / 2), (3, 1 / 3))),
    *((LAST, "precision", {"k": k}, value) for k, value in ((1, 0 / 1), (2, 0 / 2), (3, 1 / 3))),
    (TWO_LEFT, "precision", {"k": 2}, 1 / 2),
    (FOUR_LAST, "precision", {"k": 4}, 1 / 4),
    (ENDS, "precision", {"k": 3}, 2 / 3),
    # MAP
    (MIDDLE, "map", {}, (1 / 2) / 1),
    (GRADES, "map", {}, (1 + 2 / 3 + 3 / 4) / 3),
    (BLANK, "map", {}, 0.0),
    (ONE, "map", {}, (1 / 2) / 1),
    (SECOND_THIRD, "map", {}, (1 / 1 + 2 / 2) / 2),
    (THIRD_OF_FOUR, "map", {}, (1 / 2) / 1),
    (TWO_BELOW, "map", {}, (1 / 1 + 2 / 3) / 2),
    *((OUTER_GRADED, "map", {"k": k}, value) for k, value in ((1, 1 / 2), (2, 1 / 2))),
    (OUTER_GRADED, "map", {"k": 6}, (1 + 2 / 3) / 2),
    *((MIDDLE, "map", {"k": k}, value) for k, value in ((1, 0 / 1), (2, 1 / 2), (6, 1 / 2))),
    *((LAST, "map", {"k": k}, value) for k, value in ((1, 0 / 1), (2, 0 / 1), (6, 1 / 3))),
    # NDCG
    (MIDDLE, "ndcg", {}, (1 / log2(3)) / (1 / log2(2))),
    (BLANK, "ndcg", {}, 0.0),
    (GRADED, "ndcg", {}, (7 / log2(3) + 1 / log2(4)) / BEST_OF_GRADED),
    (
        GRADED,
        "ndcg",
        {"gain": lambda label: label / 2},
        (1.5 / log2(3) + 0.5 / log2(4)) / (1.5 / log2(2) + 0.5 / log2(3)),
    ),
    (
        GRADED,
        "ndcg",
        {"discount": tenth},
        (7 / (2 + 10) + 1 / (3 + 10)) / (7 / (1 + 10) + 1 / (2 + 10)),
    ),
    (THREE_LEFT, "ndcg", {}, (3 / log2(4) + 1 / log2(2)) / (3 / log2(2) + 1 / log2(3))),
    (RAGGED, "ndcg", {}, (1 / log2(2) + 1 / log2(5)) / (1 / log2(2) + 1 / log2(3))),
    (OF_THREE, "ndcg", {}, (1 / log2(2) + 1 / log2(4)) / (1 / log2(2) + 1 / log2(3))),
    (OUTER_GRADED, "ndcg", {"k": 1}, (1 / log2(2)) / (3 / log2(2))),
    (OUTER_GRADED, "ndcg", {"k": 2}, (1 / log2(2)) / (3 / log2(2) + 1 / log2(3))),
    (
        OUTER_GRADED,
        "ndcg",
        {"k": 6},
        (1 / log2(2) + 3 / log2(4)) / (3 / log2(2) + 1 / log2(3)),
    ),
    *((MIDDLE, "ndcg", {"k": k}, value) for k, value in ((1, 0.0), (2, 1 / log2(3)))),
    (MIDDLE, "ndcg", {"k": 6}, 1 / log2(3)),
    *((LAST, "ndcg", {"k": k}, value) for k, value in ((1, 0.0), (2, 0.0), (6, 1 / log2(4)))),
    # DCG
    (MIDDLE, "dcg", {}, 1 / log2(3)),
    (BLANK, "dcg", {}, 0.0),
    (GRADED, "dcg", {}, 7 / log2(3) + 1 / log2(4)),
    (GRADED, "dcg", {"gain": lambda label: label / 2}, 1.5 / log2(3) + 0.5 / log2(4)),
    (GRADED, "dcg", {"discount": tenth}, 7 / (2 + 10) + 1 / (3 + 10)),
    (THREE_LEFT, "dcg", {}, 3 / log2(4) + 1 / log2(2)),
    (RAGGED, "dcg", {}, 1 / log2(2) + 1 / log2(5)),
    (OF_THREE, "dcg", {}, 1 / log2(2) + 1 / log2(4)),
    *((OUTER_GRADED, "dcg", {"k": k}, 1 / log2(2)) for k in (1, 2)),
    (OUTER_GRADED, "dcg", {"k": 6}, 1 / log2(2) + 3 / log2(4)),
    *((MIDDLE, "dcg", {"k": k}, value) for k, value in ((1, 0.0), (2, 1 / log2(3)))),
    (MIDDLE, "dcg", {"k": 6}, 1 / log2(3)),
    *((LAST, "dcg", {"k": k}, value) for k, value in ((1, 0.0), (2, 0.0), (6, 1 / log2(4)))),
    # ordered pairs
    (MIDDLE, "opa", {}, 1 / 2),
    (BLANK, "opa", {}, 0.0),
    (("graded pairs", [1, 3, 0, 1], [4.0, 3.0, 2.0, 1.0]), "opa", {}, 3 / 5),
    (("masked pairs", [2, 1, 0], [4.0, 2.0, 3.0]), "opa", {}, 2 / 3),
    (("ragged pairs", [1, 0, 1, 0], [4.0, 1.0, 2.0, 3.0]), "opa", {}, 3 / 4),
    (("pairs of three", [1, 0, 1], [3.0, 1.0, 2.0]), "opa", {}, 2 / 2),
]

# --- Rax, lists named by segments: query ids here, in any order -----------------------------------

SCORES = [0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 5.0, 6.0]
LABELS = [0, 1, 2, 0, 0, 0, 2, 1]
SEGMENTS = [0, 1, 0, 1, 1, 2, 4, 2]  # ranks of the relevant: 1; 3; 2; 1
IN_BATCH = [0, 0, 1, 1, 2, 3, 3, 4]  # 1; 2; none; 2; 1
KEPT, OF_KEPT = [0, 1, 2, 4, 5, 7], [0, 0, 1, 1, 2, 4]  # without two masked ones: 1; 2; none; 1
RAX_SEGMENTS = [
    (SEGMENTS, "mrr", {}, (1 + 1 / 3 + 1 / 2 + 1) / 4),
    (SEGMENTS, "precision", {"k": 1}, (1 + 0 + 0 + 1) / 4),
    (SEGMENTS, "recall", {"k": 1}, (1 + 0 + 0 + 1) / 4),
    (SEGMENTS, "map", {}, (1 + 1 / 3 + 1 / 2 + 1) / 4),
    (SEGMENTS, "dcg", {}, (3 + 1 / log2(4) + 1 / log2(3) + 3) / 4),
    (SEGMENTS, "ndcg", {}, (1 + 1 / log2(4) + 1 / log2(3) + 1) / 4),
    (SEGMENTS, "mrr", {"k": 2}, (1 + 0 + 1 / 2 + 1) / 4),
    (SEGMENTS, "recall", {"k": 2}, (1 + 0 + 1 + 1) / 4),
    (SEGMENTS, "map", {"k": 2}, (1 + 0 + 1 / 2 + 1) / 4),
    (SEGMENTS, "dcg", {"k": 2}, (3 + 0 + 1 / log2(3) + 3) / 4),
    (SEGMENTS, "ndcg", {"k": 2}, (1 + 0 + 1 / log2(3) + 1) / 4),
    (IN_BATCH, "mrr", {}, (1 + 1 / 2 + 0 + 1 / 2 + 1) / 5),
    (IN_BATCH, "precision", {"k": 1}, (1 + 0 + 0 + 0 + 1) / 5),
    (IN_BATCH, "recall", {"k": 1}, (1 + 0 + 0 + 0 + 1) / 5),
    (IN_BATCH, "map", {}, (1 + 1 / 2 + 0 + 1 / 2 + 1) / 5),
    (IN_BATCH, "dcg", {}, (1 + 3 / log2(3) + 0 + 3 / log2(3) + 1) / 5),
    (IN_BATCH, "ndcg", {}, (1 + 1 / log2(3) + 0 + 1 / log2(3) + 1) / 5),
    (OF_KEPT, "mrr", {}, (1 + 1 / 2 + 0 + 1) / 4),
    (OF_KEPT, "precision", {"k": 1}, (1 + 0 + 0 + 1) / 4),
    (OF_KEPT, "recall", {"k": 1}, (1 + 0 + 0 + 1) / 4),
    (OF_KEPT, "map", {}, (1 + 1 / 2 + 0 + 1) / 4),
    (OF_KEPT, "dcg", {}, (1 + 3 / log2(3) + 0 + 1) / 4),
    (OF_KEPT, "ndcg", {}, (1 + 1 / log2(3) + 0 + 1) / 4),
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


@pytest.mark.parametrize("row", TENSORFLOW_LISTS, ids=name_of)
def test_values_of_lists_of_tensorflow_ranking(row):
    (_, labels, scores), name, options, value = row
    found = METRICS[name](labels, scores, group=[len(labels)], empty=0.0, **options)
    assert found == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("row", RAX_SEGMENTS, ids=lambda row: f"{row[1]}-{row[0]}-{row[2]}")
def test_segments_of_rax(row):
    qid, name, options, value = row
    rows = range(len(LABELS)) if len(qid) == len(LABELS) else KEPT
    labels, scores = [LABELS[i] for i in rows], [SCORES[i] for i in rows]
    found = METRICS[name](labels, scores, qid=qid, empty=0.0, **options)
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
