"""Learning to rank with LightGBM: the losses that the literature proved, as tree objectives.

Names are imported when they are first used, so that ``gbrank --help`` needs neither LightGBM nor
scikit-learn nor numba.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gbrank._version import __version__

if TYPE_CHECKING:
    from gbrank.model_selection import QueryKFold, QueryShuffleSplit, cv
    from gbrank.objectives import (
        KL,
        XENDCG,
        Bregman,
        Cosine,
        GainPairwise,
        LambdaMART,
        ListMLE,
        ListNet,
        Objective,
        PairwiseLogistic,
        PreferenceLogistic,
        QNorm,
        QuerySubsampled,
        Smoothed,
        Squared,
        UStatistic,
        get_objective,
        list_objectives,
        register_objective,
    )
    from gbrank.ranker import Ranker

_SELECTION = ("QueryKFold", "QueryShuffleSplit", "cv")
_MODULES = (
    "cli",
    "dask",
    "data",
    "gains",
    "linear",
    "metrics",
    "model_selection",
    "objectives",
    "plotting",
    "preferences",
    "preprocessing",
    "ranker",
    "simulate",
    "testing",
    "theory",
)

__all__ = [
    "KL",
    "XENDCG",
    "Bregman",
    "Cosine",
    "GainPairwise",
    "LambdaMART",
    "ListMLE",
    "ListNet",
    "Objective",
    "PairwiseLogistic",
    "PreferenceLogistic",
    "QNorm",
    "QueryKFold",
    "QueryShuffleSplit",
    "QuerySubsampled",
    "Ranker",
    "Smoothed",
    "Squared",
    "UStatistic",
    "__version__",
    "cv",
    "get_objective",
    "list_objectives",
    "register_objective",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"gbrank.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'gbrank' has no attribute {name!r}")
    if name == "Ranker":
        home = "gbrank.ranker"
    else:
        home = "gbrank.model_selection" if name in _SELECTION else "gbrank.objectives"
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
