"""How search engines score a row, each with its own comparison, types and sum.

Written from what their readers and scorers do, not from what gbrank writes. A document becomes flat
lists of nodes; all rows step down through them side by side.
"""

import json

import numpy as np

FLOAT, DOUBLE = np.float32, np.float64


class Nodes:
    """One tree: ``left`` and ``right`` of a leaf are the leaf itself."""

    def __init__(self):
        self.feature, self.threshold, self.missing_left = [], [], []
        self.left, self.right, self.value = [], [], []

    def add(self):
        number = len(self.value)
        self.feature.append(0)
        self.threshold.append(0.0)
        self.missing_left.append(False)
        self.left.append(number)
        self.right.append(number)
        self.value.append(0.0)
        return number

    def reach(self, X, goes_left):
        """Return the leaf that each row reaches; ``goes_left(x, threshold, missing_left)``."""
        feature, missing_left = np.array(self.feature), np.array(self.missing_left)
        threshold = np.array(self.threshold)
        left, right = np.array(self.left), np.array(self.right)
        rows, at = np.arange(len(X)), np.zeros(len(X), dtype=np.int64)
        while True:
            x = X[rows, feature[at]]
            side = goes_left(x, threshold[at], missing_left[at])
            new = np.where(side, left[at], right[at])
            if (new == at).all():
                return np.array(self.value)[at]
            at = new


def opensearch(text, X, names):
    """The plugins for OpenSearch and Elasticsearch: ``threshold > x``, all in float."""
    definition = json.loads(text)
    assert definition["objective"] == "rank:ndcg"  # scores are left as they are

    def parse(state, nodes):
        at = nodes.add()
        if "leaf" in state:
            nodes.value[at] = FLOAT(state["leaf"])
            return at, state["nodeid"]
        children = [parse(child, nodes) for child in state["children"]]
        assert [state["yes"], state["no"]] == [number for _, number in children]
        assert state["missing"] in (state["yes"], state["no"])
        nodes.feature[at] = names.index(state["split"])
        with np.errstate(over="ignore"):
            nodes.threshold[at] = FLOAT(state["split_condition"])
        nodes.missing_left[at] = state["missing"] == state["yes"]
        nodes.left[at], nodes.right[at] = children[0][0], children[1][0]
        return at, state["nodeid"]

    total = np.zeros(len(X), dtype=FLOAT)
    for root in definition["splits"]:
        nodes = Nodes()
        parse(root, nodes)
        value = nodes.reach(
            X.astype(FLOAT), lambda x, t, missing: np.where(np.isnan(x), missing, t > x)
        )
        total = total + FLOAT(1) * value.astype(FLOAT)
    assert total.dtype == FLOAT
    return total


def solr(text, X, names):
    """MultipleAdditiveTreesModel: 1e-6 is added to thresholds that are read, in float."""
    model = json.loads(text)
    order = [entry["name"] for entry in model["features"]]
    null_is_zero = model["params"].get("isNullSameAsZero", True)
    vectors = []
    for entry in model["features"]:
        column = X[:, names.index(entry["name"])].astype(FLOAT)
        if null_is_zero:
            column = np.where(np.isnan(column), FLOAT(0), column)
        if "norm" in entry:
            params = entry["norm"]["params"]
            with np.errstate(over="ignore"):
                column = (column - FLOAT(params["avg"])) / FLOAT(params["std"])
        vectors.append(column)
    vectors = np.stack(vectors, axis=1) if vectors else np.zeros((len(X), 1), FLOAT)
    assert vectors.dtype == FLOAT

    def parse(node, nodes):
        at = nodes.add()
        if "feature" not in node:
            nodes.value[at] = FLOAT(node["value"])
            return at
        nodes.feature[at] = order.index(node["feature"])
        nodes.threshold[at] = FLOAT(node["threshold"]) + FLOAT(1e-6)
        nodes.missing_left[at] = node.get("missing", "right") == "left"
        nodes.left[at], nodes.right[at] = parse(node["left"], nodes), parse(node["right"], nodes)
        return at

    total = np.zeros(len(X), dtype=FLOAT)
    for tree in model["params"]["trees"]:
        nodes = Nodes()
        parse(tree["root"], nodes)
        value = nodes.reach(vectors, lambda x, t, missing: np.where(np.isnan(x), missing, x <= t))
        total = total + FLOAT(tree["weight"]) * value.astype(FLOAT)
    assert total.dtype == FLOAT
    return total


