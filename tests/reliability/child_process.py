"""Python in processes of its own, where a test may limit, interrupt or kill."""

import os
import subprocess
import sys
from pathlib import Path

import gbrank

#: The folder that the package under test is imported from.
ROOT = Path(gbrank.__file__).parent.parent

#: A hang is what these tests look for; nothing in them takes a tenth of this.
TIMEOUT = 240


def environment(**changes):
    """Return the environment of this process, changed; ``None`` takes a variable away."""
    merged = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
    return {name: value for name, value in merged.items() if value is not None}


def run_python(*arguments, code=None, check=True, **changes):
    """Run a script, or ``code``, to its end; return the finished process."""
    command = [
        sys.executable,
        "-P",
        *(["-c", code] if code is not None else []),
        *map(str, arguments),
    ]
    done = subprocess.run(
        command,
        env=environment(**changes),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    assert done.returncode >= 0, f"killed by signal {-done.returncode}\n{done.stderr}"
    if check:
        assert done.returncode == 0, done.stderr
    return done
