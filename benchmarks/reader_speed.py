"""Speed of the LETOR reader: against scikit-learn and XGBoost, from the cache, and its memory.

    python benchmarks/reader_speed.py
    python benchmarks/reader_speed.py --json benchmarks/results/reader.json

With ``--json reader.json`` the tables are written to ``reader.md`` too.

Made-up files: one with six decimals for each of 46 features and a comment, as LETOR has them, one
with 136 features, many of them whole numbers, as MSLR has them, one with all the digits of a
float64. The text of MQ2008 too, repeated, where GBRANK_DATA names a folder with ``letor_text``.
XGBoost takes part where it is installed. Files are in the page cache.

Every ratio compares two things timed in turn in one process, which may use as many CPUs as it is
given threads. scikit-learn reads the first tenth of the file.
"""

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from common.provenance import provenance
from common.timing import interleave, ratio_with_interval
from sklearn.datasets import load_svmlight_file

from gbrank.data import dump_letor, load_letor

ROUNDS = 9
THREADS = (1, 2)
MEGABYTES = 100


def letor_lines(rng: np.random.Generator) -> Iterator[str]:
    """Return lines such as those of MQ2008: three values in five are 0."""
    while True:
        values = rng.random(46) * (rng.random(46) < 0.4)
        features = " ".join(f"{at}:{value:.6f}" for at, value in enumerate(values.tolist(), 1))
        document = f"#docid = GX{rng.integers(1000):03d}-00-{rng.integers(10**7)} inc = 1"
        yield f"{rng.integers(3)} qid:{rng.integers(10**5)} {features} {document}\n"


def mslr_lines(rng: np.random.Generator) -> Iterator[str]:
    """Return lines such as those of MSLR-WEB10K: counts, zeros, and six digits."""
    while True:
        counts = rng.geometric(0.3, 136) - 1
        values = rng.lognormal(1.0, 2.0, 136)
        whole = rng.random(136) < 0.6
        texts = [
            str(count) if is_whole else f"{value:.6g}"
            for count, value, is_whole in zip(counts, values.tolist(), whole, strict=True)
        ]
        features = " ".join(f"{at}:{text}" for at, text in enumerate(texts, 1))
        yield f"{rng.integers(5)} qid:{rng.integers(10**5)} {features} \n"


def long_lines(rng: np.random.Generator) -> Iterator[str]:
    """Return lines with up to 17 digits a value, as ``repr`` writes them."""
    while True:
        values = rng.normal(size=50) * 0.01
        features = " ".join(f"{at}:{value!r}" for at, value in enumerate(values.tolist(), 1))
        yield f"{rng.integers(5)} qid:{rng.integers(10**5)} {features}\n"


KINDS = {"LETOR-like": letor_lines, "MSLR-like": mslr_lines, "17 digits": long_lines}


