"""Model files that travel: LightGBM's text, which other tools read too, and all that Ranker knows.

The text names ``lambdarank`` as objective: see :func:`gbrank.boosting.model_text.portable_text`.
The real objective and whatever else belongs to the model are one line of JSON inside the parameters
block, ``[gbrank: ]: {...}``, which LightGBM carries along when it writes the model again. It reads
the line as a parameter without a value, and so does not warn of one that it does not know.

The last entry of that line is a SHA-256 of the whole file, its own 64 digits read as zeros. So a
file in which one byte has changed is not believed.
"""

import hashlib
import json
import os
import re
import warnings
from typing import Any, NoReturn

import lightgbm as lgb

from gbrank.boosting.model_check import check_model_text
from gbrank.boosting.model_text import (
    FIRST_LINE,
    RANKING_OBJECTIVES,
    is_complete,
    named_objective,
    portable_text,
)
from gbrank.boosting.saved_values import decode, encode
from gbrank.core import check_file, write_atomically

#: Grows when an older gbrank can no longer read the files.
FORMAT = 1

_OUR_LINE_OPENS = b"\n[gbrank: "
_OUR_LINE = re.compile(rb"^\[gbrank: \]: (\{.*\})\n", re.MULTILINE)
_CHECKSUM_OPENS, _CHECKSUM_CLOSES = ', "checksum": "sha256:', '"}'
_CHECKSUM = re.compile(f"{_CHECKSUM_OPENS}([0-9a-f]{{64}}){_CHECKSUM_CLOSES}$".encode())
_ZEROS = b"0" * 64

# What reading values of unexpected kinds may raise.
_UNREADABLE = (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError)


def write_model(
    booster: lgb.Booster,
    path: str | os.PathLike[str],
    metadata: dict[str, Any],
    *,
    num_iteration: int | None = None,
) -> None:
    """Write a model and what belongs to it, or leave the file as it was.

    Parameters
    ----------
    booster : the trees.
    path : the file; its folder must exist.
    metadata : numbers, text, arrays, lists, dictionaries and objectives are kept exactly; functions
        by name.
    num_iteration : number of trees to write; ``None`` for as many as ``booster.predict`` uses.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.boosting.model_file import read_model, write_model
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> booster = Ranker(n_estimators=3).fit(data.X, data.y, qid=data.qid).booster_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.txt"
    ...     write_model(booster, path, {"made for": "fun"})
    ...     same, metadata = read_model(path)
    >>> metadata["made for"], bool((same.predict(data.X) == booster.predict(data.X)).all())
    ('fun', True)
    """
    text, rest = portable_text(booster, num_iteration)
    ours = json.dumps(_stamped(metadata), allow_nan=False)[: -len("}")]
    before = f"{text}[gbrank: ]: {ours}{_CHECKSUM_OPENS}".encode()
    after = f"{_CHECKSUM_CLOSES}\n{rest}".encode()
    checksum = hashlib.sha256(before + _ZEROS + after).hexdigest().encode()
    write_atomically(path, before + checksum + after)


def save_booster(
    booster: lgb.Booster | lgb.LGBMModel,
    path: str | os.PathLike[str],
    *,
    num_iteration: int | None = None,
) -> None:
    """Write a model of ``lgb.train`` or ``LGBMRanker`` with one of our objectives, to travel.

    LightGBM's own ``save_model`` leaves the objective out of such a model: ONNX converters then
    reject it, and ``Booster.refit`` fails. Here the file names ``lambdarank`` instead, which leaves
    scores as they are, too. Nothing else differs: LightGBM, treelite and converters read it, and
    predict the same. (``refit`` then takes the gradients of ``lambdarank``.) The file is replaced
    in one step or not at all. A :class:`gbrank.Ranker` has a ``save_model`` of its own.

    Parameters
    ----------
    booster : lightgbm.Booster, or a fitted estimator of LightGBM
        The model.
    path : str or path
        The file; its folder must exist.
    num_iteration : int, default=None
        Number of trees to write; ``None`` for as many as ``booster.predict`` uses.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import lightgbm as lgb
    >>> from gbrank import XENDCG, save_booster
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> training = lgb.Dataset(data.X, data.y, group=data.group)
    >>> booster = lgb.train({"objective": XENDCG(), "verbose": -1}, training, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.txt"
    ...     save_booster(booster, path)
    ...     same = lgb.Booster(model_file=path)
    >>> bool((same.predict(data.X) == booster.predict(data.X)).all())
    True
    """
    model = booster.booster_ if isinstance(booster, lgb.LGBMModel) else booster
    if not isinstance(model, lgb.Booster):
        remedy = ": use its save_model" if hasattr(model, "save_model") else ""
        raise TypeError(
            "booster must be a lightgbm.Booster or LGBMRanker, got "
            f"{type(booster).__name__}{remedy}"
        )
    objective = named_objective(model)
    if objective not in RANKING_OBJECTIVES:
        raise ValueError(
            f"the objective of the model is LightGBM's {objective!r}, not one for ranking: use its "
            "save_model"
        )
    write_atomically(path, "".join(portable_text(model, num_iteration)).encode())


