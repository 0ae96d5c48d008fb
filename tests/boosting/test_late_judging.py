"""Trees wait to be judged until training may end; what is judged, and the end, are the same."""

import importlib
import sys

import numpy as np
import pytest

from gbrank import Ranker
from gbrank.data import make_ranking

cross_fit = importlib.import_module("gbrank.boosting.cross_fit")  # the function has that name too
SMALL = {"n_jobs": 1, "early_stopping_rounds": 4, "n_estimators": 60, "learning_rate": 0.3}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=80, n_features=12, random_state=1)


def fitted(data, **others):
    ranker = Ranker(**{**SMALL, **others})
    return ranker.fit(data.X, data.y, qid=data.qid)


@pytest.mark.parametrize("room", [1, 3])
@pytest.mark.parametrize("patience", [None, 1, 4, 40])
def test_the_same_as_judging_every_tree(data, monkeypatch, room, patience):
    others = {"early_stopping_rounds": patience, "n_estimators": 25 if patience is None else 60}
    late = fitted(data, **others)
    monkeypatch.setattr(cross_fit, "MOST_WAITING", room)
    early = fitted(data, **others)
    np.testing.assert_array_equal(late.predict(data.X), early.predict(data.X))
    assert late.members_ == early.members_
    assert late.evals_result_ == early.evals_result_


def test_few_moments_of_judging_and_no_tree_more(data, monkeypatch):
    moments, grown = [], []
    judge, add_tree = cross_fit._Growing.judge, cross_fit._Growing.add_tree

    def counted(self):
        if self._waiting:
            moments.append((self.name, self.n_grown))
        judge(self)

    def noted(self):
        add_tree(self)
        grown.append((self.name, self.n_grown))

    monkeypatch.setattr(cross_fit._Growing, "judge", counted)
    monkeypatch.setattr(cross_fit._Growing, "add_tree", noted)
    ranker = fitted(data)
    assert len(moments) < len(grown) / 2
    for name, curves in ranker.evals_result_.items():
        (curve,) = curves.values()
        best = int(np.argmax(curve))
        own = [tree for member, tree in grown if member == name]
        assert own == list(range(1, len(curve) + 1))  # every tree was judged
        assert len(curve) == min(best + 1 + SMALL["early_stopping_rounds"], 60)


def test_progress_knows_every_tree(data, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    fitted(data, n_estimators=5, early_stopping_rounds=None, verbose=1)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("trees:")]
    assert [line.split()[1] for line in lines] == [f"{tree}/5" for tree in range(1, 6)]
    assert all("ndcg" in line for line in lines)
