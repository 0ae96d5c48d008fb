"""LightGBM's JSON as Vespa imports it.

Vespa makes an expression of doubles from it in which ``x < threshold``, or ``!(x >= threshold)``
where missing values go left, decides: the threshold is one step of a double above LightGBM's. It
needs the keys "objective" and "pandas_categorical".
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import FloatArray
from gbrank.serving._engine import Engine, Forest, Interval, walk
from gbrank.serving._trees import Leaf, Node

# A function or a feature of Vespa: price, attribute(price), fieldMatch(title).proximity
_FEATURE = re.compile(r"[A-Za-z_]\w*(\([^()]*\))?(\.\w+)*")


class Vespa(Engine):
    """A file in the folder ``models`` of an application."""

    takes = np.float64

    def document(
        self, forest: Forest, name: str, strict: bool = False
    ) -> tuple[Any, list[Interval]]:
        trees = [
            {"tree_index": at, "tree_structure": _nested(tree)}
            for at, tree in enumerate(forest.trees)
        ]
        document = {
            "name": "tree",
            "objective": "lambdarank",
            "feature_names": forest.names,
            "tree_info": trees,
            "pandas_categorical": [],
        }
        return document, []

    def leaves(self, document: Any, X: NDArray[Any], names: Sequence[str]) -> FloatArray:
        columns = dict(zip(names, X.astype(np.float64).T, strict=True))
        known = document["feature_names"]

        def goes_left(node: Any, rows: NDArray[np.intp]) -> Any:
            x = columns[known[node["split_feature"]]][rows]
            return ~(x >= node["threshold"]) if node["default_left"] else x < node["threshold"]

        def children_of(node: Any) -> tuple[Any, Any]:
            return node["left_child"], node["right_child"]

        def value_of(node: Any) -> float | None:
            return node.get("leaf_value")  # type: ignore[no-any-return]

        roots = [tree["tree_structure"] for tree in document["tree_info"]]
        reached = [walk(root, len(X), value_of, goes_left, children_of) for root in roots]
        return np.stack(reached, axis=1)

    def total(self, values: FloatArray) -> FloatArray:
        total = np.zeros(len(values))
        for column in values.T:
            total += column
        return total

    def example(self, names: Sequence[str], name: str) -> Any:
        functions = [
            f"    function {feature}() {{ expression: attribute(FIELD) }}"
            for feature in names
            if "(" not in feature
        ]
        phase = f'    second-phase {{ expression: lightgbm("{name}.json") }}'
        return "\n".join(["rank-profile learned {", *functions, phase, "}"])

    def check_names(self, names: Sequence[str]) -> None:
        for feature in names:
            if not _FEATURE.fullmatch(feature):
                raise ValueError(
                    "feature_names must be functions or features of Vespa, such as price or "
                    f"attribute(price), but one is {feature!r}"
                )


def _nested(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {"leaf_value": node.value}
    return {
        "split_feature": node.feature,
        "threshold": float(np.nextafter(node.threshold, np.inf)),
        "decision_type": "<=",
        "default_left": node.missing_left,
        "left_child": _nested(node.left),
        "right_child": _nested(node.right),
    }
