"""When a trial has lost: paired differences over queries, and successive halving.

Folds come one group after the other. After each group a trial is compared with the best complete
one on the same queries, query by query: most of the spread between queries is common to both and
drops out, so that far fewer queries tell a loser than means of folds would need.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gbrank.core import FloatArray
from gbrank.tuning.trials import COMPLETE, DROPPED, Trial

#: Without a model of what is promising, the best of so many go on after each group of folds.
HALVING = 2


class Averages(Protocol):
    """What averages values over queries: :class:`gbrank.boosting.HeldOut`."""

    def mean(self, values: FloatArray) -> tuple[float, float]:
        """Return the weighted mean of values that are not NaN, and its standard error."""


def lost_by(
    values: FloatArray, best: FloatArray, sign: float, held_out: Averages
) -> tuple[float, float]:
    """Return by how much a trial is behind another, and the p-value of that, one-sided.

    Parameters
    ----------
    values, best : metric of each query, NaN where it was not judged; the p-value is of the trial
        being no worse.
    sign : 1 if greater is better, else -1.
    held_out : what averages over queries.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.tuning.racing import lost_by
    >>> class Plain:
    ...     def mean(self, values):
    ...         kept = values[~np.isnan(values)]
    ...         return kept.mean(), kept.std(ddof=1) / len(kept) ** 0.5
    >>> behind, p = lost_by(np.array([0.1, 0.2, 0.4, np.nan]), np.full(4, 0.5), 1.0, Plain())
    >>> round(float(behind), 3), round(float(p), 3)
    (0.267, 0.047)
    """
    from scipy import stats

    differences = sign * (best - values)
    n_judged = int(np.count_nonzero(~np.isnan(differences)))
    if n_judged < 2:
        return 0.0, 1.0
    behind, error = held_out.mean(differences)
    if error == 0:
        return behind, 0.0 if behind > 0 else 1.0
    return behind, float(stats.t.sf(behind / error, n_judged - 1))


def why_drop(
    values: FloatArray,
    trials: Sequence[Trial],
    sign: float,
    held_out: Averages,
    level: float,
    halving: bool,
) -> str:
    """Return why a trial is not worth more folds; nothing if it is.

    Parameters
    ----------
    values : metric of each query, NaN where it was not judged yet.
    trials : that are finished.
    sign : 1 if greater is better, else -1.
    held_out : what averages over queries.
    level : p-value below which a trial that is behind has lost.
    halving : whether only the better half of all trials goes on, too.
    """
    complete = [each for each in trials if each.state == COMPLETE]
    if not complete:
        return ""
    best = max(complete, key=lambda each: sign * each.value)
    assert best.query_values is not None
    behind, p = lost_by(values, best.query_values, sign, held_out)
    if p < level:
        return f"behind trial {best.number} by {behind:.4f}, p = {p:.3f} over paired queries"
    if halving:
        judged = ~np.isnan(values)
        known = [each.query_values for each in trials if each.state in (COMPLETE, DROPPED)]
        rivals = [
            sign * held_out.mean(np.where(judged, other, np.nan))[0]
            for other in known
            if other is not None and not np.isnan(other[judged]).all()
        ]
        own = sign * held_out.mean(values)[0]
        place = 1 + sum(rival > own for rival in rivals)
        if len(rivals) >= HALVING and place > (len(rivals) + 1) / HALVING:
            return (
                f"number {place} of {len(rivals) + 1} on the first folds: the better half goes on"
            )
    return ""
