"""What becomes of trials: they are judged on folds that did not choose, and blended."""

from typing import Any

import numpy as np
from sklearn.base import clone

from gbrank.boosting import blend_members
from gbrank.core import RankingData
from gbrank.metrics import compare
from gbrank.ranker import Members, Ranker
from gbrank.tuning.judgement import Judges, TwoLevels, weigh_against
from gbrank.tuning.running import Search
from gbrank.tuning.space import make_ranker
from gbrank.tuning.trainer import join
from gbrank.tuning.trials import COMPLETE, Trial


class Blending:
    """Blends the best trials of a search with the defaults, and compares both.

    Parameters
    ----------
    search : that is over.
    n_members : how many of the best trials are blended.

    Attributes
    ----------
    tuned_share : what the tuned trials count for in the blend, the rest being the defaults; 0 where
        they were not ahead enough on folds that did not choose.
    """

    def __init__(self, search: Search, n_members: int) -> None:
        self._search = search
        self._judge(n_members)

    def _judge(self, n_members: int) -> None:
        """Find out how the choice, and the defaults, do on folds that did not choose."""
        trainer = self._search.trainer
        judges = Judges(
            trainer.data,
            trainer.queries,
            trainer.fold_of_query,
            self._search.metric,
            1,
            trainer.linear_scores(),
        )
        trials = self._with_scores()
        first = [each for each in trials if each.number < len(self._search.defaults)]
        tuned = judges.scores(trials, max(n_members, 1))
        defaults = judges.scores(first, len(self._search.defaults) + 1)
        self._both = weigh_against(trainer.held_out, tuned, defaults)
        self.tuned_share = float(self._both.weights[0]) if n_members > 1 else 1.0
        shrunk = judges.shrunk(tuned, defaults) if n_members > 1 else tuned
        self._honest = {"tuned": shrunk, self._search.defaults_name: defaults}

    def blend(
        self, model: Ranker, n_members: int, order: Any, rows: dict[str, Any]
    ) -> Ranker | None:
        """Return a fitted Ranker: a blend of the best trials and the defaults, or the latter.

        Parameters
        ----------
        model : not fitted yet, but told its columns.
        n_members : how many of the best trials are blended.
        order : the user's row at each place; ``None`` if rows are in the user's order.
        rows : what :meth:`gbrank.Ranker.fit` takes, to train the defaults as they come.
        """
        if n_members == 0:
            return None
        if self.tuned_share == 0:
            return self.fit_defaults(model, rows)
        used, n_chosen = self._used(n_members)
        members, starts, grown = [], [], []
        for trial in used:
            member, own = self._search.trainer.make(trial.point)
            folds = self._search.grown.get(trial.number)
            if folds is None:  # of another process, or of one that was stopped
                folds = join(
                    [
                        self._search.trainer.grow(member, group, lambda: None)[0]
                        for group in range(len(self._search.trainer.groups))
                    ]
                )
            members.append(member)
            starts.append(list(own))
            grown.append(self._search.trainer.grow_whole(member, folds))
        trainer, weigh = self._search.trainer, blend_members
        if n_members > 1:
            first = [at for at, each in enumerate(used) if each.number < len(self._search.defaults)]
            weigh = TwoLevels(range(n_chosen), first, len(used), self._both)
        blended = Members(
            members, starts, grown, trainer.data, list(trainer.parts), trainer.held_out, weigh
        )
        best = make_ranker(used[0].point, self._search.losses, self._search.base)
        model.set_params(**best.get_params(deep=False))
        blended.set_trained(model, order)
        model.preset_ = "balanced"
        honest = trainer.held_out.values(self._honest["tuned"])[0]
        model.cv_score_, model.cv_score_se_ = trainer.held_out.mean(honest)
        return model

    def _used(self, n_members: int) -> tuple[list[Trial], int]:
        """Return the trials of the blend, the defaults among them, and how many were chosen."""
        complete = [each for each in self._search.trials if each.state == COMPLETE]
        chosen = sorted(complete, key=lambda each: -self._search.sign * each.value)[:n_members]
        numbers = [each.number for each in chosen]
        n_first = len(self._search.defaults) if n_members > 1 else 0
        first = [each for each in complete if each.number < n_first]
        return [*chosen, *(each for each in first if each.number not in numbers)], len(chosen)

    def fit_defaults(self, model: Ranker, rows: dict[str, Any]) -> Ranker:
        """Return the Ranker as it comes, trained as it would be without a search.

        Parameters
        ----------
        model : that was told its columns.
        rows : what :meth:`gbrank.Ranker.fit` takes.
        """
        plain: Ranker = clone(self._search.base)
        if len(self._search.defaults) == 1:
            plain.set_params(objective=next(iter(self._search.losses.values())))
        column = plain.qid
        if "qid" not in rows:  # rows that were held apart are without their column of queries
            plain.set_params(qid=None)
        plain.fit(**rows)
        plain.set_params(qid=column)
        plain.qid_column_ = model.qid_column_
        return plain

    def compared(
        self,
        held: RankingData | None,
        seed: int,
        blended: Ranker | None,
        rows: dict[str, Any],
    ) -> tuple[Any, str]:
        """Return tuned against defaults, on queries that did not choose, and which these are."""
        rest = self._search.trainer.data
        if held is None or blended is None:
            where = "each fold with what was chosen without it"
            return self._compare(rest.take(self._search.trainer.queries), self._honest, seed), where
        plain = blended
        if self.tuned_share > 0:
            plain = self.fit_defaults(blended, rows)
        scores = {
            "tuned": blended.predict(held.X),
            self._search.defaults_name: plain.predict(held.X),
        }
        where = f"{held.n_queries} queries held out from everything"
        return self._compare(held, scores, seed), where

    def _with_scores(self) -> list[Trial]:
        """Return complete trials with scores of held-out rows; train defaults that have none."""
        complete = [each for each in self._search.trials if each.state == COMPLETE]
        for trial in complete:
            if trial.scores is None and trial.number < len(self._search.defaults):
                grown = self._search.grow(
                    Trial(trial.number, trial.point, note="again"), lambda: None
                )
                assert grown is not None
                trial.scores = grown.scores
        found = [each for each in complete if each.scores is not None]
        if not any(each.number < len(self._search.defaults) for each in found):
            raise ValueError("the trials of the defaults failed: there is nothing to compare with")
        return found

    def _compare(self, data: RankingData, scores: dict[str, Any], seed: int) -> Any:
        weight = data.sample_weight
        if weight is not None:
            bounds = data.layout.bounds
            weight = np.add.reduceat(weight, bounds[:-1]) / data.layout.sizes
        return compare(
            data.y,
            scores,
            group=data.layout.sizes,
            metric=self._search.metric,
            sample_weight=weight,
            random_state=seed,
            n_jobs=1,
        )
