"""The trees of a booster, as engines can decide them: numbers are compared, nothing else.

LightGBM's decision at a split is more than ``x <= threshold``. Values within 1e-35 of zero are
zero. What is missing depends on the split: nothing (NaN is zero), NaN, or zero and NaN; and what is
missing goes where the split says. Here a split sends ``x <= threshold`` left and NaN where
``missing_left`` says, and gives the same answer for every number, infinities and denormals too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: What is not further from zero is zero for LightGBM; a float32 number.
ZERO = float(np.float32(1e-35))
_BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))
# JSON readers of engines follow trees by recursion, and so does this file.
_GREATEST_DEPTH = 300
# How much larger a model may become where zero is missing and goes against the threshold.
_GREATEST_GROWTH = 10


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a tree adds to the score."""

    value: float


@dataclass(frozen=True, slots=True)
class Split:
    """``x <= threshold`` goes left; NaN goes left if ``missing_left``."""

    feature: int
    threshold: float
    missing_left: bool
    left: "Split | Leaf"
    right: "Split | Leaf"


Node = Split | Leaf


@dataclass(frozen=True)
class Dump:
    """A booster as LightGBM's ``dump_model`` tells of it.

    Attributes
    ----------
    booster, num_iteration : the booster, and how many trees count, for ``Booster.predict``.
    roots : the nested nodes of each tree.
    names : of all features.
    divisor : what the sum of the trees is divided by.
    categories : of pandas columns, in the order of the columns.
    """

    booster: Any
    num_iteration: int | None
    roots: list[dict[str, Any]]
    names: list[str]
    divisor: int
    categories: list[list[Any]]


def dump_of(model: Any, num_iteration: int | None = None) -> Dump:
    """Return the trees of a Booster, or of a fitted estimator that has one.

    Parameters
    ----------
    model : ``lightgbm.Booster``, or an estimator with ``booster_``. A start that is not made of
        trees is refused.
    num_iteration : number of trees, those of a start included; ``None`` for as many as predict.
    """
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "dump_model"):
        raise TypeError(
            "model must be a lightgbm.Booster or a fitted estimator with booster_, such as "
            f"Ranker, got {type(model).__name__}"
        )
    start = getattr(model, "start_kind_", "zero")
    if start not in ("zero", "linear"):
        raise ValueError(
            f"the model starts from {start!r}, which is not made of trees: only the starts 'zero' "
            "and 'linear' are part of its trees"
        )
    if num_iteration is None and hasattr(model, "n_start_trees_"):
        best = model.best_iteration_
        num_iteration = best + model.n_start_trees_ if best > 0 else -1
    try:
        dumped = booster.dump_model(num_iteration=num_iteration)
    except RecursionError:
        raise ValueError(
            "a tree of the model is too deep to be read: it is nearly a list"
        ) from None
    if dumped["num_tree_per_iteration"] != 1:
        raise ValueError(
            "the model must have one score a row, but it is of "
            f"{dumped['num_tree_per_iteration']} classes"
        )
    roots = [tree["tree_structure"] for tree in dumped["tree_info"]]
    if not roots:
        raise ValueError("the model has no trees")
    for number, root in enumerate(roots):
        if any("leaf_coeff" in node for node in nodes_of(root)):
            raise ValueError(
                f"tree {number} has linear leaves (linear_tree=True), which are not supported: "
                "train without them"
            )
    return Dump(
        booster=booster,
        num_iteration=num_iteration,
        roots=roots,
        names=[str(name) for name in dumped["feature_names"]],
        divisor=len(roots) if dumped.get("average_output") else 1,
        categories=dumped.get("pandas_categorical") or [],
    )


def nodes_of(root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return all nodes of a dumped tree, splits before what is below them, left before right."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if "left_child" in node:
            waiting += [node["right_child"], node["left_child"]]


def plain_trees(dump: Dump) -> list[Node]:
    """Return the trees with splits that only compare; refuse those that cannot be written so."""
    trees = [_plain(root, number, dump) for number, root in enumerate(dump.roots)]
    before = sum(1 for root in dump.roots for _ in nodes_of(root))
    after = sum(_count_nodes(tree, {}) for tree in trees)
    if after > _GREATEST_GROWTH * before:
        raise ValueError(
            "zero counts as missing in this model (zero_as_missing=True) and often goes against "
            f"the threshold: written without that rule its {before} nodes would become {after}. "
            "Train with zero_as_missing=False"
        )
    return trees


def splits_of(trees: Sequence[Node]) -> Iterator[Split]:
    """Return all splits of some trees."""
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Split):
            yield node
            waiting += [node.left, node.right]


def _plain(root: dict[str, Any], number: int, dump: Dump) -> Node:
    def convert(node: dict[str, Any], depth: int) -> Node:
        if "left_child" not in node:
            return Leaf(float(node["leaf_value"]) / dump.divisor)
        if node["decision_type"] != "<=":
            name = dump.names[node["split_feature"]]
            raise ValueError(
                f"tree {number} splits the categorical feature {name!r}, which search engines "
                "cannot: encode it as numbers and train again"
            )
        if depth >= _GREATEST_DEPTH:
            raise ValueError(
                f"tree {number} is deeper than {_GREATEST_DEPTH} levels, more than readers of "
                "JSON take: train with max_depth"
            )
        left, right = (convert(node[side], depth + 1) for side in ("left_child", "right_child"))
        return _compared(node, left, right)

    return convert(root, 0)


def _compared(node: dict[str, Any], left: Node, right: Node) -> Node:
    """Return what one split decides, as one that only compares, or as three."""
    feature, threshold = int(node["split_feature"]), float(node["threshold"])
    zero_left = threshold >= 0
    if -ZERO <= threshold < ZERO:  # zero, and all that counts as zero, lies on one side
        threshold = ZERO if zero_left else _BELOW_ZERO
    missing_left = bool(node["default_left"])
    if node["missing_type"] == "NaN":
        return Split(feature, threshold, missing_left, left, right)
    if node["missing_type"] == "None" or missing_left == zero_left:
        return Split(feature, threshold, zero_left, left, right)
    # Zero is missing, and goes where the threshold would not send it.
    if zero_left:
        if threshold == ZERO:
            return Split(feature, _BELOW_ZERO, False, left, right)
        above = Split(feature, threshold, False, left, right)
        return Split(feature, _BELOW_ZERO, False, left, Split(feature, ZERO, True, right, above))
    if threshold == _BELOW_ZERO:
        return Split(feature, ZERO, True, left, right)
    above = Split(feature, ZERO, True, left, right)
    return Split(feature, threshold, True, left, Split(feature, _BELOW_ZERO, False, right, above))


def _count_nodes(node: Node, known: dict[int, int]) -> int:
    """Return how many nodes there are when those that are shared are written out."""
    if isinstance(node, Leaf):
        return 1
    if id(node) not in known:
        below = _count_nodes(node.left, known) + _count_nodes(node.right, known)
        known[id(node)] = 1 + below
    return known[id(node)]
