"""What tuning is worth: judged on folds that were not used for choosing.

Of all trials the queries of each fold are scored by boosters that did not see them. What tuning
would have chosen without a fold, trials and their weights in the blend, is found from the queries
of the other folds, and this choice is judged on that fold; so for every fold. The number of trees
of a booster, and when a trial was dropped, were found with the fold's own queries: for trials and
defaults alike.

The best of many trials is best by chance too, the more so the fewer queries there are. So what was
chosen has to be ahead of the defaults, query by query, with p < 0.05 on folds that did not choose;
then it is blended with them, both weighed by how they did there (:mod:`gbrank.boosting.blend`).
Else the defaults stay as they are.
"""

from collections.abc import Sequence

import numpy as np

from gbrank.boosting import Blend, HeldOut, blend_members, rows_of
from gbrank.core import FloatArray, RankingData
from gbrank.metrics import Metric
from gbrank.tuning.racing import lost_by
from gbrank.tuning.trials import COMPLETE, Trial

#: p-value, one-sided, below which tuned trials are ahead of the defaults, and count at all.
AHEAD = 0.05


class Judges:
    """Chooses on some folds, and scores the others.

    Parameters
    ----------
    data : rows in query order.
    queries : numbers of the held-out queries, increasing.
    fold_of_query : of each, its fold.
    metric : that chooses.
    n_jobs : threads.
    linear : scores of the held-out rows by a linear start, which blends have beside the trials.
    """

    def __init__(
        self,
        data: RankingData,
        queries: np.ndarray,
        fold_of_query: np.ndarray,
        metric: Metric,
        n_jobs: int,
        linear: FloatArray | None,
    ) -> None:
        self._linear, self._sign = linear, 1.0 if metric.greater_is_better else -1.0
        rows = rows_of(data, queries)
        if fold_of_query.max() == 0:  # one part was held out: its halves take the place of folds
            fold_of_query = np.arange(len(queries)) % 2
        self._folds = []
        for fold in np.unique(fold_of_query):
            inside = fold_of_query != fold
            choosing = HeldOut(data, queries[inside], [metric], n_jobs)
            chosen_by = np.searchsorted(rows, choosing.rows)
            judged = np.setdiff1d(np.arange(len(rows)), chosen_by)
            self._folds.append((inside, choosing, chosen_by, judged))

    def scores(self, trials: Sequence[Trial], n_members: int) -> FloatArray:
        """Return scores of the held-out rows by what is chosen without the fold of each.

        Parameters
        ----------
        trials : to choose from; those that are not complete are not.
        n_members : how many of them are blended; 1 for the best alone.
        """
        known = [each for each in trials if each.state == COMPLETE and each.scores is not None]
        found = np.empty(len(known[0].scores if known[0].scores is not None else ()))
        for inside, choosing, chosen_by, judged in self._folds:
            values = [
                self._sign * choosing.mean(np.asarray(each.query_values)[inside])[0]
                for each in known
            ]
            best = np.argsort(-np.array(values), kind="stable")[:n_members]
            members = [np.asarray(known[at].scores) for at in best]
            if n_members > 1 and self._linear is not None:
                members.append(self._linear)
            if len(members) == 1:
                found[judged] = members[0][judged]
                continue
            blend = blend_members(choosing, [each[chosen_by] for each in members])
            found[judged] = blend.coefficients @ np.array([each[judged] for each in members])
        return found

    def shrunk(self, tuned: FloatArray, defaults: FloatArray) -> FloatArray:
        """Return both together, weighed for each fold by how they did on the others.

        Parameters
        ----------
        tuned, defaults : of :meth:`scores`.
        """
        found = np.empty_like(tuned)
        for _, choosing, chosen_by, judged in self._folds:
            blend = weigh_against(choosing, tuned[chosen_by], defaults[chosen_by])
            found[judged] = blend.coefficients @ np.array([tuned[judged], defaults[judged]])
        return found


def weigh_against(held_out: HeldOut, tuned: FloatArray, defaults: FloatArray) -> Blend:
    """Return the blend of both; the defaults alone unless tuned scores are ahead for sure enough.

    Parameters
    ----------
    held_out : the rows that judge, which chose nothing.
    tuned, defaults : scores of these rows.
    """
    sign = 1.0 if held_out.greater_is_better[0] else -1.0
    values = [held_out.values(each)[0] for each in (tuned, defaults)]
    if lost_by(values[1], values[0], sign, held_out)[1] < AHEAD:
        return blend_members(held_out, [tuned, defaults])
    means = [held_out.mean(each)[0] for each in values]
    return Blend(np.array([0.0, 1.0]), np.array([0.0, 1.0]), means, *held_out.mean(values[1]))


class TwoLevels:
    """Blends the chosen trials, and the defaults, and then both.

    Parameters
    ----------
    chosen, defaults : numbers of the members that are one or the other, or both.
    n_members : of both together; what comes after them is the linear start alone.
    both : how much the two blends count, by what they did on folds that did not choose.
    """

    def __init__(
        self, chosen: Sequence[int], defaults: Sequence[int], n_members: int, both: Blend
    ) -> None:
        self._groups, self._n_members, self._both = (chosen, defaults), n_members, both

    def __call__(self, held_out: HeldOut, scores: Sequence[FloatArray]) -> Blend:
        """Return the blend of all members.

        Parameters
        ----------
        held_out : the rows that judge.
        scores : of these rows, by each member.
        """
        linear = list(range(self._n_members, len(scores)))
        weights, coefficients = np.zeros(len(scores)), np.zeros(len(scores))
        means = [held_out.mean(held_out.values(each)[0])[0] for each in scores]
        for level, group in enumerate(self._groups):
            at = [*group, *linear]
            blend = blend_members(held_out, [scores[place] for place in at])
            weights[at] += self._both.weights[level] * blend.weights
            coefficients[at] += self._both.coefficients[level] * blend.coefficients
        blended = held_out.values(coefficients @ np.array(scores))[0]
        return Blend(weights, coefficients, means, *held_out.mean(blended))
