"""Code of one's own, by where it is: ``FILE.py:Class`` or ``module:Class``.

Only what a user names is imported, on a command line, as an argument or in a preset of their own;
never what a data file, a model file or a folder of results says.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def find_class(text: str, base: type) -> Any:
    """Return the class that ``FILE.py:Class`` or ``module:Class`` names.

    Parameters
    ----------
    text : the place.
    base : what it must be derived from.

    Examples
    --------
    >>> from gbrank.core import find_class
    >>> find_class("collections:OrderedDict", dict).__name__
    'OrderedDict'
    """
    place, _, name = text.rpartition(":")
    cls = getattr(import_code(place), name, None)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise ValueError(f"{place} has no class {name!r} derived from gbrank's {base.__name__}")
    return cls


def import_code(name: str) -> ModuleType:
    """Import a module by name, or run a file whose name ends in ``.py``, once a process."""
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
