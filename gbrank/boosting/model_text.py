"""LightGBM's model text, as a sum of trees that can be put together from several models.

The text is a header, blocks ``Tree=0 ... Tree=n``, and what comes after "end of trees". A model's
score is the sum of its trees, so the mean of models is one model with all their trees, each leaf
value divided by the number of models.
"""

import re
from collections.abc import Sequence

import lightgbm as lgb

_NUMBERED = re.compile(r"^Tree=\d+\n")
_SCALED_LINES = ("leaf_value=", "internal_value=")


def split_trees(text: str) -> tuple[str, list[str], str]:
    """Return the header (without ``tree_sizes``), the tree blocks, and the rest of the text."""
    header, first, below = text.partition("\nTree=")
    trees, end, rest = below.partition("end of trees")
    if not first:  # a model without trees
        header, end, rest = text.partition("end of trees")
        return re.sub(r"\ntree_sizes=.*", "", header).rstrip("\n"), [], end + rest
    blocks = re.split(r"(?=^Tree=\d+\n)", "Tree=" + trees, flags=re.MULTILINE)
    header = re.sub(r"\ntree_sizes=.*", "", header).rstrip("\n")
    return header, [block for block in blocks if block], end + rest


def scaled(tree: str, factor: float) -> str:
    """Return a tree block with every output multiplied."""
    lines = []
    for line in tree.split("\n"):
        name = next((name for name in _SCALED_LINES if line.startswith(name)), None)
        if name is not None and factor != 1.0:
            numbers = (float(number) * factor for number in line[len(name) :].split())
            line = name + " ".join(repr(number) for number in numbers)
        lines.append(line)
    return "\n".join(lines)


def joined(header: str, trees: Sequence[str], rest: str) -> str:
    """Return the text of a model of these trees."""
    blocks = [_NUMBERED.sub(f"Tree={at}\n", tree) for at, tree in enumerate(trees)]
    sizes = " ".join(str(len(block.encode())) for block in blocks)
    return f"{header}\ntree_sizes={sizes}\n\n{''.join(blocks)}{rest}"


def merge_models(
    boosters: Sequence[lgb.Booster], n_trees: Sequence[int], first_trees: Sequence[str] = ()
) -> lgb.Booster:
    """Return one model: some trees, plus the mean of the first ``n_trees`` of each booster."""
    header, rest, trees = "", "", list(first_trees)
    for booster, count in zip(boosters, n_trees, strict=True):
        header, blocks, rest = split_trees(booster.model_to_string(num_iteration=count))
        trees += [scaled(block, 1.0 / len(boosters)) for block in blocks]
    return lgb.Booster(model_str=joined(header, trees, rest))
