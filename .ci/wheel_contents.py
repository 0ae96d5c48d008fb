"""Refuse a wheel that holds more, or less, than the package and its metadata."""

import sys
import zipfile
from pathlib import Path

wheel, package = sys.argv[1], Path(sys.argv[2])
names = {
    name for name in zipfile.ZipFile(wheel).namelist() if not name.split("/")[0].endswith("-info")
}
files = [*package.rglob("*.py"), *package.glob("noise/presets/*.toml")]
expected = {str(path.relative_to(package.parent)) for path in files}
expected.add("gbrank/py.typed")
if names != expected:
    sys.exit(f"too much: {sorted(names - expected)}\nmissing: {sorted(expected - names)}")
print(f"the wheel holds {len(names)} files, as it should")
