"""XGBoost's JSON, which the learning-to-rank plugins of OpenSearch and Elasticsearch read.

Their reader takes these keys, in a tree that is nested, and no others. A split sends
``x < split_condition`` to "yes", where x, the condition, leaves and the sum are float32. A feature
that is missing goes where "missing" says since version 3.3 of OpenSearch's plugin; before it
counted as 0.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import Float32Array, FloatArray
from gbrank.serving._engine import (
    Engine,
    Forest,
    Interval,
    as_float32,
    float32_above,
    float32_below,
    sum_float32,
    walk,
)
from gbrank.serving._trees import Leaf, Node

# JSON has no infinity; this reads as one in single precision. All finite numbers are below it.
_INFINITY32 = 1e39


class XGBoostJson(Engine):
    """``model/xgboost+json``."""

    def document(
        self, forest: Forest, name: str, strict: bool = False
    ) -> tuple[Any, list[Interval]]:
        trees = [_nested(tree, forest.names, 0, itertools.count()) for tree in forest.trees]
        return {"objective": "rank:ndcg", "splits": trees}, []

    def leaves(self, document: Any, X: NDArray[Any], names: Sequence[str]) -> FloatArray:
        columns = dict(zip(names, X.astype(np.float32).T, strict=True))

        def goes_left(node: Any, rows: NDArray[np.intp]) -> Any:
            x = columns[node["split"]][rows]
            with np.errstate(over="ignore"):
                is_left = x < np.float32(node["split_condition"])
            is_left[np.isnan(x)] = node["missing"] == node["yes"]
            return is_left

        reached = [
            walk(root, len(X), lambda node: node.get("leaf"), goes_left, lambda n: n["children"])
            for root in document["splits"]
        ]
        return np.stack(reached, axis=1)

    def total(self, values: FloatArray) -> Float32Array:
        return sum_float32(values)

    def example(self, names: Sequence[str], name: str) -> Any:
        features = [
            {
                "name": feature,
                "params": ["keywords"],
                "template_language": "mustache",
                "template": {"match": {"FIELD": "{{keywords}}"}},
            }
            for feature in names
        ]
        return {"featureset": {"features": features}}


def _nested(node: Node, names: Sequence[str], depth: int, numbers: Iterator[int]) -> dict[str, Any]:
    number = next(numbers)
    if isinstance(node, Leaf):
        return {"nodeid": number, "leaf": as_float32(node.value, "a leaf")}
    children = [_nested(child, names, depth + 1, numbers) for child in (node.left, node.right)]
    yes, no = (child["nodeid"] for child in children)
    above = float(float32_above(float32_below(node.threshold)))
    return {
        "nodeid": number,
        "depth": depth,
        "split": names[node.feature],
        "split_condition": min(above, _INFINITY32),
        "yes": yes,
        "no": no,
        "missing": yes if node.missing_left else no,
        "children": children,
    }