def elasticsearch(text, X, names):
    """Trained models: ``x <= threshold`` in doubles, a compensated sum, rounded at the end."""
    ensemble = json.loads(text)["trained_model"]["ensemble"]
    assert list(ensemble["aggregate_output"]) == ["weighted_sum"]
    values = []
    for entry in ensemble["trained_models"]:
        nodes, tree = Nodes(), entry["tree"]
        for node in tree["tree_structure"]:
            at = nodes.add()
            assert at == node["node_index"]
            if "left_child" not in node:
                nodes.value[at] = node["leaf_value"]
                continue
            assert node["decision_type"] == "lte"
            nodes.feature[at] = names.index(tree["feature_names"][node["split_feature"]])
            nodes.threshold[at] = node["threshold"]
            nodes.missing_left[at] = node["default_left"]
            nodes.left[at], nodes.right[at] = node["left_child"], node["right_child"]
        values.append(
            nodes.reach(
                X.astype(DOUBLE), lambda x, t, missing: np.where(np.isfinite(x), x <= t, missing)
            )
        )
    return compensated_sum(values).astype(FLOAT)


def compensated_sum(values):
    """Return the sum as Java's ``DoubleStream.sum`` takes it."""
    total = compensation = np.zeros(len(values[0]))
    for value in values:
        corrected = value - compensation
        longer = total + corrected
        compensation = (longer - total) - corrected
        total = longer
    return total - compensation


def vespa(text, X, names):
    """An expression ``if (x < t, ...)``, or ``if (!(x >= t), ...)``, in doubles."""
    root = json.loads(text)
    assert root["objective"] == "lambdarank"  # null would stop the import; no sigmoid is applied
    assert iter(root["pandas_categorical"])

    def parse(node, nodes):
        at = nodes.add()
        if "left_child" not in node:
            nodes.value[at] = node["leaf_value"]
            return at
        assert node["decision_type"] == "<="
        nodes.feature[at] = names.index(root["feature_names"][node["split_feature"]])
        nodes.threshold[at], nodes.missing_left[at] = node["threshold"], node["default_left"]
        nodes.left[at] = parse(node["left_child"], nodes)
        nodes.right[at] = parse(node["right_child"], nodes)
        return at

    total = np.zeros(len(X))
    for tree in root["tree_info"]:
        nodes = Nodes()
        parse(tree["tree_structure"], nodes)
        total = total + nodes.reach(
            X.astype(DOUBLE), lambda x, t, missing: np.where(missing, ~(x >= t), x < t)
        )
    return total


SCORERS = {
    "opensearch": opensearch,
    "elasticsearch-ltr": opensearch,
    "elasticsearch": elasticsearch,
    "solr": solr,
    "vespa": vespa,
}


def sum_as(engine, values):
    """Return the sum of leaves (rows, trees) in the arithmetic of an engine."""
    if engine == "elasticsearch":
        return compensated_sum(list(values.T)).astype(FLOAT)
    kind = DOUBLE if engine == "vespa" else FLOAT
    total = np.zeros(len(values), dtype=kind)
    for column in values.T:
        total = total + column.astype(kind)
    return total


# --- what the readers take -----------------------------------------------------------------------

_NUMBER, _INTEGER, _TEXT = {"type": "number"}, {"type": "integer"}, {"type": "string"}
_DIGITS = {"type": "string", "pattern": r"^-?(\d+(\.\d+)?([eE][-+]?\d+)?|Infinity)$"}


def _object(required, optional=None):
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def _list(of):
    return {"type": "array", "items": of, "minItems": 1}


