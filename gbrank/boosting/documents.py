"""Penalties in documents: one number that means the same for every loss.

LightGBM's penalties are in units of the loss and of its hessian, which differ between losses by a
factor of thousands. The Ranker's are in documents: ``reg_lambda=20`` weighs as much as 20 documents
with the mean hessian that the loss has where boosting starts. A loss that is multiplied by a number
then gives the same model. What is in ``lgb_params`` is LightGBM's own, and handed on as it is.
"""

from collections.abc import Mapping
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.core import RankingData
from gbrank.objectives import Objective

#: LightGBM's parameters in units of the loss or of its hessian, and what they are unless given.
IN_DOCUMENTS = {
    "lambda_l1": 0.0,
    "lambda_l2": 0.0,
    "min_gain_to_split": 0.0,
    "min_sum_hessian_in_leaf": 1e-3,
    "cat_l2": 10.0,
    "cat_smooth": 10.0,
}


def mean_hessian(objective: Objective, data: RankingData | lgb.Dataset) -> float:
    """Return the mean hessian of a document, weights included; 1 for a loss that has none there.

    Parameters
    ----------
    objective : the loss.
    data : rows with the scores that boosting starts from.
    """
    if isinstance(data, lgb.Dataset):
        dataset = data.construct()
        data = RankingData.checked(
            np.empty((dataset.num_data(), 0)),
            dataset.get_label(),
            group=dataset.get_group(),
            sample_weight=dataset.get_weight(),
            init_score=dataset.get_init_score(),
        )
    layout = data.layout
    weight = None if data.sample_weight is None else layout.sort(data.sample_weight)
    scores = np.zeros(data.n_rows) if data.init_score is None else layout.sort(data.init_score)
    training = objective.bind(layout.sort(data.y), layout.sizes, weight)
    mean = float(np.mean(training.grad_hess(scores)[1], dtype=np.float64))
    return mean if mean > 0 else 1.0


def in_lightgbm_units(
    params: Mapping[str, Any], unit: float, verbatim: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return parameters of LightGBM with penalties that were in documents in its own unit.

    Parameters
    ----------
    params : parameters of LightGBM, penalties in documents.
    unit : the mean hessian of a document.
    verbatim : parameters that the user gave in LightGBM's own units.

    Examples
    --------
    >>> from gbrank.boosting.documents import in_lightgbm_units
    >>> params = in_lightgbm_units({"lambda_l2": 20.0, "cat_l2": 3.0}, 0.25, {"cat_l2": 3.0})
    >>> params["lambda_l2"], params["cat_l2"], params["cat_smooth"]
    (5.0, 3.0, 2.5)
    """
    scaled = {
        name: unit * params.get(name, usual)
        for name, usual in IN_DOCUMENTS.items()
        if name not in (verbatim or {})
    }
    return {**params, **scaled}


#: Parameters of the Ranker that count documents, or weigh as much as so many.
COUNTING = ("min_child_samples", "min_child_weight", "min_split_gain", "reg_alpha", "reg_lambda")


def counted_in_rows(params: Mapping[str, Any], rows_per_document: float) -> dict[str, Any]:
    """Return the parameters that count documents as they are where each document is many rows.

    A click log shows the same document in many lists. A leaf with 20 of its rows rests on one
    document, and l2 of 20 rows is next to nothing where every document has 100.

    Parameters
    ----------
    params : parameters of the Ranker, those of the preset filled in.
    rows_per_document : rows by the number of different documents.

    Examples
    --------
    >>> from gbrank.boosting import counted_in_rows
    >>> found = counted_in_rows(
    ...     {"min_child_samples": 20, "min_child_weight": 0.0, "min_split_gain": 0.0,
    ...      "reg_alpha": 0.0, "reg_lambda": 20.0}, 2.5)
    >>> found["min_child_samples"], found["reg_lambda"]
    (50, 50.0)
    """
    found = {name: rows_per_document * float(params[name]) for name in COUNTING}
    return {**found, "min_child_samples": round(found["min_child_samples"])}
