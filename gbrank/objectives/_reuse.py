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


def _empty(size: int) -> _Array:
    return np.empty(size, dtype=np.float32)


def _count_references() -> int:
    array = _empty(1)
    return sys.getrefcount(array)


#: What the interpreter counts of an array that one variable of a function holds.
_ALONE = _count_references()


class ReusedArrays:
    """Gradient and hessian of a training: the arrays of the step before, or fresh ones."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[tuple[_Array, _Array]] = []

    def take(self, size: int) -> tuple[_Array, _Array]:
        """Return two arrays of ``size`` that nobody else holds, with whatever is in them."""
        try:
            grad, hess = self._kept.pop()  # atomic: no two threads get the same
        except IndexError:
            return _empty(size), _empty(size)
        alone = sys.getrefcount(grad) <= _ALONE and sys.getrefcount(hess) <= _ALONE
        fits = grad.shape == hess.shape == (size,)
        writeable = grad.flags.writeable and hess.flags.writeable
        if alone and fits and writeable and _counts_tell():
            return grad, hess
        return _empty(size), _empty(size)

    def keep(self, grad: _Array, hess: _Array) -> None:
        """Remember arrays that are about to be handed out."""
        self._kept[:] = [(grad, hess)]
