"""Where a number comes from: versions, machine and command, for every results file."""

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import lightgbm
import numpy
import sklearn

from gbrank import __version__


def provenance() -> dict[str, str]:
    """Return what a reader needs to judge or repeat a measurement."""
    return {
        "command": command_line(sys.argv),
        "gbrank": __version__,
        "lightgbm": lightgbm.__version__,
        "numba": version("numba"),
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        "cpu": _cpu_name(),
        "cpus": str(os.cpu_count()),
        "vector units": ", ".join(sorted(_vector_flags())) or "unknown",
    }


def command_line(arguments: Sequence[str]) -> str:
    """Return a command as it can be shown to others: without the folders of one machine.

    Parameters
    ----------
    arguments : ``sys.argv``.

    Examples
    --------
    >>> from gbrank.noise.provenance import command_line
    >>> command_line(["/home/me/gbrank/__main__.py", "noise", "run", "demo", "--out", "/home/me/x"])
    'python -m gbrank noise run demo --out x'
    >>> command_line(["benchmarks/quality.py", "--noise", "0.6"])
    'python benchmarks/quality.py --noise 0.6'
    """
    program, *others = arguments
    path = Path(program)
    module = f"-m {path.parent.name}" if path.name == "__main__.py" else None
    shown = [Path(each).name if Path(each).is_absolute() else each for each in [program, *others]]
    return " ".join(["python", module or shown[0], *shown[1:]])


def _cpu_lines(key: str) -> list[str]:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return []
    return [line.split(":", 1)[1].strip() for line in path.read_text().splitlines() if key in line]


def _cpu_name() -> str:
    names = _cpu_lines("model name")
    return names[0] if names else platform.processor() or "unknown"


def _vector_flags() -> set[str]:
    flags = set(" ".join(_cpu_lines("flags")[:1]).split())
    return flags & {"avx", "avx2", "avx512f", "fma", "sse4_1"}
