"""Write the pages, tables and pictures of benchmarks/results again from the trials kept there.

    python benchmarks/write_results.py          # make results

Nothing is trained and no data set is needed. ``report.html`` and SVG pictures, which are not under
version control, are written too.
"""

import sys
from pathlib import Path

import preferences_report
import quality

from gbrank.noise.archive import SUFFIX
from gbrank.noise.report import write_report

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    folders = sorted({path.parent for path in RESULTS.glob(f"*/*{SUFFIX}")})
    for folder in folders:
        write_report(folder)
        print(folder / "report.md")
    code = quality.main(["--models"])
    print(RESULTS / "quality.md")
    preferences_report.write_report(RESULTS / "preferences")
    print(RESULTS / "preferences" / "README.md")
    return code


if __name__ == "__main__":
    sys.exit(main())
