"""Fits and predictions inside an event loop, and in another interpreter of the same process."""

import asyncio
import subprocess
import sys

import numpy as np
import pytest
from child_process import environment
from small_fits import fingerprint, fit, small_data

SUBINTERPRETER = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
made = interpreters.create()
interpreters.run_string(made, "import gbrank; gbrank.Ranker")
print("imported")
"""


def test_fits_and_predictions_at_once_in_an_event_loop():
    ranker, rows = fit(0), small_data(0).X
    expected, scores = [fingerprint(seed) for seed in range(2)], ranker.predict(rows)

    async def work():
        fits = [asyncio.to_thread(fingerprint, number % 2) for number in range(8)]
        predictions = [asyncio.to_thread(ranker.predict, rows) for _ in range(8)]
        return await asyncio.gather(*fits, *predictions)

    found = asyncio.run(work())
    assert found[:8] == expected * 4
    for each in found[8:]:
        np.testing.assert_array_equal(each, scores)


def test_a_task_that_is_cancelled_leaves_the_model_alone():
    """A thread cannot be ended from outside: its fit goes on, of an object of its own."""
    ranker, data = fit(0), small_data(0)
    expected = ranker.predict(data.X)

    async def work():
        task = asyncio.create_task(asyncio.to_thread(fit, 1))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.to_thread(ranker.predict, data.X)

    np.testing.assert_array_equal(asyncio.run(work()), expected)


@pytest.mark.slow
def test_subinterpreters_are_not_supported_and_hurt_nobody_else():
    """NumPy does not support them: whatever happens there, it is in a process of its own here."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", SUBINTERPRETER],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        pytest.xfail("an import of gbrank in a subinterpreter does not end")
    assert "imported" in out or err
