"""A results folder may come from anybody: reports neither run, nor write elsewhere, nor break."""

import csv
import json
import lzma
import shutil
import sqlite3
import zlib

import numpy as np
import pytest

from gbrank.noise.checks import MOST_BYTES, check_preset
from gbrank.noise.presets import load_preset
from gbrank.noise.render import to_html, to_markdown
from gbrank.noise.report import overview, write_report
from gbrank.noise.store import Store, StoreError

pytest.importorskip("matplotlib")


@pytest.fixture
def folder(finished, tmp_path):
    """A finished run without its compressed file, so that only the SQLite file is read."""
    copy = tmp_path / "results"
    shutil.copytree(finished, copy)
    for path in (copy / "tiny.tar.xz", copy / "report.html", copy / "results.csv"):
        path.unlink()
    shutil.rmtree(copy / "figures")
    return copy


def change(folder, statement, *values):
    base = sqlite3.connect(folder / "work" / "trials.sqlite")
    base.execute(statement, values)
    base.commit()
    base.close()


def change_definition(folder, **values):
    base = sqlite3.connect(folder / "work" / "trials.sqlite")
    [definition] = base.execute("select definition from runs").fetchone()
    base.close()
    whole = json.loads(definition) | values
    change(folder, "update runs set definition = ?, preset = ?", json.dumps(whole), whole["name"])
    change(folder, "update trials set preset = ?", whole["name"])


def files(folder):
    return {path for path in folder.rglob("*") if "work" not in path.parts}


SCRIPT = 'x"><script>alert(1)</script>'


@pytest.mark.parametrize("name", ["../../outside", SCRIPT, "=cmd()", "a\nb", "", "a" * 300, ".x"])
def test_names_that_lead_elsewhere_run_or_calculate_are_refused(folder, name):
    change_definition(folder, name=name)
    before = files(folder.parent)
    with pytest.raises(StoreError, match=r"damaged, .* cannot be read"):
        write_report(folder)
    assert files(folder.parent) == before


ROWS = [
    *((c, v) for c in ("preset", "data", "setting", "noise") for v in ("../../x", b"\xff")),
    *((c, v) for c in ("objective", "level", "trial") for v in ("=1+1", b"\xff", None)),
    *((c, 10**15) for c in ("level", "trial", "noise")),
]


@pytest.mark.parametrize(("column", "value"), ROWS)
def test_rows_with_other_names(folder, column, value):
    if column in ("preset", "data"):
        change(folder, f"update runs set {column} = ?", value)
        change(folder, f"update trials set {column} = ?", value)
    else:
        change(folder, f"update trials set {column} = ? where rowid = 3", value)
    before = files(folder.parent)
    with pytest.raises(StoreError):
        write_report(folder)
    assert files(folder.parent) == before


@pytest.mark.parametrize(
    "values",
    [
        {"trials": 10**12},
        {"metrics": []},
        {"metrics": ["ndcg@10", "map"]},
        {"noises": [{"kind": "x", "levels": [0.0], "settings": ["small"]}]},
        {"noises": 3},
        {"settings": {"../x": {}}},
        {"alpha": "x"},
        {"model": "x"},
        {"unknown": 1},
        {"title": ""},
    ],
)
def test_definitions_that_no_run_wrote(folder, values):
    change_definition(folder, **values)
    with pytest.raises(StoreError):
        write_report(folder)


def test_damaged_rows_are_named(folder):
    bomb = zlib.compressobj()
    packed = b"".join(bomb.compress(bytes(1 << 20)) for _ in range((MOST_BYTES >> 20) + 1))
    for column, value in (
        ("queries", b"no zlib"),
        ("per_query", zlib.compress(np.zeros(3, "<f4").tobytes())),
        ("queries", zlib.compress(b"abc")),
        ("queries", zlib.compress(bytes(800))[:-6]),
        ("per_query", packed + bomb.flush()),
        ("result", "{}"),
        ("result", "[" * 100_000),
        ("result", '{"means": 3}'),
    ):
        copy = folder.with_name("copy")
        shutil.copytree(folder, copy)
        change(copy, f"update trials set {column} = ? where rowid = 3", value)
        with pytest.raises(StoreError, match=r"damaged, trial \('small.* cannot be read"):
            write_report(copy)
        shutil.rmtree(copy)


def test_tables_that_are_programs(folder):
    change(folder, "create trigger t after insert on imported begin delete from trials; end")
    with pytest.raises(StoreError, match="is no file of trials: it has a trigger t"):
        write_report(folder)


def test_links_in_place_of_files_are_replaced_and_of_folders_refused(folder, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (folder / "figures").mkdir()
    names = ("results.csv", "report.html", "tiny.tar.xz.part", "settings.csv",
             "figures/tiny-synthetic-labels.svg", "figures/tiny-synthetic-labels.png")  # fmt: skip
    for name in names:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(victim)
    write_report(folder)
    assert victim.read_text() == "kept"
    assert not (folder / "results.csv").is_symlink()
    for name in ("figures", "work"):
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
        with pytest.raises((StoreError, ValueError), match="is a link"):
            write_report(folder)
        (folder / name).unlink()
        (tmp_path / name).rename(folder / name)


def test_titles_are_text_in_every_form(folder):
    change_definition(folder, title=f"{SCRIPT} | $\\frac{{", about=SCRIPT)
    sections = write_report(folder)
    for name in ("report.html", "report.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "<script" not in text
        assert "script>alert" in text or "script&gt;alert" in text
    blocks = [("section", SCRIPT, SCRIPT), *overview(sections)]
    assert "<script" not in to_html(blocks, folder) + to_markdown(blocks)
    with (folder / "results.csv").open(encoding="utf-8") as file:
        assert all(cell[:1] not in "=+@" or not cell for row in csv.reader(file) for cell in row)


def test_compressed_trials_that_are_no_archive_of_ours(finished, folder):
    plain = lzma.decompress((finished / "tiny.tar.xz").read_bytes())
    for broken in (
        plain.replace(b"<f4", b"|O4"),
        plain.replace(b"'shape': (2, ", b"'shape': (9999999999, "),
        plain.replace(b'"metrics"', b'"netrics"'),
        plain.replace(b'"name": "tiny"', b'"name": "../x"'),
        plain.replace(b"labels,0.5", b"labels,zzz"),
        bytes(1 << 20),
    ):
        assert broken != plain
        (folder / "tiny.tar.xz").write_bytes(lzma.compress(broken))
        with pytest.raises(StoreError, match="tiny"):
            Store(folder)


def test_names_of_ones_own_are_checked_before_trials_run(noise, tiny, tmp_path):
    named = tmp_path / "=tiny.toml"
    named.write_text(tiny.read_text())
    code, _, err = noise("run", named, "--jobs", 1, "--out", tmp_path / "out")
    assert (code, "Traceback" in err) == (1, False)
    assert "begins with no =+-@" in err
    assert check_preset(load_preset("results")).name == "results"
