"""The rule of the house: what crosses a folder is public there, and each room can come first.

The levels themselves are a contract of import-linter, in ``pyproject.toml``.
"""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gbrank

PACKAGE = Path(gbrank.__file__).parent
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def imports_between_folders():
    """Yield (file, line, module, name) for each name that a file imports from another folder."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        own_room = parts[0] if len(parts) > 1 else ""
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                pairs = [name.rpartition(".")[::2] for name in names if name.startswith("gbrank.")]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: imports are absolute here"
                inside = node.module.split(".")[0] == "gbrank"
                pairs = [(node.module, alias.name) for alias in node.names] if inside else []
            else:
                continue
            for module, name in pairs:
                room = [*module.split("."), ""][1]
                if room != own_room or (room == "" and name.startswith("_")):
                    yield f"{'/'.join(parts)}:{node.lineno}", module, name


def test_only_exported_names_cross_a_folder():
    wrong = []
    for place, module, name in imports_between_folders():
        if module == "gbrank" and (name in ROOMS or name == "__version__"):
            continue
        if place.startswith("__init__") and (module, name) == ("gbrank.objectives", "*"):
            continue  # every loss, for type checkers
        # __all__ is what users are told of; a room may export more, for the rooms above it
        exported = vars(importlib.import_module(module))
        is_door = module.count(".") <= 1  # a room, or a file of the hallway
        if name.startswith("_") or not is_door or name not in exported:
            if place.startswith("__init__") and name == "__version__":
                continue
            wrong.append(f"{place} imports {name} from {module}")
    assert not wrong, "\n".join(wrong)


def test_the_command_line_takes_from_rooms_what_they_export():
    """Also by ``gbrank.room.name``, which is no import."""
    found = [
        (f"cli/{path.name}:{node.lineno}", f"gbrank.{node.value.attr}", node.attr)
        for path in sorted((PACKAGE / "cli").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in ROOMS
        and ast.unparse(node.value.value) == "gbrank"
    ]
    assert len(found) > 20
    wrong = [
        f"{place} uses {room}.{name}"
        for place, room, name in found
        if name.startswith("_") or name not in vars(importlib.import_module(room))
    ]
    assert not wrong, "\n".join(wrong)


def constants_and_names(path):
    """Return the texts, and the names of attributes and functions, of a file without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    docs = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    }
    texts = [text for text in texts if isinstance(text, str | bytes) and text not in docs]
    return texts, {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_lightgbms_text_is_known_where_the_map_says():
    """Its lines in two files of boosting, and its names of unnamed features in one place."""
    lines = ("tree\n", "Tree=", "end of trees", "end of parameters", "num_leaves=", "tree_sizes=")
    knowing, writing, numbering = set(), set(), set()
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        texts, names = constants_and_names(path)
        texts = [text.decode("latin-1") if isinstance(text, bytes) else text for text in texts]
        if any(line in text for text in texts for line in lines):
            knowing.add(place)
        if {"model_to_string", "model_from_string"} & names:
            writing.add(place)
        if any("Column_" in text for text in texts):
            numbering.add(place)
    assert knowing == {"boosting/model_text.py", "boosting/model_check.py"}
    assert writing == {"boosting/model_text.py", "boosting/train.py"}  # the latter copies a model
    assert numbering == {"core/frames.py"}


def test_names_are_those_that_a_reader_would_look_for():
    """Functions that check are named so: check_ or validate_, not refuse_."""
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and "refuse" in node.name
    ]
    assert not wrong, "\n".join(wrong)


def test_the_map_names_every_file_of_its_rooms():
    """CONTRIBUTING's table: whoever adds a file says there what it is for."""
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)/` \| (.*) \|$", text, re.MULTILINE))
    one_idea_a_file = {"metrics", "objectives", "serving"}  # those are said, others are by kind
    missing = []
    for room in rows.keys() & set(ROOMS) - one_idea_a_file:
        said = set(re.findall(r"`(\w+)`", rows[room]))
        files = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}
        missing += [f"{room}/{name}" for name in sorted(files - said)]
        assert said & files, room
    assert not missing, missing


def test_one_training_step_is_short():
    """Who follows a step from fit to a tree opens at most sixteen files."""
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## One training step")[1].split("\n## ")[0]
    files = set(re.findall(r"`([\w/]+\.py)`", section))
    assert len(files) <= 16, sorted(files)
    assert all((PACKAGE / file).is_file() for file in files)


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_can_be_imported_first(room):
    done = subprocess.run(
        [sys.executable, "-c", f"import gbrank.{room}"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_hallway_has_at_most_ten_files():
    files = [path.name for path in PACKAGE.iterdir() if path.is_file()]
    assert len(files) <= 10, files
