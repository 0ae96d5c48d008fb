"""The objectives, by class and by name."""

from gbrank.objectives._drawn_labels import DrawnLabels as DrawnLabels
from gbrank.objectives._learned_bias import LearnsBias as LearnsBias
from gbrank.objectives._observed import observed_totals as observed_totals
from gbrank.objectives._registry import describe_objectives as describe_objectives
from gbrank.objectives._registry import find_objective as find_objective
from gbrank.objectives._registry import (
    get_objective,
    list_objectives,
    objective_name,
    register_objective,
)
from gbrank.objectives._registry import markdown_table as markdown_table
from gbrank.objectives._training import Training
from gbrank.objectives.base import Objective as Objective

# isort: off
# The losses, a line each, in the order of the table. The line makes the class public, and its file
# makes it known by name.
from gbrank.objectives.xendcg import XENDCG as XENDCG
from gbrank.objectives.listnet import ListNet as ListNet
from gbrank.objectives.lambdamart import LambdaMART as LambdaMART
from gbrank.objectives.yetiloss import YetiLoss as YetiLoss
from gbrank.objectives.squared import Squared as Squared
from gbrank.objectives.cosine import Cosine as Cosine
from gbrank.objectives.kl import KL as KL
from gbrank.objectives.bregman import Bregman as Bregman
from gbrank.objectives.regression_compatible import RegressionCompatible as RegressionCompatible
from gbrank.objectives.qnorm import QNorm as QNorm
from gbrank.objectives.gain_pairwise import GainPairwise as GainPairwise
from gbrank.objectives.listmle import ListMLE as ListMLE
from gbrank.objectives.smoothed import Smoothed as Smoothed
from gbrank.objectives.pairwise import PairwiseLogistic as PairwiseLogistic
from gbrank.objectives.pairwise_hinge import PairwiseHinge as PairwiseHinge
from gbrank.objectives.unique_softmax import UniqueSoftmax as UniqueSoftmax
from gbrank.objectives.approx_ndcg import ApproxNDCG as ApproxNDCG
from gbrank.objectives.sigmoid_cross_entropy import SigmoidCrossEntropy as SigmoidCrossEntropy
from gbrank.objectives.preference import PreferenceLogistic as PreferenceLogistic
from gbrank.objectives.ustatistic import UStatistic as UStatistic
from gbrank.objectives.subsampled import QuerySubsampled as QuerySubsampled
from gbrank.objectives.position_bias import PositionBias as PositionBias
from gbrank.objectives.click_softmax import ClickSoftmax as ClickSoftmax
from gbrank.objectives.dual import DualSoftmax as DualSoftmax
from gbrank.objectives.combined import Combined as Combined
from gbrank.objectives.combined import split_labels as split_labels
from gbrank.objectives.combined import with_label_matrix as with_label_matrix
from gbrank.objectives.combined import with_labels_of as with_labels_of
# isort: on

__all__ = [
    "Training",
    "get_objective",
    "list_objectives",
    "objective_name",
    "register_objective",
]
__all__ += [
    name
    for name, thing in vars().items()
    if isinstance(thing, type) and issubclass(thing, Objective) and thing is not LearnsBias
]
