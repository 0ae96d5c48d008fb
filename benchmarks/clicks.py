"""Clicks with positions: intervals, ranking with and without the bias, real logs, ten million rows.

    python benchmarks/clicks.py coverage --logs 100
    python benchmarks/clicks.py scale --rows 10000000
    python benchmarks/clicks.py additive --data FOLDER --draws 2
    python benchmarks/clicks.py documents --data FOLDER --draws 4
    python benchmarks/clicks.py choices --data FOLDER --draws 2 --strength 1
    python benchmarks/clicks.py curves --data FOLDER
    python benchmarks/clicks.py ranking --data FOLDER --model position --strength 1
    python benchmarks/clicks.py logs --data FOLDER
    python benchmarks/clicks.py page

Every part writes ``benchmarks/results/clicks/PART.json.xz`` and goes on where it stopped.
"""

import argparse

from click_study import (
    additive,
    choices,
    coverage,
    curves,
    documents,
    logs,
    page,
    ranking,
    scale,
    store,
)
from common.real_data import data_folder


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
    for name, draws in (("additive", 2), ("documents", 4)):
        study = parts.add_parser(name)
        study.add_argument("--data", help="folder of the data sets; else GBRANK_DATA")
        study.add_argument("--draws", type=int, default=draws)
    study = parts.add_parser("choices")
    study.add_argument("--data", help="folder of the data sets; else GBRANK_DATA")
    study.add_argument("--draws", type=int, default=2)
    study.add_argument("--strength", type=float, default=1.0)
    study.add_argument("--only", nargs="+", help="variants, if not all")
    study = parts.add_parser("curves")
    study.add_argument("--data", help="folder of the data sets; else GBRANK_DATA")
    three = parts.add_parser("ranking")
    three.add_argument("--data", help="folder of the data sets; else GBRANK_DATA")
    three.add_argument("--model", choices=tuple(ranking.MODELS), default="position")
    three.add_argument("--strength", type=float, default=1.0)
    three.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    three.add_argument("--sets", nargs="+", default=list(ranking.FOUR))
    three.add_argument("--draws", type=int, nargs="+", default=[0], help="independent simulations")
    three.add_argument("--only", nargs="+", help="contestants, if not all")
    four = parts.add_parser("logs")
    four.add_argument("--data", help="folder of the data sets; else GBRANK_DATA")
    parts.add_parser("page")
    given = parser.parse_args()
    store.use_folder(given.out)
    if given.part == "coverage":
        coverage.run(given.logs)
    elif given.part == "scale":
        scale.run(given.rows)
    elif given.part == "additive":
        additive.run(data_folder(given.data), given.draws)
    elif given.part == "documents":
        documents.run(data_folder(given.data), given.draws)
    elif given.part == "choices":
        choices.run(data_folder(given.data), given.draws, given.strength, given.only)
    elif given.part == "curves":
        curves.run(data_folder(given.data))
    elif given.part == "logs":
        logs.run(data_folder(given.data))
    elif given.part == "page":
        page.write()
    elif given.part == "ranking":
        for draw in given.draws:
            ranking.run(
                data_folder(given.data),
                given.sets,
                given.folds,
                given.model,
                given.strength,
                given.only,
                draw,
            )


if __name__ == "__main__":
    main()
