"""Elasticsearch's own trained models, version 8.12 and later.

Numbers are doubles and a split sends ``x <= threshold`` left, so thresholds stay as they are.
Infinities count as missing there. The sum over trees is compensated, and rounded to float32.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import Float32Array, FloatArray
from gbrank.serving._engine import Engine, Forest, Interval, walk
from gbrank.serving._trees import Leaf, Node, Split, splits_of

_REASON = "Elasticsearch takes infinities for missing values"


class Elasticsearch(Engine):
    """The definition of a trained model."""

    takes = np.float64

    def document(
        self, forest: Forest, name: str, strict: bool = False
    ) -> tuple[Any, list[Interval]]:
        used = [forest.names[feature] for feature in forest.used()]
        trees = [{"tree": _flat(tree, forest.names, used)} for tree in forest.trees]
        ensemble = {
            "target_type": "regression",
            "feature_names": used,
            "trained_models": trees,
            "aggregate_output": {"weighted_sum": {}},
        }
        # what is infinite goes left or right with all numbers, what is missing where it should
        differing = {
            (split.feature, np.inf if split.missing_left else -np.inf)
            for split in splits_of(forest.trees)
        }
        intervals = [
            Interval(forest.names[feature], value, value, _REASON)
            for feature, value in sorted(differing)
        ]
        return {"trained_model": {"ensemble": ensemble}}, intervals

    def leaves(self, document: Any, X: NDArray[Any], names: Sequence[str]) -> FloatArray:
        columns = dict(zip(names, X.astype(np.float64).T, strict=True))
        reached = []
        for entry in document["trained_model"]["ensemble"]["trained_models"]:
            tree = entry["tree"]
            nodes, own = tree["tree_structure"], tree["feature_names"]

            def goes_left(node: Any, rows: NDArray[np.intp], own: Any = own) -> Any:
                x = columns[own[node["split_feature"]]][rows]
                return np.where(np.isfinite(x), x <= node["threshold"], node["default_left"])

            def children_of(node: Any, nodes: Any = nodes) -> tuple[Any, Any]:
                return nodes[node["left_child"]], nodes[node["right_child"]]

            def value_of(node: Any) -> float | None:
                return node.get("leaf_value")  # type: ignore[no-any-return]

            reached.append(walk(nodes[0], len(X), value_of, goes_left, children_of))
        return np.stack(reached, axis=1)

    def total(self, values: FloatArray) -> Float32Array:
        total, lost = np.zeros(len(values)), np.zeros(len(values))
        for column in values.T:
            term = column - lost
            new = total + term
            lost = (new - total) - term
            total = new
        return (total - lost).astype(np.float32)

    def example(self, names: Sequence[str], name: str) -> Any:
        extractors = [
            {
                "query_extractor": {
                    "feature_name": feature,
                    "query": {"match": {"FIELD": "{{query}}"}},
                }
            }
            for feature in names
        ]
        return {
            "input": {"field_names": list(names)},
            "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        }


def _flat(root: Node, names: Sequence[str], used: Sequence[str]) -> dict[str, Any]:
    own = sorted({split.feature for split in splits_of([root])})
    place = {feature: at for at, feature in enumerate(own)}
    nodes: list[dict[str, Any]] = []

    def add(node: Node) -> int:
        number = len(nodes)
        nodes.append({"node_index": number})
        if isinstance(node, Leaf):
            nodes[number]["leaf_value"] = node.value
        else:
            nodes[number] |= split(node)
        return number

    def split(node: Split) -> dict[str, Any]:
        return {
            "decision_type": "lte",
            "threshold": node.threshold,
            "split_feature": place[node.feature],
            "default_left": node.missing_left,
            "left_child": add(node.left),
            "right_child": add(node.right),
        }

    add(root)
    return {
        "target_type": "regression",
        "feature_names": [names[feature] for feature in own] or list(used),
        "tree_structure": nodes,
    }
