"""Coverage-guided fuzzing of the LETOR reader and the loader of models, by atheris.

    python tests/fuzz/atheris_harness.py letor tests/fuzz/corpus/letor -max_total_time=20
    python tests/fuzz/atheris_harness.py model tests/fuzz/corpus/model -max_total_time=20

atheris sees the branches of Python; a kernel is machine code to it, so the parser's own branches
are reached by the corpus and by chance. New inputs that reach more are added to the folder named.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import atheris
import numpy as np
from mutations import sealed_bytes
from odd_input import ours_or_fine

from gbrank import Ranker
from gbrank.boosting import model_file
from gbrank.boosting import saved_values as _saved_values
from gbrank.data import _reader, _text, load_letor, make_ranking

# Function by function: an instrumented kernel, or a whole module with one, does not compile.
for owner, names in {
    model_file: ("_find_metadata", "read_model", "_is_newer", "_release"),
    _saved_values: ("decode", "_decode_array", "_decode_objective"),
    _reader: ("read_files", "_describe", "_token"),
    _reader.FileReader: ("read", "read_block", "_cut", "_raise_error", "_solve_hard_values"),
    _text.LineBlocks: ("_fill", "turn", "read"),
}.items():
    for name in names:
        setattr(owner, name, atheris.instrument_func(getattr(owner, name)))

_FOLDER = tempfile.TemporaryDirectory()
_PATH = Path(_FOLDER.name) / "input.txt"


def _small_model() -> bytes:
    data = make_ranking(n_queries=20, random_state=0)
    ranker = Ranker("lambdamart", preset="fast", n_estimators=1, num_leaves=3, n_jobs=1)
    ranker.fit(data.X, data.y, qid=data.qid).save_model(_PATH)
    return _PATH.read_bytes()


_MODEL = _small_model()


def fuzz_letor(data: bytes) -> None:
    _PATH.write_bytes(data)
    with ours_or_fine():
        read = load_letor(_PATH, sparse=bool(len(data) % 2), n_features=50, n_jobs=1)
        assert read.X.shape == (len(read.y), 50)
        assert np.isfinite(read.y).all()


def fuzz_model(data: bytes) -> None:
    """Load bytes, which a checksum mostly stops; then read them as the metadata behind it."""
    _PATH.write_bytes(data)
    with ours_or_fine():
        Ranker.load_model(_PATH)
    _PATH.write_bytes(sealed_bytes(_MODEL, data))
    with ours_or_fine(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a newer version
        Ranker.load_model(_PATH)


def main() -> None:
    harness = {"letor": fuzz_letor, "model": fuzz_model}[sys.argv.pop(1)]
    atheris.Setup(sys.argv, harness)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
