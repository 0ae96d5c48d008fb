"""From partitions to trees: what DaskLGBMRanker is given in place of Dask collections."""

import warnings
from typing import Any

import lightgbm as lgb

from gbrank.boosting import (
    LIGHTGBM_NAMES,
    PRESETS,
    in_lightgbm_units,
    lightgbm_params,
    replace_parameters,
    resolve_preset,
)
from gbrank.dask._cluster import FitClient
from gbrank.objectives import Objective

# What a worker was told about its network has no place in a model.
_NETWORK_LINES = {
    "machines": "",
    "num_machines": "1",
    "local_listen_port": "12400",
    "tree_learner": "serial",
}


class _Blocks:
    """One part of the rows of all partitions, where LightGBM expects a Dask collection."""

    def __init__(self, partitions: list[Any], name: str) -> None:
        self._blocks = [getattr(data, name) for data in partitions]

    def to_delayed(self) -> list[Any]:
        return self._blocks


class _Gradients:
    """An objective without parameters: LightGBM would take those of an objective for its own."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def __call__(self, labels: Any, scores: Any, weight: Any, group: Any) -> Any:
        return self.objective(labels, scores, weight, group)


def train(
    client: FitClient,
    partitions: list[Any],
    objective: Objective,
    ranker_params: dict[str, Any],
    unit: float,
    *,
    has_weight: bool,
    has_init_score: bool,
) -> lgb.Booster:
    """Return the trees that the workers grow together.

    Parameters
    ----------
    client : where they grow.
    partitions : rows of whole queries in query order, delayed; each has some.
    objective : the loss.
    ranker_params : parameters of the Ranker.
    unit : the mean hessian of a document, if penalties are in documents.
    has_weight, has_init_score : whether the rows have them.
    """
    ranker_params = resolve_preset(ranker_params)
    params, other = lightgbm_params(ranker_params), dict(ranker_params["lgb_params"] or {})
    if PRESETS[ranker_params["preset"]].in_documents:
        params = in_lightgbm_units(params, unit, other)
        other |= {name: params[name] for name in ("cat_l2", "cat_smooth")}
    ranker = lgb.DaskLGBMRanker(
        client=client,
        objective=_Gradients(objective),
        **{ours: params[theirs] for ours, theirs in LIGHTGBM_NAMES.items()},
        n_estimators=ranker_params["n_estimators"],
        random_state=params["seed"],
        verbosity=params["verbosity"],
        metric=params["metric"],
        **other,
    )
    with warnings.catch_warnings():
        # LightGBM says so of a parameter that its own estimator always has.
        warnings.filterwarnings("ignore", message="Parameter n_jobs will be ignored")
        ranker.fit(
            _Blocks(partitions, "X"),
            _Blocks(partitions, "y"),
            group=_Blocks(partitions, "group"),
            sample_weight=_Blocks(partitions, "sample_weight") if has_weight else None,
            init_score=_Blocks(partitions, "init_score") if has_init_score else None,
        )
    return replace_parameters(ranker.booster_, _NETWORK_LINES)
