"""Search spaces: from what a user writes to checked dimensions, and points drawn from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from gbrank.boosting import LIGHTGBM_NAMES, lightgbm_params, main_names, split_point
from gbrank.core import did_you_mean
from gbrank.objectives import Objective
from gbrank.ranker import Ranker

#: Parameters of the Ranker that trials may differ in.
SEARCHED = ("objective", "start", *(set(LIGHTGBM_NAMES) - {"subsample_for_bin", "boosting_type"}))
#: LightGBM's parameters that bins depend on: these are made once, for all trials.
_BINNING = (
    *("max_bin", "min_data_in_bin", "max_bin_by_feature", "bin_construct_sample_cnt"),
    *("use_missing", "zero_as_missing", "feature_pre_filter", "enable_bundle", "data_random_seed"),
    *("categorical_feature", "forcedbins_filename", "is_enable_sparse", "linear_tree"),
)


@dataclass(frozen=True)
class Dimension:
    """One name to search over.

    Attributes
    ----------
    kind : "float", "int" or "choice".
    low, high, log : of a range, both ends included.
    values : of a choice.
    when : what must have been chosen before, by name, for this one to count.
    """

    kind: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    values: tuple[Any, ...] = ()
    when: Mapping[str, Any] = field(default_factory=dict)

    def contains(self, value: Any) -> bool:
        """Return whether a value can be drawn."""
        if self.kind == "choice":
            return value in self.values
        return isinstance(value, int | float) and self.low <= value <= self.high

    def counts(self, point: Mapping[str, Any]) -> bool:
        """Return whether it counts, given what was chosen before."""
        return all(point.get(name) == value for name, value in self.when.items())

    def draw(self, rng: np.random.Generator) -> Any:
        """Return a random value."""
        if self.kind == "choice":
            return self.values[int(rng.integers(len(self.values)))]
        whole = self.kind == "int"
        low, high = (self.low - 0.5, self.high + 0.5) if whole else (self.low, self.high)
        if self.log:
            low, high = np.log([low, high])
        value = rng.uniform(low, high)
        value = float(np.exp(value)) if self.log else float(value)
        value = min(max(value, self.low), self.high)
        return round(value) if whole else value


Space = dict[str, Dimension]


def draw_point(space: Space, seed: int, number: int) -> dict[str, Any]:
    """Return the random point of a trial, which depends on nothing but seed and number.

    Parameters
    ----------
    space : what to draw from.
    seed, number : of the search and of the trial.

    Examples
    --------
    >>> from gbrank.tuning.space import Dimension, draw_point
    >>> point = draw_point({"num_leaves": Dimension("int", 4, 64, log=True)}, 0, 3)
    >>> 4 <= point["num_leaves"] <= 64
    True
    """
    rng = np.random.default_rng((seed, number))
    point: dict[str, Any] = {}
    for name, dimension in space.items():
        value = dimension.draw(rng)
        if dimension.counts(point):
            point[name] = value
    return point


def read_space(
    space: Any, losses: Mapping[str, Objective], starts: list[str], ranker: Ranker
) -> Space:
    """Return a space, checked: every end of every range makes a Ranker.

    Parameters
    ----------
    space : of :meth:`gbrank.Ranker.search_space` or of the user; entries may also be a list, for a
        choice, or a pair ``(low, high)``.
    losses : the losses to choose from, by what they are called in a point.
    starts : where boosting may start.
    ranker : whose other parameters hold in all trials.
    """
    if not isinstance(space, Mapping) or not space:
        raise ValueError(f"space must be a dict with at least one name, got {space!r}")
    chosen = {
        "objective": {"type": "choice", "values": list(losses)},
        "start": {"type": "choice", "values": starts},
        **space,
    }
    read = {str(name): _read(str(name), entry) for name, entry in chosen.items()}
    before: Space = {}
    for name, dimension in read.items():
        _check_name(name, losses)
        _check_when(name, dimension, before)
        before[name] = dimension
        for value in dimension.values or (dimension.low, dimension.high):
            if name == "objective" and value not in losses:
                raise ValueError(
                    f"space: objective must be among objectives, {list(losses)}, got {value!r}"
                )
            if name == "start" and value not in ("auto", "linear", "zero"):
                raise ValueError(
                    f"space: start must be 'linear', 'zero' or 'auto' in trials, got {value!r}"
                )
            _try_value(name, value, dimension, losses, ranker)
    return read


def _read(name: str, entry: Any) -> Dimension:
    if isinstance(entry, Mapping):
        unknown = sorted(set(entry) - {"type", "low", "high", "log", "values", "when"})
        if unknown:
            raise ValueError(f"space: {name} has {unknown}, which mean nothing")
        if entry.get("type") == "choice":
            return _read_choice(name, entry.get("values"), _read_when(name, entry))
        if entry.get("type") not in ("float", "int"):
            raise ValueError(
                f"space: {name} must be of type 'float', 'int' or 'choice', got "
                f"{entry.get('type')!r}"
            )
        low, high, kind = entry.get("low"), entry.get("high"), entry["type"]
        when = _read_when(name, entry)
        return _read_range(name, kind, low, high, entry.get("log", False), when)
    if isinstance(entry, tuple) and len(entry) == 2:
        kind = "int" if all(isinstance(each, int) for each in entry) else "float"
        return _read_range(name, kind, *entry, False, {})
    if isinstance(entry, list):
        return _read_choice(name, entry, {})
    raise ValueError(
        f"space: {name} must be a dict as Ranker.search_space() has them, a pair (low, high) or a "
        f"list of values, got {entry!r}"
    )


def _read_when(name: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    when = entry.get("when") or {}
    if not isinstance(when, Mapping):
        raise ValueError(
            f"space: 'when' of {name} must be a dict of names and values, got {when!r}"
        )
    return when


def _check_when(name: str, dimension: Dimension, before: Space) -> None:
    """Raise a ``ValueError`` for a condition that no point can meet."""
    for other, value in dimension.when.items():
        if other not in before:
            hint = did_you_mean(str(other), list(before))
            raise ValueError(
                f"space: {name} counts when {other!r} is {value!r}, but no name before it is "
                f"{other!r}{hint}"
            )
        if not before[other].contains(value):
            raise ValueError(
                f"space: {name} counts when {other!r} is {value!r}, which {other!r} never is"
            )


def _read_choice(name: str, values: Any, when: Mapping[str, Any]) -> Dimension:
    plain = (bool, int, float, str, type(None))
    if not isinstance(values, list | tuple) or not values:
        raise ValueError(f"space: the values of {name} must be a list of one or more, got {values}")
    for value in values:
        if not isinstance(value, plain):
            raise ValueError(
                f"space: the values of {name} must be numbers, strings, True, False or None, got "
                f"{value!r}"
            )
    return Dimension("choice", values=tuple(values), when=when)


def _read_range(
    name: str, kind: str, low: Any, high: Any, log: Any, when: Mapping[str, Any]
) -> Dimension:
    numbers = all(
        isinstance(each, int | float) and not isinstance(each, bool) and np.isfinite(each)
        for each in (low, high)
    )
    if not numbers or not low < high:
        raise ValueError(f"space: {name} must have numbers low < high, got {low!r} and {high!r}")
    if kind == "int" and not (low == int(low) and high == int(high)):
        raise ValueError(f"space: {name} must have whole numbers, got {low!r} and {high!r}")
    if log and low <= 0:
        raise ValueError(f"space: {name} has log=True, so that low must be > 0, got {low!r}")
    return Dimension(kind, low, high, bool(log), when=when)


def _check_name(name: str, losses: Mapping[str, Objective]) -> None:
    owner, mark, own = name.partition("__")
    if not mark:
        if name in ("n_estimators", "early_stopping_rounds"):
            raise ValueError(
                f"space: {name} is not searched: held-out queries find the number of trees of each "
                f"trial; set it with ranker=Ranker({name}=...)"
            )
        if name not in SEARCHED:
            hint = did_you_mean(name, SEARCHED)
            raise ValueError(f"space: trials cannot differ in {name!r}{hint}")
    elif owner == "lgb_params":
        if main_names().get(own, own) in _BINNING:
            raise ValueError(
                f"space: {own} cannot be searched: features are binned once, for all trials"
            )
    elif owner not in losses:
        raise ValueError(f"space: {name} is of a loss that is not among {list(losses)}")
    elif own not in losses[owner].get_params():
        known = sorted(losses[owner].get_params())
        raise ValueError(f"space: {owner} has no parameter {own!r}; it has {known}")


def _try_value(
    name: str,
    value: Any,
    dimension: Dimension,
    losses: Mapping[str, Objective],
    ranker: Ranker,
) -> None:
    owner, mark, _ = name.partition("__")
    label = owner if mark and owner in losses else next(iter(losses))
    if name == "objective":
        label = value
    whole = round(value) if dimension.kind == "int" else value
    try:
        make_ranker({"objective": label, name: whole}, losses, ranker, check=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"space: {name}={value!r}: {error}") from error


def make_ranker(
    point: Mapping[str, Any],
    losses: Mapping[str, Objective],
    ranker: Ranker,
    *,
    check: bool = False,
) -> Ranker:
    """Return the Ranker of a point: one loss, cross-fitted.

    Parameters
    ----------
    point : values by name.
    losses : by what they are called in a point.
    ranker : whose other parameters hold.
    check : whether to check all parameters now.
    """
    objective, trees = split_point(point, losses)
    made: Ranker = clone(ranker)
    if "lgb_params" in trees:
        trees["lgb_params"] = {**(ranker.lgb_params or {}), **trees["lgb_params"]}
    made.set_params(preset="balanced", objective=objective, **trees)
    if check:
        objective.check_params()
        lightgbm_params(made.get_params(deep=False))
    return made
