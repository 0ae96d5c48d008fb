"""What the papers prove, as functions: consistency, bounds, top-k order, limits of NDCG."""

from gbrank.theory.bounds import (
    excess_risk_bound,
    generalization_probability,
    lipschitz_constant,
    low_noise_bound,
    ndcg_margin,
    xendcg_bound,
)
from gbrank.theory.cascade import (
    best_cascade_orders,
    dependent_relevances,
    expected_reciprocal_rank,
)
from gbrank.theory.composite import CompositeGradient, composite_gradient
from gbrank.theory.consistency import (
    ConsistencyCheck,
    bayes_scores,
    check_consistency,
    find_counterexample,
    minimizer,
)
from gbrank.theory.distinguishability import Distinguishability, MeasureVerdict, distinguish
from gbrank.theory.equal_limits import theorem_8_counterexample
from gbrank.theory.limits import ndcg_difference_rate, ndcg_limit, pseudo_expectation
from gbrank.theory.luce import luce_cross_entropy
from gbrank.theory.preferences import (
    PreferenceCheck,
    check_margins,
    check_preferences,
    difference_graph,
    find_misleading_preferences,
    is_low_noise,
    misleading_margins,
    misleading_preferences,
    preference_minimizer,
)
from gbrank.theory.profile import RelevanceProfile
from gbrank.theory.sample_size import detection_power, required_queries
from gbrank.theory.suboptimality import ndcg_suboptimality, preference_suboptimality
from gbrank.theory.topk import (
    OrderSensitivity,
    check_order_sensitivity,
    is_order_preserving,
    order_preserving_chain,
    proposition_10,
    topk_bayes_order,
    topk_minimizer_order,
)

__all__ = [
    "CompositeGradient",
    "ConsistencyCheck",
    "Distinguishability",
    "MeasureVerdict",
    "OrderSensitivity",
    "PreferenceCheck",
    "RelevanceProfile",
    "bayes_scores",
    "best_cascade_orders",
    "check_consistency",
    "check_margins",
    "check_order_sensitivity",
    "check_preferences",
    "composite_gradient",
    "dependent_relevances",
    "detection_power",
    "difference_graph",
    "distinguish",
    "excess_risk_bound",
    "expected_reciprocal_rank",
    "find_counterexample",
    "find_misleading_preferences",
    "generalization_probability",
    "is_low_noise",
    "is_order_preserving",
    "lipschitz_constant",
    "low_noise_bound",
    "luce_cross_entropy",
    "minimizer",
    "misleading_margins",
    "misleading_preferences",
    "ndcg_difference_rate",
    "ndcg_limit",
    "ndcg_margin",
    "ndcg_suboptimality",
    "order_preserving_chain",
    "preference_minimizer",
    "preference_suboptimality",
    "proposition_10",
    "pseudo_expectation",
    "required_queries",
    "theorem_8_counterexample",
    "topk_bayes_order",
    "topk_minimizer_order",
    "xendcg_bound",
]
