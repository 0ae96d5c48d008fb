"""Fits and predictions inside an event loop, and in another interpreter of the same process."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from child_process import ROOT, run_python
from small_fits import fingerprint, fit, small_data

#: A fit in the main interpreter, the package in a second one, and the same fit again.
SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
from small_fits import fingerprint
before = fingerprint(0)
made = interpreters.create()
try:
    interpreters.run_string(made, "import gbrank; gbrank.Ranker")
except Exception as error:
    print(error)
assert fingerprint(0) == before
print("as before")
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


def test_an_import_in_a_subinterpreter_leaves_the_main_one_alone():
    """They are not supported, by NumPy neither: an ImportError there, and no other model here."""
    done = run_python(code=SUBINTERPRETER, PYTHONPATH=f"{ROOT}:{Path(__file__).parent}")
    assert done.stdout.endswith("as before\n")
