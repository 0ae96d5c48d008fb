"""Run all trials of a preset that are not finished yet, on several processes."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TextIO, cast

from gbrank.noise.contestants import parse_objective
from gbrank.noise.presets import Preset
from gbrank.noise.provenance import provenance
from gbrank.noise.sources import OwnData, Source
from gbrank.noise.store import WORK, Store
from gbrank.noise.trial import Trial, all_trials
from gbrank.noise.worker import ONE_THREAD, work

#: Seconds of one training on 9,000 rows of 46 features (MQ2008) until early stopping, measured
#: with many leaves (the settings "paper") and with few ("regularised").
_SECONDS = {
    "gbrank": (1.3, 0.4),
    "lightgbm": (1.1, 0.45),
    "xgboost": (8.0, 0.85),
    "catboost": (6.0, 3.3),
}


@dataclass
class Outcome:
    """What became of a run."""

    finished: int
    wanted: int
    failed: list[tuple[Trial, str]]
    is_interrupted: bool = False


def estimate_seconds(
    preset: Preset, source: Source, open_trials: list[Trial], known: dict[Trial, float]
) -> float:
    """Return how long trials will take on one core: as others did, else by a rough model."""
    sums: dict[tuple[str, ...], list[float]] = {}
    for trial, seconds in known.items():
        sums.setdefault((trial.objective, trial.setting, trial.noise), []).append(seconds)
    kinds = Counter((trial.objective, trial.setting, trial.noise) for trial in open_trials)
    size = 0.6 * source.shape[0] / 9_000 * (source.shape[2] / 46) ** 0.5
    total = 0.0
    for (objective, setting, noise), count in kinds.items():
        like = sums.get((objective, setting, noise))
        if like:
            total += count * sum(like) / len(like)
            continue
        settings = preset.settings[setting]
        many, few = _SECONDS.get(parse_objective(objective).family, (0.1, 0.1))
        total += count * size * (many if settings.get("num_leaves", 0) > 64 else few)
    return total


PEERS = ("lightgbm", "xgboost", "catboost")


def peer_versions(preset: Preset) -> dict[str, str]:
    """Return the versions of the peers that a preset runs."""
    families = {parse_objective(name).family for name in preset.objectives}
    return {name: version(name) for name in PEERS if name in families}


class Progress:
    """A bar with the time left, redrawn in a terminal and a line now and then elsewhere."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done = total, 0
        self.stream = stream or sys.stderr
        self.started = self.last = time.monotonic()
        self.live = self.stream.isatty()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.started

    def is_due(self) -> bool:
        """Return whether it is time to draw again."""
        return time.monotonic() - self.last > (0.2 if self.live else 15.0)

    def show(self, left: float, *, final: bool = False) -> None:
        """Draw it; ``left`` is in seconds."""
        self.last = time.monotonic()
        filled = 30 * self.done // max(self.total, 1)
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} trials, " + (
            f"{readable(self.elapsed)} in all" if final else f"{readable(left)} left"
        )
        if self.live:
            print(f"\r{text:<78}", end="\n" if final else "", file=self.stream, flush=True)
        else:
            print(text, file=self.stream, flush=True)


def readable(seconds: float) -> str:
    """Return a duration as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _first_in(folder: Path) -> Iterator[bool]:
    """Yield whether this is the only process at work in a folder."""
    try:
        import fcntl
    except ImportError:  # Windows has none: two processes may then do the same trials
        yield True
        return
    with (folder / WORK / "trials.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False


def run_trials(
    preset: Preset, data: str | OwnData, source: Source, out: Path, jobs: int
) -> Outcome:
    """Run what is not finished yet; every finished trial is kept at once."""
    store = Store(out)
    split = preset.split if isinstance(data, str) else source.split_by
    facts = provenance() | peer_versions(preset) | {"split": split}
    before = store.open_run(preset, source.name, source.fingerprint, facts)
    for name in sorted({"gbrank", "numpy", *PEERS} & set(facts) & set(before)):
        if before[name] != facts[name]:
            print(
                f"warning: {out} began with {name} {before[name]}, this is {facts[name]}; digits "
                "may differ between trials",
                file=sys.stderr,
            )
    trials = all_trials(preset)
    known = store.finished(preset.name, source.name)
    todo = [trial for trial in trials if trial not in known]
    outcome = Outcome(len(trials) - len(todo), len(trials), [])
    cost = estimate_seconds(preset, source, todo, known)
    print(
        f"{preset.name} on {source.name} ({source.shape[0]} rows, {source.shape[1]} queries, "
        f"{source.shape[2]} features): {len(trials)} trials, {outcome.finished} are finished; "
        f"the others need about {readable(cost)} of one core, {readable(cost / jobs)} with "
        f"--jobs {jobs}",
        file=sys.stderr,
        flush=True,
    )
    if todo:
        with _first_in(out) as first:
            # A second process on the same folder starts at the other end.
            queue = todo if first else todo[::-1]
            _work_through(preset, data, source, store, queue, known, jobs, outcome)
    store.close()
    return outcome


def _work_through(
    preset: Preset,
    data: str | OwnData,
    source: Source,
    store: Store,
    queue: list[Trial],
    known: dict[Trial, float],
    jobs: int,
    outcome: Outcome,
) -> None:
    os.environ |= ONE_THREAD
    context = get_context("spawn")
    workers: dict[Connection, Any] = {}
    running: dict[Connection, Trial] = {}
    progress = Progress(len(queue))
    remaining = iter(queue)
    spent = 1e-9  # seconds of CPU; with other work on the machine, time passes faster than that

    def next_trial() -> Trial | None:
        for trial in remaining:
            if not store.has(preset.name, source.name, trial):
                return trial
            outcome.finished += 1  # by another process
            progress.done += 1
        return None

    def hand_out(pipe: Connection) -> None:
        trial = next_trial()
        pipe.send(trial)
        if trial is None:
            workers.pop(pipe).join()
        else:
            running[pipe] = trial

    try:
        for _ in range(min(jobs, len(queue))):
            here, there = context.Pipe()
            process = context.Process(target=work, args=(there, preset, data), daemon=True)
            with _deaf_to_interrupts():  # which a new process inherits
                process.start()
            there.close()
            workers[here] = process
            hand_out(here)
        while running:
            for pipe in cast(list[Connection], wait(list(running))):
                trial = running.pop(pipe)
                try:
                    answer, seconds = pipe.recv()
                except EOFError:
                    raise RuntimeError(
                        f"a process died while it ran {trial}; what is finished is kept, the same "
                        "command goes on. (A script that calls gbrank.noise.run does so below "
                        'if __name__ == "__main__":)'
                    ) from None
                if isinstance(answer, str):
                    outcome.failed.append((trial, answer))
                else:
                    store.add(preset.name, source.name, trial, answer, seconds)
                    outcome.finished += 1
                    known[trial] = seconds
                progress.done += 1
                hand_out(pipe)
                spent += seconds
                if progress.is_due():
                    rest = estimate_seconds(preset, source, queue[progress.done :], known)
                    progress.show(progress.elapsed * rest / spent)
        progress.show(0.0, final=True)
    except KeyboardInterrupt:
        outcome.is_interrupted = True
        # it may have come between keeping a trial and counting it
        kept = store.finished(preset.name, source.name)
        outcome.finished = sum(trial in kept for trial in all_trials(preset))
    finally:
        for process in workers.values():
            process.terminate()
        for process in workers.values():
            process.join()
