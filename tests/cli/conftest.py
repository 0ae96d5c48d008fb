"""Commands run in this process, and files for them."""

import json
import lzma
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gbrank.cli import main


@pytest.fixture
def gbrank(capsys):
    """Return a function that runs a command and returns its exit code and what it printed."""

    def run(*words, expect=0):
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:  # as argparse ends
            code = end.code
        printed = capsys.readouterr()
        assert code == expect, printed.err
        result = json.loads(printed.out) if "--json" in words and code == 0 else None
        return SimpleNamespace(out=printed.out, err=printed.err, json=result)

    return run


@pytest.fixture
def mq2008(tmp_path):
    """Return a function that writes parts of MQ2008 as one text file."""
    folder = Path(os.environ.get("GBRANK_DATA", "")) / "letor_text"

    def write(name, *parts):
        if not os.environ.get("GBRANK_DATA") or not folder.is_dir():
            pytest.skip("GBRANK_DATA does not name a folder with letor_text")
        text = b"".join(
            lzma.decompress((folder / f"MQ2008_S{part}.txt.xz").read_bytes()) for part in parts
        )
        (tmp_path / name).write_bytes(text)
        return tmp_path / name

    return write


@pytest.fixture
def small():
    """Return features, labels and query ids of 40 queries of 6 documents; numbers with few bits."""
    rng = np.random.default_rng(7)
    X = rng.integers(-64, 64, (240, 4)) / 32.0
    y = np.clip(np.floor(X[:, 0] + rng.integers(0, 3, 240)), 0, 3)
    return X, y, np.repeat(np.arange(100, 140), 6)


@pytest.fixture
def letor(tmp_path, small):
    """Return a text file of the small data."""
    lines = [
        f"{label:g} qid:{query} " + " ".join(f"{at}:{value!r}" for at, value in enumerate(row, 1))
        for row, label, query in zip(small[0].tolist(), small[1], small[2], strict=True)
    ]
    path = tmp_path / "small.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path, small):
    """Return a CSV file of the small data, with a column of texts and one of weights."""
    lines = ["grade,query,url,size,a,b,c,d"]
    for at, (row, label, query) in enumerate(zip(small[0].tolist(), *small[1:], strict=True)):
        numbers = ",".join(map(repr, row))
        lines.append(f"{label:g},q{query},http://{at},{1 + query % 3},{numbers}")
    path = tmp_path / "small.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
