"""How good are rankings out of the box? Losses, peers, ablation and noise, on real data.

    python benchmarks/quality.py                  # all parts, writes benchmarks/results/quality.md
    python benchmarks/quality.py --parts peers --sets MQ2008 --jobs 2
    python benchmarks/quality.py --parts          # only writes the page again

The parts are the presets quality-losses, quality-peers, quality-ablation and quality-noise of the
noise benchmark, on the folds of the data sets of the folder GBRANK_DATA. Finished trials are kept
in --trials at once, with the result of every query: the same command goes on where it stopped, and
those that are in the repository are not run again.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from noise_robustness.data import open_source
from noise_robustness.presets import load_preset
from noise_robustness.runner import run
from noise_robustness.store import Store, StoreError
from quality_page import PARTS, write_page

HERE = Path(__file__).parent
#: Draws of the noise for each fold, where more than one: as many trials as in the noise benchmark.
#: (Trial t uses fold t mod 5, so that only all five folds can be gone through again.)
DRAWS = {("noise", "MQ2008"): 4}


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--sets", nargs="+", help="instead of all sets of a part")
    parser.add_argument("--folds", type=int, default=5, help="folds to run (default: 5)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    default_trials = HERE / "results" / "quality"
    parser.add_argument("--trials", type=Path, default=default_trials, help="folder of the trials")
    default_out = HERE / "results" / "quality.md"
    parser.add_argument("--out", type=Path, default=default_out, help="the page")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        for part in options.parts:
            for name in options.sets or PARTS[part]:
                draws = DRAWS.get((part, name), 1) if options.folds == 5 else 1
                trials = options.folds * draws
                preset = replace(load_preset(f"quality-{part}"), trials=trials)
                outcome = run(
                    preset, name, open_source(name, {}, "folds"), options.trials, options.jobs
                )
                for trial, problem in outcome.failed[:1]:
                    print(f"{trial} failed:\n{problem}", file=sys.stderr)
                if outcome.interrupted:
                    return 130
        write_page(Store(options.trials, create=False), options.out)
    except (ValueError, ImportError, StoreError, RuntimeError) as error:
        print(f"quality.py: {error}", file=sys.stderr)
        return 2
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
