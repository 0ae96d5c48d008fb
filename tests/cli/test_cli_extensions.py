"""Losses and metrics of one's own on the command line, and shell completion."""

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from gbrank import Ranker, list_objectives
from gbrank.cli.application import make_parser

MINE = """
import gbrank

class {cls}(gbrank.Squared):
    def query_loss(self, *arguments, **options):
        return super().query_loss(*arguments, **options)

gbrank.register_objective("{name}", {cls})
"""
METRIC = """
from gbrank.metrics import get_metric

class Mine(type(get_metric("ndcg"))):
    name = "mine"
"""


def trees_of(path):
    """Return the lines of a model that are trees, without what says how they were made."""
    return re.findall(r"^(?:split|leaf|thre)\w*=.*$", path.read_text(), flags=re.MULTILINE)


class TestLine14:
    """``--import FILE.py`` or ``module:Class`` for objectives and metrics."""

    def test_a_file_that_registers_a_loss(self, gbrank, letor, tmp_path):
        source = tmp_path / "losses.py"
        source.write_text(MINE.format(cls="Registered", name="my_registered"))
        options = ("--trees", "3", "--threads", "1")

        def run(*words):  # a process of its own: the registry of this one stays as it is
            command = [sys.executable, "-m", "gbrank", *map(str, words)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run(
            *("train", letor, "--model", tmp_path / "m", "--import", source),
            *("--objective", "my_registered", *options),
        )
        gbrank("train", letor, "--model", tmp_path / "s", "--objective", "squared", *options)
        assert trees_of(tmp_path / "m") == trees_of(tmp_path / "s")
        assert trees_of(tmp_path / "m")
        listed = json.loads(run("objectives", "--import", source, "--json"))
        assert "my_registered" in [row["name"] for row in listed]
        assert "my_registered" not in list_objectives()

    def test_a_class_of_a_file(self, gbrank, letor, tmp_path):
        source = tmp_path / "classes.py"
        source.write_text(MINE.split("gbrank.register")[0].format(cls="OfAFile"))
        options = ("--trees", 3, "--threads", 1, "--set", "norm=none")
        own = ("--objective", f"{source}:OfAFile", *options)
        said = gbrank("train", letor, "--model", tmp_path / "m", *own)
        assert re.search(r"OfAFile\(.*norm=None", said.out)
        gbrank("train", letor, "--model", tmp_path / "s", "--objective", "squared", *options)
        assert trees_of(tmp_path / "m") == trees_of(tmp_path / "s")
        scores = [gbrank("predict", tmp_path / name, letor).out for name in "ms"]
        assert scores[0] == scores[1]
        said = gbrank("bench", letor, "--objectives", f"{source}:OfAFile", *["--trees", "1"],
                      *["--rounds", "1", "--json"])  # fmt: skip
        assert f"{source}:OfAFile" in said.json["objectives"]
        assert "OfAFile" not in list_objectives()

    def test_a_class_of_a_module(self, gbrank, letor, tmp_path):
        gbrank(
            *("train", letor, "--model", tmp_path / "m", "--trees", 2),
            *("--objective", "gbrank.objectives:ListNet"),
        )
        assert type(Ranker.load_model(tmp_path / "m").objective_).__name__ == "ListNet"

    def test_a_name_that_is_taken(self, gbrank, letor, tmp_path):
        source = tmp_path / "taken.py"
        source.write_text(MINE.format(cls="Twin", name="xendcg"))
        said = gbrank("train", letor, "--model", tmp_path / "m", "--import", source, expect=1)
        assert "the name 'xendcg' is taken by XENDCG" in said.err

    def test_a_metric_of_a_file(self, gbrank, letor, small, tmp_path):
        source, scores = tmp_path / "metrics.py", tmp_path / "scores.txt"
        source.write_text(METRIC)
        scores.write_text("\n".join(map(repr, np.random.default_rng(0).normal(size=240).tolist())))
        mine = f"{source}:Mine@5"
        found = gbrank(
            *("evaluate", scores, letor, "--metric", mine, "ndcg@5", "--ties", "worst", "--json")
        ).json["metrics"]
        assert found[mine] == found["ndcg@5"]
        compared = gbrank(
            *("compare", scores, f"b={scores}", letor, "--metric", mine, "--resamples", 9),
            "--json",
        ).json["metrics"]
        assert list(compared) == [mine]
        trained = gbrank(
            *("train", letor, "--valid", letor, "--model", tmp_path / "m", "--trees", 3),
            *("--metric", mine, "ndcg@5", "--json"),
        ).json["validation"]
        assert trained["mine@5"] == trained["ndcg@5"]

    def test_a_data_file_cannot_ask_for_code(self, gbrank, letor, tmp_path):
        """Only what stands on the command line is imported."""
        source = tmp_path / "danger.py"
        source.write_text("raise SystemExit('run')")
        gbrank("train", letor, "--model", tmp_path / "m", "--trees", 2)
        text = (tmp_path / "m").read_text()
        (tmp_path / "n").write_text(text.replace('"xendcg"', f'"{source}:Loss"'))
        gbrank("predict", tmp_path / "n", letor, expect=1)


class TestLine15:
    """The start is named, p is never 0, and shells complete."""

    def test_the_start_is_named(self, gbrank, letor, tmp_path):
        said = gbrank("train", letor, "--model", tmp_path / "m", "--trees", 2)
        model = Ranker.load_model(tmp_path / "m")
        assert model.start_kind_ == "linear"
        assert re.search(rf"^start +linear \({model.n_start_trees_} trees", said.out, re.MULTILINE)
        found = gbrank(
            "train", letor, "--model", tmp_path / "m", "--trees", 2, "--start", "zero", "--json"
        ).json
        assert (found["start"], found["start_trees"]) == ("zero", 0)

    def test_what_the_help_says_of_the_start_is_true(self, gbrank, tmp_path):
        page = " ".join(gbrank("train", "--help").out.split())
        assert "auto, the default, is linear wherever that is possible (at most 1000" in page
        for width, expected in ((1000, "linear"), (1001, "zero")):
            X = np.random.default_rng(0).normal(size=(120, width))
            np.savez(tmp_path / "a.npz", X=X, y=np.arange(120) % 3, qid=np.arange(120) // 6)
            said = gbrank("train", tmp_path / "a.npz", "--model", tmp_path / "m", "--trees", 1,
                          "--preset", "fast", "--json")  # fmt: skip
            assert said.json["start"] == expected

    def test_npz_arrays_are_documented(self, gbrank):
        page = " ".join(gbrank("train", "--help").out.split())
        assert (
            "npz: arrays X (rows, features), y and qid (rows) and, if rows have weights, weight"
            in page
        )

    def test_p_values_are_never_zero(self, gbrank, letor, small, tmp_path):
        y = small[1]
        (tmp_path / "best.txt").write_text("\n".join(map(repr, y.tolist())))
        (tmp_path / "worst.txt").write_text("\n".join(map(repr, (-y).tolist())))
        said = gbrank("compare", tmp_path / "best.txt", tmp_path / "worst.txt", letor)
        assert "0.0000" not in said.out.split("\n\n")[-1]
        assert "< .0001" in said.out

    def test_compare_says_how_many_queries_count(self, gbrank, letor, tmp_path):
        (tmp_path / "a.txt").write_text("\n".join(map(str, range(240))))
        (tmp_path / "b.txt").write_text("\n".join(map(str, range(240, 0, -1))))
        said = gbrank("compare", tmp_path / "a.txt", tmp_path / "b.txt", letor)
        found = gbrank("compare", tmp_path / "a.txt", tmp_path / "b.txt", letor, "--json").json
        counted = found["metrics"]["ndcg@10"]["queries"]
        assert re.search(rf"over {counted} (of \d+ )?queries", said.out)

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("gbrank tr", {"train"}),
            ("gbrank ", {"train", "predict", "evaluate", "compare", "convert", "completion"}),
            ("gbrank train --obj", {"--objective"}),
            ("gbrank train --start ", {"auto", "zero", "linear", "query_linear"}),
            ("gbrank evaluate --conv", {"--convention"}),
            ("gbrank evaluate --convention l", {"lightgbm", "letor"}),
            ("gbrank completion ", {"bash", "zsh", "fish"}),
            ("gbrank train da", {"data.txt"}),
        ],
    )
    def test_bash_completes(self, gbrank, tmp_path, line, expected):
        bash = shutil.which("bash")
        if bash is None:
            pytest.skip("there is no bash")
        (tmp_path / "data.txt").write_text("")
        words = line.split(" ")
        script = gbrank("completion", "bash").out + (
            f"COMP_WORDS=({' '.join(json.dumps(word) for word in words)})\n"
            f"COMP_CWORD={len(words) - 1}\n_gbrank\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        )
        done = subprocess.run([bash, "-c", script], capture_output=True, text=True, cwd=tmp_path,
                              check=False)  # fmt: skip
        assert done.stderr == ""
        assert expected <= set(done.stdout.split())
        assert len(words) == 2 or expected == set(done.stdout.split())

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_every_option_is_in_every_script(self, gbrank, shell):
        script = gbrank("completion", shell).out
        parser = make_parser()
        commands = next(a for a in parser._actions if a.dest == "command").choices
        for name, command in commands.items():
            assert name in script
            for action in command._actions:
                for option in action.option_strings:
                    fish = f"-l {option[2:]} " if option.startswith("--") else f"-s {option[1:]} "
                    assert (fish if shell == "fish" else option) in script
        program = shutil.which(shell)
        if program is not None:
            check = subprocess.run([program, "-n", "-c", script] if shell == "bash" else
                                   [program, "-n"], input=script, text=True, check=False,
                                   capture_output=True)  # fmt: skip
            assert check.returncode == 0, check.stderr
