"""Parameter values as JSON and back: exactly, without ever running code that a file names.

Numbers, text, lists and dictionaries are themselves. Everything else is a dictionary with one key
that starts with "$" and says what it is. What JSON cannot hold, such as a function, is kept by
name: :class:`SavedByName` holds its place; :func:`check_no_placeholders` asks for the real one.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbrank.core import PowerDiscount
from gbrank.objectives import Objective, get_objective, objective_name
from gbrank.preferences import BoundObservations, Observations

#: The arrays that are written. NumPy would read other words as well, some of them as code.
_PLAIN_DTYPE = re.compile(r"[<>=|]?(b1|[iuf][1248]|U[0-9]{1,4}|O)")


@dataclass(frozen=True)
class SavedByName:
    """The placeholder of a function, or another object, of which a file holds only the name."""

    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"{self.name} was saved by name only, so that it cannot be called")


@dataclass(frozen=True)
class UnknownObjective:
    """The placeholder of an objective that cannot be built here.

    Attributes
    ----------
    name : its name in the registry, or that of its class if it was not registered.
    saved : its entry in the file, which is all that is known of it.
    why : why it cannot be built.
    """

    name: str
    saved: dict[str, Any]
    why: str

    def __repr__(self) -> str:
        return f"UnknownObjective({self.name!r}, {self.saved['params']!r})"


def check_no_placeholders(params: Mapping[str, Any]) -> None:
    """Raise a ``ValueError`` that asks for the first parameter that was not saved completely."""
    for parameter, value in params.items():
        for part in _parts(value):
            if isinstance(part, SavedByName):
                raise ValueError(
                    f"{parameter} was {part.name}, of which the model's file holds only the name: "
                    f"the loaded model predicts, but before fit give it again, with "
                    f"set_params({parameter}=...)"
                )
            if isinstance(part, UnknownObjective):
                raise ValueError(
                    f"the objective {part.name!r} of the loaded model {part.why}: the model "
                    "predicts, but before fit register the class with gbrank.register_objective "
                    f"and load the model again, or use set_params({parameter}=...)"
                )


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [part for entry in value.values() for part in _parts(entry)]
    if isinstance(value, list | tuple | set | frozenset):
        return [part for entry in value for part in _parts(entry)]
    return [value]


# --- to JSON ---------------------------------------------------------------------------------


def encode(value: Any) -> Any:
    """Return ``value`` as what ``json.dumps(..., allow_nan=False)`` takes.

    Examples
    --------
    >>> from gbrank import LambdaMART
    >>> from gbrank.boosting.saved_values import decode, encode
    >>> encode([1, 0.1, None, (2, float("inf"))])
    [1, 0.1, None, {'$tuple': [2, {'$float': 'inf'}]}]
    >>> decode(encode(LambdaMART(sigmoid=2.0)))
    LambdaMART(sigmoid=2.0)
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [encode(entry) for entry in value]
    if isinstance(value, tuple):
        return {"$tuple": [encode(entry) for entry in value]}
    if isinstance(value, set | frozenset):
        return {"$set": [encode(entry) for entry in sorted(value, key=repr)]}
    if isinstance(value, Mapping):
        return _encode_mapping(value)
    if isinstance(value, np.ndarray) and _is_plain(value):
        return {"$array": [value.dtype.str, list(value.shape), encode(value.ravel().tolist())]}
    if isinstance(value, PowerDiscount):
        return {"$power_discount": encode(value.beta)}
    if isinstance(value, Objective):
        return {"$objective": _encode_objective(value)}
    if isinstance(value, UnknownObjective):
        return {"$objective": value.saved}
    if isinstance(value, Observations | BoundObservations):
        return None  # training data, as labels are, and not a setting
    return {"$by_name": value.name if isinstance(value, SavedByName) else _name(value)}


def _encode_mapping(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    if all(isinstance(key, str) and not key.startswith("$") for key in mapping):
        return {str(key): encode(value) for key, value in mapping.items()}
    return {"$dict": [[encode(key), encode(value)] for key, value in mapping.items()]}


def _encode_objective(objective: Objective) -> dict[str, Any]:
    params = objective.get_params(deep=False)
    return {
        "name": objective_name(objective),
        "class": type(objective).__qualname__,
        "params": {name: encode(value) for name, value in params.items()},
    }


def _is_plain(array: np.ndarray[Any, Any]) -> bool:
    """Return whether lists hold this array exactly: numbers up to 64 bits, or text."""
    if array.dtype.kind == "O":
        return all(isinstance(entry, str) for entry in array.ravel())
    return array.dtype.kind in "biuU" or (array.dtype.kind == "f" and array.dtype.itemsize <= 8)


def _name(value: Any) -> str:
    """Return what a person recognises an object by, without its address in memory."""
    named = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(named, "__module__", None)
    return f"{module}.{named.__qualname__}" if module else str(named.__qualname__)


# --- from JSON -------------------------------------------------------------------------------


def decode(value: Any) -> Any:
    """Return the value given to :func:`encode`, or a placeholder for what JSON cannot hold."""
    if isinstance(value, list):
        return [decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if not tag.startswith("$"):
        return {key: decode(entry) for key, entry in value.items()}
    if tag not in _DECODERS:  # of a newer version
        return SavedByName(json.dumps(value))
    return _DECODERS[tag](value[tag])


def _decode_array(saved: Any) -> np.ndarray[Any, Any]:
    dtype, shape, entries = saved
    if not isinstance(dtype, str) or not _PLAIN_DTYPE.fullmatch(dtype):
        raise ValueError(f"arrays are of numbers or text, not of dtype {dtype!r}")
    return np.array(decode(entries), dtype=np.dtype(dtype)).reshape(shape)


def _decode_objective(saved: Any) -> Objective | UnknownObjective:
    name, params = saved["name"], saved["params"]
    if name is None:
        return UnknownObjective(saved["class"], saved, "was not registered when it was saved")
    try:
        return get_objective(name, **{key: decode(value) for key, value in params.items()})
    except (TypeError, ValueError) as error:  # not registered, or its parameters have changed
        return UnknownObjective(name, saved, f"cannot be built here ({error})")


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$array": _decode_array,
    "$by_name": SavedByName,
    "$dict": lambda pairs: {decode(key): decode(value) for key, value in pairs},
    "$float": float,
    "$objective": _decode_objective,
    "$power_discount": lambda beta: PowerDiscount(decode(beta)),
    "$set": lambda entries: {decode(entry) for entry in entries},
    "$tuple": lambda entries: tuple(decode(entry) for entry in entries),
}
