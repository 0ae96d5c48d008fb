"""What commands print: a table for people, JSON for scripts."""

import argparse
import json
import math
import sys
from collections.abc import Mapping
from typing import Any


def show(arguments: argparse.Namespace, result: Any, text: str) -> None:
    """Print a result, as JSON if that was asked for, else as the text."""
    print(json.dumps(_plain(result)) if arguments.json else text)


def note(text: str) -> None:
    """Print something that is not a result; scripts do not see it."""
    print(text, file=sys.stderr, flush=True)


def two_columns(facts: Mapping[str, Any]) -> str:
    """Return names and values below each other.

    >>> from gbrank.cli.output import two_columns
    >>> print(two_columns({"trees": 10, "model": "m.txt"}))
    trees  10
    model  m.txt
    """
    width = max(map(len, facts))
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in facts.items())


def _plain(value: Any) -> Any:
    """Return what JSON can hold: numbers of NumPy become plain, NaN and infinities null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
