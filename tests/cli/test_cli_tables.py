"""CSV, parquet and npz files: columns by name, and from one format to another."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from cli_oracle import COLUMNS
from sklearn.datasets import load_svmlight_file

from gbrank import Ranker


def test_a_table_trains_the_model_that_its_text_does(gbrank, letor, table, small, tmp_path):
    gbrank("train", letor, "--model", tmp_path / "a", "--trees", 5, "--threads", 1)
    gbrank("train", table, *COLUMNS, "--model", tmp_path / "b", "--trees", 5, "--threads", 1)
    of_text, of_table = (lgb.Booster(model_file=str(tmp_path / name)) for name in "ab")
    np.testing.assert_array_equal(of_text.predict(small[0]), of_table.predict(small[0]))
    assert of_table.feature_name() == list("abcd")
    texts = [
        gbrank("evaluate", tmp_path / "a", letor, "--json").json["metrics"],
        gbrank("evaluate", tmp_path / "b", table, *COLUMNS, "--json").json["metrics"],
    ]
    assert texts[0] == texts[1]


def test_prediction_takes_the_columns_of_the_model_in_any_order(gbrank, table, small, tmp_path):
    gbrank("train", table, *COLUMNS, "--model", tmp_path / "m", "--trees", 5)
    frame = pd.DataFrame(small[0], columns=list("abcd"))
    other = tmp_path / "other.csv"  # no labels, no ids, another order, a column of no interest
    frame.assign(note="x")[["d", "note", "b", "a", "c"]].to_csv(other, index=False)
    expected = lgb.Booster(model_file=str(tmp_path / "m")).predict(small[0])
    found = gbrank("predict", tmp_path / "m", other, "--json").json["scores"]
    np.testing.assert_array_equal(found, expected)
    frame.drop(columns="b").to_csv(other, index=False)
    said = gbrank("predict", tmp_path / "m", other, expect=1)
    assert (
        "other.csv has no column 'b', which the model was trained on; it has 'a', 'c', 'd'"
        in said.err
    )


def test_weights_weigh(gbrank, table, small, tmp_path):
    columns = (*COLUMNS[:-1], "--weight", "size")
    train = ("--trees", 5, "--threads", 1, "--objective", "listnet")
    gbrank("train", table, *columns, "--model", tmp_path / "m", *train)
    X, y, qid = small
    direct = Ranker("listnet", n_estimators=5, random_state=0, n_jobs=1)
    direct.fit(X, y, qid=qid, sample_weight=1 + qid % 3)
    loaded = lgb.Booster(model_file=str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(X), direct.booster_.predict(X))
    scores = tmp_path / "scores.txt"
    scores.write_text("\n".join(map(repr, X[:, 0].tolist())))
    options = ("--metric", "ndcg@3", "--json")
    plain = gbrank("evaluate", scores, table, *COLUMNS, "--per-query", *options).json["per_query"]
    weighted = gbrank("evaluate", scores, table, *columns, *options).json["metrics"]["ndcg@3"]
    values = np.array(plain["ndcg@3"], dtype=float)
    kept = ~np.isnan(values)
    weights = 1 + np.arange(100, 140) % 3
    assert weighted == pytest.approx(np.average(values[kept], weights=weights[kept]))


def test_categories(gbrank, small, tmp_path):
    X, y, qid = small
    colour = np.array(["red", "green", "blue"])[y.astype(int) % 3]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(colour=colour, label=y, qid=qid)
    path = tmp_path / "colours.csv"
    frame.to_csv(path, index=False)
    said = gbrank("train", path, "--model", tmp_path / "m", expect=1)
    assert "column 'colour' does not hold numbers: leave it out with --drop" in said.err
    options = ("--trees", 5, "--lgb", "min_data_per_group=5", "cat_smooth=1")
    gbrank("train", path, "--model", tmp_path / "m", "--categorical", "colour", *options)
    expected = Ranker.load_model(tmp_path / "m").predict(
        frame[[*"abcd", "colour"]].astype({"colour": "category"})
    )
    found = gbrank("predict", tmp_path / "m", path, "--json").json["scores"]
    np.testing.assert_array_equal(found, expected)
    frame.assign(colour="red").to_csv(path, index=False)
    assert gbrank("predict", tmp_path / "m", path, "--json").json["scores"] != found


def as_arrays(path):
    """Read a file of any format, without gbrank."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return arrays["X"], arrays["y"], arrays["qid"]
    if path.suffix == ".txt":
        X, y, qid = load_svmlight_file(str(path), query_id=True)
        return X.toarray(), y, qid
    separator = "\t" if ".tsv" in path.suffixes else ","
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, sep=separator)
    assert list(frame.columns) == ["label", "qid", "f1", "f2", "f3", "f4"]
    return (
        frame[["f1", "f2", "f3", "f4"]].to_numpy(),
        frame["label"].to_numpy(),
        frame["qid"].to_numpy(),
    )


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.parquet", "a.npz", "a.csv.xz"])
def test_there_and_back(gbrank, letor, small, tmp_path, name):
    there, back = tmp_path / name, tmp_path / "back.txt"
    said = gbrank("convert", letor, there)
    assert said.out == f"{there}: 240 documents of 40 queries, 4 features\n"
    gbrank("convert", there, back)
    for path in (there, back):
        for found, expected in zip(as_arrays(path), small, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_real_values_survive_every_format(gbrank, mq2008, tmp_path):
    source = mq2008("part.txt", 5)
    X, y, qid = load_svmlight_file(str(source), query_id=True)
    path = source
    for name in ("a.csv", "b.parquet", "c.npz", "d.txt"):
        gbrank("convert", path, tmp_path / name)
        path = tmp_path / name
    found, labels, queries = load_svmlight_file(str(path), query_id=True)
    np.testing.assert_array_equal(found.toarray().astype("f4"), X.toarray().astype("f4"))
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(queries, qid)


def test_query_names_become_numbers_in_letor_text(gbrank, table, small, tmp_path):
    said = gbrank("convert", table, tmp_path / "a.txt", *COLUMNS)
    assert "numbered from 1" in said.err
    _, y, qid = load_svmlight_file(str(tmp_path / "a.txt"), query_id=True)
    np.testing.assert_array_equal(qid, small[2] - 99)
    np.testing.assert_array_equal(y, small[1])
    weighted = (*COLUMNS[:-1], "--weight", "size")
    said = gbrank("convert", table, tmp_path / "b.txt", *weighted, expect=1)
    assert "LETOR text has no weights" in said.err
    assert not (tmp_path / "b.txt").exists()
    gbrank("convert", table, tmp_path / "b.npz", *weighted)
    with np.load(tmp_path / "b.npz") as arrays:
        np.testing.assert_array_equal(arrays["weight"], 1 + small[2] % 3)
        assert arrays["qid"][0] == "q100"
    gbrank("train", tmp_path / "b.npz", "--model", tmp_path / "m", "--trees", 2)


def test_the_cache_of_letor_text(gbrank, letor, tmp_path, monkeypatch):
    gbrank("convert", letor, "--cache", tmp_path / "kept")
    assert len(list((tmp_path / "kept").iterdir())) == 1

    def never(*_):
        raise AssertionError("the text was parsed again")

    monkeypatch.setattr("gbrank.data.letor.read_files", never)
    options = ("--cache", tmp_path / "kept", "--model", tmp_path / "m", "--trees", 2)
    assert "240 documents" in gbrank("train", letor, *options).out


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("a.csv", "pandas", "gbrank[pandas]"), ("a.parquet", "pyarrow", "gbrank[pandas,arrow]")],
)
def test_a_package_that_is_not_there_is_named(gbrank, tmp_path, monkeypatch, name, package, extra):
    (tmp_path / name).write_text("label,qid,a\n1,1,1\n")
    monkeypatch.setitem(__import__("sys").modules, package, None)
    said = gbrank("train", tmp_path / name, "--model", tmp_path / "m", expect=1)
    assert package in said.err
    assert f'pip install "{extra}"' in said.err


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz"])
def test_noise_reads_csv_without_pandas(gbrank, small, tmp_path, monkeypatch, name):
    """The same diagnosis as with it: text ids, a missing value, a column that is left out."""
    X, y, qid = small
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        grade=y.astype(int), query=qid, name=[f"q{q}" for q in qid], url="http://a,b"
    )
    frame.loc[3, "b"] = np.nan
    path = tmp_path / name
    frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    command = ("noise", "diagnose", path, "--label", "grade", "--json", "--objectives", "squared")
    numbered = ("--qid", "query", "--drop", "name", "url")
    named = ("--qid", "name", "--drop", "query", "url")
    expected = [gbrank(*command, *each).json for each in (numbered, named)]
    monkeypatch.setattr("gbrank.cli.files._has_pandas", lambda: False)
    assert [gbrank(*command, *each).json for each in (numbered, named)] == expected
    assert "column 'url' does not hold numbers" in gbrank(*command, *numbered[:4], expect=1).err
    for text, message in (
        ("query,grade,a\n1,1\n", "line 2 has 2 fields, the header 3"),
        ("", "it has no header"),
        ("query,grade,a,a\n1,1,1,1\n", "two of its columns have the same name"),
        ("query,grade\n1,1\n", "has no columns of features"),
        ("query,grade,a\n", "has no rows"),
        ("query,a\n1,1\n", "has no column 'grade'; it has 'query', 'a'"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        said = gbrank("noise", "diagnose", tmp_path / "bad.csv", "--label", "grade",
                      "--qid", "query", expect=1)  # fmt: skip
        assert message in said.err
        assert said.err.count("\n") == 1
