"""Clicks with positions: intervals, ranking with and without the bias, real logs, ten million rows.

    python benchmarks/clicks.py coverage --logs 100
    python benchmarks/clicks.py scale --rows 10000000
    python benchmarks/clicks.py page

Every part writes ``benchmarks/results/clicks/PART.json`` and goes on where it stopped.
"""

import argparse

from click_study import coverage, scale, store


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", help="folder of results, if not benchmarks/results/clicks")
    parts = parser.add_subparsers(dest="part", required=True)
    one = parts.add_parser("coverage")
    one.add_argument("--logs", type=int, default=100)
    two = parts.add_parser("scale")
    two.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    store.use_folder(given.out)
    if given.part == "coverage":
        coverage.run(given.logs)
    elif given.part == "scale":
        scale.run(given.rows)


if __name__ == "__main__":
    main()
