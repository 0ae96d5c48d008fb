"""The rule of the house: what crosses a folder is public there, and each room can come first.

The levels themselves are a contract of import-linter, in ``pyproject.toml``.
"""

import ast
import importlib
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
