"""Every file that the library reads, replaced: by a link, a pipe, a folder, a half, other bits.

What was given by the user is followed if it is a link; what has a name that the library made is
not. Everything else is one ValueError or OSError, or as if the file were not there: nothing waits
for a writer that never comes, nothing ends in an error of another kind, and what has a checksum is
never read as something else.
"""

import lzma
import os
import shutil
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_fits import fit, small_data

from gbrank import CalibratedRanker, Ranker
from gbrank.boosting import read_lightgbm_model
from gbrank.cli.application import make_parser
from gbrank.cli.files import read_data
from gbrank.cli.models import load_model, read_scores
from gbrank.clicks import ClickLog, Propensities
from gbrank.data import dump_letor, load_letor, stream_parquet
from gbrank.noise.archive import Run, write_archive
from gbrank.noise.presets import FOLDER, load_preset
from gbrank.noise.sources import ArraySource
from gbrank.noise.store import Store, StoreError
from gbrank.noise.trial import Result, Trial
from gbrank.preferences import read_catboost_pairs
from gbrank.tuning.storage import FileStorage
from gbrank.tuning.trials import Trial as TunedTrial

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="pipes and links of POSIX"),
    pytest.mark.filterwarnings("ignore"),
]

DATA = small_data(0, n_queries=12)
#: Seconds after which somebody opens a pipe that a reader waits for; no reader takes a tenth.
PATIENCE = 15.0


@dataclass
class Readable:
    """A file, and what reads it.

    ``guarded``: damage is an error or makes no difference, by a checksum. ``ours``: the name was
    made by the library, so that a link is not followed. ``optional``: as if it were not there.
    """

    path: Any
    read: Any
    guarded: bool = False
    ours: bool = False
    optional: bool = False


def letor(folder, name="data.txt"):
    path = folder / name
    dump_letor(DATA.X.astype(np.float32), DATA.y, DATA.qid, path)
    return Readable(path, lambda: load_letor(path).X, guarded=name != "data.txt")


def letor_cache(folder):
    text = letor(folder).path
    load_letor(text, cache=True)
    [path] = (folder / ".gbrank_cache").iterdir()
    read = lambda: load_letor(text, cache=True).X  # noqa: E731
    return Readable(path, read, guarded=True, ours=True, optional=True)


def table():
    frame = pd.DataFrame(DATA.X[:, :3].astype(float), columns=list("abc"))
    return frame.assign(label=DATA.y, qid=DATA.qid)


def of_command_line(path, **more):
    options = make_parser().parse_args(["evaluate", "model", str(path)])
    return Readable(path, lambda: read_data(str(path), options).X, **more)


def csv(folder):
    table().to_csv(folder / "data.csv", index=False)
    return of_command_line(folder / "data.csv")


def parquet(folder):
    table().to_parquet(folder / "data.parquet")
    return of_command_line(folder / "data.parquet")


def npz(folder):
    np.savez_compressed(folder / "data.npz", X=DATA.X, y=DATA.y, qid=DATA.qid)
    return of_command_line(folder / "data.npz", guarded=True)


def parquet_stream(folder):
    path = folder / "data.parquet"
    table().to_parquet(path)
    return Readable(
        path, lambda: stream_parquet(path, label="label", qid="qid").construct().num_data()
    )


def model(folder):
    path = folder / "model.txt"
    fit(0).save_model(path)
    return Readable(path, lambda: Ranker.load_model(path).predict(DATA.X), guarded=True)


def model_to_go_on_from(folder):
    path = folder / "model.txt"
    fit(0).save_model(path)
    more = Ranker("listnet", preset="fast", n_estimators=1, n_jobs=1)
    read = lambda: more.fit(DATA.X, DATA.y, qid=DATA.qid, init_model=path).predict(DATA.X)  # noqa: E731
    return Readable(path, read)


def model_of_lightgbm(folder):
    path = folder / "model.txt"
    fit(0).booster_.save_model(path)
    return Readable(path, lambda: read_lightgbm_model(path).predict(DATA.X))


def model_of_command_line(folder):
    path = folder / "model.txt"
    fit(0).booster_.save_model(path)
    return Readable(path, lambda: load_model(str(path)).predict(DATA.X))


def scores(folder):
    path = folder / "scores.txt"
    path.write_text("".join(f"{score}\n" for score in DATA.X[:, 0]))
    return Readable(path, lambda: read_scores(str(path)))


def calibrated(folder):
    ranker = Ranker("listnet", preset="fast", n_estimators=3, n_jobs=1)
    path = folder / "model.txt"
    CalibratedRanker(ranker, cv=2).fit(DATA.X, DATA.y, qid=DATA.qid).save_model(path)
    return path, lambda: CalibratedRanker.load_model(path).predict_proba(DATA.X)


