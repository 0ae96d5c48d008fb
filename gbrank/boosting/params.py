"""LightGBM's parameters: their names and aliases, and which ones the Ranker's parameters are.

LightGBM knows most parameters by several names and, given two of them, quietly takes one. What
users hand on as it is (``lgb_params``) is therefore looked up by all of its names.
"""

import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting.presets import resolve_preset
from gbrank.core import (
    NO_BAGGING_BY_QUERY,
    bags_by_query,
    check_choice,
    check_integer,
    check_number,
    check_seed,
    did_you_mean,
    resolve_n_jobs,
)

#: Parameters of the Ranker that LightGBM has too, under LightGBM's own names.
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
#: What else the Ranker decides, and by which of its parameters.
DECIDED_HERE = {
    "objective": "objective",
    "metric": "eval_metric",
    "num_threads": "n_jobs",
    "num_iterations": "n_estimators",
    "early_stopping_round": "early_stopping_rounds",
    "seed": "random_state",
    "verbosity": "verbose",
    **{theirs: ours for ours, theirs in LIGHTGBM_NAMES.items()},
}


_BOOSTING_TYPES = ("gbdt", "gbrt", "dart", "rf", "random_forest", "goss")


def main_names() -> dict[str, str]:
    """Return LightGBM's main name of each name that a parameter has.

    Nothing, where this version of LightGBM does not have the table: it is private there.
    """
    aliases = getattr(lgb.basic, "_ConfigAliases", None)
    find = getattr(aliases, "_get_all_param_aliases", None)
    if find is None:
        return {}
    return {name: main for main, others in find().items() for name in (main, *others)}


def take_param(params: Mapping[str, Any], name: str, default: Any) -> tuple[dict[str, Any], Any]:
    """Return parameters without one of them, by whichever of its names, and its value.

    Parameters
    ----------
    params : parameters of LightGBM.
    name : LightGBM's main name of the one; if it comes by several names, this one counts.
    default : its value if it is not there.

    Examples
    --------
    >>> from gbrank.boosting.params import take_param
    >>> take_param({"application": "lambdarank", "verbose": -1}, "objective", None)
    ({'verbose': -1}, 'lambdarank')
    """
    known = main_names()
    found = {key: value for key, value in params.items() if known.get(key, key) == name}
    others = {key: value for key, value in params.items() if key not in found}
    return others, found.get(name, next(iter(found.values()), default))


def check_bagging_by_query(params: Mapping[str, Any]) -> None:
    """Raise a ``ValueError`` if LightGBM is to bag queries, which custom objectives do not survive.

    Parameters
    ----------
    params : parameters of LightGBM.
    """
    if bags_by_query(params):
        raise ValueError(NO_BAGGING_BY_QUERY)