def write_files(folder: Path, megabytes: int) -> dict[str, Path]:
    """Write one file of each kind; lines repeat after a few megabytes."""
    n_bytes = megabytes * 1_000_000
    paths = {}
    for name, make in KINDS.items():
        lines = make(np.random.default_rng(0))
        text = "".join(next(lines) for _ in range(6_000)).encode()
        paths[name] = folder / f"{name.replace(' ', '-')}.txt"
        paths[name].write_bytes(text * (n_bytes // len(text) + 1))
    source = Path(os.environ.get("GBRANK_DATA", ".")) / "letor_text"
    if source.is_dir():
        text = b"".join(lzma.decompress(path.read_bytes()) for path in sorted(source.iterdir()))
        paths["MQ2008"] = folder / "MQ2008.txt"
        paths["MQ2008"].write_bytes(text * (n_bytes // len(text) + 1))
    return paths


def xgboost_reader() -> Callable[[Path, int], Any] | None:
    """Return a function that reads a file as XGBoost does, if it is installed."""
    try:
        import xgboost
    except ImportError:
        return None
    xgboost.set_config(verbosity=0)

    def read(path: Path, threads: int) -> object:
        return xgboost.DMatrix(f"{path}?format=libsvm", nthread=threads)

    return read


def against_peers(paths: dict[str, Path], threads: int) -> list[dict[str, Any]]:
    """Time us and the peers in turn on so many CPUs."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    xgboost = xgboost_reader()
    rows = []
    for name, path in paths.items():
        runs: dict[str, Callable[[], object]] = {
            "dense": partial(load_letor, path, n_jobs=threads),
            "sparse": partial(load_letor, path, n_jobs=threads, sparse=True),
        }
        if xgboost:
            runs["XGBoost"] = partial(xgboost, path, threads)
        tenth = path.with_suffix(".tenth")
        if threads == 1:
            with path.open("rb") as file:
                tenth.write_bytes(file.read(path.stat().st_size // 10) + file.readline())
            runs["scikit-learn"] = partial(load_svmlight_file, str(tenth), query_id=True)
        seconds = interleave(runs, ROUNDS, warm_up=1)
        megabytes = {run: path.stat().st_size / 1e6 for run in runs}
        if threads == 1:
            megabytes["scikit-learn"] = tenth.stat().st_size / 1e6
        for result in ("dense", "sparse"):
            row: dict[str, Any] = {"file": name, "result": result, "threads": threads}
            row["MB/s"] = round(megabytes[result] / float(np.median(seconds[result])))
            for peer, target in (("XGBoost", 1.5), ("scikit-learn", 10)):
                if peer in seconds:
                    theirs = seconds[peer] / megabytes[peer]
                    ratio, low, high = ratio_with_interval(
                        theirs, seconds[result] / megabytes[result]
                    )
                    row[f"{peer} MB/s"] = round(1 / float(np.median(theirs)), 1)
                    row[f"times {peer}"] = f"{ratio:.1f} [{low:.1f}, {high:.1f}]"
                    row[f"{peer} target"] = target
            rows.append(row)
    return rows


def cache_and_writer(paths: dict[str, Path], folder: Path) -> list[dict[str, Any]]:
    """Time the second load, from the cache, and the writer."""
    rows = []
    for name, path in paths.items():
        data = load_letor(path, cache=folder / "cache")
        seconds = interleave({"load": partial(load_letor, path, cache=folder / "cache")}, ROUNDS)
        n_rows = min(20_000, len(data.y))
        target = folder / "written.txt"
        dump_letor(data.X[:10], data.y[:10], data.qid[:10], target)  # compile
        start = time.perf_counter()
        dump_letor(data.X[:n_rows], data.y[:n_rows], data.qid[:n_rows], target)
        spent = time.perf_counter() - start
        rows.append(
            {
                "file": name,
                "text, MB": round(path.stat().st_size / 1e6),
                "from the cache, ms": round(float(np.median(seconds["load"])) * 1e3, 1),
                "written, MB/s": round(target.stat().st_size / 1e6 / spent),
            }
        )
    return rows


_PEAK = """
import sys
import tempfile
from pathlib import Path
from gbrank.data import load_letor
path, sparse = Path(sys.argv[1]), sys.argv[2] == "sparse"

def megabytes(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024

with tempfile.TemporaryDirectory() as folder:  # compile, or load what is compiled
    (Path(folder) / "a.txt").write_text("1 qid:1 1:1")
    load_letor(Path(folder) / "a.txt", sparse=sparse)
before = megabytes("VmRSS")
X, y, qid = load_letor(path, sparse=sparse)
arrays = [X.data, X.indices, X.indptr] if sparse else [X]
result = sum(array.nbytes for array in [*arrays, y, qid]) / 2**20
print(result, megabytes("VmHWM") - before)
"""


def memory(paths: dict[str, Path]) -> list[dict[str, Any]]:
    """Measure the largest resident size of a process that reads a file (Linux only)."""
    if not Path("/proc/self/status").exists():
        return []
    rows = []
    for name, path in paths.items():
        for kind in ("dense", "sparse"):
            command = [sys.executable, "-c", _PEAK, str(path), kind]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            result, peak = map(float, out.split())
            rows.append(
                {
                    "file": name,
                    "result": kind,
                    "result, MiB": round(result),
                    "peak, MiB": round(peak),
                    "allowed, MiB": round(2 * result + 64),
                }
            )
    return rows


def measure(megabytes: int = MEGABYTES) -> list[dict[str, Any]]:
    """Return all rows; each thread count has a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), megabytes)
        for threads in THREADS:
            command = [sys.executable, __file__, "--folder", folder, "--threads", str(threads)]
            finished = subprocess.run(command, capture_output=True, text=True, check=True)
            rows += json.loads(finished.stdout)
        rows += cache_and_writer(paths, Path(folder))
        rows += memory(paths)
    return rows


def as_tables(rows: list[dict[str, Any]]) -> str:
    """Return Markdown, a table for every set of columns."""
    tables: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        tables.setdefault(tuple(row), []).append(row)
    texts = []
    for columns, lines in tables.items():
        cells = [columns, ["---"] * len(columns), *(line.values() for line in lines)]
        texts.append("\n".join("| " + " | ".join(map(str, line)) + " |" for line in cells))
    return "\n\n".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the numbers to this file, and a page")
    parser.add_argument("--megabytes", type=int, default=MEGABYTES, help="size of each file")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder:
        paths = {path.stem: path for path in sorted(arguments.folder.glob("*.txt"))}
        print(json.dumps(against_peers(paths, arguments.threads)))
        return
    rows = measure(arguments.megabytes)
    print(as_tables(rows))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        origin = {**provenance(), "xgboost": _version_of("xgboost"), "load": _load()}
        results = {"provenance": origin, "megabytes": arguments.megabytes, "reader": rows}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
        arguments.json.with_suffix(".md").write_text(as_report(rows, origin))


def as_report(rows: list[dict[str, Any]], origin: dict[str, str]) -> str:
    """Return the page that goes with the numbers."""
    lines = [
        "# Speed and memory of the LETOR reader",
        "",
        "Ratios are medians of runs taken in turn, with 95% bootstrap intervals. `dense` and",
        "`sparse` are what `load_letor` returns; XGBoost makes a DMatrix, scikit-learn a sparse",
        "matrix of the first tenth of the file. Targets: 1.5 times XGBoost at equal threads, 10",
        "times scikit-learn on one, and a peak of at most twice the result and 64 MiB; it is that",
        "of a process of its own, above what it had before the file was opened. Files are in the",
        "page cache. `load` is how many processes wanted a CPU at the end: above 1, others were",
        "disturbing, which hits the runs on two threads most.",
        "",
        as_tables(rows),
        "",
        *(f"- {name}: {value}" for name, value in origin.items()),
    ]
    return "\n".join(lines) + "\n"


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _load() -> str:
    """Return how many processes wanted a CPU at the end, this one included, where known."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    main()
