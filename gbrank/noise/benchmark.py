"""The noise benchmark from Python: run a preset, or write the report of what was run."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gbrank.core import RankingData, check_integer
from gbrank.metrics import text_table
from gbrank.noise.checks import check_name
from gbrank.noise.content import Section, tables
from gbrank.noise.presets import Preset, load_preset, read_preset
from gbrank.noise.report import write_report
from gbrank.noise.runner import Outcome, run_trials
from gbrank.noise.sources import SYNTHETIC, OwnData, open_source


@dataclass(frozen=True)
class NoiseResults:
    """What a run of the noise benchmark found; it prints as tables.

    Attributes
    ----------
    sections : list
        What was found, a section for each preset and data set.
    folder : Path or None
        Where trials, tables, plots and the report are kept.
    failed : int
        Number of trials that ended in an error.
    is_interrupted : bool
        Whether Ctrl-C ended it before all trials were finished.
    """

    sections: list[Section]
    folder: Path | None
    failed: int = 0
    is_interrupted: bool = False

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each objective, metric and level of noise: mean, interval, test."""
        return [asdict(row) for section in self.sections for row in section.rows]

    @property
    def plots(self) -> list[Path]:
        """The pictures, if matplotlib is installed."""
        if self.folder is None:
            return []
        names = [name for s in self.sections for drawn in s.figures.values() for name, _ in drawn]
        return [self.folder / "figures" / f"{name}.png" for name in names]

    def to_frame(self) -> Any:
        """Return :attr:`rows` as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def __str__(self) -> str:
        parts = []
        for section in self.sections:
            for caption, heads, body in tables(section):
                parts.append(f"{section.preset.title}: {section.data}. {caption}\n")
                parts.append(text_table(heads, body) + "\n")
        return "\n".join(parts).rstrip("\n")


def run(
    preset: str | Mapping[str, Any] | Path = "demo",
    data: Any = None,
    *,
    out: str | Path | None = None,
    objectives: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    metrics: Sequence[str] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    trials: int | None = None,
    name: str | None = None,
    n_jobs: int = 1,
    report: bool = True,
) -> NoiseResults:
    """Which loss survives which noise? Corrupt, train, judge by clean test queries, compare.

    Every finished trial is kept in ``out`` at once: the same call goes on where it stopped, also
    after ``kill -9``. Trials run in ``n_jobs`` processes: a script calls this below
    ``if __name__ == "__main__":``.

    Parameters
    ----------
    preset : str, path or dict, default="demo"
        What is run: a name of :func:`list_presets`, a ``.toml`` file, or what such a file says as
        a dict.
    data : default=None
        A :class:`gbrank.data.RankingData`, or a tuple ``X, y, qid`` of arrays or frames, which is
        split at random for each trial; a tuple of three RankingData, training, validation and
        test, which stay as they are; "synthetic"; a folder in LETOR's structure; the name of a set
        in the folder ``GBRANK_DATA``. ``None`` takes the data of the preset.
    out : str or path, default=None
        Folder for trials, tables, plots and the report; ``None`` keeps none of it.
    objectives : list of str, default=None
        Losses instead of those of the preset: ``"xendcg"``, ``"listmle(k=10)"``,
        ``"module:Class"``, ``"lightgbm:lambdarank"``, ``"floor:ridge"``, ``"Ranker()"``.
    levels : list of float, default=None
        Levels of noise instead of those of the preset.
    metrics : list of str, default=None
        Metrics instead of those of the preset: ``"ndcg@10"``, ``"module:Class@5"``.
    settings : dict of dict, default=None
        Parameters of the trees instead of those of the preset, by a name of your choice.
    trials : int, default=None
        Trials for each point instead of those of the preset.
    name : str, default=None
        What data in memory are called in the report; ``None`` for "data".
    n_jobs : int, default=1
        Number of processes.
    report : bool, default=True
        Whether tables, plots and the page are written at the end; else only the trials are run.

    Returns
    -------
    NoiseResults

    Examples
    --------
    >>> from gbrank.noise import run
    >>> found = run("demo", objectives=["floor:ridge"], levels=[0.5], trials=1)
    >>> [(row["objective"], row["mean"] > 0.5) for row in found.rows]
    [('floor:ridge', True)]
    """
    chosen = _choose(preset, objectives, levels, metrics, settings, trials, data)
    check_integer("n_jobs", n_jobs, low=1)
    place = _place(data, chosen, name)
    source = open_source(place, chosen.synthetic, chosen.split)
    check_name("the name of the data", source.name)
    if out is not None:
        return _in_folder(chosen, place, source, Path(out), n_jobs, report)
    with tempfile.TemporaryDirectory() as folder:
        found = _in_folder(chosen, place, source, Path(folder), n_jobs, report)
        return NoiseResults(found.sections, None, found.failed, found.is_interrupted)


def _in_folder(
    preset: Preset, place: str | OwnData, source: Any, out: Path, n_jobs: int, with_report: bool
) -> NoiseResults:
    outcome: Outcome = run_trials(preset, place, source, out, n_jobs)
    for trial, problem in outcome.failed[:3]:
        print(f"{trial} failed:\n{problem}", file=sys.stderr)
    is_done = with_report and outcome.finished and not outcome.is_interrupted
    sections = write_report(out) if is_done else []
    mine = [s for s in sections if (s.preset.name, s.data) == (preset.name, source.name)]
    if outcome.is_interrupted:
        print(
            f"stopped; {outcome.finished} of {outcome.wanted} trials are kept in {out}, the same "
            "command goes on",
            file=sys.stderr,
        )
    return NoiseResults(mine, out, len(outcome.failed), outcome.is_interrupted)


def report(folder: str | Path) -> NoiseResults:
    """Write the report of a folder of results again: tables, plots and a page of HTML.

    Parameters
    ----------
    folder : str or path
        What ``out`` was in :func:`run`.

    Returns
    -------
    NoiseResults

    Examples
    --------
    >>> from gbrank.noise import report
    >>> report("no/such/folder")
    Traceback (most recent call last):
    gbrank.noise.store.StoreError: no/such/folder holds no trials: there is no *.tar.xz in it
    """
    return NoiseResults(write_report(Path(folder)), Path(folder))


def _choose(
    preset: Any,
    objectives: Any,
    levels: Any,
    metrics: Any,
    settings: Any,
    trials: int | None,
    data: Any,
) -> Preset:
    if isinstance(preset, Mapping):
        chosen = read_preset(str(preset.get("name", "own")), dict(preset))
    else:
        chosen = load_preset(str(preset))
    where = chosen.data if data is None else data
    if where is None or (isinstance(where, str) and not where):
        raise ValueError(f"name the data for preset {chosen.name}, with data= or --data")
    is_synthetic = isinstance(where, str) and where == SYNTHETIC
    if objectives is None and not is_synthetic:
        objectives = [text for text in chosen.objectives if not text.startswith("ceiling:")]
    if not is_synthetic and any(str(text).startswith("ceiling:") for text in objectives or ()):
        raise ValueError("ceiling:bayes, the best possible order, is known for synthetic data only")
    return chosen.with_choices(objectives, levels, trials, metrics, settings)


def _place(data: Any, preset: Preset, name: str | None) -> str | OwnData:
    """Return data as sources take them."""
    if data is None:
        return preset.data
    if isinstance(data, str | Path):
        return str(data)
    called = name or "data"
    if isinstance(data, RankingData):
        return OwnData(called, (data,))
    parts = tuple(data)
    if len(parts) == 3 and all(isinstance(part, RankingData) for part in parts):
        return OwnData(called, parts)
    if len(parts) != 3:
        raise ValueError(
            "data must be RankingData, a tuple X, y, qid, or three RankingData: training, "
            f"validation and test; got {len(parts)} things"
        )
    return OwnData(called, (RankingData.checked(*parts),))
