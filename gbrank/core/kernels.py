"""The one way in which gbrank compiles a kernel.

Every kernel releases the GIL, so that plain threads can run it side by side, and is kept in
numba's disk cache, so that only the first call ever on a machine pays for compilation. Where no
cache folder can be written (a read-only install without a home folder) the kernel is compiled in
memory instead.
"""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

#: For loops over documents: sums may be reordered, which is what lets them vectorise. NaN has been
#: refused before any kernel runs, but infinities may still arise from differences of huge scores,
#: so ``ninf`` is left out.
LOOP_MATH = frozenset({"reassoc", "contract", "nsz", "nnan"})

#: For elementary functions, whose error bounds rest on the order of operations.
EXACT_MATH = frozenset({"contract"})


def _hash_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _hash_sources()


class _KernelCache(FunctionCache):
    """numba's disk cache, but for kernels that call kernels of other files.

    numba looks for changes in the file of the kernel alone, by content. An upgrade of gbrank that
    changes ``fastmath.py`` would leave every kernel in use that has the old functions inlined. And
    a disk that is full, or files of another user, are no reason to stop: there is then no cache.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _SOURCES)

    def load_overload(self, *signature: Any) -> Any:
        with contextlib.suppress(OSError):
            return super().load_overload(*signature)
        return None

    def save_overload(self, *compiled: Any) -> None:
        with contextlib.suppress(OSError):
            super().save_overload(*compiled)


def kernel(
    fastmath: frozenset[str] = LOOP_MATH, *, part: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function lazily, without the GIL, through the disk cache where there is one.

    ``part`` says that it is but a part of other kernels, into which it is then copied. Left as a
    function of its own it may exist twice, compiled alone and with its caller, and which of them
    runs depends on whether the caller came from the disk: the last bits would depend on it too.
    """

    def compile_lazily(function: Callable[..., Any]) -> Any:
        dispatcher = njit(
            nogil=True, fastmath=set(fastmath), error_model="numpy", forceinline=part
        )(function)
        # RuntimeError: numba found no folder that it may write to. AttributeError: a numba whose
        # cache is built differently. There is then no cache, which costs time and nothing else.
        with contextlib.suppress(RuntimeError, AttributeError):
            dispatcher._cache = _KernelCache(function)
        return dispatcher

    return compile_lazily
