r"""LightGBM's model text, which this file alone knows.

The text is a header, blocks ``Tree=0 ... Tree=n``, a line "end of trees", and a block of parameters
that ends with "end of parameters". A model's score is the sum of its trees. So the mean of models
is one model with all their trees, each divided by the number of models; and a function that is
constant between some edges of one feature is one more tree.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.core import FloatArray, IntArray

FIRST_LINE = "tree\n"
#: What a model for ranking says its objective is; nothing, if that was a custom one.
RANKING_OBJECTIVES = (None, "lambdarank", "rank_xendcg")
_NUMBERED = re.compile(r"^Tree=\d+\n")
_PARAMETERS, _END_OF_PARAMETERS = "\nparameters:\n", "\nend of parameters\n"
# Lines of a tree that are outputs: the last two of linear leaves.
_OUTPUTS = ("leaf_value=", "internal_value=", "leaf_const=", "leaf_coeff=")
# What is above it, infinity above all, counts as missing in the first split of a step tree.
_GREATEST = float(np.finfo(np.float32).max)
# Missing values are NaN (2 << 2) and go right, as the bit for "left" (2) is not set.
_MISSING_RIGHT = 8


# --- models put together -----------------------------------------------------------------------


def merge_models(
    boosters: Sequence[lgb.Booster],
    n_trees: Sequence[int],
    first_trees: Sequence[str] = (),
    factors: Sequence[float] | None = None,
) -> lgb.Booster:
    """Return one model: some trees, plus a sum of other models, by default their mean.

    Parameters
    ----------
    boosters : the models.
    n_trees : how many trees of each count.
    first_trees : text blocks of :func:`step_tree`, which come first.
    factors : what each model is multiplied by; one of 0 is left out.
    """
    header, rest, trees = "", "", list(first_trees)
    factors = [1.0 / len(boosters)] * len(boosters) if factors is None else factors
    for booster, count, factor in zip(boosters, n_trees, factors, strict=True):
        header, blocks, rest = _split(booster.model_to_string(num_iteration=count))
        trees += [_scaled(block, factor) for block in blocks if factor]
    return lgb.Booster(model_str=_joined(header, trees, rest))


def first_trees_of(booster: lgb.Booster, n_trees: int) -> lgb.Booster:
    """Return a model of the first trees of another; of all of them, if ``n_trees`` is 0."""
    return lgb.Booster(model_str=booster.model_to_string(num_iteration=n_trees or -1))


def _split(text: str) -> tuple[str, list[str], str]:
    """Return the header (without ``tree_sizes``), the tree blocks, and the rest of the text."""
    header, first, below = text.partition("\nTree=")
    if not first:  # a model without trees
        header, end, rest = text.partition("end of trees")
        blocks = []
    else:
        trees, end, rest = below.partition("end of trees")
        blocks = re.split(r"(?=^Tree=\d+\n)", "Tree=" + trees, flags=re.MULTILINE)
    header = re.sub(r"\ntree_sizes=.*", "", header).rstrip("\n")
    return header, [block for block in blocks if block], end + rest


def _scaled(tree: str, factor: float) -> str:
    """Return a tree block with every output multiplied."""
    if factor == 1.0:
        return tree
    lines = []
    for line in tree.split("\n"):
        name = next((name for name in _OUTPUTS if line.startswith(name)), None)
        if name is not None:
            # not split and joined: the numbers of linear leaves have one space or two between them
            outputs = line[len(name) :]
            line = name + re.sub(r"\S+", lambda found: repr(float(found[0]) * factor), outputs)
        lines.append(line)
    return "\n".join(lines)


def _joined(header: str, trees: Sequence[str], rest: str) -> str:
    """Return the text of a model of these trees."""
    blocks = [_NUMBERED.sub(f"Tree={at}\n", tree) for at, tree in enumerate(trees)]
    sizes = " ".join(str(len(block.encode())) for block in blocks)
    return f"{header}\ntree_sizes={sizes}\n\n{''.join(blocks)}{rest}"


# --- a step function as a tree -------------------------------------------------------------------


def step_tree(feature: int, edges: FloatArray, values: FloatArray, counts: IntArray) -> str:
    """Return the text block of a tree that is a step function of one feature.

    The root sends missing values to a leaf of their own; below it, edges form a balanced search
    tree. Every split has "missing" as its missing type, so that zero is a number like any other.

    Parameters
    ----------
    feature : number of the feature.
    edges : increasing float32 numbers; bin b holds ``edges[b - 1] < x <= edges[b]``.
    values : what each bin adds to the score; the last one is "missing".
    counts : how many rows there are in each bin, at least 1.
    """
    n_bins = len(edges) + 1
    thresholds, left, right = [_GREATEST], [0], [-(n_bins + 1)]
    node_counts = [int(counts.sum())]

    def grow(low: int, high: int) -> int:
        """Add nodes for bins low..high (inclusive); return the child number: a node, or ~leaf."""
        if low == high:
            return -(low + 1)
        middle = (low + high) // 2
        node = len(thresholds)
        thresholds.append(float(edges[middle]))
        left.append(0)
        right.append(0)
        node_counts.append(int(counts[low : high + 1].sum()))
        left[node], right[node] = grow(low, middle), grow(middle + 1, high)
        return node

    left[0] = grow(0, n_bins - 1)
    n_nodes = len(thresholds)
    lines: dict[str, list[Any]] = {
        "num_leaves": [n_bins + 1],
        "num_cat": [0],
        "split_feature": [feature] * n_nodes,
        "split_gain": [0] * n_nodes,
        "threshold": [repr(threshold) for threshold in thresholds],
        "decision_type": [_MISSING_RIGHT] * n_nodes,
        "left_child": left,
        "right_child": right,
        "leaf_value": [repr(float(value)) for value in values],
        "leaf_weight": [int(count) for count in counts],
        "leaf_count": [int(count) for count in counts],
        "internal_value": [repr(float(np.average(values, weights=counts)))] * n_nodes,
        "internal_weight": node_counts,
        "internal_count": node_counts,
        "is_linear": [0],
        "shrinkage": [1],
    }
    body = "\n".join(f"{name}={' '.join(map(str, entries))}" for name, entries in lines.items())
    return f"Tree=0\n{body}\n\n\n"


# --- header and parameters -----------------------------------------------------------------------


def portable_text(booster: lgb.Booster, num_iteration: int | None) -> tuple[str, str]:
    """Return the text of a model that names ``lambdarank`` as its objective, in two parts.

    LightGBM writes a model with a custom objective without an ``objective=`` line, so that
    converters reject it. Like every ranking objective ``lambdarank`` leaves scores as they are.
    The first part ends at the end of the parameters, where LightGBM carries lines of others along.

    Parameters
    ----------
    booster : the trees.
    num_iteration : number of trees to write; ``None`` for as many as ``booster.predict`` uses.
    """
    text = booster.model_to_string(num_iteration=num_iteration)
    top, names, below = text.partition("\nfeature_names=")
    trees, opening, parameters_on = below.partition(_PARAMETERS)
    parameters, closing, rest = parameters_on.partition(_END_OF_PARAMETERS)
    if not (names and opening and closing):
        raise ValueError("the model has no parameters block: it was not trained by gbrank")
    top = re.sub(r"\nobjective=.*", "", top) + "\nobjective=lambdarank"
    parameters = re.sub(r"\[gbrank: .*\n", "", parameters)  # of the file it was loaded from
    parameters = re.sub(r"\[objective: .*\]", "[objective: lambdarank]", parameters, count=1)
    return f"{top}{names}{trees}{opening}{parameters}", f"{closing}{rest}"


def named_objective(booster: lgb.Booster) -> str | None:
    """Return the objective that a model names; ``None`` for a custom one."""
    header = booster.model_to_string(num_iteration=1).partition("\nfeature_names=")[0]
    found = re.search(r"^objective=(\S+)", header, re.MULTILINE)
    return found[1] if found else None


def replace_parameters(booster: lgb.Booster, values: Mapping[str, str]) -> lgb.Booster:
    """Return the model with other values in its block of parameters, all its trees included.

    Parameters
    ----------
    booster : the model.
    values : by LightGBM's names; a parameter that the block does not have is left out.
    """
    text = booster.model_to_string(num_iteration=-1)
    for name, value in values.items():
        text = re.sub(rf"(?m)^\[{name}: .*\]$", f"[{name}: {value}]", text)
    return lgb.Booster(model_str=text)


def is_complete(data: bytes) -> bool:
    """Return whether a text has an end of its parameters, as every model that LightGBM wrote."""
    return _END_OF_PARAMETERS.encode() in data


def numeric_features(booster: lgb.Booster) -> list[bool]:
    """Return of each feature whether its values were numbers; ``False`` where it was not used."""
    header = booster.model_to_string(num_iteration=1)
    found = re.search(r"^feature_infos=(.*)$", header, re.MULTILINE)
    return [info.startswith("[") for info in (found[1].split(" ") if found else [])]
