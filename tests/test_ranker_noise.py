"""Ranker(noise=T): gains are corrected, where a loss can take that."""

import numpy as np
import pytest

from gbrank import KL, Ranker
from gbrank.data import make_ranking
from gbrank.gains import corrected_gain

T = np.array([[0.8, 0.3, 0.1, 0.1, 0.1], [0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1, 0.1],
              [0.0, 0.0, 0.1, 0.6, 0.1], [0.0, 0.0, 0.0, 0.1, 0.6]])  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, random_state=0)


@pytest.mark.parametrize("options", [{}, {"objective": KL(norm=None)}])
def test_it_trains_on_corrected_gains(data, options, tmp_path):
    kept = {"preset": "fast", "n_estimators": 10, "n_jobs": 1}
    ranker = Ranker(noise=T, **options, **kept).fit(data.X, data.y, qid=data.qid)
    assert ranker.objective_.gain == pytest.approx(corrected_gain(T))
    by_hand = ranker.objective_
    same = Ranker(by_hand, **kept).fit(data.X, data.y, qid=data.qid)
    assert (ranker.predict(data.X) == same.predict(data.X)).all()
    ranker.save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt")
    assert np.asarray(loaded.noise) == pytest.approx(T)
    assert loaded.predict(data.X) == pytest.approx(ranker.predict(data.X))


def test_cross_fitting_has_the_one_loss(data):
    ranker = Ranker(noise=T, preset="balanced", n_estimators=5, n_jobs=1)
    ranker.fit(data.X, data.y, qid=data.qid)
    assert {m["name"].split()[0] for m in ranker.members_ if m["trees"]} == {"gain_pairwise"}


def test_what_cannot_be_corrected_is_refused(data):
    with pytest.raises(ValueError, match="noise corrects the gains of Squared, KL and GainPairw"):
        Ranker("xendcg", noise=T).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="columns of noise must sum to 1"):
        Ranker(noise=T.T).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="integers from 0 to 1"):
        Ranker(noise=[[0.9, 0.1], [0.1, 0.9]]).fit(data.X, data.y, qid=data.qid)
