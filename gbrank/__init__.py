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
    "PreferenceLogistic",
    "QNorm",
    "QueryKFold",
    "QueryShuffleSplit",
    "QuerySubsampled",
    "Ranker",
    "Smoothed",
    "Squared",
    "UStatistic",
    "cv",
    "get_objective",
    "list_objectives",
    "register_objective",
]
