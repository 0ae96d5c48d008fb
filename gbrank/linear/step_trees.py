"""Step functions as ordinary single-feature trees in LightGBM's text.

The root sends missing values to a leaf of their own; below it, edges form a balanced search tree.
Every split has "missing" as its missing type, so that zero is a number like any other.
"""

from typing import Any

import numpy as np

from gbrank.core import FloatArray, IntArray
from gbrank.linear.steps import GREATEST

# Missing values are NaN (2 << 2) and go right, as the bit for "left" (2) is not set.
_MISSING_RIGHT = 8


def step_tree(feature: int, edges: FloatArray, values: FloatArray, counts: IntArray) -> str:
    """Return the text block of a tree that adds ``values[bin]``; the last bin is "missing"."""
    n_bins = len(edges) + 1
    thresholds, left, right = [GREATEST], [0], [-(n_bins + 1)]
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
