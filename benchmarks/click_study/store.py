"""Results of a part as one compressed JSON file, to which an interrupted run adds the rest."""

import json
import lzma
from pathlib import Path
from typing import Any

from common.provenance import provenance

#: Where results are; a run may be told another folder.
RESULTS = Path(__file__).resolve().parents[1] / "results" / "clicks"
_folder = [RESULTS]


def use_folder(folder: str | None) -> None:
    """Keep results elsewhere."""
    if folder is not None:
        _folder[0] = Path(folder)


def load(part: str) -> dict[str, Any]:
    """Return what a part has measured so far: a dictionary of trials by name."""
    path = _folder[0] / f"{part}.json.xz"
    if not path.exists():
        return {"trials": {}}
    found: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return found


def save(part: str, content: dict[str, Any]) -> None:
    """Write what a part has measured, and with what."""
    _folder[0].mkdir(parents=True, exist_ok=True)
    content = {
        "provenance": provenance(),
        **{k: v for k, v in content.items() if k != "provenance"},
    }
    text = json.dumps(content, indent=None, separators=(",", ":"))
    path = _folder[0] / f"{part}.json.xz"
    new = path.with_suffix(".new")
    new.write_bytes(lzma.compress(text.encode()))
    new.replace(path)  # a run may be stopped at any moment
