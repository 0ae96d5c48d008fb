"""What every test needs: a numba cache that no stale kernel survives in, and the real data."""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted((ROOT / "gbrank").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# numba's cache does not see that a kernel called from another file has changed, so the cache folder
# carries a hash of all sources. Set before gbrank, and so numba, is imported.
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".numba_cache" / _source_hash())

import numpy as np  # noqa: E402
import pytest  # noqa: E402


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("-m"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run by make test-all"))


@pytest.fixture(scope="session")
def real_data():
    """Return a function that loads one of the real data sets, or skips where there are none."""
    folder = os.environ.get("GBRANK_DATA")

    def load(name: str) -> dict[str, np.ndarray]:
        if not folder:
            pytest.skip("GBRANK_DATA does not name a folder with the real data sets")
        path = Path(folder) / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"GBRANK_DATA has no {path.name}")
        with np.load(path) as arrays:
            return {key: arrays[key] for key in arrays.files}

    return load
