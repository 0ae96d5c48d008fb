"""Losses and metrics of one's own on the command line: ``--import FILE.py``, ``FILE.py:Class``.

A file or module that ``--import`` names is run, so that what it registers is known by name. Where a
loss or a metric is named, ``FILE.py:Class`` or ``module:Class`` takes a class as it is. Only what
stands on the command line is imported, never what a data or model file names.
"""

from collections.abc import Iterable
from typing import Any

import gbrank
from gbrank.cli.options import UsageError


def import_all(names: Iterable[str]) -> None:
    """Run the files and modules that ``--import`` names."""
    if names:
        from gbrank.core import import_code

        for name in names:
            import_code(name)


def find_objective(text: str) -> Any:
    """Return the class of a loss, by its name or by ``FILE.py:Class``."""
    if ":" not in text and text not in gbrank.list_objectives():
        from gbrank.core import did_you_mean

        known = gbrank.list_objectives()
        raise UsageError(
            f"unknown objective {text!r}{did_you_mean(text, known)}; known are {', '.join(known)}; "
            "FILE.py:Class takes one of your own"
        )
    return gbrank.objectives.find_objective(text)


def find_metric(text: str, **options: Any) -> Any:
    """Return a metric by name or by class, with a cut-off or without: ``FILE.py:Class@5``."""
    try:
        return gbrank.metrics.find_metric(text, **options)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
