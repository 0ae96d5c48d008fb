"""``gbrank clicks``: from a log to propensities to a model, as a user would."""

import json

import numpy as np
import pandas as pd
import pytest

from gbrank import Ranker
from gbrank.cli import main
from gbrank.clicks import Propensities

TRUTH = np.array([1.0, 0.5, 0.3])


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 1200
    query = np.arange(n) % 60
    order = np.argsort(rng.random((n, 4)), axis=1)[:, :3]
    item = (4 * query[:, None] + order).ravel()
    feature = rng.normal(size=240)
    gamma = 1 / (1 + np.exp(-2 * feature))
    position = np.tile([1, 2, 3], n)
    frame = pd.DataFrame(
        {
            "query": np.repeat(query, 3),
            "session": np.repeat(np.arange(n), 3),
            "item": item,
            "position": position,
            "click": (rng.random(3 * n) < TRUTH[position - 1] * gamma[item]).astype(int),
            "a": feature[item],
            "b": rng.normal(size=3 * n),
        }
    )
    path = tmp_path_factory.mktemp("clicks") / "log.csv"
    frame.to_csv(path, index=False)
    return path


def test_report_propensity_train(log, tmp_path, capsys):
    assert main(["clicks", "report", str(log), "--qid", "query", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["connected"] is True
    assert found["impressions"] == [1200, 1200, 1200]
    saved = str(tmp_path / "p.json")
    assert main(["clicks", "propensity", str(log), "--qid", "query", "--output", saved]) == 0
    assert "95% interval" in capsys.readouterr().out
    assert Propensities.load(saved).values == pytest.approx(TRUTH, abs=0.12)
    for unbiased, more in (("ips", ["--propensity", saved]), ("additive", []), ("dual", [])):
        model = str(tmp_path / f"{unbiased}.txt")
        words = [
            "clicks",
            "train",
            str(log),
            "--qid",
            "query",
            "--list",
            "session",
            "--trees",
            "10",
        ]
        words += ["--unbiased", unbiased, "--model", model, "--threads", "1", "--json", *more]
        assert main(words) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["features"], said["lists"]) == (2, 1200)
        assert ("bias" in said) == (unbiased != "ips")
        frame = pd.read_csv(log)
        scores = Ranker.load_model(model).predict(frame[["a", "b"]])
        assert np.corrcoef(scores, frame["a"])[0, 1] > 0.7


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["propensity", "LOG", "--qid", "query"], 2, "propensity needs --output"),
        (["train", "LOG", "--qid", "query"], 2, "train needs --model"),
        (
            ["train", "LOG", "--qid", "query", "--model", "m"],
            2,
            "--unbiased ips needs --propensity",
        ),
        (["report", "LOG"], 1, "qid must name a column of the frame, but it has no 'qid'"),
        (["report", "none.csv"], 1, "none.csv: No such file or directory"),
    ],
)
def test_messages(log, capsys, words, code, message):
    words = [str(log) if word == "LOG" else word for word in words]
    try:
        found = main(["clicks", *words])
    except SystemExit as end:
        found = end.code
    assert found == code
    assert message in capsys.readouterr().err
