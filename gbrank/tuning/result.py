"""What a search has found."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gbrank.core import FloatArray
from gbrank.metrics import text_table
from gbrank.ranker import Ranker
from gbrank.tuning.trials import COMPLETE, DROPPED, FAILED, Trial

#: p-value below which a difference is more than chance.
LEVEL = 0.05


@dataclass(frozen=True)
class TuneResult:
    """What :func:`gbrank.tune` has found: trials, the best of them, and what tuning is worth.

    Attributes
    ----------
    best_ranker_ : Ranker
        Fitted: a blend of the best trials and the defaults, each with its boosters of all folds and
        one of all queries, where ``tuned_share_`` is above 0; ``members_`` says which. Else the
        Ranker as it comes. ``None`` where ``n_members=0``.
    best_params_ : dict
        Parameters of the best trial, for ``Ranker(**best_params_)``.
    best_point_ : dict
        The same as a point of the space, for :meth:`gbrank.Ranker.from_point`.
    best_score_ : float
        Its mean metric over held-out queries: too good, as it was chosen by it. :meth:`table` has
        an honest one.
    metric : str
        Name of the metric.
    trials : list of Trial
        All trials, in order: number, point, state, value, error, n_trees, seconds, note.
    comparison_ : Comparison
        Tuned against defaults, query by query, on queries that did not choose.
    judged_on : str
        Which queries these are.
    tuned_share_ : float
        What the best trials count for in ``best_ranker_``, the rest being the defaults: 0 where
        they were not ahead with p < 0.05, one-sided, on folds that did not choose.
    n_fold_trainings_ : int
        Boosters of folds that were trained to their end, by this process.
    seconds_ : float
        That the search took, without the training of ``best_ranker_``.
    """

    best_ranker_: Any
    best_params_: dict[str, Any]
    best_point_: dict[str, Any]
    best_score_: float
    metric: str
    greater_is_better: bool
    trials: list[Trial]
    comparison_: Any
    judged_on: str
    tuned_share_: float
    n_fold_trainings_: int
    seconds_: float
    defaults: str = "Ranker()"
    is_interrupted: bool = False
    _space: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def trials_(self) -> Any:
        """All trials as a DataFrame: a row a trial, a column for each name of the space."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('trials_ needs pandas: pip install "gbrank[pandas]"') from error
        rows = [
            {
                "number": each.number,
                "state": each.state,
                self.metric: each.value,
                "error": each.error,
                "folds": each.n_folds,
                "trees": float(np.mean(each.n_trees)) if each.n_trees else float("nan"),
                "seconds": each.seconds,
                **each.point,
                "note": each.note,
            }
            for each in self.trials
        ]
        return pd.DataFrame(rows).set_index("number")

    def table(self) -> str:
        """Return what tuning is worth: tuned against defaults, with intervals, and in words.

        Both are judged on queries that were used neither to grow their trees nor to choose: see
        ``judged_on``. The p-value is of a paired permutation test over queries.
        """
        rows = [[name, f"{mean:.4f}"] for name, mean in self.comparison_.means.items()]
        pair = self.comparison_["tuned", self.defaults]
        low, high = pair.interval
        level = f"{100 * self.comparison_.confidence:g}%"
        difference = (
            f"tuned - {self.defaults}: {pair.difference:+.4f}, {level} interval [{low:+.4f}, "
            f"{high:+.4f}], p = {pair.p_permutation:.4f}; better in {pair.won} queries, equal in "
            f"{pair.tied}, worse in {pair.lost}"
        )
        counts = dict.fromkeys((COMPLETE, DROPPED, FAILED), 0)
        for each in self.trials:
            counts[each.state] += 1
        what = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        return (
            f"{len(self.trials)} trials ({what}) in {self.seconds_:.0f} s; {self.metric} on "
            f"{self.judged_on}\n\n{text_table(['', self.metric], rows)}\n\n{difference}\n"
            f"{self.verdict()}\n{self._made_of()}"
        )

    def verdict(self) -> str:
        """Return in one sentence whether tuning was worth it."""
        pair = self.comparison_["tuned", self.defaults]
        if pair.p_permutation >= LEVEL:
            return f"the tuned ranker cannot be told apart from the defaults, {self.defaults}"
        gained = pair.difference > 0 if self.greater_is_better else pair.difference < 0
        word = "better" if gained else "worse"
        return f"the tuned ranker is {word} than the defaults, {self.defaults}"

    def _made_of(self) -> str:
        if self.best_ranker_ is None:
            return "best_ranker_ was not asked for"
        if self.tuned_share_ == 0:
            return (
                f"best_ranker_ is {self.defaults} as it comes: tuned trials were not ahead with "
                "p < 0.05, one-sided, on folds that did not choose"
            )
        return (
            f"best_ranker_: {self.tuned_share_:.0%} tuned trials, {1 - self.tuned_share_:.0%} "
            "defaults"
        )

    def importances(self) -> dict[str, float]:
        """Return how much of the spread between trials each parameter explains, summing to 1.

        Trees of random splits are fitted to the values of the trials; what a parameter explains is
        what they lose when it is shuffled. Few trials say little.
        """
        finished = [each for each in self.trials if each.state in (COMPLETE, DROPPED)]
        names = [
            name for name in self._space if len({repr(t.point.get(name)) for t in finished}) > 1
        ]
        if len(finished) < 4 or not names:
            return dict.fromkeys(names, 1.0 / len(names)) if names else {}
        from sklearn.ensemble import ExtraTreesRegressor
        from sklearn.inspection import permutation_importance

        columns = np.column_stack(
            [_as_numbers([t.point.get(name) for t in finished]) for name in names]
        )
        values = np.array([each.value for each in finished])
        forest = ExtraTreesRegressor(100, random_state=0, n_jobs=1).fit(columns, values)
        lost = permutation_importance(forest, columns, values, n_repeats=5, random_state=0)
        shares = np.maximum(lost.importances_mean, 0.0)
        shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(names), 1 / len(names))
        order = np.argsort(-shares, kind="stable")
        return {names[at]: float(shares[at]) for at in order}

    def __str__(self) -> str:
        return self.table()


def _as_numbers(values: list[Any]) -> FloatArray:
    """Return values as numbers: choices by their place, what does not count as -1."""
    if all(isinstance(each, int | float) or each is None for each in values):
        found = [np.nan if each is None else float(each) for each in values]
        column = np.array(found)
        positive = column[~np.isnan(column)] > 0
        column = np.log(column) if positive.all() else column
        return np.where(np.isnan(column), np.nanmin(column) - 1.0, column)
    kinds = sorted({repr(each) for each in values})
    return np.array([float(kinds.index(repr(each))) for each in values])


def ranker_params(ranker: Ranker) -> dict[str, Any]:
    """Return the parameters of a Ranker that are not as they come.

    Parameters
    ----------
    ranker : of a trial.
    """
    usual = Ranker().get_params(deep=False)
    return {
        name: value
        for name, value in ranker.get_params(deep=False).items()
        if repr(value) != repr(usual[name])
    }