def lightgbm_params(ranker_params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of LightGBM that those of a Ranker stand for, after all checks.

    Penalties are still in the unit that they have in the Ranker.

    Parameters
    ----------
    ranker_params : what ``Ranker.get_params`` returns.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.boosting.params import lightgbm_params
    >>> params = lightgbm_params(Ranker(reg_lambda=2.0, n_jobs=1).get_params())
    >>> params["lambda_l2"], params["num_threads"], params["metric"]
    (2.0, 1, 'None')
    """
    ranker_params = resolve_preset(ranker_params)
    _check_training_params(ranker_params)
    _check_tree_params(ranker_params)
    verbose, seed = ranker_params["verbose"], ranker_params["random_state"]
    return {
        **{theirs: ranker_params[ours] for ours, theirs in LIGHTGBM_NAMES.items()},
        "metric": "None",
        "num_threads": resolve_n_jobs(ranker_params["n_jobs"]),
        "seed": int(seed or 0),
        "verbosity": verbose - 1 if verbose > 0 else verbose,
        **check_other_params(ranker_params["lgb_params"]),
    }


def with_seeds_of_later_trees(params: Mapping[str, Any], n_trees: int) -> dict[str, Any]:
    """Return parameters with which rows and features are drawn anew for the trees that follow.

    LightGBM's draws begin again in every training: a model that goes on tree by tree would see the
    same rows and features in every one.

    Parameters
    ----------
    params : of LightGBM; seeds that are given there stay.
    n_trees : how many trees there are already.

    Examples
    --------
    >>> from gbrank.boosting.params import with_seeds_of_later_trees
    >>> with_seeds_of_later_trees({"seed": 1}, 0)
    {'seed': 1}
    >>> sorted(with_seeds_of_later_trees({"seed": 1, "bagging_seed": 7}, 5))
    ['bagging_seed', 'extra_seed', 'feature_fraction_seed', 'seed']
    """
    if n_trees == 0:
        return dict(params)
    draws = np.random.SeedSequence([int(params.get("seed") or 0), n_trees])
    names = ("bagging_seed", "feature_fraction_seed", "extra_seed")
    seeds = dict(zip(names, (draws.generate_state(3) >> 1).tolist(), strict=True))
    known = main_names()
    given = {known.get(name, name) for name in params}
    return {**params, **{name: seed for name, seed in seeds.items() if name not in given}}


def monotone_constraints(params: Mapping[str, Any]) -> list[int]:
    """Return LightGBM's constraint of each feature, -1, 0 or 1; nothing where there are none.

    Parameters
    ----------
    params : parameters of LightGBM, by any of their names.
    """
    known = main_names()
    for name, value in params.items():
        if known.get(name, name) == "monotone_constraints" and value:
            return [int(each) for each in (value.split(",") if isinstance(value, str) else value)]
    return []


def is_constrained(params: Mapping[str, Any]) -> bool:
    """Return whether LightGBM is told what a feature may do to the score.

    Parameters
    ----------
    params : parameters of LightGBM, by any of their names.
    """
    _, groups = take_param(params, "interaction_constraints", None)
    return bool(groups) or any(monotone_constraints(params))


def unused_features(params: Mapping[str, Any], n_features: int) -> list[int]:
    """Return the features that no tree may use: those in no group of ``interaction_constraints``.

    Parameters
    ----------
    params : parameters of LightGBM, by any of their names.
    n_features : how many there are.

    Examples
    --------
    >>> from gbrank.boosting.params import unused_features
    >>> unused_features({"interaction_constraints": [[0, 1], [3]]}, 5)
    [2, 4]
    """
    _, groups = take_param(params, "interaction_constraints", None)
    if not groups:
        return []
    used = {int(number) for number in re.findall(r"\d+", str(groups))}
    return [feature for feature in range(n_features) if feature not in used]


def check_other_params(lgb_params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``lgb_params``; raise a ``ValueError`` for what is the Ranker's, or not LightGBM's.

    Parameters
    ----------
    lgb_params : parameters of LightGBM by any of their names, or ``None``.
    """
    if lgb_params is not None and not isinstance(lgb_params, Mapping):
        raise TypeError(f"lgb_params must be a dict or None, got {lgb_params!r}")
    given = dict(lgb_params or {})
    known = main_names() if given else {}
    for name, value in given.items():
        main_name = known.get(name, name)
        if main_name in DECIDED_HERE or name in LIGHTGBM_NAMES:
            ours = DECIDED_HERE.get(main_name, name)
            raise ValueError(
                f"lgb_params must not set {name!r}: use the Ranker's parameter {ours!r}"
            )
        if known and name not in known:  # LightGBM would say so in its log, at the most
            hint = did_you_mean(name, known)
            raise ValueError(f"lgb_params: LightGBM has no parameter {name!r}{hint}")
        check_bagging_by_query({main_name: value})
    return given


def _check_tree_params(params: Mapping[str, Any]) -> None:
    """Check what LightGBM would refuse by its own names, or not before it has all the data."""
    check_number("learning_rate", params["learning_rate"], low=0.0, low_open=True)
    for name in ("subsample", "colsample_bytree"):
        check_number(name, params[name], low=0.0, high=1.0, low_open=True)
    for name in ("reg_alpha", "reg_lambda", "min_split_gain", "min_child_weight"):
        check_number(name, params[name], low=0.0)
    lowest = {
        "num_leaves": 2,
        "max_depth": -1,
        "min_child_samples": 0,
        "subsample_freq": 0,
        "subsample_for_bin": 1,
    }
    for name, low in lowest.items():
        check_integer(name, params[name], low=low)
    check_choice("boosting_type", params["boosting_type"], _BOOSTING_TYPES)
    check_choice("importance_type", params["importance_type"], ("split", "gain"))


def _check_training_params(params: Mapping[str, Any]) -> None:
    """Check the parameters that say how often and on what LightGBM trains."""
    check_integer("n_estimators", params["n_estimators"], low=1)
    if params["early_stopping_rounds"] is not None:
        check_integer("early_stopping_rounds", params["early_stopping_rounds"], low=1, also="None")
        if params["boosting_type"] == "dart":
            raise ValueError(
                "early_stopping_rounds cannot be used with boosting_type='dart', which changes "
                "earlier trees"
            )
    if params["validation_fraction"] is not None:
        share = params["validation_fraction"]
        check_number("validation_fraction", share, low=0.0, high=1.0, low_open=True, also="None")
    if params["random_state"] is not None:
        check_seed(params["random_state"])
    verbose = params["verbose"]
    if not isinstance(verbose, Integral):
        raise TypeError(f"verbose must be an integer, got {verbose!r}")
    check_choice("warm_start", params["warm_start"], (True, False))
