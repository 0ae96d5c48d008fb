"""Kills at random moments while files are written, counted: what is there must be whole.

    python tests/reliability/kills.py --kills 70

Children are forked from a process that is warm and has one thread. Each writes one file again and
again, a model, LETOR text or a trial of a results folder, until it is killed; then the file must be
one that was written. Temporary files that are left behind are counted.
"""

import argparse
import os
import random
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from gbrank import Ranker
from gbrank.data import dump_letor, load_letor, make_ranking
from gbrank.noise.store import Store
from gbrank.noise.trial import Result, Trial

LEFTOVERS = []


def kill_at_random(work, rng):
    """Fork a child that works, and kill it within a tenth of a second of its first file."""
    ready, begun = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ready)
        try:
            work(lambda: os.write(begun, b"."))
        finally:
            os._exit(1)
    os.close(begun)
    assert os.read(ready, 1), "the child ended before it wrote anything"
    time.sleep(rng.random() * 0.1)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(ready)
    assert os.WIFSIGNALED(status), "the child ended by itself"


def clear_leftovers(folder):
    """Remove, and count, whole files that were killed between getting a name and taking the old."""
    for path in folder.rglob(".gbrank-*.tmp"):
        path.unlink()
        LEFTOVERS.append(path.name)


def kill_savers(kills, folder, rng):
    """Kill children that save two models in turn; one of them must load, bit by bit."""
    data = make_ranking(n_queries=20, random_state=0)
    settings = {"preset": "fast", "n_jobs": 1, "num_leaves": 7}
    models = [Ranker(**settings, n_estimators=n).fit(data.X, data.y, qid=data.qid) for n in (3, 40)]
    expected = [model.predict(data.X) for model in models]
    path = folder / "model.txt"

    def work(say):
        while True:
            for model in models:
                model.save_model(path)
                say()

    for _ in range(kills):
        kill_at_random(work, rng)
        got = Ranker.load_model(path).predict(data.X)
        assert any(np.array_equal(got, each) for each in expected)
        clear_leftovers(folder)
        assert [entry.name for entry in folder.iterdir()] == ["model.txt"]


def kill_dumpers(kills, folder, rng):
    """Kill children that write two data sets as text in turn, and read them with a cache."""
    sets = [make_ranking(n_queries=n, random_state=n) for n in (5, 40)]
    path = folder / "data.txt"

    def work(say):
        while True:
            for data in sets:
                dump_letor(data.X, data.y, data.qid, path)
                load_letor(path, cache=True)
                say()

    for _ in range(kills):
        kill_at_random(work, rng)
        for cache in (True, False):
            got = load_letor(path, cache=cache)
            assert any(len(got.y) == len(data.y) and (got.y == data.y).all() for data in sets)
        clear_leftovers(folder)


def kill_stores(kills, folder, rng):
    """Kill children that keep trials; each that was said to be kept must be there."""
    result = Result({"ndcg@10": 0.5}, np.arange(50), np.ones((1, 50), np.float32), 3, (),
                    {"documents": 0.0, "pairs": 0.0})  # fmt: skip
    said = folder / "said"
    said.touch()
    first = 0

    def work(say):
        store = Store(folder / "results")
        with said.open("a") as file:
            for number in range(first, 10**6):
                store.add("p", "d", Trial("s", "labels", 0.0, "xendcg", number), result, 0.1)
                file.write(f"{number}\n")
                file.flush()
                say()

    for _ in range(kills):
        kill_at_random(work, rng)
        promised = {int(line) for line in said.read_text().split()}
        store = Store(folder / "results")
        kept = {trial.trial for trial in store.results("p", "d")}
        store.close()
        assert promised <= kept
        first = max(kept) + 1


def run(kills, seed=0):
    """Run all kinds; return how many kills each had."""
    rng = random.Random(seed)
    for kind in (kill_savers, kill_dumpers, kill_stores):
        with tempfile.TemporaryDirectory() as folder:
            kind(kills, Path(folder), rng)
    return {"models": kills, "LETOR text and its cache": kills, "trials of a folder": kills}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=70)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    for what, count in run(parser.parse_args().kills).items():
        print(f"{what}: {count} kills, nothing lost")
    print(f"{len(LEFTOVERS)} temporary files were left behind")
    print(f"{time.monotonic() - started:.0f} s")
