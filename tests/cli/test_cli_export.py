"""``gbrank export``: what the Python function writes, from files."""

import json

import numpy as np
import pytest
from oracles.search_engines import SCORERS

from gbrank import Ranker


@pytest.fixture
def model(gbrank, letor, tmp_path):
    path = tmp_path / "model.txt"
    gbrank("train", letor, "--model", path, "--trees", 5, "--threads", 1)
    return path


def test_export_ranks_as_the_model(gbrank, model, letor, small, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("a\nb\n\nc\nd\n")
    out = tmp_path / "out.json"
    options = ("--feature-names", names, "--verify", letor, "--json")
    said = gbrank("export", model, "--format", "vespa", "--output", out, *options).json
    ranker = Ranker.load_model(model)
    scores = SCORERS["vespa"](out.read_text(), small[0], ["a", "b", "c", "d"])
    np.testing.assert_array_equal(scores, ranker.predict(small[0]))
    assert said == {
        "model": str(out),
        "features": str(tmp_path / "out.features.json"),
        "trees": ranker.booster_.num_trees(),
        "intervals that differ": 0,
        "rows verified": 240,
        "neighbours swapped": 0,
    }
    assert json.loads((tmp_path / "out.features.json").read_text())["features"] == list("abcd")


def test_export_of_a_model_of_lightgbm(gbrank, model, small, tmp_path):
    plain, out = tmp_path / "plain.txt", tmp_path / "out.json"
    Ranker.load_model(model).booster_.save_model(plain)
    said = gbrank(
        "export", plain, "--format", "solr", "--output", out, "--name", "mine", "--strict"
    )
    assert "no checksum guards it" in said.err
    assert json.loads(out.read_text())["name"] == "mine"


def test_export_says_what_is_wrong(gbrank, model, tmp_path):
    out = tmp_path / "out.json"
    names = tmp_path / "names.txt"
    names.write_text("a\nb\n")
    options = ("--format", "solr", "--feature-names", names)
    said = gbrank("export", model, "--output", out, *options, expect=1)
    assert said.err.startswith("gbrank export: error: feature_names must be 4 names")
    said = gbrank("export", model, "--output", model, "--format", "solr", expect=2)
    assert "--output would overwrite" in said.err
    said = gbrank("export", model, "--output", out, "--format", "lucene", expect=2)
    assert "invalid choice: 'lucene'" in said.err
