"""Presets: small files that say what is run, checked before anything is."""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gbrank.core import check_integer, check_noise_matrix
from gbrank.metrics import find_metric
from gbrank.noise.contestants import parse_objective
from gbrank.noise.kinds import CLICKS, KINDS, PROTOCOLS, noise_name

FOLDER = Path(__file__).parent / "presets"
SPLITS = ("random", "folds")
MODELS = ("trees", "linear")
#: What a paper's own test is made over; without correction for the number of tests.
TESTS = {
    "queries": "random permutation test over queries",
    "trials": "paired t-test over trials",
}


@dataclass(frozen=True)
class Noise:
    """One kind of noise at several levels, under some of the settings."""

    kind: str
    levels: tuple[float, ...]
    settings: tuple[str, ...]
    probabilities: tuple[float, ...] = ()
    impressions: int = 10
    #: Whether validation labels are corrupted too; trials kept from before there was a choice
    #: have clean ones.
    validation: str = "clean"
    #: Of the kind "matrix": ``matrix[l][u]`` is the probability of label l given grade u.
    matrix: tuple[tuple[float, ...], ...] = ()

    @property
    def name(self) -> str:
        """What trials of this kind and protocol are kept under."""
        return noise_name(self.kind, self.validation)


@dataclass(frozen=True)
class Preset:
    """What a preset file says; the file's comments say why."""

    name: str
    title: str
    about: str
    model: str
    split: str
    trials: int
    metrics: tuple[str, ...]
    objectives: tuple[str, ...]
    baseline: str
    pairs: tuple[tuple[str, str], ...]
    noises: tuple[Noise, ...]
    settings: dict[str, dict[str, Any]]
    synthetic: dict[str, Any] = field(default_factory=dict)
    curves: bool = False
    alpha: float = 0.05
    test_of_paper: str = ""
    data: str = ""

    def with_choices(
        self,
        objectives: Sequence[str] | None = None,
        levels: Sequence[float] | None = None,
        trials: int | None = None,
        metrics: Sequence[str] | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> "Preset":
        """Return the preset with what a call asks for; refuse what cannot be run."""
        noises = self.noises
        if settings is not None:
            noises = tuple(replace(noise, settings=tuple(settings)) for noise in noises)
        if levels is not None:
            if all(noise.kind == "none" for noise in noises):
                raise ValueError(f"preset {self.name} has no noise, so --levels means nothing")
            chosen_levels = tuple(dict.fromkeys(levels))
            noises = tuple(
                noise if noise.kind == "none" else replace(noise, levels=chosen_levels)
                for noise in noises
            )
        chosen = replace(
            self,
            objectives=tuple(dict.fromkeys(objectives or self.objectives)),
            noises=noises,
            trials=self.trials if trials is None else trials,
            metrics=self.metrics if metrics is None else tuple(metrics),
            settings=self.settings if settings is None else _plain_settings(settings),
        )
        _check(chosen)
        return chosen

    def joined_with(self, earlier: "Preset") -> "Preset":
        """Return what an earlier run and this one ask for together, of the same definition."""
        mine, theirs = self.objectives, earlier.objectives
        longer = mine if len(mine) >= len(theirs) else theirs  # in the order of the fuller list
        before = {noise.name: noise for noise in earlier.noises}
        noises = tuple(
            replace(
                noise,
                levels=tuple(sorted({*noise.levels, *before[noise.name].levels})),
                settings=tuple(dict.fromkeys([*noise.settings, *before[noise.name].settings])),
            )
            if noise.name in before
            else noise
            for noise in self.noises
        )
        return replace(
            self,
            objectives=tuple(dict.fromkeys([*longer, *mine, *theirs])),
            noises=noises,
            trials=max(self.trials, earlier.trials),
        )

    def comparisons(self) -> list[tuple[str, str]]:
        """Return which objective is compared with which: the pairs named, or all with one."""
        present = set(self.objectives)
        if self.pairs:
            return [(a, b) for a, b in self.pairs if {a, b} <= present]
        if self.baseline not in present:
            return []
        return [
            (name, self.baseline)
            for name in self.objectives
            if name != self.baseline and not name.startswith("ceiling:")
        ]

    def definition(self) -> dict[str, Any]:
        """Return what the result of a trial depends on; how many are run is not part of it."""
        noises = {
            n.name: [n.probabilities, n.impressions, *([n.matrix] if n.matrix else [])]
            for n in self.noises
        }
        whole = asdict(self)
        kept = ("model", "split", "metrics", "settings", "synthetic", "curves")
        return {**{name: whole[name] for name in kept}, "noises": noises}

    def fingerprint(self) -> str:
        """Return a digest of :meth:`definition`."""
        text = json.dumps(self.definition(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain_settings(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {"patience": 0, **values} for name, values in settings.items()}


def list_presets(folder: Path = FOLDER) -> list[str]:
    """Return the names of all presets of the noise benchmark.

    Parameters
    ----------
    folder : where they are.

    Examples
    --------
    >>> from gbrank.noise import list_presets
    >>> list_presets()[-1]
    'xia2009-topk'
    """
    return sorted(path.stem for path in folder.glob("*.toml"))


def describe_presets() -> list[dict[str, Any]]:
    """Return name, title, trials a point and objectives of every preset."""
    kept = ("name", "title", "about", "trials", "objectives", "metrics")
    return [
        {key: getattr(preset, key) for key in kept}
        for preset in (load_preset(name) for name in list_presets())
    ]


def load_preset(name: str, folder: Path = FOLDER) -> Preset:
    """Read a preset by name, or from a file of one's own (a path that ends in .toml)."""
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not path.is_file():
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(list_presets())}")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not a preset: {error!r}") from error
    return read_preset(path.stem, given)


def read_preset(name: str, given: dict[str, Any]) -> Preset:
    """Return the preset that a file, or a dict of the same structure, describes."""
    try:
        return _read(name, {key: value for key, value in given.items() if key != "name"})
    except KeyError as error:
        raise ValueError(f"{name} is not a preset: {error} is missing") from error
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{name} is not a preset: {error}") from error


def restore_preset(kept: dict[str, Any]) -> Preset:
    """Return the preset that ``dataclasses.asdict`` and JSON made this of."""
    noises = tuple(Noise(**_with_tuples(noise)) for noise in kept["noises"])
    pairs = tuple((a, b) for a, b in kept["pairs"])
    return Preset(**{**_with_tuples(kept), "noises": noises, "pairs": pairs})


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Return the same with tuples for the lists that JSON made of them, rows of matrices too."""
    return {
        name: tuple(tuple(row) if isinstance(row, list) else row for row in v)
        if isinstance(v, list)
        else v
        for name, v in values.items()
    }


def _read(name: str, given: dict[str, Any]) -> Preset:
    settings = given["settings"]
    noises = tuple(
        Noise(
            kind=noise["kind"],
            levels=tuple(float(level) for level in noise.get("levels", [0.0])),
            settings=tuple(noise.get("settings", settings)),
            probabilities=tuple(float(p) for p in noise.get("probabilities", [])),
            impressions=noise.get("impressions", 10),
            validation=protocol,
            matrix=tuple(tuple(map(float, row)) for row in noise.get("matrix", [])),
        )
        for noise in given["noise"]
        for protocol in _protocols(noise, given.get("validation", "noisy"))
    )
    preset = Preset(
        name=name,
        title=given["title"],
        about=" ".join(given["about"].split()),
        model=given.get("model", "trees"),
        split=given.get("split", "random"),
        trials=given["trials"],
        metrics=tuple(given["metrics"]),
        objectives=tuple(given["objectives"]),
        baseline=given.get("baseline", ""),
        pairs=tuple((a, b) for a, b in given.get("pairs", [])),
        noises=noises,
        settings=settings,
        synthetic=given.get("synthetic", {}),
        curves=given.get("curves", False),
        alpha=given.get("alpha", 0.05),
        test_of_paper=given.get("test_of_paper", ""),
        data=given.get("data", ""),
    )
    known = {*Preset.__dataclass_fields__, "noise", "validation"} - {"name", "noises"}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"preset {name}: {unknown} mean nothing; known are {sorted(known)}")
    return preset


def _protocols(noise: dict[str, Any], of_preset: Any) -> tuple[str, ...]:
    """Return what is done with validation labels: one thing, or both in turn."""
    if noise["kind"] in (*CLICKS, "none"):
        return ("noisy",)  # there is no choice
    given = noise.get("validation", of_preset)
    return PROTOCOLS if given == "both" else (given,)


def _check(preset: Preset) -> None:
    where = f"preset {preset.name}"
    if preset.model not in MODELS or preset.split not in SPLITS:
        raise ValueError(
            f"{where}: model must be one of {MODELS} and split one of {SPLITS}, "
            f"got {preset.model!r} and {preset.split!r}"
        )
    if preset.test_of_paper and preset.test_of_paper not in TESTS:
        raise ValueError(
            f"{where}: test_of_paper must be one of {list(TESTS)}, got {preset.test_of_paper!r}"
        )
    check_integer("trials", preset.trials, low=1)
    for metric in preset.metrics:
        try:
            find_metric(metric)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from error
    for text in preset.objectives:
        objective = parse_objective(text)
        if preset.model == "linear" and objective.family not in ("gbrank", "floor", "ceiling"):
            raise ValueError(f"{where} trains linear models, which {text} cannot")
    for noise in preset.noises:
        if noise.kind not in KINDS:
            raise ValueError(f"{where}: noise must be one of {list(KINDS)}, got {noise.kind!r}")
        if noise.validation not in PROTOCOLS:
            raise ValueError(
                f"{where}: validation must be one of {[*PROTOCOLS, 'both']}, "
                f"got {noise.validation!r}"
            )
        if noise.matrix:
            check_noise_matrix(noise.matrix, f"{where}: matrix")
        for name in noise.settings:
            if name not in preset.settings:
                raise ValueError(f"{where}: there are no settings {name!r}")
            needed = ("steps",) if preset.model == "linear" else ("trees", "patience")
            missing = [key for key in needed if key not in preset.settings[name]]
            if missing:
                raise ValueError(f"{where}: settings {name} must say {missing[0]!r}")
        most = 1.0 if KINDS[noise.kind].is_share else float("inf")
        for level in noise.levels:
            if not 0.0 <= level <= most:
                raise ValueError(
                    f"levels of {noise.kind} noise must be from 0 to {most:g}, got {level:g}"
                )
