"""The threads of LightGBM's OpenMP runtime, borrowed for work between two pieces of its own.

After its work a thread of OpenMP goes on spinning on its core, for longer than a step of ours
takes: threads of our own come late, or get half a core. Those that spin are there at once, when the
runtime itself hands them something to do. Only inside a training, where LightGBM has made these
threads already: a fork ends them, and LightGBM in the child would wait for them for ever.

Each thread begins with the rows that LightGBM's own loops give it. What a core used last lies in
its cache, and where two cores have none in common it takes as long as xendcg itself to write there
from the other one.
"""

import ctypes
import functools
import itertools
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

#: Runs a function on so many threads at once, the calling one among them, and waits for all. The
#: function gets the number that a thread has in LightGBM's loops, too.
Team = Callable[[Callable[[int], None], int], None]

_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# void GOMP_parallel(void (*body)(void *), void *data, unsigned n_threads, unsigned flags), which
# GCC's runtime and LLVM's on Linux both have. It is called without the GIL, the body with it.
_PARALLEL = ctypes.CFUNCTYPE(None, _BODY, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
_THREAD_NUMBER = ctypes.PYFUNCTYPE(ctypes.c_int)

_forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def lightgbm_team() -> Team | None:
    """Return what runs a function on LightGBM's threads; ``None`` where that cannot be done.

    The runtime is looked for through LightGBM's library, as a process may have several. There is
    none in a forked child, without LightGBM, or with an OpenMP that has no such function.
    """
    library = getattr(sys.modules.get("lightgbm.basic"), "_LIB", None)
    if _forked or not isinstance(library, ctypes.CDLL):
        return None
    return _team_of(library)


#: What is running, by number: one callback for all spares making one at each step.
_running: dict[int, Callable[[], None]] = {}
_numbers = itertools.count(1)


@_BODY
def _enter(number: int) -> None:
    _running[number]()


@functools.lru_cache(maxsize=4)
def _team_of(library: ctypes.CDLL) -> Team | None:
    try:
        parallel: Any = _PARALLEL(("GOMP_parallel", library))  # type: ignore[arg-type]
        thread_number: Any = _THREAD_NUMBER(("omp_get_thread_num", library))  # type: ignore[arg-type]
    except AttributeError:
        return None

    def run(function: Callable[[int], None], n_threads: int) -> None:
        number = next(_numbers)
        _running[number] = lambda: function(thread_number())
        try:
            parallel(_enter, number, n_threads, 0)
        finally:
            del _running[number]

    return run


def share_on_team(
    work: Callable[[int, int], object], n_pieces: int, n_threads: int, team: Team
) -> None:
    """Do what :func:`gbrank.core.threads.share_pieces` does on the threads of a team."""
    own = [
        deque(range(n_pieces * each // n_threads, n_pieces * (each + 1) // n_threads))
        for each in range(n_threads)
    ]
    errors: list[BaseException] = []

    def member(thread: int) -> None:
        try:
            drain(thread)
        except BaseException as error:  # nothing may be raised through the runtime
            for waiting in own:
                waiting.clear()
            errors.append(error)

    def drain(thread: int) -> None:
        for owner in (thread, *range(thread), *range(thread + 1, n_threads)):
            waiting = own[owner]
            # of another's, those that he comes to last
            take = waiting.popleft if owner == thread else waiting.pop
            while True:
                try:
                    piece = take()  # atomic: no two threads get one piece
                except IndexError:
                    break
                work(thread, piece)

    team(member, n_threads)
    drain(0)  # nothing is left, unless the runtime gave no thread
    if errors:
        raise errors[0]
