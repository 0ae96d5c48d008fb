"""The object that called us: what a callable is not told, its callers know."""

import sys
from typing import Any

# How many calls up it is looked for: wrappers of the libraries add up to four of their own,
# and ours three.
_CALLS = 12


def find_caller(module: str, attribute: str) -> Any:
    """Return the nearest object of a library that is calling, directly or not; ``None`` if none is.

    Parameters
    ----------
    module : of the library, whose methods alone are looked at: looking at the locals of others
        would keep their arrays alive.
    attribute : what the object must have.
    """
    frame = sys._getframe(1)
    for _ in range(_CALLS):
        if frame.f_back is None:
            return None
        frame = frame.f_back
        if frame.f_globals.get("__name__") != module:
            continue
        caller = frame.f_locals.get("self")
        if hasattr(caller, attribute):
            return caller
    return None
