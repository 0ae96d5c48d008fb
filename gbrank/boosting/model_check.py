"""Checks of a model's text before LightGBM reads it: its reader trusts every number.

A child that is no node, a feature that no row has or fewer numbers than leaves are read beyond the
end of an array there; a number of leaves is a size of memory.
"""

import re

import numpy as np

from gbrank.core import IntArray

_BLOCK = re.compile(r"^Tree=\d+\n", re.MULTILINE)
# Of each line of a tree, how many numbers: by leaf, by split; others are looked at one by one.
_BY_LEAF = ("leaf_value", "leaf_weight", "leaf_count", "leaf_const", "num_features")
_BY_SPLIT = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
    "internal_value", "internal_weight", "internal_count",
)  # fmt: skip
_NEEDED = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
_IS_CATEGORICAL = 1
_LAST_DECISION = 11  # categorical or not, where what is missing goes, one of three kinds of missing
# What scores are made of, up to what LightGBM itself cuts them at; other numbers may be infinite.
_GREATEST = 1e300
_FINITE = ("leaf_value", "threshold", "leaf_const", "leaf_coeff", "shrinkage")
_LETTERS_OF_NUMBERS = re.compile(r"[-+.\d eEinfa]*", re.ASCII)


def check_model_text(text: str) -> None:
    """Raise a ``ValueError`` for a model text that LightGBM's reader would take on trust.

    Parameters
    ----------
    text : the model, as LightGBM writes it.
    """
    header, _, _ = text.partition("\nTree=")
    said = dict(line.partition("=")[::2] for line in header.splitlines())
    n_features = _integer(said, "max_feature_idx") + 1
    names = said.get("feature_names", "").split(" ")
    if not 0 < n_features == len(names):
        raise ValueError(f"it has names of {len(names)} features, but {n_features} features")
    trees, end, _ = text.partition("\nend of trees")
    starts = [found.start() for found in _BLOCK.finditer(trees)]
    ends = [*starts[1:], len(trees) + 1] if starts else []
    blocks = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    sizes = [int(size) for size in said.get("tree_sizes", "").split()]
    if not end or sizes != [len(block.encode()) for block in blocks]:
        raise ValueError("its trees are not of the sizes that it says")
    n_classes, n_each = _integer(said, "num_class"), _integer(said, "num_tree_per_iteration")
    if not 1 <= n_classes == n_each <= max(1, len(blocks)) or len(blocks) % n_each:
        raise ValueError(f"its {len(blocks)} trees are not those of {n_classes} classes")
    for number, block in enumerate(blocks):
        try:
            _check_tree(block, n_features)
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from None


def _check_tree(block: str, n_features: int) -> None:
    said = dict(line.partition("=")[::2] for line in block.splitlines())
    n_leaves, n_cat = _integer(said, "num_leaves"), _integer(said, "num_cat")
    counts = dict.fromkeys(_BY_LEAF, n_leaves) | dict.fromkeys(_BY_SPLIT, n_leaves - 1)
    for name, count in counts.items():
        is_needed = name == "leaf_value" or (name in _NEEDED and n_leaves > 1)
        # a tree of one leaf has lines without numbers, and leaves some out
        if (is_needed or said.get(name)) and len(said.get(name, "").split()) != count:
            raise ValueError(f"{name} must have {count} numbers, of {n_leaves} leaves")
    for name in {*counts, *_FINITE, "cat_threshold"}:
        _check_numbers(name, said.get(name, ""))
    if n_leaves < 1:
        raise ValueError(f"num_leaves must be at least 1, got {n_leaves}")
    if n_leaves > 1:
        _check_shape(_integers(said, "left_child"), _integers(said, "right_child"))
        _within("split_feature", _integers(said, "split_feature"), n_features)
        _check_categories(said, n_cat)
    if said.get("is_linear", "0").strip() != "0":
        used = _integers(said, "num_features")
        features = _integers(said, "leaf_features")
        _within("leaf_features", features, n_features)
        n_coefficients = len(said.get("leaf_coeff", "").split())
        if not len(used) == n_leaves == len(said.get("leaf_const", "").split()) or (
            (used < 0).any() or not used.sum() == len(features) == n_coefficients
        ):
            raise ValueError("its linear leaves have not as many numbers as they say")


def _check_numbers(name: str, line: str) -> None:
    """Refuse other words: LightGBM ends the process where one stands for a number."""
    try:
        numbers = np.array(line.split(), dtype=np.float64)
        is_sound = _LETTERS_OF_NUMBERS.fullmatch(line) is not None
    except ValueError:
        is_sound = False
    if not is_sound or (name in _FINITE and not (np.abs(numbers) <= _GREATEST).all()):
        raise ValueError(f"{name} must be numbers, got {line[:40]!r}")


def _check_shape(left: IntArray, right: IntArray) -> None:
    """Every split but the first is below one before it, and every leaf below one."""
    n_splits = len(left)
    children, parents = np.concatenate([left, right]), np.tile(np.arange(n_splits), 2)
    is_split = children >= 0
    splits, leaves = children[is_split], -1 - children[~is_split]
    if (
        not np.array_equal(np.sort(splits), np.arange(1, n_splits))
        or not np.array_equal(np.sort(leaves), np.arange(n_splits + 1))
        or (splits <= parents[is_split]).any()
    ):
        raise ValueError("left_child and right_child make no tree")


def _check_categories(said: dict[str, str], n_cat: int) -> None:
    kinds = _integers(said, "decision_type")
    if not ((kinds >= 0) & (kinds <= _LAST_DECISION)).all():
        raise ValueError(f"decision_type must be from 0 to {_LAST_DECISION}")
    used = np.array(said["threshold"].split(), dtype=np.float64)[(kinds & _IS_CATEGORICAL) > 0]
    if not ((used >= 0) & (used < n_cat)).all() or n_cat < 0:
        raise ValueError(f"a split names a set of categories that is none of {n_cat}")
    if n_cat:
        bounds = _integers(said, "cat_boundaries")
        n_words = len(said.get("cat_threshold", "").split())
        if (
            len(bounds) != n_cat + 1
            or bounds[0] != 0
            or (np.diff(bounds) < 0).any()
            or (bounds[-1] != n_words)
        ):
            raise ValueError("cat_boundaries and cat_threshold do not fit")


def _within(name: str, numbers: IntArray, n_features: int) -> None:
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n_features:
        raise ValueError(f"{name} must be features from 0 to {n_features - 1}")


def _integers(said: dict[str, str], name: str) -> IntArray:
    return np.array([int(word) for word in said.get(name, "").split()], dtype=np.int64)


def _integer(said: dict[str, str], name: str) -> int:
    word = said.get(name, "").strip()
    if not re.fullmatch(r"-?\d{1,9}", word):
        raise ValueError(f"{name} must be an integer, got {word[:40]!r}")
    return int(word)