def read_model(path: str | os.PathLike[str]) -> tuple[lgb.Booster, dict[str, Any]]:
    """Return the trees and the metadata of a file that :func:`write_model` wrote.

    Nothing in the file is ever run. A file that is damaged, or not of gbrank, is a ``ValueError``
    that says what is wrong; one of a newer version is read with a warning. What was saved by name
    comes back as a placeholder with that name.

    Parameters
    ----------
    path : the file.
    """
    data = check_file(path).read_bytes()
    where, ours = _find_metadata(data, path)
    try:
        metadata = json.loads(ours)
        written, newer = _describe(metadata["versions"]), _is_newer(metadata)
    except _UNREADABLE:
        _not_a_model(path, "its [gbrank: ...] line does not say which version wrote it")
    if newer:
        warnings.warn(
            f"{os.fspath(path)} was written by {written}, newer than {_describe(_versions())}; "
            "what it says beyond the trees may be misunderstood",
            stacklevel=3,
        )
    text = (data[: where.start] + data[where.stop :]).decode()
    try:
        check_model_text(text)
        return lgb.Booster(model_str=text), decode(metadata)
    except (lgb.basic.LightGBMError, *_UNREADABLE) as error:
        raise ValueError(
            f"{os.fspath(path)} was written by {written} and cannot be read by "
            f"{_describe(_versions())}: {error}"
        ) from error


def read_lightgbm_model(path: str | os.PathLike[str]) -> lgb.Booster:
    """Return the trees of a file that LightGBM wrote; one that is no such file is a ``ValueError``.

    Parameters
    ----------
    path : the file.
    """
    data = check_file(path).read_bytes()
    try:
        text = data.decode()
        check_model_text(text)
        return lgb.Booster(model_str=text)
    except (lgb.basic.LightGBMError, *_UNREADABLE) as error:
        _not_a_model(path, f"nor one that LightGBM wrote: {error}")


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like one of :func:`write_model`, intact or not."""
    return _OUR_LINE_OPENS in check_file(path).read_bytes()


def begins_as_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as models do, intact or not, by anyone: none of scores does."""
    first = FIRST_LINE.rstrip().encode()  # whatever ends the line
    with check_file(path).open("rb") as file:
        return file.read(len(first)) == first


def is_lightgbm_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a whole model that LightGBM wrote by itself."""
    data = check_file(path).read_bytes()
    is_whole = data.startswith(FIRST_LINE.encode()) and is_complete(data)
    return is_whole and _OUR_LINE_OPENS not in data


# --- writing ---------------------------------------------------------------------------------


def _stamped(metadata: dict[str, Any]) -> dict[str, Any]:
    return {"format": FORMAT, "versions": _versions(), **encode(metadata)}


def _versions() -> dict[str, str]:
    from gbrank import __version__

    return {"gbrank": __version__, "lightgbm": lgb.__version__}


def _describe(versions: dict[str, str]) -> str:
    return f"gbrank {versions['gbrank']} with LightGBM {versions['lightgbm']}"


# --- reading ---------------------------------------------------------------------------------


def _find_metadata(data: bytes, path: str | os.PathLike[str]) -> tuple[slice, bytes]:
    """Return the place of our line and its JSON, after all checks that bytes allow."""
    if not data:
        _not_a_model(path, "it is empty")
    if data.startswith(FIRST_LINE.replace("\n", "\r\n").encode()):
        _not_a_model(
            path, "its line ends were changed to those of Windows; copy it as a binary file"
        )
    if not data.startswith(FIRST_LINE.encode()):
        _not_a_model(path, "a text that starts with the line 'tree' was expected")
    lines = list(_OUR_LINE.finditer(data))
    if not lines and not is_complete(data):
        _not_a_model(path, "it breaks off before its end")
    if not lines:
        _not_a_model(
            path,
            "it has no [gbrank: ...] line. If LightGBM wrote it, read it with "
            "lightgbm.Booster(model_file=...)",
        )
    found = _CHECKSUM.search(lines[-1][1])
    if len(lines) > 1 or found is None:
        _not_a_model(path, "its [gbrank: ...] line is damaged")
    start = lines[0].start(1) + found.start(1)
    signed = data[:start] + _ZEROS + data[start + len(_ZEROS) :]
    if hashlib.sha256(signed).hexdigest().encode() != found[1]:
        _not_a_model(path, "it was damaged or edited: its checksum does not fit its contents")
    return slice(lines[0].start(), lines[0].end()), lines[0][1]


def _not_a_model(path: str | os.PathLike[str], why: str) -> NoReturn:
    raise ValueError(f"{os.fspath(path)} is not a model file of gbrank: {why}")


def _is_newer(metadata: dict[str, Any]) -> bool:
    written, here = metadata["versions"]["gbrank"], _versions()["gbrank"]
    return bool(metadata["format"] > FORMAT or _release(written) > _release(here))


def _release(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (1, 20) of "1.20rc1"."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in numbers[0].split(".")) if numbers else ()
