"""Clicks divided by propensities, as labels, and for which losses that removes the bias.

``E[click / theta] = P(relevant)`` if clicks follow the position-based model, so that a loss whose
gradient is affine in the labels, and not divided by anything made from them, has on average the
gradient that relevance itself would give.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.clicks.propensities import as_propensities
from gbrank.core import FloatArray, QueryLayout, as_numbers, check_number
from gbrank.objectives import ClickSoftmax, DualSoftmax, Objective, PositionBias, get_objective


def ips_labels(
    click: ArrayLike,
    position: ArrayLike | None,
    propensities: Any,
    clip: float = 0.0,
    *,
    self_normalized: bool = False,
) -> FloatArray:
    """Return ``click / max(propensity, clip)``: labels for a linear gain.

    With a clip the labels of positions below it are too small on average, by the factor
    ``propensity / clip``: bias that is accepted for less variance.

    Parameters
    ----------
    click : array of shape (n_rows,)
        1 where a row was clicked, else 0.
    position : array of shape (n_rows,)
        Where each row was shown; may be ``None`` if ``propensities`` are by row.
    propensities : Propensities, or array of shape (n_rows,)
        Of the positions, or of each row.
    clip : float, default=0.0
        The least propensity that is divided by.
    self_normalized : bool, default=False
        Whether to divide by the mean weight of the clicks, so that labels have the mean of clicks:
        a constant factor, which matters to penalties and learning rates alone.

    Examples
    --------
    >>> from gbrank.clicks import Propensities, ips_labels
    >>> ips_labels([1, 0, 1], [1, 2, 3], Propensities([1, 2, 3], [1.0, 0.5, 0.25]))
    array([1., 0., 4.])
    """
    clicked = _check_clicks(click)
    check_number("clip", clip, low=0.0, high=1.0)
    seen = as_propensities(propensities, position, len(clicked))
    labels: FloatArray = clicked / np.maximum(seen, clip)
    if self_normalized and labels.sum() > 0:
        labels *= clicked.sum() / labels.sum()
    return labels


def why_biased(objective: str | Objective) -> str | None:
    """Return why an objective is biased on :func:`ips_labels`; ``None`` if it is not.

    Parameters
    ----------
    objective : str or Objective
        A name or an instance.

    Examples
    --------
    >>> from gbrank import GainPairwise, XENDCG
    >>> from gbrank.clicks import why_biased
    >>> why_biased(GainPairwise(norm=None, gain="linear")) is None
    True
    >>> why_biased(XENDCG())
    'XENDCG divides labels by what those of the query make, or is not affine in them'
    """
    found = get_objective(objective)
    name = type(found).__name__
    if isinstance(found, PositionBias | DualSoftmax):
        return f"{name} learns the bias of positions itself: labels must be clicks"
    if isinstance(found, ClickSoftmax):
        return None
    if not found.takes_signed_gains:
        hint = ", use norm=None" if "norm" in found.get_params(deep=False) else ""
        return (
            f"{name} divides labels by what those of the query make, or is not affine in them{hint}"
        )
    gain = found.value_of("gain")
    if not (isinstance(gain, str) and gain == "linear"):
        return f"{name} has a gain that is not linear in labels: use gain='linear'"
    return None


def ips_query_weights(labels: FloatArray, clicks: FloatArray, layout: QueryLayout) -> FloatArray:
    """Return a weight per query, the mean weight of its clicks: for losses that are not affine.

    Exact where a list has one click; lists without a click keep the weight 1.

    Parameters
    ----------
    labels : clicks divided by propensities.
    clicks : the clicks.
    layout : the queries.
    """
    weighted, counted = _sums(labels, layout), _sums(clicks, layout)
    weights = np.ones(layout.n_queries)
    np.divide(weighted, counted, out=weights, where=counted > 0)
    return weights


def _sums(values: FloatArray, layout: QueryLayout) -> FloatArray:
    running = np.concatenate(([0.0], np.cumsum(layout.sort(values))))
    return np.diff(running[layout.bounds])


def _check_clicks(click: Any) -> FloatArray:
    clicked = as_numbers(click, "click")
    wrong = ~((clicked >= 0) & (clicked <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"click must be from 0 to 1, but row {row} has {clicked[row]:g}")
    return clicked
