"""Learning to rank with LightGBM: the losses that the literature proved, as tree objectives."""

from gbrank.objectives import (
    XENDCG,
    LambdaMART,
    ListNet,
    Objective,
    get_objective,
    list_objectives,
    register_objective,
)
from gbrank.ranker import Ranker

__version__ = "0.1.0"

__all__ = [
    "XENDCG",
    "LambdaMART",
    "ListNet",
    "Objective",
    "Ranker",
    "get_objective",
    "list_objectives",
    "register_objective",
]
