"""What the Ranker does after each tree: stop early, show progress, keep what Ctrl-C would lose.

LightGBM calls a callback with a description of the moment: the booster, the number of the tree, and
the metrics as tuples that begin with (set, metric, value, whether greater is better). It looks for
``order`` in the instance only, not in the class.
"""

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, Self

import lightgbm as lgb
from lightgbm.callback import EarlyStopException


class CheckedMetric:
    """A metric function of a user's own, with an error that says what LightGBM needs of it.

    Parameters
    ----------
    function : called as ``function(scores, dataset)``.
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, scores: Any, dataset: Any) -> Any:
        """Return what the function does, one tuple or a list of some."""
        expected = (
            f"eval_metric: {self.function!r} is called as (scores, lightgbm.Dataset), and must "
            "return (name, value, is_higher_better), or a list of such tuples"
        )
        if not callable(self.function):
            raise TypeError(f"{expected}; it cannot be called")
        try:
            result = self.function(scores, dataset)
        except TypeError as error:
            raise TypeError(f"{expected}; it failed: {error}") from error
        for each in result if isinstance(result, list) else [result]:
            if not (isinstance(each, tuple) and len(each) == 3 and isinstance(each[0], str)):
                raise TypeError(f"{expected}; it returned {result!r}")
        return result


class StopEarly:
    """Ends training when one metric, the first on the first set, has not improved for long.

    LightGBM's own callback watches the first metric on every evaluation set; here exactly one
    number decides.

    Attributes
    ----------
    best_iteration : number of trees at the best value so far, 0 before the first tree.
    """

    def __init__(self, rounds: int) -> None:
        self.order, self.before_iteration = 30, False
        self.rounds = rounds
        self.best_iteration = 0
        self._best_value = -float("inf")
        self._best_results: list[Any] = []

    def __call__(self, env: Any) -> None:
        value, greater_is_better = env.evaluation_result_list[0][2:4]
        value = value if greater_is_better else -value
        if value > self._best_value or self.best_iteration == 0:
            self._best_value, self.best_iteration = value, env.iteration + 1
            self._best_results = env.evaluation_result_list
        patience_is_over = env.iteration + 1 - self.best_iteration >= self.rounds
        if patience_is_over or env.iteration + 1 == env.end_iteration:
            raise EarlyStopException(self.best_iteration - 1, self._best_results)


class InterruptAfterTree:
    """Lets Ctrl-C wait for the end of the tree; a second one does not.

    LightGBM calls back into Python for every line that it logs, and an exception raised in there,
    by whatever handles the signal, is printed and forgotten.
    """

    def __init__(self) -> None:
        self.order, self.before_iteration = 40, False
        self._waiting = False

    def __enter__(self) -> Self:
        self._handler: Any = None
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.getsignal(signal.SIGINT)
            if callable(self._handler):
                signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._waiting:
            self._handler(number, frame)
        self._waiting = True

    def __call__(self, env: Any) -> None:
        if self._waiting:
            self._waiting = False
            self._handler(signal.SIGINT, None)

    def __exit__(self, *_: object) -> None:
        if callable(self._handler):
            signal.signal(signal.SIGINT, self._handler)
            if self._waiting:  # it came after the last tree
                self._handler(signal.SIGINT, None)


class KeepBooster:
    """Holds on to the booster in training, which ``lgb.train`` would lose with an exception."""

    def __init__(self) -> None:
        self.order, self.before_iteration = 0, True
        self.booster: lgb.Booster | None = None
        self.first_iteration = 0

    def __call__(self, env: Any) -> None:
        if self.booster is None:
            self.booster, self.first_iteration = env.model, env.begin_iteration

    @property
    def new_trees(self) -> int:
        """How many trees this training has added so far."""
        if self.booster is None:
            return 0
        return int(self.booster.current_iteration()) - self.first_iteration


class ShowProgress:
    """A line with trees done, the first metric and the time left; tqdm's bar if installed."""

    def __init__(self, n_trees: int) -> None:
        self.order, self.before_iteration = 20, False
        self.n_trees = n_trees
        self._bar = _make_bar(n_trees)

    def __call__(self, env: Any) -> None:
        metric = ""
        if env.evaluation_result_list:
            name, value = env.evaluation_result_list[0][1:3]
            metric = f"{name} {value:.4f}"
        self._bar.advance(env.iteration + 1 - env.begin_iteration, metric)

    def close(self) -> None:
        """Leave the line as it is."""
        self._bar.close()


def _make_bar(n_trees: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _PlainLines(n_trees)
    return _TqdmBar(tqdm(total=n_trees, desc="trees", unit="tree"))


class _TqdmBar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def advance(self, done: int, metric: str) -> None:
        if metric:
            self._bar.set_postfix_str(metric, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _PlainLines:
    """About ten lines in all."""

    def __init__(self, n_trees: int) -> None:
        self.n_trees = n_trees
        self._every = max(n_trees // 10, 1)
        self._started = time.monotonic()

    def advance(self, done: int, metric: str) -> None:
        if done % self._every and done != self.n_trees:
            return
        spent = time.monotonic() - self._started
        left = spent / done * (self.n_trees - done)
        line = f"trees: {done}/{self.n_trees} [{spent:.0f} s, {left:.0f} s left] {metric}"
        print(line.rstrip(), file=sys.stderr, flush=True)

    def close(self) -> None:
        pass
