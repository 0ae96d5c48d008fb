"""The Ranker's parameters as LightGBM's, and the ones that the Ranker decides itself."""

from collections.abc import Mapping
from typing import Any

import lightgbm as lgb

#: Constructor parameters that go to LightGBM, under LightGBM's own names.
LIGHTGBM_NAMES = {
    "boosting_type": "boosting",
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "learning_rate": "learning_rate",
    "min_split_gain": "min_gain_to_split",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_child_samples": "min_data_in_leaf",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "subsample_for_bin": "bin_construct_sample_cnt",
    "colsample_bytree": "feature_fraction",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
}
# What the Ranker decides itself, and where to say otherwise.
_DECIDED_HERE = {
    "objective": "objective",
    "metric": "eval_metric",
    "num_threads": "n_jobs",
    "num_iterations": "n_estimators",
    "early_stopping_round": "early_stopping_rounds",
    "seed": "random_state",
    "verbosity": "verbose",
    **{theirs: ours for ours, theirs in LIGHTGBM_NAMES.items()},
}


def check_other_params(lgb_params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``lgb_params``; refuse those that are parameters of the Ranker, by any of their names.

    LightGBM knows most parameters by several names and, given two, quietly takes one.
    """
    checked = {}
    for name, value in (lgb_params or {}).items():
        main_name = _main_names().get(name, name)
        if main_name in _DECIDED_HERE or name in LIGHTGBM_NAMES:
            ours = _DECIDED_HERE.get(main_name, name)
            raise ValueError(
                f"lgb_params must not set {name!r}: use the Ranker's parameter {ours!r}"
            )
        if main_name == "bagging_by_query" and value:
            raise ValueError(
                "bagging_by_query=True is not supported: with a custom objective LightGBM then "
                "pairs gradients with the wrong rows; use the Ranker's query_subsample"
            )
        checked[name] = value
    return checked


def _main_names() -> dict[str, str]:
    """Return LightGBM's parameter for each of its other names (its table is private: a guard)."""
    aliases = getattr(lgb.basic, "_ConfigAliases", None)
    find = getattr(aliases, "get", None)
    if find is None:
        return {}
    return {alias: name for name in _DECIDED_HERE for alias in find(name)}
