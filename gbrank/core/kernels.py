"""The one way in which gbrank compiles a kernel.

A kernel is compiled when it is first called, and numba itself is imported only then: half a second
that whoever scores with a saved model, or asks for help, does not wait for. Every kernel releases
the GIL, so that plain threads can run it side by side, and is kept in numba's disk cache, so that
only the first call ever on a machine pays for compilation.
"""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: For loops over documents: sums may be reordered, which is what lets them vectorise. NaN has been
#: refused before any kernel runs, but infinities may still arise from differences of huge scores,
#: so ``ninf`` is left out.
LOOP_MATH = frozenset({"reassoc", "contract", "nsz", "nnan"})

#: For elementary functions, whose error bounds rest on the order of operations.
EXACT_MATH = frozenset({"contract"})


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Let Python's garbage collector rest: numba makes millions of objects, most of which stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Kernel:
    """A function that numba compiles when it is first called; inside kernels, it is inlined there.

    Attributes
    ----------
    py_func : the function as it is written.
    dispatcher : numba's object for it, made when first asked for.
    inner : numba's object for its calls from other kernels, likewise.
    """

    def __init__(
        self, function: Callable[..., Any], options: dict[str, Any], wide: bool = True
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options, self._wide = options, wide

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where it finds a kernel among the globals of a function."""
        from numba import types

        return types.Dispatcher(self.inner)

    def __getattr__(self, name: str) -> Any:
        # reached only where the instance has no such attribute
        if name not in ("dispatcher", "inner"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        with no_collection():
            from gbrank.core._numba import make_dispatcher, make_inner

        make = make_dispatcher if name == "dispatcher" else make_inner
        # two threads may get here; the first dispatcher stays
        return self.__dict__.setdefault(name, make(self.py_func, self._options, self._wide))


class _Part(Kernel):
    """A kernel that is but a part of others: numba makes nothing of it that Python could call."""

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.__qualname__} is a part of kernels: call its py_func from Python")


def kernel_cache() -> Path:
    """Return the folder on disk in which compiled kernels are kept."""
    from gbrank.core._numba import cache_folder

    return cache_folder()


def kernel(
    fastmath: frozenset[str] = LOOP_MATH, *, part: bool = False, wide: bool = True
) -> Callable[[Callable[..., Any]], Kernel]:
    """Compile a function lazily, without the GIL, through the disk cache where there is one.

    Parameters
    ----------
    fastmath : frozenset of str
        What LLVM may do to floating-point operations: :data:`LOOP_MATH` or :data:`EXACT_MATH`.
    part : bool
        Whether it is but a part of other kernels, into which it is then copied wherever they call
        it.
    wide : bool
        Whether vector registers of 512 bits are used in full, where there are any: not where loops
        are short or do little else than move numbers.
    """
    options = {
        "nogil": True,
        "fastmath": set(fastmath),
        "error_model": "numpy",
        "forceinline": part,
        "no_cfunc_wrapper": True,
    }
    made = _Part if part else Kernel
    return lambda function: made(function, options, wide)