def calibration(folder):
    path, read = calibrated(folder)
    return Readable(path.with_name("model.txt.calibration.json"), read)


def model_of_calibration(folder):
    return Readable(*calibrated(folder), guarded=True)


def propensities(folder):
    path = folder / "propensities.json"
    Propensities([0, 1, 2], [1.0, 0.5, 0.25]).save(path)
    return Readable(path, lambda: Propensities.load(path).values)


def clicks(folder, name):
    path = folder / name
    log = pd.DataFrame(
        {"qid": DATA.qid, "item": np.arange(len(DATA.qid)), "position": 0, "click": DATA.y > 0}
    ).astype(int)
    log.to_csv(path, index=False) if name.endswith("csv") else log.to_parquet(path)
    return Readable(path, lambda: ClickLog.read(path).clicks)


def pairs(folder):
    path = folder / "train.pairs"
    path.write_text("0\t1\n2\t1\n")
    return Readable(path, lambda: len(read_catboost_pairs(path)))


def noise_arrays(folder):
    path = folder / "set.npz"
    np.savez_compressed(path, X=DATA.X, y=DATA.y, qid=DATA.qid, part=DATA.qid % 3)
    return Readable(path, lambda: ArraySource(path).fingerprint, guarded=True)


def noise_preset(folder):
    path = folder / "mine.toml"
    shutil.copy(sorted(FOLDER.glob("*.toml"))[0], path)
    return Readable(path, lambda: load_preset(str(path)).fingerprint())


RESULT = Result({"ndcg@10": 0.5}, np.arange(5), np.full((1, 5), 0.5, np.float32), 3, (),
                {"documents": 0.0, "pairs": 0.0})  # fmt: skip


def trials_of(folder):
    store = Store(folder)
    try:
        return sorted(
            trial.trial
            for preset, data, *_ in store.runs()
            for trial in store.results(preset, data)
        )
    finally:
        store.close()


def noise_archive(folder):
    results = folder / "results"
    results.mkdir()
    path = results / "mine.tar.xz"
    definition = load_preset(sorted(FOLDER.glob("*.toml"))[0].stem)
    from dataclasses import asdict, replace

    kept = asdict(replace(definition, name="mine", metrics=("ndcg@10",)))
    trial = Trial("s", "labels", 0.0, "xendcg", 7)
    write_archive(path, [Run("d", "f", kept, {}, {trial: (RESULT, 0.1)})])
    assert lzma.decompress(path.read_bytes())

    def read():
        shutil.rmtree(results / "work", ignore_errors=True)
        return trials_of(results)

    return Readable(path, read, guarded=True, ours=True)


def noise_store(folder):
    results = folder / "results"
    store = Store(results)
    store.add("p", "d", Trial("s", "labels", 0.0, "xendcg", 7), RESULT, 0.1)
    store.close()
    return Readable(results / "work" / "trials.sqlite", lambda: trials_of(results), ours=True)


def tuning_storage(folder):
    path = folder / "trials.sqlite"

    def read():
        storage = FileStorage(path, {"metric": "ndcg@10"})
        try:
            return [trial.value for trial in storage.trials()]
        finally:
            storage.close()

    storage = FileStorage(path, {"metric": "ndcg@10"})
    number, _ = storage.claim(1)
    storage.begin(number, {"num_leaves": 7})
    storage.end(TunedTrial(number, {"num_leaves": 7}, "complete", 0.5, query_values=DATA.y))
    storage.close()
    return Readable(path, read)


READERS = {
    "LETOR text": letor,
    **{
        f"LETOR text {end}": lambda folder, end=end: letor(folder, f"data.txt{end}")
        for end in (".gz", ".bz2", ".xz", ".zst")
    },
    "LETOR cache": letor_cache,
    "csv": csv,
    "parquet": parquet,
    "npz": npz,
    "stream of parquet": parquet_stream,
    "model": model,
    "model to go on from": model_to_go_on_from,
    "model of LightGBM": model_of_lightgbm,
    "model of the command line": model_of_command_line,
    "scores": scores,
    "calibration": calibration,
    "model of a calibration": model_of_calibration,
    "propensities": propensities,
    "log of clicks, csv": lambda folder: clicks(folder, "log.csv"),
    "log of clicks, parquet": lambda folder: clicks(folder, "log.parquet"),
    "pairs of CatBoost": pairs,
    "arrays for noise": noise_arrays,
    "preset of noise": noise_preset,
    "archive of trials": noise_archive,
    "trials": noise_store,
    "storage of tuning": tuning_storage,
}


@pytest.fixture(params=READERS)
def file(request, tmp_path):
    readable = READERS[request.param](tmp_path)
    readable.expected = np.array(readable.read())  # a cache is mapped
    readable.name = request.param
    return readable


