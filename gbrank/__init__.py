"""Learning to rank with LightGBM: the losses that the literature proved, as tree objectives."""

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
    QNorm,
    Squared,
    get_objective,
    list_objectives,
    register_objective,
)
from gbrank.ranker import Ranker

__version__ = "0.1.0"

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
    "QNorm",
    "QueryKFold",
    "QueryShuffleSplit",
    "Ranker",
    "Squared",
    "cv",
    "get_objective",
    "list_objectives",
    "register_objective",
]
