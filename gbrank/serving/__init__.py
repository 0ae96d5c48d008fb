"""Models in production: exported to search engines, compiled, explained.

Everything here works on a booster, or on whatever has one: ``Ranker``, ``LGBMRanker``.
"""

from gbrank.serving._engine import Interval
from gbrank.serving.compiled import CompiledModel, compile_model
from gbrank.serving.explain import Explanation, PairExplanation, explain, explain_pair
from gbrank.serving.export import Export, export
from gbrank.serving.importance import PermutationImportance, permutation_importance

__all__ = [
    "CompiledModel",
    "Explanation",
    "Export",
    "Interval",
    "PairExplanation",
    "PermutationImportance",
    "compile_model",
    "explain",
    "explain_pair",
    "export",
    "permutation_importance",
]
