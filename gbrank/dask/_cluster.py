"""A Dask client for the time of one fit: it leaves nothing behind, and does not wait for the dead.

What a fit computes on the workers would stay there as long as anything refers to it, and a
traceback does. So all of it is released at the end, however the fit ends.

While LightGBM trains, its workers talk to each other directly. When one dies the others read from a
closed connection for ever, inside C++, and Dask waits for all of them. So gathering results here
keeps an eye on the workers: if one is lost, or fails, the others get a moment to end by themselves
and are then restarted, and the user hears what happened.
"""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, Self

from distributed import futures_of, wait

#: Seconds between two looks at the workers, those that survivors get to end by themselves, and
#: those that they get to be gone once they are told to.
_INTERVAL = 0.5
_GRACE = 2.0
_PATIENCE = 60.0


class FitClient:
    """A ``distributed.Client`` as LightGBM asks for one; a context that releases what it computed.

    Parameters
    ----------
    client : distributed.Client
        What does the work.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._futures: list[Any] = []
        self._worker_of: dict[Any, str] = {}
        self._n_workers = len(client.nthreads())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._client, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._futures:
            future.release()
        self._futures.clear()

    def persist(self, tasks: list[Any]) -> list[Any]:
        """Compute delayed tasks, and leave the results on the workers.

        Parameters
        ----------
        tasks : delayed objects.
        """
        persisted: list[Any] = self._client.persist(tasks)
        self._futures += futures_of(persisted)
        return persisted

    def release(self, persisted: list[Any]) -> None:
        """Give results back that nothing needs but what is being computed.

        Parameters
        ----------
        persisted : what :meth:`persist` returned.
        """
        for future in futures_of(persisted):
            future.release()

    def compute(self, tasks: Any, **kwargs: Any) -> Any:
        """Start to compute delayed tasks.

        Parameters
        ----------
        tasks : delayed objects.
        **kwargs : as of the client.
        """
        futures = self._client.compute(tasks, **kwargs)
        self._futures += futures_of(futures)
        return futures

    def results(self, tasks: list[Any]) -> list[Any]:
        """Return the results of delayed tasks, or the first error.

        Parameters
        ----------
        tasks : delayed objects.
        """
        found: list[Any] = self.gather(self.compute(tasks))
        return found

    def who_has(self, futures: Any, **kwargs: Any) -> dict[Any, Any]:
        """Return where the futures are, in their order: so rows are trained on in their order.

        Parameters
        ----------
        futures : what to look for.
        **kwargs : as of the client.
        """
        found = dict(self._client.who_has(futures, **kwargs))
        return {future.key: found[future.key] for future in futures if future.key in found}

    def submit(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Submit a task, and remember the worker that it must run on.

        Parameters
        ----------
        function, *args, **kwargs : as of the client.
        """
        future = self._client.submit(function, *args, **kwargs)
        self._futures.append(future)
        workers = kwargs.get("workers")
        if workers:
            self._worker_of[future.key] = workers[0]
        return future

    def gather(self, futures: Any, **kwargs: Any) -> Any:
        """Return results as the client does, or an error as soon as they cannot come any more.

        Parameters
        ----------
        futures : a list or a dict.
        **kwargs : as of the client.
        """
        waiting = list(futures.values()) if isinstance(futures, dict) else list(futures)
        is_done = False
        try:
            is_done = self._wait(waiting)
        finally:
            if not is_done:  # a worker was lost, a task failed, or the user pressed Ctrl-C
                lost, stuck = self._end(waiting)
        if not is_done and lost:
            raise RuntimeError(_describe_loss(lost, stuck, self._n_workers))
        return self._client.gather(futures, **kwargs)

    def _wait(self, futures: list[Any]) -> bool:
        """Wait until all is done; return whether all went well."""
        while True:
            pending = [future for future in futures if not future.done()]
            if any(future.status in ("error", "cancelled", "lost") for future in futures):
                return False
            if not pending:
                return True
            if self._lost():
                return False
            with contextlib.suppress(TimeoutError):
                wait(pending, timeout=_INTERVAL, return_when="FIRST_COMPLETED")

    def _lost(self) -> list[str]:
        alive = self._client.nthreads()
        return sorted({worker for worker in self._worker_of.values() if worker not in alive})

    def _end(self, futures: list[Any]) -> tuple[list[str], list[str]]:
        """End all tasks; return the workers that were lost, and those that could not be freed."""
        _wait_until(lambda: all(future.done() for future in futures), _GRACE)
        pending = [future for future in futures if not future.done()]
        lost = self._lost()
        busy = {self._worker_of[f.key] for f in pending if f.key in self._worker_of} - set(lost)
        if pending:
            self._client.cancel(pending, force=True)
        return lost, self._restart(sorted(busy))

    def _restart(self, workers: list[str]) -> list[str]:
        """Restart workers whose thread LightGBM does not give back; return those that stay so.

        A worker ends its own process, and its nanny starts another. Asking the nanny to restart it
        takes longer and, with a thread that never ends, does not always come to an end itself.
        Until it is gone it counts as a worker, and the next fit would hand it rows: so wait.
        """
        nannies = self._client.run_on_scheduler(_nannies) if workers else {}
        ending = {worker for worker in workers if nannies.get(worker)}
        if ending:
            self._client.run(_end_process, workers=list(ending), wait=False, on_error="ignore")
            _wait_until(lambda: ending.isdisjoint(self._client.nthreads()), _PATIENCE)
        return [worker for worker in workers if worker in nannies and not nannies[worker]]


def _wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not is_so():
        time.sleep(_INTERVAL / 5)


async def _end_process() -> None:
    os._exit(1)


def _nannies(dask_scheduler: Any) -> dict[str, bool]:
    """Return, for each worker, whether somebody can restart it."""
    return {address: bool(state.nanny) for address, state in dask_scheduler.workers.items()}


def _describe_loss(lost: list[str], stuck: list[str], n_workers: int) -> str:
    workers = f"worker {lost[0]}" if len(lost) == 1 else f"workers {', '.join(lost)}"
    text = (
        f"{workers} died during training, and LightGBM cannot go on without: nothing was trained. "
        "Workers that LightGBM does not give back are being restarted; call fit again when the "
        f"cluster is complete: client.wait_for_workers({n_workers}) waits for that. Workers mostly "
        "die for lack of memory: see their logs"
    )
    if stuck:
        text += (
            f". These could not be restarted (they have no nanny) and stay busy: {', '.join(stuck)}"
        )
    return text
