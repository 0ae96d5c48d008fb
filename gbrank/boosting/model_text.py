r"""LightGBM's model text, which this file writes and reads; :mod:`.model_check` checks it.

The text is a header, blocks ``Tree=0 ... Tree=n``, a line "end of trees", and a block of parameters
that ends with "end of parameters". A model's score is the sum of its trees. So the mean of models
is one model with all their trees, each divided by the number of models; and a function that is
constant between some edges of one feature is one more tree.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
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
# What is above it, infinity above all, counts as missing in a step tree.
_GREATEST = float(np.finfo(np.float32).max)
# Missing values are NaN (2 << 2) and go right, as the bit for "left" (2) is not set.
_MISSING_RIGHT = 8


# --- models put together -----------------------------------------------------------------------


def merge_models(
    boosters: Sequence[lgb.Booster],
    n_trees: Sequence[int],
    first_trees: Sequence[str] = (),
    factors: Sequence[float] | None = None,
    gain_factors: Sequence[float] | None = None,
) -> lgb.Booster:
    r"""Return one model: some trees, plus a sum of other models, by default their mean.

    Gains of the first trees and of the others are made comparable. LightGBM's are in units of the
    loss, which the first trees know nothing of; those of :func:`step_tree` are squared scores. A
    tree that changes scores by :math:`v`, in documents whose hessians sum to :math:`H`, has a gain
    of :math:`H v^2`; trees of rate :math:`\eta` that together reach :math:`v`, each a share
    :math:`\eta` of what is left, have :math:`H v^2 / (\eta (2 - \eta))`.

    Parameters
    ----------
    boosters : the models.
    n_trees : how many trees of each count.
    first_trees : text blocks of :func:`step_tree`, which come first.
    factors : what each model is multiplied by; one of 0 is left out.
    gain_factors : what the gains of each model are multiplied by, in squared scores of a mean
        document. ``None`` leaves gains in units of the loss, which there must be one of.
    """
    header, rest, trees = "", "", []
    factors = [1.0 / len(boosters)] * len(boosters) if factors is None else factors
    own_gains = [None] * len(boosters) if gain_factors is None else gain_factors
    for booster, count, factor, gains in zip(boosters, n_trees, factors, own_gains, strict=True):
        header, blocks, rest = _split(booster.model_to_string(num_iteration=count))
        for block in blocks if factor else ():
            gain = 1.0 if gains is None else gains / (_gain_of_variance(block) or 1.0)
            trees.append(_scaled(block, factor, gain))
    unit = 1.0
    if gain_factors is None and first_trees:
        unit = next((gain for tree in trees if (gain := _gain_of_variance(tree))), 1.0)
    first = [_scaled(tree, 1.0, unit) for tree in first_trees]
    return lgb.Booster(model_str=_joined(header, [*first, *trees], rest))


def gain_of_variance(booster: lgb.Booster) -> float:
    """Return the gain that trees have who change scores by a variance of 1; 1 without a split.

    Parameters
    ----------
    booster : the trees, of one loss.
    """
    _, blocks, _ = _split(booster.model_to_string())
    return next((gain for block in blocks if (gain := _gain_of_variance(block))), 1.0)


def _gain_of_variance(tree: str) -> float:
    """Return the gain of a variance of 1 that trees like this one have in all; 0 for a leaf."""
    weights = re.search(r"^leaf_weight=(.+)$", tree, re.MULTILINE)
    shrinkage = re.search(r"^shrinkage=(\S+)$", tree, re.MULTILINE)
    if weights is None or shrinkage is None:
        return 0.0
    rate = min(abs(float(shrinkage[1])), 1.0) or 1.0
    return sum(map(float, weights[1].split())) / (rate * (2.0 - rate))


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


def _multiplied(factor: float, number: re.Match[str]) -> str:
    return repr(float(number[0]) * factor)


def _scaled(tree: str, factor: float, gain: float = 1.0) -> str:
    """Return a tree block with every output multiplied, and with the gain of every split."""
    by_name = {**dict.fromkeys(_OUTPUTS, factor), "split_gain=": gain}
    lines = []
    for line in tree.split("\n"):
        name = next((name for name, by in by_name.items() if by != 1 and line.startswith(name)), "")
        if name:
            # not split and joined: the numbers of linear leaves have one space or two between them
            line = name + re.sub(r"\S+", partial(_multiplied, by_name[name]), line[len(name) :])
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

    Edges form a search tree, balanced by rows, the greatest number being the last of them: missing
    values go right at every split, and so to a leaf of their own behind it. Every split has
    "missing" as its missing type, so that zero is a number like any other.
    The gain of a split is the variance of scores that it explains: those of a tree sum to its own.

    Parameters
    ----------
    feature : number of the feature.
    edges : increasing float32 numbers; bin b holds ``edges[b - 1] < x <= edges[b]``.
    values : what each bin adds to the score; the last one is "missing".
    counts : how many rows there are in each bin, at least 1.
    """
    all_edges = [*map(float, edges), _GREATEST]
    thresholds: list[float] = []
    left: list[int] = []
    right: list[int] = []
    node_counts: list[int] = []
    gains: list[float] = []
    sums, rows = np.cumsum(np.append(0.0, counts * values)), np.cumsum(np.append(0, counts))

    def explained(low: int, middle: int, high: int) -> float:
        """Return the variance between bins low..middle and middle+1..high, over all rows."""
        ends = [low, middle + 1, high + 1]
        (n_left, n_right), (left_sum, right_sum) = np.diff(rows[ends]), np.diff(sums[ends])
        difference = left_sum / n_left - right_sum / n_right
        return float(n_left * n_right / (n_left + n_right) * difference**2 / rows[-1])

    def grow(low: int, high: int) -> int:
        """Add nodes for bins low..high (inclusive); return the child number: a node, or ~leaf."""
        if low == high:
            return -(low + 1)
        # half of the rows on each side, so that most of them meet few splits
        half = np.searchsorted(rows, 0.5 * (rows[low] + rows[high + 1]))
        middle = int(min(max(half - 1, low), high - 1))
        node = len(thresholds)
        thresholds.append(all_edges[middle])
        left.append(0)
        right.append(0)
        node_counts.append(int(counts[low : high + 1].sum()))
        gains.append(explained(low, middle, high))
        left[node], right[node] = grow(low, middle), grow(middle + 1, high)
        return node

    grow(0, len(all_edges))
    n_nodes = len(thresholds)
    lines: dict[str, list[Any]] = {
        "num_leaves": [len(all_edges) + 1],
        "num_cat": [0],
        "split_feature": [feature] * n_nodes,
        "split_gain": [repr(gain) for gain in gains],
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


def describe_size(booster: lgb.Booster, n_start_trees: int) -> str:
    """Return what a model is and what it costs to serve, in words.

    The time of a prediction is about that of the splits which a mean row meets on its way.
    """
    text = booster.model_to_string()
    leaves = [int(each) for each in re.findall(r"^num_leaves=(\d+)$", text, re.MULTILINE)]
    lines = re.findall(r"^internal_count=(.*)$", text, re.MULTILINE)
    counts = [[float(each) for each in line.split()] for line in lines]
    # rows at each split over those at the first one; a tree of one leaf has none
    splits = [sum(each) / max(each[0], 1.0) if each else 0.0 for each in counts]
    share = sum(splits[:n_start_trees]) / max(sum(splits), 1.0)
    return (
        f"{len(leaves) - n_start_trees} trees and {n_start_trees} of the start, {sum(leaves)} "
        f"leaves, {len(text) / 1e6:.1f} MB as text; a row meets {sum(splits):.0f} splits, "
        f"{share:.0%} of them in the start"
    )


def is_complete(data: bytes) -> bool:
    """Return whether a text has an end of its parameters, as every model that LightGBM wrote."""
    return _END_OF_PARAMETERS.encode() in data


def numeric_features(booster: lgb.Booster) -> list[bool]:
    """Return of each feature whether its values were numbers; ``False`` where it was not used."""
    header = booster.model_to_string(num_iteration=1)
    found = re.search(r"^feature_infos=(.*)$", header, re.MULTILINE)
    return [info.startswith("[") for info in (found[1].split(" ") if found else [])]
