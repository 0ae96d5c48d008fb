"""What a results folder says is checked before it is used: it may come from anybody.

Names become names of files, cells of CSV files and attributes of an HTML page; numbers become
sizes of arrays and loops. What a run of ours cannot have written is refused, in words.
"""

import json
import lzma
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gbrank.core import check_file
from gbrank.noise.kinds import is_known
from gbrank.noise.presets import MODELS, SPLITS, TESTS, Preset, restore_preset
from gbrank.noise.trial import Result, Trial

#: Longest name of a preset, data set or setting: three of them make the name of a file.
LONGEST_NAME = 80
LONGEST_TEXT = 10_000
MOST_TRIALS = 1_000_000
#: What compressed parts may unpack to, in bytes. The largest file kept so far takes 60 million.
MOST_BYTES = 1 << 30
#: What damaged content ends in while it is decoded.
UNREADABLE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, MemoryError,
    RecursionError, zlib.error, lzma.LZMAError,
)  # fmt: skip


def check_text(what: str, text: object, longest: int = LONGEST_TEXT) -> str:
    """Return a text of one line that no spreadsheet takes for a formula."""
    if not isinstance(text, str) or not text or len(text) > longest:
        raise ValueError(f"{what} must be a text of at most {longest} characters, got {text!r:.80}")
    if not text.isprintable() or text[0] in "=+-@":
        raise ValueError(f"{what} must be one plain line that begins with no =+-@, got {text!r}")
    return text


def check_name(what: str, text: object) -> str:
    """Return a text that can be part of the name of a file in a folder, and leads nowhere else."""
    name = check_text(what, text, LONGEST_NAME)
    if name.startswith(".") or set(name) & set('/\\:*?"<>|'):
        raise ValueError(f"{what} must be a name that a file can have, got {name!r}")
    return name


def check_number(what: str, value: object, low: float, high: float) -> float:
    """Return a number between two others."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"{what} must be a number from {low:g} to {high:g}, got {value!r:.80}")
    return value


def check_preset(preset: Preset) -> Preset:
    """Return a preset whose names and numbers can be used; objectives are not looked up."""
    check_name("the name of a preset", preset.name)
    for what in ("title", "about", "baseline", "data"):
        if what == "title" or getattr(preset, what):
            check_text(f"{what} of preset {preset.name}", getattr(preset, what))
    for what, known in (("model", MODELS), ("split", SPLITS), ("test_of_paper", ("", *TESTS))):
        if getattr(preset, what) not in known:
            raise ValueError(f"{what} must be one of {known}, got {getattr(preset, what)!r:.80}")
    for what in ("metrics", "objectives", "noises"):
        if not isinstance(getattr(preset, what), tuple) or not getattr(preset, what):
            raise ValueError(f"preset {preset.name} has no list of {what}")
    for text in (*preset.metrics, *preset.objectives, *(n for pair in preset.pairs for n in pair)):
        check_text("the name of a metric or objective", text, 500)
    for name, values in preset.settings.items():
        check_name("the name of settings", name)
        if not isinstance(values, dict):
            raise ValueError(f"settings {name} must be a table, got {values!r:.80}")
    for noise in preset.noises:
        if (
            not is_known(noise.name)
            or not noise.settings
            or not set(noise.settings) <= set(preset.settings)
        ):
            raise ValueError(f"{noise!r:.200} is no noise under settings of the preset")
        for level in noise.levels:
            check_number("a noise level", level, 0.0, 1e6)
    check_number("alpha", preset.alpha, 0.0, 1.0)
    check_number("trials", preset.trials, 1, MOST_TRIALS)
    points = sum(len(noise.levels) * len(noise.settings) for noise in preset.noises)
    if points * len(preset.objectives) * preset.trials > MOST_TRIALS:
        raise ValueError(f"preset {preset.name} asks for more than {MOST_TRIALS} trials")
    return preset


def check_run(name: str, data: str, definition: str, facts: str) -> tuple[Preset, dict[str, str]]:
    """Return preset and provenance of a run, from the JSON that the folder has of them."""
    check_name("the name of a data set", data)
    preset = check_preset(restore_preset(json.loads(definition)))
    if preset.name != name:
        raise ValueError(f"the run of preset {name!r:.80} is of preset {preset.name!r}")
    provenance = json.loads(facts)
    for key, value in provenance.items():
        check_text("a key of the provenance", key)
        check_text(f"{key} of the provenance", value)
    return preset, provenance


def check_result(key: tuple[Any, ...], facts: str, queries: bytes, values: bytes) -> Result:
    """Return the result of a trial, from what one row of the file has of it."""
    trial = Trial(*key)
    check_name("a setting", trial.setting)
    check_text("an objective", trial.objective, 500)
    check_number("a level", trial.level, 0.0, 1e6)
    if not is_known(trial.noise) or not isinstance(trial.trial, int):
        raise ValueError(f"{trial!r:.200} is no trial")
    check_number("the number of a trial", trial.trial, 0, MOST_TRIALS)
    found = json.loads(facts)
    numbers = [*found["means"].values(), *found["curve"], found["trees"]]
    for number in (*numbers, found["noise"]["documents"], found["noise"]["pairs"]):
        if not (isinstance(number, float) and math.isnan(number)):
            check_number("a result", number, -1e12, 1e12)
    ids = np.frombuffer(inflate(queries), dtype="<i8")
    of_queries = np.frombuffer(inflate(values), dtype="<f4")
    return Result(
        means=found["means"],
        queries=ids,
        values=of_queries.reshape(len(found["means"]), len(ids)),
        trees=found["trees"],
        curve=tuple(found["curve"]),
        noise=found["noise"],
    )


def inflate(packed: bytes) -> bytes:
    """Return what zlib packed; refuse what is cut short, or grows beyond measure."""
    unpacker = zlib.decompressobj()
    plain = unpacker.decompress(packed, MOST_BYTES)
    if not unpacker.eof:
        raise ValueError(f"values are cut short, or unpack to more than {MOST_BYTES} bytes")
    return plain


def unpack_xz(path: Path) -> bytes:
    """Return what a file of xz holds; refuse what is cut short, or grows beyond measure."""
    unpacker = lzma.LZMADecompressor()
    plain = unpacker.decompress(check_file(path).read_bytes(), MOST_BYTES)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError(
            f"it is cut short, goes on after its end, or unpacks to more than {MOST_BYTES} bytes"
        )
    return plain


def check_no_link(path: Path) -> Path:
    """Return a path of a results folder that is none of a link, which would lead elsewhere."""
    if path.is_symlink():
        raise ValueError(f"{path} is a link: a results folder holds files and folders of its own")
    return path
