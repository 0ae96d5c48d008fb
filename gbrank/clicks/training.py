"""What ``Ranker.fit(position=, propensity=, unbiased=)`` trains: labels, weights, objective."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbrank.clicks.labels import ips_labels, ips_query_weights, why_biased
from gbrank.clicks.propensities import as_propensities
from gbrank.core import FloatArray, QueryLayout, check_choice, check_number, check_weights
from gbrank.metrics import dcg_score, feval, get_metric
from gbrank.objectives import ClickSoftmax, DualSoftmax, Objective, PositionBias, get_objective

#: How position bias can be removed.
WAYS = ("ips", "additive", "dual")
#: The least propensity that clicks are divided by in training, unless the user says otherwise: a
#: few clicks far down, divided by next to nothing, else decide whole leaves.
CLIP = 0.2


@dataclass(frozen=True)
class ClickPlan:
    """How to train on clicks.

    Attributes
    ----------
    objective : the objective.
    y : labels of the rows.
    sample_weight : weights of the rows, or ``None``.
    position : positions for the objective, or ``None``.
    """

    objective: Objective
    y: Any
    sample_weight: Any
    position: Any


def plan_training(
    unbiased: str,
    objective: str | Objective | None,
    click: Any,
    layout: QueryLayout,
    position: Any,
    propensity: Any,
    clip: float | None,
    sample_weight: Any,
) -> ClickPlan:
    """Return labels, weights and objective that remove the bias of positions in a given way.

    Parameters
    ----------
    unbiased : "ips", "additive" or "dual".
    objective : what the user wants to train; ``None`` for what suits the way best.
    click : 1 where a row was clicked.
    layout : the lists that were shown.
    position, propensity, clip : as in ``Ranker.fit``.
    sample_weight : weight of each row, or ``None``.
    """
    check_choice("unbiased", unbiased, WAYS, also="None")
    if clip is not None:
        check_number("clip", clip, low=0.0, high=1.0)
    if unbiased != "ips":
        if position is None:
            raise ValueError(f"unbiased={unbiased!r} needs position: where each row was shown")
        chosen = _learned(unbiased, objective)
        return ClickPlan(chosen, click, sample_weight, position)
    if propensity is None:
        raise ValueError(
            "unbiased='ips' needs propensity: what gbrank.clicks.estimate_propensities returns, or "
            "one number per row"
        )
    chosen = ClickSoftmax() if objective is None else get_objective(objective)
    labels = ips_labels(click, position, propensity, CLIP if clip is None else clip)
    reason = why_biased(chosen)
    if reason is None:
        return ClickPlan(chosen, labels, sample_weight, None)
    if isinstance(chosen, PositionBias | DualSoftmax):
        raise ValueError(f"unbiased='ips' cannot be: {reason}")
    warnings.warn(
        f"{reason}, so that clicks stay labels and each list is weighted by the mean inverse "
        "propensity of its clicks, which removes the bias only of lists with one click",
        stacklevel=3,
    )
    by_query = ips_query_weights(labels, np.asarray(click, dtype=np.float64), layout)
    weight: FloatArray = layout.unsort(np.repeat(by_query, layout.sizes))
    if sample_weight is not None:
        weight = weight * check_weights(sample_weight, layout)
    return ClickPlan(chosen, click, weight, None)


def _learned(unbiased: str, objective: str | Objective | None) -> Objective:
    if unbiased == "dual":
        if objective is not None and not isinstance(get_objective(objective), DualSoftmax):
            raise ValueError(
                "unbiased='dual' has an objective of its own, DualSoftmax: leave objective=None, "
                f"got {objective!r}"
            )
        return DualSoftmax() if objective is None else get_objective(objective)
    chosen = get_objective("lambdamart" if objective is None else objective)
    return chosen if isinstance(chosen, PositionBias) else PositionBias(chosen)


def judging_weights(labels: FloatArray, layout: QueryLayout, k: int | None) -> FloatArray:
    """Return the weight of each query with which the mean NDCG of labels is self-normalised.

    Parameters
    ----------
    labels : clicks divided by propensities.
    layout : the lists.
    k : the cut-off.
    """
    ordered = layout.sort(labels)
    best: Any = dcg_score(
        ordered, ordered, group=layout.sizes, k=k, gain="linear", empty=0.0, per_query=True
    )
    weights: FloatArray = best
    return weights


def judging_metric(k: int | None) -> Any:
    """Return "ips_ndcg@k" as LightGBM calls it, of labels and weights that say the rest."""
    name = "ips_ndcg" if k is None else f"ips_ndcg@{k}"
    return feval({name: get_metric("ndcg", k=k, gain="linear")})


def judged_rows(
    click: Any,
    position: Any,
    propensity: Any,
    layout: QueryLayout,
    clip: float | None,
    k: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Return labels and row weights of an evaluation set of clicks.

    Parameters
    ----------
    click, position, propensity, k : as in :func:`gbrank.clicks.ips_ndcg`.
    layout : the lists.
    clip : the same; ``None`` for none.
    """
    by_row = as_propensities(propensity, position, layout.n_rows)
    labels = ips_labels(click, position, by_row, clip or 0.0)
    weights = judging_weights(labels, layout, k)
    if not weights.any():
        raise ValueError("an evaluation set of clicks needs at least one click")
    rows: FloatArray = layout.unsort(np.repeat(weights, layout.sizes))
    return labels, rows
