"""Arrays that a training hands out, and takes again for its next step if nobody kept them.

Fresh arrays of tens of megabytes cost page faults at every step, as much as a cheap loss itself.
LightGBM copies what it needs and lets go. A caller who keeps an array, a view of it or a buffer on
it holds a reference to it, and then it is left to him.
"""

import sys

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float32]


def _counts_tell() -> bool:
    """Whether reference counts are exact: in CPython, unless its threads run without a lock."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and bool(has_lock())


def _held_by_list_alone(arrays: list[_Array]) -> bool:
    # How many references a loop itself adds depends on the interpreter: a new array shows it.
    *counts, alone = [sys.getrefcount(array) for array in [*arrays, _empty(1)]]
    return max(counts) - 1 <= alone  # theirs are in two lists, that of the new one is in one


def _empty(size: int) -> _Array:
    return np.empty(size, dtype=np.float32)


class ReusedArrays:
    """Gradient and hessian of a training: the arrays of the step before, or fresh ones."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[list[_Array]] = []

    def take(self, size: int) -> tuple[_Array, _Array]:
        """Return two arrays of ``size`` that nobody else holds, with whatever is in them."""
        try:
            arrays = self._kept.pop()  # atomic: no two threads get the same
        except IndexError:
            arrays = []
        usable = all(array.shape == (size,) and array.flags.writeable for array in arrays)
        if not (arrays and usable and _counts_tell() and _held_by_list_alone(arrays)):
            arrays = [_empty(size), _empty(size)]
        return arrays[0], arrays[1]

    def keep(self, grad: _Array, hess: _Array) -> None:
        """Remember arrays that are about to be handed out."""
        self._kept[:] = [[grad, hess]]
