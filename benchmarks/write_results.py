"""Write the pages, tables and pictures of benchmarks/results again from the trials kept there.

    python benchmarks/write_results.py          # make results

Nothing is trained and no data set is needed. ``report.html`` and SVG pictures, which are not under
version control, are written too.
"""

import sys
from pathlib import Path

import claims
import depth
import gap_change
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
    gap_change.main()
    print(RESULTS / "gap_change.md")
    depth.main()
    claims.main()
    print(RESULTS / "RESULTS.md")
    return code


if __name__ == "__main__":
    sys.exit(main())
