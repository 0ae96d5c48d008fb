"""The presets of the Ranker, as a table: which losses, how many folds, which trees.

A parameter of the Ranker that is ``None`` is that of its preset; :func:`resolve_preset` is the one
place where this happens. How the numbers were chosen: ``benchmarks/results/defaults``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gbrank.core import check_choice


@dataclass(frozen=True)
class MemberSettings:
    """One way to boost.

    Attributes
    ----------
    objective : the loss, by name, unless the Ranker says.
    start : where it starts, unless the Ranker says.
    trees : what parameters of the Ranker are that are ``None``, where not as in the preset.
    """

    objective: str
    start: str
    trees: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    """One row of the table.

    Attributes
    ----------
    n_folds : folds of the cross-fit; 1 for one booster on all rows.
    members : what is boosted: the first is the one of a Ranker with one loss.
    defaults : what parameters of the Ranker are that are ``None``.
    in_documents : whether penalties are in documents (:mod:`gbrank.boosting.documents`), or in
        LightGBM's own units.
    stopped : what trees and patience are where queries are given to stop by, and neither is.
    """

    n_folds: int
    members: tuple[MemberSettings, ...]
    defaults: Mapping[str, Any]
    in_documents: bool = True
    stopped: Mapping[str, Any] = field(default_factory=dict)


#: The loss of a Ranker that names none, and has one.
DEFAULT_OBJECTIVE = "xendcg"
_MEMBERS = (
    MemberSettings(DEFAULT_OBJECTIVE, "auto"),
    # for what a linear start misses, features that interact: such data bear all rows in every tree
    MemberSettings("lambdamart", "zero", {"subsample_freq": 0}),
)
_TREES = {
    "learning_rate": 0.1,
    "min_child_samples": 20,
    "min_child_weight": 1e-9,
    "subsample": 0.7,
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
    "reg_lambda": 20.0,
}
_CROSS_FITTED = {**_TREES, "n_estimators": 500, "early_stopping_rounds": 25}
_LIGHTGBM = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "min_child_samples": 20,
    "min_child_weight": 1e-3,
    "subsample": 1.0,
    "subsample_freq": 0,
    "colsample_bytree": 1.0,
    "reg_lambda": 0.0,
    "early_stopping_rounds": None,
}
PRESETS = {
    "fast": Preset(
        1,
        _MEMBERS[:1],
        # nothing stops it early, so that it goes in small steps
        {**_TREES, "learning_rate": 0.03, "n_estimators": 100, "early_stopping_rounds": None},
        stopped={"n_estimators": 1000, "early_stopping_rounds": 50},
    ),
    "balanced": Preset(3, _MEMBERS, _CROSS_FITTED),
    "best": Preset(5, _MEMBERS, _CROSS_FITTED),
    "lightgbm": Preset(
        1, (MemberSettings(DEFAULT_OBJECTIVE, "zero"),), _LIGHTGBM, in_documents=False
    ),
}
#: What ``preset="auto"`` is, and what it is for requests that only one booster can meet.
AUTO, ONE_BOOSTER = "balanced", "fast"


def resolve_preset(
    params: Mapping[str, Any], member: MemberSettings | None = None, *, is_stopped: bool = False
) -> dict[str, Any]:
    """Return the parameters of a Ranker with those of its preset in the place of ``None``.

    Parameters
    ----------
    params : what ``Ranker.get_params`` returns.
    member : one of the preset's, whose own trees are meant.
    is_stopped : whether queries are given to stop by.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.boosting.presets import resolve_preset
    >>> params = resolve_preset(Ranker(n_estimators=50).get_params())
    >>> params["preset"], params["n_estimators"], params["learning_rate"]
    ('balanced', 50, 0.1)
    """
    name = params["preset"]
    check_choice("preset", name, ("auto", *PRESETS))
    name = AUTO if name == "auto" else name
    defaults = {**PRESETS[name].defaults, **({} if member is None else member.trees)}
    stopped = PRESETS[name].stopped
    if is_stopped and all(params.get(parameter) is None for parameter in stopped):
        defaults |= stopped
    missing = {
        parameter: value for parameter, value in defaults.items() if params.get(parameter) is None
    }
    return {**params, "preset": name, **missing}
