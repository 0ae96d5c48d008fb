"""A short walk through an installed gbrank: objectives, a model file, metrics, a LETOR file."""

import subprocess
import sys
import tempfile
from pathlib import Path

import lightgbm as lgb
import numpy as np

import gbrank
from gbrank import Ranker, get_objective, list_objectives
from gbrank.data import dump_letor, load_letor, make_ranking
from gbrank.metrics import evaluate, ndcg_score

assert "site-packages" in gbrank.__file__, gbrank.__file__
data = make_ranking(n_queries=60, random_state=0)
train, test = data.split(0.5)
for name in list_objectives(observations=False):
    ranker = Ranker(name, n_estimators=10, num_leaves=7).fit(train.X, train.y, qid=train.qid)
    score = ranker.score(test.X, test.y, qid=test.qid)
    assert score > 0.3, (name, score)  # NaN is not
for name in list_objectives(observations=True):
    objective = get_objective(name, observations="labels")
    grad, hess = objective.grad_hess(train.y, np.zeros(len(train.y)), train.group)
    assert np.isfinite(grad).all(), name
    assert (hess >= 0).all(), name
    assert grad.any(), name

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.txt"
    ranker.save_model(path)
    predicted = Ranker.load_model(path).predict(test.X)
    assert (predicted == ranker.predict(test.X)).all()
    assert (lgb.Booster(model_file=path).predict(test.X) == predicted).all()
    dump_letor(test.X, test.y, test.qid, Path(folder) / "test.txt")
    read = load_letor(Path(folder) / "test.txt", dtype=test.X.dtype)
    assert (read.X == test.X).all()
    assert (read.y == test.y).all()

once = lgb.LGBMRanker(objective=get_objective("xendcg"), n_estimators=3, verbose=-1)
once.fit(train.X, train.y, group=train.group)
print(evaluate(test.y, {"ranker": predicted}, qid=test.qid, metrics=["ndcg@10", "err", "map"]))
assert 0 <= ndcg_score(test.y, once.predict(test.X), group=test.group) <= 1
subprocess.run([sys.executable, "-m", "gbrank", "--help"], check=True, stdout=subprocess.DEVNULL)
