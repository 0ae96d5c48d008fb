r"""Blends the members of a cross-fit by what their held-out queries say.

A member is worth less the more surely it ranks worse than the best one: with :math:`d` the loss of
the metric against the best member, query by query, its weight is

.. math:: w = \exp(-z^2 / 8), \qquad z = \bar d / \mathrm{se}(\bar d).

So members that chance might have put in either order count almost alike, and one that is clearly
worse does not count. Losses have scores on different scales, so each is divided by its spread
:math:`s`, the root mean square within queries. Coefficients :math:`w / s` are made to sum to 1: any
scores that all members started from then count once in the sum of the members.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gbrank.boosting.held_out import HeldOut
from gbrank.core import FloatArray

#: Below it a member is left out: it would cost time in every prediction and change nothing.
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class Blend:
    """How members become one model.

    Attributes
    ----------
    weights : of each member, summing to 1; 0 for those left out.
    coefficients : what the scores of each member are multiplied by, summing to 1.
    member_scores : mean metric of each member.
    score, error : mean metric of the blend, and its standard error.
    """

    weights: FloatArray
    coefficients: FloatArray
    member_scores: list[float]
    score: float
    error: float


def blend_members(held_out: HeldOut, scores: Sequence[FloatArray]) -> Blend:
    """Return the blend that the held-out rows ask for.

    Parameters
    ----------
    held_out : the rows that judge.
    scores : of these rows, by each member.
    """
    sign = 1.0 if held_out.greater_is_better[0] else -1.0
    values = [held_out.values(each)[0] for each in scores]
    means = [held_out.mean(each)[0] for each in values]
    spreads = np.array([held_out.spread(each) for each in scores])
    best = int(np.argmax(sign * np.array(means)))
    weights = np.array([_weight(held_out, sign * (values[best] - each)) for each in values])
    weights[(weights < LEAST_WEIGHT) | (spreads == 0)] = 0.0
    weights[best] = 1.0
    coefficients = weights / np.where(spreads > 0, spreads, 1.0)
    weights, coefficients = weights / weights.sum(), coefficients / coefficients.sum()
    blended = held_out.values(coefficients @ np.array(scores))[0]
    return Blend(weights, coefficients, means, *held_out.mean(blended))


def _weight(held_out: HeldOut, lost: FloatArray) -> float:
    mean, error = held_out.mean(lost)
    z = max(mean, 0.0) / max(error, 1e-12)
    return float(np.exp(-(z**2) / 8))
