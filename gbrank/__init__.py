"""Learning to rank with LightGBM: the losses that the literature proved, as tree objectives.

Names are imported when they are first used, so that ``gbrank --help`` needs neither LightGBM nor
scikit-learn nor numba. Every loss that ``gbrank.objectives`` exports is a name here too.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gbrank._version import __version__ as __version__

if TYPE_CHECKING:
    from gbrank.boosting import save_booster as save_booster
    from gbrank.calibration import CalibratedRanker as CalibratedRanker
    from gbrank.calibration import calibration_error as calibration_error
    from gbrank.cli import warm_up as warm_up
    from gbrank.model_selection import QueryKFold as QueryKFold
    from gbrank.model_selection import QueryShuffleSplit as QueryShuffleSplit
    from gbrank.model_selection import cv as cv
    from gbrank.objectives import *  # noqa: F403
    from gbrank.ranker import Ranker as Ranker
    from gbrank.serving import export as export
    from gbrank.tuning import TuneResult as TuneResult
    from gbrank.tuning import tune as tune

# Names that are not those of losses, and the module of each.
_MODULE_OF = {
    "CalibratedRanker": "calibration",
    "QueryKFold": "model_selection",
    "QueryShuffleSplit": "model_selection",
    "Ranker": "ranker",
    "calibration_error": "calibration",
    "cv": "model_selection",
    "export": "serving",
    "get_objective": "objectives",
    "list_objectives": "objectives",
    "register_objective": "objectives",
    "save_booster": "boosting",
    "TuneResult": "tuning",
    "tune": "tuning",
    "warm_up": "cli",
}
_MODULES = (
    "calibration",
    "cli",
    "clicks",
    "dask",
    "data",
    "gains",
    "linear",
    "metrics",
    "model_selection",
    "noise",
    "objectives",
    "plotting",
    "preferences",
    "preprocessing",
    "ranker",
    "serving",
    "simulate",
    "testing",
    "theory",
    "tuning",
)


def _losses() -> list[str]:
    """Return the names of the losses, and of the class that they derive from."""
    room = importlib.import_module("gbrank.objectives")
    return [
        name
        for name in room.__all__
        if isinstance(getattr(room, name), type) and issubclass(getattr(room, name), room.Objective)
    ]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"gbrank.{name}")
    if name == "__all__":
        return sorted({"__version__", *_MODULE_OF, *_losses()})
    module = _MODULE_OF.get(name)
    if module is None:
        if name.startswith("_") or name not in _losses():
            raise AttributeError(f"module 'gbrank' has no attribute {name!r}")
        module = "objectives"
    value = getattr(importlib.import_module(f"gbrank.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__getattr__("__all__"), *_MODULES})
