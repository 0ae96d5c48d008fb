"""What goes wrong is told in one line, with the exit code that scripts go by."""

import re
import shlex

import numpy as np
import pytest
from cli_oracle import COLUMNS

import gbrank as package
from gbrank import Ranker
from gbrank.cli.application import make_parser
from gbrank.cli.options import assignment

COMMANDS = (
    *(
        "train",
        "predict",
        "evaluate",
        "compare",
        "explain",
        "export",
        "convert",
        "objectives",
        "bench",
    ),
    "completion",
)


@pytest.fixture
def files(gbrank, letor, table, tmp_path, monkeypatch):
    """Work in a folder with a model and files of every kind, good and bad."""
    monkeypatch.chdir(tmp_path)
    gbrank("train", "small.txt", "--model", "model.txt", "--trees", 2)
    text = (tmp_path / "model.txt").read_bytes()
    (tmp_path / "cut.txt").write_bytes(text[: len(text) // 2])
    (tmp_path / "edited.txt").write_bytes(text.replace(b"leaf_value=", b"leaf_value=1", 1))
    (tmp_path / "no_model.txt").write_text("tree\nof life\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "broken.txt").write_text("1 qid:1 1:1\n1 qid:x 1:1\n")
    (tmp_path / "wide.txt").write_text("1 qid:1 1:1 9:1\n")
    (tmp_path / "scores.txt").write_text("1\n2\n")
    (tmp_path / "words.txt").write_text("1\ntwo\n")
    (tmp_path / "gaps.csv").write_text("label,qid,a\n1,1,3\n,1,4\n")
    (tmp_path / "below.csv").write_text("label,qid,a\n1,1,3\n-1,1,4\n")
    (tmp_path / "texts.csv").write_text("label,qid,a\ngood,1,3\nbad,1,4\n")
    (tmp_path / "only_labels.csv").write_text("label,qid\n1,1\n")
    (tmp_path / "no_rows.csv").write_text("label,qid,a\n")
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "bad.npz").write_bytes(b"PK\3\4 and no more")
    np.savez(tmp_path / "flat.npz", X=np.zeros(3), y=np.zeros(3), qid=np.zeros(3))
    np.savez(tmp_path / "half.npz", X=np.zeros((3, 1)), y=np.zeros(3))
    (tmp_path / "table.xlsx").write_bytes(b"PK\3\4")
    (tmp_path / "rows.json").write_text("[]")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "plain.py").write_text("class Loss:\n    pass\n")
    (tmp_path / "link.txt").symlink_to("small.txt")
    return tmp_path


FAILURES = {
    "train missing.txt --model m": "missing.txt: No such file or directory",
    "train small.txt --valid missing.txt --model m": "missing.txt: No such file or directory",
    "train small.txt --model no/folder/m": "the folder of no/folder/m does not exist",
    "train broken.txt --model m": "broken.txt, line 2: expected an integer of 64 bits",
    "train empty.txt --model m": "empty.txt",
    "train small.csv --model m": "small.csv has no column 'label'; it has 'grade', 'query', 'url'",
    "train small.csv --label grade --qid nope --model m": "small.csv has no column 'nope'",
    "train small.csv --label grade --qid query --drop x --model m": "has no column 'x'",
    "train small.csv --label grade --qid query --weight w --model m": "has no column 'w'",
    "train gaps.csv --model m": "gaps.csv: labels (y) must be finite numbers >= 0, but row 1",
    "train below.csv --model m": "below.csv: labels (y) must be finite numbers >= 0, but row 1",
    "train small.csv --valid below.csv --label grade --qid query --drop url --model m": (
        "below.csv has no column 'grade'"
    ),
    "train texts.csv --model m": "texts.csv: labels (y) must be numbers",
    "train only_labels.csv --model m": "only_labels.csv has no columns of features",
    "train no_rows.csv --model m": "no_rows.csv has no rows",
    "train nothing.csv --model m": "nothing.csv is not a readable csv file",
    "train bad.parquet --model m": "bad.parquet is not a readable parquet file",
    "train bad.npz --model m": "bad.npz is not a readable npz file",
    "train flat.npz --model m": "flat.npz: X must be a matrix of numbers, got shape (3,)",
    "train half.npz --model m": "half.npz has no array 'qid': X, y and qid are expected",
    "train table.xlsx --model m": "table.xlsx: .xlsx files are neither read nor written: use CSV",
    "predict model.txt rows.json": "rows.json: .json files are neither read nor written",
    "convert small.txt small.xlsx": "small.xlsx: .xlsx files are neither read nor written",
    "train small.txt --model m --import no.py": "no.py: No such file or directory",
    "train small.txt --model m --import broken.py": "broken.py cannot be imported: ZeroDivisionErr",
    "train small.txt --model m --import no_such_module": "no_such_module cannot be imported",
    "predict missing.txt small.txt": "missing.txt: No such file or directory",
    "predict model.txt missing.txt": "missing.txt: No such file or directory",
    "predict cut.txt small.txt": "cut.txt is not a model file of gbrank: it breaks off",
    "predict edited.txt small.txt": "its checksum does not fit its contents",
    "predict no_model.txt small.txt": "no_model.txt is not a model file of gbrank",
    "predict empty.txt small.txt": "empty.txt is not a model file of gbrank: it is empty",
    "predict model.txt wide.txt": "wide.txt, line 1: feature 9 is beyond n_features=4",
    "predict model.txt gaps.csv": "gaps.csv does not fit the model: it has 1 features",
    "predict model.txt small.txt --output no/folder/s": "the folder of no/folder/s does not exist",
    "evaluate missing.txt small.txt": "missing.txt: No such file or directory",
    "evaluate cut.txt small.txt": "cut.txt is not a model file of gbrank",
    "evaluate scores.txt small.txt": "scores.txt has 2 scores, but small.txt has 240 rows",
    "evaluate words.txt small.txt": "words.txt is neither a model nor scores: line 2",
    "compare model.txt missing.txt small.txt": "missing.txt: No such file or directory",
    "convert missing.txt a.csv": "missing.txt: No such file or directory",
    "convert small.txt no/folder/a.csv": "the folder of no/folder/a.csv does not exist",
    "bench missing.txt": "missing.txt: No such file or directory",
}
MISTAKES = {
    "": "a command is needed",
    "fly": "invalid choice: 'fly'",
    "train small.txt": "the following arguments are required: --model",
    "train small.txt --model m --objective best": "unknown objective 'best'; known are approx_ndcg",
    "train small.txt --model m --objective plain.py:Loss": "plain.py has no class 'Loss' derived",
    "train small.txt --model m --objective plain.py:No": "plain.py has no class 'No' derived from",
    "train small.txt --model m --metric plain.py:Loss": "class 'Loss' derived from gbrank's Metric",
    "train small.txt --model small.txt": "--model would overwrite small.txt, which is read",
    "train link.txt --model small.txt": "--model would overwrite link.txt, which is read",
    "train small.txt --model link.txt": "--model would overwrite small.txt, which is read",
    "train small.txt --valid wide.txt --model wide.txt": "--model would overwrite wide.txt",
    "predict model.txt small.txt --output small.txt": "--output would overwrite small.txt",
    "predict model.txt small.txt --output model.txt": "--output would overwrite model.txt",
    "convert small.txt ./small.txt": "the target would overwrite small.txt, which is read",
    "completion csh": "invalid choice: 'csh'",
    "train small.txt --model m --objective xendcg --set k=10": (
        "xendcg has no parameter 'k'; it has anneal, eps"
    ),
    "train small.txt --model m --set gamma": "must be NAME=VALUE, got 'gamma'",
    "train small.txt --model m --set gamma=2": "--set is for parameters of a loss: name it with --",
    "train small.txt --model m --objective xendcg --set gamma=2": "gamma must be",
    "train small.txt --model m --objective xendcg --set gamma=0.1 gamma=0.2": (
        "--set gamma is given twice"
    ),
    "train small.txt --model m --trees 0": "must be an integer >= 1, got '0'",
    "train small.txt --model m --trees many": "must be an integer >= 1, got 'many'",
    "train small.txt --model m --metric ndgc": "unknown metric 'ndgc'",
    "train small.txt --model m --preset good": "argument --preset: invalid choice: 'good'",
    "train small.txt --model m --preset fast --early-stopping 5": "needs validation data: --valid",
    "train small.txt --model m --start query_linear --early-stopping 5": "needs validation data",
    "train small.txt --model m --preset best --valid small.txt": "--valid: --preset best holds out",
    "train small.txt --model m --preset best --start query_linear": "--start query_linear is for",
    "train small.txt --model m --lgb max_bn=3": "no parameter 'max_bn'; did you mean 'max_bin'?",
    "train small.txt --model m --lgb num_trees=3": "--lgb num_trees: use --trees",
    "train small.txt --model m --lgb application=binary": "--lgb application: use --objective",
    "train small.txt --model m --lgb bagging_by_query=true": "bagging_by_query=True is not supp",
    "train small.txt --model m --qid query": "--qid names a column, but small.txt is LETOR text",
    "train small.txt --model m --weight w": "--weight names a column, but small.txt is LETOR text",
    "evaluate model.txt small.txt --metric best": "unknown metric 'best'; known are dcg",
    "evaluate model.txt small.txt --metric err err": "names a metric twice",
    "evaluate model.txt small.txt --ties never": "ties must be",
    "compare model.txt small.txt": "two models or more are needed",
    "compare model.txt model.txt small.txt --confidence 2": "--confidence must be between 0 and 1",
    "compare a=model.txt a=model.txt a=model.txt small.txt": "model.txt is named twice",
    "convert small.txt": "a target is needed, or --cache",
    "convert small.csv --cache": "--cache is for LETOR text",
    "objectives best": "unknown objective 'best'",
    "objectives --markdown --json": "--markdown prints the whole table",
    "bench --objectives best": "unknown objective 'best'",
}


def check_one_line(said, message):
    assert message in said.err
    assert said.err.startswith("gbrank")
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_failures_exit_with_1(gbrank, files):
    before = sorted(files.iterdir())
    for words, message in FAILURES.items():
        check_one_line(gbrank(*words.split(), expect=1), message)
    assert sorted(files.iterdir()) == before  # no model, no half-written file


def test_mistakes_exit_with_2(gbrank, files):
    before = sorted(files.iterdir())
    for words, message in MISTAKES.items():
        check_one_line(gbrank(*words.split(), expect=2), message)
    assert sorted(files.iterdir()) == before


def test_debug_shows_where(gbrank, files):
    said = gbrank("train", "missing.txt", "--model", "m", "--debug", expect=1)
    assert "Traceback" in said.err
    assert said.err.splitlines()[-1].endswith("missing.txt: No such file or directory")


def test_errors_of_our_own_have_a_name(gbrank, files, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(Ranker, "fit", fail)
    said = gbrank("train", "small.txt", "--model", "m", expect=1)
    check_one_line(said, "ZeroDivisionError: division by zero (--debug shows where)")


def test_an_interrupt_before_the_first_tree(gbrank, files, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ranker, "fit", interrupt)
    check_one_line(gbrank("train", "small.txt", "--model", "m", expect=130), "interrupted")
    assert not (files / "m").exists()


def test_warnings_are_one_line_each(gbrank, files):
    train = ("train", "small.csv", *COLUMNS, "--model", "named.txt", "--trees", 2)
    assert gbrank(*train).err == ""
    said = gbrank("predict", "named.txt", "small.txt")
    assert re.fullmatch(r"gbrank: warning: .*feature names.*\n", said.err)
    assert len(said.out.splitlines()) == 240


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_every_help_page_make_sense(gbrank, command):
    page = gbrank(command, "--help").out
    examples = re.findall(rf"^  gbrank ({command}.*?)(?:   .*| > .*)?$", page, flags=re.MULTILINE)
    assert len(examples) >= 2 or command == "objectives"
    assert "examples:" in page
    for example in examples:
        assert make_parser().parse_args(shlex.split(example)).command == command
    assert max(map(len, page.splitlines())) <= 100


def test_the_first_help_page(gbrank):
    page = gbrank("--help").out
    assert all(f"    {command}" in page for command in COMMANDS)
    for example in re.findall(r"^  gbrank (.*)$", page, flags=re.MULTILINE):
        make_parser().parse_args(shlex.split(example))
    assert gbrank("--version").out == f"gbrank {package.__version__}\n"


def test_objectives(gbrank):
    rows = {row["name"]: row for row in gbrank("objectives", "--json").json}
    assert set(package.list_objectives()) == set(rows)
    assert rows["squared"]["loss"] == "sum (s_i - u_i)^2, u = G(r) / Z(r)"
    assert rows["qnorm"]["loss"].startswith("|t|_q^2 - 2 <t, u>, t = s + ")
    page = gbrank("objectives").out
    assert all(re.search(rf"^{name}$", page, flags=re.MULTILINE) for name in rows)
    one = gbrank("objectives", "lambdamart", "--json").json
    given = {"truncation_level": 30, "sigmoid": 1.0, "norm": True, "gain": "exp"}
    assert one["parameters"] == {**package.LambdaMART().get_params(), **given}
    assert re.search(
        r"^truncation_level +30$", gbrank("objectives", "lambdamart").out, re.MULTILINE
    )


@pytest.mark.parametrize("name", ["max_bn", "learningrate", "bagging_by_query"])
def test_line_7_one_rule_for_parameters_of_lightgbm(gbrank, files, name):
    """What the command line refuses, and how, is what Python refuses."""
    with pytest.raises(ValueError, match=name) as refused:
        Ranker(lgb_params={name: True}).fit(np.eye(4), [0, 1, 0, 1], qid=[0, 0, 1, 1])
    said = gbrank("train", "small.txt", "--model", "m", "--lgb", f"{name}=true", expect=2)
    assert str(refused.value) in said.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=3", 3),
        ("a=-0.5", -0.5),
        ("a=1e-3", 0.001),
        ("a=TRUE", True),
        ("a=false", False),
        ("a=None", None),
        ("a=linear", "linear"),
        ("a='3'", "3"),
        ("a=[1, 0, -1]", [1, 0, -1]),
        ("a=x=y", "x=y"),
        ("a=", ""),
        ("a=__import__('os')", "__import__('os')"),
    ],
)
def test_values_of_options(text, value):
    name, found = assignment(text)
    assert (name, found, type(found)) == ("a", value, type(value))
