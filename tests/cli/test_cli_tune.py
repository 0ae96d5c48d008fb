"""``gbrank tune``: a model, a verdict, trials that are kept, one line for what is wrong."""

import json

import pytest

from gbrank import Ranker
from gbrank.cli import main
from gbrank.cli.tune import duration
from gbrank.data import dump_letor, make_ranking


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = make_ranking(n_queries=40, n_features=10, random_state=0)
    dump_letor(data.X, data.y, data.qid, "train.txt")
    return data


def test_tune_resume_and_json(files, capsys, tmp_path):
    command = ["tune", "train.txt", "--model", "best.txt", "--folds", "2", "--members", "2"]
    command += ["--objectives", "xendcg", "--threads", "1"]
    assert main([*command, "--trials", "2"]) == 0
    text = capsys.readouterr().out
    assert "tuned - Ranker('xendcg')" in text
    assert "the tuned ranker" in text
    assert Ranker.load_model("best.txt").predict(files.X).shape == files.y.shape
    with pytest.raises(SystemExit) as caught:
        main([*command, "--trials", "3"])
    assert caught.value.code == 2
    assert "--resume goes on" in capsys.readouterr().err
    assert main([*command, "--trials", "3", "--resume", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [each["number"] for each in result["trials"]] == [0, 1, 2]
    assert result["best"]["score"] == max(
        each["value"] for each in result["trials"] if each["state"] == "complete"
    )
    assert 0 <= result["p"] <= 1
    assert 0 <= result["tuned_share"] <= 1


def test_budgets():
    assert [duration(text) for text in ("90", "90s", "10m", "1.5h")] == [90, 90, 600, 5400]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "soon"], "must be a time such as 90s"),
        (["--budget=-5m"], "must be a time such as 90s"),
        (["--metric", "ndgc"], "ndgc"),
        (["--objectives", "lambdamrt"], "unknown objective 'lambdamrt'"),
        (["--trials", "0"], "must be an integer >= 1"),
    ],
)
def test_one_line_for_what_is_wrong(files, capsys, options, message):
    with pytest.raises(SystemExit) as caught:
        main(["tune", "train.txt", "--model", "best.txt", *options])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
