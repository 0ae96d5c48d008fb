"""Losses and metrics of one's own on the command line: ``--import FILE.py``, ``FILE.py:Class``.

A file or module that ``--import`` names is run, so that what it registers is known by name. Where a
loss or a metric is named, ``FILE.py:Class`` or ``module:Class`` takes a class as it is. Only what
stands on the command line is imported, never what a data or model file names.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import gbrank
from gbrank.cli.options import UsageError


def import_all(names: Iterable[str]) -> None:
    """Run the files and modules that ``--import`` names."""
    for name in names:
        _import(name)


def find_objective(text: str) -> Any:
    """Return the class of a loss, by its name or by ``FILE.py:Class``."""
    if ":" in text:
        return _find_class(text, gbrank.Objective)
    if text not in gbrank.list_objectives():
        raise UsageError(
            f"unknown objective {text!r}; known are {', '.join(gbrank.list_objectives())}; "
            "FILE.py:Class takes one of your own"
        )
    return type(gbrank.get_objective(text))


def find_metric(text: str, **options: Any) -> Any:
    """Return a metric by name or by class, with a cut-off or without: ``FILE.py:Class@5``."""
    try:
        if ":" not in text:
            return gbrank.metrics.get_metric(text, **options)
        place, at, cutoff = text.partition("@")
        if at:
            options["k"] = int(cutoff) if cutoff.isdecimal() else float(cutoff)
        return _find_class(place, gbrank.metrics.Metric)(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


def _find_class(text: str, base: type) -> Any:
    place, _, name = text.rpartition(":")
    cls = getattr(_import(place), name, None)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise UsageError(f"{place} has no class {name!r} derived from gbrank's {base.__name__}")
    return cls


def _import(name: str) -> ModuleType:
    try:
        return _import_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except OSError:
        raise
    except Exception as error:  # whatever the code of a user may raise
        raise ValueError(
            f"{name} cannot be imported: {type(error).__name__}: {error} (--debug shows where)"
        ) from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    key = str(path.resolve())  # once a process, and no module of another file by accident
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, path)
        assert spec is not None  # the name ends in .py
        assert spec.loader is not None
        module = sys.modules[key] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[key]
            raise
    return sys.modules[key]
