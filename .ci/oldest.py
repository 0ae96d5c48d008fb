"""Print the required dependencies at the oldest versions that pyproject.toml admits.

"name>=1.2" becomes "name==1.2.*": arguments or a constraints file for pip.
"""

import tomllib
from pathlib import Path

path = Path(__file__).resolve().parent.parent / "pyproject.toml"
for dependency in tomllib.loads(path.read_text(encoding="utf-8"))["project"]["dependencies"]:
    name, floor = dependency.split(">=")
    print(f"{name}=={floor}.*")
