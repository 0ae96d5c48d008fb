"""Results of a part as one JSON file, to which a run that was interrupted adds the rest."""

import json
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
    path = _folder[0] / f"{part}.json"
    if not path.exists():
        return {"trials": {}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def save(part: str, content: dict[str, Any]) -> None:
    """Write what a part has measured, and with what."""
    _folder[0].mkdir(parents=True, exist_ok=True)
    content = {
        "provenance": provenance(),
        **{k: v for k, v in content.items() if k != "provenance"},
    }
    text = json.dumps(content, indent=None, separators=(",", ":"))
    (_folder[0] / f"{part}.json").write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
