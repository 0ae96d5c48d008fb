"""What the papers prove, as functions: consistency, bounds, top-k order, limits of NDCG."""

from gbrank.theory.bounds import (
    excess_risk_bound,
    generalization_probability,
    lipschitz_constant,
    low_noise_bound,
    ndcg_margin,
    xendcg_bound,
)
from gbrank.theory.cascade import best_cascade_orders, expected_reciprocal_rank
from gbrank.theory.consistency import (
    ConsistencyCheck,
    bayes_scores,
    check_consistency,
    find_counterexample,
    minimizer,
)
from gbrank.theory.distinguishability import Distinguishability, MeasureVerdict, distinguish
from gbrank.theory.limits import ndcg_limit, pseudo_expectation
from gbrank.theory.preferences import (
    PreferenceCheck,
    check_preferences,
    difference_graph,
    find_misleading_preferences,
    is_low_noise,
    misleading_preferences,
    preference_minimizer,
)
from gbrank.theory.profile import RelevanceProfile
from gbrank.theory.sample_size import detection_power, required_queries
from gbrank.theory.topk import (
    OrderSensitivity,
    check_order_sensitivity,
    is_order_preserving,
    proposition_10,
    topk_bayes_order,
    topk_minimizer_order,
)

__all__ = [
    "ConsistencyCheck",
    "Distinguishability",
    "MeasureVerdict",
    "OrderSensitivity",
    "PreferenceCheck",
    "RelevanceProfile",
    "bayes_scores",
    "best_cascade_orders",
    "check_consistency",
    "check_order_sensitivity",
    "check_preferences",
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
    "minimizer",
    "misleading_preferences",
    "ndcg_limit",
    "ndcg_margin",
    "preference_minimizer",
    "proposition_10",
    "pseudo_expectation",
    "required_queries",
    "topk_bayes_order",
    "topk_minimizer_order",
    "xendcg_bound",
]
