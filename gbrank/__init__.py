"""Learning to rank with LightGBM: the losses that the literature proved, as tree objectives."""

from gbrank.objectives import (
    XENDCG,
    GainPairwise,
    LambdaMART,
    ListMLE,
    ListNet,
    Objective,
    PairwiseLogistic,
    get_objective,
    list_objectives,
    register_objective,
)
from gbrank.ranker import Ranker

__version__ = "0.1.0"

__all__ = [
    "XENDCG",
    "GainPairwise",
    "LambdaMART",
    "ListMLE",
    "ListNet",
    "Objective",
    "PairwiseLogistic",
    "Ranker",
    "get_objective",
    "list_objectives",
    "register_objective",
]