_NODE = {"$ref": "#/$defs/node"}
_XGBOOST = _object({"objective": {"const": "rank:ndcg"}, "splits": _list(_NODE)}) | {
    "$defs": {
        "node": {
            "oneOf": [
                _object({"nodeid": _INTEGER, "leaf": _NUMBER}),
                _object(
                    {
                        "nodeid": _INTEGER,
                        "depth": _INTEGER,
                        "split": _TEXT,
                        "split_condition": _NUMBER,
                        "yes": _INTEGER,
                        "no": _INTEGER,
                        "missing": _INTEGER,
                        "children": _list(_NODE) | {"minItems": 2, "maxItems": 2},
                    }
                ),
            ]
        }
    }
}
_SOLR = _object(
    {
        "class": {"const": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"},
        "name": _TEXT,
        "features": _list(
            _object(
                {"name": _TEXT},
                {
                    "norm": _object(
                        {
                            "class": {"const": "org.apache.solr.ltr.norm.StandardNormalizer"},
                            "params": _object({"avg": _DIGITS, "std": _DIGITS}),
                        }
                    )
                },
            )
        ),
        "params": _object(
            {"trees": _list(_object({"weight": _DIGITS, "root": _NODE}))},
            {"isNullSameAsZero": {"type": "boolean"}},
        ),
    }
) | {
    "$defs": {
        "node": {
            "oneOf": [
                _object({"value": _DIGITS}),
                _object(
                    {"feature": _TEXT, "threshold": _DIGITS, "left": _NODE, "right": _NODE},
                    {"missing": {"enum": ["left", "right"]}},
                ),
            ]
        }
    }
}
_REGRESSION = {"const": "regression"}
_NAMES = {"type": "array", "items": _TEXT, "minItems": 1, "uniqueItems": True}
_ELASTICSEARCH = _object(
    {
        "trained_model": _object(
            {
                "ensemble": _object(
                    {
                        "target_type": _REGRESSION,
                        "feature_names": _NAMES,
                        "trained_models": _list(
                            _object(
                                {
                                    "tree": _object(
                                        {
                                            "target_type": _REGRESSION,
                                            "feature_names": _NAMES,
                                            "tree_structure": _list(_NODE),
                                        }
                                    )
                                }
                            )
                        ),
                        "aggregate_output": _object({"weighted_sum": _object({})}),
                    }
                )
            }
        )
    }
) | {
    "$defs": {
        "node": {
            "oneOf": [
                _object({"node_index": _INTEGER, "leaf_value": _NUMBER}),
                _object(
                    {
                        "node_index": _INTEGER,
                        "decision_type": {"const": "lte"},
                        "threshold": _NUMBER,
                        "split_feature": _INTEGER,
                        "default_left": {"type": "boolean"},
                        "left_child": _INTEGER,
                        "right_child": _INTEGER,
                    }
                ),
            ]
        }
    }
}
_VESPA = {
    "type": "object",
    "properties": {
        "objective": {"const": "lambdarank"},
        "feature_names": _NAMES,
        "pandas_categorical": {"type": "array", "maxItems": 0},
        "tree_info": _list(
            {
                "type": "object",
                "properties": {"tree_structure": _NODE},
                "required": ["tree_structure"],
            }
        ),
    },
    "required": ["objective", "feature_names", "pandas_categorical", "tree_info"],
    "$defs": {
        "node": {
            "oneOf": [
                _object({"leaf_value": _NUMBER}),
                _object(
                    {
                        "split_feature": _INTEGER,
                        "threshold": _NUMBER,
                        "decision_type": {"const": "<="},
                        "default_left": {"type": "boolean"},
                        "left_child": _NODE,
                        "right_child": _NODE,
                    }
                ),
            ]
        }
    },
}
SCHEMAS = {
    "opensearch": _XGBOOST,
    "elasticsearch-ltr": _XGBOOST,
    "elasticsearch": _ELASTICSEARCH,
    "solr": _SOLR,
    "vespa": _VESPA,
}
