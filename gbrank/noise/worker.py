"""A process that runs trials: it reads them from a pipe, and ends when the other end is gone."""

import os
import signal
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any

#: One thread for everything that is linked in, so that all sums have one order.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}


def work(pipe: Connection, preset: Any, data: Any) -> None:
    """Run the trials that come through the pipe; ``None`` is the last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    os.environ |= ONE_THREAD  # set by the parent as well, before any import
    from gbrank.noise.sources import open_source
    from gbrank.noise.trial import run_trial

    source = open_source(data, preset.synthetic, preset.split)
    try:
        while (trial := pipe.recv()) is not None:
            started = time.process_time()
            answer: Any
            try:
                answer = run_trial(preset, source, trial)
            except Exception:  # the parent reports it and goes on with the others
                answer = traceback.format_exc()
            pipe.send((answer, time.process_time() - started))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone, and what it kept is kept
