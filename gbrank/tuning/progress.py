"""A line that shows how far a search is."""

import sys
import time
from typing import Any


class Progress:
    """Trials done, the best value and the time left; tqdm's bar if installed, else a line a trial.

    Parameters
    ----------
    n_trials : how many there will be; ``None`` if only time ends the search.
    timeout : seconds; ``None`` if only trials do.
    shown : whether there is anything to see.
    """

    def __init__(self, n_trials: int | None, timeout: float | None, shown: bool) -> None:
        self.n_trials, self.timeout, self.shown = n_trials, timeout, shown
        self._started = time.monotonic()
        self._bar: Any = None
        if shown:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=n_trials, desc="trials", unit="trial")

    def show(self, done: int, best: str) -> None:
        """Show what was reached.

        Parameters
        ----------
        done : number of finished trials.
        best : the best so far, in words.
        """
        if not self.shown:
            return
        spent = time.monotonic() - self._started
        left = []
        if self.n_trials is not None and done:
            left.append(spent / done * max(self.n_trials - done, 0))
        if self.timeout is not None:
            left.append(max(self.timeout - spent, 0.0))
        ends = f", at most {min(left):.0f} s left" if left else ""
        if self._bar is not None:
            self._bar.set_postfix_str(f"{best}{ends}", refresh=False)
            self._bar.update(done - self._bar.n)
            return
        of = "" if self.n_trials is None else f"/{self.n_trials}"
        print(f"trials: {done}{of} [{spent:.0f} s{ends}] {best}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line as it is."""
        if self._bar is not None:
            self._bar.close()
