r"""Solr's MultipleAdditiveTreesModel, numbers as strings.

Solr adds 1e-6 to a threshold when it reads one, in float32, and sends ``x <= threshold`` left. So
what is written is a T with ``T + 1e-6 == threshold``, all in float32. For thresholds nearer to zero
than 1e-6 there is often none, as T has fewer digits to spare; such a feature is multiplied by a
power of two, which is exact, by a normalizer. Where no power of two will do, the nearest T that
keeps zero on its side is taken, and the values between the thresholds are named.

Where missing values go is written if any go elsewhere than 0 does, which needs Solr 9.2; else they
are 0, as in all versions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import BoolArray, Float32Array, FloatArray
from gbrank.serving._engine import (
    GREATEST32,
    Engine,
    Forest,
    Interval,
    as_float32,
    float32_above,
    float32_below,
    sum_float32,
    walk,
)
from gbrank.serving._trees import ZERO, Leaf, Node, splits_of

_MODEL = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
_NORMALIZER = "org.apache.solr.ltr.norm.StandardNormalizer"
_FEATURE = "org.apache.solr.ltr.feature.SolrFeature"
_SLACK = np.float32(1e-6)
_REASON = "Solr adds 1e-6 to thresholds, which rounds"
# 2 to the power of minus that is the least float32 number with all its digits.
_MOST_DOUBLINGS = 126
# What is not less than it rounds to infinity in single precision.
_OVERFLOW = 2.0**128 - 2.0**103
_MISSING = "isNullSameAsZero"


class Solr(Engine):
    """A model of Solr's model store."""

    def document(
        self, forest: Forest, name: str, strict: bool = False
    ) -> tuple[Any, list[Interval]]:
        thresholds: dict[int, set[float]] = {feature: set() for feature in forest.used()}
        for split in splits_of(forest.trees):
            thresholds[split.feature].add(split.threshold)
        written, features = {}, []
        intervals: list[Interval] = []
        for feature, doubles in thresholds.items():
            wanted = np.unique(float32_below(list(doubles)))
            scale = _choose_scale(wanted, strict)
            entry: dict[str, Any] = {"name": forest.names[feature]}
            if scale.doublings:
                shift = {"avg": "0", "std": repr(2.0**-scale.doublings)}
                entry["norm"] = {"class": _NORMALIZER, "params": shift}
            features.append(entry)
            for threshold, solution in zip(wanted, scale.solutions, strict=True):
                written[feature, float(threshold)] = repr(float(solution)).replace(
                    "inf", "Infinity"
                )
            intervals += _differences(forest.names[feature], wanted, scale)
        has_missing = any(s.missing_left != (s.threshold >= 0) for s in splits_of(forest.trees))

        def nested(node: Node) -> dict[str, Any]:
            if isinstance(node, Leaf):
                return {"value": repr(as_float32(node.value, "a leaf"))}
            missing = {"missing": "left" if node.missing_left else "right"} if has_missing else {}
            return {
                "feature": forest.names[node.feature],
                "threshold": written[node.feature, float(float32_below(node.threshold))],
                **missing,
                "left": nested(node.left),
                "right": nested(node.right),
            }

        trees = [{"weight": "1", "root": nested(tree)} for tree in forest.trees]
        params: dict[str, Any] = {"trees": trees}
        if has_missing:
            params[_MISSING] = False
        document = {"class": _MODEL, "name": name, "features": features, "params": params}
        return document, intervals

    def leaves(self, document: Any, X: NDArray[Any], names: Sequence[str]) -> FloatArray:
        columns = dict(zip(names, X.astype(np.float32).T, strict=True))
        null_is_zero = document["params"].get(_MISSING, True)
        values = {}
        for entry in document["features"]:
            value = columns[entry["name"]]
            if null_is_zero:
                value = np.where(np.isnan(value), np.float32(0), value)
            if "norm" in entry:
                with np.errstate(over="ignore"):
                    value = value / np.float32(entry["norm"]["params"]["std"])
            values[entry["name"]] = value

        def goes_left(node: Any, rows: NDArray[np.intp]) -> Any:
            x = values[node["feature"]][rows]
            with np.errstate(over="ignore"):
                is_left = x <= np.float32(node["threshold"]) + _SLACK
            return np.where(np.isnan(x), node.get("missing") == "left", is_left)

        def value_of(node: Any) -> float | None:
            return float(node["value"]) if "value" in node else None

        reached = [
            walk(tree["root"], len(X), value_of, goes_left, lambda n: (n["left"], n["right"]))
            for tree in document["params"]["trees"]
        ]
        return np.stack(reached, axis=1)

    def total(self, values: FloatArray) -> Float32Array:
        return sum_float32(values)

    def example(self, names: Sequence[str], name: str) -> Any:
        query = "{!field f=FIELD}${keywords}"
        return [{"name": each, "class": _FEATURE, "params": {"q": query}} for each in names]


