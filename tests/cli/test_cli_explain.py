"""``gbrank explain``: the numbers of the Python functions, from files."""

import numpy as np
import pytest

from gbrank import Ranker
from gbrank.serving import permutation_importance


@pytest.fixture
def model(gbrank, letor, tmp_path):
    path = tmp_path / "model.txt"
    gbrank("train", letor, "--model", path, "--trees", 5, "--threads", 1)
    return path


def test_pair(gbrank, model, letor, small):
    said = gbrank("explain", model, letor, "--pair", 7, 3, "--json").json
    scores = Ranker.load_model(model).predict(small[0])
    assert said["scores"] == [scores[7], scores[3]]
    assert sum(said["contributions"].values()) == pytest.approx(scores[7] - scores[3], abs=1e-9)
    text = gbrank("explain", model, letor, "--pair", 7, 3, "--features", 1).out.splitlines()
    assert text[-1].split() == ["sum", f"{scores[7] - scores[3]:+.4f}"]
    assert text[-2].startswith("other features")


def test_query(gbrank, model, letor, small):
    said = gbrank("explain", model, letor, "--query", 103, "--json").json
    scores = Ranker.load_model(model).predict(small[0])
    rows = np.flatnonzero(small[2] == 103)
    best_first = rows[np.argsort(-scores[rows], kind="stable")]
    assert said["rows"] == best_first.tolist()
    np.testing.assert_allclose(
        np.sum(said["contributions"], axis=1), scores[best_first] - scores[rows].mean(), atol=1e-9
    )
    said = gbrank("explain", model, letor, "--query", "no", expect=1)
    assert "has no query 'no'" in said.err


def test_importance(gbrank, model, letor, small):
    X, y, qid = small
    options = ("--importance", "--metric", "ndcg@3", "--features", 2, "--json")
    said = gbrank("explain", model, letor, *options).json
    found = permutation_importance(Ranker.load_model(model), X, y, qid=qid, metric="ndcg@3")
    assert said["baseline"] == pytest.approx(found.baseline)
    largest = np.sort(found.mean)[::-1][:2]
    np.testing.assert_allclose(list(said["importances"].values()), largest)


def test_what_makes_no_sense(gbrank, model, letor):
    assert "--pair" in gbrank("explain", model, letor, "--pair", 0, 240, expect=2).err
    assert "required" in gbrank("explain", model, letor, expect=2).err
