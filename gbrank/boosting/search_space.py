"""What is worth searching over, as plain dictionaries that any tuner can read.

Penalties are in documents (:mod:`gbrank.boosting.documents`), so that one range of ``reg_lambda``
fits every loss.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from gbrank.objectives import Objective, get_objective, objective_name

#: The losses of ``objectives="auto"``: those that the Ranker blends, and two of other kinds.
AUTO_OBJECTIVES = ("xendcg", "lambdamart", "listnet", "gain_pairwise")

_TREES: dict[str, dict[str, Any]] = {
    "learning_rate": {"type": "float", "low": 0.03, "high": 0.3, "log": True},
    "num_leaves": {"type": "int", "low": 4, "high": 64, "log": True},
    "min_child_samples": {"type": "int", "low": 5, "high": 100, "log": True},
    "reg_lambda": {"type": "float", "low": 1.0, "high": 300.0, "log": True},
    "colsample_bytree": {"type": "float", "low": 0.2, "high": 1.0, "log": False},
    "subsample": {"type": "float", "low": 0.5, "high": 1.0, "log": False},
}
_OF_LOSSES: dict[str, dict[str, dict[str, Any]]] = {
    "lambdamart": {
        "truncation_level": {"type": "int", "low": 5, "high": 100, "log": True},
        "sigmoid": {"type": "float", "low": 0.5, "high": 4.0, "log": True},
        "norm": {"type": "choice", "values": [True, False]},
    },
    "xendcg": {"gamma": {"type": "choice", "values": ["uniform", "annealed", "tight"]}},
    "listnet": {"temperature": {"type": "float", "low": 0.2, "high": 2.0, "log": True}},
    "gain_pairwise": {
        "phi": {"type": "choice", "values": ["logistic", "exponential", "squared_hinge"]}
    },
    "listmle": {"k": {"type": "choice", "values": [None, 5, 10, 20]}},
}


def search_space(
    objectives: Sequence[str | Objective] | str = "auto",
    start: Sequence[str] | str = ("linear", "zero"),
) -> dict[str, dict[str, Any]]:
    """Return what to search over, by name: see :meth:`gbrank.Ranker.search_space`.

    Parameters
    ----------
    objectives : names of losses or instances, or "auto".
    start : where boosting may start.
    """
    labels = list(name_objectives(objectives))
    starts = [start] if isinstance(start, str) else list(start)
    space: dict[str, dict[str, Any]] = {
        "objective": {"type": "choice", "values": labels},
        "start": {"type": "choice", "values": starts},
        **copy.deepcopy(_TREES),
    }
    for label in labels:
        for name, entry in _OF_LOSSES.get(label, {}).items():
            space[f"{label}__{name}"] = {**copy.deepcopy(entry), "when": {"objective": label}}
    return space


def name_objectives(objectives: Sequence[str | Objective] | str) -> dict[str, Objective]:
    """Return losses by what they are called in a point: their name, or how an instance prints.

    Parameters
    ----------
    objectives : names of losses or instances, or "auto".

    Examples
    --------
    >>> from gbrank import LambdaMART
    >>> from gbrank.boosting.search_space import name_objectives
    >>> list(name_objectives(["xendcg", LambdaMART(sigmoid=2)]))
    ['xendcg', 'LambdaMART(sigmoid=2)']
    """
    if isinstance(objectives, str):
        objectives = AUTO_OBJECTIVES if objectives == "auto" else (objectives,)
    if isinstance(objectives, Objective):
        objectives = (objectives,)
    if not isinstance(objectives, Sequence) or len(objectives) == 0:
        raise ValueError(
            "objectives must be 'auto' or a list with at least one loss, by name or as an "
            f"instance, got {objectives!r}"
        )
    named = {}
    for each in objectives:
        loss = get_objective(each)
        name = objective_name(loss)
        plain = name is not None and repr(loss) == repr(get_objective(name))
        named[str(name) if plain else repr(loss)] = loss
    return named


def split_point(
    point: Mapping[str, Any], losses: Mapping[str, Objective] | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return the loss of a point of the space, with its parameters, and the Ranker's parameters.

    Parameters
    ----------
    point : a value for each name of the space; those of other losses count for nothing.
    losses : by what they are called in a point; by default those that are registered.
    """
    label = point.get("objective")
    if label is None:
        loss = None
    else:
        known = (losses or {}).get(label)
        loss = copy.deepcopy(get_objective(label) if known is None else known)
    others: dict[str, Any] = {}
    further: dict[str, Any] = {}
    for name, value in point.items():
        owner, mark, own = name.partition("__")
        if not mark:
            others[name] = value
        elif owner == "lgb_params":
            further[own] = value
        elif owner == label and loss is not None:
            loss.set_params(**{own: value})
    others.pop("objective", None)
    if further:
        others["lgb_params"] = further
    if "subsample" in others:
        others.setdefault("subsample_freq", 1)
    return loss, others
