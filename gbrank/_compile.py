"""The one way in which gbrank compiles a kernel.

Every kernel releases the GIL, so that plain threads can run it side by side, and is kept in
numba's disk cache, so that only the first call ever on a machine pays for compilation. Where no
cache folder can be written (a read-only install without a home folder) the kernel is compiled in
memory instead.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

#: For loops over documents: sums may be reordered, which is what lets them vectorise. NaN has been
#: refused before any kernel runs, but infinities may still arise from differences of huge scores,
#: so ``ninf`` is left out.
LOOP_MATH = frozenset({"reassoc", "contract", "nsz", "nnan"})

#: For elementary functions, whose error bounds rest on the order of operations.
EXACT_MATH = frozenset({"contract"})


def kernel(fastmath: frozenset[str] = LOOP_MATH) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function lazily, without the GIL, through the disk cache where there is one."""

    def compile_lazily(function: Callable[..., Any]) -> Any:
        options = {"nogil": True, "fastmath": set(fastmath), "error_model": "numpy"}
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder that it may write its cache to
            return njit(**options)(function)

    return compile_lazily
