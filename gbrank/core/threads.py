"""Runs a kernel over blocks of queries on plain threads: the one runner.

numba's own threads (``parallel=True``) abort after ``fork`` and when two Python threads enter at
once, so a kernel here is ordinary single-threaded code over a range of queries that releases the
GIL. A step starts its threads and joins them: nothing outlives a call, so nothing can be lost in a
fork. Inside a training of LightGBM its own threads do the work instead, where they can be had.
"""

import _thread
import os
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core.team import lightgbm_team, share_on_team

#: Below this many units of cost (about one document of a cheap loss each) a second thread costs
#: more to start than it saves.
MIN_BLOCK_COST = 16_384
_MOST_THREADS = 1024


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` stands for.

    ``None`` means ``OMP_NUM_THREADS`` where that is set, as for LightGBM, else every CPU that this
    process may use; -1 means every CPU, -2 all but one. More than 1024 threads, or than there are
    CPUs, are an error: where the system has no more threads, LightGBM's end the process.

    >>> from gbrank.core.threads import resolve_n_jobs
    >>> resolve_n_jobs(3)
    3
    """
    if n_jobs is None:
        wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        if not wanted.isdecimal() or int(wanted) == 0:
            return _usable_cpus()
        return _check_n_threads("OMP_NUM_THREADS", int(wanted))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    if n_jobs < 0:
        return max(1, _usable_cpus() + 1 + int(n_jobs))
    return _check_n_threads("n_jobs", int(n_jobs))


def _check_n_threads(name: str, n_threads: int) -> int:
    most = max(_MOST_THREADS, _usable_cpus())
    if n_threads > most:
        raise ValueError(
            f"{name} must be at most {most} threads, got {n_threads}: this process may use "
            f"{_usable_cpus()} CPUs"
        )
    return n_threads


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cut_queries(cost: NDArray[np.int64], n_blocks: int) -> NDArray[np.int64]:
    """Cut the queries into at most ``n_blocks`` runs of nearly equal total cost.

    Returns the first query of each block and, last, the number of queries.

    >>> import numpy as np
    >>> from gbrank.core.threads import cut_queries
    >>> cut_queries(np.array([40_000, 10_000, 10_000, 20_000]), 2)
    array([0, 1, 4])
    """
    n_queries = len(cost)
    if n_queries == 0:
        return np.zeros(1, dtype=np.int64)
    if n_blocks <= 1:
        return np.array([0, n_queries], dtype=np.int64)
    total = np.cumsum(cost, dtype=np.float64)
    n_blocks = int(max(1, min(n_blocks, n_queries, total[-1] // MIN_BLOCK_COST)))
    inner = np.searchsorted(total, total[-1] * np.arange(1, n_blocks) / n_blocks) + 1
    return np.unique(np.concatenate(([0], inner, [n_queries]))).astype(np.int64)


def share_pieces(
    work: Callable[[int, int], object], n_pieces: int, n_threads: int, *, in_lightgbm: bool = False
) -> None:
    """Call ``work(thread, piece)`` for every piece; whichever thread is free takes the next one.

    LightGBM's threads go on spinning for a while after their work, so a thread of ours may come
    late, or get half a core. ``threading.Thread.start`` would wait until it comes; here the calling
    thread goes on, and waits at the end only for threads that have begun a piece: one that comes
    later finds nothing to do. Errors are raised here, after every piece that was begun has ended.

    ``in_lightgbm`` says that LightGBM is calling, and uses as many threads itself: they are taken.
    """
    n_threads = min(n_threads, n_pieces)
    team = lightgbm_team() if in_lightgbm and n_threads > 1 else None
    if team is not None:
        share_on_team(work, n_pieces, n_threads, team)
        return
    if n_threads <= 1:  # as often as after every tree: without what several threads need
        for piece in range(n_pieces):
            work(0, piece)
        return
    waiting = deque(range(n_pieces))
    begun: list[Any] = []
    errors: list[BaseException] = []

    def drain(thread: int) -> None:
        while True:
            try:
                piece = waiting.popleft()  # atomic: no two threads get one piece
            except IndexError:
                return
            work(thread, piece)

    def helper(thread: int, ended: Any) -> None:
        begun.append(ended)  # before the first piece, so that nobody overlooks it
        try:
            drain(thread)
        except BaseException as error:  # handed to the caller below
            waiting.clear()
            errors.append(error)
        finally:
            ended.release()

    try:
        for thread in range(1, n_threads):
            ended = _thread.allocate_lock()
            ended.acquire()
            try:
                _thread.start_new_thread(helper, (thread, ended))
            except RuntimeError:  # the system gives no more threads: the others take the work
                break
        drain(0)
    except BaseException as error:
        waiting.clear()
        errors.insert(0, error)
    for ended in begun:
        while True:
            try:
                ended.acquire()
                break
            except KeyboardInterrupt as interrupt:  # nothing may write into our arrays afterwards
                errors.insert(0, interrupt)
    if errors:
        raise errors[0]
