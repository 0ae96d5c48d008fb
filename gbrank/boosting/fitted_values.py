"""What a model file says that fit had set, checked against the trees that it comes with."""

from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting.presets import PRESETS
from gbrank.boosting.saved_values import SavedByName
from gbrank.core import resolve_n_jobs

_STARTS = ("zero", "linear", "query_linear", "model")


def check_fitted_values(
    fitted: dict[str, Any], parameters: dict[str, Any], booster: lgb.Booster
) -> None:
    """Raise a ``ValueError`` for a fitted attribute that does not fit the trees.

    Parameters
    ----------
    fitted : attributes, by name, as the file has them.
    parameters : of the estimator; those that predicting reads are checked.
    booster : the trees.
    """
    n_features, n_trees = booster.num_feature(), booster.current_iteration()
    fits: dict[str, Callable[[Any], bool]] = {
        "n_features_in_": lambda v: _is_integer(v) and v == n_features,
        "feature_names_in_": lambda v: _is_array(v, (n_features,), "OU"),
        "column_names_": lambda v: v is None or (_is_list(v, str) and len(v) == n_features),
        "qid_column_": lambda v: v is None or isinstance(v, str),
        "n_boosters_": lambda v: _is_integer(v) and 1 <= v <= 1_000,
        "start_kind_": lambda v: isinstance(v, str) and v in _STARTS,
        "start_coef_": lambda v: v is None or _is_array(v, (n_features, None), "f"),
        "start_model_": lambda v: v is None or isinstance(v, SavedByName),
        "linear_coef_": lambda v: v is None or _is_array(v, (n_features,), "f"),
        "n_start_trees_": lambda v: _is_integer(v) and 0 <= v <= n_trees,
        "best_iteration_": lambda v: _is_integer(v) and 0 <= v <= n_trees,
        "start_factor_": lambda v: isinstance(v, int | float) and abs(v) < 1e300,
        "preset_": lambda v: isinstance(v, str) and v in PRESETS,
        "hessian_unit_": lambda v: isinstance(v, int | float) and v > 0,
        "evals_result_": lambda v: isinstance(v, dict),
        "best_score_": lambda v: isinstance(v, int | float | dict),
        "cv_score_": lambda v: isinstance(v, int | float),
        "cv_score_se_": lambda v: isinstance(v, int | float),
        "members_": lambda v: _is_list(v, dict),
    }
    for name in fitted.keys() & fits.keys():
        if isinstance(fitted[name], bool) or not fits[name](fitted[name]):
            raise ValueError(f"its {name} cannot be {fitted[name]!r:.80}")
    for name in ("n_features_in_", "start_kind_", "n_start_trees_", "best_iteration_"):
        if name not in fitted:
            raise ValueError(f"it has no {name}")
    if fitted["n_start_trees_"] + fitted["best_iteration_"] > n_trees:
        raise ValueError(f"it speaks of more trees than the {n_trees} that it has")
    if fitted["start_kind_"] == "query_linear" and fitted.get("start_coef_") is None:
        raise ValueError("it starts from a linear model of which it has no coefficients")
    resolve_n_jobs(parameters.get("n_jobs"))
    if not isinstance(parameters.get("qid"), str | None):
        raise ValueError(f"its qid cannot be {parameters['qid']!r:.80}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _is_array(value: Any, shape: tuple[int | None, ...], kinds: str) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        return False
    fits = value.ndim == len(shape) and all(
        wanted in (None, got) for wanted, got in zip(shape, value.shape, strict=True)
    )
    return fits and (value.dtype.kind != "O" or all(isinstance(each, str) for each in value))