def read_or_refuse(file):
    """Return what is read, or ``None`` if it is refused by an error of a clear kind."""
    try:
        found = np.asarray(file.read())
    except (ValueError, OSError, StoreError) as error:
        assert str(error)  # noqa: PT017 - the file may also be fine
        return None
    except TypeError as error:  # of a column that holds words
        assert str(file.path) in str(error)  # noqa: PT017
        return None
    return found


def same(file, found):
    return found is not None and np.array_equal(found, file.expected)


def test_a_link_to_elsewhere(file, tmp_path):
    elsewhere = tmp_path / "elsewhere" / file.path.name
    elsewhere.parent.mkdir()
    file.path.rename(elsewhere)
    before = elsewhere.read_bytes()
    file.path.symlink_to(elsewhere)
    found = read_or_refuse(file)
    if file.optional or not file.ours:
        assert same(file, found)
    else:
        assert found is None
    assert elsewhere.read_bytes() == before
    assert file.path.is_symlink() or not file.path.samefile(elsewhere)


def test_a_link_to_nowhere(file, tmp_path):
    if file.name == "storage of tuning":
        pytest.skip("a file of the user that is made where there is none")
    file.path.unlink()
    file.path.symlink_to(tmp_path / "nowhere")
    found = read_or_refuse(file)
    assert same(file, found) if file.optional else found is None
    assert not (tmp_path / "nowhere").exists()


def test_a_pipe(file):
    file.path.unlink()
    os.mkfifo(file.path)
    late = []

    def open_it():
        late.append(True)
        os.close(os.open(file.path, os.O_RDWR | os.O_NONBLOCK))

    timer = threading.Timer(PATIENCE, open_it)
    timer.start()
    try:
        found = read_or_refuse(file)
    finally:
        timer.cancel()
    assert not late, "it waited for somebody to write"
    assert same(file, found) if file.optional else found is None


def test_a_folder(file):
    file.path.unlink()
    file.path.mkdir()
    found = read_or_refuse(file)
    assert same(file, found) if file.optional else found is None


def test_nothing(file):
    file.path.unlink()
    file.path.write_bytes(b"")
    found = read_or_refuse(file)
    if file.optional:
        assert same(file, found)
    elif file.name not in (
        "pairs of CatBoost",
        "trials",
        "storage of tuning",
    ):  # where nothing is no pairs, no trials
        assert found is None


def damage(whole, rng, n_cuts, n_flips):
    """Yield halves, and copies with one bit changed, at the ends and in between."""
    for place in {1, len(whole) // 2, len(whole) - 1, *rng.integers(1, len(whole), n_cuts)}:
        yield whole[:place]
    for place in {0, len(whole) - 1, *rng.integers(0, len(whole), n_flips)}:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        yield bytes(changed)


def check_damage(file, n_cuts, n_flips):
    whole = file.path.read_bytes()
    for content in damage(whole, np.random.default_rng(0), n_cuts, n_flips):
        file.path.unlink()
        file.path.write_bytes(content)
        for ending in ("-wal", "-shm"):
            file.path.with_name(file.path.name + ending).unlink(missing_ok=True)
        found = read_or_refuse(file)
        if file.optional:
            assert same(file, found)
        elif file.guarded:
            assert found is None or same(file, found)


def test_halves_and_other_bits(file):
    check_damage(file, 3, 6)


@pytest.mark.slow
def test_many_halves_and_other_bits(file):
    check_damage(file, 40, 200)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", "lock"])
@pytest.mark.parametrize("kind", ["link", "link to nowhere", "pipe", "folder"])
def test_what_lies_beside_the_trials(tmp_path, ending, kind):
    """SQLite opens files of names that it makes, and would write through a link."""
    results, victim = tmp_path / "results", tmp_path / "victim"
    Store(results).close()
    name = "trials.lock" if ending == "lock" else f"trials.sqlite{ending}"
    path = results / "work" / name
    if kind != "link to nowhere":
        victim.write_bytes(b"precious")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(victim)
    with pytest.raises(StoreError, match=name):
        Store(results)
    assert victim.exists() == (kind != "link to nowhere")
    assert not victim.exists() or victim.read_bytes() == b"precious"


def test_files_beside_a_model_replace_a_link(tmp_path):
    """The features of an export and the curves of a calibration have names that are made here."""
    victim = tmp_path / "victim"
    for name in ("model.txt.calibration.json", "model.features.json"):
        victim.write_bytes(b"precious")
        (tmp_path / name).symlink_to(victim)
    calibrated(tmp_path)
    fit(0).export(tmp_path / "model.json", format="solr")
    assert victim.read_bytes() == b"precious"
    assert not any(path.is_symlink() for path in tmp_path.iterdir())