@dataclass(frozen=True)
class _Scale:
    """What the thresholds of a feature become.

    Attributes
    ----------
    doublings : the feature is multiplied by 2 to this power.
    solutions : what is written for each threshold.
    reached : what Solr makes of it.
    exact : whether that is the threshold, times the power of two.
    """

    doublings: int
    solutions: Float32Array
    reached: Float32Array
    exact: BoolArray


def _choose_scale(wanted: Float32Array, strict: bool) -> _Scale:
    """Return the least power of two that makes all thresholds exact, or else most of them."""
    # That at the end of all numbers is never exact when multiplied, but for infinity alone. Those
    # around LightGBM's zero would take most normalizers, for values that hardly ever are.
    matters = np.abs(wanted) < GREATEST32
    if not strict:
        matters &= np.abs(wanted) > float32_above(ZERO)
    best = _solve(wanted, 0)
    for doublings in range(1, _MOST_DOUBLINGS + 1):
        if best.exact[matters].all():
            break
        candidate = _solve(wanted, doublings)
        if candidate.exact[matters].sum() > best.exact[matters].sum():
            best = candidate
    return best


def _solve(wanted: Float32Array, doublings: int) -> _Scale:
    """Find for each threshold f a float32 T with ``T + 1e-6 == f``, or as near as can be."""
    with np.errstate(over="ignore"):
        scaled = np.ldexp(wanted, doublings)
        near = (scaled.astype(np.float64) - float(_SLACK)).astype(np.float32)
        candidates = [near]
        for _ in range(2):
            lower = np.nextafter(candidates[0], np.float32(-np.inf))
            upper = float32_above(candidates[-1])
            candidates = [lower, *candidates, upper]
        solutions = np.stack(candidates)
        reached = solutions + _SLACK
    # of equal distance, infinities too, the one in the middle is the first guess
    with np.errstate(invalid="ignore"):
        distance = np.abs(reached.astype(np.float64) - scaled)
    distance[reached == scaled] = 0.0
    distance[(reached >= 0) != (scaled >= 0)] = np.inf
    order = [2, 1, 3, 0, 4]
    chosen = np.array(order)[np.argmin(distance[order], axis=0)]
    at = np.arange(len(wanted))
    solutions, reached = solutions[chosen, at], reached[chosen, at]
    return _Scale(doublings, solutions, reached, (reached == scaled) & np.isfinite(scaled))


def _differences(name: str, wanted: Float32Array, scale: _Scale) -> Iterable[Interval]:
    """Return the values between the thresholds that LightGBM has and those that Solr makes."""
    for threshold, reached in zip(wanted, scale.reached, strict=True):
        # the greatest number that Solr sends left
        last = max(float(reached), -_OVERFLOW) if reached < np.inf else np.inf
        effective = float(float32_below(np.ldexp(last, -scale.doublings)))
        low, high = sorted([float(threshold), effective])
        if low < high:
            yield Interval(name, float(float32_above(low)), high, _REASON)
